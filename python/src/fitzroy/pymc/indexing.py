"""Elements, slices and look-ups."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytensor.tensor as pt
from pytensor.graph.basic import Constant

from .axes import Axis, Expr, Unconvertible, unite
from .joining import join_parts
from .scan import part_of_loop
from .walk import Walk, core_name, op, scalar_name, strip
from .writer import Column

__all__ = ["subscripts"]


def subscripts(walk: Walk, node: Any, first: int = 1) -> list[Any]:
    """What stands between the brackets: slices of numbers, numbers, arrays of positions.

    The inputs of `node` for them begin with `first`.
    """
    from pytensor.tensor.subtensor import get_idx_list

    listed = getattr(node.op, "idx_list", None)
    inputs = [node.inputs[0], *node.inputs[first:]]
    given = inputs[1:] if listed is None else list(get_idx_list(inputs, listed))
    return [_subscript(walk, s) for s in given]


def _subscript(walk: Walk, s: Any) -> Any:
    if isinstance(s, slice):
        return slice(*[_end(walk, x) for x in (s.start, s.stop, s.step)])
    if isinstance(s, (int, np.integer)):
        return int(s)
    kind = type(getattr(s, "type", None)).__name__
    if kind == "SliceType":
        if isinstance(s, Constant):
            return s.data
        if s.owner is not None and type(s.owner.op).__name__ == "MakeSlice":
            return slice(*[_end(walk, x) for x in s.owner.inputs])
    if kind == "NoneTypeT" or s is None:
        return None
    if not walk.constants.holds(s):
        return _drawn(walk, s)
    value = walk.constants.value(s)
    if value.dtype == bool:
        return [np.asarray(p) for p in np.nonzero(value)]
    return int(value) if value.ndim == 0 else (value, s.name)


def _drawn(walk: Walk, s: Any) -> Expr:
    """Positions that are values of a discrete parameter, or some of its elements."""
    bare = s
    while bare.owner is not None and _is(bare, CASTS):
        bare = bare.owner.inputs[0]
    source = bare
    while source.owner is not None and _is(source, ROWS):
        source = source.owner.inputs[0]
    if source not in walk.model.free_RVs:
        raise Unconvertible("Subtensor", "a position that is not constant")
    return walk.expr(bare)


def _is(v: Any, kinds: tuple[str, ...]) -> bool:
    """Whether an op of these kinds makes `v`."""
    return core_name(v.owner.op) in kinds or scalar_name(v) in kinds


def _end(walk: Walk, x: Any) -> int | None:
    if x is None or isinstance(x, (int, np.integer)):
        return None if x is None else int(x)
    if isinstance(x, Constant) and x.data is None or type(x.type).__name__ == "NoneTypeT":
        return None
    if not walk.constants.holds(x):
        raise Unconvertible("Subtensor", "a slice whose end is not constant")
    return walk.constants.whole(x)


#: Ops that leave positions as they are, and ops that pick some of them.
CASTS = ("ScalarFromTensor", "TensorFromScalar", "Cast")
ROWS = (*CASTS, "Subtensor", "AdvancedSubtensor", "AdvancedSubtensor1", "DimShuffle")


@op("Subtensor", "AdvancedSubtensor", "AdvancedSubtensor1")
def indexed(walk: Walk, v: Any) -> Expr:
    if hasattr(v.owner.op, "core_op"):
        return _by_step(walk, v)
    keys: list[Any] = []
    for s in subscripts(walk, v.owner):
        keys.extend([(p, None) for p in s] if isinstance(s, list) else [s])
    part = _part_of_join(walk, v, keys) or part_of_loop(walk, v, keys)
    if part is not None:
        return part
    e = walk.writer.named(walk.expr(v.owner.inputs[0]))
    keys += [slice(None)] * (len(e.axes) - len([k for k in keys if k is not None]))
    if any(k is None for k in keys):
        raise Unconvertible("Subtensor", "a new axis between look-ups")
    if any(isinstance(k, Expr) for k in keys):
        return _by_drawn(walk, e, keys)
    rows = _rows(walk, keys)
    shown: list[str | Column] = []
    axes: list[Axis | None] = []
    placed = False
    for a, key in zip(e.axes, keys):
        if isinstance(key, int):
            size = 1 if a is None else a.root.size
            if a is not None:
                shown.append(str(key if key >= 0 else key + size))
        elif isinstance(key, slice):
            name, axis = _sliced(walk, a, key)
            axes.append(axis)
            if a is not None:
                shown.append(name)
        else:
            if not placed:
                axes.extend(rows)
                placed = True
            if a is not None:
                places = np.broadcast_to(key[0], [r.size for r in rows])
                places = np.where(places < 0, places + a.root.size, places)
                shown.append(walk.writer.index(places, rows, a, key[1] or "idx"))
    if all(s == ":" for s in shown):
        return e.moved(axes)
    return Expr(axes, lambda: walk.writer.picked(e, shown, axes))


def _by_drawn(walk: Walk, e: Expr, keys: list[Any]) -> Expr:
    """Elements of a named array at positions of which some are values of a discrete parameter, which
    meet the others as arrays do: by their last axes."""
    at = [k for k in keys if not isinstance(k, slice)]
    places = [i for i, k in enumerate(keys) if not isinstance(k, slice)]
    if len(places) > 1 and places != list(range(places[0], places[-1] + 1)):
        raise Unconvertible("AdvancedSubtensor", "positions on both sides of a slice")
    depth = max(len(k.axes) if isinstance(k, Expr) else np.ndim(_array(k)) for k in at)
    rows: list[Axis | None] = [None] * depth
    for key in at:
        own = key.axes if isinstance(key, Expr) else _axes_of_positions(walk, key)
        for j, a in enumerate(own, depth - len(own)):
            there = rows[j]
            if a is not None:
                rows[j] = a if there is None else unite(there, a, "positions")
    shown: list[str | Column] = []
    axes: list[Axis | None] = []
    placed = False
    for a, key in zip(e.axes, keys):
        if isinstance(key, slice):
            name, axis = _sliced(walk, a, key)
            axes.append(axis)
        else:
            name = _position(walk, a, key, rows)
            axes += [] if placed else rows
            placed = True
        if a is not None:
            shown.append(name)
    return Expr(axes, lambda: walk.writer.picked(e, [n if isinstance(n, (str, Column)) else n() for n in shown], axes))


def _array(key: Any) -> Any:
    return key[0] if isinstance(key, tuple) else key


def _axes_of_positions(walk: Walk, key: Any) -> list[Axis | None]:
    """An axis for each length of an array of positions."""
    return [None if n == 1 else Axis(n) for n in np.shape(_array(key))]


def _position(walk: Walk, a: Axis | None, key: Any, rows: list[Axis | None]) -> Any:
    """What stands between the brackets for positions along an axis."""
    if isinstance(key, Expr):
        return key.text
    if a is None:
        return ":"
    found = np.asarray(_array(key))
    found = np.where(found < 0, found + a.root.size, found)
    if found.size == 1:
        return str(int(found.reshape(())))
    last = rows[len(rows) - found.ndim :]
    own = [r for r, n in zip(last, found.shape) if n != 1 and r is not None]
    name = key[1] if isinstance(key, tuple) else None
    return walk.writer.index(found.reshape([r.root.size for r in own]), own, a, name or "idx")


@op("Split")
def split(walk: Walk, v: Any) -> Expr:
    """One of the pieces that an axis is split into."""
    # As of Join, the axis is an input or part of the op.
    given, inputs = getattr(v.owner.op, "axis", None), list(v.owner.inputs)
    axis = walk.constants.whole(inputs.pop(1)) if given is None else int(given)
    source, sizes = inputs
    before = [slice(None)] * (axis % source.type.ndim)
    ends = np.cumsum([0, *walk.constants.value(sizes)])
    k = v.owner.outputs.index(v)
    return walk.expr(source[(*before, slice(int(ends[k]), int(ends[k + 1])))])


def _by_step(walk: Walk, v: Any) -> Expr:
    """An element of each step's vector, by positions that are constant."""
    source, *at = v.owner.inputs
    if len(at) != 1 or at[0].type.ndim != 1 or source.type.ndim != 2 or v.type.ndim != 1:
        return _by_row(walk, v)
    places, e = _subscript(walk, at[0]), walk.expr(source)
    steps, of = e.axes
    if isinstance(places, tuple) and steps is None:
        return walk.expr(source[0][at[0]])  # the same vector in every step
    if not isinstance(places, tuple) or steps is None or of is None:
        raise Unconvertible("Subtensor", "of a batch at positions that are not constant")
    n = of.root.size
    chosen = np.arange(n) == (places[0] % n)[:, None]

    def text() -> str:
        # A sum of the one that is chosen stays within its step.
        part = walk.writer.datum(chosen, [steps, of], "chosen")
        return f"sum(where({part}, {e.text()}, 0), axis={walk.axis_name(e, 1)})"

    return Expr([steps], text)


