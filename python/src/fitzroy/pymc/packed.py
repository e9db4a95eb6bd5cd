"""Arrays of which some elements are set: unpacked triangles, data with gaps, padding."""

from __future__ import annotations

from typing import Any

import numpy as np

from .axes import Axis, Expr, Unconvertible
from .indexing import subscripts
from .walk import Walk, core_name, op, strip

__all__: list[str] = []


@op("AdvancedIncSubtensor", "AdvancedIncSubtensor1", "IncSubtensor")
def set_elements(walk: Walk, v: Any) -> Expr:
    into, values = v.owner.inputs[:2]
    source = strip(values)
    random = source.owner is not None and type(source.owner.op).__name__ == "_LKJCholeskyCovRV"
    if random and walk.constants.holds(into):
        found = walk.known(source)
        if found is not None:
            return found
    name = core_name(v.owner.op)
    keys = subscripts(walk, v.owner, first=2)
    if len(keys) == 1 and isinstance(keys[0], list) and len(keys[0]) == 1:
        keys = [(keys[0][0], None)]
    if into.type.ndim != 1 or len(keys) != 1 or not getattr(v.owner.op, "set_instead_of_inc", False):
        raise Unconvertible(name, "elements that are set in this form")
    size = _length(walk, into)
    return _set(walk, walk.expr(into), walk.expr(values), _places(keys[0], size), size)


def _length(walk: Walk, v: Any) -> int:
    known = v.type.shape[0]
    return int(known) if known is not None else int(walk.constants.value(v.shape)[0])


def _places(key: Any, size: int) -> Any:
    """The places of a subscript."""
    if isinstance(key, int):
        return np.array([key % size])
    if isinstance(key, slice):
        return np.arange(*key.indices(size))
    return np.where(key[0] < 0, key[0] + size, key[0])


def _set(walk: Walk, base: Expr, values: Expr, places: Any, size: int) -> Expr:
    """`base` with `values` at `places`."""
    axis = base.axes[0] if base.axes[0] is not None else Axis(size)
    if values.axes and values.axes[0] is not None and values.axes[0].root.size == 1:
        values = walk.first(values, 0)
    of = values.axes[0] if values.axes else None
    chosen = values
    if of is not None:
        named = walk.writer.named(values)
        where = np.zeros(size)
        where[places] = np.arange(len(places))
        at = walk.writer.index(where, [axis], of, "place")
        chosen = Expr([axis], lambda: f"{named.text()}[{at}]")
    mask = np.zeros(size)
    mask[places] = 1
    shown = walk.writer.datum(mask, [axis], "part")
    return Expr([axis], lambda: f"where({shown}, {chosen.text()}, {base.text()})")
