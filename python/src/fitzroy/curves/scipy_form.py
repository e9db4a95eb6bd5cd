"""`curve_fit` with the signature, the return values and the errors of SciPy's."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from .._fitzroy import is_finite
from ..arrays import host
from ..tracing import parameter_names
from .solve import DEVICE, Found, Problem, solve
from .values import real
from .words import DoubtWarning, UntracedWarning, optimize_warning

__all__ = ["curve_fit", "infodict", "message_of", "problem_of", "solved"]

#: No bounds.
EVERYWHERE = (-np.inf, np.inf)
#: Options of SciPy's solvers that steer steps which are not taken here, or ask for less precision.
WITHOUT_EFFECT = frozenset(
    "ftol xtol gtol epsfcn factor diag x_scale diff_step tr_solver tr_options jac_sparsity verbose "
    "col_deriv workers callback".split()
)
#: SciPy's numbers and sentences for how a fit ended.
ENDED = {
    "small_reduction": (1, "The expected reduction of the sum of squares is below the tolerance."),
    "small_step": (2, "The relative change of the parameters is below the tolerance."),
    "exact_fit": (1, "The sum of squares is zero, but for rounding."),
    "rounding": (3, "Rounding hides any further reduction of the sum of squares."),
    "kink": (2, "The curve has a kink at the minimum, and no step is lower."),
    "small_gradient": (4, "The gradient is below the tolerance."),
}
KINK = "its errors are those of one side, and a lower minimum may lie beyond; try another p0"
FAILED = {
    "evaluation_limit": "Number of calls to function has reached maxfev = {maxfev}.",
    "damping_limit": "no step of any length reduced the sum of squares.",
    "no_progress": "the iteration is not making good progress.",
    "non_finite": "the function has no finite value at the start.",
}


def curve_fit(
    f: Callable[..., Any],
    xdata: Any,
    ydata: Any,
    p0: Any = None,
    sigma: Any = None,
    absolute_sigma: bool = False,
    check_finite: bool | None = None,
    bounds: Any = EVERYWHERE,
    method: str | None = None,
    jac: Any = None,
    *,
    full_output: bool = False,
    nan_policy: str | None = None,
    **kwargs: Any,
) -> Any:
    """Fits f(xdata, *parameters) to ydata by least squares, as `scipy.optimize.curve_fit` does.

    Arguments, return values and errors are SciPy's: `(popt, pcov)`, with `full_output` also
    `(infodict, mesg, ier)`. `f` is an ordinary function of NumPy or jax.numpy. It is traced, its
    derivatives are exact, and `jac` is then not called. What cannot be traced is fitted by calling
    the function, and an `UntracedWarning` says why.

    Differences: without `p0` starting values come from the data instead of ones; tolerances (`ftol`, `xtol`, `gtol`) have no effect, since fits end as near to the
    minimum as rounding allows; with a robust `loss` the covariance is the sandwich.

    Further keywords: `maxfev` or `max_nfev`, `loss`, `f_scale`, `threads`; `restart=True`, which
    looks for a lower minimum where the one that p0 leads to does not describe the data; `device`
    ('cpu', 'auto', 'cuda', 'cuda:1', 'cuda:0,1', 'cuda:all'), `device_memory` and `precision`. On a
    GPU the fit has the bits of the processor's, and `infodict["device"]` says where it was made.

    Warns with a `DoubtWarning` where a fit converged to a curve that does not describe the data, or
    where the data show nothing of a term whose start is a guess.

    Raises ValueError, TypeError and RuntimeError when SciPy does.
    """
    problem = problem_of(
        f,
        xdata,
        ydata,
        p0,
        sigma,
        absolute_sigma,
        check_finite,
        bounds,
        method,
        jac,
        nan_policy,
        kwargs,
    )
    problem.brief = True
    found = solved(problem)
    if not full_output:
        return found.popt, found.pcov
    ier, message = message_of(found)
    return found.popt, found.pcov, infodict(problem, found), message, ier


def solved(problem: Problem, stacklevel: int = 3) -> Found:
    """The fit, with SciPy's errors and warnings, and infinity for a covariance that is not known.

    Warnings are those of the caller `stacklevel` above.
    """
    found = solve(problem)
    if found.reason:
        warnings.warn(untraced(found.reason), UntracedWarning, stacklevel=stacklevel)
    status = found.facts["status"]
    if status not in ENDED:
        message = FAILED.get(status, status).format(
            maxfev=problem.options.get("max_evaluations", 5000)
        )
        raise RuntimeError("Optimal parameters not found: " + message)
    if not is_finite(found.pcov) and np.isnan(found.pcov).any():  # none is known
        found.pcov = np.full_like(found.pcov, np.inf)
        message = "Covariance of the parameters could not be estimated"
        warnings.warn(message, category=optimize_warning(), stacklevel=stacklevel)
    if "doubts" in found.facts:
        message = f"the fit converged, but {found.facts['doubts']}; look at it beside the data"
        if problem.p0 is not None:
            message += (
                ". The minimum is the one that p0 leads to; restart=True looks for a lower one"
            )
        warnings.warn(message, category=DoubtWarning, stacklevel=stacklevel)
    elif "guess" in found.facts:
        warnings.warn(found.facts["guess"], category=DoubtWarning, stacklevel=stacklevel)
    elif status == "kink":
        message = "the fit ended at a kink of the curve, where no step is lower: " + KINK
        warnings.warn(message, category=DoubtWarning, stacklevel=stacklevel)
    return found


def message_of(found: Found) -> tuple[int, str]:
    """SciPy's number and sentence for how a fit ended that found a minimum."""
    return ENDED[found.facts["status"]]


