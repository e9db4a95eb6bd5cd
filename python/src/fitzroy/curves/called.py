"""Sums of squares of residuals that are called: minimised, and looked at again for noise.

A solver of differential equations has noise of its tolerance. Derivatives by short steps are those
of the noise, at which a fit may end before the minimum, or not see that it is there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _fitzroy
from .differences import Layout, Steps, differences, sizes
from .losses import Loss

__all__ = ["UNFINISHED", "Called"]

Array = np.ndarray[Any, Any]

#: Limits of a fit whose Jacobian is exact, and of one whose is made of differences.
EXACT = {"xtol": 1e-11, "ftol": 1e-18, "gtol": 1e-12}
BY_DIFFERENCES = {"xtol": 1e-9, "ftol": 1e-14, "gtol": 1e-9}
#: Steps of a second look, in standard errors: long for noise, short beside what curves bend in.
LOOK = 0.1
#: The least of these steps, relative to a parameter: slopes of noise are steep, and errors by them
#: small.
NOISY = 1e-4
#: The longest that steps become which promise what no descent finds.
LONGEST = 0.1
#: Shorter ones say no more than the first look, where that found a minimum.
SHORTEST = 1e-7
#: What a second look may expect of another fit without one, in squares of the residuals' spread:
#: a move by a thirtieth of a standard error.
NEGLIGIBLE = 1e-3
#: Looks, at most.
AGAIN = 6
#: Moves by which a Jacobian is tried.
MOVES = 2
#: Ends at which noise hides a minimum, as far as the method knows.
HIDDEN = ("damping_limit", "no_progress")
#: Ends that nobody goes on from.
UNFINISHED = ("evaluation_limit", "stopped")
#: A fall of the cost by this part of it is one of a step that is taken.
TAKEN = 1e-3
#: What costs may rise by and be as good as equal.
LEVEL = 1e-12
#: A Jacobian is good as far from its place as this part of the steps that it was made by: there
#: slopes change by as small a part of what they do along the steps.
NEAR = 2e-3


class Stopped(Exception):
    """Somebody who watches a fit wants no more of it."""


class Kept:
    """The Jacobian of a descent, made where that may go on from, and kept.

    A place that is higher than one that was taken is refused, whatever its slopes are: it gets
    those that are known.
    """

    def __init__(
        self,
        called: Called,
        make: Callable[[Array], Array],
        reach: Callable[[Array], Array] = np.zeros_like,
    ) -> None:
        self._called, self._make, self._reach = called, make, reach
        self._place: Array | None = None
        self._jacobian: Array = np.empty((0, 0))
        #: The cost of what was taken, or more.
        self._level = float("inf")

    def __call__(self, theta: Array) -> Array:
        cost = self._called.cost(theta)
        if cost > self._level * (1 + LEVEL) or self.is_of(theta):
            return self._jacobian
        self._jacobian, self._place = self._make(theta), theta.copy()
        self._called.slopes += 1
        self._called.anchor()
        # A method may refuse a fall that is a small part of what it expected, which is no more than
        # all of the cost.
        if cost < self._level * (1 - TAKEN):
            self._level = cost
        return self._jacobian

    def is_of(self, theta: Array) -> bool:
        """Whether the Jacobian is that of `theta`."""
        if self._place is None:
            return False
        far = np.abs(theta - self._place)
        return bool(np.all(far <= NEAR * self._reach(self._place)))

    def forget(self) -> None:
        """Has the Jacobian made anew, wherever it is asked for next."""
        self._place, self._level = None, float("inf")


@dataclass
class Called:
    """Residuals of θ, and within which bounds they are minimised."""

    residuals: Callable[[Array], Array]
    #: Exact slopes; differences without.
    jacobian: Callable[[Array], Array] | None
    lower: Array
    upper: Array
    method: str
    max_evaluations: int
    loss: Loss | None
    #: Steps of differences that somebody asked for, relative to the parameters.
    steps: Array | None = None
    #: For each column of the Jacobian, the rows in which it may be other than 0, if somebody said
    #: so.
    pattern: Sequence[Array] | None = None
    #: Told of every place that is lower than all before: θ, residuals, how many there were, and how
    #: many calls. It may have the fit stopped.
    watch: Callable[[Array, Array, int, int], bool] | None = None
    #: Places where the method asked for residuals, and for slopes; and further calls of the
    #: residuals, for differences.
    places: int = 0
    slopes: int = 0
    beside: int = 0

    def __post_init__(self) -> None:
        #: Residuals at the last place and at that of the last Jacobian.
        self._last: tuple[bytes, Array] | None = None
        self._anchor: tuple[bytes, Array] | None = None
        self._lowest = float("inf")
        self._watched: Array | None = None
        self._falls = 0

    def minimise(self, start: Array) -> dict[str, Any]:
        """The minimum that `start` leads to, as the library says it, with the numbers of calls."""
        facts = self._minimised(start)
        end = facts["popt"]
        seen = start if self._watched is None else self._watched
        if self.watch is not None and not np.array_equal(end, seen):
            if self.watch(end.copy(), facts["residuals"], self._falls + 1, self.places):
                facts.update(status="stopped", converged=False)
        facts.update(evaluations=self.places + self.beside, places=self.places, slopes=self.slopes)
        return facts

    def _minimised(self, start: Array) -> dict[str, Any]:
        if self.jacobian is not None:
            return self._descended(start, Kept(self, self.jacobian), EXACT)
        layout = self._layout(start.size)
        if self.steps is not None:
            asked = self.steps
            fixed = lambda theta: self._differences(theta, asked * sizes(theta), layout)
            return self._descended(start, Kept(self, fixed), BY_DIFFERENCES)
        steps = Steps(self._besides, self.lower, self.upper, layout)
        made = lambda theta: steps.jacobian(theta, self.at(theta))
        facts = self._descended(start, Kept(self, made, steps.reach), BY_DIFFERENCES)
        if facts["status"] in UNFINISHED:
            return facts
        return self._looked_at(facts, layout)

    def _layout(self, p: int) -> Layout:
        return Layout(self.pattern, p)

    def _determined(self, facts: dict[str, Any]) -> bool:
        """Whether residuals change along every parameter, as far as is known."""
        return facts["covariance"] is not None

    def _lengths(self, jacobian: Any) -> Array:
        """Squares of the columns of a Jacobian."""
        return np.asarray(np.sum(jacobian**2, axis=0))

    def _looked_at(self, facts: dict[str, Any], layout: Layout) -> dict[str, Any]:
        """The minimum, if the one that was found is none by longer steps."""
        longer = 1.0
        for _ in range(AGAIN):
            steps = self._steps(facts)
            if steps is None:
                break
            hidden = facts["status"] in HIDDEN
            determined = self._determined(facts)
            known = determined and not hidden and longer == 1
            if known and self._smooth(facts, steps):
                break
            steps = np.fmin(longer * steps, np.fmax(steps, LONGEST * sizes(facts["popt"])))
            kept = Kept(self, self._by(steps, layout))
            slopes = kept(facts["popt"])
            if not self._gain(facts, slopes) > NEGLIGIBLE:
                # Rounded values do not change along short steps.
                if not determined and not np.all(self._lengths(slopes)):
                    longer *= 10
                    continue
                if hidden:
                    facts.update(status="rounding", converged=True)
                break
            again = self._descended(facts["popt"], kept, BY_DIFFERENCES)
            lower = (facts["cost"] - again["cost"]) / self._spread(facts)
            if again["status"] in UNFINISHED and lower >= 0:
                return again
            if lower > NEGLIGIBLE or hidden and lower >= 0:
                facts = again
            # What steps promise that is not there is of noise, too.
            longer = 1.0 if lower > NEGLIGIBLE else 10 * longer
        return facts

    def _descended(self, start: Array, kept: Kept, limits: dict[str, float]) -> dict[str, Any]:
        """The end of a descent, with the Jacobian there."""
        for _ in range(2):
            try:
                facts = self._run(start, kept, limits)
            except Stopped:
                self.watch = None
                assert self._watched is not None, "a fit is stopped at a place that was watched"
                facts = self._run(self._watched, kept, limits, only_there=True)
                facts.update(status="stopped", converged=False)
                return facts
            start = facts["popt"]
            if kept.is_of(start) or not np.isfinite(facts["cost"]):
                return facts
            kept.forget()
            there = self._run(start, kept, limits, only_there=True)
            for name in ("residuals", "jacobian", "covariance", "rank"):
                facts[name] = there[name]
            fall = self._fall(facts, facts["jacobian"])
            if not (facts["converged"] and fall > self._faint(facts)):
                break
        return facts

    def _run(
        self, start: Array, kept: Kept, limits: dict[str, float], only_there: bool = False
    ) -> dict[str, Any]:
        most = 1 if only_there else max(1, self.max_evaluations - self.places)
        return _fitzroy.least_squares(
            self.at,
            kept,
            self.at(start).size,
            start.tolist(),
            self.lower.tolist(),
            self.upper.tolist(),
            # The other method moves a start off a bound.
            method="lm" if only_there else self.method,
            max_evaluations=most,
            loss=None if self.loss is None else self.loss.weighed,
            **limits,
        )

    def at(self, theta: Array) -> Array:
        """Residuals at a place of the method."""
        key = theta.tobytes()
        for known in (self._last, self._anchor):
            if known is not None and known[0] == key:
                self._last = known
                return known[1]
        values = self.residuals(theta)
        self.places += 1
        self._last = (key, values)
        cost = self.cost(theta)
        if cost < self._lowest:
            first, self._lowest = self._lowest == float("inf"), cost
            if not first and self.watch is not None:
                self._falls += 1
                self._watched = theta.copy()
                if self.watch(theta.copy(), values, self._falls, self.places):
                    raise Stopped
        return values

    def anchor(self) -> None:
        """Remembers the residuals of the last place, where a Jacobian is made."""
        self._anchor = self._last

    def cost(self, theta: Array) -> float:
        """F; infinite where residuals are not finite."""
        values = self.at(theta)
        with np.errstate(all="ignore"):
            twice = values @ values if self.loss is None else self.loss.weighed(values)[0].sum()
        return float(0.5 * twice) if np.isfinite(twice) else float("inf")

    def _besides(self, theta: Array) -> Array:
        self.beside += 1
        return self.residuals(theta)

    def _by(self, steps: Array, layout: Layout) -> Callable[[Array], Array]:
        """Jacobians by these steps."""
        return lambda theta: self._differences(theta, steps, layout)

    def _differences(self, theta: Array, steps: Array, layout: Layout) -> Any:
        here = self.at(theta)
        return differences(self._besides, theta, here, steps, self.lower, self.upper, layout)

    def _spread(self, facts: dict[str, Any]) -> float:
        """The variance of the residuals."""
        freedom = facts["residuals"].size - facts["popt"].size
        return float(2 * facts["cost"] / freedom) if freedom > 0 else 0.0

    def _faint(self, facts: dict[str, Any]) -> float:
        """A fall of 2F that is none."""
        return NEGLIGIBLE * self._spread(facts) or NEGLIGIBLE**2 * facts["cost"]

    def _steps(self, facts: dict[str, Any]) -> Array | None:
        """Steps of a second look; none where there is nothing to see."""
        covariance, theta, spread = facts["covariance"], facts["popt"], self._spread(facts)
        if not spread > 0:
            return None
        size = sizes(theta)
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
        if theta.size <= MOVES or not np.all(inside):
            return False
        # Which ones is of no consequence; that they are the same every time is.
        chance = np.random.default_rng(theta.size)
        for _ in range(MOVES):
            signs = chance.choice([-1.0, 1.0], theta.size)
            move = steps * signs * chance.uniform(0.5, 1.0, theta.size)
            odd = 0.5 * (self._besides(theta + move) - self._besides(theta - move))
            if not np.sum((odd - facts["jacobian"] @ move) ** 2) <= bound:
                return False
        return True

    def _gain(self, facts: dict[str, Any], jacobian: Array) -> float:
        """By how much a step of Gauss and Newton would lower 2F, in squares of the spread."""
        return self._fall(facts, jacobian) / self._spread(facts)

    def _fall(self, facts: dict[str, Any], jacobian: Array) -> float:
        """By how much a step of Gauss and Newton would lower 2F."""
        theta, residuals = facts["popt"], facts["residuals"]
        weights = np.ones_like(residuals) if self.loss is None else self.loss.weighed(residuals)[1]
        inside = (theta > self.lower) & (theta < self.upper)
        jacobian = jacobian[:, inside]
        gradient = jacobian.T @ (weights * residuals)
        normal = jacobian.T @ (weights[:, None] * jacobian)
        if not np.all(np.isfinite(normal)):
            return float("inf")
        return float(gradient @ np.linalg.lstsq(normal, gradient, rcond=None)[0])
