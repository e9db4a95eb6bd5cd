"""SciPy's own tests of `curve_fit`, and random problems against it."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

scipy_optimize = pytest.importorskip("scipy.optimize")

import fitzroy as fz  # noqa: E402

pytestmark = pytest.mark.once

#: The reference covariance in this test is itself off by 1.6e-6, by 40-digit arithmetic, and the
#: test allows 2e-7; `test_covariance_is_right_to_twelve_digits` has the exact one.
DIFFERENT = ["test_gh4555b"]
#: How many random problems of each kind; a larger number for longer runs.
N = int(os.environ.get("FITZROY_DIFFERENTIAL", "12"))


def test_scipys_own_tests_pass():
    pytest.importorskip("scipy.optimize.tests.test_minpack")
    here = Path(__file__).parent
    kept = " and ".join(["TestCurveFit", *[f"not {name}" for name in DIFFERENT]])
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "scipy_suite", "-p", "no:cacheprovider"]
        + ["--pyargs", "scipy.optimize.tests.test_minpack", "-k", kept],
        cwd=here,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(here), *sys.path])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-2000:]
    assert " passed" in run.stdout


def test_covariance_is_right_to_twelve_digits():
    def func(x, a, b, c):
        return a * np.exp(-b * x) + c

    rng = np.random.default_rng(408113519974467917)
    x = np.linspace(0, 4, 50)
    y = func(x, 2.5, 1.3, 0.5) + 0.2 * rng.normal(size=50)
    _, pcov = fz.curve_fit(func, x, y)
    # By Gauss and Newton's method in 40 digits (tests/exact_covariance.py).
    exact = np.array(EXACT)
    np.testing.assert_allclose(pcov, exact, rtol=1e-11)


EXACT = [
    [0.015897245664192745, 0.0069207070711029895, -0.00074744121198135255],
    [0.0069207070711029895, 0.020505771348864168, 0.0053997730423727832],
    [-0.00074744121198135255, 0.0053997730423727832, 0.002783396227550706],
]


def decay(x, a, b, c):
    return a * np.exp(-b * x) + c


def peak(x, height, centre, width, base):
    return base + height * np.exp(-0.5 * ((x - centre) / width) ** 2)


def wave(x, a, f, phase):
    return a * np.sin(f * x + phase)


def saturation(x, vmax, km):
    return vmax * x / (km + x)


def step(x, low, high, centre, e):
    return low + (high - low) / (1 + np.exp(-e * (x - centre)))


def bent(x, a, b, knot):
    return np.where(x < knot, a * x, a * knot + b * (x - knot))


CURVES = [
    (decay, lambda r: [r.uniform(1, 3), r.uniform(0.5, 2), r.uniform(-1, 1)]),
    (peak, lambda r: [r.uniform(1, 5), r.uniform(1, 3), r.uniform(0.3, 0.8), r.uniform(-1, 1)]),
    (wave, lambda r: [r.uniform(1, 3), r.uniform(2, 4), r.uniform(0, 1)]),
    (saturation, lambda r: [r.uniform(1, 3), r.uniform(0.5, 2)]),
    (step, lambda r: [r.uniform(0, 1), r.uniform(2, 3), r.uniform(1, 3), r.uniform(2, 4)]),
]


@pytest.mark.parametrize("curve", range(len(CURVES)))
@pytest.mark.parametrize("seed", range(N))
def test_random_problems_end_where_scipy_ends(curve, seed):
    f, draw = CURVES[curve]
    r = np.random.default_rng([curve, seed])
    theta = np.array(draw(r))
    x = np.sort(r.uniform(0.05, 4, r.integers(20, 200)))
    spread = r.uniform(0.02, 0.1, x.size)
    y = f(x, *theta) + spread * r.normal(size=x.size)
    sigma = [None, spread, float(spread[0]), np.diag(spread**2)][seed % 4]
    absolute = bool(seed % 2)
    p0 = theta * r.uniform(0.9, 1.1, theta.size)
    bounds = (-np.inf, np.inf) if seed % 3 else (theta - 2, theta + 2)
    given = dict(p0=p0, sigma=sigma, absolute_sigma=absolute, bounds=bounds)
    want, want_cov = scipy_optimize.curve_fit(f, x, y, ftol=1e-14, xtol=1e-14, gtol=1e-14, **given)
    got, got_cov = fz.curve_fit(f, x, y, **given)
    errors = np.sqrt(np.diag(want_cov))
    # SciPy's Jacobian is made of differences, whose error is 1e-8, times the condition.
    assert np.all(np.abs(got - want) < 1e-5 * errors)
    np.testing.assert_allclose(np.sqrt(np.diag(got_cov)), errors, rtol=1e-5)


@pytest.mark.parametrize("seed", range(N))
def test_a_function_that_is_called_ends_where_its_trace_does(seed):
    r = np.random.default_rng(seed)
    x = np.linspace(0.1, 4, 60)
    y = decay(x, 2.0, 1.0, 0.3) + 0.05 * r.normal(size=60)

    def called(x, a, b, c):
        return np.array([a * np.exp(-b * t) + c for t in np.asarray(x)])

    with pytest.warns(fz.UntracedWarning):
        got, got_cov = fz.curve_fit(called, x, y, p0=[1.5, 0.8, 0.1])
    want, want_cov = fz.curve_fit(decay, x, y, p0=[1.5, 0.8, 0.1])
    assert np.all(np.abs(got - want) < 1e-7 * np.sqrt(np.diag(want_cov)))
    np.testing.assert_allclose(got_cov, want_cov, rtol=1e-6)


def test_at_a_bound_the_covariance_is_scipys():
    r = np.random.default_rng(4)
    x = np.linspace(0, 4, 80)
    y = decay(x, 2.0, 1.0, 0.5) + 0.05 * r.normal(size=80)
    given = dict(p0=[1.0, 1.0, 0.1], bounds=([0, 0, 0], [3, 3, 0.3]))
    want, want_cov = scipy_optimize.curve_fit(decay, x, y, **given)
    got, got_cov = fz.curve_fit(decay, x, y, **given)
    assert got[2] == 0.3
    np.testing.assert_allclose(got, want, rtol=1e-5)
    np.testing.assert_allclose(got_cov, want_cov, rtol=1e-3)
    assert np.isnan(fz.CurveFit(decay).fit(x, y, p0=[1.0, 1.0, 0.1], bounds=given["bounds"]).se[2])


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (dict(p0=[1.0, 1.0, 9.0], bounds=(0, 5)), ValueError, "outside of provided bounds"),
        (dict(p0=[1, 1, 1], bounds=([0, 0], [5, 5])), ValueError, "Inconsistent shapes"),
        (dict(bounds=(1, 0)), ValueError, "strictly less"),
        (dict(method="newton"), ValueError, "`method` must be"),
        (dict(sigma=np.ones(3)), ValueError, "incorrect shape"),
        (dict(sigma=-np.eye(20)), ValueError, "positive definite"),
        (dict(args=(1,)), ValueError, "not a supported keyword"),
        (dict(strange=1), TypeError, "unexpected keyword"),
        (dict(nan_policy="keep", check_finite=False), ValueError, "nan_policy must be one of"),
        (dict(maxfev=1), RuntimeError, "Optimal parameters not found"),
    ],
)
def test_errors_are_scipys(change, error, words):
    x = np.linspace(0, 4, 20)
    y = decay(x, 2.0, 1.0, 0.5) + 0.1 * np.cos(7 * x)
    for fit in (fz.curve_fit, scipy_optimize.curve_fit):
        with pytest.raises(error, match=words):
            fit(decay, x, y, **change)


def test_warnings_are_scipys():
    x = np.arange(6.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(scipy_optimize.OptimizeWarning):
            fz.curve_fit(lambda x, a, b: a * x, x, 2 * x + np.cos(x))


def test_full_output_solves_the_normal_equations():
    r = np.random.default_rng(5)
    x = np.linspace(0, 4, 40)
    y = decay(x, 2.0, 1.0, 0.5) + 0.05 * r.normal(size=40)
    popt, _, info, _, ier = fz.curve_fit(decay, x, y, full_output=True)
    assert ier in (1, 2, 3, 4)
    np.testing.assert_allclose(info["fvec"], decay(x, *popt) - y)
    triangle = np.triu(info["fjac"].T[:3])
    jacobian = np.stack([np.exp(-popt[1] * x), -popt[0] * x * np.exp(-popt[1] * x), 1 + 0 * x], 1)
    np.testing.assert_allclose(triangle.T @ triangle, jacobian.T @ jacobian, rtol=1e-9)
    assert np.abs(info["qtf"]).max() < 1e-7
