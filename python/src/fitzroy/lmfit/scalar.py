"""Fits of a function that gives one number, which itself is the least at the minimum."""

from __future__ import annotations

from typing import Any

import numpy as np

from .brute import score
from .inside import Inside
from .methods import GLOBAL, INSIDE
from .minimizerresult import MinimizerResult
from .objective import MinimizerException, Objective
from .search import hops_of, seed_of, start_away
from .simplex import simplex

__all__ = ["minimized"]

Array = np.ndarray[Any, Any]

#: Starts inside bounds, and away from the best minimum.
STARTS = 40


def minimized(
    kind: str, result: MinimizerResult, objective: Objective, kws: dict[str, Any]
) -> MinimizerResult:
    """The minimum, by simplices from the start, and for a method that searches from others, too.

    Raises MinimizerException for a method of least squares.
    """
    if kind in ("leastsq", "least_squares"):
        raise MinimizerException(
            "the function gives one number for several parameters. Least squares need the array of "
            "residuals; a likelihood or a sum has method='nelder'"
        )
    pars = [result.params[name] for name in result.var_names]
    lower, upper = np.array([p.min for p in pars]), np.array([p.max for p in pars])
    bounded = bool(np.all(np.isfinite(lower) & np.isfinite(upper)))
    if kind in INSIDE and not bounded:
        raise ValueError(f"{kind} requires finite bounds for all varying parameters")
    inside = Inside(lower, upper)

    def value(variables: Array) -> float:
        return score(objective.residuals(inside.outer(variables.tolist())))

    start = np.array(result.init_vals)
    best, least = simplex(value, inside.inner(start))
    if kind in GLOBAL:
        rng = np.random.default_rng(seed_of(kws))
        for _ in range(hops_of(kws, STARTS)):
            here = np.array(inside.outer(best.tolist()))
            away = start_away(lower, upper, here, rng, bounded)
            found, at = simplex(value, inside.inner(away))
            if at < least:
                best, least = found, at
    result.x, result.fun = np.array(inside.outer(best.tolist()), dtype=float), least
    objective.watch, objective.most = None, float("inf")
    result.nfev = objective.calls
    result.residual = objective.residuals(inside.outer(best.tolist()))
    result.params.update_constraints()
    result.message = "Fit succeeded. One number has no error-bars."
    result._calculate_statistics()
    return result
