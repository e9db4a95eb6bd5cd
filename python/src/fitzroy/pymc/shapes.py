"""Operations that move, add or repeat axes, and those that change nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from .axes import Axis, Expr, Unconvertible
from .walk import Walk, op

__all__: list[str] = []


@op("DimShuffle")
def moved(walk: Walk, v: Any) -> Expr:
    order = v.owner.op.new_order
    e = walk.expr(v.owner.inputs[0])
    for i, a in enumerate(e.axes):
        if a is not None and i not in order:
            e = walk.first(e, i)
    axes = [None if o == "x" else e.axes[o] for o in order]
    real = [o for o in order if o != "x" and e.axes[o] is not None]
    if real == sorted(real):
        return e.moved(axes)
    turned = [(i, j) for k, i in enumerate(real) for j in real[k + 1 :] if i > j]

    def text() -> str:
        # Axes have names, so their order says nothing, unless both have the same.
        same = [e.axes[i].root is e.axes[j].root for i, j in turned]
        if not any(same):
            return e.text()
        if len(real) > 2:
            raise Unconvertible("DimShuffle", "of one dim twice among others")
        return f"transpose({e.text()})"

    return Expr(axes, text, e.binds, e.number)


@op(
    "SpecifyShape",
    "TensorFromScalar",
    "ScalarFromTensor",
    "Assert",
    "CheckParameterValue",
    "CheckAndRaise",
    "Unbroadcast",
    "DeepCopyOp",
    "ViewOp",
    "Copy",
    "OutputGuard",
)
def same(walk: Walk, v: Any) -> Expr:
    return walk.expr(v.owner.inputs[0])


@op("Alloc", "BroadcastTo")
def repeated(walk: Walk, v: Any) -> Expr:
    e = walk.expr(v.owner.inputs[0])
    shape = [walk.constants.whole(s) for s in v.owner.inputs[1:]]
    axes: list[Axis | None] = [*[None] * (len(shape) - len(e.axes)), *e.axes]
    for i, (a, size) in enumerate(zip(axes, shape)):
        if a is not None and a.root.size == 1 and size != 1:
            e = walk.first(e.moved(axes), i)
            axes = list(e.axes)
    axes = [a if a is not None or s == 1 else Axis(s) for a, s in zip(axes, shape)]
    return walk.repeat(e, axes)


@op("Reshape")
def reshaped(walk: Walk, v: Any) -> Expr:
    e = walk.expr(v.owner.inputs[0])
    if not walk.constants.holds(v.owner.inputs[1]):
        raise Unconvertible("Reshape", "to a shape that is not constant")
    shape = [int(s) for s in np.atleast_1d(walk.constants.value(v.owner.inputs[1]))]
    sizes = [a.root.size for a in e.real]
    if -1 in shape:
        known = int(np.prod([s for s in shape if s != -1]))
        shape[shape.index(-1)] = int(np.prod(sizes, dtype=int)) // max(known, 1)
    if [s for s in shape if s != 1] == [s for s in sizes if s != 1]:
        real = iter([a for a in e.real if a.root.size != 1])
        for i, a in enumerate(e.axes):
            if a is not None and a.root.size == 1:
                e = walk.first(e, i)
        return e.moved([next(real) if s != 1 else None for s in shape])
    long = [s for s in shape if s != 1]
    if len(long) == 1:
        return _flat(walk, e, shape)
    if len(sizes) == 1:
        return _folded(walk, e, shape)
    raise Unconvertible("Reshape", f"of {sizes} to {shape}")


def _flat(walk: Walk, e: Expr, shape: list[int]) -> Expr:
    """All elements in a row, looked up one by one."""
    e = walk.writer.named(e)
    sizes = tuple(a.root.size for a in e.real)
    rows = Axis(int(np.prod(sizes)))
    places = np.unravel_index(np.arange(rows.size), sizes)
    names = [walk.writer.index(p, [rows], a, "flat") for p, a in zip(places, e.real)]
    axes = [rows if s != 1 else None for s in shape]
    return Expr(axes, lambda: f"{e.text()}[{', '.join(names)}]")


def _row(e: Expr, name: str, columns: Axis) -> Expr:
    return Expr([columns], lambda: f"{e.text()}[{name}]")


def _folded(walk: Walk, e: Expr, shape: list[int]) -> Expr:
    """A row of elements as a matrix: each row of it is a look-up, chosen by its place."""
    long = [k for k, s in enumerate(shape) if s != 1]
    if len(long) != 2:
        raise Unconvertible("Reshape", f"to {shape}")
    n, m = (shape[k] for k in long)
    e = walk.writer.named(e)
    of = e.real[0]
    rows, columns = Axis(n), Axis(m)
    from .joining import stacked

    parts = []
    for i in range(n):
        name = walk.writer.index(np.arange(i * m, (i + 1) * m), [columns], of, "part")
        parts.append(_row(e, name, columns))
    out = stacked(walk, parts, rows)
    axes: list[Axis | None] = [None] * len(shape)
    axes[long[0]], axes[long[1]] = out.axes[0], out.axes[1]
    return out.moved(axes)
