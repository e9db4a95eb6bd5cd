"""Bounds by a change of variables, as MINUIT makes it: any number stands for one inside.

Steps that are cut off at a bound may end there, beside a minimum inside. In these variables a bound
is far away.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["Inside"]

Array = np.ndarray[Any, Any]


class Inside:
    """The change of variables for some bounds."""

    def __init__(self, lower: Array, upper: Array) -> None:
        self.lower, self.upper = lower.tolist(), upper.tolist()

    def outer(self, values: Sequence[Any]) -> list[Any]:
        """The parameters that variables stand for; these may be values that record a trace."""
        return [_outer(*at) for at in zip(values, self.lower, self.upper)]

    def inner(self, theta: Array) -> Array:
        """The variables of parameters."""
        rows = zip(theta.tolist(), self.lower, self.upper)
        return np.array([_inner(value, low, high) for value, low, high in rows])


def _outer(value: Any, low: float, high: float) -> Any:
    if np.isfinite(low) and np.isfinite(high):
        return low + (np.sin(value) + 1) * ((high - low) / 2)
    if np.isfinite(low):
        return low - 1 + np.sqrt(value * value + 1)
    return high + 1 - np.sqrt(value * value + 1) if np.isfinite(high) else value


def _inner(value: float, low: float, high: float) -> float:
    if np.isfinite(low) and np.isfinite(high):
        return float(np.arcsin(np.clip(2 * (value - low) / (high - low) - 1, -1, 1)))
    if np.isfinite(low):
        return float(np.sqrt(max((value - low + 1) ** 2 - 1, 0)))
    return float(np.sqrt(max((high - value + 1) ** 2 - 1, 0))) if np.isfinite(high) else value
