"""Fitzroy: fits models to data, fast.

`curve_fit` and `CurveFit` fit curves, `Model` samples models as text, `sample` PyMC models.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._fitzroy import __version__
from .curves.estimate import Estimate
from .curves.fitter import CurveFit, ManyEstimates
from .curves.scipy_form import curve_fit
from .curves.words import OptimizeWarning, UntracedWarning
from .model import Model
from .results import ConvergenceWarning
from .tracing import Untraceable

if TYPE_CHECKING:
    from .pymc import Converted, from_pymc, register, sample

__all__ = [
    "ConvergenceWarning",
    "Converted",
    "CurveFit",
    "Estimate",
    "ManyEstimates",
    "Model",
    "OptimizeWarning",
    "UntracedWarning",
    "Untraceable",
    "__version__",
    "curve_fit",
    "from_pymc",
    "register",
    "sample",
]

#: What needs PyMC, which takes a second to import, and comes when it is asked for.
OF_PYMC = ("Converted", "from_pymc", "register", "sample")


def __getattr__(name: str) -> Any:
    if name in OF_PYMC:
        try:
            from . import pymc
        except ModuleNotFoundError as error:
            message = f"fitzroy.{name} needs PyMC and ArviZ: pip install 'fitzroy[pymc]'"
            raise ImportError(message) from error
        return getattr(pymc, name)
    raise AttributeError(f"module 'fitzroy' has no attribute '{name}'")