def untraced(reason: str) -> str:
    """The words for a function that is called."""
    return (
        f"the function cannot be traced: {reason.rstrip('.')}. It is called instead, with numerical "
        "derivatives, which is slower"
    )


def problem_of(
    f: Any,
    xdata: Any,
    ydata: Any,
    p0: Any,
    sigma: Any,
    absolute_sigma: bool,
    check_finite: bool | None,
    bounds: Any,
    method: str | None,
    jac: Any,
    nan_policy: str | None,
    kwargs: dict[str, Any],
) -> Problem:
    if p0 is not None:
        p0 = np.array(host(p0), dtype=float, ndmin=1)
    names = parameter_names(f, None if p0 is None else p0.size)
    n = len(names)
    lower, upper = bounds_of(bounds, n)
    bounded = bounds is not EVERYWHERE and bool((lower > -np.inf).any() or (upper < np.inf).any())
    if method is None:
        method = "trf" if bounded else "lm"
        own = "auto"
    elif method in ("lm", "trf", "dogbox"):
        own = "auto" if method == "lm" else "trf"
    else:
        raise ValueError("`method` must be 'trf', 'dogbox' or 'lm'.")
    if method == "lm" and bounded:
        raise ValueError(
            "Method 'lm' only works for unconstrained problems. Use 'trf' or 'dogbox' instead."
        )
    # What a function that is called gets: a data frame or an array of another library, perhaps.
    given = None if isinstance(xdata, (list, tuple, np.ndarray)) else xdata
    xdata, ydata, sigma = host(xdata), host(ydata), host(sigma)
    shape = np.shape(ydata)
    xdata, ydata, sigma = _data(xdata, ydata, sigma, check_finite, nan_policy)
    if "args" in kwargs:
        raise ValueError("'args' is not a supported keyword argument.")
    if method == "lm" and ydata.size != 1 and n > ydata.size:
        raise TypeError(
            f"The number of func parameters={n} must not exceed the number of data "
            f"points={ydata.size}"
        )
    if p0 is not None and bounded and (np.any(p0 < lower) or np.any(p0 > upper)):
        raise ValueError("Initial guess is outside of provided bounds")
    points = _points(xdata, ydata)
    if points != ydata.size:
        ydata = np.full(points, ydata.reshape(()))
    sigma, factor = _sigma(sigma, ydata)
    return Problem(
        f,
        xdata,
        ydata,
        names,
        sigma,
        factor,
        p0,
        lower,
        upper,
        bounded,
        bool(absolute_sigma),
        own,
        jac if callable(jac) else None,
        given,
        options=_options(kwargs),
        shape=shape,
    )


