"""Writes odr.json: fits with errors in predictors by ODRPACK, as SciPy has it.

Run: python3 crates/curve-fit/tests/golden/odr.py    (needs a SciPy that still has scipy.odr)
"""

import json
import warnings
from pathlib import Path

import numpy as np

warnings.simplefilter("ignore")
from scipy import odr  # noqa: E402

CASES = {
    "a*x + b": (lambda b, x: b[0] * x + b[1], (1.7, -2.0), (0, 10), 0.4, 0.3),
    "a*exp(-b*x) + c": (lambda b, x: b[0] * np.exp(-b[1] * x) + b[2], (5.0, 0.6, 1.0), (0, 6), 0.15, 0.1),
    "a*sin(w*x + p)": (lambda b, x: b[0] * np.sin(b[1] * x + b[2]), (2.0, 1.1, 0.4), (0, 9), 0.1, 0.15),
    "vmax*x/(km + x)": (lambda b, x: b[0] * x / (b[1] + x), (4.0, 2.0), (0.5, 20), 0.2, 0.05),
}

out = {}
for number, (model, (f, truth, (low, high), sx, sy)) in enumerate(CASES.items()):
    rng = np.random.default_rng(40 + number)
    at = np.linspace(low, high, 45)
    sigma_x = sx * (0.6 + 0.8 * rng.random(at.size))
    sigma_y = sy * (0.6 + 0.8 * rng.random(at.size))
    x = at + sigma_x * rng.standard_normal(at.size)
    y = f(truth, at) + sigma_y * rng.standard_normal(at.size)
    job = odr.ODR(odr.RealData(x, y, sx=sigma_x, sy=sigma_y), odr.Model(f), beta0=truth, sstol=1e-15, partol=1e-15, maxit=1000)
    found = job.run()
    job = odr.ODR(odr.RealData(x, y, sx=sigma_x, sy=sigma_y), odr.Model(f), beta0=found.beta, sstol=1e-15, partol=1e-15, maxit=1000)
    found = job.run()
    print(model, found.stopreason, found.beta, found.sd_beta, found.sum_square)
    out[model] = {
        "x": x.tolist(), "y": y.tolist(), "sigma_x": sigma_x.tolist(), "sigma_y": sigma_y.tolist(), "beta": found.beta.tolist(),
        "sd_beta": found.sd_beta.tolist(), "sum_square": found.sum_square, "delta": found.delta.tolist(),
    }
Path(__file__).with_name("odr.json").write_text(json.dumps(out, indent=0).replace(",\n", ", ").replace("[\n", "[").replace("\n]", "]") + "\n")
