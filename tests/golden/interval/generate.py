"""Writes interval.csv: log probabilities of intervals, exact values and censored ones, by SciPy.

Run: python3 tests/golden/interval/generate.py     (needs numpy and scipy)

Columns: the distribution as the language writes it, the lower end, the upper end, the log density
where both are equal, else the logarithm of the probability between them (both ends included).
"""

from pathlib import Path

import numpy as np
from scipy import stats

INF = np.inf
REAL = [(0.4, 0.4), (-INF, 0.2), (0.7, INF), (-0.3, 1.1), (2.5, 2.75), (-INF, -2.0), (4.0, INF)]
ABOVE_0 = [(0.4, 0.4), (-INF, 0.2), (0.0, 0.2), (0.7, INF), (0.3, 1.1), (2.5, 2.75), (4.0, INF)]
SHARE = [(0.4, 0.4), (0.0, 0.2), (0.7, INF), (0.7, 1.0), (0.3, 0.6)]
COUNTS = [(3, 3), (0, 2), (-INF, 2), (4, INF), (2, 5), (1, 1)]

LAWS = [
    ("Normal(0.3, 1.2)", stats.norm(0.3, 1.2), REAL),
    ("Logistic(0.3, 1.2)", stats.logistic(0.3, 1.2), REAL),
    ("Cauchy(0.3, 1.2)", stats.cauchy(0.3, 1.2), REAL),
    ("StudentT(4, 0.3, 1.2)", stats.t(4, 0.3, 1.2), REAL),
    ("Exponential(0.8)", stats.expon(scale=1 / 0.8), ABOVE_0),
    ("Weibull(1.7, 2)", stats.weibull_min(1.7, scale=2), ABOVE_0),
    ("LogNormal(0.2, 0.9)", stats.lognorm(0.9, scale=np.exp(0.2)), ABOVE_0),
    ("Gamma(2.5, 1.5)", stats.gamma(2.5, scale=1 / 1.5), ABOVE_0),
    ("Beta(2, 3)", stats.beta(2, 3), SHARE),
    ("Poisson(2.7)", stats.poisson(2.7), COUNTS),
]


def log_probability(law, low, high):
    discrete = hasattr(law, "pmf")
    if low == high:
        return law.logpmf(low) if discrete else law.logpdf(low)
    below = low - 1 if discrete else low
    if high == INF:
        return law.logsf(below)
    if below < law.support()[0] or below == -INF or (below == 0 and law.support()[0] == 0 and not discrete):
        return law.logcdf(high)
    # From the side where less is.
    if law.cdf(below) < 0.5:
        return np.log(law.cdf(high) - law.cdf(below))
    return np.log(law.sf(below) - law.sf(high))


def main():
    lines = ["distribution|lower|upper|log_probability"]
    for text, law, intervals in LAWS:
        for low, high in intervals:
            lines.append(f"{text}|{low}|{high}|{float(log_probability(law, low, high))!r}")
    Path(__file__).with_name("interval.csv").write_text("\n".join(lines) + "\n")


main()