def bounds_of(bounds: Any, n: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Lower and upper bounds of n parameters, from a pair or from SciPy's `Bounds`."""
    if bounds is EVERYWHERE:
        return _everywhere(n)
    if hasattr(bounds, "lb") and hasattr(bounds, "ub"):
        bounds = (bounds.lb, bounds.ub)
    if len(bounds) != 2:
        raise ValueError("`bounds` must contain 2 elements.")
    out = []
    for one in bounds:
        array = np.asarray(host(one), dtype=float)
        if array.ndim == 0:
            array = np.full(n, float(array))
        if array.shape != (n,):
            raise ValueError("Inconsistent shapes between bounds and `x0`.")
        out.append(np.array(array))
    if np.any(out[0] >= out[1]):
        raise ValueError("Each lower bound must be strictly less than each upper bound.")
    return out[0], out[1]


@lru_cache
def _everywhere(n: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    out = np.full(n, -np.inf), np.full(n, np.inf)
    for ends in out:
        ends.flags.writeable = False
    return out


def _data(
    xdata: Any, ydata: Any, sigma: Any, check_finite: bool | None, nan_policy: str | None
) -> tuple[Any, np.ndarray[Any, Any], Any]:
    """Data as float64, without what the policy leaves out."""
    if check_finite is None:
        check_finite = nan_policy is None
    convert = _finite if check_finite else np.asarray
    ydata = convert(real(ydata, "ydata"), dtype=float)
    if hasattr(xdata, "to_numpy") and np.ndim(xdata) == 1:
        xdata = xdata.to_numpy()
    if isinstance(xdata, (list, tuple, np.ndarray)):
        xdata = convert(real(xdata, "xdata"), dtype=float)
    if ydata.size == 0:
        raise ValueError("`ydata` must not be empty!")
    if not check_finite and nan_policy is not None:
        xdata, ydata, sigma = _without_nan(xdata, ydata, sigma, nan_policy)
    return xdata, np.ascontiguousarray(ydata).reshape(-1), sigma


def _finite(values: Any, dtype: type[float]) -> np.ndarray[Any, Any]:
    """As `np.asarray_chkfinite`, sooner."""
    array = np.asarray(values, dtype=dtype)
    return array if is_finite(array) else np.asarray_chkfinite(array)


def _without_nan(xdata: Any, ydata: Any, sigma: Any, nan_policy: str) -> tuple[Any, Any, Any]:
    if nan_policy == "propagate":
        raise ValueError("`nan_policy='propagate'` is not supported by this function.")
    if nan_policy not in ("raise", "omit"):
        raise ValueError("nan_policy must be one of {None, 'raise', 'omit'}")
    if ydata.ndim > 1:
        raise ValueError("nan_policy: rows are left out of `ydata` with one axis; flatten the data")
    gaps = np.isnan(xdata)
    gaps = gaps.any(axis=tuple(range(gaps.ndim - 1))) | np.isnan(ydata)
    if not gaps.any():
        return xdata, ydata, sigma
    if nan_policy == "raise":
        raise ValueError("The input contains nan values")
    if sigma is not None:
        sigma = np.asarray(sigma)
        if sigma.ndim == 1 and sigma.size > 1:
            sigma = sigma[~gaps]
        elif sigma.ndim == 2:
            sigma = sigma[np.ix_(~gaps, ~gaps)]
    return xdata[..., ~gaps], ydata[~gaps], sigma


def _points(xdata: Any, ydata: np.ndarray[Any, Any]) -> int:
    """Number of points: one y may stand for all of x."""
    if ydata.size == 1 and isinstance(xdata, np.ndarray) and xdata.ndim:
        return int(xdata.shape[-1])
    return int(ydata.size)


def _sigma(sigma: Any, ydata: np.ndarray[Any, Any]) -> tuple[Any, Any]:
    """Standard deviations, or the factor of a covariance matrix."""
    if sigma is None:
        return None, None
    sigma = np.asarray(sigma, dtype=float)
    if sigma.size == 1 or sigma.size == ydata.size:
        return np.ascontiguousarray(sigma).reshape(-1 if sigma.ndim > 1 else sigma.shape), None
    if sigma.shape != (ydata.size, ydata.size):
        raise ValueError("`sigma` has incorrect shape.")
    try:
        return None, np.linalg.cholesky(sigma)
    except np.linalg.LinAlgError as error:
        raise ValueError("`sigma` must be positive definite.") from error


def _options(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Keywords of SciPy's solvers, and ours, as options of the library."""
    out: dict[str, Any] = {}
    for name, value in kwargs.items():
        if name in ("maxfev", "max_nfev"):
            if value:
                out["max_evaluations"] = int(value)
        elif name in ("loss", "f_scale", "threads", "restart"):
            out[name] = value
        elif name in DEVICE:
            if value is not None:
                out[name] = value
        elif name not in WITHOUT_EFFECT:
            raise TypeError(f"curve_fit() got an unexpected keyword argument '{name}'")
    if out.get("loss", "linear") == "linear":
        out["covariance"] = "boundless"
    return out


def infodict(problem: Problem, found: Found) -> dict[str, Any]:
    """SciPy's dict: number of calls, residuals, and the QR factors of the Jacobian."""
    residuals, jacobian = found.residuals, found.jacobian
    if residuals is None or jacobian is None:
        assert found.made is not None, "a fit without residuals is one of a formula"
        values, jacobian = found.made.pointwise(found.popt.tolist())
        weights = np.ones(1) if problem.sigma is None else 1.0 / problem.sigma
        residuals = (values - problem.y) * weights
        jacobian = jacobian * np.reshape(weights, (-1, 1))
    info: dict[str, Any] = {"nfev": found.facts["evaluations"], "fvec": residuals}
    if "device" in found.facts:
        info["device"] = found.facts["device"]
    if problem.method != "trf" and not problem.bounded:
        p = len(found.popt)
        q, r = np.linalg.qr(jacobian)
        info["fjac"] = np.zeros((p, residuals.size))
        info["fjac"][:, : len(r)] = r.T
        info["ipvt"] = np.arange(1, p + 1, dtype=np.int32)
        info["qtf"] = q.T @ residuals
    return info
