"""Writes structured.csv: reference log densities of vector, matrix and compound distributions.

Run: python3 tests/golden/dist/generate_structured.py    (needs numpy, scipy, mpmath and pymc)

SciPy where it has the distribution, else PyMC; LKJ from its vine of partial correlations, since
PyMC 5.28 adds the logarithm of LKJ's normalising integral where it should subtract it (a density of
2 instead of 1/2 for one uniform correlation). Columns, separated by `|`: distribution, its
inputs (numbers separated by spaces), log density.
"""

from pathlib import Path

import mpmath as mp
import numpy as np
import pymc as pm
import pytensor
from scipy import stats

mp.mp.dps = 40
rng = np.random.default_rng(7)
rows = ["distribution|inputs...|log_density"]


def add(name, value, *inputs):
    cells = [" ".join(repr(float(v)) for v in np.ravel(x)) for x in inputs]
    rows.append("|".join([name, *cells, repr(float(value))]))


def logp(dist, value):
    # PyMC computes in single precision with Python numbers that are exact there: pass none such.
    return pytensor.function([], pm.logp(dist, np.asarray(value)).sum())()


def spd(k):
    a = rng.normal(size=(k, k))
    return a @ a.T + 0.3 * np.eye(k)


def ndtr(z):
    return mp.erfc(-z / mp.sqrt(2)) / 2


def mv_student(y, nu, mu, scale):
    """The formula, at 40 digits: SciPy's difference of ln Gamma loses them for large nu."""
    k, nu, shape = len(y), mp.mpf(nu), mp.matrix(scale.tolist())
    off = mp.matrix((y - mu).tolist())
    square = (off.T * mp.lu_solve(shape, off))[0]
    norm = mp.loggamma((nu + k) / 2) - mp.loggamma(nu / 2) - k * mp.log(nu * mp.pi) / 2
    value = norm - mp.log(mp.det(shape)) / 2 - (nu + k) / 2 * mp.log1p(square / nu)
    assert abs(value - stats.multivariate_t(mu, scale, float(nu)).logpdf(y)) < 1e-8
    return value


def lkj_vine(correlation, eta):
    """LKJ through its construction: independent partial correlations on a C-vine, each a Beta.

    Lewandowski, Kurowicka and Joe (2009), section 2: the partial correlation of (i, j) given the
    variables before i is Beta(b, b) on (-1, 1), b = eta + (k - 2 - i)/2 counting i from 0; the
    Jacobian to correlations is the product of (1 - partial^2)^((k - 2 - i)/2).
    """
    k = len(correlation)
    value, rest = 0.0, correlation.copy()
    for i in range(k - 1):
        scale = np.sqrt(np.diag(rest))
        for j in range(1, len(rest)):
            partial = rest[0, j] / (scale[0] * scale[j])
            b = eta + (k - 2 - i) / 2
            value += stats.beta(b, b).logpdf((partial + 1) / 2) - np.log(2)
            value -= (k - 2 - i) / 2 * np.log1p(-partial**2)
        # Covariance given the first of those left (Schur complement).
        rest = rest[1:, 1:] - np.outer(rest[1:, 0], rest[0, 1:]) / rest[0, 0]
    return value


def log_jacobian(f, x):
    """ln |det df/dx| by complex steps, exact to rounding."""
    columns = [np.imag(f(x + 1j * 1e-30 * e)) / 1e-30 for e in np.eye(len(x))]
    return np.linalg.slogdet(np.array(columns))[1]


def sd_and_correlations(packed, k):
    """Standard deviations and correlations of the covariance with this packed Cholesky factor."""
    factor = np.zeros((k, k), dtype=packed.dtype)
    factor[np.tril_indices(k)] = packed
    cov = factor @ factor.T
    sd = np.sqrt(np.diag(cov))
    return np.concatenate([sd, (cov / np.outer(sd, sd))[np.tril_indices(k, -1)]])


