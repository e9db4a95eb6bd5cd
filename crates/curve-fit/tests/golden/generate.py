"""Fits by SciPy that ours are compared with; writes fits.json beside this file.

Run with SciPy: python generate.py
"""

import json
import pathlib

import numpy as np
import scipy
from scipy.optimize import curve_fit, least_squares

rng = np.random.default_rng(7)
x = np.linspace(0.0, 5.0, 200)
clean = 2.0 * np.exp(-0.8 * x) + 0.3
sigma = 0.02 + 0.03 * (x / 5.0)
y = clean + sigma * rng.standard_normal(x.size)
y = np.round(y, 6)
outliers = y.copy()
outliers[::17] += 0.8


def f(x, a, b, c):
    return a * np.exp(-b * x) + c


def jac(x, a, b, c):
    e = np.exp(-b * x)
    return np.stack([e, -a * x * e, np.ones_like(x)], axis=1)


tight = dict(xtol=1e-15, ftol=1e-15, gtol=1e-15, maxfev=5000)
out = {"scipy": scipy.__version__, "x": x.tolist(), "y": y.tolist(), "sigma": sigma.tolist(), "outliers": outliers.tolist()}
p0 = (1.0, 1.0, 0.0)
for name, kw in {
    "unweighted": {},
    "weighted": dict(sigma=sigma),
    "absolute": dict(sigma=sigma, absolute_sigma=True),
}.items():
    popt, pcov = curve_fit(f, x, y, p0=p0, jac=jac, method="lm", **tight, **kw)
    out[name] = {"popt": popt.tolist(), "pcov": pcov.ravel().tolist()}
bound = curve_fit(f, x, y, p0=(1, 1, 0.5), bounds=([0, 0, 0.35], [5, 5, 1]), jac=jac, xtol=1e-15, ftol=1e-15, gtol=1e-15)
out["bounded"] = {"popt": bound[0].tolist()}
for loss in ["soft_l1", "huber", "cauchy", "arctan"]:
    r = least_squares(
        lambda p: f(x, *p) - outliers, (2.0, 0.8, 0.3), jac=lambda p: jac(x, *p), loss=loss, f_scale=0.05,
        xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=5000,
    )
    out[loss] = {"popt": r.x.tolist(), "cost": float(r.cost)}
pathlib.Path(__file__).with_name("fits.json").write_text(json.dumps(out, indent=1) + "\n")
