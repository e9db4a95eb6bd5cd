"""Warnings of fits, under the names that SciPy's users catch."""

from __future__ import annotations

import sys

__all__ = ["DoubtWarning", "OptimizeWarning", "UntracedWarning", "optimize_warning"]


class DoubtWarning(UserWarning):
    """A fit converged to a curve that does not describe the data."""


class UntracedWarning(UserWarning):
    """A function could not be traced and was fitted by calling it, with numerical derivatives."""


class OptimizeWarning(UserWarning):
    """The covariance of the parameters could not be estimated."""


def optimize_warning() -> type[Warning]:
    """SciPy's own `OptimizeWarning` where SciPy is in use, else ours."""
    scipy = sys.modules.get("scipy.optimize")
    found = getattr(scipy, "OptimizeWarning", None)
    return found if isinstance(found, type) and issubclass(found, Warning) else OptimizeWarning
