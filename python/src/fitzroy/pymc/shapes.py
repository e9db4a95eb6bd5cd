"""Operations that move, add or repeat axes, and those that change nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from .axes import Axis, Expr, Unconvertible
from .walk import Walk, op
from .writer import Column

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
    return _regrouped(walk, e, shape)


def _regrouped(walk: Walk, e: Expr, shape: list[int]) -> Expr:
    """All elements in their order in another shape. Axes are taken together up to where those before
    and those after have as many elements; the elements of such a group are looked up."""
    for i, a in enumerate(e.axes):
        if a is not None and a.root.size == 1:
            e = walk.first(e, i)
    e = walk.writer.named(e.moved(e.real))
    old, new = iter(e.real), iter([s for s in shape if s != 1])
    shown: list[str | Column] = []
    axes: list[Axis] = []
    for first in old:
        before, after = [first], [next(new)]
        while (have := int(np.prod([a.root.size for a in before]))) != (want := int(np.prod(after))):
            if have < want:
                before.append(next(old))
            else:
                after.append(next(new))
        if len(before) == len(after) == 1:
            shown.append(":")
            axes.append(first)
            continue
        rows = [Axis(s) for s in after]
        places = np.unravel_index(np.arange(have).reshape(after), [a.root.size for a in before])
        shown += [walk.writer.index(p, rows, a, "at") for p, a in zip(places, before)]
        axes += rows
    real = iter(axes)
    placed = [next(real) if s != 1 else None for s in shape]
    return Expr(placed, lambda: walk.writer.picked(e, shown, axes))
