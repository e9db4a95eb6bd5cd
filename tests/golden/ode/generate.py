"""Writes solutions.json: differential equations, and their solutions by SciPy.

Run: python3 tests/golden/ode/generate.py     (needs numpy and scipy)

Each case: the method of the language, its states with their rates as the language writes them and
their starts, the times, and the values of every state at these, from two of SciPy's methods that
agree to nine digits.
"""

import json
from pathlib import Path

import numpy as np
from scipy.integrate import solve_ivp

BRUSSELATOR = np.linspace(0.5, 12, 24)
cases = [
    (
        "solve",
        {"x": ("1 + x^2 * y - 4 * x", 1.5), "y": ("3 * x - x^2 * y", 3.0)},
        lambda t, s: [1 + s[0] ** 2 * s[1] - 4 * s[0], 3 * s[0] - s[0] ** 2 * s[1]],
        BRUSSELATOR,
    ),
    (
        "solve",
        {"q": ("p", 0.4), "v": ("r", 0.0), "p": ("-q / (q^2 + v^2)^1.5", 0.0), "r": ("-v / (q^2 + v^2)^1.5", 2.0)},
        lambda t, s: [s[2], s[3], -s[0] / np.hypot(s[0], s[1]) ** 3, -s[1] / np.hypot(s[0], s[1]) ** 3],
        np.linspace(1, 10, 10),
    ),
    (
        "solve",
        {"s": ("-0.0022 * s * i", 762.0), "i": ("0.0022 * s * i - 0.45 * i", 1.0), "r": ("0.45 * i", 0.0)},
        lambda t, s: [-0.0022 * s[0] * s[1], 0.0022 * s[0] * s[1] - 0.45 * s[1], 0.45 * s[1]],
        np.arange(1.0, 15.0),
    ),
    (
        "solve",
        {"x": ("cos(t) * x + exp(-t)", 0.3)},
        lambda t, s: [np.cos(t) * s[0] + np.exp(-t)],
        np.array([0.1, 0.1, 1.0, 5.0, 20.0]),
    ),
    (
        "solve_stiff",
        {
            "a": ("-0.04 * a + 1e4 * b * c", 1.0),
            "b": ("0.04 * a - 1e4 * b * c - 3e7 * b^2", 0.0),
            "c": ("3e7 * b^2", 0.0),
        },
        lambda t, s: [
            -0.04 * s[0] + 1e4 * s[1] * s[2],
            0.04 * s[0] - 1e4 * s[1] * s[2] - 3e7 * s[1] ** 2,
            3e7 * s[1] ** 2,
        ],
        np.array([0.4, 4.0, 40.0, 400.0, 4000.0]),
    ),
    (
        "solve_stiff",
        {"x": ("y", 2.0), "y": ("100 * (1 - x^2) * y - x", 0.0)},
        lambda t, s: [s[1], 100 * (1 - s[0] ** 2) * s[1] - s[0]],
        np.array([1.0, 20.0, 60.0, 75.0, 150.0]),
    ),
    (
        "solve_stiff",
        {"x": ("-1000 * (x - sin(t)) + cos(t)", 1.0)},
        lambda t, s: [-1000 * (s[0] - np.sin(t)) + np.cos(t)],
        np.array([0.001, 0.002, 0.01, 1.0, 3.0]),
    ),
]

out = []
for method, states, rate, times in cases:
    start = [start for _, start in states.values()]
    of = [("DOP853", 1e-13), ("RK45", 1e-12)] if method == "solve" else [("Radau", 1e-12), ("LSODA", 1e-13)]
    found = [
        solve_ivp(rate, (0, times[-1]), start, method=name, rtol=rtol, atol=1e-15, t_eval=np.unique(times)).y
        for name, rtol in of
    ]
    scale = np.abs(found[0]).max(axis=1, keepdims=True)
    assert np.max(np.abs(found[0] - found[1]) / scale) < 1e-8, (states, found)
    values = found[0][:, np.searchsorted(np.unique(times), times)]
    out.append(
        {
            "method": method,
            "states": [[name, rate, start] for name, (rate, start) in states.items()],
            "times": times.tolist(),
            "values": values.tolist(),
        }
    )

path = Path(__file__).with_name("solutions.json")
path.write_text("[\n" + ",\n".join(json.dumps(case) for case in out) + "\n]\n")
