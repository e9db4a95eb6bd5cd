"""Fits with constraints that are not linear, by SciPy's SLSQP from the truth and beside it.

python curved.py > curved.json
"""

import json

import numpy as np
from scipy.optimize import NonlinearConstraint, minimize

G = np.random.default_rng(11)


def gaussian(x, a, m, s, c):
    return a * np.exp(-((x - m) ** 2) / (2 * s * s)) + c


#: Formula, the same in NumPy, truth, range, constraints as text and as functions that are 0 or at most 0.
CASES = [
    (
        "a*x + b",
        lambda x, a, b: a * x + b,
        (0.8, 0.75),
        (-2, 2),
        ["a^2 + b^2 = 1"],
        [(lambda t: t[0] ** 2 + t[1] ** 2 - 1, True)],
    ),
    (
        "a*exp(-b*x) + c",
        lambda x, a, b, c: a * np.exp(-b * x) + c,
        (3.0, 0.8, 0.5),
        (0, 6),
        ["a*b < 2"],
        [(lambda t: t[0] * t[1] - 2, False)],
    ),
    (
        "a*exp(-b*x) + c",
        lambda x, a, b, c: a * np.exp(-b * x) + c,
        (3.0, 0.8, 0.5),
        (0, 6),
        ["a*b < 10"],
        [(lambda t: t[0] * t[1] - 10, False)],
    ),
    (
        "a*exp(-(x-m)^2/(2*s^2)) + c",
        gaussian,
        (4.0, 5.0, 0.9, 0.5),
        (0, 10),
        ["a*s = 3.2"],
        [(lambda t: t[0] * t[2] - 3.2, True)],
    ),
    (
        "a*exp(-(x-m)^2/(2*s^2)) + c",
        gaussian,
        (4.0, 5.0, 0.9, 0.5),
        (0, 10),
        ["a*s = 3.2", "c > m/a^2"],
        [(lambda t: t[0] * t[2] - 3.2, True), (lambda t: t[1] / t[0] ** 2 - t[3], False)],
    ),
    (
        "a*exp(-b*x) + c*exp(-d*x)",
        lambda x, a, b, c, d: a * np.exp(-b * x) + c * np.exp(-d * x),
        (3.0, 2.5, 2.0, 0.3),
        (0, 8),
        ["b*d = 0.6", "a + c = 5.1"],
        [(lambda t: t[1] * t[3] - 0.6, True), (lambda t: t[0] + t[2] - 5.1, True)],
    ),
    (
        "a*sin(w*x + p)",
        lambda x, a, w, p: a * np.sin(w * x + p),
        (2.0, 1.5, 0.4),
        (0, 9),
        ["sqrt(a) < 1.38", "w*p > 0.5"],
        [(lambda t: np.sqrt(t[0]) - 1.38, False), (lambda t: 0.5 - t[1] * t[2], False)],
    ),
]


def main():
    out = []
    for formula, f, truth, (low, high), texts, rules in CASES:
        x = np.linspace(low, high, 40).round(6)
        clean = f(x, *truth)
        y = (clean + 0.05 * np.ptp(clean) * G.standard_normal(x.size)).round(8)
        cost = lambda t: 0.5 * float(np.sum((f(x, *t) - y) ** 2))  # noqa: E731
        limits = [{"type": "eq" if e else "ineq", "fun": g if e else (lambda t, g=g: -g(t))} for g, e in rules]
        best = None
        for k in range(6):
            start = np.array(truth) * (1 + (0.05 * G.standard_normal(len(truth)) if k else 0))
            found = minimize(cost, start, method="SLSQP", constraints=limits, options={"ftol": 1e-15, "maxiter": 2000})
            stricter = [NonlinearConstraint(g, 0 if e else -np.inf, 0) for g, e in rules]
            found = minimize(
                cost,
                found.x,
                method="trust-constr",
                constraints=stricter,
                options={"gtol": 1e-12, "xtol": 1e-14, "maxiter": 5000},
            )
            holds = all(abs(g(found.x)) < 1e-8 if e else g(found.x) < 1e-8 for g, e in rules)
            if holds and (best is None or found.fun < best.fun):
                best = found
        out.append(
            {
                "formula": formula,
                "constraints": texts,
                "x": x.tolist(),
                "y": y.tolist(),
                "cost": float(best.fun),
                "theta": best.x.tolist(),
                "truth": list(truth),
            }
        )
    print(json.dumps(out))


if __name__ == "__main__":
    main()
