"""Confidence intervals by profiles: one parameter is held, the others are fitted."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import numpy as np

from .minimizer import Minimizer
from .minimizerresult import MinimizerResult
from .objective import MinimizerException
from .special import beta_inc

__all__ = ["conf_interval", "conf_interval2d", "f_compare"]

Array = np.ndarray[Any, Any]

NO_ERRORS = "Cannot determine Confidence Intervals without sensible uncertainty estimates"
TOO_FEW = "Cannot determine Confidence Intervals with < 2 variables"
#: The error of a limit, relative to the way from the best value to it.
TOLERANCE = 1e-7
#: Steps of the search of a root, which halves its bracket at least every second time.
ROOT_STEPS = 100


def f_compare(best_fit: Any, new_fit: Any) -> float:
    """The probability by an F test that the worse fit, with fewer parameters that vary, is worse
    than chance makes it."""
    more = best_fit.nvarys - new_fit.nvarys
    free = best_fit.nfree
    excess = max(new_fit.chisqr / best_fit.chisqr - 1.0, 0.0) * free
    return float(beta_inc(more / 2, free / 2, excess / (excess + free)))


def conf_interval(
    minimizer: Any,
    result: Any,
    p_names: Sequence[str] | None = None,
    sigmas: Sequence[float] | None = None,
    trace: bool = False,
    maxiter: int = 200,
    verbose: bool = False,
    prob_func: Callable[[Any, Any], float] | None = None,
    min_rel_change: float = 1e-5,
) -> Any:
    """Intervals of parameters by an F test of fits in which each is held at other values.

    A dict of lists of (probability, limit), from the lowest limit to the highest, the best value
    between with probability 0. `sigmas` are numbers of standard deviations, or probabilities where
    they are below 1. With `trace` there is a second dict, of all points that were tried.

    Raises MinimizerException for a fit without standard errors or with one parameter.
    """
    levels = sorted([1, 2, 3] if sigmas is None else sigmas)
    search = _Profiles(minimizer, result, prob_func or f_compare, maxiter, min_rel_change, verbose)
    names = [n for n, par in search.params.items() if par.vary] if p_names is None else p_names
    search.check(names)
    probabilities = [s if s < 1 else math.erf(s / math.sqrt(2)) for s in levels]
    out, traces = {}, {}
    for name in names:
        search.tried = []
        best = float(search.params[name].value)
        below = search.limits(name, -1, probabilities)
        above = search.limits(name, 1, probabilities)
        out[name] = [*below[::-1], (0.0, best), *above]
        columns = np.array(search.tried).T
        traces[name] = dict(zip([*search.params, "prob"], columns))
    return (out, traces) if trace else out


class _Profiles:
    """Fits in which one parameter is held."""

    def __init__(
        self,
        minimizer: Any,
        result: Any,
        prob_func: Callable[[Any, Any], float],
        maxiter: int,
        least_change: float,
        verbose: bool,
    ) -> None:
        self.minimizer, self.result, self.prob_func = minimizer, result, prob_func
        self.params = result.params.copy()
        self.best = {name: par._val for name, par in self.params.items()}
        self.maxiter, self.least_change, self.verbose = maxiter, least_change, verbose
        self.tried: list[list[float]] = []

    def check(self, names: Sequence[str]) -> None:
        for name in names:
            par = self.params[name]
            if par.vary and (par.stderr is None or not par.stderr > 0):
                raise MinimizerException(NO_ERRORS)
        if sum(par.vary for par in self.params.values()) < 2:
            raise MinimizerException(TOO_FEW)

    def probability(self, name: str, value: float) -> float:
        """The probability of the fit with the parameter held at a value."""
        self.params[name].value = value
        found = held(self.minimizer, self.params)
        prob = self.prob_func(self.result, found)
        self.tried.append([*(float(par.value) for par in found.params.values()), prob])
        for other in found.var_names:
            # The next fit starts from here.
            self.params[other]._val = found.params[other]._val
        return prob

    def limits(
        self, name: str, direction: int, probabilities: Sequence[float]
    ) -> list[tuple[float, float]]:
        """Limits on one side, the nearest first."""
        par, start = self.params[name], float(self.best[name])
        self.tried.append([*(float(p.value) for p in self.result.params.values()), 0.0])
        par.vary = False
        try:
            steps = self.outward(name, direction, max(probabilities))
            out = []
            for prob in probabilities:
                end = next((k for k, (_, found) in enumerate(steps) if found >= prob), None)
                if end is None:
                    out.append((prob, direction * math.inf))
                    continue
                low, high = steps[end - 1] if end else (start, 0.0), steps[end]
                root = _root(lambda value: self.probability(name, value), prob, low, high, start)
                out.append((prob, root))
            return out
        finally:
            for other, value in self.best.items():
                self.params[other]._val = value
            par.vary = True

    def outward(self, name: str, direction: int, most: float) -> list[tuple[float, float]]:
        """Values away from the best one with their probabilities, up to the one that is enough."""
        par, value = self.params[name], float(self.best[name])
        if self.verbose:
            print(f"Calculating CI for {name}")
        wide = par.stderr > 0 and par.stderr < abs(value)
        step = par.stderr if wide else max(abs(value) * 0.2, 0.001)
        low, high = par.min, par.max
        out: list[tuple[float, float]] = []
        before = 0.0
        while before < most:
            value = min(max(value + step * direction, low), high)
            prob = self.probability(name, value)
            out.append((value, prob))
            if self.verbose:
                print(f"P({name}={value}) = {prob}, max. prob={most}")
            change = (prob - before) / max(prob, before, 1e-12)
            before = prob
            why = ""
            if value in (low, high):
                why = "Bound reached"
            elif len(out) > self.maxiter:
                why = f"maxiter={self.maxiter} reached"
            elif change < self.least_change:
                why = f"rel_change={change} < {self.least_change}"
            if why and prob < most:
                warnings.warn(
                    f"{why} with prob({name}={value}) = {prob} < max(sigmas)", stacklevel=5
                )
                break
        return out


def held(minimizer: Any, params: Any) -> MinimizerResult:
    """The fit of the parameters that vary."""
    # The minimiser's own result stays what it is.
    own = copy(minimizer)
    own._traces = minimizer._traces
    return Minimizer.minimize(own, "leastsq", params=params)


def _root(
    f: Callable[[float], float],
    target: float,
    low: tuple[float, float],
    high: tuple[float, float],
    start: float,
) -> float:
    """Where f is `target` between two points, by the method of Anderson and Björck."""
    (a, fa), (b, fb) = (low[0], low[1] - target), (high[0], high[1] - target)
    if fb == 0:
        return b
    for _ in range(ROOT_STEPS):
        c = b - fb * (b - a) / (fb - fa)
        if not min(a, b) < c < max(a, b):
            c = 0.5 * (a + b)
        fc = f(c) - target
        if fc == 0 or abs(b - a) <= TOLERANCE * abs(c - start):
            return c
        if fc * fb < 0:
            a, fa = b, fb
        else:
            factor = 1 - fc / fb
            fa *= factor if factor > 0 else 0.5
        done = abs(c - b) <= TOLERANCE * abs(c - start)
        b, fb = c, fc
        if done:
            return c
    return b


def conf_interval2d(
    minimizer: Any,
    result: Any,
    x_name: str,
    y_name: str,
    nx: int = 10,
    ny: int = 10,
    limits: Any = None,
    prob_func: Any = None,
    nsigma: float = 5,
    chi2_out: bool = False,
) -> tuple[Array, Array, Array]:
    """Fits with two parameters held at the points of a grid: their values, and a matrix.

    The matrix has √((chi-square − the least one)/reduced chi-square), in standard deviations, or
    chi-square itself with `chi2_out`. The grid is `nsigma` standard errors wide to both sides, or
    between `limits`, a pair for each parameter.
    """
    if prob_func is not None:
        raise DeprecationWarning("'prob_func' has no effect and will be removed in version 1.4.")
    params = result.params.copy()
    ends = []
    for k, name in enumerate((x_name, y_name)):
        par = params[name]
        if limits is not None:
            upper, lower = limits[k]
        else:
            upper = par.value + nsigma * par.stderr
            lower = par.value - nsigma * par.stderr
        ends.append((lower, upper))
    for name in (x_name, y_name):
        params[name].vary = False
    x = np.linspace(*ends[0], nx)
    y = np.linspace(*ends[1], ny)
    out = np.empty((ny, nx))
    for j, at_y in enumerate(y):
        for i, at_x in enumerate(x):
            params[x_name].value, params[y_name].value = at_x, at_y
            out[j, i] = held(minimizer, params).chisqr
    if not chi2_out:
        least = min(result.chisqr, float(out.min()))
        out = np.sqrt((out - least) / result.redchi)
    return x, y, out
