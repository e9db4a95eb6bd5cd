"""Curves that are sums of given columns: constants, polynomials, splines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .special import NEEDED, Formula

__all__ = ["constant", "constant_complex", "polynomial", "spline_basis", "spline_of"]

Array = np.ndarray[Any, Any]

ORDER = 3


def constant(x: Any, c: Any = 0.0) -> Any:
    """c at every point."""
    return c * np.ones(np.shape(x))


def constant_complex(x: Any, re: Any = 0.0, im: Any = 0.0) -> Any:
    """re + i im at every point."""
    return (re + 1j * im) * np.ones(np.shape(x))


def polynomial(
    x: Any,
    c0: Any = 0,
    c1: Any = 0,
    c2: Any = 0,
    c3: Any = 0,
    c4: Any = 0,
    c5: Any = 0,
    c6: Any = 0,
    c7: Any = 0,
) -> Any:
    """c0 + c1 x + c2 x² + ..."""
    out = 0.0 * x
    for c in (c7, c6, c5, c4, c3, c2, c1, c0):
        out = out * x + c
    return out


def spline_basis(xknots: Array) -> Array:
    """Knots of cubic B-splines, as many as there are places: without the second place and the last
    but one, where the third derivative then has no jump."""
    low, high = xknots[0], xknots[-1]
    return np.concatenate([[low] * (ORDER + 1), xknots[2:-2], [high] * (ORDER + 1)])


def _design(x: Array, knots: Array) -> Array:
    """The B-splines at x, a column each (de Boor); beyond the ends the outer pieces go on."""
    n = len(knots) - ORDER - 1
    at = np.clip(np.searchsorted(knots, x, side="right") - 1, ORDER, n - 1)
    local = np.zeros((len(x), ORDER + 1))
    local[:, 0] = 1.0
    for degree in range(1, ORDER + 1):
        saved = np.zeros(len(x))
        for k in range(degree):
            right, left = knots[at + k + 1], knots[at + k + 1 - degree]
            term = local[:, k] / (right - left)
            local[:, k] = saved + (right - x) * term
            saved = (x - left) * term
        local[:, degree] = saved
    out = np.zeros((len(x), n))
    rows = np.arange(len(x))
    for k in range(ORDER + 1):
        out[rows, at - ORDER + k] = local[:, k]
    return out


class SplineCurve:
    """Σ sₖ Bₖ(x), a function of x and of coefficients by name."""

    def __init__(self, n: int, knots: Array) -> None:
        self.n, self.knots = n, knots
        self.__name__ = "spline_model"
        names: dict[str, float | None] = {"x": NEEDED, **{f"s{k}": 1.0 for k in range(n)}}
        self.__signature__ = Formula("spline_model", __name__, names, "x").__signature__

    def __call__(self, x: Any, **values: Any) -> Any:
        columns = _design(np.atleast_1d(np.asarray(x, dtype=float)).ravel(), self.knots)
        total: Any = 0.0
        for k in range(self.n):
            column = columns[:, k].reshape(np.shape(x))
            total = total + values.get(f"s{k}", 1.0) * column
        return total


def spline_of(n: int, knots: Array) -> Callable[..., Any]:
    """The spline of n coefficients."""
    return SplineCurve(n, knots)
