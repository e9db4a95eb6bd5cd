"""One problem of least squares, solved from one start or from several."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..curves.differences import Layout, differences
from ..curves.function import Compiled
from ..curves.losses import loss_of
from ..curves.solve import Found, Problem, fit_formula, solve
from ..tracing.nodes import Recorded
from .inside import Inside
from .methods import DIRECT, GLOBAL, LOCAL
from .minimizerresult import MinimizerResult
from .objective import Objective
from .simplex import simplex
from .traces import Traces

__all__ = ["Fit", "most_evaluations", "options_of"]

Array = np.ndarray[Any, Any]

#: Options of SciPy's solvers that steer steps which are not taken here, or ask for less precision.
WITHOUT_EFFECT = frozenset(
    "ftol xtol gtol tol epsfcn factor diag x_scale diff_step tr_solver tr_options jac_sparsity "
    "verbose full_output options workers callback hess hessp disp".split()
)
#: How near to a bound a parameter is at it, relative to 1 or to itself.
NEAR = 1e-6
#: Below this a parameter is as good as 0, and says nothing of the length of a step.
SMALL = 1e-12
#: Options that fits know.
KNOWN = frozenset("Dfun col_deriv jac loss f_scale".split())


class Fit:
    """One problem, solved from one start or from several."""

    def __init__(
        self,
        result: MinimizerResult,
        objective: Objective,
        options: dict[str, Any],
        max_nfev: int,
        traces: Traces,
    ) -> None:
        self.result, self.objective, self.options = result, objective, options
        self.max_nfev, self.evaluations = int(max_nfev), 0
        self.start = np.array(result.init_vals)
        pars = [result.params[name] for name in result.var_names]
        self.lower = np.array([par.min for par in pars], dtype=float)
        self.upper = np.array([par.max for par in pars], dtype=float)
        first = objective.residuals(self.start.tolist())
        self.finite = bool(np.all(np.isfinite(first)))
        #: Whether the function gives one number that itself is to be the least.
        self.scalar = first.size == 1 and (
            self.start.size > 1 or result.method not in ("leastsq", "least_squares")
        )
        jacobian = options.pop("jacobian", None)
        slopes = None
        if jacobian is not None:
            given = objective.slopes(jacobian, bool(options.pop("col_deriv", False)))
            slopes = lambda _, *theta: given(theta)
        shape = objective.shape if int(np.prod(objective.shape)) == first.size else first.shape
        shape = shape or (1,)
        self.problem = Problem(
            self._values,
            np.zeros(shape),
            np.zeros(first.size),
            [f"p{k}" for k in range(self.start.size)],
            p0=self.start,
            lower=self.lower,
            upper=self.upper,
            bounded=bool((self.lower > -np.inf).any() or (self.upper < np.inf).any()),
            absolute_sigma=True,
            method="trf" if result.method == "least_squares" else "auto",
            jac=slopes,
            options={
                "covariance": "boundless" if "loss" not in options else "classic",
                "max_evaluations": self.max_nfev,
                **{name: options[name] for name in ("loss", "f_scale") if name in options},
            },
            brief=result.method not in GLOBAL,
            as_called=first.size < self.start.size or callable(options.get("loss")),
        )
        #: The formula, where there is one.
        self.made: Compiled | None = None
        if self.finite and not self.scalar and self.problem.by_formula and objective.watch is None:
            self.made = traces.of(objective, first)
        if self.made is not None and self.made.held:
            self.problem.options["fixed"] = list(self.made.held.items())

    def _values(self, _: Any, *theta: Any) -> Any:
        if any(isinstance(value, Recorded) for value in theta):
            return self.objective.recorded(theta)
        return self.objective.residuals(theta)

    def local(self, start: Array, **more: Any) -> Found | None:
        """The minimum that a start leads to; none where the function has no values."""
        if not self.finite:
            return None
        problem = replace(self.problem, p0=np.clip(start, self.lower, self.upper))
        problem.options = {**self.problem.options, **more}
        found = solve(problem) if self.made is None else fit_formula(problem, self.made)
        if found.made is not None and problem.by_formula:
            self.made = found.made
        self.evaluations += int(found.facts["evaluations"])
        return found

    def found(self) -> Found | None:
        """The minimum that the start leads to; where that is at a bound, the lower one of it and of
        the one that it leads to in variables that know no bounds."""
        first = self.local(self.start)
        if first is None or self.spent:
            return first
        if self.result.method in DIRECT and not np.all(np.isfinite(first.pcov)):
            return self._lower(first, self._direct())
        if not self.problem.bounded:
            return first
        if not np.any(self._near(first.popt) & ~self._near(self.start)):
            return first
        inside = Inside(self.lower, self.upper)
        free = replace(
            self.problem,
            f=lambda _, *values: self._values(_, *inside.outer(values)),
            p0=inside.inner(self.start),
            lower=np.full_like(self.lower, -np.inf),
            upper=np.full_like(self.upper, np.inf),
            bounded=False,
            jac=None,
        )
        free.options = {n: v for n, v in self.problem.options.items() if n != "fixed"}
        other = solve(free)
        self.evaluations += int(other.facts["evaluations"])
        again = self.local(np.array(inside.outer(other.popt.tolist()), dtype=float))
        return self._lower(first, again)

    def _direct(self) -> Found | None:
        """The minimum beside the end of a simplex, which needs no slopes."""
        inside = Inside(self.lower, self.upper)

        def total(variables: Array) -> float:
            residuals = self.objective.residuals(inside.outer(variables.tolist()))
            return float(residuals @ residuals)

        policy, self.objective.nan_policy = self.objective.nan_policy, "propagate"
        with np.errstate(all="ignore"):
            end, _ = simplex(total, inside.inner(self.start))
        self.objective.nan_policy = policy
        return self.local(np.array(inside.outer(end.tolist()), dtype=float))

    def _lower(self, first: Found, other: Found | None) -> Found:
        return other if other is not None and self._sum(other) < self._sum(first) else first

    @property
    def spent(self) -> bool:
        """Whether there were as many evaluations as were allowed."""
        return self.evaluations >= self.max_nfev

    def slopes(self, found: Found) -> Array:
        """The Jacobian at the end: of a function that is called, by central differences."""
        theta = found.popt
        if found.made is not None:
            return np.asarray(found.made.pointwise(theta.tolist())[1])
        size = np.where(np.abs(theta) < SMALL, 1.0, np.abs(theta))
        steps = np.finfo(float).eps ** (1 / 3) * size
        values: Callable[[Array], Array] = lambda at: self.objective.residuals(at.tolist())
        layout, here = Layout(None, theta.size), values(theta)
        found = differences(values, theta, here, steps, self.lower, self.upper, layout)
        return np.asarray(found)

    def _near(self, theta: Array) -> Array:
        """Which parameters are at a bound."""
        ends = np.stack([self.lower, self.upper])
        return np.asarray(np.any(np.abs(theta - ends) <= NEAR * np.fmax(1, np.abs(theta)), axis=0))

    def _sum(self, found: Found) -> float:
        """The sum of squares at the end."""
        if found.residuals is not None:
            residuals = found.residuals
        else:
            assert found.made is not None, "a fit without residuals is one of a formula"
            residuals = found.made.pointwise(found.popt.tolist())[0]
        loss = loss_of(self.options.get("loss", "linear"), self.options.get("f_scale", 1.0))
        return float(residuals @ residuals if loss is None else loss.weighed(residuals)[0].sum())

    def searched(self, kind: str, kws: dict[str, Any]) -> Found | None:
        """The lowest minimum that a search finds."""
        from .search import searched

        return searched(self, kind, kws)

    def cost(self, found: Found) -> float:
        """The sum of squares, or of the loss."""
        return float(found.facts["cost"])


def most_evaluations(kind: str, n: int) -> int:
    """Evaluations of a fit of n parameters, where nobody limits them."""
    return (200_000 if kind in (*GLOBAL[1:], "brute") else 2000) * (n + 1)


def options_of(kind: str, kws: dict[str, Any], reduced: Any) -> dict[str, Any]:
    """What the keywords of a method ask for. Raises TypeError for one that nobody knows."""
    out: dict[str, Any] = {}
    jacobian = kws.get("Dfun") or kws.get("jac")
    # That of another method is the gradient of the sum.
    if callable(jacobian) and kind in ("leastsq", "least_squares"):
        out["jacobian"], out["col_deriv"] = jacobian, kws.get("col_deriv", False)
    if kws.get("loss", "linear") != "linear":
        out["loss"], out["f_scale"] = kws["loss"], kws.get("f_scale", 1.0)
    if reduced is not None:
        if not (isinstance(reduced, str) and reduced.lower().startswith("neglogc")):
            raise ValueError(
                f"reduce_fcn={reduced!r}: sums of squares are minimised, and with 'neglogcauchy' the "
                "likelihood of Cauchy's distribution. method='least_squares' has a robust `loss`"
            )
        out["loss"], out["f_scale"] = "cauchy", 1.0
    if kind in LOCAL:
        unknown = [name for name in kws if name not in KNOWN and name not in WITHOUT_EFFECT]
        if unknown:
            raise TypeError(f"{kind}() got an unexpected keyword argument '{unknown[0]}'")
    return out
