"""Lines through points, by which densities may be given."""

from __future__ import annotations

from typing import Any

import numpy as np

from .axes import Axis, Expr, Unconvertible, number
from .walk import Walk, op

__all__: list[str] = []

#: What SciPy calls a spline that is 0 beside its points.
ZEROS = 1


@op("SplineWrapper")
def lines(walk: Walk, v: Any) -> Expr:
    """A line from point to point at a number: the first line, and what each point adds to its
    slope."""
    spline = v.owner.op.spline
    knots, heights, degree = spline._eval_args
    if degree != 1 or spline.ext != ZEROS:
        raise Unconvertible("SplineWrapper", "other than lines between points, and 0 beside them")
    if v.type.ndim:
        raise Unconvertible("SplineWrapper", "at more than one number")
    at = np.asarray(knots[1:-1], dtype=float)
    slopes = np.diff(heights[: at.size]) / np.diff(at)
    points, x = Axis(at.size - 1), walk.writer.named(walk.expr(v.owner.inputs[0]))

    def text() -> str:
        knot = walk.writer.datum(at[:-1], [points], "knot")
        turn = walk.writer.datum(np.diff(slopes, prepend=0.0), [points], "turn")
        line = f"{number(heights[0])} + sum({turn} * max({x.text()} - {knot}, 0))"
        inside = f"{x.text()} >= {number(at[0])} and {x.text()} <= {number(at[-1])}"
        return f"where({inside}, {line}, 0)"

    return Expr([], text)
