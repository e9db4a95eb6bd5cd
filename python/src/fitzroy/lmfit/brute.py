"""The search of a grid."""

from __future__ import annotations

from copy import deepcopy
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .objective import ABORTED, AbortFitException, aborted
from .parameter import Parameter, Parameters

if TYPE_CHECKING:
    from .minimizer import Minimizer
    from .minimizerresult import MinimizerResult

__all__ = ["Candidate", "brute"]

Array = np.ndarray[Any, Any]


class Candidate(NamedTuple):
    """A point of a grid."""

    #: The parameters there.
    params: Parameters
    #: The sum of squares.
    score: float


def brute(
    minimizer: Minimizer,
    params: Any = None,
    Ns: int = 20,
    keep: int | str = 50,
    workers: int = 1,
    **_: Any,
) -> MinimizerResult:
    """The least sum of squares at the points of a grid, and the `keep` best ones as `candidates`.

    A parameter has `Ns` points between its bounds, or those that its `brute_step` makes of bounds
    or of its value. The point is no minimum: fit from the candidates that are good. The grid is in
    `brute_grid` and `brute_Jout`, the best point in `brute_x0` and `brute_fval`.

    Raises ValueError where a parameter has neither bounds nor a step.
    """
    result = minimizer.prepare_fit(params)
    result.method = "brute"
    result.call_kws = {"Ns": Ns, "keep": keep, "workers": workers}
    objective = minimizer.objective(result)
    objective.most = minimizer.max_nfev or float("inf")
    axes = [_points(result.params[name], Ns) for name in result.var_names]
    shape = tuple(map(len, axes))
    try:
        scores = np.array([score(objective.residuals(at)) for at in product(*axes)])
    except AbortFitException as stop:
        minimizer._abort = stop.msg == ABORTED
        return aborted(result, objective, stop.msg)
    order = np.argsort(scores, kind="stable")
    kept = order if keep == "all" else order[: int(keep)]
    points = np.array(list(product(*axes)))
    result.nfev = objective.calls
    result.candidates = [
        Candidate(deepcopy(objective.put(points[k].tolist())), float(scores[k])) for k in kept
    ]
    best = points[order[0]]
    grid = np.array(np.meshgrid(*axes, indexing="ij"))
    one = len(axes) == 1
    found: dict[str, Any] = {
        "brute_x0": best,
        "brute_fval": float(scores[order[0]]),
        "brute_grid": grid[0] if one else grid,
        "brute_Jout": scores.reshape(shape),
    }
    for name, value in found.items():
        setattr(result, name, value)
    result.residual = objective.residuals(best.tolist())
    result.params.update_constraints()
    result.message = "The best point of the grid; it is no minimum."
    result._calculate_statistics()
    return result


def score(residuals: Array) -> float:
    """What is the least at the best point: a sum of squares, or the one number that there is."""
    return float(residuals[0] if residuals.size == 1 else residuals @ residuals)


def _points(par: Parameter, n: int) -> Array:
    """The points of a parameter. The upper end is left out where there is a step."""
    low, high, step, value = par.min, par.max, par.brute_step, float(par.value)
    if step is None:
        if np.isfinite(low) and np.isfinite(high):
            return np.linspace(low, high, n)
        raise ValueError(
            "Not enough information provided for the brute force method. Please specify bounds or at "
            f"least an initial value and brute_step for parameter '{par.name}'."
        )
    if np.isfinite(low):
        high = high if np.isfinite(high) else low + n * step
    elif np.isfinite(high):
        low = high - n * step
    else:
        low, high = value - n // 2 * step, value + n // 2 * step
    return np.asarray(low + step * np.arange(np.ceil((high - low) / step)))
