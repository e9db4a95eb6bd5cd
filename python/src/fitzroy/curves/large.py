"""Least squares of many parameters of which each residual has few: steps by conjugate gradients.

A step of Levenberg and Marquardt's method solves (Â + λI) v = −ĝ in variables that are scaled by
the columns of the Jacobian, as in the library's own method, by products of the Jacobian with
vectors alone (Steihaug 1983; Wright and Holt 1985). Nothing has the size of parameters squared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .called import HIDDEN, LOOK, NOISY, SHORTEST, Called, Kept
from .differences import Layout, sizes
from .losses import loss_of
from .solve import Found, Problem
from .sparsity import Sparse

__all__ = ["MANY", "solve"]

Array = np.ndarray[Any, Any]

#: Parameters beyond which steps are solved for by entries.
MANY = 100
#: First damping, the least, and what no step is short enough beyond.
LAMBDA, LAMBDA_MIN, LAMBDA_MAX = 1e-3, 1e-10, 1e12
#: What damping is at least after a step that was refused.
LAMBDA_RESTART = 1e-14
#: Damping beyond which steps are short of their own.
LAMBDA_SHORT = 1.0
#: A step that lowers the cost by less than this part of what was expected is refused.
ACCEPT = 1e-4
#: Refused steps in a row after which a fit is given up.
MOST_REFUSED = 60
#: How exactly a step is solved for at first, and at the end; and the most products that it takes at
#: first. Both are made more where steps seem to end, for those of weak directions come last.
ROUGH, EXACT = 1e-2, 1e-4
PRODUCTS = 500
#: A fall of the cost by this part of it is hidden by rounding, and is no part of a standard error.
HIDDEN_FALL = 1e-12
#: A fall that is left where steps are refused, in squares of the residuals' spread: a move by a
#: thousandth of a standard error. Along directions that residuals do not tell, slopes are of noise.
FAINT = 1e-6
#: Costs that differ by this part are as good as equal where no more than that is left.
LEVEL = 1e-9


def solve(problem: Problem, residuals: Callable[[Array], Array], jacobian: Any) -> Found:
    """The fit of a problem of residuals whose Jacobian has a pattern, or is given by entries."""
    loss = loss_of(problem.options.get("loss", "linear"), problem.options.get("f_scale", 1.0))
    assert problem.p0 is not None, "residuals have a start"
    facts = Large(
        residuals,
        jacobian,
        problem.lower,
        problem.upper,
        problem.method,
        problem.options.get("max_evaluations", 5000),
        loss,
        steps=problem.diff_step,
        pattern=problem.pattern,
        watch=problem.watch,
    ).minimise(problem.p0)
    found = Found(facts["popt"], np.empty((0, 0)), facts, None)
    found.residuals, found.jacobian = facts["residuals"], facts["jacobian"]
    return found


@dataclass
class Place:
    """Where a descent is, and what it knows there."""

    theta: Array
    residuals: Array
    cost: float
    #: The Jacobian, its rows weighed by the roots of the weights of a loss.
    weighed: Sparse
    gradient: Array
    jacobian: Sparse


class Large(Called):
    """Residuals of many parameters; `pattern` is known, or `jacobian` gives entries."""

    def _layout(self, p: int) -> Layout:
        return Layout(self.pattern, p, sparse=True)

    def _run(
        self, start: Array, kept: Kept, limits: dict[str, float], only_there: bool = False
    ) -> dict[str, Any]:
        most = 1 if only_there else max(1, self.max_evaluations - self.places)
        status, here = Descent(self, kept, limits, start).run(most)
        return {
            "status": status,
            "converged": status not in (*HIDDEN, "evaluation_limit", "non_finite"),
            "cost": here.cost,
            "popt": here.theta,
            "residuals": here.residuals,
            "jacobian": here.jacobian,
            "covariance": None,
            "rank": None,
        }

    def _determined(self, facts: dict[str, Any]) -> bool:
        return bool(np.all(facts["jacobian"].lengths() > 0))

    def _lengths(self, jacobian: Any) -> Array:
        found: Array = jacobian.lengths()
        return found

    def _steps(self, facts: dict[str, Any]) -> Array | None:
        """Steps of a second look: parts of the errors of parameters one by one, which are no longer
        than those of all."""
        spread, size = self._spread(facts), sizes(facts["popt"])
        if not spread > 0:
            return None
        with np.errstate(divide="ignore"):
            steps = LOOK * np.sqrt(spread / facts["jacobian"].lengths())
        steps = np.where(np.isfinite(steps), steps, NOISY * size)
        if facts["status"] in HIDDEN:
            return np.fmax(steps, NOISY * size)
        return steps if np.all(steps >= SHORTEST * size) else None

    def _fall(self, facts: dict[str, Any], jacobian: Any) -> float:
        theta = facts["popt"]
        here = self.place(theta, jacobian)
        free = (theta > self.lower) & (theta < self.upper)
        scale = scales(here.weighed, np.zeros(theta.size))
        step, _ = solved(here, scale, LAMBDA_RESTART, free, EXACT, PRODUCTS)
        return float(-here.gradient @ step)

    def place(self, theta: Array, jacobian: Sparse) -> Place:
        """What is known at `theta`, with its Jacobian."""
        residuals, cost = self.at(theta), self.cost(theta)
        if self.loss is None:
            return Place(theta, residuals, cost, jacobian, jacobian.transposed(residuals), jacobian)
        weights = self.loss.weighed(residuals)[1]
        weighed = jacobian.of_rows(np.sqrt(np.fmax(weights, 0)))
        gradient = jacobian.transposed(weights * residuals)
        return Place(theta, residuals, cost, weighed, gradient, jacobian)


def scales(weighed: Sparse, before: Array) -> Array:
    """Lengths of the columns, the longest that they were; 1 for one of zeros."""
    out = np.fmax(np.sqrt(weighed.lengths()), np.where(before == 1.0, 0.0, before))
    return np.where(out > 0, out, 1.0)


def solved(
    here: Place, scale: Array, damping: float, free: Array, residual: float, most: int
) -> tuple[Array, bool]:
    """The damped step of the parameters that are free, and whether it is solved for as exactly as
    asked, by conjugate gradients for the normal equations (Hestenes and Stiefel 1952)."""
    inverse = np.where(free, 1.0 / scale, 0.0)
    gap = -here.gradient * inverse
    step, along = np.zeros(gap.size), gap.copy()
    size = first = float(gap @ gap)
    for _ in range(most):
        if size <= residual**2 * first:
            return step * inverse, True
        image = here.weighed @ (along * inverse)
        curved = float(image @ image) + damping * float(along @ along)
        part = size / curved
        if not np.isfinite(part):
            break
        step += part * along
        gap -= part * (here.weighed.transposed(image) * inverse + damping * along)
        size, before = float(gap @ gap), size
        along = gap + size / before * along
    return step * inverse, size <= residual**2 * first


class Descent:
    """Damped steps from a start, with bounds."""

    def __init__(self, called: Large, kept: Kept, limits: dict[str, float], start: Array) -> None:
        self._called, self._kept, self._limits = called, kept, limits
        self._here = self._there(start)
        self._scale = np.zeros(start.size)
        self._damping, self._faster = LAMBDA, 2.0
        self._residual, self._products = ROUGH, PRODUCTS
        self._small = self._flat = self._refused = 0

    def run(self, most: int) -> tuple[str, Place]:
        """How the descent ends, and where."""
        if not np.isfinite(self._here.cost):
            return "non_finite", self._here
        for count in range(1, most + 1):
            here = self._here
            if here.cost == 0.0:
                return "exact_fit", here
            self._scale = scales(here.weighed, self._scale)
            held = (here.theta <= self._called.lower) & (here.gradient > 0)
            free = ~(held | (here.theta >= self._called.upper) & (here.gradient < 0))
            slope = np.max(np.abs(here.gradient / self._scale)[free], initial=0.0)
            flat = slope <= self._limits["gtol"] * np.sqrt(2 * here.cost)
            self._flat = self._flat + 1 if flat else 0
            if self._flat >= 2 or not free.any():
                return "small_gradient", here
            if count < most:
                status = self._try(free)
                if status is not None:
                    return status, self._here
        return "evaluation_limit", self._here

    def _there(self, theta: Array) -> Place:
        """A place, with slopes if it has a value."""
        if not np.isfinite(self._called.cost(theta)):
            residuals, nowhere = self._called.at(theta), np.zeros(0, dtype=int)
            none = Sparse(nowhere, nowhere, np.zeros(0), (residuals.size, theta.size))
            return Place(theta, residuals, float("inf"), none, np.zeros(theta.size), none)
        jacobian: Any = self._kept(theta)
        return self._called.place(theta, jacobian)

    def _try(self, free: Array) -> str | None:
        """Tries a step; how the descent ends, if it does."""
        here = self._here
        step, exact = solved(here, self._scale, self._damping, free, self._residual, self._products)
        trial, predicted = self._clipped(step)
        if predicted <= 0:
            down = np.where(free, -here.gradient / self._scale**2, 0.0)
            image = here.weighed @ down
            best = float(-here.gradient @ down) / max(float(image @ image), np.finfo(float).tiny)
            trial, predicted = self._clipped(best / (1 + self._damping) * down)
        moved = np.abs(trial - here.theta)
        # Near 0 a parameter has no size of its own.
        length = np.sqrt(np.sum((self._scale * here.theta) ** 2))
        own = np.fmax(np.abs(here.theta), 1e-8 * length / self._scale)
        change = float(np.max(moved / np.where(own > 0, own, 1.0), initial=0.0))
        cost = self._called.cost(trial)
        fall = here.cost - cost
        level = predicted <= HIDDEN_FALL * here.cost and cost <= here.cost * (1 + 1e-13)
        gain_small = predicted <= max(self._limits["ftol"], HIDDEN_FALL) * here.cost
        if not (np.isfinite(cost) and (predicted > 0 and fall > ACCEPT * predicted or level)):
            # What is left is nothing, and sums that are as good as equal cannot tell.
            freedom = max(here.residuals.size - here.theta.size, 0)
            faint = gain_small or 0 < predicted * freedom <= FAINT * here.cost
            if faint and abs(fall) <= LEVEL * here.cost:
                return self._ended("small_reduction", exact, 1)
            return self._after_failure(change, predicted)
        self._here = self._there(trial)
        ratio = 1.0 if level else min(fall / predicted, 1.0)
        self._damping *= 0.1 if level else max(0.1, 1 - (2 * ratio - 1) ** 3)
        self._damping, self._faster, self._refused = max(self._damping, LAMBDA_MIN), 2.0, 0
        if change <= self._limits["xtol"] and self._damping <= LAMBDA_SHORT:
            return self._ended("small_step", exact, 2)
        if gain_small:
            return self._ended("small_reduction", exact, 2)
        self._small = 0
        return None

    def _ended(self, status: str, exact: bool, needed: int) -> str | None:
        """The status, after as many small steps as are needed. One that was not solved for to its
        end is short of its own, and the next is solved for more exactly."""
        if not exact or self._residual > EXACT:
            self._products *= 1 if exact else 4
            self._residual = EXACT
            return None
        self._small += 1
        return status if self._small >= needed else None

    def _clipped(self, step: Array) -> tuple[Array, float]:
        """Where a step leads within bounds, and the fall of the cost that is expected there."""
        here = self._here
        trial = np.clip(here.theta + step, self._called.lower, self._called.upper)
        taken = trial - here.theta
        image = here.weighed @ taken
        return trial, float(-here.gradient @ taken - 0.5 * image @ image)

    def _after_failure(self, change: float, predicted: float) -> str | None:
        self._damping = max(self._damping * self._faster, LAMBDA_RESTART)
        self._faster, self._refused = min(2 * self._faster, 64.0), self._refused + 1
        if change < 1e-14:
            return "rounding" if predicted <= 1e-12 * self._here.cost else "no_progress"
        over = self._damping > LAMBDA_MAX or self._refused > MOST_REFUSED
        return "damping_limit" if over else None
