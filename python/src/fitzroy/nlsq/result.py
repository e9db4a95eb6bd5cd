"""The result of a fit, with the names of NLSQ's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..curves.estimate import Estimate
from ..curves.fitter import Again
from ..curves.scipy_form import message_of
from ..curves.solve import Found, Problem, quantile, whitened

__all__ = ["CurveFitResult"]

Array = np.ndarray[Any, Any]


class CurveFitResult(Estimate):
    """Parameters with their errors. Unpacks as `popt, pcov = result`; `result["popt"]` works, too.

    It is an `Estimate`, with the names of NLSQ's result besides. `status` is a word, as in
    `Estimate`, and `message` the sentence. `pcov` is SciPy's: infinite where there is none.
    """

    def __init__(self, found: Found, problem: Problem) -> None:
        super().__init__(found, problem, Again(None, problem.f, problem) if found.made else None)
        self.se = np.sqrt(np.diag(self.pcov))
        self.ci = self.confidence_intervals(self.confidence)
        #: Number of evaluations.
        self.nfev: int = found.facts["evaluations"]
        #: Half the sum of squares, or of the loss.
        self.cost: float = float(found.facts["cost"])
        #: How the fit ended.
        self.message: str = message_of(found)[1]
        self._problem = problem
        self._at_end: tuple[Array, Array] | None = None

    def __getitem__(self, k: int | str) -> Any:
        if not isinstance(k, str):
            return super().__getitem__(k)
        if k.startswith("_") or not hasattr(self, k):
            raise KeyError(k)
        return getattr(self, k)

    @property
    def x(self) -> Array:
        """The values, as `popt`."""
        return self.popt

    @property
    def success(self) -> bool:
        """Whether this is a minimum; a fit that finds none raises RuntimeError instead."""
        return self.converged

    @property
    def model(self) -> Callable[..., Any]:
        """The function that was fitted."""
        return self._problem.f

    @property
    def xdata(self) -> Any:
        """Its data."""
        return self._problem.x if self._problem.given is None else self._problem.given

    @property
    def ydata(self) -> Array:
        """What was observed."""
        return self._problem.y

    def _end(self) -> tuple[Array, Array]:
        """Values and partial derivatives at the data."""
        if self._at_end is None:
            self._at_end = self.slopes(self.xdata)
        return self._at_end

    @property
    def predictions(self) -> Array:
        """f(xdata, *popt)."""
        return self._end()[0]

    @property
    def residuals(self) -> Array:
        """ydata − f(xdata, *popt)."""
        return self.ydata.reshape(-1) - self.predictions

    @property
    def fun(self) -> Array:
        """(f − ydata)/sigma."""
        return np.ravel(whitened(self._problem)(-self.residuals))

    @property
    def jac(self) -> Array:
        """The Jacobian of `fun`, (n_points, n_parameters)."""
        return whitened(self._problem)(self._end()[1])

    @property
    def grad(self) -> Array:
        """The gradient of half the sum of squares."""
        out: Array = self.jac.T @ self.fun
        return out

    @property
    def r_squared(self) -> float:
        """1 − Σ residuals² / Σ (y − mean y)²; NaN for constant y."""
        total = float(np.sum((self.ydata - self.ydata.mean()) ** 2))
        return 1.0 - self._rss() / total if total > 0 else float("nan")

    @property
    def adj_r_squared(self) -> float:
        """1 − (1 − R²)(n − 1)/(n − p − 1); NaN without degrees of freedom."""
        left = self.n - len(self.popt) - 1
        return 1.0 - (1.0 - self.r_squared) * (self.n - 1) / left if left > 0 else float("nan")

    @property
    def rmse(self) -> float:
        """√(mean residual²)."""
        return float(np.sqrt(self._rss() / self.n))

    @property
    def mae(self) -> float:
        """mean |residual|."""
        return float(np.mean(np.abs(self.residuals)))

    @property
    def aic(self) -> float:
        """2 p + n ln(Σ residuals²/n); NaN where the residuals vanish."""
        return self._criterion(2.0)

    @property
    def bic(self) -> float:
        """p ln n + n ln(Σ residuals²/n); NaN where the residuals vanish."""
        return self._criterion(float(np.log(self.n)))

    def _rss(self) -> float:
        return float(np.sum(self.residuals**2))

    def _criterion(self, penalty: float) -> float:
        rss = self._rss()
        if rss <= 0:
            return float("nan")
        n = float(self.n)
        return penalty * len(self.popt) + n * float(np.log(rss / n))

    def confidence_intervals(self, alpha: float = 0.95) -> Array:
        """Lower and upper end for each parameter, (p, 2). `alpha` is the confidence, as in NLSQ."""
        half = quantile(alpha, self.dof, self.absolute_sigma) * self.se
        return np.stack([self.popt - half, self.popt + half], axis=1)

    def confidence_band(self, x: Any = None, alpha: float = 0.95) -> tuple[Array, Array]:
        """Lower and upper end of the band of the curve at x, or at the data."""
        found = self.predict(self.xdata if x is None else x, alpha)
        return found.lower, found.upper

    def prediction_interval(self, x: Any = None, alpha: float = 0.95) -> Array:
        """The interval of a new observation at each x, or at the data, (n, 2)."""
        found = self.predict(self.xdata if x is None else x, alpha)
        return np.stack([found.prediction_lower, found.prediction_upper], axis=1)

    def plot(self, x: Any = None, y: Any = None, ax: Any = None) -> Any:
        """Draws the data, the curve and its confidence band; needs matplotlib."""
        if x is None:
            x, y = self.xdata, self.ydata
        return super().plot(x, y, ax)

    def summary(self) -> None:
        """Prints the table of parameters and the quality of the fit."""
        print(self)
        print(f"R² {self.r_squared:.6g}, RMSE {self.rmse:.6g}, AIC {self.aic:.6g}")
