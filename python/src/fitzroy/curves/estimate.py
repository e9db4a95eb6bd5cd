"""The result of a fit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import host
from ..tracing import Untraceable
from .function import Compiled
from .solve import Found, Problem, called, quantile

__all__ = ["Estimate", "Prediction"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Prediction:
    """The curve at some points, with its bands."""

    #: f(x; popt).
    value: Array
    #: Standard error of the value.
    se: Array
    #: Confidence band of the curve.
    lower: Array
    upper: Array
    #: Band in which a new observation falls.
    prediction_lower: Array
    prediction_upper: Array


class Estimate:
    """Parameters of a curve with their errors. Unpacks as `popt, pcov = estimate`."""

    #: Names of the parameters, in the order of popt.
    names: list[str]
    #: Values.
    popt: Array
    #: Covariance; NaN where there is none, and `covariance_status` says why.
    pcov: Array
    #: Standard errors.
    se: Array
    #: Lower and upper end of the interval of each parameter, at `confidence`.
    ci: Array
    #: Parameters that were held, which have no place in popt.
    fixed: dict[str, float]
    #: How the fit ended, in a word: `small_step`, `evaluation_limit`, ...
    status: str
    #: Whether this is a minimum.
    converged: bool
    #: What speaks against a fit that converged, in a few words: `the residuals are patterned`; else empty.
    doubts: str
    #: What is remarkable, in sentences.
    findings: list[str]
    #: The formula that was fitted; none for a function that was called.
    formula: str | None
    #: Why a function was called instead of traced; empty otherwise.
    untraced: str
    #: What it was computed on: `cpu`, `cuda:0`, `cuda:0,1`; and why, if a device was asked for.
    device: str
    device_reason: str

    def __init__(
        self, found: Found, problem: Problem, columns_of: Callable[[Any], Compiled] | None
    ):
        facts = found.facts
        self.names = list(problem.names)
        self.fixed = dict(problem.held)
        self.popt = found.popt
        self.pcov = found.pcov
        self.se = facts["se"]
        self.ci = facts["ci"]
        self.status = facts["status"]
        self.converged = facts["converged"]
        self.covariance_status = facts["covariance_status"]
        self.confidence = facts["confidence"]
        self.n = facts["n"]
        self.dof = facts["dof"]
        self.chi2 = facts["chi2"]
        self.reduced_chi2 = facts["reduced_chi2"]
        self.evaluations = facts["evaluations"]
        self.flags: list[str] = facts["flags"]
        self.doubts = facts.get("doubts", "")
        self.formula = found.made.text if found.made else None
        self.untraced = found.reason
        renamed = found.made.parameters if found.made else self.names
        self.findings = [_as_called(f, renamed, self.names) for f in facts["findings"]]
        self.device = facts.get("device", "cpu")
        self.device_reason = facts.get("device_reason", "")
        self.absolute_sigma = problem.absolute_sigma
        self._sigma = _mean_sigma(problem)
        self._f = problem.f
        self._compile = columns_of

    def __iter__(self) -> Iterator[Array]:
        return iter((self.popt, self.pcov))

    def __len__(self) -> int:
        return 2

    def __getitem__(self, k: int) -> Array:
        return (self.popt, self.pcov)[k]

    @property
    def params(self) -> dict[str, float]:
        """Values by name."""
        return dict(zip(self.names, self.popt.tolist()))

    @property
    def correlation(self) -> Array:
        """Correlations of the parameters."""
        out: Array = self.pcov / np.outer(self.se, self.se)
        return out

    def predict(self, x: Any, confidence: float | None = None, sigma: Any = None) -> Prediction:
        """The curve at x, which has the form of the x of the fit, with its bands.

        `sigma` are standard deviations of new observations, in the units of those of the fit: one
        number, or one for each point. Without it they are the root mean square of those of the fit.
        """
        if confidence is not None and not 0 < confidence < 1:
            raise ValueError(f"confidence={confidence}: needs a probability, such as 0.95")
        value, partials = self.slopes(x)
        variance = np.einsum("ij,jk,ik->i", partials, np.nan_to_num(self.pcov), partials)
        variance[np.isnan(np.diag(self.pcov)).any() & np.any(partials != 0, axis=1)] *= np.nan
        t = quantile(confidence or self.confidence, self.dof, self.absolute_sigma)
        se = np.sqrt(variance)
        own = np.asarray(self._sigma if sigma is None else host(sigma), dtype=float)
        if own.shape not in ((), (1,), value.shape):
            raise ValueError(f"sigma: {own.size} for {value.size} points; give one, or one for each")
        spread = own**2 * (1.0 if self.absolute_sigma else self.reduced_chi2)
        wide = np.sqrt(variance + spread)
        return Prediction(
            value, se, value - t * se, value + t * se, value - t * wide, value + t * wide
        )

    def slopes(self, x: Any) -> tuple[Array, Array]:
        """The curve at x, and its derivatives by the parameters: a row for each point."""
        if self._compile is not None:
            try:
                value, partials = self._compile(x).pointwise(self.popt.tolist())
                return value, partials
            except Untraceable:  # at these points
                pass
        if isinstance(x, (list, tuple)):
            x = np.asarray(x, dtype=float)
        value = np.asarray(host(called(self._f, x, self.popt)), dtype=float).reshape(-1)
        partials = np.empty((value.size, len(self.popt)))
        for k, p in enumerate(self.popt):
            step = np.finfo(float).eps ** (1 / 3) * (abs(p) or 1.0)
            ends = []
            for side in (-step, step):
                moved = self.popt.copy()
                moved[k] = p + side
                ends.append(np.asarray(host(called(self._f, x, moved)), dtype=float).reshape(-1))
            partials[:, k] = (ends[1] - ends[0]) / (2 * step)
        return value, partials

    def rows(self) -> list[tuple[str, str, str, str, str]]:
        """Name, value, standard error and interval of each parameter, as text."""
        out = []
        for name, value, se, (low, high) in zip(self.names, self.popt, self.se, self.ci):
            out.append((name, f"{value:.6g}", f"{se:.6g}", f"{low:.6g}", f"{high:.6g}"))
        return out

    def __repr__(self) -> str:
        percent = f"{100 * self.confidence:g}%"
        head = ("", "value", "error", f"{percent} from", "to")
        table = [head, *self.rows()]
        widths = [max(len(row[k]) for row in table) for k in range(5)]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *[c.rjust(w) for c, w in zip(row[1:], widths[1:])]])
            for row in table
        ]
        held = [f"{name} is held at {value:.6g}" for name, value in self.fixed.items()]
        return "\n".join([self._headline(), *lines, *held, *self.findings])

    def _headline(self) -> str:
        how = "converged" if self.converged else f"NOT CONVERGED ({self.status})"
        how += f", but {self.doubts}" if self.doubts else ""
        chi2 = f", chi2/dof {self.reduced_chi2:.4g}" if self.dof else ""
        missing = "" if self.covariance_status == "ok" else f", errors: {self.covariance_status}"
        where = "" if self.device == "cpu" else f", on {self.device}"
        return f"{how}, {self.n} points{chi2}{missing}{where}"

    def _repr_html_(self) -> str:
        import html

        cells = "".join(
            "<tr>"
            + f"<th>{html.escape(row[0])}</th>"
            + "".join(f"<td>{c}</td>" for c in row[1:])
            + "</tr>"
            for row in self.rows()
        )
        for name, value in self.fixed.items():
            cells += f"<tr><th>{html.escape(name)}</th><td>{value:.6g}</td><td>held</td></tr>"
        percent = f"{100 * self.confidence:g}%"
        found = "".join(f"<li>{html.escape(f)}</li>" for f in self.findings)
        return (
            f"<p>{html.escape(self._headline())}</p><table><tr><th></th><th>value</th><th>error</th>"
            f"<th>{percent} from</th><th>to</th></tr>{cells}</table><ul>{found}</ul>"
        )

    def plot(self, x: Any, y: Any = None, ax: Any = None) -> Any:
        """Draws the curve with its confidence band over x, and y if given; needs matplotlib."""
        import matplotlib.pyplot as plt

        ax = plt.gca() if ax is None else ax
        x = np.asarray(host(x))
        order = np.argsort(x)
        found = self.predict(x[order])
        if y is not None:
            ax.plot(x, np.asarray(host(y)), ".", color="0.6")
        ax.plot(x[order], found.value)
        ax.fill_between(x[order], found.lower, found.upper, alpha=0.3)
        return ax


def _as_called(text: str, renamed: list[str], names: list[str]) -> str:
    """A sentence with the parameters' own names."""
    for old, new in zip(renamed, names):
        if old != new:
            text = re.sub(rf"\b{re.escape(old)}\b", new, text)
    return text


def _mean_sigma(problem: Problem) -> float:
    """The root mean square of the standard deviations of a fit; 1 without."""
    if problem.factor is not None:
        return float(np.sqrt(np.mean(np.sum(problem.factor**2, axis=1))))
    return 1.0 if problem.sigma is None else float(np.sqrt(np.mean(problem.sigma**2)))
