"""What the residuals of a fit of a function that was called say against it."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _fitzroy
from ..arrays import host

__all__ = ["doubts", "predictors"]

Array = np.ndarray[Any, Any]


def predictors(given: Any, n: int) -> list[Array]:
    """The predictors of n points, if they are numbers for each of them."""
    try:
        x = np.atleast_1d(np.asarray(host(given), dtype=float))
    except (TypeError, ValueError):
        return []
    if x.ndim == 2 and x.shape[0] == n != x.shape[1]:
        x = x.T
    if x.size == 0 or x.size % n:
        return []
    return [np.ascontiguousarray(row) for row in x.reshape(-1, n) if np.all(np.isfinite(row))]


def doubts(
    facts: dict[str, Any],
    y: Array,
    sigma: Array | None,
    factor: Array | None,
    columns: list[Array],
    absolute_sigma: bool,
    loss: Any,
) -> dict[str, Any]:
    """Flags, findings and words of what speaks against a fit that converged.

    `facts` has its residuals, over `sigma` or whitened by `factor`, and its parameters.
    """
    if not facts["converged"]:
        return {"flags": [], "findings": []}
    own = facts["residuals"]
    n, p = own.size, facts["popt"].size
    left, weights = own, None
    if factor is not None:
        left = factor @ own
    elif sigma is not None:
        deviations = np.broadcast_to(sigma, n)
        left, weights = own * deviations, np.array(1.0 / deviations)
    flags, words = _fitzroy.doubts(
        np.array(y + left, dtype=float),
        np.ascontiguousarray(y, dtype=float),
        weights,
        # Errors that are correlated have neighbours that are alike.
        columns if factor is None else None,
        (p, max(n - p, 0), float(own @ own)),
        loss is None,
        absolute_sigma,
    )
    if words is None:
        return {"flags": [], "findings": []}
    return {
        "flags": flags,
        "findings": [f"{words}; look at them, and try other starting values or another curve"],
        "doubts": words,
    }
