"""PyMC models: converted to the language of models, and sampled."""

from .axes import Unconvertible
from .by_name import register
from .check import Check
from .sampling import ConversionWarning, Converted, from_pymc, sample

__all__ = [
    "Check",
    "ConversionWarning",
    "Converted",
    "Unconvertible",
    "from_pymc",
    "register",
    "sample",
]
