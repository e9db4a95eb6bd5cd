"""Products of arrays that are summed along one of their axes."""

from __future__ import annotations

import numpy as np

from .axes import MULTIPLY, Axis, Expr
from .elementwise import met, settled
from .joining import looked_up
from .reductions import reduced
from .walk import Walk

__all__ = ["contracted"]


def _apart(walk: Walk, left: Expr, right: Expr, over: int) -> tuple[Expr, Expr]:
    """Both with another dim along the axis that is summed, where the product may have its dim twice
    beside it, as one of square matrices has: three of a kind have no names. Which axes are one dim
    is not known before the end, so that lengths decide."""
    along = left.axes[over]
    others = [a or b for k, (a, b) in enumerate(zip(left.axes, right.axes)) if k != over]
    if along is None or right.axes[over] is None:
        return left, right
    if sum(a is not None and a.root.size == along.root.size for a in others) < 2:
        return left, right
    rows, places = Axis(along.root.size), np.arange(along.root.size)
    return (
        looked_up(walk, left, over, places, rows),
        looked_up(walk, right, over, places, rows),
    )


def contracted(walk: Walk, left: Expr, right: Expr, over: int) -> Expr:
    """The products of two arrays whose axes meet from the last on, summed along axis `over`, which is
    counted from the last (-1)."""
    n = max(len(left.axes), len(right.axes))
    left, right = (e.moved([*[None] * (n - len(e.axes)), *e.axes]) for e in (left, right))
    left, right = _apart(walk, left, right, n + over)
    axes = met([left, right], "a product")
    ins = settled(walk, [left, right], axes)

    def text() -> str:
        return f"{ins[0].text(MULTIPLY)} * {ins[1].text(MULTIPLY + 1)}"

    return reduced(walk, "sum", Expr(axes, text, MULTIPLY), over)
