"""The names that users of lmfit import, with its signatures and results.

`import fitzroy.lmfit as lmfit` in place of `import lmfit`, `from fitzroy.lmfit.models import
GaussianModel` in place of `from lmfit.models import GaussianModel`: models, parameters with bounds
and expressions, reports and intervals. Fits are those of Fitzroy; lmfit itself is not needed.
"""

from . import lineshapes, models
from .composite import CompositeModel
from .confidence import conf_interval, conf_interval2d
from .minimizer import Minimizer, MinimizerException, MinimizerResult, minimize
from .model import Model, ModelResult
from .parameter import Parameter, Parameters, create_params
from .printfuncs import ci_report, fit_report, report_ci, report_fit

__all__ = [
    "CompositeModel",
    "Minimizer",
    "MinimizerException",
    "MinimizerResult",
    "Model",
    "ModelResult",
    "Parameter",
    "Parameters",
    "ci_report",
    "conf_interval",
    "conf_interval2d",
    "create_params",
    "fit_report",
    "lineshapes",
    "minimize",
    "models",
    "report_ci",
    "report_fit",
]
