"""PyMC models: converted to the language of models, and sampled."""

from ..conversion import ConversionWarning, Unconvertible
from .by_name import register
from .check import Check
from .sampling import Converted, from_pymc, sample

__all__ = [
    "Check",
    "ConversionWarning",
    "Converted",
    "Unconvertible",
    "from_pymc",
    "register",
    "sample",
]
