"""Arrays made of others: lists, concatenation, stacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .axes import Axis, Expr, Unconvertible
from .elementwise import met
from .walk import Walk, core_name, op, strip
from .writer import Column

__all__ = ["join_parts", "looked_up", "stacked"]


@op("MakeVector")
def vector(walk: Walk, v: Any) -> Expr:
    parts = [walk.expr(i) for i in v.owner.inputs]
    if len(parts) == 1:
        return parts[0].moved([None])
    return _listed(walk, parts, Axis(len(parts)))


def _listed(walk: Walk, parts: Sequence[Expr], axis: Axis) -> Expr:
    """Numbers as a vector over `axis`."""
    e = Expr([axis], lambda: "[" + ", ".join(p.text() for p in parts) + "]")
    return walk.writer.let(e)


def join_parts(walk: Walk, v: Any) -> tuple[int, list[Any]]:
    """The axis of a concatenation, and what is joined."""
    node = v.owner
    first = node.inputs[0]
    given = getattr(node.op, "axis", None)
    if given is None:
        return walk.constants.whole(first), list(node.inputs[1:])
    return int(given), list(node.inputs)


@op("Join")
def join(walk: Walk, v: Any) -> Expr:
    axis, inputs = join_parts(walk, v)
    table = _table(walk, inputs) if axis == 0 else None
    if table is not None:
        return table
    parts = [walk.expr(i) for i in inputs]
    n = len(parts[0].axes)
    axis %= n
    sizes = [_length(p.axes[axis], i, axis) for p, i in zip(parts, inputs)]
    if len(parts) == 1:
        return parts[0]
    others = met([p.moved([*p.axes[:axis], *p.axes[axis + 1 :]]) for p in parts], "a concatenation")
    for p, e in zip(parts, range(len(parts))):
        real = p.axes[axis]
        if real is not None and real.root.size == 1:
            parts[e] = walk.first(p, axis)
    new = Axis(sum(sizes))
    if all(p.axes[axis] is None for p in parts):
        out = stacked(walk, [p.moved(_without(p.axes, axis)) for p in parts], new, others)
        return walk.writer.let(out, axes=[*others[:axis], new, *others[axis:]]) if axis else out
    return _concatenated(walk, parts, sizes, axis, new, others)


def _table(walk: Walk, inputs: Sequence[Any]) -> Expr | None:
    """Rows of numbers below each other: of a square table both axes may become one dim."""
    rows = [strip(i) for i in inputs]
    for i, row in zip(inputs, rows):
        made = row.owner is not None and core_name(row.owner.op) == "MakeVector"
        if not made or i.type.ndim != 2 or i.type.shape[0] != 1 or walk.known(row) is not None:
            return None
    cells = [[walk.expr(x) for x in row.owner.inputs] for row in rows]
    n, m = len(cells), len(cells[0])
    if min(n, m) == 1 or any(len(row) != m for row in cells):
        return None

    def text() -> str:
        lines = [", ".join(e.text() for e in row) for row in cells]
        return f"[{', '.join(f'[{line}]' for line in lines)}]"

    return walk.writer.let(Expr([Axis(n), Axis(m)], text))


def _without(axes: Sequence[Axis | None], k: int) -> list[Axis | None]:
    return [*axes[:k], *axes[k + 1 :]]


def _length(axis: Axis | None, v: Any, k: int) -> int:
    if axis is not None:
        return axis.root.size
    if v.type.shape[k] not in (None, 1):
        raise Unconvertible("Join", "of something that is repeated")
    return 1


def stacked(
    walk: Walk, parts: Sequence[Expr], new: Axis, others: Sequence[Axis | None] | None = None
) -> Expr:
    """Equal arrays along a new first axis."""
    others = met(parts, "a stack") if others is None else list(others)
    if not any(a is not None for a in others):
        out = _listed(walk, parts, new)
        return out.moved([new, *others])
    axes = [new, *others]
    whole = [walk.writer.let(p.moved([None, *p.axes]), axes=axes) for p in parts]
    return _chosen(walk, whole, np.arange(len(parts)), new, axes)


def _chosen(
    walk: Walk, whole: Sequence[Expr], which: Any, new: Axis, axes: Sequence[Axis | None]
) -> Expr:
    """Element by element of `new`, the array that `which` numbers."""
    last = len(whole) - 1

    def text() -> str:
        out = whole[last].text()
        for k in range(last - 1, -1, -1):
            mask = walk.writer.datum(which == k, [new], "part")
            out = f"where({mask}, {whole[k].text()}, {out})"
        return out

    return walk.writer.let(Expr(axes, text), axes=axes)


def _concatenated(
    walk: Walk,
    parts: Sequence[Expr],
    sizes: Sequence[int],
    axis: int,
    new: Axis,
    others: Sequence[Axis | None],
) -> Expr:
    """One array after the other along an axis: each looked up where its own elements are."""
    axes = [*others[:axis], new, *others[axis:]]
    which = np.repeat(np.arange(len(parts)), sizes)
    whole, begins = [], 0
    for p, size in zip(parts, sizes):
        a = p.axes[axis]
        if a is None:
            e = p
        else:
            place = np.zeros(new.size, dtype=int)
            place[begins : begins + size] = np.arange(size)
            e = looked_up(walk, p, axis, place, new)
        whole.append(walk.repeat(e, list(axes)))
        begins += size
    walk.notes.append("a concatenation is made of look-ups")
    return _chosen(walk, whole, which, new, axes)


def looked_up(walk: Walk, e: Expr, axis: int, place: Any, rows: Axis) -> Expr:
    """Elements of an axis by their places."""
    e = walk.writer.named(e)
    of = e.axes[axis]
    assert of is not None, "an axis that is there"
    column = walk.writer.index(place, [rows], of, "place")
    at: list[str | Column] = [":"] * len(e.real)
    at[sum(1 for a in e.axes[:axis] if a is not None)] = column
    out = [rows if i == axis else a for i, a in enumerate(e.axes)]
    return Expr(out, lambda: walk.writer.picked(e, at, out))
