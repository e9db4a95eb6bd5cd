"""Problems with many minima, each solved by SciPy's differential evolution within the same bounds.

python global.py > global.json
"""

import json

import numpy as np
from scipy.optimize import differential_evolution, least_squares

#: Formula, the same in NumPy, bounds, and where the truth is drawn from.
FAMILIES = {
    "chirp": (
        "a*sin(w*x + k*x^2 + p) + c",
        lambda x, a, w, k, p, c: a * np.sin(w * x + k * x**2 + p) + c,
        {"a": (0.1, 5), "w": (0, 12), "k": (-2, 2), "p": (-3.2, 3.2), "c": (-2, 2)},
        {"a": (1, 3), "w": (2, 10), "k": (-1, 1), "p": (-3, 3), "c": (-1, 1)},
    ),
    "root": (
        "a*cos(w*sqrt(x) + p)*exp(-b*x) + c",
        lambda x, a, w, p, b, c: a * np.cos(w * np.sqrt(x) + p) * np.exp(-b * x) + c,
        {"a": (0.1, 5), "w": (1, 40), "p": (-3.2, 3.2), "b": (0, 2), "c": (-2, 2)},
        {"a": (1, 3), "w": (6, 30), "p": (-3, 3), "b": (0.05, 0.3), "c": (-1, 1)},
    ),
    "phase": (
        "a*sin(w*x + d*sin(v*x))",
        lambda x, a, w, d, v: a * np.sin(w * x + d * np.sin(v * x)),
        {"a": (0.1, 5), "w": (0, 12), "d": (0, 4), "v": (0.2, 4)},
        {"a": (1, 3), "w": (4, 9), "d": (0.8, 2.5), "v": (0.6, 2)},
    ),
}


def problems():
    rng = np.random.default_rng(2026)
    for k in range(18):
        name = list(FAMILIES)[k % len(FAMILIES)]
        formula, f, bounds, drawn = FAMILIES[name]
        truth = np.array([rng.uniform(*drawn[p]) for p in drawn])
        x = np.sort(rng.uniform(0, 6, 90))
        y = f(x, *truth) + 0.15 * rng.standard_normal(x.size)
        yield name, formula, f, bounds, truth, x, y


def main():
    out = []
    for k, (name, formula, f, bounds, truth, x, y) in enumerate(problems()):
        box = list(bounds.values())
        low, high = np.array(box).T
        cost = lambda theta: 0.5 * float(np.sum((f(x, *theta) - y) ** 2))  # noqa: E731
        residuals = lambda theta: f(x, *theta) - y  # noqa: E731
        evolved = differential_evolution(cost, box, seed=k, tol=1e-8, maxiter=3000)
        near = least_squares(residuals, truth, bounds=(low, high), xtol=1e-14, ftol=1e-14)
        polished = least_squares(residuals, evolved.x, bounds=(low, high), xtol=1e-14, ftol=1e-14)
        out.append(
            {
                "family": name,
                "formula": formula,
                "bounds": {p: list(b) for p, b in bounds.items()},
                "x": x.round(12).tolist(),
                "y": y.round(12).tolist(),
                "scipy_cost": float(polished.cost),
                "truth_cost": float(near.cost),
            }
        )
    print(json.dumps(out))


if __name__ == "__main__":
    main()
