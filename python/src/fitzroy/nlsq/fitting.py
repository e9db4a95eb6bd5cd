"""`curve_fit`, `CurveFit` and `fit` with NLSQ's signatures."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..arrays import host
from ..curves.scipy_form import EVERYWHERE, infodict, message_of, problem_of, solved
from . import device as devices
from .config import HybridStreamingConfig
from .memory import check_copies, check_working
from .result import CurveFitResult

__all__ = ["CurveFit", "curve_fit", "fit", "fitted"]

#: Settings of NLSQ that steer its solver, its caches or its checks.
WITHOUT_EFFECT = frozenset(
    "solver batch_size stability rescale_data max_jacobian_elements_for_svd fallback "
    "max_fallback_attempts fallback_verbose bounds_safety_factor sampler center_on_p0 "
    "scale_factor cmaes_config diagnostics_level diagnostics_config".split()
)
#: What NLSQ's methods are here: SciPy's method, and the number of starts at least.
METHODS: dict[str | None, tuple[str | None, int]] = {
    None: (None, 1),
    "auto": (None, 1),
    "trf": ("trf", 1),
    "lm": ("lm", 1),
    "dogbox": ("dogbox", 1),
    "hybrid_streaming": (None, 1),
    "multi-start": (None, 10),
    "cmaes": (None, 1),
}
#: Starts of NLSQ's workflows, presets and goals.
STARTS = {
    "workflow": {
        "auto": 1,
        "standard": 1,
        "fast": 1,
        "quality": 10,
        "large_robust": 10,
        "streaming": 1,
        "hpc": 1,
        "hpc_distributed": 1,
        "auto_global": 1,
        "global_auto": 1,
        "cmaes": 1,
        "cmaes-global": 1,
    },
    "preset": {"fast": 1, "robust": 5, "global": 1, "streaming": 10, "large": 1},
    "goal": {"fast": 1, "memory_efficient": 1, "robust": 10, "global": 1, "quality": 10},
}
#: Those of them that search the whole field.
GLOBAL = frozenset("auto_global global_auto cmaes cmaes-global global".split())


def curve_fit(
    f: Callable[..., Any],
    xdata: Any,
    ydata: Any,
    p0: Any = None,
    sigma: Any = None,
    absolute_sigma: bool = False,
    check_finite: bool = True,
    bounds: Any = EVERYWHERE,
    method: str | None = None,
    **kwargs: Any,
) -> Any:
    """Fits f(xdata, *parameters) to ydata: `popt, pcov = curve_fit(...)`, or one `CurveFitResult`.

    `f` uses jax.numpy or NumPy. Errors, warnings and the covariance are those of
    `fitzroy.curve_fit`. With `full_output` the return value is SciPy's, with `return_eval` it is
    `(popt, pcov, f(xdata, *popt))`.

    Further keywords: `multistart=True` with `n_starts` for several starts inside the bounds, of which
    the best end is returned; `global_search=True` for differential evolution inside the bounds, or
    ranges that follow from the data; `data_mask`, points that count; `jac`,
    `maxfev` or `max_nfev`, `loss`, `f_scale`, `threads`, `nan_policy`; `device` ('cpu', 'auto',
    'gpu' or 'cuda', 'cuda:1', 'cuda:all') and `device_memory`, as in `fitzroy.curve_fit`. Without
    it NLSQ_FORCE_CPU and JAX_PLATFORM_NAME are read. `method='multi-start'` is
    10 starts, `'cmaes'` the global search; `'hybrid_streaming'` and `'auto'` are the ordinary fit. Tolerances and
    settings of NLSQ's solver and checks are accepted and have no effect. A `callback` is not
    called, and a warning says so.

    Raises ValueError, TypeError and RuntimeError as SciPy's `curve_fit` does, and ValueError for
    `auto_bounds=True`, which is not offered.
    """
    return fitted(
        f, xdata, ydata, p0, sigma, absolute_sigma, check_finite, bounds, method, kwargs, depth=3
    )


class CurveFit:
    """A fitter with NLSQ's constructor. Settings have no effect: arrays are neither padded nor
    are functions compiled for a length, and what has been compiled is remembered anyway.
    """

    def __init__(
        self,
        flength: float | None = None,
        use_dynamic_sizing: bool = False,
        enable_stability: bool = False,
        enable_recovery: bool = False,
        enable_overflow_check: bool = False,
        cache_config: Mapping[str, Any] | None = None,
        max_jacobian_elements_for_svd: int = 10_000_000,
    ) -> None:
        self.flength = flength
        self.use_dynamic_sizing = use_dynamic_sizing

    #: As `curve_fit` of this module.
    curve_fit = staticmethod(curve_fit)


def fit(
    f: Callable[..., Any],
    xdata: Any,
    ydata: Any,
    p0: Any = None,
    sigma: Any = None,
    absolute_sigma: bool = False,
    check_finite: bool = True,
    bounds: Any = EVERYWHERE,
    method: str | None = None,
    workflow: Any = None,
    preset: str | None = None,
    goal: str | None = None,
    multistart: bool | None = None,
    n_starts: int | None = None,
    **kwargs: Any,
) -> Any:
    """As `curve_fit`, with the number of starts taken from NLSQ's `workflow`, `preset` or `goal`.

    `'quality'` and `'robust'` start from 5 or 10 points inside the bounds, the global ones search
    the whole field, all others start from one point. `multistart` and `n_starts` come before them. Speed and precision are the same
    for all. `memory_limit_gb` is that of `curve_fit_large`; `size_threshold`, `chunk_size` and
    `show_progress` have no effect. A workflow may be a configuration of streaming.
    """
    asked = 1
    if isinstance(workflow, HybridStreamingConfig):
        asked = workflow.n_starts if workflow.enable_multistart else 1
        workflow = None
    for argument, value in (("workflow", workflow), ("preset", preset), ("goal", goal)):
        if value is not None:
            name = str(getattr(value, "name", value)).lower()
            if name not in STARTS[argument]:
                known = ", ".join(STARTS[argument])
                raise ValueError(f"{argument}='{value}' is not known; it is one of {known}")
            asked = max(asked, STARTS[argument][name])
            kwargs["global_search"] = kwargs.get("global_search", False) or name in GLOBAL
    if multistart is None:
        multistart = asked > 1 or bool(n_starts and n_starts > 1)
    for name in ("size_threshold", "chunk_size", "show_progress"):
        kwargs.pop(name, None)
    kwargs.update(multistart=multistart, n_starts=n_starts or (asked if asked > 1 else 10))
    return fitted(
        f, xdata, ydata, p0, sigma, absolute_sigma, check_finite, bounds, method, kwargs, depth=3
    )


def fitted(
    f: Callable[..., Any],
    xdata: Any,
    ydata: Any,
    p0: Any,
    sigma: Any,
    absolute_sigma: bool,
    check_finite: bool | None,
    bounds: Any,
    method: str | None,
    kwargs: dict[str, Any],
    *,
    depth: int,
) -> Any:
    """One fit. Warnings are those of the caller `depth` above."""
    kwargs = {k: v for k, v in kwargs.items() if k not in WITHOUT_EFFECT}
    kwargs["device"] = devices.asked(kwargs.get("device"), depth)
    full_output, return_eval = kwargs.pop("full_output", False), kwargs.pop("return_eval", False)
    kwargs.pop("compute_diagnostics", None)
    if kwargs.pop("timeit", False):
        raise ValueError("timeit=True is not offered; time the call")
    if kwargs.pop("auto_bounds", False):
        raise ValueError("auto_bounds=True is not offered; give bounds")
    if kwargs.pop("callback", None) is not None:
        warnings.warn("the callback is not called", RuntimeWarning, stacklevel=depth)
    wide = kwargs.pop("global_search", False) or method == "cmaes"
    starts, method = _starts(method, kwargs)
    limit_gb = kwargs.pop("memory_limit_gb", None)
    if limit_gb is not None:
        if not limit_gb > 0:
            raise ValueError(f"memory_limit_gb={limit_gb}: needs a positive number")
        check_copies(limit_gb, xdata, ydata, sigma)
    jac, nan_policy = kwargs.pop("jac", None), kwargs.pop("nan_policy", None)
    x, y, sigma = _chosen(xdata, ydata, sigma, kwargs.pop("data_mask", None))
    problem = problem_of(
        f,
        x,
        y,
        p0,
        sigma,
        absolute_sigma,
        None if nan_policy is not None else check_finite,
        _bounds(bounds),
        method,
        jac,
        nan_policy,
        kwargs,
    )
    if starts > 1:
        problem.options["multistart"] = starts
    if wide:
        problem.options["global"] = True
    if limit_gb is not None:
        check_working(limit_gb, problem)
    found = solved(problem, depth + 1)
    if full_output:
        ier, message = message_of(found)
        return found.popt, found.pcov, infodict(problem, found), message, ier
    result = CurveFitResult(found, problem)
    return (*result, result.predictions) if return_eval else result


def _starts(method: str | None, kwargs: dict[str, Any]) -> tuple[int, str | None]:
    """The number of starts and SciPy's method."""
    if method not in METHODS:
        known = ", ".join(repr(m) for m in METHODS if m)
        raise ValueError(f"method='{method}' is not known; it is one of {known}")
    method, starts = METHODS[method]
    many, n = kwargs.pop("multistart", False), kwargs.pop("n_starts", None)
    if many or starts > 1:
        starts = max(starts, 10 if n is None else int(n))
    return starts, method


