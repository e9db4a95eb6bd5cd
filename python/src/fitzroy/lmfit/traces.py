"""Formulas of functions of parameters, which fits of other values share.

Parameters that are held are read by a formula like those that vary, so that one formula serves each
point of a profile or of a grid.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from ..curves.function import Compiled, of_function
from ..tracing import Untraceable
from ..tracing.nodes import Recorded
from .objective import Objective

__all__ = ["Traces"]

Array = np.ndarray[Any, Any]

#: How far the values of a formula may be off those of its function, relative to the greatest.
CLOSE = 1e-9


class Traces:
    """The formulas of one function; none where it has none."""

    def __init__(self) -> None:
        self._known: dict[Any, Compiled | None] = {}

    def of(self, objective: Objective, first: Array) -> Compiled | None:
        """The formula over the parameters that vary, the others held at their values; it gives
        `first` where the parameters are now."""
        params = objective.params
        names = [name for name, par in params.items() if par.expr is None]
        values = [float(params[name]._val) for name in names]
        ties = [(n, p.expr, p.min, p.max) for n, p in params.items() if p.expr is not None]
        key = (objective.shape, first.size, tuple(names), tuple(ties))
        made = self._known.get(key)
        if made is None or not _agree(made, values, first):
            if key in self._known and made is None:
                return None
            made = self._known[key] = _traced(objective, names, values, first.size)
        if made is None:
            return None
        varying = set(objective.names)
        return _over(made, [name in varying for name in names], values)


def _agree(made: Compiled, values: list[float], first: Array) -> bool:
    """Whether a formula is still one of its function, whose data may have changed."""
    with np.errstate(all="ignore"):
        found = made.pointwise(values)[0]
    scale = np.max(np.abs(first), initial=0.0)
    return found.shape == first.shape and bool(
        np.allclose(found, first, rtol=CLOSE, atol=CLOSE * scale, equal_nan=True)
    )


def _traced(objective: Objective, names: list[str], values: list[float], n: int) -> Compiled | None:
    whole = Objective(
        objective.function,
        objective.params.copy(),
        names,
        objective.args,
        objective.kwargs,
        objective.nan_policy,
        objective.watch,
    )

    def of(_: Any, *theta: Any) -> Any:
        recorded = any(isinstance(value, Recorded) for value in theta)
        return whole.recorded(theta) if recorded else whole.residuals(theta)

    shape = objective.shape if int(np.prod(objective.shape)) == n else (n,)
    try:
        return of_function(
            of, np.zeros(shape or (1,)), n, [f"p{k}" for k in range(len(names))], values
        )
    except Untraceable:
        return None


def _over(made: Compiled, varies: list[bool], values: list[float]) -> Compiled:
    """The formula of those parameters that vary, and the others held."""
    out = copy(made)
    read = set(made.curve.parameters([name for name, _ in made.columns]))
    rows = list(zip(made.parameters, varies, values))
    out.parameters = [name for name, free, _ in rows if free]
    out.held = {name: value for name, free, value in rows if not free and name in read}
    out.unused = [k for k, name in enumerate(out.parameters) if name not in read]
    return out
