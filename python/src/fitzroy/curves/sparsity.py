"""Sparse Jacobians: where they may be other than 0, and their entries."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import host

__all__ = ["Sparse", "pattern_of"]

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


class Sparse:
    """A matrix by its entries, of which no two are at the same place."""

    def __init__(self, rows: Array, columns: Array, values: Array, shape: tuple[int, int]) -> None:
        self.rows, self.columns, self.values, self.shape = rows, columns, values, shape
        self._scipys: Any = None

    @classmethod
    def of(cls, matrix: Any) -> Sparse:
        """The entries of a sparse matrix of SciPy."""
        found = matrix.tocsr().copy()
        found.sum_duplicates()
        found = found.tocoo()
        values = np.asarray(found.data, dtype=float)
        return cls(found.row.astype(int), found.col.astype(int), values, found.shape)

    def __matmul__(self, vector: Array) -> Array:
        scipys = self.as_scipys()
        if scipys is not self:
            return np.asarray(scipys @ vector)
        products = self.values * vector[self.columns]
        return np.asarray(np.bincount(self.rows, products, self.shape[0]))

    def transposed(self, vector: Array) -> Array:
        """The product of the transpose and a vector."""
        scipys = self.as_scipys()
        if scipys is not self:
            return np.asarray(scipys.T @ vector)
        products = self.values * vector[self.rows]
        return np.asarray(np.bincount(self.columns, products, self.shape[1]))

    def of_rows(self, factors: Array) -> Sparse:
        """The matrix with its rows multiplied by factors."""
        return Sparse(self.rows, self.columns, self.values * factors[self.rows], self.shape)

    def lengths(self) -> Array:
        """Squares of the columns."""
        return np.asarray(np.bincount(self.columns, self.values**2, self.shape[1]))

    def toarray(self) -> Array:
        """The matrix as an array."""
        out = np.zeros(self.shape)
        out[self.rows, self.columns] = self.values
        return out

    def as_scipys(self) -> Any:
        """The matrix as an array of SciPy's, whose products are faster; as it is without SciPy."""
        if self._scipys is None:
            try:
                from scipy.sparse import csr_array
            except ImportError:
                self._scipys = self
            else:
                places = self.rows, self.columns
                self._scipys = csr_array((self.values, places), shape=self.shape)
        return self._scipys