def _by_row(walk: Walk, v: Any) -> Expr:
    """Elements of each row of a batch, by positions that are constant: a look-up along all axes."""
    source, *at = v.owner.inputs
    before = source.type.ndim - 1
    signature = getattr(v.owner.op, "signature", "").partition("->")[0]
    if not signature.startswith("(i00),(") or len(at) != 1 or not walk.constants.holds(at[0]):
        return _by_places(walk, v)
    places = walk.constants.value(at[0])
    within = places.ndim - before
    lengths = walk.constants.value(source.shape)[:before]
    keys = [
        np.arange(n).reshape([1] * k + [n] + [1] * (before - 1 - k + within))
        for k, n in enumerate(lengths)
    ]
    return walk.expr(source[(*keys, places)])


def _by_places(walk: Walk, v: Any) -> Expr:
    """Elements of each array of a batch, by constants that stand in any form: the op itself says
    where they come from."""
    source, *at = v.owner.inputs
    if not all(walk.constants.holds(i) for i in at):
        raise Unconvertible("Subtensor", "of a batch at positions that are not constant")
    e = walk.expr(source)
    shape = [1 if a is None else a.root.size for a in e.axes]
    counted = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    places = walk.constants.value(v.owner.op(pt.constant(counted), *at))
    keys = np.unravel_index(places.astype(int), shape)
    steps = e.axes[0]
    own = np.arange(shape[0]).reshape(-1, *[1] * (places.ndim - 1)) if places.ndim else None
    if steps is None or own is None or len(places) != shape[0] or not np.all(keys[0] == own):
        return walk.expr(source[keys])
    # A sum of those that are chosen stays within its step.
    rows = [steps, *[None if n == 1 else Axis(n) for n in places.shape[1:]]]
    real = [(k, a) for k, a in enumerate(e.axes) if a is not None]
    within = [a for _, a in real[1:]]
    chosen = np.ones([r.root.size for r in rows if r is not None] + [1] * len(within), bool)
    for n, (k, a) in enumerate(real[1:]):
        along = [1] * len(within)
        along[n] = a.root.size
        key = keys[k].reshape([*chosen.shape[: chosen.ndim - len(within)], *[1] * len(within)])
        chosen = chosen & (key == np.arange(a.root.size).reshape(along))
    axes = [r for r in rows if r is not None] + within

    def text() -> str:
        part = walk.writer.datum(chosen, axes, "chosen")
        out = f"where({part}, {e.text()}, 0)"
        for k, _ in real[1:]:
            out = f"sum({out}, axis={walk.axis_name(e, k)})"
        return out

    return Expr(rows, text)


