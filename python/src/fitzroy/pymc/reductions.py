"""Sums and other operations along axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .axes import Axis, Expr, Unconvertible
from .elementwise import constant
from .walk import Walk, core_of, op

__all__ = ["log_sum_exp", "reduced"]

#: The axis that the op names.
OF_OP = object()


def _over(e: Expr, axis: Any) -> tuple[list[int], list[int]]:
    """Places of the axes that go, and of those of them that the array has."""
    n = len(e.axes)
    # PyTensor reduces numbers along an axis, too.
    whole = axis is None or not n
    places = list(range(n)) if whole else [int(a) % n for a in np.atleast_1d(axis)]
    return places, [i for i in places if e.axes[i] is not None]


def reduced(walk: Walk, name: str, e: Expr, axis: Any) -> Expr:
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
    return reduced(walk, "log_sum_exp", e, axis)


#: Reductions, by the class of their ops.
REDUCTIONS = {"Sum": "sum", "Max": "max", "Min": "min", "Prod": "prod", "All": "all", "Any": "any"}


@op(*REDUCTIONS, "CAReduce")
def reduction(walk: Walk, v: Any) -> Expr:
    kind = type(v.owner.op).__name__
    name = REDUCTIONS.get(kind)
    if name is None:
        raise Unconvertible(kind, "the language has no such reduction")
    return reduced(walk, name, walk.expr(v.owner.inputs[0]), v.owner.op.axis)


@op("LogSumExp", "LogSumExpOp")
def log_sum_exp_op(walk: Walk, v: Any) -> Expr:
    e = walk.expr(v.owner.inputs[0])
    given = core_of(v.owner.op)
    axis = given.axis
    if given is not v.owner.op and axis is not None:
        # The op counts the axes of each element of a batch.
        own = len(v.owner.op.inputs_sig[0])
        axis = tuple(int(a) % own + len(e.axes) - own for a in np.atleast_1d(axis))
    out = log_sum_exp(walk, e, axis)
    if getattr(given, "keepdims", False):
        places, _ = _over(e, axis)
        return out.moved([None if i in places else a for i, a in enumerate(e.axes)])
    return out


#: What leaves one element as it is, and what gives a number for it.
RUNNING = ("cumsum", "cumprod", "sort")
ALONE = {"softmax": 1.0, "log_softmax": 0.0}


def _along(walk: Walk, v: Any, name: str, given: Any = OF_OP) -> Expr:
    e = walk.expr(v.owner.inputs[0])
    axis = v.owner.op.axis if given is OF_OP else given
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
        return e if name in RUNNING else constant(ALONE[name], len(e.axes))
    return Expr(e.axes, lambda: f"{name}({e.text()}, axis={walk.axis_name(e, axis % len(e.axes))})")


@op("Softmax")
def softmax(walk: Walk, v: Any) -> Expr:
    return _along(walk, v, "softmax")


@op("LogSoftmax")
def log_softmax(walk: Walk, v: Any) -> Expr:
    return _along(walk, v, "log_softmax")


@op("CumOp")
def cumulative(walk: Walk, v: Any) -> Expr:
    return _along(walk, v, "cumsum" if v.owner.op.mode == "add" else "cumprod")


@op("SortOp")
def sort(walk: Walk, v: Any) -> Expr:
    axis = v.owner.inputs[1] if len(v.owner.inputs) > 1 else v.owner.op.axis
    if not isinstance(axis, int):
        given = walk.constants.uniform(axis) if hasattr(axis, "owner") else axis
        axis = None if given is None else int(given)
    return _along(walk, v, "sort", axis)
