"""Steps between constants: by NumPy where it has them, since JAX compiles each of them, by JAX
otherwise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

__all__ = ["computed"]

Array = np.ndarray[Any, Any]


def _cast(p: dict[str, Any], x: Array) -> Any:
    return np.asarray(x).astype(np.dtype(p["new_dtype"]))


def _divided(p: dict[str, Any], a: Array, b: Array) -> Any:
    """Of whole numbers without the rest, as JAX divides them."""
    out = np.true_divide(a, b)
    return out if a.dtype.kind == "f" else np.trunc(out).astype(a.dtype)


def _spread(p: dict[str, Any], x: Array) -> Any:
    shape = [1] * len(p["shape"])
    for k, size in zip(p["broadcast_dimensions"], np.shape(x)):
        shape[int(k)] = size
    return np.broadcast_to(np.reshape(x, shape), p["shape"])


def _chosen(p: dict[str, Any], which: Array, *cases: Array) -> Any:
    if len(cases) == 2:
        return np.where(which, cases[1], cases[0])
    return np.choose(which.astype(int), cases)


def _counted(p: dict[str, Any]) -> Any:
    shape, k = p["shape"], p["dimension"]
    along = np.arange(shape[k], dtype=p["dtype"]).reshape(
        [-1 if j == k else 1 for j in range(len(shape))]
    )
    return np.broadcast_to(along, shape)


def _part(p: dict[str, Any], x: Array) -> Any:
    strides = p["strides"] or [1] * np.ndim(x)
    return x[tuple(slice(*s) for s in zip(p["start_indices"], p["limit_indices"], strides))]


def _axes(p: dict[str, Any]) -> tuple[int, ...]:
    return tuple(int(a) for a in p["axes"])


#: What NumPy computes: a function of the parameters of a step and its inputs.
BY_NUMPY: dict[str, Callable[..., Any]] = {
    "add": lambda p, a, b: np.add(a, b),
    "sub": lambda p, a, b: np.subtract(a, b),
    "mul": lambda p, a, b: np.multiply(a, b),
    "neg": lambda p, a: np.negative(a),
    "max": lambda p, a, b: np.maximum(a, b),
    "min": lambda p, a, b: np.minimum(a, b),
    "exp": lambda p, a: np.exp(a),
    "log": lambda p, a: np.log(a),
    "log1p": lambda p, a: np.log1p(a),
    "sqrt": lambda p, a: np.sqrt(a),
    "square": lambda p, a: np.square(a),
    "abs": lambda p, a: np.abs(a),
    "sign": lambda p, a: np.sign(a),
    "is_finite": lambda p, a: np.isfinite(a),
    "lt": lambda p, a, b: np.less(a, b),
    "le": lambda p, a, b: np.less_equal(a, b),
    "gt": lambda p, a, b: np.greater(a, b),
    "ge": lambda p, a, b: np.greater_equal(a, b),
    "eq": lambda p, a, b: np.equal(a, b),
    "ne": lambda p, a, b: np.not_equal(a, b),
    "and": lambda p, a, b: np.bitwise_and(a, b),
    "or": lambda p, a, b: np.bitwise_or(a, b),
    "not": lambda p, a: np.bitwise_not(a),
    "div": _divided,
    "convert_element_type": _cast,
    "broadcast_in_dim": _spread,
    "reshape": lambda p, a: np.reshape(a, p["new_sizes"]),
    "squeeze": lambda p, a: np.squeeze(a, axis=tuple(int(k) for k in p["dimensions"])),
    "expand_dims": lambda p, a: np.expand_dims(a, p["dimensions"]),
    "transpose": lambda p, a: np.transpose(a, p["permutation"]),
    "rev": lambda p, a: np.flip(a, p["dimensions"]),
    "concatenate": lambda p, *a: np.concatenate(a, axis=p["dimension"]),
    "stack": lambda p, *a: np.stack(a, axis=p["axis"]),
    "select_n": _chosen,
    "iota": _counted,
    "slice": _part,
    "reduce_sum": lambda p, a: np.sum(a, axis=_axes(p), dtype=a.dtype),
    "reduce_max": lambda p, a: np.max(a, axis=_axes(p)),
    "reduce_min": lambda p, a: np.min(a, axis=_axes(p)),
    "reduce_and": lambda p, a: np.all(a, axis=_axes(p)),
    "reduce_or": lambda p, a: np.any(a, axis=_axes(p)),
    "stop_gradient": lambda p, a: a,
    "copy": lambda p, a: a,
    "copy_p": lambda p, a: a,
}


def computed(name: str, eqn: Any, values: Sequence[Any]) -> list[Any]:
    """What a step gives of constants."""
    by_numpy = BY_NUMPY.get(name)
    if by_numpy is not None and all(isinstance(v, (np.ndarray, np.generic)) for v in values):
        with np.errstate(all="ignore"):
            return [np.asarray(by_numpy(eqn.params, *values))]
    # Not an output of a trace that may be going on.
    with jax.ensure_compile_time_eval():
        outs = eqn.primitive.bind(*[jax.numpy.asarray(v) for v in values], **eqn.params)
    outs = outs if eqn.primitive.multiple_results else [outs]
    return [_plain(out) for out in outs]


def _plain(out: Any) -> Any:
    is_extended = jax.dtypes.issubdtype(out.dtype, jax.dtypes.extended)
    return out if is_extended else np.asarray(out)
