"""What a fit adds to the memory of its data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..curves.function import of_function
from ..curves.solve import Problem, feasible
from ..tracing import Untraceable

__all__ = ["MemoryRequirements", "check_copies", "check_working", "estimate_memory_requirements"]

#: Bytes of a number.
NUMBER = 8
GIB = 2.0**30


@dataclass(frozen=True)
class MemoryRequirements:
    """The memory of the data of a fit with one column x."""

    n_points: int
    n_params: int
    #: Of x and y.
    memory_per_point_bytes: float
    #: In GiB.
    total_memory_estimate_gb: float
    #: All points: a fit goes through them in blocks by itself.
    recommended_chunk_size: int
    n_chunks: int = 1


def estimate_memory_requirements(n_points: int, n_params: int) -> MemoryRequirements:
    """The memory of the data of a fit with one column x, which is all that grows with the points
    if the function is traced.
    """
    if n_points < 1 or n_params < 1:
        raise ValueError(f"n_points={n_points}, n_params={n_params}: both need at least 1")
    each = 2.0 * NUMBER
    return MemoryRequirements(n_points, n_params, each, n_points * each / GIB, n_points)


def check_copies(limit_gb: float, x: Any, y: Any, sigma: Any) -> None:
    """Raises MemoryError if the copies of data that a fit makes are above the limit."""
    n = np.size(y)
    copies = sum(_copied(array) for array in (x, y))
    if sigma is not None:
        one = np.size(sigma) == 1
        copies += n * NUMBER if one else _copied(sigma)
        if np.ndim(sigma) == 2 and not one:
            # Its factor, and the inverse of that.
            copies += 2 * n * n * NUMBER
    _check(limit_gb, copies, "copies of data; give contiguous arrays of float64")


def check_working(limit_gb: float, problem: Problem) -> None:
    """Raises MemoryError if the function has to be called and the fit's arrays are too large."""
    lower, upper = problem.lower, problem.upper
    start = feasible(lower, upper) if problem.p0 is None else problem.p0
    n, p = problem.y.size, len(start)
    try:
        of_function(problem.f, problem.x, n, problem.names, start.tolist())
    except Untraceable as why:
        # Values, residuals, their copies, and the Jacobian twice.
        needed = n * (2 * p + 4) * NUMBER
        _check(limit_gb, needed, f"residuals and Jacobian, since it cannot be traced: {why}")


def _copied(array: Any) -> int:
    """Bytes of the copy that is made of an array."""
    if isinstance(array, np.ndarray):
        if array.dtype == np.float64 and array.flags.c_contiguous:
            return 0
        return array.size * NUMBER
    return int(np.size(array)) * NUMBER


def _check(limit_gb: float, needed: int, what: str) -> None:
    if needed > limit_gb * GIB:
        raise MemoryError(
            f"memory_limit_gb={limit_gb:g}: the fit needs {needed / GIB:.3g} GiB for {what}"
        )
