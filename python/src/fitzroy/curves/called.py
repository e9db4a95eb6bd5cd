"""Sums of squares of residuals that are called: minimised, and looked at again for noise.

A solver of differential equations has noise of its tolerance. Derivatives by short steps are those
of the noise, at which a fit may end before the minimum, or not see that it is there.
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
#: Steps where columns of a Jacobian are made together, relative to a parameter: ∛ε, for central
#: differences of exact values.
TOGETHER = 6e-6
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
    #: Where ∂r_i/∂θ_k may be other than 0, if somebody said so.
    pattern: Array | None = None

    def minimise(self, start: Array) -> dict[str, Any]:
        """The minimum that `start` leads to, as the library says it."""
        first = self.jacobian
        if first is None and self.pattern is not None:
            first = lambda theta: self._differences(theta, TOGETHER * _size(theta))
        facts = self._run(start, first, EXACT if self.exact else BY_DIFFERENCES)
        if self.jacobian is not None:
            return facts
        for _ in range(AGAIN):
            steps = self._steps(facts)
            if steps is None:
                break
            slopes: Callable[[Array], Array] = lambda theta: self._differences(theta, steps)
            hidden = facts["status"] in HIDDEN
            if not hidden and self._smooth(facts, steps):
                break
            if not self._gain(facts, slopes(facts["popt"])) > NEGLIGIBLE:
                if hidden:
                    facts.update(status="rounding", converged=True)
                break
            again = self._run(facts["popt"], slopes, BY_DIFFERENCES)
            for count in ("evaluations", "places"):
                again[count] += facts[count]
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

    def _differences(self, theta: Array, steps: Array) -> Array:
        return differences(self.residuals, theta, steps, self.lower, self.upper, self.pattern)

    def _spread(self, facts: dict[str, Any]) -> float:
        """The variance of the residuals."""
        freedom = facts["residuals"].size - facts["popt"].size
        return float(2 * facts["cost"] / freedom) if freedom > 0 else 0.0

    def _steps(self, facts: dict[str, Any]) -> Array | None:
        """Steps of a second look; none where there is nothing to see."""
        covariance, theta, spread = facts["covariance"], facts["popt"], self._spread(facts)
        if not spread > 0:
            return None
        size = _size(theta)
        if covariance is None:
            return NOISY * size
        steps: Array = LOOK * np.sqrt(np.diag(covariance) * spread)
        if facts["status"] in HIDDEN:
            return np.fmax(steps, NOISY * size)
        return steps if np.all(np.isfinite(steps) & (steps >= SHORTEST * size)) else None

    def _smooth(self, facts: dict[str, Any], steps: Array) -> bool:
        """Whether residuals on both sides of the minimum are those that its Jacobian tells.

        That takes four calls where a Jacobian takes two for each parameter. Where the odd part of
        the residuals differs from what the Jacobian says by less than m along steps of a part of
        the standard errors, slopes that are as wrong move a minimum by (m / part)² squares of the
        spread or less.
        """
        theta, bound = facts["popt"], LOOK**2 * NEGLIGIBLE * self._spread(facts)
        inside = (theta - steps > self.lower) & (theta + steps < self.upper)
        if theta.size <= 2 or not np.all(inside):
            return False
        # Which ones is of no consequence; that they are the same every time is.
        chance = np.random.default_rng(theta.size)
        for _ in range(2):
            signs = chance.choice([-1.0, 1.0], theta.size)
            move = steps * signs * chance.uniform(0.5, 1.0, theta.size)
            odd = 0.5 * (self.residuals(theta + move) - self.residuals(theta - move))
            for count in ("evaluations", "places"):
                facts[count] += 2
            if not np.sum((odd - facts["jacobian"] @ move) ** 2) <= bound:
                return False
        return True

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


def _size(theta: Array) -> Array:
    return np.where(theta == 0, 1.0, np.abs(theta))


def differences(
    values: Callable[[Array], Array],
    theta: Array,
    steps: Array,
    lower: Array,
    upper: Array,
    pattern: Array | None = None,
) -> Array:
    """The Jacobian by central differences of these steps, or by one-sided ones beside a bound.

    Columns that have no row in common by `pattern` take two calls together.
    """
    here = values(theta)
    low, high = np.clip(theta - steps, lower, upper), np.clip(theta + steps, lower, upper)
    columns = np.zeros((theta.size, here.size))
    for group in groups_of(pattern, theta.size):
        rise: Array = np.zeros(here.size)
        for sign, end in ((-1.0, low), (1.0, high)):
            moved = theta.copy()
            moved[group] = end[group]
            rise = rise + sign * np.ravel(here if np.array_equal(moved, theta) else values(moved))
        for k in group:
            own = True if pattern is None else pattern[:, k]
            columns[k] = np.where(own, rise / (high[k] - low[k]), 0.0)
    return columns.T


def groups_of(pattern: Array | None, p: int) -> list[list[int]]:
    """Columns of a Jacobian that no row has two of (Curtis, Powell and Reid 1974)."""
    if pattern is None:
        return [[k] for k in range(p)]
    groups: list[tuple[Array, list[int]]] = []
    for k in np.argsort(-pattern.sum(axis=0), kind="stable"):
        for rows, group in groups:
            if not np.any(rows & pattern[:, k]):
                rows |= pattern[:, k]
                group.append(int(k))
                break
        else:
            groups.append((pattern[:, k].copy(), [int(k)]))
    return [group for _, group in groups]
