"""The result of a fit of a function of parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from .parameter import Parameters
from .printfuncs import fitreport_html_table
from .propagation import create_uvars

__all__ = ["MinimizerResult"]


class MinimizerResult:
    """What a fit found: `params` with their errors, statistics, and how it ended.

    `residual`, `chisqr`, `redchi`, `aic`, `bic`, `covar`, `nfev`, `ndata`, `nvarys`, `nfree`,
    `var_names`, `init_vals`, `init_values`, `success`, `errorbars`, `aborted`, `message`, `method`;
    `uvars` where the package uncertainties is installed; `untraced`, why the function was called
    instead of traced, empty otherwise.
    """

    def __init__(self, **kws: Any) -> None:
        for name, value in kws.items():
            setattr(self, name, value)

    params: Parameters
    residual: Any
    covar: Any
    nfev: int
    var_names: list[str]
    init_vals: list[float]
    init_values: dict[str, float]
    method: str
    message: str
    chisqr: float
    redchi: float
    nfree: int
    call_kws: dict[str, Any]
    untraced: str
    ier: int
    lmdif_message: str
    success: bool
    aborted: bool
    errorbars: bool
    candidates: list[Any]
    x: Any
    fun: Any

    @property
    def flatchain(self) -> Any:
        """Draws of a posterior; none, since no method here gives them."""
        return None

    @property
    def uvars(self) -> dict[str, Any] | None:
        """Parameters as numbers of the package uncertainties, with their correlations."""
        if getattr(self, "covar", None) is None:
            return None
        # The same numbers each time, since those that are made anew are not correlated with them.
        known: dict[str, Any] | None = self.__dict__.get("_uvars")
        if known is None:
            try:
                known = self._uvars = create_uvars(self.params, self.covar)
            except ImportError:
                return None
        return known

    def _calculate_statistics(self) -> None:
        self.nvarys = len(self.init_vals)
        self.ndata = int(np.size(self.residual))
        self.nfree = self.ndata - self.nvarys
        total = float(np.sum(np.square(self.residual)))
        self.redchi = total / max(1, self.nfree)
        self.chisqr = max(total, 1e-250 * self.ndata)
        likelihood = self.ndata * float(np.log(self.chisqr / self.ndata))
        self.aic = likelihood + 2 * self.nvarys
        self.bic = likelihood + float(np.log(self.ndata)) * self.nvarys

    def show_candidates(self, candidate_nmb: int | str = "all") -> None:
        """Prints the best points of a grid that was searched, or one of them."""
        found = getattr(self, "candidates", [])
        if candidate_nmb != "all" and not 1 <= int(candidate_nmb) <= len(found):
            raise ValueError(f"'candidate_nmb' should be between 1 and {len(found)}.")
        for k, candidate in enumerate(found, 1):
            if candidate_nmb in ("all", k):
                print(f"\nCandidate #{k}, chisqr = {candidate.score:.3f}")
                candidate.params.pretty_print()

    def _repr_html_(self, show_correl: bool = True, min_correl: float = 0.1) -> str:
        return f"<h2>Fit Result</h2> {fitreport_html_table(self, show_correl, min_correl)}"
