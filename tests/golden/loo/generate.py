"""Golden values of cross-validation, calibration and comparison of models, from ArviZ 1.x.

    python generate.py             writes loo.json

Made with Python 3.12.1, arviz 1.3.0, arviz-stats 1.3.3, numpy 2.5.5, scipy 1.18.1.

Draws, data and log likelihoods are recipes in + - * / alone (the generator of
tests/golden/diagnostics/generate.py), so that the test makes the same bits. Model m says
y ~ Normal(a + b mu, s) with (a, b, s) its three numbers; s is a power of two.

ArviZ stops the stacking weights at its optimiser's tolerance of 1e-6 on a flat function, so exact
ones are added: `weights` solves the conditions of optimality to 1e-13.

ArviZ 0.x has other conventions: the tail is rounded up and holds what lies above the cutoff, the
standard error divides by N, and elpd_diff is positive. `arviz0` keeps its numbers for one case to
show the size of the difference; they are not compared.
"""

import json
import math
import warnings
from pathlib import Path

import numpy as np

warnings.simplefilter("ignore")
HALF_LOG_TWO_PI = 0.9189385332046727


class Lcg:
    def __init__(self, seed):
        self.state = seed

    def uniform(self):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 11) / 2.0**53

    def bell(self):
        total = -6.0
        for _ in range(12):
            total += self.uniform()
        return total


CASES = [
    {"name": "plain", "chains": 4, "draws": 250, "n": 30, "rho": 0.3, "seed": 1, "outlier": 0.0, "whole": 0},
    {"name": "outliers", "chains": 4, "draws": 500, "n": 40, "rho": 0.9, "seed": 2, "outlier": 9.0, "whole": 0},
    {"name": "one chain", "chains": 1, "draws": 300, "n": 12, "rho": 0.5, "seed": 3, "outlier": 3.0, "whole": 0},
    {"name": "few draws", "chains": 2, "draws": 50, "n": 10, "rho": 0.0, "seed": 4, "outlier": 4.0, "whole": 0},
    {"name": "counts with ties", "chains": 4, "draws": 200, "n": 150, "rho": 0.1, "seed": 5, "outlier": 0.0, "whole": 1},
]
MODELS = [[0.0, 1.0, 1.0], [0.25, 0.5, 2.0], [-0.5, 1.5, 1.0], [0.0, 0.125, 2.0]]


def make(case):
    lcg = Lcg(case["seed"])
    chains, draws, n = case["chains"], case["draws"], case["n"]
    mu = np.zeros((chains, draws))
    for c in range(chains):
        x = 0.0
        for d in range(draws):
            x = case["rho"] * x + lcg.bell()
            mu[c, d] = 0.5 * x
    y = np.zeros(n)
    for i in range(n):
        y[i] = lcg.bell()
        if case["whole"]:
            y[i] = math.floor(2.0 * y[i])
        if i % 10 == 0:
            y[i] = y[i] + case["outlier"]
    replicated = np.zeros((chains, draws, n))
    for c in range(chains):
        for d in range(draws):
            for i in range(n):
                value = mu[c, d] + lcg.bell()
                replicated[c, d, i] = math.floor(2.0 * value) if case["whole"] else value
    return mu, y, replicated


def log_likelihood(model, mu, y):
    a, b, s = model
    residual = (y[None, None, :] - (a + b * mu[:, :, None])) / s
    constant = -HALF_LOG_TWO_PI - {1.0: 0.0, 2.0: 0.6931471805599453}[s]
    return constant - 0.5 * residual * residual


def exact_weights(elpd):
    """Stacking weights by the fixed point w <- w g, then Newton's method on those above 0."""
    p = np.exp(elpd - elpd.max(axis=1, keepdims=True))
    w = np.full(p.shape[1], 1.0 / p.shape[1])
    for _ in range(200_000):
        g = (p / (p @ w)[:, None]).mean(axis=0)
        new = w * g
        if np.abs(new - w).max() < 1e-15:
            break
        w = new
    free = w > 1e-7
    for _ in range(50):
        q = p @ w
        g = (p / q[:, None]).mean(axis=0)[free]
        h = (p[:, free] / q[:, None]).T @ (p[:, free] / q[:, None]) / len(p)
        m = free.sum()
        system = np.block([[h, np.ones((m, 1))], [np.ones((1, m)), np.zeros((1, 1))]])
        step = np.linalg.solve(system, np.append(g, 0.0))[:m]
        w = np.where(free, w, 0.0)
        w[free] += step
        w /= w.sum()
    g = (p / (p @ w)[:, None]).mean(axis=0)
    assert g.max() < 1 + 1e-12 and w.min() >= 0, (g, w)
    return w


def main():
    import arviz_stats as azs
    from arviz_base import from_dict

    out = []
    for case in CASES:
        mu, y, replicated = make(case)
        trees, models = {}, []
        for k, model in enumerate(MODELS):
            ll = log_likelihood(model, mu, y)
            dt = from_dict({
                "posterior": {"mu": mu},
                "log_likelihood": {"y": ll},
                "posterior_predictive": {"y": replicated},
                "observed_data": {"y": y},
            })
            trees[str(k)] = dt
            loo = azs.loo(dt, pointwise=True)
            models.append({
                "elpd": float(loo.elpd), "se": float(loo.se), "p": float(loo.p),
                "good_k": float(loo.good_k),
                "elpd_i": loo.elpd_i.values.tolist(), "k": loo.pareto_k.values.tolist(),
                "pit": pit_values(dt, loo).tolist(),
                "check": float(ll.sum()),
            })
        table = azs.compare(trees, round_to="none")
        elpd = np.array([m["elpd_i"] for m in models]).T
        order = [int(i) for i in table.index]
        compared = {
            "order": order,
            "elpd_diff": table["elpd_diff"].tolist(), "dse": table["dse"].tolist(),
            "p_worse": [None if math.isnan(v) else v for v in table["p_worse"].tolist()],
            "arviz_weights": table["weight"].tolist(),
            "weights": exact_weights(elpd)[order].tolist(),
            "diag_diff": table["diag_diff"].tolist(),
        }
        out.append({"recipe": case, "models": models, "compare": compared})
    path = Path(__file__).with_name("loo.json")
    path.write_text(json.dumps({"models": MODELS, "cases": out}, indent=1) + "\n")


def pit_values(dt, loo):
    """LOO-PIT with ties counted half, which ArviZ does when it has no random state."""
    from arviz_stats.base import array_stats

    pred = dt.posterior_predictive["y"].stack(s=("chain", "draw")).transpose("y_dim_0", "s").values
    weights = loo.log_weights.stack(s=("chain", "draw")).transpose("y_dim_0", "s").values
    y = dt.observed_data["y"].values
    return array_stats._loo_pit(pred, y, weights, rng=None)


if __name__ == "__main__":
    main()
