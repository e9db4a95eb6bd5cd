"""Sums of squares of residuals that are called: minimised, and looked at again where they are noisy.

A solver of differential equations has noise of its tolerance. Derivatives by short steps are those of
the noise, at which a fit may end before the minimum, or not see that it is there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _fitzroy
from .losses import Loss

__all__ = ["Called", "differences"]

Array = np.ndarray[Any, Any]

#: Limits of a fit whose Jacobian is exact, and of one whose is made of differences.
EXACT = {"xtol": 1e-11, "ftol": 1e-18, "gtol": 1e-12}
BY_DIFFERENCES = {"xtol": 1e-9, "ftol": 1e-14, "gtol": 1e-9}
#: Steps of a second look, in standard errors: long for noise, short beside what curves bend in.
LOOK = 0.1
#: The least of these steps, relative to a parameter: slopes of noise are steep, and errors by them
#: small.
NOISY = 1e-4
#: Shorter ones say no more than the first look, where that found a minimum.
SHORTEST = 1e-7
#: What a second look may expect of another fit without one, in squares of the residuals' spread:
#: a move by a thirtieth of a standard error.
NEGLIGIBLE = 1e-3
#: Fits after the first, at most.
AGAIN = 3
#: Ends at which noise hides a minimum, as far as the method knows.
HIDDEN = ("damping_limit", "no_progress")


@dataclass
class Called:
    """Residuals of θ, and within which bounds they are minimised."""

    residuals: Callable[[Array], Array]
    #: Exact slopes, or those by steps that somebody asked for.
    jacobian: Callable[[Array], Array] | None
    lower: Array
    upper: Array
    method: str
    max_evaluations: int
    loss: Loss | None
    #: Whether the Jacobian is exact.
    exact: bool

    def minimise(self, start: Array) -> dict[str, Any]:
        """The minimum that `start` leads to, as the library says it."""
        facts = self._run(start, self.jacobian, EXACT if self.exact else BY_DIFFERENCES)
        if self.jacobian is not None:
            return facts
        for _ in range(AGAIN):
            steps = self._steps(facts)
            if steps is None:
                break
            slopes: Callable[[Array], Array] = lambda theta: differences(
                self.residuals, theta, steps, self.lower, self.upper
            )
            hidden = facts["status"] in HIDDEN
            if not self._gain(facts, slopes(facts["popt"])) > NEGLIGIBLE:
                if hidden:
                    facts.update(status="rounding", converged=True)
                break
            again = self._run(facts["popt"], slopes, BY_DIFFERENCES)
            again["evaluations"] += facts["evaluations"]
            lower = (facts["cost"] - again["cost"]) / self._spread(facts)
            if lower < 0 or not (hidden or lower > NEGLIGIBLE):
                break
            facts = again
        return facts

    def _run(
        self, start: Array, jacobian: Callable[[Array], Array] | None, limits: dict[str, float]
    ) -> dict[str, Any]:
        return _fitzroy.least_squares(
            self.residuals,
            jacobian,
            self.residuals(start).size,
            start.tolist(),
            self.lower.tolist(),
            self.upper.tolist(),
            method=self.method,
            max_evaluations=self.max_evaluations,
            loss=None if self.loss is None else self.loss.weighed,
            **limits,
        )

    def _spread(self, facts: dict[str, Any]) -> float:
        """The variance of the residuals."""
        freedom = facts["residuals"].size - facts["popt"].size
        return float(2 * facts["cost"] / freedom) if freedom > 0 else 0.0

    def _steps(self, facts: dict[str, Any]) -> Array | None:
        """Steps of a second look; none where there is nothing to see."""
        covariance, theta, spread = facts["covariance"], facts["popt"], self._spread(facts)
        if not spread > 0:
            return None
        size: Array = np.where(theta == 0, 1.0, np.abs(theta))
        if covariance is None:
            return NOISY * size
        steps: Array = LOOK * np.sqrt(np.diag(covariance) * spread)
        if facts["status"] in HIDDEN:
            return np.fmax(steps, NOISY * size)
        return steps if np.all(np.isfinite(steps) & (steps >= SHORTEST * size)) else None

    def _gain(self, facts: dict[str, Any], jacobian: Array) -> float:
        """By how much a step of Gauss and Newton would lower 2F, in squares of the spread."""
        theta, residuals = facts["popt"], facts["residuals"]
        weights = np.ones_like(residuals) if self.loss is None else self.loss.weighed(residuals)[1]
        inside = (theta > self.lower) & (theta < self.upper)
        jacobian = jacobian[:, inside]
        gradient = jacobian.T @ (weights * residuals)
        normal = jacobian.T @ (weights[:, None] * jacobian)
        if not np.all(np.isfinite(normal)):
            return float("inf")
        step = np.linalg.lstsq(normal, gradient, rcond=None)[0]
        return float(gradient @ step / self._spread(facts))


def differences(
    values: Callable[[Array], Array], theta: Array, steps: Array, lower: Array, upper: Array
) -> Array:
    """The Jacobian by central differences of these steps, or by one-sided ones beside a bound."""
    here, columns = values(theta), []
    for k, step in enumerate(steps):
        ends = []
        for end in (theta[k] - step, theta[k] + step):
            moved = theta.copy()
            moved[k] = np.clip(end, lower[k], upper[k])
            ends.append((moved[k], here if moved[k] == theta[k] else values(moved)))
        (a, low), (b, high) = ends
        columns.append((high - low) / (b - a))
    return np.stack([np.ravel(column) for column in columns], axis=1)