def _bounds(bounds: Any) -> Any:
    """A pair of infinities as no bounds, which `is` them."""
    if isinstance(bounds, tuple) and len(bounds) == 2:
        bounds = (host(bounds[0]), host(bounds[1]))
    if isinstance(bounds, tuple) and len(bounds) == 2 and np.ndim(bounds[0]) == 0:
        if np.ndim(bounds[1]) == 0 and tuple(map(float, bounds)) == EVERYWHERE:
            return EVERYWHERE
    return bounds


def _chosen(xdata: Any, ydata: Any, sigma: Any, mask: Any) -> tuple[Any, Any, Any]:
    """Data as NumPy's arrays, where they are arrays of JAX or the like, without masked points."""
    xdata, ydata, sigma = host(xdata), host(ydata), host(sigma)
    if not isinstance(xdata, np.ndarray) and hasattr(xdata, "__array__"):
        if not hasattr(xdata, "columns"):
            xdata = np.asarray(xdata)
    if mask is None:
        return xdata, ydata, sigma
    mask = np.asarray(host(mask), dtype=bool)
    y = np.asarray(ydata)
    if mask.shape != y.shape:
        raise ValueError(f"data_mask has shape {mask.shape}, ydata {y.shape}")
    if sigma is not None and np.size(sigma) > 1:
        sigma = np.asarray(sigma)
        sigma = sigma[mask] if sigma.ndim == 1 else sigma[np.ix_(mask, mask)]
    return np.asarray(xdata)[..., mask], y[mask], sigma
