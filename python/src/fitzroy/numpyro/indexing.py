"""Primitives that look elements up, or set them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytensor.tensor as pt

from ..conversion import Unconvertible
from .constants import computed
from .elementwise import Columns, bare
from .graph import Step, double
from .tensors import Tensors, primitive

__all__: list[str] = []

Array = np.ndarray[Any, Any]


@primitive("slice")
def part(t: Tensors, step: Step, v: Any) -> Any:
    p, shape = step.params, step.inputs[0].shape
    strides = p["strides"] or [1] * len(shape)
    keys = []
    for k, ends in enumerate(zip(p["start_indices"], p["limit_indices"], strides)):
        # Repeated elements are the same wherever they are taken.
        is_lazy = v.type.shape[k] == 1 and shape[k] != 1
        first, last, by = (int(x) for x in ends)
        is_all = is_lazy or (first, last, by) == (0, shape[k], 1)
        keys.append(slice(None) if is_all else slice(first, last, by))
    return v if all(k == slice(None) for k in keys) else v[tuple(keys)]


@primitive("dynamic_slice")
def dynamic_part(t: Tensors, step: Step, v: Any, *starts: Any) -> Any:
    shape, sizes = step.inputs[0].shape, [int(n) for n in step.params["slice_sizes"]]
    keys: list[Any] = []
    for ref, first, n, size in zip(step.inputs[1:], starts, shape, sizes):
        if ref.is_constant:
            at = int(np.clip(t.fixed(ref, "dynamic_slice"), 0, n - size))
            keys.append(slice(at, at + size))
        elif size == 1:
            keys.append(first)
        elif size == n:
            keys.append(slice(None))
        else:
            raise Unconvertible("dynamic_slice", "of several elements from a place that varies")
    out = t.whole(v, shape)[tuple(keys)]
    real = iter(range(out.type.ndim))
    return out.dimshuffle(*[next(real) if isinstance(k, slice) else "x" for k in keys])


@primitive("gather")
def looked_up(t: Tensors, step: Step, v: Any, at: Any) -> Any:
    numbers, sizes = step.params["dimension_numbers"], step.params["slice_sizes"]
    shape, n_rows = step.inputs[0].shape, len(step.inputs[1].shape) - 1
    places = [int(k) for k in numbers.start_index_map]
    batch = [int(k) for k in numbers.operand_batching_dims]
    rows_of = dict(zip(batch, (int(k) for k in numbers.start_indices_batching_dims)))
    gone = {int(k) for k in numbers.collapsed_slice_dims} | set(batch)
    rest = [k for k in range(len(shape)) if k not in gone]
    if any(sizes[k] != shape[k] for k in rest) or set(places) - gone:
        return _by_numbers(t, step, v)
    v = t.whole(v, shape)
    keys: dict[int, Any] = {}
    for j, k in enumerate(places):
        if step.inputs[1].is_constant:
            found = np.asarray(t.fixed(step.inputs[1], "gather"))[..., j].astype(int)
            if np.any((found < 0) | (found >= shape[k])):
                found = _inside(step, found, shape[k])
            keys[k] = found
        else:
            keys[k] = _column(t, at, j, n_rows, len(places))
    for k, row in rows_of.items():
        n = shape[k]
        keys[k] = np.arange(n).reshape([-1 if j == row else 1 for j in range(n_rows)])
    first = sorted(gone)
    if n_rows == 1 and len(first) == 1 and isinstance(keys[first[0]], np.ndarray):
        keys[first[0]] = t.constant(keys[first[0]])
    turned = v.dimshuffle(*first, *rest)
    out = turned[tuple(keys[k] for k in first)]
    return _placed(out, n_rows, [int(k) for k in numbers.offset_dims])


def _column(t: Tensors, at: Any, j: int, n_rows: int, n: int) -> Any:
    """The positions along one of several axes."""
    tag = t.tags.get(at)
    v = tag.parts[j] if isinstance(tag, Columns) else at
    if isinstance(v, np.ndarray):
        return _once(v)
    if isinstance(tag, Columns) or n == 1:
        own = bare(v)
        v = own if own.type.ndim == n_rows else v
    if v.type.ndim != n_rows:
        v = v[(slice(None),) * n_rows + (j,)]
    return v


def _once(positions: Array) -> Array:
    """Positions with length 1 along axes along which they are repeated."""
    for k in range(positions.ndim):
        first = positions.take([0], axis=k)
        positions = first if np.all(positions == first) else positions
    return positions


def _inside(step: Step, found: Array, n: int) -> Array:
    """Places that JAX moves into an array."""
    if "CLIP" not in str(step.params["mode"]) and "FILL" in str(step.params["mode"]):
        raise Unconvertible("gather", "places outside an array")
    return np.clip(found, 0, n - 1)


def _placed(out: Any, n_rows: int, offset: list[int]) -> Any:
    """Rows first, then the rest, with the rest at the places that the primitive gives it."""
    ndim = out.type.ndim
    rows, rest = iter(range(n_rows)), iter(range(n_rows, ndim))
    order = [next(rest) if k in offset else next(rows) for k in range(ndim)]
    return out if order == list(range(ndim)) else out.dimshuffle(*order)


def _by_numbers(t: Tensors, step: Step, v: Any) -> Any:
    """Elements by where the primitive itself takes them from."""
    shape = step.inputs[0].shape
    at = t.fixed(step.inputs[1], step.name)
    counted = np.arange(np.prod(shape, dtype=int), dtype=float).reshape(shape)
    with double():
        [places] = computed(step.name, step.eqn, [counted, at])
    if not np.all(np.isfinite(places)) or places.min() < 0:
        raise Unconvertible(step.name, "places outside an array")
    keys = np.unravel_index(places.astype(int), shape)
    return t.whole(v, shape)[tuple(keys)]


@primitive("scatter-mul", "scatter_mul")
def multiplied(t: Tensors, step: Step, into: Any, at: Any, values: Any) -> Any:
    shape, own = step.inputs[0].shape, step.inputs[2].shape
    at, n = t.fixed(step.inputs[1], step.name), int(np.prod(own, dtype=int))
    with double():
        [twos] = computed(step.name, step.eqn, [np.ones(shape), at, np.full(own, 2.0)])
        counted = np.arange(2.0, n + 2).reshape(own)
        [found] = computed(step.name, step.eqn, [np.ones(shape), at, counted])
    if np.max(twos) > 2:
        raise Unconvertible(step.name, "several values by which one element is multiplied")
    there = np.nonzero(np.asarray(found) > 1)
    from_ = np.unravel_index(np.asarray(found)[there].astype(int) - 2, own) if own else ()
    into, values = t.whole(into, shape), t.whole(values, own)
    chosen = values[tuple(from_)] if own else values
    return pt.set_subtensor(into[there], into[there] * chosen)


@primitive("scatter", "scatter-add", "scatter_add")
def set_elements(t: Tensors, step: Step, into: Any, at: Any, values: Any) -> Any:
    shape, own = step.inputs[0].shape, step.inputs[2].shape
    places = _sources(t, step, shape, own)
    into, values = t.whole(into, shape), t.whole(values, own)
    adds = step.name != "scatter"
    if adds:
        return _added(t, step, into, values, places)
    there = np.nonzero(places >= 0)
    from_ = np.unravel_index(places[there], own) if own else ()
    chosen = values[tuple(from_)] if own else values
    if own and values.type.ndim == 1 and np.array_equal(from_[0], np.arange(own[0])):
        chosen = values
    return pt.set_subtensor(into[there], chosen)


def _sources(t: Tensors, step: Step, shape: Any, own: Any) -> Array:
    """For each element which of the values it is set to, counted through them; −1 for none. Values
    that are added say so one after the other."""
    at = t.fixed(step.inputs[1], step.name)
    n = int(np.prod(own, dtype=int))
    if step.name == "scatter":
        with double():
            [out] = computed(
                step.name, step.eqn, [np.full(shape, -1.0), at, np.arange(float(n)).reshape(own)]
            )
        return np.asarray(out).astype(int)
    with double():
        [out] = computed(step.name, step.eqn, [np.zeros(shape), at, np.ones(own)])
    return np.asarray(out).astype(int)


def _added(t: Tensors, step: Step, into: Any, values: Any, counts: Array) -> Any:
    """`into` with values added at places, of which several may be one."""
    numbers, at = step.params["dimension_numbers"], t.fixed(step.inputs[1], step.name)
    shape, own = step.inputs[0].shape, step.inputs[2].shape
    dims = [int(k) for k in numbers.scatter_dims_to_operand_dims]
    window = [int(k) for k in numbers.update_window_dims]
    inserted = {int(k) for k in numbers.inserted_window_dims}
    if len(dims) != 1 or dims[0] != 0 or inserted != {0} or at.ndim != 2:
        raise Unconvertible(step.name, "along several axes")
    if window != list(range(1, len(own))) or own[1:] != shape[1:]:
        raise Unconvertible(step.name, "of parts of rows")
    rows = np.asarray(at)[:, 0].astype(int)
    if np.any(rows < 0) or np.any(rows >= shape[0]):
        inside = (rows >= 0) & (rows < shape[0])
        rows, values = rows[inside], values[np.nonzero(inside)[0]]
    if counts.max(initial=0) <= 1:
        return pt.inc_subtensor(into[rows], values)
    adds = (np.arange(shape[0])[:, None] == rows).astype(float)
    return into + pt.dot(pt.constant(adds), values)


@primitive("dynamic_update_slice")
def set_part(t: Tensors, step: Step, into: Any, values: Any, *starts: Any) -> Any:
    shape, own = step.inputs[0].shape, step.inputs[1].shape
    into, values = t.whole(into, shape), t.whole(values, own)
    keys = []
    for ref, n, size in zip(step.inputs[2:], shape, own):
        at = int(np.clip(t.fixed(ref, step.name), 0, n - size))
        keys.append(slice(at, at + size))
    return pt.set_subtensor(into[tuple(keys)], values)
