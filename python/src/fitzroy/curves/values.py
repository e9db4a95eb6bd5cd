"""Data, and what functions give at them, as one real number for each point."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import host

__all__ = ["at_points", "real"]

#: What to do instead of a fit of complex numbers, by what is complex.
INSTEAD = {
    "xdata": "hand over real numbers, and make complex ones of them in the function",
    "ydata": "hand over np.concatenate([y.real, y.imag]), and return the same of the curve",
}


def real(values: Any, name: str) -> Any:
    """`values` as they are, or as an array.

    Raises TypeError for complex numbers, of which conversion would leave out the imaginary parts.
    """
    if type(values) is np.ndarray and values.dtype.kind != "c":
        return values
    array = np.asarray(values) if isinstance(values, (list, tuple)) else values
    if not np.iscomplexobj(array):
        return array
    if np.any(np.imag(array)):
        raise TypeError(f"`{name}` is complex: {INSTEAD[name]}")
    return np.real(array)


def at_points(given: Any, n: int, shape: tuple[int, ...] = ()) -> np.ndarray[Any, Any]:
    """What a function that was called gives: one number for each of n points, or one for all.

    `shape` is that of y, where it has several axes. Raises TypeError for what is no numbers, and
    ValueError for an array of another shape.
    """
    if given is None:
        raise TypeError("the function returns None; is there a `return` before its value?")
    found = np.asarray(host(given))
    if found.dtype.kind == "c":
        raise TypeError(
            "the function gives complex numbers; return real ones, such as "
            "np.concatenate([f.real, f.imag]) for data that are put together so"
        )
    found = found.astype(float)
    if found.ndim < 2:
        return found
    # Beside the points of y such an array would be repeated, or be in another order.
    if found.size != n or not _alike(found.shape, shape):
        raise ValueError(
            f"the function gives an array of shape {found.shape} for y of {shape or n}"
        )
    return found.reshape(-1)


def _alike(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether two shapes are equal but for axes of one element; one axis is like any."""
    a, b = ([n for n in shape if n != 1] for shape in (one, other))
    return a == b or len(b) < 2
