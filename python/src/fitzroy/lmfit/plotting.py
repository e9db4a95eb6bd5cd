"""Figures of a fit; they need matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .model import Model
    from .parameter import Parameters

__all__ = ["Plots", "get_reducer", "propagate_err"]

Array = np.ndarray[Any, Any]

PARTS = ("real", "imag", "abs", "angle")
ONE_VARIABLE = "Fit can only be plotted if the model function has one independent variable."


def get_reducer(option: str) -> Any:
    """What is drawn of complex numbers: 'real', 'imag', 'abs' or 'angle'."""
    if option not in PARTS:
        raise ValueError(f"Invalid option ('{option}') for function 'propagate_err'.")
    return lambda array: getattr(np, option)(array) if np.any(np.iscomplex(array)) else array


def propagate_err(z: Any, dz: Any, option: str) -> Any:
    """Errors of what is drawn of complex numbers, by errors of both parts."""
    if option not in PARTS:
        raise ValueError(f"Invalid option ('{option}') for function 'propagate_err'.")
    if isinstance(dz, np.ndarray) and z.shape != dz.shape:
        raise ValueError(f"shape of z: {z.shape} != shape of dz: {dz.shape}")
    if not np.any(np.iscomplex(z)):
        return dz
    dz = dz + 1j * dz if np.all(np.isreal(dz)) else dz
    if option in ("real", "imag"):
        return getattr(np, option)(dz)
    size = np.abs(z)
    along, across = (z.real * dz.real, z.imag * dz.imag)
    with np.errstate(divide="ignore", invalid="ignore"):
        if option == "abs":
            error = np.sqrt(along**2 + across**2) / size
            return np.where(np.isinf(error), np.abs(dz), error)
        error = np.sqrt((z.real * dz.imag) ** 2 + (z.imag * dz.real) ** 2) / size**2
    return np.where(np.isinf(error), np.pi, error)


class Plots:
    """Figures of a result."""

    model: Model
    params: Parameters
    init_params: Parameters
    data: Any
    weights: Any
    userkws: dict[str, Any]

    def _drawn_over(self) -> str | None:
        names = self.model.independent_vars
        arrays = [name for name in names if np.ndim(self.userkws.get(name, 0.0)) > 0]
        if len(arrays) == 1:
            return arrays[0]
        print(ONE_VARIABLE)
        return None

    def plot_fit(
        self,
        ax: Any = None,
        datafmt: str = "o",
        fitfmt: str = "-",
        initfmt: str = "--",
        xlabel: str | None = None,
        ylabel: str | None = None,
        yerr: Any = None,
        numpoints: int | None = None,
        data_kws: dict[str, Any] | None = None,
        fit_kws: dict[str, Any] | None = None,
        init_kws: dict[str, Any] | None = None,
        ax_kws: dict[str, Any] | None = None,
        show_init: bool = False,
        parse_complex: str = "abs",
        title: str | None = None,
    ) -> Any:
        """Draws the data, with errors where there are weights, and the curve; returns the axes, or
        False for a model of several independent variables."""
        from matplotlib import pyplot as plt

        reduce, name = get_reducer(parse_complex), self._drawn_over()
        if name is None:
            return False
        ax = ax if isinstance(ax, plt.Axes) else plt.axes(**(ax_kws or {}))
        x = np.asarray(self.userkws[name])
        dense = x
        if numpoints is not None and len(self.data) < numpoints:
            dense = np.linspace(min(x), max(x), numpoints)
        if show_init:
            first = self._curve(self.init_params, name, dense)
            ax.plot(dense, reduce(first), initfmt, label="initial fit", **(init_kws or {}))
        self._points(ax, x, reduce(self.data), datafmt, yerr, parse_complex, data_kws, "data")
        best = self._curve(self.params, name, dense)
        ax.plot(dense, reduce(best), fitfmt, label="best fit", **(fit_kws or {}))
        if title or not ax.get_title():
            ax.set_title(title or self.model.name)
        ax.set_xlabel(name if xlabel is None else xlabel)
        ax.set_ylabel("y" if ylabel is None else ylabel)
        ax.legend()
        return ax

    def _curve(self, params: Parameters, name: str, x: Array) -> Array:
        values = self.model.eval(params, **{**self.userkws, name: x})
        return np.asarray(np.broadcast_to(values, x.shape))

    def _points(
        self,
        ax: Any,
        x: Array,
        y: Any,
        fmt: str,
        yerr: Any,
        part: str,
        kws: dict[str, Any] | None,
        label: str | None,
    ) -> None:
        if yerr is None and self.weights is not None:
            yerr = 1.0 / np.asarray(self.weights)
        more = {**({"label": label} if label else {}), **(kws or {})}
        if yerr is None:
            ax.plot(x, y, fmt, **more)
        else:
            errors = propagate_err(np.asarray(self.data), yerr, part)
            ax.errorbar(x, y, yerr=errors, fmt=fmt, **more)

    def plot_residuals(
        self,
        ax: Any = None,
        datafmt: str = "o",
        yerr: Any = None,
        data_kws: dict[str, Any] | None = None,
        fit_kws: dict[str, Any] | None = None,
        ax_kws: dict[str, Any] | None = None,
        parse_complex: str = "abs",
        title: str | None = None,
    ) -> Any:
        """Draws what the curve leaves of the data; returns the axes, or False."""
        from matplotlib import pyplot as plt

        reduce, name = get_reducer(parse_complex), self._drawn_over()
        if name is None:
            return False
        ax = ax if isinstance(ax, plt.Axes) else plt.axes(**(ax_kws or {}))
        x = np.asarray(self.userkws[name])
        ax.axhline(0, **{"color": "k", **(fit_kws or {})})
        left = reduce(np.asarray(self.data)) - reduce(self._curve(self.params, name, x))
        self._points(ax, x, left, datafmt, yerr, parse_complex, data_kws, None)
        if title or not ax.get_title():
            ax.set_title(title or self.model.name)
        ax.set_ylabel("residuals")
        return ax

    def plot(
        self,
        datafmt: str = "o",
        fitfmt: str = "-",
        initfmt: str = "--",
        xlabel: str | None = None,
        ylabel: str | None = None,
        yerr: Any = None,
        numpoints: int | None = None,
        fig: Any = None,
        data_kws: dict[str, Any] | None = None,
        fit_kws: dict[str, Any] | None = None,
        init_kws: dict[str, Any] | None = None,
        ax_res_kws: dict[str, Any] | None = None,
        ax_fit_kws: dict[str, Any] | None = None,
        fig_kws: dict[str, Any] | None = None,
        show_init: bool = False,
        parse_complex: str = "abs",
        title: str | None = None,
    ) -> Any:
        """Draws the curve with its data, and what is left of them above; returns the figure, or
        False."""
        from matplotlib import pyplot as plt

        if self._drawn_over() is None:
            return False
        if not isinstance(fig, plt.Figure):
            wide = plt.rcParams["figure.figsize"][0]
            fig = plt.figure(**{"figsize": (wide, wide), **(fig_kws or {})})
        grid = plt.GridSpec(nrows=2, ncols=1, height_ratios=[1, 4])
        above = fig.add_subplot(grid[0], **(ax_res_kws or {}))
        below = fig.add_subplot(grid[1], sharex=above, **(ax_fit_kws or {}))
        common: dict[str, Any] = {
            "datafmt": datafmt,
            "yerr": yerr,
            "data_kws": data_kws,
            "fit_kws": fit_kws,
        }
        self.plot_fit(
            ax=below,
            fitfmt=fitfmt,
            initfmt=initfmt,
            xlabel=xlabel,
            ylabel=ylabel,
            numpoints=numpoints,
            init_kws=init_kws,
            show_init=show_init,
            parse_complex=parse_complex,
            title=title,
            **common,
        )
        self.plot_residuals(ax=above, parse_complex=parse_complex, title=title, **common)
        plt.setp(above.get_xticklabels(), visible=False)
        below.set_title("")
        return fig
