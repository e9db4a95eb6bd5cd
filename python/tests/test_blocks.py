"""Random parts and products of square matrices: look-ups along the first and the second axis of one dim."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pm = pytest.importorskip("pymc")

import pytensor.tensor as pt  # noqa: E402

import fitzroy as fz  # noqa: E402

Rng = np.random.Generator


def _places(r: Rng, n: int) -> Any:
    """A slice, or positions in any order, of at least two of n."""
    if r.random() < 0.5:
        first = int(r.integers(0, n - 1))
        return slice(first, int(r.integers(first + 2, n + 1)))
    return r.permutation(n)[: r.integers(2, n + 1)]


def _covariance(r: Rng, scale: Any, depth: int) -> tuple[Any, int]:
    """A random positive definite matrix, and its size."""
    kind = r.choice(["whole", "block", "rows", "product", "inner", "beside"]) if depth else "whole"
    if kind == "whole":
        n = int(r.integers(3, 6))
        x = np.sort(r.normal(size=n))
        return pt.exp(-np.abs(x[:, None] - x) / scale) + 0.5 * np.eye(n), n
    inner, n = _covariance(r, scale, depth - 1)
    if kind == "block":
        at = np.arange(n)[_places(r, n)]
        return inner[np.ix_(at, at)], len(at)
    if kind == "rows":
        at = _places(r, n)
        return inner[at][:, at], len(np.arange(n)[at])
    if kind == "product" and n < 5:
        other, m = _covariance(r, scale + 1, 0)
        return pt.linalg.kron(inner, other), n * m
    if kind == "inner":
        at = _places(r, n)
        part = inner[at, :]
        size = len(np.arange(n)[at])
        return part @ part.T + 0.5 * np.eye(size), size
    other, m = _covariance(r, scale + 1, 0)
    small = min(n, m)
    return inner[:small, :small] + other[-small:, -small:].T, small


@pytest.mark.parametrize("seed", range(24))
def test_parts_and_products_of_matrices_are_those_of_pymc(seed):
    r = np.random.default_rng(seed)
    with pm.Model() as model:
        scale = pm.Gamma("scale", 3, 2)
        cov, n = _covariance(r, scale, 3)
        mean = cov[int(r.integers(n)), :] if seed % 2 else np.zeros(n)
        pm.MvNormal("y", mean, cov=cov, observed=r.normal(size=n))
    found = fz.from_pymc(model).check(n=16)
    assert found.range > 0.5
    assert found.spread < 1e-9, found
    assert found.slope_error < 1e-7, found
