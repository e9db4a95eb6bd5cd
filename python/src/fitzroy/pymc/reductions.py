"""Sums and other operations along axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .axes import ATOM, MULTIPLY, Axis, Expr, Unconvertible
from .walk import Walk, op

__all__ = ["log_sum_exp"]

#: Factors up to which a product is written out.
FACTORS = 64


def _over(e: Expr, axis: Any) -> tuple[list[int], list[int]]:
    """Places of the axes that go, and of those of them that the array has."""
    n = len(e.axes)
    places = list(range(n)) if axis is None else [int(a) % max(n, 1) for a in np.atleast_1d(axis)]
    return places, [i for i in places if e.axes[i] is not None]


def _reduced(walk: Walk, name: str, e: Expr, axis: Any) -> Expr:
    places, real = _over(e, axis)
    axes = [a for i, a in enumerate(e.axes) if i not in places]
    if not real:
        return e.moved(axes)
    if len(real) == len(e.real):
        return Expr(axes, lambda: f"{name}({e.text()})")

    def text() -> str:
        out = e.text()
        # The second of two equal axes first: the first is then called as before.
        for i in reversed(real):
            out = f"{name}({out}, axis={walk.axis_name(e, i)})"
        return out

    return Expr(axes, text)


def log_sum_exp(walk: Walk, e: Expr, axis: Any) -> Expr:
    """log(sum(exp(e))) along `axis`."""
    return _reduced(walk, "log_sum_exp", e, axis)


@op("Sum", "Max", "Min", "CAReduce")
def reduction(walk: Walk, v: Any) -> Expr:
    kind = type(v.owner.op).__name__
    name = {"Sum": "sum", "Max": "max", "Min": "min"}.get(kind)
    if name is None:
        raise Unconvertible(kind, "the language has no such reduction")
    return _reduced(walk, name, walk.expr(v.owner.inputs[0]), v.owner.op.axis)


@op("All", "Any")
def quantifier(walk: Walk, v: Any) -> Expr:
    name = "min" if type(v.owner.op).__name__ == "All" else "max"
    return _reduced(walk, name, walk.expr(v.owner.inputs[0]), v.owner.op.axis)


@op("LogSumExp", "LogSumExpOp")
def log_sum_exp_op(walk: Walk, v: Any) -> Expr:
    e, given = walk.expr(v.owner.inputs[0]), v.owner.op
    out = log_sum_exp(walk, e, given.axis)
    if getattr(given, "keepdims", False):
        places, _ = _over(e, given.axis)
        return out.moved([None if i in places else a for i, a in enumerate(e.axes)])
    return out


@op("Prod")
def product(walk: Walk, v: Any) -> Expr:
    e = walk.expr(v.owner.inputs[0])
    places, real = _over(e, v.owner.op.axis)
    axes = [a for i, a in enumerate(e.axes) if i not in places]
    if not real:
        return e.moved(axes)
    axis = e.axes[real[0]]
    assert axis is not None, "a real axis"
    if len(real) > 1 or axis.root.size > FACTORS:
        raise Unconvertible("Prod", "of more than one axis or too many factors")
    factors = [walk.at(e, {real[0]: k}) for k in range(axis.root.size)]
    return Expr(axes, lambda: " * ".join(f.text(ATOM) for f in factors), MULTIPLY)


def _along(walk: Walk, v: Any, name: str) -> Expr:
    e, axis = walk.expr(v.owner.inputs[0]), v.owner.op.axis
    if axis is None:
        if len(e.axes) != 1:
            raise Unconvertible(name, "of all elements of an array of several axes")
        axis = 0
    if isinstance(axis, (tuple, list)):
        if len(axis) != 1:
            raise Unconvertible(name, "along several axes")
        axis = axis[0]
    along: Axis | None = e.axes[axis]
    if along is None:
        return e if name == "cumsum" else Expr(e.axes, "1", number=1.0)
    return Expr(e.axes, lambda: f"{name}({e.text()}, axis={walk.axis_name(e, axis % len(e.axes))})")


@op("Softmax")
def softmax(walk: Walk, v: Any) -> Expr:
    return _along(walk, v, "softmax")


@op("LogSoftmax")
def log_softmax(walk: Walk, v: Any) -> Expr:
    out = _along(walk, v, "softmax")
    return Expr(out.axes, lambda: f"log({out.text()})")


@op("CumOp")
def cumulative(walk: Walk, v: Any) -> Expr:
    if v.owner.op.mode == "add":
        return _along(walk, v, "cumsum")
    e = walk.expr(v.owner.inputs[0])
    if len(e.axes) != 1 or e.axes[0] is None or e.axes[0].root.size > FACTORS:
        raise Unconvertible("CumOp", "of products of more than one axis or too many factors")
    parts = [walk.at(e, {0: 0})]
    for k in range(1, e.axes[0].root.size):
        parts.append(walk.writer.let(_times(parts[-1], walk.at(e, {0: k}))))
    listed = Expr(e.axes, lambda: "[" + ", ".join(p.text() for p in parts) + "]")
    return walk.writer.let(listed)


def _times(a: Expr, b: Expr) -> Expr:
    return Expr([], lambda: f"{a.text(ATOM)} * {b.text(ATOM)}", MULTIPLY)
