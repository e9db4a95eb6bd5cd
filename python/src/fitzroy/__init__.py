"""Fitzroy: fits models to data, fast.

`curve_fit`, `CurveFit` and `least_squares` fit curves, `Model` samples models as text, which `Builder` writes,
`sample` PyMC models, `numpyro.MCMC` NumPyro models, `Density` what somebody else computes.
`slurm.submit` makes jobs of such calls.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._fitzroy import __version__

if TYPE_CHECKING:
    from . import lmfit, nlsq, numpyro, slurm, stop_signal, weather
    from .background import Run
    from .builder import Builder
    from .curves.compare import CurveComparison, compare_curves
    from .curves.estimate import Estimate
    from .curves.fitter import CurveFit
    from .curves.least_squares import least_squares, leastsq
    from .curves.many import ManyEstimates
    from .curves.scipy_form import curve_fit
    from .curves.words import DoubtWarning, OptimizeWarning, UntracedWarning
    from .density import Density
    from .figures import Figure, plot
    from .machine import devices, release_devices, verify
    from .model import Model
    from .numpyro.sampling import from_numpyro
    from .pymc import Converted, from_pymc, register, sample
    from .results import ConvergenceWarning
    from .traces import compare, diagnose, loo, read, report
    from .tracing import Untraceable

__all__ = [
    "Builder",
    "ConvergenceWarning",
    "Converted",
    "CurveComparison",
    "CurveFit",
    "Density",
    "DoubtWarning",
    "Estimate",
    "Figure",
    "ManyEstimates",
    "Model",
    "OptimizeWarning",
    "Run",
    "UntracedWarning",
    "Untraceable",
    "__version__",
    "compare",
    "compare_curves",
    "curve_fit",
    "devices",
    "diagnose",
    "from_numpyro",
    "from_pymc",
    "least_squares",
    "leastsq",
    "lmfit",
    "loo",
    "nlsq",
    "numpyro",
    "plot",
    "read",
    "register",
    "release_devices",
    "report",
    "sample",
    "slurm",
    "stop_signal",
    "verify",
    "weather",
]

#: Where names are defined. Each is imported when it is asked for: the program needs none of them,
#: and PyMC takes a second.
MODULES = {
    "Builder": "builder",
    "ConvergenceWarning": "results",
    "Converted": "pymc",
    "CurveComparison": "curves.compare",
    "CurveFit": "curves.fitter",
    "Density": "density",
    "DoubtWarning": "curves.words",
    "Estimate": "curves.estimate",
    "ManyEstimates": "curves.many",
    "Figure": "figures",
    "Model": "model",
    "OptimizeWarning": "curves.words",
    "Run": "background",
    "UntracedWarning": "curves.words",
    "Untraceable": "tracing",
    "compare": "traces",
    "compare_curves": "curves.compare",
    "curve_fit": "curves.scipy_form",
    "devices": "machine",
    "diagnose": "traces",
    "from_numpyro": "numpyro",
    "from_pymc": "pymc",
    "least_squares": "curves.least_squares",
    "leastsq": "curves.least_squares",
    "loo": "traces",
    "plot": "figures",
    "read": "traces",
    "register": "pymc",
    "release_devices": "machine",
    "report": "traces",
    "sample": "pymc",
    "verify": "machine",
}
#: Submodules that are attributes of the package without being imported by name.
SUBMODULES = ("lmfit", "nlsq", "numpyro", "slurm", "stop_signal", "weather")


def __getattr__(name: str) -> Any:
    if name in SUBMODULES:
        return import_module(f".{name}", __name__)
    if name not in MODULES:
        raise AttributeError(f"module 'fitzroy' has no attribute '{name}'")
    try:
        module = import_module(f".{MODULES[name]}", __name__)
    except ModuleNotFoundError as error:
        if MODULES[name] != "pymc":
            raise
        message = f"fitzroy.{name} needs PyMC and ArviZ: pip install 'fitzroy[pymc]'"
        raise ImportError(message) from error
    value = getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
