"""Golden values of densities and ECDF bands, by NumPy and SciPy. Writes numeric.json beside itself.

Coverage of the bands is simulated there; the seed is fixed. python generate.py
"""

import json
from pathlib import Path

import numpy as np
from scipy import stats

rng = np.random.default_rng(11)


def kernel(draws, x):
    """Silverman's rule, exact sum over draws; bins of the program differ by less than 2 %."""
    iqr = np.subtract(*np.quantile(draws, [0.75, 0.25]))
    width = 0.9 * min(draws.std(ddof=1), iqr / 1.34) * len(draws) ** -0.2
    return stats.norm.pdf((x[:, None] - draws) / width).mean(1) / width


draws = rng.normal(3, 2, 500)
x = np.linspace(-4, 10, 29)
out = {"draws": draws.tolist(), "x": x.tolist(), "density": kernel(draws, x).tolist()}

positive = rng.exponential(1, 800)
x = np.linspace(0.0, 4, 17)
mirrored = np.concatenate([positive, -positive])
iqr = np.subtract(*np.quantile(positive, [0.75, 0.25]))
width = 0.9 * min(positive.std(ddof=1), iqr / 1.34) * len(positive) ** -0.2
out["positive"] = positive.tolist()
out["positive_x"] = x.tolist()
out["positive_density"] = (
    2 * stats.norm.pdf((x[:, None] - mirrored) / width).mean(1) / width
).tolist()

# Simulated coverage: 20,000 sets of 100 uniform numbers as counts in 20 cells, and 20,000 chains of
# 100 ranks among 400.
n, points, sets = 100, 20, 20_000
uniform = rng.multinomial(n, np.full(points, 1 / points), sets).cumsum(1) / n
ranks = np.stack(
    [np.bincount(rng.choice(400, n, replace=False) // 20, minlength=points) for _ in range(sets)]
).cumsum(1) / n
grid = np.arange(1, points + 1) / points
out["uniform_quantiles"] = {}
for name, paths in [("uniform", uniform), ("ranks", ranks)]:
    # Largest deviation in units of the pointwise standard deviation: the 95 % quantile.
    sd = np.sqrt(grid * (1 - grid) / n)[:-1]
    worst = np.abs((paths - grid)[:, :-1] / sd).max(1)
    out[name + "_worst95"] = float(np.quantile(worst, 0.95))
out.pop("uniform_quantiles")
Path(__file__).with_name("numeric.json").write_text(json.dumps(out) + "\n")
