"""Writes values.json: matrices, and what functions of them are by NumPy and SciPy.

Run: python3 tests/golden/matrix/generate.py     (needs numpy, scipy and pymc)

Covariance functions are those of `pm.gp.cov`, in coordinates or scaled distances.
Each case: an expression of the language, its dims, its values.
"""

import json
from pathlib import Path

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from scipy import linalg

rng = np.random.default_rng(20251125)
k, m = 4, 3
root = rng.normal(size=(k, k))
A = np.round(root @ root.T + 2 * np.eye(k), 3)
A = (A + A.T) / 2
L = np.tril(np.round(rng.normal(size=(k, k)), 3)) + 2 * np.eye(k)
S = np.round(rng.normal(size=(k, k)), 3) + 2 * np.eye(k)
B = np.round(rng.normal(size=(k, m)), 3)
X = np.round(rng.normal(size=(m, k)), 3)
b = np.round(rng.normal(size=k), 3)
c = np.round(rng.normal(size=m), 3)

solve = linalg.solve_triangular
sign, log_det = np.linalg.slogdet(A)
assert sign == 1
gaps = b[:, None] - b[None, :]


def covariance(function):
    """By PyMC's formula of a distance in units of the length scale: by inputs it adds 1e-12 to squares."""
    return function.full_from_distance(pt.as_tensor(np.abs(gaps) / 0.7)).eval()


cases = [
    ("transpose(S)", "k, k", S.T),
    ("transpose(B)", "m, k", B.T),
    ("diagonal(S)", "k", np.diag(S)),
    ("diag(b)", "k, k", np.diag(b)),
    ("identity(k)", "k, k", np.eye(k)),
    ("tril(S)", "k, k", np.tril(S)),
    ("outer(b, b)", "k, k", np.outer(b, b)),
    ("outer(b, c)", "k, m", np.outer(b, c)),
    ("outer(c, b)", "m, k", np.outer(c, b)),
    ("cholesky(A)", "k, k", np.linalg.cholesky(A)),
    ("log_det(A)", "", log_det),
    ("solve_lower(L, b)", "k", solve(L, b, lower=True)),
    ("solve_lower(L, B)", "k, m", solve(L, B, lower=True)),
    ("solve_lower(L, S)", "k, k", solve(L, S, lower=True)),
    ("solve_lower(S, b)", "k", solve(np.tril(S), b, lower=True)),
    ("solve_upper(transpose(L), b)", "k", solve(L.T, b, lower=False)),
    ("solve_upper(transpose(L), B)", "k, m", solve(L.T, B, lower=False)),
    ("solve_upper(S, B)", "k, m", solve(np.triu(S), B, lower=False)),
    ("cho_solve(L, b)", "k", linalg.cho_solve((L, True), b)),
    ("cho_solve(L, B)", "k, m", linalg.cho_solve((L, True), B)),
    ("cho_solve(cholesky(A), b)", "k", np.linalg.solve(A, b)),
    ("S @ b", "k", S @ b),
    ("b @ S", "k", b @ S),
    ("b @ b", "", b @ b),
    ("dot(b, S)", "k", b @ S),
    ("S @ A", "k, k", S @ A),
    ("S @ S", "k, k", S @ S),
    ("S @ transpose(S)", "k, k", S @ S.T),
    ("transpose(S) @ S", "k, k", S.T @ S),
    ("S @ A @ transpose(S)", "k, k", S @ A @ S.T),
    ("S @ B", "k, m", S @ B),
    ("X @ S", "m, k", X @ S),
    ("X @ B", "m, m", X @ B),
    ("B @ X", "k, k", B @ X),
    ("B @ transpose(B)", "k, k", B @ B.T),
    ("transpose(B) @ A @ B", "m, m", B.T @ A @ B),
    ("[1, 2, 3, 4] @ S", "k", np.array([1, 2, 3, 4]) @ S),
    ("b[k] - b[k']", "k, k", gaps),
    ("b[k'] - b[k]", "k, k", -gaps),
    ("b[k] * c[m] + 1", "k, m", np.outer(b, c) + 1),
    ("S[k', k] - S[k, k']", "k, k", S.T - S),
    ("max(b[k], b[k'])", "k, k", np.maximum.outer(b, b)),
    ("sum(b[k'] * S[k, k'], axis=k')", "k", S @ b),
    ("sum(S, axis=k)", "k", S.sum(axis=0)),
    ("sum(S, axis=k')", "k", S.sum(axis=1)),
    ("S[2]", "k", S[2]),
    ("S[:, 2]", "k", S[:, 2]),
    ("max(S, axis=k) + b", "k", S.max(axis=0) + b),
    ("norm(b)", "", np.linalg.norm(b)),
    ("norm(B, axis=m)", "k", np.linalg.norm(B, axis=1)),
    ("norm(B[k] - B[k'], axis=m)", "k, k", np.linalg.norm(B[:, None] - B[None], axis=2)),
    ("exp_quad(b[k] - b[k'], 0.7)", "k, k", covariance(pm.gp.cov.ExpQuad(1, ls=0.7))),
    ("matern12(b[k] - b[k'], 0.7)", "k, k", covariance(pm.gp.cov.Matern12(1, ls=0.7))),
    ("matern32(b[k] - b[k'], 0.7)", "k, k", covariance(pm.gp.cov.Matern32(1, ls=0.7))),
    ("matern52(b[k] - b[k'], 0.7)", "k, k", covariance(pm.gp.cov.Matern52(1, ls=0.7))),
    ("rat_quad(b[k] - b[k'], 1.3, 0.7)", "k, k",
     covariance(pm.gp.cov.RatQuad(1, alpha=1.3, ls=0.7))),
    ("periodic(b[k] - b[k'], 1.9, 0.7)", "k, k",
     pm.gp.cov.Periodic(1, period=1.9, ls=0.7)(b[:, None]).eval()),
]

data = {"A": A, "L": L, "S": S, "B": B, "X": X, "b": b, "c": c}
table = {
    "data": {name: {"shape": x.shape, "values": x.ravel().tolist()} for name, x in data.items()},
    "cases": [{"text": text, "dims": dims, "values": np.ravel(values).tolist()}
              for text, dims, values in cases],
}
lines = json.dumps(table).replace('}, "', '},\n"').replace(', {"text"', ',\n{"text"')
Path(__file__).with_name("values.json").write_text(lines + "\n")
