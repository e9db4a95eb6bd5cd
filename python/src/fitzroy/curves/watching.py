"""The `callback` of `least_squares`: what it is told of a fit, and how it stops one."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from .result import optimize_result

__all__ = ["watcher"]

Array = np.ndarray[Any, Any]


def watcher(
    callback: Callable[..., Any], cost: Callable[[Array], float]
) -> Callable[[Array, Array, int, int], bool]:
    """Tells `callback` of a place of a fit; true if that raised StopIteration.

    It gets `x`, or, if its one argument is called so, `intermediate_result` with `x`, `fun`,
    `cost`, `nit` and `nfev`, as in SciPy. `cost` is that of residuals.
    """
    whole = set(inspect.signature(callback).parameters) == {"intermediate_result"}

    def watch(x: Array, residuals: Array, iteration: int, calls: int) -> bool:
        try:
            if whole:
                found = optimize_result()(
                    x=x, fun=residuals.copy(), nit=iteration, nfev=calls, cost=cost(residuals)
                )
                callback(intermediate_result=found)
            else:
                callback(x)
        except StopIteration:
            return True
        return False

    return watch
