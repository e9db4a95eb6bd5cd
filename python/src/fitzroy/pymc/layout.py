"""The same values as the model and its text lay them out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["as_model", "as_text", "sums_to_zero"]

Array = np.ndarray[Any, Any]


def as_model(conversion: Any, name: str, values: Array) -> Array:
    """Draws of a variable of the text, with any axes before its own, as PyMC has them."""
    if name in conversion.packed:
        return _packed(values)
    if name in conversion.centred:
        rows, columns = (sums_to_zero(n + 1) for n in values.shape[-2:])
        return np.asarray(rows @ values @ columns.T)
    lacking = conversion.repeated.get(name)
    if lacking:
        return _repeated(values, lacking)
    order = conversion.turned.get(name)
    return values if order is None else _turned(values, order)


def as_text(conversion: Any, name: str, values: Array) -> Array:
    """Values of a variable of the model, with any axes before its own, as the text has them."""
    if name in conversion.packed:
        return _unpacked(values)
    if name in conversion.centred:
        rows, columns = (sums_to_zero(n) for n in values.shape[-2:])
        return np.asarray(rows.T @ values @ columns)
    order = conversion.turned.get(name)
    return values if order is None else _turned(values, np.argsort(order))


def sums_to_zero(n: int) -> Array:
    """Orthonormal columns that each sum to 0: Helmert's contrasts."""
    k = np.arange(1, n)
    steps = np.where(np.arange(n)[:, None] < k, 1.0, 0.0)
    steps[k, k - 1] = -k
    return np.asarray(steps / np.sqrt(k * (k + 1.0)))


def _turned(values: Array, order: Any) -> Array:
    """Values whose last axes are in another order."""
    before = values.ndim - len(order)
    return values.transpose([*range(before), *(before + int(k) for k in order)])


def _repeated(values: Array, lacking: Sequence[tuple[int, int]]) -> Array:
    """Draws, of which the first two axes are chains and draws, with axes along which they are equal."""
    for k, size in lacking:
        values = np.repeat(np.expand_dims(values, k + 2), size, axis=k + 2)
    return values


def _packed(values: Array) -> Array:
    """Lower triangles row by row, as PyMC keeps Cholesky factors."""
    rows, columns = np.tril_indices(values.shape[-1])
    return values[..., rows, columns]


def _unpacked(values: Array) -> Array:
    """Packed lower triangles, of which the last axis is one, as square matrices."""
    length = values.shape[-1] if values.ndim else 0
    n = int((np.sqrt(8 * length + 1) - 1) / 2)
    if n * (n + 1) // 2 != length:
        return values
    out = np.zeros((*values.shape[:-1], n, n))
    rows, columns = np.tril_indices(n)
    out[..., rows, columns] = values
    return out
