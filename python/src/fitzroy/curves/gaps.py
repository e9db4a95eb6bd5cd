"""Points with missing values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from .function import Table

__all__ = ["check_policy", "gaps_of_many", "without_gaps"]

Array = np.ndarray[Any, Any]


def check_policy(nan_policy: str) -> bool:
    """True if points with NaN are left out. Raises ValueError for a policy that is not known."""
    if nan_policy not in ("omit", "raise"):
        raise ValueError(f"nan_policy='{nan_policy}' is not known; it is 'raise' or 'omit'")
    return nan_policy == "omit"


def gaps_of_many(columns: Mapping[str, Array], y: Array, sigma: Array | None) -> Array | None:
    """True at each point of many fits at which something is NaN; None if there is no such point.

    y, sigma and the columns hold the points of one fit after those of another.
    """
    numbers = [y, *columns.values()] + ([] if sigma is None else [sigma])
    # A sum is NaN if a number is, and is made without another array.
    with np.errstate(invalid="ignore", over="ignore"):
        if not any(np.isnan(each.sum()) for each in numbers):
            return None
    gaps = _any_nan(numbers, y.size)
    return gaps if gaps.any() else None


def without_gaps(x: Any, y: Array, sigma: Array | None) -> tuple[Any, Array, Array | None]:
    """The points at which nothing is NaN: neither of y, of sigma, nor of a column of x, which are
    an array or a dict of columns.

    Raises ValueError for an x of another kind, or of other points.
    """
    columns = list(x.values()) if isinstance(x, Mapping) else [x]
    for column in columns:
        if not isinstance(column, np.ndarray) or column.shape[-1:] != y.shape:
            raise ValueError("nan_policy='omit' needs an x of numbers, with a point for each of y")
    gaps = _any_nan([y, *columns] + ([] if sigma is None else [sigma]), y.size)
    if not gaps.any():
        return x, y, sigma
    left = ~gaps
    if isinstance(x, Mapping):
        of = x.of if isinstance(x, Table) else dict
        x = of({name: column[left] for name, column in x.items()})
    else:
        x = x[..., left]
    return x, y[left], None if sigma is None else sigma[left]


def _any_nan(numbers: Iterable[Array], n: int) -> Array:
    """True at each of `n` points at which one of the arrays is NaN; points are their last axis."""
    gaps: Array = np.zeros(n, dtype=bool)
    for each in numbers:
        gaps |= np.isnan(each).reshape(-1, n).any(axis=0) if each.ndim > 1 else np.isnan(each)
    return gaps
