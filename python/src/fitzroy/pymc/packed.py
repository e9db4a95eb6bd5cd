"""Arrays of which some elements are set: unpacked triangles, data with gaps, padding."""

from __future__ import annotations

from typing import Any

import numpy as np

from .axes import Axis, Expr, Unconvertible, number
from .indexing import subscripts
from .walk import Walk, core_name, op, strip

__all__: list[str] = []


#: Ops that set or add to elements.
SETS = ("AdvancedIncSubtensor", "AdvancedIncSubtensor1", "IncSubtensor")


@op(*SETS)
def set_elements(walk: Walk, v: Any) -> Expr:
    into, values = v.owner.inputs[:2]
    source = strip(values)
    random = source.owner is not None and type(source.owner.op).__name__ == "_LKJCholeskyCovRV"
    if random and walk.constants.holds(into):
        found = walk.known(source)
        if found is not None:
            return found
    sets = []
    while v.owner is not None and core_name(v.owner.op) in SETS and not walk.constants.holds(v):
        if v.type.ndim != 1 or not getattr(v.owner.op, "set_instead_of_inc", False):
            raise Unconvertible(core_name(v.owner.op), "elements that are set in this form")
        sets.append((_places(walk, v), v.owner.inputs[1]))
        v = v.owner.inputs[0]
    base = _base(walk, v, np.concatenate([places for places, _ in sets]))
    for places, values in reversed(sets):
        base = _set(walk, base, walk.expr(values), places)
    return base


def _base(walk: Walk, v: Any, places: Any) -> Expr:
    """What elements are set into; those that are set are often NaN before."""
    if not walk.constants.holds(v):
        return walk.expr(v)
    values = np.array(walk.constants.value(v), dtype=float)
    values[places] = 0
    axis = Axis(values.size)
    if np.all(values == values[0]):
        return Expr([axis], number(values[0]), number=values[0])
    return Expr([axis], lambda: walk.writer.datum(values, [axis], "c"), named=True)


def _places(walk: Walk, v: Any) -> Any:
    """The places that are set."""
    keys = subscripts(walk, v.owner, first=2)
    if len(keys) != 1:
        raise Unconvertible(core_name(v.owner.op), "elements that are set in this form")
    into, key = v.owner.inputs[0], keys[0]
    size = _length(walk, into)
    if isinstance(key, int):
        return np.array([key % size])
    if isinstance(key, slice):
        return np.arange(*key.indices(size))
    # Positions with their name, or those of a mask.
    places = key[0]
    return np.where(places < 0, places + size, places)


def _length(walk: Walk, v: Any) -> int:
    known = v.type.shape[0]
    return int(known) if known is not None else int(walk.constants.value(v.shape)[0])


def _set(walk: Walk, base: Expr, values: Expr, places: Any) -> Expr:
    """`base` with `values` at `places`."""
    axis = base.axes[0]
    assert axis is not None, "a base has an axis"
    size = axis.root.size
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
