"""Losses in the place of squares: what residuals add to a sum, and what they weigh in its gradient.

F = ½ C² Σ ρ((r/C)²), as in `scipy.optimize.least_squares`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["LOSSES", "Loss", "loss_of", "sandwich"]

Array = np.ndarray[Any, Any]


def _soft_l1(z: Array) -> Array:
    t = 1 + z
    return np.stack([2 * (np.sqrt(t) - 1), t**-0.5, -0.5 * t**-1.5])


def _huber(z: Array) -> Array:
    inside = z <= 1
    size = np.where(inside, 1.0, z)
    return np.stack(
        [
            np.where(inside, z, 2 * np.sqrt(size) - 1),
            np.where(inside, 1.0, size**-0.5),
            np.where(inside, 0.0, -0.5 * size**-1.5),
        ]
    )


def _cauchy(z: Array) -> Array:
    t = 1 + z
    return np.stack([np.log1p(z), 1 / t, -1 / t**2])


def _arctan(z: Array) -> Array:
    t = 1 + z**2
    return np.stack([np.arctan(z), 1 / t, -2 * z / t**2])


def _tukey(z: Array) -> Array:
    rest = np.clip(1 - z, 0, None)
    return np.stack([(1 - rest**3) / 3, rest**2, -2 * rest])


#: ρ, ρ′ and ρ″ of z, by name.
LOSSES: dict[str, Callable[[Array], Array]] = {
    "soft_l1": _soft_l1,
    "huber": _huber,
    "cauchy": _cauchy,
    "arctan": _arctan,
    "tukey": _tukey,
}


class Loss:
    """A loss and its scale C."""

    def __init__(self, rho: Callable[[Array], Array], scale: float) -> None:
        self._rho = rho
        self.scale = scale

    def at(self, residuals: Array) -> Array:
        """ρ, ρ′ and ρ″ of (r/C)².

        Raises ValueError for a function that gives something else.
        """
        found = np.asarray(self._rho((residuals / self.scale) ** 2), dtype=float)
        if found.shape != (3, residuals.size):
            raise ValueError("The return value of `loss` callable has wrong shape.")
        return found

    def weighed(self, residuals: Array) -> Array:
        """What residuals add to 2F, and their weights in its gradient."""
        rho = self.at(residuals)
        return np.ascontiguousarray(np.stack([self.scale**2 * rho[0], rho[1]]))


def loss_of(name: str | Callable[[Array], Array], scale: Any) -> Loss | None:
    """The loss of a name, or of a function of z that gives ρ, ρ′ and ρ″; none for squares.

    Raises ValueError for a name or a scale that is none.
    """
    if callable(name):
        rho = name
    elif name == "linear":
        return None
    elif name in LOSSES:
        rho = LOSSES[name]
    else:
        known = ", ".join(["linear", *LOSSES])
        raise ValueError(f"`loss` must be one of {known}, or a callable; it is {name!r}")
    if isinstance(scale, str) or not float(scale) > 0:
        raise ValueError(f"`f_scale` must be a number above 0; it is {scale!r}")
    return Loss(rho, float(scale))


def sandwich(loss: Loss, residuals: Array, jacobian: Array, inverse: Array, dof: int) -> Array:
    """The covariance of a robust fit, of (JᵀJ)⁻¹: n/(n−p) · H⁻¹BH⁻¹ with H of the mean of ψ′ and B
    of ψ², ψ(u) = u ρ′(u²)."""
    u = residuals / loss.scale
    _, first, second = loss.at(residuals)
    mean = np.mean(first + 2 * u**2 * second)
    psi = u * first
    filling = jacobian.T @ (psi[:, None] ** 2 * jacobian)
    factor = residuals.size / max(dof, 1) * (loss.scale / mean) ** 2
    return np.asarray(factor * (inverse @ filling @ inverse))
