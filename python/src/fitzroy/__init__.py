"""Fitzroy: fits models to data, fast."""
from ._fitzroy import __version__
from .curves.scipy_form import curve_fit
from .curves.fitter import CurveFit
