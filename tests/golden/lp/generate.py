"""Writes pymc.json: the log density of models of vectors and matrices by PyMC, in its unconstrained
coordinates, at points given by the coordinates of this program.

PyMC 5 adds the logarithm of the norm of LKJ where it must subtract it, so that its density does not
integrate to one. The norm is taken off twice here.

Needs PyMC 5:  python generate.py > pymc.json
"""
import json
import warnings

import numpy as np

warnings.filterwarnings("ignore")
import pymc as pm
import pytensor.tensor as pt
from scipy.special import betaln

rng = np.random.default_rng(20251124)
cases = []


def walk(sigma, drift, u):
    """x[0] = 0.5 + 2 u[0], then steps drift + sigma u[t]."""
    return 0.5 + 2 * u[0] + np.concatenate([[0], np.cumsum(drift + sigma * u[1:])])


def zero_sum(u):
    """An orthonormal basis of the vectors of sum 0."""
    k = len(u) + 1
    s = u.sum()
    return np.concatenate([u - s / (np.sqrt(k) + k), [-s / np.sqrt(k)]])


def factor(v, k):
    """Rows of length 1 from partial correlations tanh v."""
    out = np.zeros((k, k))
    at = 0
    for i in range(k):
        rest = 1.0
        for j in range(i):
            r = np.tanh(v[at])
            at += 1
            out[i, j] = r * np.sqrt(rest)
            rest *= 1 - r * r
        out[i, i] = np.sqrt(rest)
    return out


def log_norm(k, eta):
    """ln of the integral of |C|^(eta - 1) over correlation matrices (Lewandowski et al. 2009)."""
    total = 0.0
    for i in range(1, k):
        b = eta + (k - 1 - i) / 2
        total += (2 * eta - 2 + k - i) * (k - i) * np.log(2) + (k - i) * betaln(b, b)
    return total


def add(name, text, model, values, u, recorded, wrong=0.0):
    """`values` are those of the value variables of PyMC, `wrong` is taken off."""
    lp = float(model.compile_logp()(values)) - wrong
    recorded = {k: np.ravel(v).tolist() for k, v in recorded.items()}
    cases.append(dict(name=name, model=text, u=np.ravel(u).tolist(), recorded=recorded, lp=lp))


def unconstrained(model, rv, x):
    """The value of the value variable."""
    transform = model.rvs_to_transforms[model[rv]]
    inputs = model[rv].owner.inputs
    return transform.forward(pt.as_tensor(x), *inputs).eval()


def value_name(model, rv):
    return model.rvs_to_values[model[rv]].name


for _ in range(3):
    # A walk whose step is a parameter.
    with pm.Model() as m:
        s = pm.HalfNormal("s", 1.0)
        pm.GaussianRandomWalk("x", mu=0.2, sigma=s, init_dist=pm.Normal.dist(0.5, 2.0), shape=5)
    u = rng.normal(size=6)
    x = walk(np.exp(u[0]), 0.2, u[1:])
    text = ("dim t = 5\ns ~ HalfNormal(1)\n"
            "x[t] ~ GaussianRandomWalk(mu=0.2, sigma=s, init_dist=Normal(0.5, 2))")
    add("walk", text, m, {value_name(m, "s"): u[0], value_name(m, "x"): x}, u, {"x": x})

    # A normal vector whose covariance is a parameter's.
    chol = np.array([[1.0, 0, 0], [0.4, 0.8, 0], [-0.3, 0.5, 1.2]])
    with pm.Model() as m:
        s = pm.HalfNormal("s", 1.0)
        pm.MvNormal("x", mu=[0.1, 0.2, 0.3], chol=s * chol)
    u = rng.normal(size=4)
    x = np.array([0.1, 0.2, 0.3]) + np.exp(u[0]) * chol @ u[1:]
    text = ("dim k = 3\ns ~ HalfNormal(1)\n"
            "let L = s * [[1, 0, 0], [0.4, 0.8, 0], [-0.3, 0.5, 1.2]]\n"
            "x[k] ~ MvNormal([0.1, 0.2, 0.3], chol=L)")
    add("normal", text, m, {value_name(m, "s"): u[0], value_name(m, "x"): x}, u, {"x": x})

    # Effects that sum to 0.
    with pm.Model() as m:
        s = pm.HalfNormal("s", 1.0)
        pm.ZeroSumNormal("x", sigma=s, shape=4)
    u = rng.normal(size=4)
    x = np.exp(u[0]) * zero_sum(u[1:])
    value = unconstrained(m, "x", x)
    text = "dim k = 4\ns ~ HalfNormal(1)\nx[k] ~ ZeroSumNormal(s)"
    add("zero sum", text, m, {value_name(m, "s"): u[0], value_name(m, "x"): value}, u, {"x": x})

    # A correlation matrix.
    with pm.Model() as m:
        pm.HalfNormal("w", 3.0)
        pm.LKJCorr("C", n=3, eta=2.0)
    u = rng.normal(size=4) * 0.7
    l = factor(u[1:], 3)
    c = l @ l.T
    value = unconstrained(m, "C", c[np.triu_indices(3, 1)])
    text = "dim k = 3\nw ~ HalfNormal(3)\nC[k, k] ~ LKJCorr(2)"
    add("correlations", text, m, {value_name(m, "w"): u[0], value_name(m, "C"): value}, u, {"C": c},
        2 * log_norm(3, 2.0))

    # The factor of a covariance.
    with pm.Model() as m:
        pm.LKJCholeskyCov("L", n=3, eta=1.5, sd_dist=pm.HalfNormal.dist(2.0), compute_corr=False)
    u = rng.normal(size=6) * 0.7
    l = np.exp(u[:3])[:, None] * factor(u[3:], 3)
    packed = l[np.tril_indices(3)]
    diagonal = [0, 2, 5]
    packed[diagonal] = np.log(packed[diagonal])
    text = "dim k = 3\nL[k, k] ~ LKJCholeskyCov(1.5, HalfNormal(2))"
    add("covariance", text, m, {value_name(m, "L"): packed}, u, {"L": l},
        2 * log_norm(3, 1.5))

print(json.dumps(dict(pymc=pm.__version__, cases=cases), indent=1))
