"""The results of many fits."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np

__all__ = ["ManyEstimates"]

Array = np.ndarray[Any, Any]
#: Fits that are shown.
SHOWN = 10


@dataclass(frozen=True)
class ManyEstimates:
    """The results of many fits: a row for each."""

    #: Names of the parameters.
    names: list[str]
    #: Values, (n_fits, n_parameters); NaN where nothing could be fitted.
    popt: Array
    #: Standard errors; NaN where there are none.
    se: Array
    #: Sum of squares of each fit.
    chi2: Array
    #: Whether each is a minimum.
    converged: Array
    #: How each ended.
    status: list[str]
    #: What they were computed on: `cpu`, `cuda:0`, `cuda:0,1`; and why, if a device was asked for.
    device: str = "cpu"
    device_reason: str = ""
    #: What speaks against each fit that converged: `the residuals are patterned`; empty where nothing does.
    doubts: list[str] = field(default_factory=list)
    #: How many of them are in doubt, and why; empty where none is.
    doubted: str = ""

    def __len__(self) -> int:
        return len(self.status)

    def __repr__(self) -> str:
        where = "" if self.device == "cpu" else f", on {self.device}"
        n = int(self.converged.sum())
        doubted = f"; {self.doubted}" if self.doubted else ""
        return f"{len(self)} fits of {', '.join(self.names)}: {n} converged{where}{doubted}"

    def _repr_html_(self) -> str:
        names = ("", *self.names, "chi2", "status", *(["doubts"] if self.doubted else []))
        head = "".join(f"<th>{escape(name)}</th>" for name in names)
        rows = []
        for k in range(min(len(self), SHOWN)):
            cells = [f"{p:.6g} ± {s:.2g}" for p, s in zip(self.popt[k], self.se[k])]
            cells += [f"{self.chi2[k]:.6g}", self.status[k]]
            cells += [self.doubts[k]] if self.doubted else []
            rows.append(f"<tr><th>{k}</th>" + "".join(f"<td>{c}</td>" for c in cells) + "</tr>")
        more = f"<p>and {len(self) - SHOWN} more</p>" if len(self) > SHOWN else ""
        return f"<p>{escape(repr(self))}</p><table><tr>{head}</tr>{''.join(rows)}</table>{more}"

    def to_dataframe(self) -> Any:
        """A row for each fit as a pandas DataFrame: values, errors (`NAME_se`), chi2, status, doubts."""
        import pandas as pd

        columns: dict[str, Any] = dict(zip(self.names, self.popt.T))
        columns.update({f"{name}_se": column for name, column in zip(self.names, self.se.T)})
        columns.update(chi2=self.chi2, converged=self.converged, status=self.status)
        columns.update(doubts=self.doubts or [""] * len(self))
        return pd.DataFrame(columns)