def _rows(walk: Walk, keys: list[Any]) -> list[Axis]:
    """The axes that arrays of positions put in place of those that they look up in."""
    arrays = [k for k in keys if isinstance(k, tuple)]
    if not arrays:
        return []
    places = [i for i, k in enumerate(keys) if isinstance(k, (tuple, int))]
    if len(arrays) > 1 and places != list(range(places[0], places[-1] + 1)):
        raise Unconvertible("AdvancedSubtensor", "positions on both sides of a slice")
    shape = np.broadcast_shapes(*[k[0].shape for k in arrays])
    name = next((k[1] for k in arrays if k[1]), None)
    return walk.axes_of(name, shape)


def _sliced(walk: Walk, a: Axis | None, key: slice) -> tuple[str | Column, Axis | None]:
    """What stands between the brackets for a slice, and the axis that it leaves."""
    if a is None:
        return ":", None
    places = np.arange(*key.indices(a.root.size))
    if len(places) == a.root.size and np.all(np.diff(places) > 0):
        return ":", a
    rows = Axis(len(places))
    return walk.writer.index(places, [rows], a, "at"), rows


def _part_of_join(walk: Walk, v: Any, keys: list[Any]) -> Expr | None:
    """The part of a stack that a position picks, which then need not be made."""
    source = strip(v.owner.inputs[0])
    whole = v.owner.inputs[0]
    if source is not whole or source.owner is None:
        return None
    if core_name(source.owner.op) == "MakeVector" and len(keys) == 1 and isinstance(keys[0], int):
        return walk.expr(source.owner.inputs[keys[0]])
    if core_name(source.owner.op) != "Join" or walk.known(source) is not None:
        return None
    axis, parts = join_parts(walk, source)
    axis %= source.type.ndim
    if not all(p.type.shape[axis] == 1 for p in parts):
        return None
    others = [k for i, k in enumerate(keys) if i != axis]
    if axis >= len(keys) or not isinstance(keys[axis], int):
        return None
    if not all(isinstance(k, slice) and k == slice(None) for k in others):
        return None
    e = walk.expr(parts[keys[axis]])
    if e.axes[axis] is not None:
        e = walk.first(e, axis)
    return e.moved([*e.axes[:axis], *e.axes[axis + 1 :]])
