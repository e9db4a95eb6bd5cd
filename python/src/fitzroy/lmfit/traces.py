"""Formulas of functions of parameters, which fits of other values share.

Parameters that are held are read by a formula like those that vary, so that one formula serves each
point of a profile or of a grid.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from ..curves.function import Compiled
from ..tracing import Untraceable, trace
from .objective import Objective

__all__ = ["Traces"]

Array = np.ndarray[Any, Any]

#: How far the values of a formula may be off those of its function, relative to the greatest.
CLOSE = 1e-9
#: Points at which both are compared.
CHECKED = 64
#: What parameters are multiplied by for a second look.
MOVED = 1.03125


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


def _agree(made: Compiled, values: list[float], whole: Array) -> bool:
    """Whether a formula has the values of its function, at some of the points."""
    some = np.unique(np.linspace(0, whole.size - 1, CHECKED).astype(int))
    names = [name for name, _ in made.columns]
    with np.errstate(all="ignore"):
        part = made.over(names, [column[some] for _, column in made.columns])
        found, want = part.pointwise(values)[0], whole[some]
    scale = np.max(np.abs(whole), where=np.isfinite(whole), initial=0.0)
    near = np.isclose(found, want, rtol=CLOSE, atol=CLOSE * scale, equal_nan=True)
    return bool(np.all(near | ~np.isfinite(want)))


def _traced(objective: Objective, names: list[str], values: list[float], n: int) -> Compiled | None:
    """The formula of a function, compared with it twice, since a 0 or a 1 of a parameter may hide
    what it stands for; none where it has none."""
    whole = Objective(
        objective.function,
        objective.params.copy(),
        names,
        objective.args,
        objective.kwargs,
        "propagate",
        objective.watch,
    )
    shape = objective.shape if int(np.prod(objective.shape)) == n else (n,)
    record = lambda _, *theta: whole.recorded(theta)
    own = [f"p{k}" for k in range(len(names))]
    try:
        found = trace(record, np.zeros(shape or (1,)), n, own)
        made = Compiled(found.text, found.columns, found.parameters)
        made.of_this_x = True
        moved = [MOVED * value + MOVED - 1 for value in values]
        for at, needed in ((values, True), (moved, False)):
            with np.errstate(all="ignore"):
                try:
                    want = whole.residuals(at)
                except Exception:
                    if needed:
                        return None
                    continue
            if want.size != n or not _agree(made, at, want):
                return None
    except (Untraceable, ValueError):
        return None
    return made


def _over(made: Compiled, varies: list[bool], values: list[float]) -> Compiled:
    """The formula of those parameters that vary, and the others held."""
    out = copy(made)
    read = set(made.curve.parameters([name for name, _ in made.columns]))
    rows = list(zip(made.parameters, varies, values))
    out.parameters = [name for name, free, _ in rows if free]
    out.held = {name: value for name, free, value in rows if not free and name in read}
    out.unused = [k for k, name in enumerate(out.parameters) if name not in read]
    return out
