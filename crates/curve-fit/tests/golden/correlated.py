"""Fits with a full covariance matrix of the errors, by SciPy's curve_fit.

python correlated.py > correlated.json
"""

import json

import numpy as np
from scipy.optimize import curve_fit


def decay(x, a, b, c):
    return a * np.exp(-b * x) + c


def line(x, a, b):
    return a * x + b


def main():
    rng = np.random.default_rng(7)
    out = []
    for f, formula, truth in [(decay, "a*exp(-b*x)+c", (3.0, 0.6, 0.5)), (line, "a*x+b", (1.5, -2.0))]:
        n = 25
        x = np.linspace(0, 8, n)
        spread = 0.1 + 0.05 * rng.uniform(size=n)
        matrix = np.outer(spread, spread) * np.exp(-np.abs(x[:, None] - x[None, :]) / 1.2)
        y = f(x, *truth) + np.linalg.cholesky(matrix) @ rng.standard_normal(n)
        for absolute in (False, True):
            popt, pcov = curve_fit(f, x, y, truth, sigma=matrix, absolute_sigma=absolute, xtol=1e-14, ftol=1e-14)
            off = y - f(x, *popt)
            out.append(
                {
                    "formula": formula,
                    "x": x.tolist(),
                    "y": y.tolist(),
                    "matrix": matrix.ravel().tolist(),
                    "absolute": absolute,
                    "popt": popt.tolist(),
                    "pcov": pcov.ravel().tolist(),
                    "chi2": float(off @ np.linalg.solve(matrix, off)),
                    "log_det": float(np.linalg.slogdet(matrix)[1]),
                }
            )
    print(json.dumps(out))


if __name__ == "__main__":
    main()
