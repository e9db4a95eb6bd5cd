"""Neal's funnel: v ~ N(0, 3), x_i ~ N(0, exp(v/2)), i = 1 .. 9, without data.

    python tests/golden/posteriors/funnel.py

x has no useful moments (its fourth exceeds its second by e^9), so what is listed besides v is
size_i = log|x_i| = v/2 + log|z|: mean and standard deviation from those of log|z|, z standard
normal, which are -(gamma + log 2)/2 and pi/sqrt(8); quantiles from P(size < s) = E[2 Phi(exp(s - v/2)) - 1].
"""

import pathlib
import platform

import numpy as np
import scipy
from scipy import integrate, optimize, stats

from exact import write

HERE = pathlib.Path(__file__).resolve().parent
LEVELS = {"q05": 0.05, "q50": 0.50, "q95": 0.95}
SIGMA = 3.0


def below(s):
    """P(size < s)."""
    def part(v):
        return stats.norm.pdf(v, 0.0, SIGMA) * (2.0 * stats.norm.cdf(np.exp(s - 0.5 * v)) - 1.0)
    return integrate.quad(part, -30.0, 30.0, epsabs=1e-13, epsrel=1e-13, limit=500)[0]


def main():
    known = {k: 0.0 for k in ("mcse_mean", "mcse_sd", *("mcse_" + q for q in LEVELS))}
    v = {"mean": 0.0, "sd": SIGMA} | {q: float(stats.norm.ppf(p, 0.0, SIGMA)) for q, p in LEVELS.items()}
    size = {"mean": -0.5 * (np.euler_gamma + np.log(2.0)), "sd": float(np.hypot(0.5 * SIGMA, np.pi / np.sqrt(8.0)))}
    size |= {q: float(optimize.brentq(lambda s, p=p: below(s) - p, -20.0, 20.0, xtol=1e-12)) for q, p in LEVELS.items()}
    quantities = [{"name": "v", "index": []} | v | known]
    quantities += [{"name": "size", "index": [i]} | size | known for i in range(9)]
    write("funnel", {
        "model": "funnel", "method": "exact", "script": "funnel.py",
        "versions": {"python": platform.python_version(), "numpy": np.__version__, "scipy": scipy.__version__},
        "quantities": quantities,
    })


if __name__ == "__main__":
    main()
