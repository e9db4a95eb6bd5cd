"""The results of many fits."""

from __future__ import annotations

from dataclasses import dataclass
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

    def __len__(self) -> int:
        return len(self.status)

    def __repr__(self) -> str:
        where = "" if self.device == "cpu" else f", on {self.device}"
        n = int(self.converged.sum())
        return f"{len(self)} fits of {', '.join(self.names)}: {n} converged{where}"

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in ("", *self.names, "chi2", "status"))
        rows = []
        for k in range(min(len(self), SHOWN)):
            cells = [f"{p:.6g} ± {s:.2g}" for p, s in zip(self.popt[k], self.se[k])]
            cells += [f"{self.chi2[k]:.6g}", self.status[k]]
            rows.append(f"<tr><th>{k}</th>" + "".join(f"<td>{c}</td>" for c in cells) + "</tr>")
        more = f"<p>and {len(self) - SHOWN} more</p>" if len(self) > SHOWN else ""
        return f"<p>{escape(repr(self))}</p><table><tr>{head}</tr>{''.join(rows)}</table>{more}"

    def to_dataframe(self) -> Any:
        """A row for each fit as a pandas DataFrame: values, errors (`NAME_se`), chi2, status."""
        import pandas as pd

        columns: dict[str, Any] = dict(zip(self.names, self.popt.T))
        columns.update({f"{name}_se": column for name, column in zip(self.names, self.se.T)})
        columns.update(chi2=self.chi2, converged=self.converged, status=self.status)
        return pd.DataFrame(columns)
