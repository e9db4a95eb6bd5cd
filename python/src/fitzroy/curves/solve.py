"""One fit, whatever the curve is: by a formula where there is one, else by calling the function."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .. import _fitzroy
from ..arrays import host
from ..progress import tell
from ..tracing import Untraceable, in_float64
from .called import Called
from .evidence import doubts, predictors
from .function import Compiled, of_function, traced_before
from .losses import loss_of, sandwich
from .search import Search, lowest
from .values import at_points

__all__ = ["DEVICE", "Found", "Problem", "called", "feasible", "solve", "whitened"]

#: Points from which all processors work on one fit, and from which errors are those of the point
#: before the last step, right to 1e-5, instead of another pass.
MANY_POINTS = 100_000

#: A scale of Huber's loss beside that of Tukey's: both are then as efficient for normal errors.
TUKEY_BY_HUBER = 1.345 / 4.685

#: Options that say what a fit is computed on.
DEVICE = ("device", "device_memory", "precision")
#: What there is to say of a fit of a function that was called.
SAID = {
    "rank_deficient": ["the data do not determine all parameters; standard errors do not exist"],
    "zero_dof": ["there are as many parameters as points; standard errors do not exist"],
}


@dataclass
class Problem:
    """A curve, its data, and what is asked of the fit."""

    f: Callable[..., Any]
    x: Any
    y: np.ndarray[Any, Any]
    names: Sequence[str]
    #: Standard deviations: none, one for all, or one for each point.
    sigma: np.ndarray[Any, Any] | None = None
    #: L of a covariance matrix L·Lᵀ of the errors.
    factor: np.ndarray[Any, Any] | None = None
    p0: np.ndarray[Any, Any] | None = None
    lower: np.ndarray[Any, Any] = field(default_factory=lambda: np.empty(0))
    upper: np.ndarray[Any, Any] = field(default_factory=lambda: np.empty(0))
    bounded: bool = False
    absolute_sigma: bool = False
    method: str = "auto"
    jac: Callable[..., Any] | None = None
    #: x as it was given, for a function that is called: a data frame, perhaps.
    given: Any = None
    #: Options of the library by its names: loss, covariance, max_evaluations, threads, ...
    options: dict[str, Any] = field(default_factory=dict)
    #: Parameters that are held, which are not among the names.
    held: dict[str, float] = field(default_factory=dict)
    #: Whether values, covariance and how the fit ended are all that is wanted.
    brief: bool = False
    #: Relative steps of differences, for a function that is called; the best for exact values
    #: without.
    diff_step: np.ndarray[Any, Any] | None = None
    #: The shape of y as it was given, where that has several axes.
    shape: tuple[int, ...] = ()
    #: Whether the fit is one of a function that is called, though there is a formula.
    as_called: bool = False
    #: For each column of the Jacobian of a function that is called, the rows in which it may be
    #: other than 0.
    pattern: Sequence[np.ndarray[Any, Any]] | None = None
    #: Told of places that are lower than those before; see `Called`.
    watch: Callable[..., bool] | None = None

    @property
    def by_formula(self) -> bool:
        """Whether a formula can be fitted as such."""
        return self.factor is None and not self.as_called


@dataclass
class Found:
    """What a fit found; arrays in the order of the function's parameters."""

    popt: np.ndarray[Any, Any]
    #: Covariance; NaN where there is none.
    pcov: np.ndarray[Any, Any]
    #: What else the library says, by its names.
    facts: dict[str, Any]
    #: The formula, or none for a function that was called.
    made: Compiled | None
    #: Why there is no formula.
    reason: str = ""
    #: (f − y)/σ at the end, and its Jacobian, for fits that have them at hand.
    residuals: np.ndarray[Any, Any] | None = None
    jacobian: Any = None


