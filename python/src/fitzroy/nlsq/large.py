"""Fits of large data with NLSQ's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..curves.scipy_form import EVERYWHERE
from .config import HybridStreamingConfig
from .fitting import fitted
from .memory import MemoryRequirements, estimate_memory_requirements

__all__ = [
    "AdaptiveHybridStreamingOptimizer",
    "LargeDatasetFitter",
    "curve_fit_large",
    "fit_large_dataset",
]


def curve_fit_large(
    f: Callable[..., Any],
    xdata: Any,
    ydata: Any,
    p0: Any = None,
    sigma: Any = None,
    absolute_sigma: bool = False,
    check_finite: bool = True,
    bounds: Any = EVERYWHERE,
    method: str | None = None,
    *,
    memory_limit_gb: float | None = None,
    auto_size_detection: bool = True,
    size_threshold: int = 1_000_000,
    show_progress: bool = False,
    chunk_size: int | None = None,
    **kwargs: Any,
) -> tuple[Any, ...]:
    """Fits all points of large arrays; returns `(popt, pcov)`. Keywords are those of `curve_fit`.

    A function that is traced is fitted in blocks of points, and memory beyond the arrays does not
    grow with them. Arrays may be `np.memmap`, so that data larger than memory can be fitted; they
    have to be contiguous float64, since anything else is copied.

    `memory_limit_gb` (GiB) limits what the fit adds to the arrays that are given: copies of those
    that are not contiguous float64, and residuals and Jacobian of a function that has to be called.
    It counts neither the arrays themselves nor what `f` allocates when it is called. A fit that
    would need more raises MemoryError before it begins. `auto_size_detection`, `size_threshold`,
    `chunk_size` and `show_progress` have no effect.
    """
    kwargs = {**kwargs, "memory_limit_gb": memory_limit_gb}
    result = fitted(
        f, xdata, ydata, p0, sigma, absolute_sigma, check_finite, bounds, method, kwargs, depth=3
    )
    return result if isinstance(result, tuple) else (result.popt, result.pcov)


class LargeDatasetFitter:
    """Fits of large arrays under one limit, which is that of `curve_fit_large`."""

    def __init__(self, memory_limit_gb: float = 8.0) -> None:
        if not memory_limit_gb > 0:
            raise ValueError(f"memory_limit_gb={memory_limit_gb}: needs a positive number")
        self.memory_limit_gb = memory_limit_gb

    def estimate_requirements(self, n_points: int, n_params: int) -> MemoryRequirements:
        """As `estimate_memory_requirements`."""
        return estimate_memory_requirements(n_points, n_params)

    def fit(
        self,
        f: Callable[..., Any],
        xdata: Any,
        ydata: Any,
        p0: Any = None,
        bounds: Any = EVERYWHERE,
        method: str | None = None,
        solver: str = "auto",
        *,
        sigma: Any = None,
        absolute_sigma: bool = False,
        check_finite: bool = True,
        **kwargs: Any,
    ) -> Any:
        """The fit of all points, as `curve_fit` returns it. `solver` has no effect."""
        kwargs = {**kwargs, "memory_limit_gb": self.memory_limit_gb}
        return fitted(
            f,
            xdata,
            ydata,
            p0,
            sigma,
            absolute_sigma,
            check_finite,
            bounds,
            method,
            kwargs,
            depth=3,
        )


def fit_large_dataset(
    f: Callable[..., Any],
    xdata: Any,
    ydata: Any,
    p0: Any = None,
    memory_limit_gb: float = 8.0,
    show_progress: bool = False,
    *,
    sigma: Any = None,
    absolute_sigma: bool = False,
    check_finite: bool = True,
    bounds: Any = EVERYWHERE,
    method: str | None = None,
    **kwargs: Any,
) -> Any:
    """As `LargeDatasetFitter(memory_limit_gb).fit`. `show_progress` has no effect."""
    kwargs = {**kwargs, "memory_limit_gb": memory_limit_gb}
    return fitted(
        f, xdata, ydata, p0, sigma, absolute_sigma, check_finite, bounds, method, kwargs, depth=3
    )


class AdaptiveHybridStreamingOptimizer:
    """Fits with the arguments of NLSQ's streaming optimiser, by the ordinary fit."""

    def __init__(self, config: HybridStreamingConfig | None = None) -> None:
        self.config = HybridStreamingConfig() if config is None else config

    def fit(
        self,
        data_source: tuple[Any, Any],
        func: Callable[..., Any],
        p0: Any,
        bounds: Any = None,
        sigma: Any = None,
        absolute_sigma: bool = False,
        callback: Callable[..., Any] | None = None,
        verbose: int = 1,
    ) -> dict[str, Any]:
        """Fits `func` to `data_source = (x, y)`.

        Returns a dict: `x`, `pcov`, `perr`, `success`, `message`. A `callback` is not called, and a
        warning says so. Raises as `curve_fit`.
        """
        if not isinstance(data_source, (tuple, list)) or len(data_source) != 2:
            raise TypeError("data_source is a pair of arrays, x and y")
        kwargs: dict[str, Any] = {"callback": callback}
        if self.config.enable_multistart:
            kwargs.update(multistart=True, n_starts=self.config.n_starts)
        x, y = data_source
        result = fitted(
            func,
            x,
            y,
            p0,
            sigma,
            absolute_sigma,
            True,
            EVERYWHERE if bounds is None else bounds,
            None,
            kwargs,
            depth=3,
        )
        return {
            "x": result.popt,
            "pcov": result.pcov,
            "perr": result.se,
            "success": result.success,
            "message": result.message,
        }
