"""Arrays of which some elements are set: unpacked triangles, loadings, data with gaps, padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytensor.tensor as pt

from .axes import ADD, Axis, Expr, Unconvertible, number, unite
from .batches import contracted
from .walk import Walk, core_name, core_of, op, strip

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
    if not _sets(v.owner) and _meet(walk, v, shape):
        return _summed(walk, v, shape)
    sets = []
    while v.owner is not None and core_name(v.owner.op) in SETS and not walk.constants.holds(v):
        sets.append((_places(walk, v, shape), v.owner))
        v = v.owner.inputs[0]
        if v.owner is not None and core_name(v.owner.op) in SETS and _meet(walk, v, shape):
            break
    gone = [places for places, node in sets if _sets(node)]
    out = _base(walk, v, shape, gone)
    for places, node in reversed(sets):
        out = _set(walk, out, node.inputs[1], places, _sets(node))
    return out


def _sets(node: Any) -> bool:
    """Whether elements are set, and not added to."""
    return bool(getattr(core_of(node.op), "set_instead_of_inc", False))


def _meet(walk: Walk, v: Any, shape: tuple[int, ...]) -> bool:
    """Whether several values are added to one element."""
    node = v.owner
    if _sets(node) or not all(walk.constants.holds(i) for i in node.inputs[2:]):
        return False
    ones = pt.constant(np.ones(_shape(walk, node.inputs[1])))
    counts = node.op(pt.constant(np.zeros(shape)), ones, *node.inputs[2:])
    return bool(walk.constants.value(counts).max() > 1)


def _summed(walk: Walk, v: Any, shape: tuple[int, ...]) -> Expr:
    """A vector to whose elements sums of others are added, by a matrix of zeros and ones."""
    node = v.owner
    if len(shape) != 1 or len(node.inputs) != 3:
        raise Unconvertible(core_name(node.op), "several values that are added to one element")
    at = walk.constants.value(node.inputs[2]).reshape(-1).astype(int)
    base = _base(walk, node.inputs[0], shape, [])
    rows, values = base.real[0], walk.expr(node.inputs[1])
    parts = values.axes[-1] if values.axes and values.axes[-1] is not None else Axis(len(at))
    adds = np.arange(shape[0])[:, None] == at % shape[0]
    left = Expr([rows, parts], lambda: walk.writer.datum(adds, [rows, parts], "adds"), named=True)
    total = contracted(walk, left, values, -1)
    return Expr(base.axes, lambda: f"{base.text(ADD)} + {total.text(ADD)}", ADD)


def _shape(walk: Walk, v: Any) -> tuple[int, ...]:
    known = v.type.shape
    return tuple(int(s) for s in (walk.constants.value(v.shape) if None in known else known))


def _places(walk: Walk, v: Any, shape: tuple[int, ...]) -> Array:
    """For each element which of the values it is set to, counted through them; −1 for none."""
    node, name = v.owner, core_name(v.owner.op)
    if not all(walk.constants.holds(i) for i in node.inputs[2:]):
        raise Unconvertible(name, "elements that are set at places that are not constant")
    own = _shape(walk, node.inputs[1])
    # What is added to −1 is one more.
    first = 0.0 if _sets(node) else 1.0
    counted = first + np.arange(np.prod(own, dtype=int)).reshape(own)
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


def _set(walk: Walk, base: Expr, values: Any, places: Array, sets: bool) -> Expr:
    """`base` with `values` at `places`, or with these added there."""
    axes = base.real
    chosen = walk.expr(values)
    if not axes:
        whole = chosen.moved(base.axes)
        if sets:
            return whole
        return Expr(base.axes, lambda: f"{base.text(ADD)} + {whole.text(ADD)}", ADD)
    there = places >= 0
    own = _shape(walk, values)
    if chosen.number is not None:
        chosen = Expr([None] * len(base.axes), number(chosen.number), number=chosen.number)
    elif own:
        chosen = _along(walk, base, chosen, places, own) or _looked_up(
            walk, base, chosen, places, own
        )
    shown = walk.writer.datum(there.reshape([a.root.size for a in axes]), axes, "part")
    if sets:
        return Expr(base.axes, lambda: f"where({shown}, {chosen.text()}, {base.text()})")
    return Expr(base.axes, lambda: f"{base.text(ADD)} + where({shown}, {chosen.text()}, 0)", ADD)


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
    return Expr(base.axes, lambda: walk.writer.picked(named, at, base.axes))
