"""Random curves: values, slopes and fits are those of the function that NumPy and SciPy see."""

from __future__ import annotations

import os
import warnings

import numpy as np
import pytest

pytest.importorskip("scipy")

from random_functions import Drawn, random_function  # noqa: E402
from scipy.optimize import curve_fit  # noqa: E402

import fitzroy as fz  # noqa: E402
from fitzroy.curves.function import of_function  # noqa: E402
from fitzroy.tracing import Untraceable, in_float64, parameter_names  # noqa: E402

#: How many are tried, from which seed on; more by hand.
N = int(os.environ.get("FITZROY_RANDOM_FUNCTIONS", "40"))
FIRST = int(os.environ.get("FITZROY_FIRST_SEED", "0"))
try:
    import jax

    JAX = jax is not None
except ImportError:
    JAX = False


def values(d: Drawn, theta):
    """What the function says, at a copy of x that it may change."""
    x = tuple(c.copy() for c in d.x) if isinstance(d.x, tuple) else d.x.copy()
    with in_float64(), np.errstate(all="ignore"):
        out = np.asarray(d.f(x if d.jax or not isinstance(x, tuple) else np.array(x), *theta))
    n = d.x.shape[0] if is_table(d) else np.shape(d.x)[-1]
    return np.broadcast_to(out.astype(float).reshape(-1), (n,))


def is_table(d: Drawn) -> bool:
    return isinstance(d.x, np.ndarray) and d.x.ndim == 2 and d.x.shape[1] == 2


def slopes(d: Drawn, theta, k):
    """Central differences with two steps; NaN where they disagree, as at an edge."""
    found = []
    for step in (2e-5, 1e-5):
        ends = []
        for side in (-1, 1):
            moved = np.array(theta)
            moved[k] += side * step
            ends.append(values(d, moved))
        found.append((ends[1] - ends[0]) / (2 * step))
    out = found[1].copy()
    out[~np.isclose(found[0], found[1], rtol=1e-5, atol=1e-6)] = np.nan
    return out


@pytest.mark.parametrize("seed", range(FIRST, FIRST + N))
def test_a_random_function_is_fitted_as_scipy_does(seed):
    d = random_function(seed, JAX)
    rng = np.random.default_rng(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        traced_values(d, rng)
        fits(d, rng)


def traced_values(d: Drawn, rng) -> None:
    """The formula, if there is one, has the values and the slopes of the function everywhere."""
    x = np.array(d.x)
    names = parameter_names(d.f, d.truth.size)
    y = values(d, d.truth)
    try:
        made = of_function(d.f, x.copy(), y.size, names, [1.0] * d.truth.size)
    except Untraceable:
        return
    for _ in range(3):
        theta = d.truth * rng.uniform(0.8, 1.2, d.truth.size)
        want = values(d, theta)
        got, partials = made.pointwise(theta.tolist())
        scale = 1 + np.nanmax(np.abs(want))
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-10 * scale)
        for k in range(theta.size):
            want = slopes(d, theta, k)
            known = np.isfinite(want)
            np.testing.assert_allclose(
                partials[known, k], want[known], rtol=1e-4, atol=1e-5 * scale
            )


def fits(d: Drawn, rng) -> None:
    """A fit from near the truth is SciPy's, or a better one."""
    y = values(d, d.truth)
    assert np.all(np.isfinite(y))
    sigma = None
    noise = 0.05 * (np.std(y) + 0.1)
    if rng.random() < 0.4:
        sigma = noise * rng.uniform(0.5, 1.5, y.size)
    y = y + noise * rng.normal(size=y.size)
    more = {"sigma": sigma, "absolute_sigma": bool(rng.random() < 0.3)}
    if rng.random() < 0.3:
        wide = np.abs(d.truth) * 0.5 + 0.3
        lower = np.where(rng.random(d.truth.size) < 0.5, d.truth - wide, -np.inf)
        upper = np.where(rng.random(d.truth.size) < 0.5, d.truth + wide, np.inf)
        more["bounds"] = (lower, upper)
    p0 = d.truth * rng.uniform(0.95, 1.05, d.truth.size)
    before = np.array(d.x)
    with in_float64():
        got, covariance = attempt(lambda: fz.curve_fit(d.f, d.x, y, p0, **more))
        assert np.array_equal(before, np.array(d.x)), "x was changed"
        want, theirs = attempt(
            lambda: curve_fit(d.f, d.x, y, p0, ftol=1e-14, xtol=1e-14, gtol=1e-14, **more)
        )
    if want is None or (got is None and not settled(d, want, y, sigma, more)):
        return
    assert got is not None, "no minimum, where SciPy has one"
    if not d.smooth:
        return
    ours, chi2 = [chi_squared(d, p, y, sigma) for p in (got, want)]
    if ours > chi2 * (1 + 1e-8):  # a minimum, too, if SciPy stays at it
        more.pop("absolute_sigma")
        want, _ = attempt(lambda: curve_fit(d.f, d.x, y, got, **more))
        chi2 = ours if want is None else chi_squared(d, want, y, sigma)
        assert ours <= chi2 * (1 + 1e-8), f"chi2 {ours}, SciPy has {chi2} at {want} not {got}"
        return
    if ours < chi2 * (1 - 1e-8) or not np.all(np.isfinite(theirs)):
        return
    if np.any(np.isinf(covariance)):
        return
    # Of SciPy's differences at SciPy's point a correlation may keep three digits; the function itself is better.
    with in_float64():
        theirs = covariance_at(d, got, y, sigma, more["absolute_sigma"])
    if theirs is None:
        return
    se = np.sqrt(np.diag(theirs))
    if np.linalg.cond(theirs / np.outer(se, se)) > 1e7:  # differences are not better
        return
    # SciPy's own distance from the minimum, in standard errors.
    short = np.sqrt(2 * max(chi2 - ours, 0.0) / (1.0 if more["absolute_sigma"] else chi2 / y.size))
    assert np.all(np.abs(got - want) < (1e-5 + short) * se + 1e-9), (got, want, se)
    np.testing.assert_allclose(covariance, theirs, rtol=1e-3, atol=1e-3 * np.max(se) * np.min(se))


def settled(d: Drawn, theta, y, sigma, more) -> bool:
    """Whether SciPy, begun where it ended, stays: else that was no minimum."""
    with in_float64():
        again, _ = attempt(lambda: curve_fit(d.f, d.x, y, theta, **more))
        if again is None:
            return False
        before, after = [chi_squared(d, p, y, sigma) for p in (theta, again)]
    return after > before * (1 - 1e-6)


def covariance_at(d: Drawn, theta, y, sigma, absolute_sigma):
    """The covariance from central differences of the function; none at an edge, or without a rank."""
    jacobian = np.stack([slopes(d, theta, k) for k in range(theta.size)], axis=1)
    if sigma is not None:
        jacobian = jacobian / sigma[:, None]
    if not np.all(np.isfinite(jacobian)) or np.linalg.matrix_rank(jacobian) < theta.size:
        return None
    q, r = np.linalg.qr(jacobian)
    inverse = np.linalg.inv(r)
    freedom = max(y.size - theta.size, 1)
    scale = 1.0 if absolute_sigma else chi_squared(d, theta, y, sigma) / freedom
    return scale * inverse @ inverse.T


def attempt(fit):
    try:
        return fit()
    except (RuntimeError, AssertionError):  # of SciPy, and of the function
        return None, None


def chi_squared(d: Drawn, theta, y, sigma) -> float:
    r = values(d, theta) - y
    return float(np.sum((r if sigma is None else r / sigma) ** 2))