for k in (2, 3, 6):
    p = rng.dirichlet(np.ones(k))
    logits = rng.normal(size=k)
    y = k - 2
    add("categorical", np.log(p[y]), [y], p)
    add("categorical_logit", logp(pm.Categorical.dist(logit_p=logits), y), [y], logits)
    cuts = np.sort(rng.normal(size=k))
    for y in (0, 1, k):
        add("ordered_logistic", logp(pm.OrderedLogistic.dist(eta=0.4, cutpoints=cuts), y), [y], [0.4], cuts)
    a = rng.gamma(2, size=k)
    add("dirichlet", stats.dirichlet(a).logpdf(p), p, a)
    counts = rng.multinomial(20, p)
    add("multinomial", stats.multinomial(20, p).logpmf(counts), counts, p)
    mu, y, cov = rng.normal(size=k), rng.normal(size=k), spd(k)
    normal = stats.multivariate_normal(mu, cov).logpdf(y)
    add("mv_normal", normal, y, mu, cov)
    add("mv_normal_cholesky", normal, y, mu, np.linalg.cholesky(cov))
    z = y - y.mean()
    add("zero_sum_normal", logp(pm.ZeroSumNormal.dist(sigma=1.7, shape=k), z), z, [1.7])

    correlation = cov / np.sqrt(np.outer(np.diag(cov), np.diag(cov)))
    factor = np.linalg.cholesky(cov)
    packed = factor[np.tril_indices(k)]
    for eta in (0.7, 1.0, 4.0):
        lkj = lkj_vine(correlation, eta)
        add("lkj_correlation", lkj, correlation, [eta])
        to_free = lambda v: sd_and_correlations(v, k)
        sd = stats.gamma(2.0, 0, 1 / 1.5).logpdf(np.sqrt(np.diag(cov))).sum()
        add("lkj_cholesky_covariance", lkj + sd + log_jacobian(to_free, packed), factor, [eta])

walk = rng.normal(size=8).cumsum()
steps = stats.norm(0.1, 0.8).logpdf(np.diff(walk)).sum()
add("random_walk", stats.norm(0, 2).logpdf(walk[0]) + steps, walk, [0.1], [0.8])
means = 0.3 + 0.5 * walk[1:-1] - 0.2 * walk[:-2]
steps = stats.norm(means, 0.9).logpdf(walk[2:]).sum()
add("autoregressive", stats.norm(0, 2).logpdf(walk[:2]).sum() + steps, walk, [0.3], [0.5, -0.2], [0.9])
normal, geometric, logistic = stats.norm(0.4, 1.2), stats.geom(0.3), stats.logistic(0.4, 1.2)
for y, value in ((-1.1, normal.logcdf(-1.1)), (0.3, normal.logpdf(0.3)), (2.1, normal.logsf(2.1))):
    add("censored", value, [y], [0.4, 1.2], [-1.1, 2.1])
for y, value in ((1, geometric.logcdf(1)), (2, geometric.logpmf(2)), (5, geometric.logsf(4))):
    add("censored_geometric", value, [y], [0.3], [1.0, 5.0])
for y in (-1.1, 0.3, 2.1):
    w = [0.2, 0.8]
    parts = [stats.norm(-1.1, 0.6).pdf(y), stats.laplace(1.2, 2.1).pdf(y)]
    add("mixture", np.log(np.dot(w, parts)), [y], w)
    share = logistic.cdf(3.1) - logistic.cdf(-2.1)
    add("truncated", logistic.logpdf(y) - np.log(share), [y], [0.4, 1.2], [-2.1, 3.1])
share = geometric.cdf(6) - geometric.cdf(1)
add("truncated_geometric", geometric.logpmf(4) - np.log(share), [4], [0.3], [2, 6])

# Further ones come last, so that the random numbers of those above stay as they are.
for k in (2, 3, 6):
    cuts = np.sort(rng.normal(size=k))
    edges = np.concatenate([[-np.inf], cuts, [np.inf]])
    for y, eta in ((0, 0.4), (1, 0.4), (k, 0.4), (1, 9.0), (k - 1, -7.0)):
        z = [ndtr((mp.mpf(float(e)) - eta) / 1.7) for e in edges[y : y + 2]]
        add("ordered_probit", mp.log(z[1] - z[0]), [y], [eta], cuts, [1.7])
    a = rng.gamma(2, size=k)
    counts = rng.multinomial(20, rng.dirichlet(a))
    add("dirichlet_multinomial", stats.dirichlet_multinomial(a, 20).logpmf(counts), counts, a)
    mu, y, scale = rng.normal(size=k), rng.normal(size=k), spd(k)
    for nu in (0.7, 4.0, 1e6):
        student = mv_student(y, nu, mu, scale)
        add("mv_student", student, y, [nu], mu, scale)
        add("mv_student_cholesky", student, y, [nu], mu, np.linalg.cholesky(scale))
    weights = rng.dirichlet(np.ones(k))
    for alpha in (0.4, 3.0):
        left = 1 - np.concatenate([[0], np.cumsum(weights)[:-2]])
        broken = stats.beta(1, alpha).logpdf(weights[:-1] / left) - np.log(left)
        sticks = pm.StickBreakingWeights.dist(alpha=alpha, K=k - 1)
        # PyMC takes a part of it in single precision.
        assert abs(logp(sticks, weights) - broken.sum()) < 1e-6
        add("stick_breaking_weights", broken.sum(), weights, [alpha])
Path(__file__).with_name("structured.csv").write_text("\n".join(rows) + "\n")
