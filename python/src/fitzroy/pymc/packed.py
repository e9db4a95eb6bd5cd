"""Arrays of which some elements are set: unpacked triangles, loadings, data with gaps, padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytensor.tensor as pt

from .axes import Axis, Expr, Unconvertible, number, unite
from .walk import Walk, core_name, op, strip

__all__: list[str] = []

Array = np.ndarray[Any, Any]
#: Ops that set or add to elements.
SETS = ("AdvancedIncSubtensor", "AdvancedIncSubtensor1", "IncSubtensor")


@op(*SETS)
def set_elements(walk: Walk, v: Any) -> Expr:
    into, values = v.owner.inputs[:2]
    # A factor that PyMC keeps as a packed triangle, and the language as a matrix.
    found = walk.known(strip(values))
    if found is not None and len(found.axes) > strip(values).type.ndim:
        if walk.constants.holds(into):
            return found
    shape = _shape(walk, v)
    sets = []
    while v.owner is not None and core_name(v.owner.op) in SETS and not walk.constants.holds(v):
        sets.append((_places(walk, v, shape), v.owner.inputs[1]))
        v = v.owner.inputs[0]
    out = _base(walk, v, shape, [places for places, _ in sets])
    for places, values in reversed(sets):
        out = _set(walk, out, values, places)
    return out


def _shape(walk: Walk, v: Any) -> tuple[int, ...]:
    known = v.type.shape
    return tuple(int(s) for s in (walk.constants.value(v.shape) if None in known else known))


def _places(walk: Walk, v: Any, shape: tuple[int, ...]) -> Array:
    """For each element which of the values it is set to, counted through them; −1 for none."""
    node, name = v.owner, core_name(v.owner.op)
    if not getattr(getattr(node.op, "core_op", node.op), "set_instead_of_inc", False):
        raise Unconvertible(name, "elements that are added to")
    if not all(walk.constants.holds(i) for i in node.inputs[2:]):
        raise Unconvertible(name, "elements that are set at places that are not constant")
    own = _shape(walk, node.inputs[1])
    counted = np.arange(np.prod(own, dtype=int), dtype=float).reshape(own)
    # The op itself says where its values go.
    return walk.constants.value(
        node.op(pt.constant(np.full(shape, -1.0)), pt.constant(counted), *node.inputs[2:])
    ).astype(int)


def _base(walk: Walk, v: Any, shape: tuple[int, ...], sets: Sequence[Array]) -> Expr:
    """What elements are set into, with an axis for each length; those that are set are often NaN
    before."""
    axes: list[Axis | None] = [None if size == 1 else Axis(size) for size in shape]
    if not walk.constants.holds(v):
        e = walk.expr(v)
        for k, a in enumerate(e.axes):
            if a is not None and a.root.size == 1:
                e = walk.first(e, k)
        return e.moved([own or there for own, there in zip(e.axes, axes)])
    values = np.array(walk.constants.value(v), dtype=float)
    for places in sets:
        values[places >= 0] = 0
    if np.all(values == values.flat[0]):
        return Expr(axes, number(values.flat[0]), number=values.flat[0])
    real = [a for a in axes if a is not None]
    kept = values.reshape([a.size for a in real])
    return Expr(axes, lambda: walk.writer.datum(kept, real, "c"), named=True)


def _set(walk: Walk, base: Expr, values: Any, places: Array) -> Expr:
    """`base` with `values` at `places`."""
    axes = base.real
    chosen = walk.expr(values)
    if not axes:
        return chosen.moved(base.axes)
    there = places >= 0
    own = _shape(walk, values)
    if chosen.number is not None:
        chosen = Expr([None] * len(base.axes), number(chosen.number), number=chosen.number)
    elif own:
        chosen = _along(walk, base, chosen, places, own) or _looked_up(
            walk, base, chosen, places, own
        )
    shown = walk.writer.datum(there.reshape([a.root.size for a in axes]), axes, "part")
    before = base.text
    return Expr(base.axes, lambda: f"where({shown}, {chosen.text()}, {before()})")


def _along(walk: Walk, base: Expr, values: Expr, places: Array, own: Sequence[int]) -> Expr | None:
    """Values whose axes are axes of what they are set into: a column, or an element in each row."""
    there = places >= 0
    axes: list[Axis | None] = [None] * len(base.axes)
    for k, of in enumerate(np.unravel_index(places[there], own)):
        a = values.axes[k]
        if a is None or own[k] == 1:
            continue
        same = [
            j
            for j, at in enumerate(np.nonzero(there))
            if axes[j] is None and places.shape[j] == own[k] and np.array_equal(of, at)
        ]
        into = base.axes[same[0]] if same else None
        if into is None:
            return None
        axes[same[0]] = unite(into, a, "elements that are set")
    for k, a in enumerate(values.axes):
        if a is not None and own[k] == 1:
            values = walk.first(values, k)
    return walk.writer.placed(values.moved(axes), base.axes)


def _looked_up(walk: Walk, base: Expr, values: Expr, places: Array, own: Sequence[int]) -> Expr:
    """Values by their positions for each element."""
    axes = base.real
    places = places.reshape([a.root.size for a in axes])
    at = []
    for k, where in enumerate(np.unravel_index(np.maximum(places, 0), own)):
        a = values.axes[k]
        if a is not None and a.root.size == 1:
            values = walk.first(values, k)
        elif a is not None:
            at.append(walk.writer.index(where, axes, a, "place"))
    if not at:
        return values
    named = walk.writer.named(values)
    return Expr(base.axes, lambda: walk.writer.picked(named, at))
