"""Writes quantiles.json: quantiles of the marginal distributions of a small model's prior.

Run: python3 tests/golden/prior/generate.py     (needs numpy and scipy)

tau ~ Gamma(2, 3), x ~ Normal(1, tau=tau): x is Student's t with 4 degrees of freedom, location 1,
scale sqrt(3/2). p ~ Beta(2, 5), y ~ Binomial(10, p): y is beta-binomial; its distribution function
at 0 to 9 is written. d = x + 2. t ~ Normal(0, 1) truncated(p, inf) is written as its distribution
function at 0.2, 0.5, 1 and 2, integrated over p.
"""

import json
from pathlib import Path

import numpy as np
from scipy import integrate, stats

LEVELS = [0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99]
x = stats.t(4, 1, np.sqrt(1.5))

out = {
    "levels": LEVELS,
    "tau": stats.gamma(2, 0, 1 / 3).ppf(LEVELS).tolist(),
    "x": x.ppf(LEVELS).tolist(),
    "d": (x.ppf(LEVELS) + 2).tolist(),
    "p": stats.beta(2, 5).ppf(LEVELS).tolist(),
    "t_cdf": [
        integrate.quad(lambda p: stats.beta(2, 5).pdf(p) * (1 - stats.norm.sf(t) / stats.norm.sf(p)), 0, min(t, 1))[0]
        for t in (0.2, 0.5, 1, 2)
    ],
    "y_cdf": stats.betabinom(10, 2, 5).cdf(range(10)).tolist(),
}
Path(__file__).with_name("quantiles.json").write_text(json.dumps(out, indent=1) + "\n")
