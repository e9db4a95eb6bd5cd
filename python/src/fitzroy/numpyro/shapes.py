"""Primitives that move, join or repeat axes, reduce along them, and multiply matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytensor.tensor as pt

from ..conversion import Unconvertible
from .elementwise import Columns, Shifted, SumOfExp
from .graph import Step, value_of
from .tensors import Tensors, primitive

__all__: list[str] = []


def _moved(t: Tensors, v: Any, move: Callable[[Any], Any]) -> Any:
    """A variable with its axes elsewhere, and what is known of it."""
    out, tag = move(v), t.tags.get(v)
    if isinstance(tag, SumOfExp):
        t.tags[out] = tag.moved(move)
    if v in t.not_negative:
        t.not_negative.add(out)
    return out


@primitive("broadcast_in_dim")
def spread(t: Tensors, step: Step, v: Any, *sizes: Any) -> Any:
    order: list[Any] = ["x"] * len(step.params["shape"])
    for k, place in enumerate(step.params["broadcast_dimensions"]):
        order[int(place)] = k
    return _moved(t, v, lambda x: x.dimshuffle(*order))


@primitive("expand_dims")
def expanded(t: Tensors, step: Step, v: Any) -> Any:
    rest = iter(range(v.type.ndim))
    new = {int(k) for k in step.params["dimensions"]}
    order = ["x" if k in new else next(rest) for k in range(v.type.ndim + len(new))]
    return _moved(t, v, lambda x: x.dimshuffle(*order))


@primitive("squeeze")
def squeezed(t: Tensors, step: Step, v: Any) -> Any:
    gone = {int(k) % v.type.ndim for k in step.params["dimensions"]}
    order = [k for k in range(v.type.ndim) if k not in gone]
    return _moved(t, v, lambda x: x.dimshuffle(*order))


@primitive("transpose")
def transposed(t: Tensors, step: Step, v: Any) -> Any:
    order = [int(k) for k in step.params["permutation"]]
    return _moved(t, v, lambda x: x.dimshuffle(*order))


@primitive("reshape")
def reshaped(t: Tensors, step: Step, v: Any) -> Any:
    have, want = step.inputs[0].shape, step.outs[0].shape
    if [n for n in have if n != 1] == [n for n in want if n != 1]:
        real = iter([k for k, n in enumerate(have) if n != 1])
        order = [next(real) if n != 1 else "x" for n in want]
        return _moved(t, v, lambda x: x.dimshuffle(*order))
    return t.whole(v, have).reshape(want)


@primitive("rev")
def reversed_(t: Tensors, step: Step, v: Any) -> Any:
    turned = {int(k) for k in step.params["dimensions"]}
    return v[tuple(slice(None, None, -1 if k in turned else 1) for k in range(v.type.ndim))]


@primitive("concatenate")
def joined(t: Tensors, step: Step, *parts: Any) -> Any:
    axis = int(step.params["dimension"])
    if len(parts) == 1:
        return parts[0]
    if all(ref.shape == (1,) for ref in step.inputs):
        return pt.stack([part.dimshuffle() for part in parts])
    out = pt.concatenate([t.whole(v, r.shape) for v, r in zip(parts, step.inputs)], axis=axis)
    if axis == out.type.ndim - 1 and all(ref.shape[axis] == 1 for ref in step.inputs):
        t.tags[out] = Columns(
            [
                np.asarray(value_of(r))[..., 0] if r.is_constant else v.dimshuffle(*range(axis))
                for v, r in zip(parts, step.inputs)
            ]
        )
    return out


@primitive("stack")
def stacked(t: Tensors, step: Step, *parts: Any) -> Any:
    whole = [t.whole(v, r.shape) for v, r in zip(parts, step.inputs)]
    return pt.stack(whole, axis=int(step.params["axis"]))


@primitive("split")
def split(t: Tensors, step: Step, v: Any) -> Any:
    axis = int(step.params["axis"])
    v = t.whole(v, step.inputs[0].shape)
    ends = np.cumsum([0, *step.params["sizes"]])
    before = (slice(None),) * axis
    return [v[(*before, slice(int(a), int(b)))] for a, b in zip(ends[:-1], ends[1:])]


@primitive("pad")
def padded(t: Tensors, step: Step, v: Any, value: Any) -> Any:
    v = t.whole(v, step.inputs[0].shape)
    for axis, (low, high, between) in enumerate(step.params["padding_config"]):
        if between:
            raise Unconvertible("pad", "between elements")
        keep = slice(max(-low, 0), v.type.shape[axis] - max(-high, 0))
        v = v[(slice(None),) * axis + (keep,)]
        parts = []
        for size in (low, high):
            shape = [int(size) if k == axis else n for k, n in enumerate(v.type.shape)]
            parts.append(pt.alloc(value, *shape) if size > 0 else None)
        whole = [p for p in (parts[0], v, parts[1]) if p is not None]
        v = pt.concatenate(whole, axis=axis) if len(whole) > 1 else v
    return v


# Reductions


def _places(step: Step, v: Any) -> tuple[list[int], list[int]]:
    """The axes that go: those that the variable has, and those along which it is repeated."""
    axes = [int(a) for a in step.params["axes"]]
    shape = step.inputs[0].shape
    lazy = [a for a in axes if v.type.shape[a] == 1 and shape[a] != 1]
    return [a for a in axes if a not in lazy], lazy


def _without(v: Any, axes: Sequence[int]) -> Any:
    return v.dimshuffle(*[k for k in range(v.type.ndim) if k not in axes]) if axes else v


@primitive("reduce_sum")
def total(t: Tensors, step: Step, v: Any) -> Any:
    real, lazy = _places(step, v)
    n = int(np.prod([step.inputs[0].shape[a] for a in lazy], dtype=int))
    out = v.sum(axis=tuple(real), keepdims=True) if real else v
    out = _without(out, [*real, *lazy])
    tag = t.tags.get(v)
    if isinstance(tag, Shifted) and tag.is_exp and real and not lazy:
        s = tag.s
        while s.type.ndim < v.type.ndim:
            s = s.dimshuffle("x", *range(s.type.ndim))
        if all(s.type.shape[a] == 1 for a in real) and tag.x.type.ndim == v.type.ndim:
            whole = pt.log(pt.exp(tag.x).sum(axis=tuple(real)))
            t.tags[out] = SumOfExp(whole, tag.x, _without(s, real))
    return out * float(n) if lazy else out


def _by(function: Callable[..., Any]) -> Callable[..., Any]:
    def reduced(t: Tensors, step: Step, v: Any) -> Any:
        real, lazy = _places(step, v)
        out = function(v, axis=tuple(real), keepdims=True) if real else v
        return _without(out, [*real, *lazy])

    return reduced


primitive("reduce_max")(_by(pt.max))
primitive("reduce_min")(_by(pt.min))
primitive("reduce_and")(_by(pt.all))
primitive("reduce_or")(_by(pt.any))


@primitive("reduce_prod")
def product(t: Tensors, step: Step, v: Any) -> Any:
    v = t.whole(v, step.inputs[0].shape)
    return pt.prod(v, axis=tuple(int(a) for a in step.params["axes"]))


def _running(function: Callable[..., Any]) -> Callable[..., Any]:
    def running(t: Tensors, step: Step, v: Any) -> Any:
        axis = int(step.params["axis"])
        turn = (slice(None),) * axis + (slice(None, None, -1),)
        v = t.whole(v, step.inputs[0].shape)
        if not step.params["reverse"]:
            return function(v, axis=axis)
        return function(v[turn], axis=axis)[turn]

    return running


primitive("cumsum")(_running(pt.cumsum))
primitive("cumprod")(_running(pt.cumprod))


@primitive("sort")
def sorted_(t: Tensors, step: Step, *ins: Any) -> Any:
    if len(ins) > 1:
        raise Unconvertible("sort", "of one array by another")
    return pt.sort(t.whole(ins[0], step.inputs[0].shape), axis=int(step.params["dimension"]))


# Products and factors


@primitive("dot_general")
def dot(t: Tensors, step: Step, a: Any, b: Any) -> Any:
    (over_a, over_b), (batch_a, batch_b) = (
        [[int(k) for k in axes] for axes in pair] for pair in step.params["dimension_numbers"]
    )
    shape_a, shape_b = (ref.shape for ref in step.inputs)
    free_a = [k for k in range(len(shape_a)) if k not in (*over_a, *batch_a)]
    free_b = [k for k in range(len(shape_b)) if k not in (*over_b, *batch_b)]
    if not batch_a and len(over_a) == 1 and len(free_a) <= 1 and len(free_b) <= 1:
        a, b = t.whole(a, shape_a), t.whole(b, shape_b)
        return pt.dot(a.dimshuffle(*free_a, *over_a), b.dimshuffle(*over_b, *free_b))
    # Over the axes of the batch, of either, and of the sum, in this order.
    n_a, n_b, n_over = len(free_a), len(free_b), len(over_a)
    left = a.dimshuffle(*batch_a, *free_a, *["x"] * n_b, *over_a)
    right = b.dimshuffle(*batch_b, *["x"] * n_a, *free_b, *over_b)
    n = left.type.ndim
    lengths = [shape_a[k] for k in over_a]
    out = left * right
    want = [*out.type.shape[: n - n_over], *lengths]
    return t.whole(out, want).sum(axis=tuple(range(n - n_over, n))) if n_over else out


@primitive("cholesky")
def cholesky(t: Tensors, step: Step, v: Any) -> Any:
    return pt.linalg.cholesky(t.whole(v, step.inputs[0].shape))


@primitive("inv")
def inverse(t: Tensors, step: Step, v: Any) -> Any:
    return pt.linalg.inv(t.whole(v, step.inputs[0].shape))


@primitive("solve")
def solve(t: Tensors, step: Step, a: Any, b: Any) -> Any:
    a, b = (t.whole(v, ref.shape) for v, ref in zip((a, b), step.inputs))
    return pt.linalg.solve(a, b, b_ndim=b.type.ndim)


@primitive("slogdet")
def log_determinant(t: Tensors, step: Step, v: Any) -> Any:
    sign, size = pt.linalg.slogdet(t.whole(v, step.inputs[0].shape))
    return [sign, size]


@primitive("det")
def determinant(t: Tensors, step: Step, v: Any) -> Any:
    return pt.linalg.det(t.whole(v, step.inputs[0].shape))


@primitive("triangular_solve")
def triangular(t: Tensors, step: Step, a: Any, b: Any) -> Any:
    p = step.params
    if len(step.inputs[0].shape) != 2 or p["unit_diagonal"] or p.get("conjugate_a"):
        raise Unconvertible(
            "triangular_solve", "of a batch of matrices, or with ones in the diagonal"
        )
    a, b = (t.whole(v, ref.shape) for v, ref in zip((a, b), step.inputs))
    lower, turned = p["lower"], p["transpose_a"]
    if not p["left_side"]:
        # x A = b is Aᵀ xᵀ = bᵀ.
        b, turned = b.T, not turned
    if b.type.shape[1] == 1:
        out = pt.linalg.solve_triangular(
            a, b[:, 0], lower=lower, trans=int(turned), b_ndim=1
        ).dimshuffle(0, "x")
    else:
        out = pt.linalg.solve_triangular(a, b, lower=lower, trans=int(turned), b_ndim=2)
    return out if p["left_side"] else out.T
