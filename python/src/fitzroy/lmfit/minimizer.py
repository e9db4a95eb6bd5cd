"""Fits of a function of parameters that gives residuals."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

import numpy as np

from ..curves.least_squares import OF_LEASTSQ, OF_LEASTSQ_SAID, result_of, status_of
from ..curves.losses import loss_of
from ..curves.solve import Found
from .brute import Candidate, brute
from .fit import Fit, most_evaluations, options_of
from .methods import GLOBAL, SCALAR_METHODS, named
from .minimizerresult import MinimizerResult
from .objective import (
    ABORTED,
    TOO_MANY,
    AbortFitException,
    MinimizerException,
    Objective,
    aborted,
    coerce_float64,
)
from .parameter import Parameter, Parameters
from .propagation import set_errors
from .scalar import minimized
from .traces import Traces

__all__ = [
    "AbortFitException",
    "Candidate",
    "Minimizer",
    "MinimizerException",
    "MinimizerResult",
    "SCALAR_METHODS",
    "coerce_float64",
    "minimize",
]

Array = np.ndarray[Any, Any]

#: Singular values below this, relative to the greatest, are none.
RANK = 1e-11
NO_PARAMS = "params must be a minimizer.Parameters() instance or list of Parameters()"
NO_ERRORS = "Could not estimate error-bars."


class Minimizer:
    """A function of parameters, `userfcn(params, *fcn_args, **fcn_kws)`, whose squares are minimised.

    It gives residuals, real or complex. A function of NumPy's functions is traced, and fitted at
    compiled speed with exact derivatives; another is called. `iter_cb(params, iter, resid, *args,
    **kws)` is called at each evaluation, and ends the fit by returning True; then the function is
    not traced. With `scale_covar` the covariance is scaled by the reduced chi-square. Further
    keywords are those of methods: `Dfun` and `col_deriv`, `jac`, `loss` and `f_scale`; tolerances
    have no effect, since fits end as near to the minimum as rounding allows.
    """

    def __init__(
        self,
        userfcn: Callable[..., Any],
        params: Any,
        fcn_args: Any = None,
        fcn_kws: Mapping[str, Any] | None = None,
        iter_cb: Callable[..., Any] | None = None,
        scale_covar: bool = True,
        nan_policy: str = "raise",
        reduce_fcn: Any = None,
        calc_covar: bool = True,
        max_nfev: int | None = None,
        **kws: Any,
    ) -> None:
        self.userfcn = userfcn
        self.userargs: Any = [] if fcn_args is None else fcn_args
        self.userkws: dict[str, Any] = dict(fcn_kws or {})
        self.kws = _without_aliases(kws, "Minimizer")
        self.iter_cb = iter_cb
        self.scale_covar = scale_covar
        self.nan_policy = nan_policy
        self.reduce_fcn = reduce_fcn
        self.calc_covar = calc_covar
        self.max_nfev = self._asked = max_nfev
        self._abort = False
        self.params = params
        self.result: MinimizerResult | None = None
        self._traces = Traces()

    def __getstate__(self) -> dict[str, Any]:
        # What a formula is compiled to stays in its process.
        return {name: value for name, value in self.__dict__.items() if name != "_traces"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._traces = Traces()

    @property
    def values(self) -> dict[str, float]:
        """Values of the last fit by name."""
        assert self.result is not None, "there was a fit"
        return {name: float(par.value) for name, par in self.result.params.items()}

    def prepare_fit(self, params: Any = None) -> MinimizerResult:
        """A result that holds the starting values."""
        if params is not None:
            self.params = params
        if isinstance(self.params, Parameters):
            own = deepcopy(self.params)
        elif isinstance(self.params, (list, tuple)):
            own = Parameters()
            if not all(isinstance(par, Parameter) for par in self.params):
                raise MinimizerException(NO_PARAMS)
            own.add_many(*self.params)
        else:
            raise MinimizerException(NO_PARAMS)
        own.update_constraints()
        for par in own.values():
            par.stderr = par.correl = None
            if par.expr is not None:
                par._vary = False
            par.init_value = par.value
        names = [name for name, par in own.items() if par.vary]
        starts = [float(own[name].value) for name in names]
        self.result = MinimizerResult(
            params=own,
            var_names=names,
            init_vals=starts,
            init_values=dict(zip(names, starts)),
            nvarys=len(names),
            nfev=0,
            call_kws={},
            errorbars=False,
            aborted=False,
            success=True,
            covar=None,
            untraced="",
        )
        return self.result

    def objective(self, result: MinimizerResult) -> Objective:
        """The function of the parameters that vary."""
        return Objective(
            self.userfcn,
            result.params,
            result.var_names,
            self.userargs,
            self.userkws,
            self.nan_policy,
            self.iter_cb if callable(self.iter_cb) else None,
        )

    def minimize(self, method: str = "leastsq", params: Any = None, **kws: Any) -> MinimizerResult:
        """The fit by a method: 'leastsq' and 'least_squares' and the names of SciPy's local methods
        lead to the same minimum by the same steps; 'differential_evolution', 'dual_annealing',
        'shgo', 'basinhopping' and 'ampgo' look for the lowest one; 'brute' searches a grid.
        """
        kws = _without_aliases({**self.kws, **kws}, "minimize")
        max_nfev = kws.pop("max_nfev", None) or self._asked
        self._abort = False
        kind = named(method)
        if kind == "brute":
            self.max_nfev = max_nfev or most_evaluations(kind, self._count(params))
            return brute(self, params, **kws)
        return self._minimized(kind, params, max_nfev, kws)

    def leastsq(self, params: Any = None, max_nfev: int | None = None, **kws: Any) -> Any:
        """The fit by damped steps."""
        return self.minimize("leastsq", params, max_nfev=max_nfev, **kws)

    def least_squares(self, params: Any = None, max_nfev: int | None = None, **kws: Any) -> Any:
        """The fit by a trust region, with a robust `loss` if one is named."""
        return self.minimize("least_squares", params, max_nfev=max_nfev, **kws)

    def scalar_minimize(
        self,
        method: str = "Nelder-Mead",
        params: Any = None,
        max_nfev: int | None = None,
        **kws: Any,
    ) -> Any:
        """The fit by the name of a method of `scipy.optimize.minimize`."""
        return self.minimize(method, params, max_nfev=max_nfev, **kws)

    def brute(self, params: Any = None, **kws: Any) -> Any:
        """The search of a grid: see `fitzroy.lmfit.brute`."""
        return self.minimize("brute", params, **kws)

    def basinhopping(self, params: Any = None, max_nfev: int | None = None, **kws: Any) -> Any:
        """The lowest of the minima to which steps away from the best one lead."""
        return self.minimize("basinhopping", params, max_nfev=max_nfev, **kws)

    def ampgo(self, params: Any = None, max_nfev: int | None = None, **kws: Any) -> Any:
        """As `basinhopping`."""
        return self.minimize("ampgo", params, max_nfev=max_nfev, **kws)

    def shgo(self, params: Any = None, max_nfev: int | None = None, **kws: Any) -> Any:
        """The lowest minimum inside bounds."""
        return self.minimize("shgo", params, max_nfev=max_nfev, **kws)

    def dual_annealing(self, params: Any = None, max_nfev: int | None = None, **kws: Any) -> Any:
        """The lowest minimum inside bounds."""
        return self.minimize("dual_annealing", params, max_nfev=max_nfev, **kws)

    def emcee(self, *args: Any, **kws: Any) -> Any:
        """Refused, with what to use."""
        return self.minimize("emcee")

    def _count(self, params: Any) -> int:
        """How many parameters vary."""
        return len(self.prepare_fit(params).var_names)

    def _minimized(
        self, kind: str, params: Any, max_nfev: int | None, kws: dict[str, Any]
    ) -> MinimizerResult:
        result = self.prepare_fit(params)
        result.method = kind
        options = options_of(kind, kws, self.reduce_fcn)
        result.call_kws = {**kws}
        objective = self.objective(result)
        self.max_nfev = int(max_nfev or most_evaluations(kind, len(result.var_names)))
        objective.most = self.max_nfev
        if not result.var_names:
            return _evaluated(result, objective)
        try:
            fit = Fit(result, objective, options, self.max_nfev, self._traces)
            if fit.scalar:
                return minimized(kind, result, objective, kws)
            found = fit.searched(kind, kws) if kind in GLOBAL else fit.found()
        except AbortFitException as stop:
            self._abort = stop.msg == ABORTED
            return aborted(result, objective, stop.msg)
        if found is None:
            return _unfitted(result, objective)
        self._conclude(fit, found)
        return result

    def _conclude(self, fit: Fit, found: Found) -> None:
        result, objective, options = fit.result, fit.objective, fit.options
        status = status_of(found)
        objective.watch, objective.most = None, float("inf")
        result.untraced = found.reason
        result.nfev = fit.evaluations if found.made is not None else objective.calls
        result.residual = objective.residuals(found.popt.tolist())
        result.params.update_constraints()
        result._calculate_statistics()
        result.ier = OF_LEASTSQ[status]
        result.lmdif_message = OF_LEASTSQ_SAID[result.ier].format(result.nfev)
        result.success = status > 0
        result.message = "Fit succeeded." if result.success else result.lmdif_message
        if status == 0:
            result.aborted = True
            result.message = TOO_MANY.format(fit.max_nfev)
        covar = found.pcov
        loss = loss_of(options.get("loss", "linear"), options.get("f_scale", 1.0))
        if result.method == "least_squares" or loss is not None:
            facts = result_of(fit.problem, found, loss, "trf")
            for name in ("x", "cost", "fun", "jac", "grad", "optimality", "active_mask", "status"):
                setattr(result, name, facts[name])
            covar = covar if loss is None else _inverse(facts.jac)
        if self.calc_covar or result.method in ("leastsq", "least_squares"):
            if not np.all(np.isfinite(covar)):
                # Beside a bound the trust region's own scale hides a parameter, and steps that are
                # relative to nearly nothing do so.
                covar = _inverse(fit.slopes(found))
            if result.success and np.all(np.isfinite(covar)):
                scale = result.redchi if self.scale_covar else 1.0
                result.covar = np.array(covar) * scale
                result.errorbars = set_errors(result.params, result.var_names, result.covar)
        if result.covar is None:
            result.message = f"{result.message} {NO_ERRORS}"


def minimize(
    fcn: Callable[..., Any],
    params: Any,
    method: str = "leastsq",
    args: Any = None,
    kws: Mapping[str, Any] | None = None,
    iter_cb: Callable[..., Any] | None = None,
    scale_covar: bool = True,
    nan_policy: str = "raise",
    reduce_fcn: Any = None,
    calc_covar: bool = True,
    max_nfev: int | None = None,
    **fit_kws: Any,
) -> MinimizerResult:
    """Minimises the squares of `fcn(params, *args, **kws)`, as `lmfit.minimize` does.

    >>> import numpy as np
    >>> from fitzroy.lmfit import create_params, minimize
    >>> x = np.linspace(0, 1, 20)
    >>> def residual(params):
    ...     return params["a"] * x + params["b"] - (2 * x + 1)
    >>> found = minimize(residual, create_params(a=1, b=0))
    >>> round(found.params["a"].value, 6)
    2.0
    """
    fitter = Minimizer(
        fcn,
        params,
        fcn_args=args,
        fcn_kws=kws,
        iter_cb=iter_cb,
        scale_covar=scale_covar,
        nan_policy=nan_policy,
        reduce_fcn=reduce_fcn,
        calc_covar=calc_covar,
        max_nfev=max_nfev,
        **fit_kws,
    )
    return fitter.minimize(method=method)


def _inverse(jacobian: Array) -> Array:
    """(JᵀJ)⁻¹, NaN where there is none."""
    size = np.linalg.norm(jacobian, axis=0)
    if np.all(size > 0) and np.all(np.isfinite(size)):
        _, values, rows = np.linalg.svd(jacobian / size, full_matrices=False)
        if len(values) == len(size) and values[-1] > RANK * values[0]:
            half = rows.T / values / size[:, None]
            return np.asarray(half @ half.T)
    return np.full((len(size), len(size)), np.nan)


def _evaluated(result: MinimizerResult, objective: Objective) -> MinimizerResult:
    """A result for parameters of which none varies."""
    result.residual = objective.residuals([])
    result.nfev = objective.calls
    result._calculate_statistics()
    result.ier, result.lmdif_message = 4, "No parameter varies."
    result.message = f"{result.lmdif_message} {NO_ERRORS}"
    return result


def _unfitted(result: MinimizerResult, objective: Objective) -> MinimizerResult:
    """A result for a function that has no values at the start."""
    result.residual, result.nfev = objective.last, objective.calls
    result._calculate_statistics()
    result.success, result.ier = False, 4
    result.lmdif_message = "The function has values that are not finite at the start."
    result.message = f"{result.lmdif_message} {NO_ERRORS}"
    return result


def _without_aliases(kws: dict[str, Any], where: str) -> dict[str, Any]:
    """The keywords without other names of `max_nfev`, of which a warning says that they are none."""
    for alias in ("maxfev", "maxiter"):
        if alias in kws:
            message = f"ignoring `{alias}` argument to `{where}()`. Use `max_nfev` instead."
            warnings.warn(message, RuntimeWarning, stacklevel=3)
    return {name: value for name, value in kws.items() if name not in ("maxfev", "maxiter")}
