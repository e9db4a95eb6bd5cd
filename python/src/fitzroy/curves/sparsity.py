"""Where a Jacobian may be other than 0, as `jac_sparsity` of `least_squares` says it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import host

__all__ = ["pattern_of"]

Array = np.ndarray[Any, Any]


def pattern_of(given: Any, method: str, tr_solver: Any, shape: tuple[int, int]) -> list[Array]:
    """For each column of the Jacobian, the rows in which it may be other than 0.

    `given` is an array, or a sparse matrix of SciPy. Raises ValueError for what SciPy refuses.
    """
    if method == "lm":
        raise ValueError("method='lm' does not support `jac_sparsity`.")
    sparse = hasattr(given, "tocsc")
    if not sparse:
        given = np.atleast_2d(host(given))
    if given.shape != shape:
        raise ValueError("`jac_sparsity` has wrong shape.")
    if tr_solver == "exact":
        raise ValueError("tr_solver='exact' is incompatible with `jac_sparsity`.")
    if not sparse:
        return [np.flatnonzero(column) for column in given.T]
    columns = given.tocsc()
    ends = columns.indptr[1:-1]
    filled = np.split(np.asarray(columns.indices), ends), np.split(columns.data, ends)
    return [np.unique(rows[values != 0]) for rows, values in zip(*filled)]
