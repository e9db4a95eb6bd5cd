"""Products of arrays that are summed along one of their axes."""

from __future__ import annotations

from .axes import MULTIPLY, Expr
from .elementwise import met, settled
from .reductions import reduced
from .walk import Walk

__all__ = ["contracted"]


def contracted(walk: Walk, left: Expr, right: Expr, over: int) -> Expr:
    """The products of two arrays whose axes meet from the last on, summed along axis `over`, which is
    counted from the last (-1)."""
    n = max(len(left.axes), len(right.axes))
    left, right = (e.moved([*[None] * (n - len(e.axes)), *e.axes]) for e in (left, right))
    axes = met([left, right], "a product")
    ins = settled(walk, [left, right], axes)

    def text() -> str:
        return f"{ins[0].text(MULTIPLY)} * {ins[1].text(MULTIPLY + 1)}"

    return reduced(walk, "sum", Expr(axes, text, MULTIPLY), over)
