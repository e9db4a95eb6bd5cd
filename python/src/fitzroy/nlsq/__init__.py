"""The names that users of NLSQ import, with its signatures and results.

`from fitzroy.nlsq import curve_fit` in place of `from nlsq import curve_fit`: fits are those of
`fitzroy.curve_fit`. Functions may use jax.numpy or NumPy; JAX itself is not needed.
"""

from ..curves.words import OptimizeWarning
from .config import HybridStreamingConfig
from .fitting import CurveFit, curve_fit, fit
from .large import (
    AdaptiveHybridStreamingOptimizer,
    LargeDatasetFitter,
    curve_fit_large,
    fit_large_dataset,
)
from .memory import MemoryRequirements, estimate_memory_requirements
from .result import CurveFitResult

__all__ = [
    "AdaptiveHybridStreamingOptimizer",
    "CurveFit",
    "CurveFitResult",
    "HybridStreamingConfig",
    "LargeDatasetFitter",
    "MemoryRequirements",
    "OptimizeWarning",
    "curve_fit",
    "curve_fit_large",
    "estimate_memory_requirements",
    "fit",
    "fit_large_dataset",
]