def feasible(lower: np.ndarray[Any, Any], upper: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A point inside bounds, the same as SciPy's: ones, middles, or 1 away from a bound."""
    out = np.ones_like(lower)
    low, high = np.isfinite(lower), np.isfinite(upper)
    out[low & high] = 0.5 * (lower[low & high] + upper[low & high])
    out[low & ~high] = lower[low & ~high] + 1
    out[~low & high] = upper[~low & high] - 1
    return out


def solve(problem: Problem) -> Found:
    """Fits the problem by the formula of its function, or by calling it."""
    if not problem.names:
        raise ValueError("no parameter of the function is left to be fitted")
    made = traced_before(problem.f, problem.x, problem.y.size, problem.names)
    if made is not None and problem.by_formula:
        return fit_formula(problem, made)
    start = feasible(problem.lower, problem.upper) if problem.p0 is None else problem.p0
    reason = ""
    try:
        made = of_function(problem.f, problem.x, problem.y.size, problem.names, start.tolist())
    except Untraceable as error:
        reason = str(error)
    if made is not None and problem.by_formula:
        return fit_formula(problem, made)
    _require_processor(problem, reason or "errors are correlated, which is the processor's work")
    if made is not None and problem.p0 is None:
        # A formula has starts of its own, which errors that are correlated do not change.
        alone = fit_formula(replace(problem, factor=None, brief=True), made)
        if np.all(np.isfinite(alone.popt)):
            start = alone.popt
    found = _fit_called(problem, made, start)
    found.reason = reason
    return found


def _require_processor(problem: Problem, why: str) -> None:
    """Refuses a GPU that a fit cannot go to: what was asked for never becomes the processor in silence."""
    asked = {name: problem.options[name] for name in DEVICE if name in problem.options}
    if not asked:
        return
    _fitzroy.check_device(asked)
    device = asked.get("device", "cpu")
    if device not in ("auto", "cpu"):
        raise ValueError(
            f"device='{device}': a GPU fits what can be written as a formula, and this cannot: {why}. "
            "Leave `device` out"
        )
    if device == "auto":
        problem.options["device_reason"] = f"auto: {why}"


def fit_formula(problem: Problem, made: Compiled) -> Found:
    """A fit of a formula."""
    p = len(made.parameters)
    options = {"absolute_sigma": problem.absolute_sigma, "method": problem.method}
    options.update(problem.options)
    many = problem.y.size >= MANY_POINTS
    options.setdefault("exact", not many)
    if many and "threads" not in options:
        options["threads"] = processors()
    used = [k for k in range(p) if k not in made.unused]
    if problem.p0 is not None:
        p0 = problem.p0.tolist()
        options["p0"] = [(made.parameters[k], p0[k]) for k in used]
    if problem.bounded:
        lower, upper = problem.lower.tolist(), problem.upper.tolist()
        options["bounds"] = [(made.parameters[k], lower[k], upper[k]) for k in used]
    sigma = problem.sigma
    if sigma is not None and sigma.size == 1:
        sigma = np.full(problem.y.size, float(sigma.reshape(())))
    facts = made.curve.fit(made.columns, problem.y, sigma, options, problem.brief)
    if "notes" in facts:
        tell(facts.pop("notes"), stacklevel=4)
    if facts["names"] == made.parameters:
        return Found(facts.pop("popt"), facts.pop("pcov"), facts, made)
    # The formula has its own order of parameters.
    place = [made.parameters.index(name) for name in facts["names"]]
    start = feasible(problem.lower, problem.upper) if problem.p0 is None else problem.p0
    popt, pcov = np.array(start, dtype=float), np.full((p, p), np.nan)
    popt[place] = facts.pop("popt")
    if not made.unused:
        pcov[np.ix_(place, place)] = facts["pcov"]
    else:
        facts["covariance_status"] = "rank_deficient"
    del facts["pcov"]
    for name in () if problem.brief else ("ci", "se", "start"):
        values = np.full((p, *facts[name].shape[1:]), np.nan)
        if not made.unused or name == "start":
            values[place] = facts[name]
        facts[name] = values
    return Found(popt, pcov, facts, made)


def processors() -> int:
    """Processors that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


class _Last:
    """A function of θ that remembers its last value."""

    def __init__(self, function: Callable[[np.ndarray[Any, Any]], Any]) -> None:
        self._function = function
        self._theta: bytes | None = None
        self._value: Any = None

    def __call__(self, theta: np.ndarray[Any, Any]) -> Any:
        key = theta.tobytes()
        if key != self._theta:
            self._value = self._function(theta)
            self._theta = key
        return self._value


def whitened(problem: Problem) -> Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]:
    """What makes errors of f − y independent with standard deviation 1."""
    if problem.factor is not None:
        inverse = np.linalg.inv(problem.factor)
        return lambda values: inverse @ values
    if problem.sigma is None:
        return lambda values: values
    weights = 1.0 / problem.sigma
    return lambda values: (
        values * (weights[:, None] if values.ndim == 2 and weights.ndim else weights)
    )


def called(f: Callable[..., Any], x: Any, theta: np.ndarray[Any, Any]) -> Any:
    """f(x, *theta); by JAX in float64, since differences of float32 are noise.

    The function gets a copy of an array, which it may change.
    """
    if type(x) is np.ndarray:
        x = x.copy()
    with in_float64():
        return f(x, *theta)


def _fit_called(problem: Problem, made: Compiled | None, start: np.ndarray[Any, Any]) -> Found:
    """A fit of a function that is called, or of a formula whose errors are correlated."""
    loss = loss_of(problem.options.get("loss", "linear"), problem.options.get("f_scale", 1.0))
    if problem.options.get("multistart", 1) > 1:
        raise ValueError("more than one start needs a function that can be traced")
    if problem.options.get("restart"):
        raise ValueError("a search for a lower minimum needs a function that can be traced")
    if problem.options.get("global"):
        raise ValueError("a global search needs a function that can be traced")
    whiten, p = whitened(problem), len(start)
    x = problem.x if problem.given is None else problem.given
    slopes: Callable[[Any], Any] | None = None
    if made is not None:
        point = _Last(lambda theta: made.pointwise(theta.tolist()))
        values: Callable[[Any], Any] = lambda theta: point(theta)[0]
        slopes = lambda theta: point(theta)[1]
    else:
        values = lambda theta: at_points(called(problem.f, x, theta), problem.y.size, problem.shape)
        if problem.jac is not None:
            jac = problem.jac
            slopes = lambda theta: np.asarray(host(called(jac, x, theta)), dtype=float)
    residuals = lambda theta: np.ravel(whiten(values(theta) - problem.y)).astype(float)
    jacobian = None
    if slopes is not None:
        given = slopes
        jacobian = lambda theta: np.ascontiguousarray(whiten(given(theta)), dtype=float)
    if problem.options.get("loss") == "tukey":
        # Its slope is zero far out, so that it needs a start near the right minimum.
        near = {"loss": "huber", "f_scale": problem.options.get("f_scale", 1.0) * TUKEY_BY_HUBER}
        gentle = replace(problem, options={**problem.options, **near}, watch=None)
        start = np.array(_fit_called(gentle, made, start).popt)
    most = problem.options.get("max_evaluations", 5000)
    columns = predictors(problem.x, problem.y.size)

    def descended(start: np.ndarray[Any, Any], most: int = most) -> dict[str, Any]:
        facts = Called(
            residuals,
            jacobian,
            problem.lower,
            problem.upper,
            "trf" if problem.method == "trf" else "lm",
            most,
            loss,
            steps=problem.diff_step,
            pattern=problem.pattern,
            watch=problem.watch,
        ).minimise(start)
        found = doubts(
            facts, problem.y, problem.sigma, problem.factor, columns, problem.absolute_sigma, loss
        )
        return {**facts, "start": start, **found}

    if problem.p0 is not None or problem.watch is not None:
        facts = descended(start)
    else:
        search = Search(values, whiten, problem.y, columns, problem.lower, problem.upper)
        facts = lowest(descended, start, search, "max_evaluations" in problem.options)
    n = facts["residuals"].size
    covariance, dof = facts.pop("covariance"), max(n - p, 0)
    chi2 = float(np.sum(facts["residuals"] ** 2))
    pcov = np.full((p, p), np.nan)
    status = "ok"
    if not facts["converged"]:
        status = "not_converged"
    elif covariance is None:
        status = "rank_deficient"
    elif dof == 0 and not problem.absolute_sigma:
        status = "zero_dof"
    elif loss is not None:
        pcov = sandwich(loss, facts["residuals"], facts["jacobian"], covariance, dof)
    else:
        pcov = covariance if problem.absolute_sigma else covariance * (chi2 / dof)
    facts.update(
        covariance_status=status,
        covariance_kind="boundless" if loss is None else "sandwich",
        names=list(problem.names),
        n=n,
        dof=dof,
        chi2=chi2,
        reduced_chi2=chi2 / dof if dof else float("nan"),
        findings=SAID.get(status, []) + facts["findings"],
        flags=([status] if status in SAID else []) + facts["flags"],
        confidence=problem.options.get("confidence", 0.95),
    )
    if "device" in problem.options:
        facts["device"] = "cpu"
        facts["device_reason"] = problem.options.get("device_reason", "asked for")
    popt = facts.pop("popt")
    _intervals(facts, popt, pcov, problem.absolute_sigma)
    return Found(
        popt,
        pcov,
        facts,
        made,
        residuals=facts.pop("residuals"),
        jacobian=facts.pop("jacobian"),
    )


def _intervals(
    facts: dict[str, Any],
    popt: np.ndarray[Any, Any],
    pcov: np.ndarray[Any, Any],
    absolute_sigma: bool,
) -> None:
    facts["se"] = np.sqrt(np.diag(pcov))
    t = quantile(facts["confidence"], facts["dof"], absolute_sigma)
    facts["ci"] = np.stack([popt - t * facts["se"], popt + t * facts["se"]], axis=1)


def quantile(confidence: float, dof: int, absolute_sigma: bool) -> float:
    """Half the width of an interval, in standard errors."""
    known = absolute_sigma or dof == 0
    return _fitzroy.t_quantile(0.5 + confidence / 2, float("inf") if known else float(dof))
