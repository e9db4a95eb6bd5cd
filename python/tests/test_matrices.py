"""Matrix expressions put together by chance as PyMC models: the converted density is PyMC's."""

import logging
import warnings

import numpy as np
import pytest

pm = pytest.importorskip("pymc")
import pytensor.tensor as pt  # noqa: E402

import fitzroy as fz  # noqa: E402
from fitzroy.pymc.axes import Unconvertible  # noqa: E402

logging.getLogger("pymc").setLevel(logging.ERROR)

K, M = 4, 3


def definite(m):
    return m @ m.T + 3 * pt.eye(K)


def factor(m):
    return pt.linalg.cholesky(definite(m))


#: What is made of a matrix, another, and two vectors: again a matrix, or a vector.
MATRICES = [
    lambda m, n, v, w: m.T,
    lambda m, n, v, w: m + n.T,
    lambda m, n, v, w: m * n - 0.3,
    lambda m, n, v, w: pt.tanh(m @ n),
    lambda m, n, v, w: m.T @ n / 2,
    lambda m, n, v, w: m * v[None, :],
    lambda m, n, v, w: m - w[:, None] * v[None, :],
    lambda m, n, v, w: pt.exp(-0.5 * (v[:, None] - v[None, :]) ** 2) * m,
    lambda m, n, v, w: pt.maximum(v[None, :], w[:, None]) + m,
    lambda m, n, v, w: pt.outer(v, w),
    lambda m, n, v, w: pt.diag(v) + pt.tril(m),
    lambda m, n, v, w: factor(m),
    lambda m, n, v, w: factor(m).T,
    lambda m, n, v, w: pt.linalg.solve_triangular(factor(m), n, lower=True),
    lambda m, n, v, w: pt.linalg.solve_triangular(factor(m).T, n, lower=False),
    lambda m, n, v, w: pt.linalg.solve(definite(m), n, assume_a="pos"),
]
VECTORS = [
    lambda m, n, v, w: m @ v,
    lambda m, n, v, w: v @ m,
    lambda m, n, v, w: m.sum(axis=0) / 2,
    lambda m, n, v, w: m.sum(axis=1) / 2 - w,
    lambda m, n, v, w: (m - n).max(axis=0),
    lambda m, n, v, w: pt.diag(m) * w,
    lambda m, n, v, w: m[2] + v,
    lambda m, n, v, w: m[:, 1] - n[0],
    lambda m, n, v, w: pt.linalg.solve_triangular(factor(n), v, lower=True),
]


def by_chance(seed):
    """A model of parameters and data in a dozen random steps."""
    r = np.random.default_rng(seed)
    with pm.Model() as model:
        matrices = [pm.Normal("a", 0, 1, shape=(K, K)), pt.as_tensor(r.normal(size=(K, K)))]
        vectors = [pm.Normal("v", 0, 1, shape=K), pt.as_tensor(r.normal(size=K))]
        wide = pm.Normal("b", 0, 1, shape=(K, M))
        for _ in range(6):
            for table, made in ((MATRICES, matrices), (VECTORS, vectors)):
                m, n = (matrices[k] for k in r.integers(len(matrices), size=2))
                v, w = (vectors[k] for k in r.integers(len(vectors), size=2))
                made.append(table[r.integers(len(table))](m, n, v, w))
        pm.Deterministic("square", matrices[-1])
        inner = wide.T @ matrices[-2] @ wide
        total = sum(pt.sin(x).sum() for x in [*matrices[-3:], *vectors[-3:], inner])
        pm.Potential("target", total)
    return model


# Bound: products of a dozen steps, and solves of matrices whose condition is up to about 1e4.
@pytest.mark.parametrize("seed", range(20))
def test_matrix_expressions_have_the_density_that_pymc_computes(seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = fz.from_pymc(by_chance(seed)).check(n=16)
    assert found.spread < 1e-8, found
    assert found.slope_error < 1e-6, found


@pytest.mark.parametrize(
    ("build", "why"),
    [
        (lambda a: pt.linalg.eigh(definite(a))[0], "Eigh"),
        (lambda a: pt.linalg.cholesky(pt.stack([definite(a), definite(a)])), "batch"),
        (lambda a: pt.linalg.det(pt.eye(5) + a[0, 0]), "Det"),
    ],
)
def test_what_the_language_cannot_say_of_matrices_is_named(build, why):
    with pm.Model() as model:
        pm.Potential("p", build(pm.Normal("a", 0, 1, shape=(K, K))).sum())
    with pytest.raises(Unconvertible, match=why):
        fz.from_pymc(model)
