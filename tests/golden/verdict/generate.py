"""Exact posteriors of the targets in tests/verdict.rs that have no data set of their own.

    python tests/golden/verdict/generate.py

Closed forms where there are some, else sums over fine lattices. A mean or standard deviation that
does not exist is null.
"""

import json
import pathlib

import numpy as np
from scipy import integrate, optimize, special, stats

HERE = pathlib.Path(__file__).resolve().parent
LEVELS = {"q05": 0.05, "q50": 0.50, "q95": 0.95}


def finite(value):
    return float(value) if np.isfinite(value) else None


def known(name, distribution, index=()):
    """A quantity whose distribution SciPy knows."""
    mean, variance = distribution.stats("mv")
    row = {"name": name, "index": list(index), "mean": finite(mean), "sd": finite(np.sqrt(variance))}
    return row | {q: float(distribution.ppf(p)) for q, p in LEVELS.items()}


def by_function(name, mean, sd, below, ends, index=()):
    """A quantity of which the distribution function is known."""
    row = {"name": name, "index": list(index), "mean": mean, "sd": sd}
    solve = lambda p: optimize.brentq(lambda x: below(x) - p, *ends, xtol=1e-12)
    return row | {q: float(solve(p)) for q, p in LEVELS.items()}


def on_lattice(name, values, weights, moments):
    """A quantity on points with weights; quantiles between points by interpolation."""
    order = np.argsort(values)
    x, w = values[order], weights[order] / weights.sum()
    mean = float((w * x).sum())
    sd = float(np.sqrt((w * (x - mean) ** 2).sum()))
    middle = np.cumsum(w) - 0.5 * w
    row = {"name": name, "index": [], "mean": mean if moments > 0 else None, "sd": sd if moments > 1 else None}
    return row | {q: float(np.interp(p, middle, x)) for q, p in LEVELS.items()}


def scale_mixture(name, density, grid, index=()):
    """x ~ N(0, exp(u)) with u of this density on a grid: only quantiles."""
    w = density(grid)
    w = w / w.sum()
    below = lambda x: float((w * special.ndtr(x * np.exp(-grid))).sum())
    return by_function(name, None, None, below, (-1e6, 1e6), index)


def funnel(n, sd):
    grid = np.linspace(-9 * sd / 2, 9 * sd / 2, 20001)
    density = lambda u: stats.norm.pdf(u, 0, sd / 2)
    return [known("v", stats.norm(0, sd))] + [scale_mixture("x", density, grid, [i]) for i in range(n)]


def horseshoe(n):
    grid = np.linspace(-18, 18, 40001)
    density = lambda u: 2 / np.pi * np.exp(u) / (1 + np.exp(2 * u))
    return [known("s", stats.halfcauchy())] + [scale_mixture("x", density, grid, [i]) for i in range(n)]


def banana(height, sd):
    x = np.linspace(-9, 9, 200001)
    w = stats.norm.pdf(x) * (x[1] - x[0])
    below = lambda y: float((w * special.ndtr((y - height * x * x) / sd)).sum())
    y = by_function("y", height, float(np.hypot(np.sqrt(2) * height, sd)), below, (-50, 200))
    return [known("x", stats.norm()), y]


def mixture(name, parts, index=()):
    """A mixture of normals (weight, mean, sd)."""
    w, m, s = (np.array(c) for c in zip(*parts))
    mean = float((w * m).sum())
    sd = float(np.sqrt((w * (s * s + m * m)).sum() - mean * mean))
    below = lambda x: float((w * special.ndtr((x - m) / s)).sum())
    return by_function(name, mean, sd, below, (-50, 50), index)


def ratio():
    """a/b, a ~ N(1, 0.5), b ~ N(1, 0.3): no moments."""
    def below(r):
        f = lambda b: stats.norm.pdf(b, 1, 0.3) * (
            special.ndtr((r * b - 1) / 0.5) if b > 0 else special.ndtr((1 - r * b) / 0.5))
        return integrate.quad(f, -2, 0, epsabs=1e-12)[0] + integrate.quad(f, 0, 4, epsabs=1e-12)[0]
    return [by_function("r", None, None, below, (-50, 50)), known("a", stats.norm(1, 0.5)), known("b", stats.norm(1, 0.3))]


DOSES = 0.3 * np.array([0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 0.85, 1.0, 1.2, 1.5, 1.8, 2.2, 2.6, 3.0])
NOISE = np.array([0.9, -1.2, 0.3, 0.6, -0.4, 1.5, -0.7, 0.1, -1.0, 0.4, 0.8, -0.2, -0.9, 1.1, -0.5])
RATES = np.round(5 * DOSES / (5 + DOSES) * np.exp(0.1 * NOISE), 4)


def elimination(prior, moments):
    """rate ~ LogNormal(log(V t/(K + t)), s), s ~ HalfNormal(0.2): K and V along a ridge."""
    k = np.linspace(-4, 16, 1601)[:, None]
    c = np.linspace(-1, 1, 801)[None, :]
    shape = np.log(DOSES) - np.log1p(np.exp(-k[..., None]) * DOSES)
    gap = np.log(RATES) - (c[..., None] + shape)
    squares = (gap**2).sum(-1)
    total = np.zeros_like(squares)
    for s in np.exp(np.linspace(np.log(0.04), np.log(0.5), 160)):
        total += s * np.exp(-0.5 * squares / s**2 - len(DOSES) * np.log(s) - 0.5 * (s / 0.2) ** 2)
    big_k = np.exp(k) + 0 * c
    big_v = np.exp(k + c)
    # The volume dK dV = K V dk dc.
    total *= prior(big_k) * prior(big_v) * big_k * big_v
    values = lambda name, x: on_lattice(name, x.ravel(), total.ravel(), moments)
    return [values("K", big_k), values("V", big_v)]


def main():
    targets = {
        "normal": [known("x", stats.norm(), [i]) for i in range(5)],
        "correlated": [known("x", stats.norm()), known("y", stats.norm())],
        "skewed": [known("g", stats.gamma(2)), known("h", stats.expon()), known("b", stats.beta(2, 3))],
        "student-7": [known("x", stats.t(7))],
        "student-3": [known("x", stats.t(3), [i]) for i in range(3)],
        "student-2": [known("x", stats.t(2), [i]) for i in range(3)],
        "cauchy": [known("x", stats.cauchy(), [i]) for i in range(3)],
        "half-cauchy": [known("s", stats.halfcauchy())],
        "log-normal": [known("x", stats.lognorm(1.5))],
        "funnel-1": funnel(1, 3),
        "funnel-3": funnel(3, 3),
        "funnel-9": funnel(9, 3),
        "funnel-mild": funnel(9, 1),
        "horseshoe": horseshoe(5),
        "banana": banana(2, 0.1),
        "banana-wide": banana(1, 0.5),
        "two-modes": [mixture("x", [(0.3, -2.5, 1), (0.7, 2.5, 1)])],
        "two-widths": [mixture("x", [(0.5, 0, 1), (0.5, 0, 0.05)], [i]) for i in range(2)],
        "ratio": ratio(),
        "elimination": elimination(lambda x: 1 / (1 + x * x), 1),
        "elimination-log": elimination(lambda x: np.exp(-0.5 * ((np.log(x) - 1) / 1.5) ** 2) / x, 2),
    }
    for name, quantities in targets.items():
        text = json.dumps({"script": "generate.py", "quantities": quantities}, indent=1)
        (HERE / f"{name}.json").write_text(text + "\n")
    print("doses", DOSES.round(4).tolist(), "rates", RATES.tolist())


if __name__ == "__main__":
    main()
