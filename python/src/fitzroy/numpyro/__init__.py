"""NumPyro models as they are: `from fitzroy.numpyro import MCMC, NUTS` in place of `numpyro.infer`.

`MCMC` samples with Fitzroy; every other name is that of `numpyro.infer`, `NUTS` among them, which here
says what to sample and how. `from_numpyro` shows the text that a model becomes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..conversion import ConversionWarning, Unconvertible

try:
    import numpyro.infer as _infer
except ImportError as error:
    raise ImportError("fitzroy.numpyro needs NumPyro: pip install 'fitzroy[numpyro]'") from error

from .mcmc import MCMC
from .sampling import Converted, from_numpyro

if TYPE_CHECKING:
    NUTS: Any
    Predictive: Any

__all__ = [
    "MCMC",
    "NUTS",
    "ConversionWarning",
    "Converted",
    "Predictive",
    "Unconvertible",
    "from_numpyro",
]


def __getattr__(name: str) -> Any:
    """Whatever else `numpyro.infer` has."""
    return getattr(_infer, name)
