"""Several curves for the same data: criteria, weights, and what the curves say together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from .. import _fitzroy
from ..arrays import host
from .estimate import Estimate
from .fitter import CurveFit
from .solve import quantile

__all__ = ["Averaged", "CurveComparison", "compare_curves"]

Array = np.ndarray[Any, Any]
#: What weights may follow from.
CRITERIA = ("aicc", "bic", "loo", "aic")


def compare_curves(
    curves: Mapping[str, Any] | Sequence[Any],
    x: Any,
    y: Any,
    sigma: Any = None,
    *,
    absolute_sigma: bool = False,
    **options: Any,
) -> CurveComparison:
    """Fits `curves`, functions or formulas, to y at x, and ranks them, the least AICc first.

    `curves` is a list, or a dict of names. Further keywords are those of `CurveFit.fit`, for every
    curve; a robust `loss` is no likelihood and is refused.
    """
    if options.get("loss", "linear") != "linear":
        raise ValueError("curves are compared by their likelihoods, and a robust loss is none")
    named = curves if isinstance(curves, Mapping) else {_name(curve): curve for curve in curves}
    if len(named) < 2 or len(named) != len(curves):
        raise ValueError("curves are compared with at least one other, each under its own name")
    y = np.asarray(host(y), dtype=float).reshape(-1)
    fits = {
        name: CurveFit(curve).fit(x, y, sigma, absolute_sigma=absolute_sigma, **options)
        for name, curve in named.items()
    }
    given = 1.0 if sigma is None else host(sigma)
    sd = np.broadcast_to(np.asarray(given, dtype=float), y.shape)
    return CurveComparison(fits, x, y, sd)


def _name(curve: Callable[..., Any] | str) -> str:
    return curve if isinstance(curve, str) else getattr(curve, "__name__", "curve")


@dataclass(frozen=True)
class Averaged:
    """An average of curves; arrays have an element for each point."""

    #: Σ w f.
    value: Array
    #: √(Σ w (se² + (f − the average)²)): what is not known, also of which is right.
    se: Array
    #: The part of it that is between curves.
    between: Array
    #: Ends of the interval.
    lower: Array
    upper: Array


class CurveComparison:
    """Curves for the same data, the one with the least AICc first."""

    #: Names of the curves.
    names: list[str]
    #: Their fits.
    estimates: list[Estimate]
    #: Criteria of each: `aic`, `aicc`, `bic`, and `loo`, −2 Σ log of the density of each point
    #: under the fit without it.
    criteria: dict[str, Array]

    def __init__(self, fits: dict[str, Estimate], x: Any, y: Array, sd: Array) -> None:
        rows = {name: _criteria(fit, x, y, sd) for name, fit in fits.items()}
        self.names = sorted(fits, key=lambda name: rows[name]["aicc"])
        self.estimates = [fits[name] for name in self.names]
        self.criteria = {
            by: np.array([rows[name][by] for name in self.names]) for by in CRITERIA
        }
        self._x, self._y = x, y

    def weights(self, by: str = "aicc") -> Array:
        """exp(−½ (c − the least c)) of each curve, all together 1 (Akaike 1978)."""
        if by not in CRITERIA:
            raise ValueError(f"by='{by}' is not known; it is one of {', '.join(CRITERIA)}")
        criterion = self.criteria[by]
        if not np.isfinite(criterion).any():
            raise ValueError(f"no curve has a finite {by}; take another criterion")
        return np.array(_fitzroy.curve_weights(criterion.tolist()))

    def predict(self, x: Any, by: str = "aicc") -> Averaged:
        """The average of the curves at x, with errors that have what is between curves (Burnham and
        Anderson 2004); in intervals each error is widened by its own quantile of Student's t."""
        weights = self.weights(by).tolist()
        used = [(w, fit) for w, fit in zip(weights, self.estimates) if w > 0]
        curves = []
        for _, fit in used:
            found = fit.predict(x)
            t = quantile(fit.confidence, fit.dof, fit.absolute_sigma)
            curves.append((found.value, found.se, t))
        confidence = self.estimates[0].confidence
        return Averaged(*_fitzroy.averaged([w for w, _ in used], curves, confidence))

    def to_dataframe(self) -> Any:
        """A row for each curve as a pandas DataFrame: criteria and weights."""
        import pandas as pd

        columns = {"parameters": [len(fit.popt) for fit in self.estimates], **self.criteria}
        for by in CRITERIA:
            if np.isfinite(self.criteria[by]).any():
                columns[f"weight_{by}"] = self.weights(by)
        return pd.DataFrame(columns, index=self.names)

    def _rows(self) -> list[list[str]]:
        weights = self.weights() if np.isfinite(self.criteria["aicc"]).any() else None
        out = [["", "parameters", "chi2", "AICc", "BIC", "LOO", "weight"]]
        for k, (name, fit) in enumerate(zip(self.names, self.estimates)):
            own = [f"{self.criteria[by][k]:.2f}" for by in ("aicc", "bic", "loo")]
            weight = "-" if weights is None else f"{weights[k]:.3f}"
            out.append([name, str(len(fit.popt)), f"{fit.chi2:.6g}", *own, weight])
        return out

    def __repr__(self) -> str:
        rows = self._rows()
        widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:]))])
            for row in rows
        ]
        failed = [n for n, fit in zip(self.names, self.estimates) if not fit.converged]
        return "\n".join([*lines, *(f"{name} did not converge" for name in failed)])

    def _repr_html_(self) -> str:
        head, *rows = self._rows()
        cells = "".join(f"<th>{escape(name)}</th>" for name in head)
        body = "".join(
            f"<tr><th>{escape(row[0])}</th>" + "".join(f"<td>{c}</td>" for c in row[1:]) + "</tr>"
            for row in rows
        )
        return f"<table><tr>{cells}</tr>{body}</table>"

    def plot(self, x: Any = None, ax: Any = None, by: str = "aicc") -> Any:
        """Draws the data, each curve with its weight, and the average with its interval over x, one
        array; needs matplotlib."""
        import matplotlib.pyplot as plt

        ax = plt.gca() if ax is None else ax
        one = next(iter(self._x.values())) if isinstance(self._x, dict) else self._x
        data = np.asarray(host(one))
        if x is None:
            x = np.linspace(data.min(), data.max(), 200)
        at = {next(iter(self._x)): x} if isinstance(self._x, dict) else x
        average = self.predict(at, by)
        ax.plot(data, self._y, ".", color="0.6")
        for name, fit, weight in zip(self.names, self.estimates, self.weights(by)):
            ax.plot(x, fit.predict(at).value, lw=1, label=f"{name} ({weight:.3f})")
        ax.plot(x, average.value, color="k", lw=2, label="average")
        ax.fill_between(x, average.lower, average.upper, color="k", alpha=0.2)
        ax.legend()
        return ax


def _criteria(fit: Estimate, x: Any, y: Array, sd: Array) -> dict[str, float]:
    """Criteria of one fit; σ is one more parameter where it is not known. Leave-one-out is by
    leverages, NaN where the fit has no errors."""
    values, slopes = fit.slopes(x)
    weights = 1.0 / np.ascontiguousarray(sd)
    residuals = np.ascontiguousarray((values - y) * weights)
    weighed = None
    if fit.covariance_status == "ok":
        weighed = np.ascontiguousarray(slopes * weights[:, None]).reshape(-1)
    found = _fitzroy.curve_criteria(
        residuals, weighed, weights, len(fit.popt), fit.chi2, fit.absolute_sigma
    )
    return dict(zip(("aic", "aicc", "bic", "loo"), found))
