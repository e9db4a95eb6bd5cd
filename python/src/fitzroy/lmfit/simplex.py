"""The least value of a function of several numbers that is no sum of squares.

Nelder and Mead's simplex, begun again at its end until that moves it no more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["simplex"]

Array = np.ndarray[Any, Any]

#: Spreads of values and of points at which a simplex ends, relative to them.
F_TOLERANCE, X_TOLERANCE = 1e-14, 1e-9
#: The sides of a first simplex, relative to a value, and of one whose value is 0.
SIDE, SIDE_OF_ZERO = 0.05, 0.00025
#: Simplices, at most.
ROUNDS = 20
#: A round that lowers the value by less, relative to it, was the last.
GAIN = 1e-12


def simplex(f: Callable[[Array], float], start: Array) -> tuple[Array, float]:
    """The point and the value of a minimum. A value that is not a number is infinite."""

    def value(x: Array) -> float:
        found = float(f(x))
        return found if found == found else float("inf")

    best, least = np.array(start, dtype=float), value(start)
    for _ in range(ROUNDS):
        before = least
        best, least = _round(value, best, least)
        if not before - least > GAIN * max(abs(least), 1e-300):
            break
    return best, least


def _round(f: Callable[[Array], float], start: Array, first: float) -> tuple[Array, float]:
    """One simplex, with coefficients that suit the number of parameters (Gao and Han 2012)."""
    n = start.size
    expand, contract, shrink = 1 + 2 / n, 0.75 - 1 / (2 * n), 1 - 1 / n
    if n == 1:
        expand, contract, shrink = 2.0, 0.5, 0.5
    points, values = [start], [first]
    for k in range(n):
        point = start.copy()
        point[k] = point[k] * (1 + SIDE) if point[k] else SIDE_OF_ZERO
        points.append(point)
        values.append(f(point))
    for _ in range(400 * n):
        order = np.argsort(values, kind="stable")
        points, values = [points[k] for k in order], [values[k] for k in order]
        spread = np.max(np.abs(np.array(points[1:]) - points[0]))
        if spread <= X_TOLERANCE * max(1.0, float(np.max(np.abs(points[0])))) and values[
            -1
        ] - values[0] <= F_TOLERANCE * max(abs(values[0]), 1e-300):
            break
        middle = np.mean(points[:-1], axis=0)
        away = middle - points[-1]
        trial = middle + away
        at = f(trial)
        if at < values[0]:
            further = middle + expand * away
            there = f(further)
            points[-1], values[-1] = (further, there) if there < at else (trial, at)
        elif at < values[-2]:
            points[-1], values[-1] = trial, at
        else:
            outside = at < values[-1]
            nearer = middle + (contract if outside else -contract) * away
            there = f(nearer)
            if there < min(at, values[-1]):
                points[-1], values[-1] = nearer, there
            else:
                points = [points[0], *(points[0] + shrink * (p - points[0]) for p in points[1:])]
                values = [values[0], *(f(p) for p in points[1:])]
    k = int(np.argmin(values))
    return points[k], values[k]
