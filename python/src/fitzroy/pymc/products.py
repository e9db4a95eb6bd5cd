"""Products of matrices and vectors."""

from __future__ import annotations

from typing import Any

from .axes import MULTIPLY, Expr, Unconvertible, unite
from .batches import contracted
from .elementwise import settled
from .walk import Walk, op

__all__: list[str] = []


@op("Dot", "MatMul", "Matmul", "BatchedDot")
def dot(walk: Walk, v: Any) -> Expr:
    a, b = (walk.expr(i) for i in v.owner.inputs[:2])
    if v.type.ndim > 2:
        # Batches of matrices: the axes before the last two meet.
        left = a.moved([*a.axes, None])
        right = b.moved([*b.axes[:-2], None, *b.axes[-2:]])
        return contracted(walk, left, right, -2)
    for e, k in ((a, len(a.axes) - 1), (b, max(len(b.axes) - 2, 0))):
        axis = e.axes[k]
        if axis is not None and axis.root.size == 1:
            if e is a:
                a = walk.first(a, k)
            else:
                b = walk.first(b, k)
    inner_a = len(a.axes) - 1
    inner_b = max(len(b.axes) - 2, 0)
    over_a, over_b = a.axes[inner_a], b.axes[inner_b]
    rest_a = a.axes[:inner_a]
    rest_b = [x for k, x in enumerate(b.axes) if k != inner_b]
    axes = [*rest_a, *rest_b]
    if over_a is None and over_b is None:
        left = a.moved([*rest_a, *[None] * len(rest_b)])
        right = b.moved([*[None] * len(rest_a), *rest_b])
        ins = settled(walk, [left, right], axes)
        return Expr(
            axes, lambda: f"{ins[0].text(MULTIPLY)} * {ins[1].text(MULTIPLY + 1)}", MULTIPLY
        )
    if over_a is None or over_b is None:
        raise Unconvertible("Dot", "over something that is repeated")
    unite(over_a, over_b, "a matrix product")
    # Products go by the order of axes, which names have for sure.
    a, b = (walk.writer.named(e) if len(e.real) > 1 else e for e in (a, b))
    return Expr(axes, lambda: f"{a.text(MULTIPLY + 1)} @ {b.text(MULTIPLY + 1)}", MULTIPLY)
