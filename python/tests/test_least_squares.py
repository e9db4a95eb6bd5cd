"""`least_squares` and `leastsq`: SciPy's own tests, and random problems against SciPy."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

scipy_optimize = pytest.importorskip("scipy.optimize")

from random_functions import random_function  # noqa: E402

import fitzroy as fz  # noqa: E402
from fitzroy.curves.losses import LOSSES, Loss  # noqa: E402

pytestmark = pytest.mark.once

#: How many random problems are tried, from which seed on; more by hand.
N = int(os.environ.get("FITZROY_RANDOM_FUNCTIONS", "40"))
FIRST = int(os.environ.get("FITZROY_FIRST_SEED", "0"))
#: What SciPy's tests ask for that is different here, on purpose.
DIFFERENT = [
    "test_solver_selection",  # Jacobians of results are arrays, whatever `jac` gives
    "test_wrong_parameters",  # `tr_options` are not looked at
    "test_nfev",  # the calls by which a function is traced are not counted
    "test_full_result",  # there are more places than ten; and one is by differences, not exact
    "test_options",  # the end of x² + 5, whose square has no other slope there, by 2e-6
    "test_x_scale_options",
    "test_basic",
    "test_gh_18793_and_19351",  # ends by another rule at the same minimum
]


def test_scipys_own_tests_pass():
    pytest.importorskip("scipy.optimize.tests.test_least_squares")
    here = Path(__file__).parent
    for module, kept in (
        ("test_least_squares", " and ".join(f"not {name}" for name in DIFFERENT)),
        ("test_minpack", "TestLeastSq"),
    ):
        run = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "scipy_suite", "-p", "no:cacheprovider"]
            + ["--pyargs", f"scipy.optimize.tests.{module}", "-k", kept],
            cwd=here,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(here), *sys.path])},
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-2000:]
        assert " passed" in run.stdout


def residuals_of(d, y, style):
    """Residuals as people write them: traced; with calls that cannot be; in two parts; by points."""
    if style == "traced":
        return lambda p: d.f(d.x, *p) - y
    if style == "called":
        return lambda p: np.asarray(d.f(d.x, *np.array(p, dtype=float))) - y
    if style == "parts":
        half = y.size // 2

        def parts(p):
            r = np.broadcast_to(d.f(d.x, *p), y.shape) - y
            return np.concatenate([r[:half], r[half:]])

        return parts

    def listed(p):
        return [float(r) for r in np.broadcast_to(d.f(d.x, *p), y.shape) - y]

    return listed


@pytest.mark.parametrize("seed", range(FIRST, FIRST + N))
def test_a_random_problem_ends_where_scipy_ends_or_lower(seed):
    rng = np.random.default_rng([seed, 7])
    d = random_function(seed, False)
    if not d.smooth:
        return
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        x = np.array(d.x)
        d.x = x
        y = np.asarray(d.f(x.copy(), *d.truth), dtype=float)
        n = x.shape[0] if x.ndim == 2 and x.shape[1] == 2 else x.shape[-1]
        y = np.broadcast_to(y.reshape(-1), (n,))
        y = y + 0.05 * (np.std(y) + 0.1) * rng.normal(size=n)
        style = str(rng.choice(["traced", "called", "parts", "listed"]))
        fun = residuals_of(d, y, style)
        more = {}
        if rng.random() < 0.4:
            wide = np.abs(d.truth) * 0.5 + 0.3
            more["bounds"] = (d.truth - wide, d.truth + wide)
        if rng.random() < 0.5:
            more["loss"] = str(rng.choice(["soft_l1", "huber", "cauchy", "arctan"]))
            more["f_scale"] = float(rng.uniform(0.05, 1.0))
        start = d.truth * rng.uniform(0.95, 1.05, d.truth.size)
        fits(fun, start, more)


def fits(fun, start, more):
    tight = {"ftol": 1e-14, "xtol": 1e-14, "gtol": 1e-14}
    try:
        want = scipy_optimize.least_squares(fun, start, **tight, **more)
    except (ValueError, AssertionError):
        return
    got = fz.least_squares(fun, start, **more)
    if not got.success and not want.success:
        return
    assert got.success, got.message
    # The result is that of its own residuals and Jacobian.
    loss = Loss(LOSSES[more["loss"]], more["f_scale"]) if "loss" in more else None
    again = np.asarray(fun(got.x), dtype=float)
    np.testing.assert_allclose(got.fun, again, rtol=1e-9, atol=1e-9 * (1 + np.max(np.abs(again))))
    total = again @ again if loss is None else loss.weighed(again)[0].sum()
    np.testing.assert_allclose(got.cost, 0.5 * total, rtol=1e-8)
    at = scipy_optimize.least_squares(fun, got.x, jac="3-point", max_nfev=1, **more)
    scale = np.max(np.abs(at.jac))
    np.testing.assert_allclose(got.jac, at.jac, rtol=1e-4, atol=1e-5 * scale)
    np.testing.assert_allclose(got.grad, at.grad, rtol=1e-3, atol=1e-5 * scale * np.sqrt(2 * got.cost))
    if got.cost > want.cost * (1 + 1e-7):  # a minimum, too, if SciPy stays at it
        want = scipy_optimize.least_squares(fun, got.x, **tight, **more)
    assert got.cost <= want.cost * (1 + 1e-7) + 1e-20, (got.cost, want.cost, got.x, want.x)


@pytest.mark.parametrize("seed", range(12))
def test_leastsq_has_scipys_answer_and_covariance(seed):
    rng = np.random.default_rng(seed)
    x = np.linspace(0, 4, 60)
    y = 2.5 * np.exp(-rng.uniform(0.5, 2) * x) + 0.5 + 0.05 * rng.normal(size=60)

    def residuals(p, x, y):
        return p[0] * np.exp(-p[1] * x) + p[2] - y

    def slopes(p, x, y):
        e = np.exp(-p[1] * x)
        return [e, -p[0] * x * e, np.ones_like(x)]

    more = {"Dfun": slopes, "col_deriv": True} if seed % 2 else {}
    for full in (False, True):
        want = scipy_optimize.leastsq(residuals, [1, 1, 0], (x, y), full_output=full, **more)
        got = fz.leastsq(residuals, [1, 1, 0], (x, y), full_output=full, **more)
        assert len(got) == len(want) and got[-1] in (1, 2, 3, 4)
        np.testing.assert_allclose(got[0], want[0], rtol=1e-5)
    np.testing.assert_allclose(got[1], want[1], rtol=1e-4)
    np.testing.assert_allclose(got[2]["fvec"], want[2]["fvec"], atol=1e-5)
    r = got[2]["fjac"][:, :3].T
    np.testing.assert_allclose(np.linalg.inv(r.T @ r), got[1], rtol=1e-8)


def test_a_loss_of_the_users_is_that_of_its_name():
    rng = np.random.default_rng(2)
    x = np.linspace(0, 10, 40)
    y = 2 * np.exp(-x) + 0.1 * rng.normal(size=40)
    y[::7] += 1
    for name, rho in LOSSES.items():
        fun = lambda p: p[0] * np.exp(-p[1] * x) + p[2] - y
        want = fz.least_squares(fun, [1, 1, 0], loss=name, f_scale=0.1)
        got = fz.least_squares(fun, [1, 1, 0], loss=rho, f_scale=0.1)
        np.testing.assert_allclose(got.x, want.x, rtol=1e-5)
        np.testing.assert_allclose(got.jac, want.jac, atol=1e-5)


def test_a_narrow_resonance_far_from_zero_is_fitted_though_it_is_called():
    """Catches: differences whose step, a part of the frequency, is longer than the line is wide."""
    rng = np.random.default_rng(4)
    for width in (1e-4, 1e-6, 1e-7):
        f0 = 5e9
        f = f0 * (1 + width * np.linspace(-5, 5, 200))

        def line(f, f0, q, a):
            return np.abs(a / (1 + 2j * q * (f - f0) / f0))

        y = line(f, f0, 1 / width, 2.0) + 0.02 * rng.normal(size=f.size)
        p0 = [f0 * (1 + 0.3 * width), 0.7 / width, 1.5]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            got, covariance = fz.curve_fit(line, f, y, p0)
        # The same in units of the width, of which SciPy's differences are good.
        u = (f / f0 - 1) / width
        scaled = lambda u, d, q, a: np.abs(a / (1 + 2j * q * (u - d) / (1 + width * d)))
        want, theirs = scipy_optimize.curve_fit(
            scaled, u, y, [0.3, 0.7, 1.5], xtol=1e-13, ftol=1e-13
        )
        se = np.sqrt(np.diag(theirs))
        found = np.array([(got[0] / f0 - 1) / width, got[1] * width, got[2]])
        assert np.all(np.abs(found - want) < 1e-3 * se), (width, found, want, se)
        errors = np.sqrt(np.diag(covariance)) / [f0 * width, 1 / width, 1]
        np.testing.assert_allclose(errors, se, rtol=1e-3)


@pytest.mark.parametrize("seed", range(10))
def test_a_function_of_rounded_values_is_fitted(seed):
    """Values to four digits have no slope at short steps. Catches: an end without a second look,
    which is far from the minimum in ten of ten, and says in some that it is there."""
    rng = np.random.default_rng(seed)
    x = np.linspace(0, 4, 60)
    f = lambda p: p[0] * np.exp(-p[1] * x) + p[2]
    y = f([2.5, rng.uniform(0.5, 2), 0.5]) + 0.05 * rng.normal(size=60)
    got = fz.least_squares(lambda p: np.round(f(p), 4) - y, [1.5, 1, 0.2])
    want = scipy_optimize.least_squares(lambda p: f(p) - y, [1.5, 1, 0.2])
    assert got.success
    assert got.cost < want.cost * 1.001


@pytest.mark.parametrize("seed", range(8))
def test_solvers_of_differential_equations_are_fitted_no_worse_than_by_scipy(seed):
    """Their noise, of a tolerance of 1e-3, is that of whole steps; catches: an end that is refused
    because nothing told that noise hides what is left."""
    from scipy.integrate import solve_ivp

    rng = np.random.default_rng(seed)
    kinds = [
        (lambda t, z, a, b: [-a * z[0], a * z[0] - b * z[1]], [0.8, 0.3], [5.0, 0.0], 10.0),
        (lambda t, z, r, k: [r * z[0] * (1 - z[0] / k)], [0.8, 20.0], [1.0], 12.0),
        (lambda t, z, v, k: [-v * z[0] / (k + z[0])], [1.0, 2.0], [10.0], 15.0),
        (lambda t, z, m, w: [z[1], m * (1 - z[0] ** 2) * z[1] - w * z[0]], [1, 1], [1.0, 0.0], 3.0),
    ]
    slope, truth, first, end = kinds[seed % 4]
    truth = np.array(truth) * rng.uniform(0.8, 1.25, 2)
    t = np.linspace(0, end, int(rng.integers(15, 50)))

    def course(p, **more):
        return solve_ivp(slope, (0, end), first, args=tuple(p), t_eval=t, **more).y

    y = course(truth, rtol=1e-9, atol=1e-9)
    y = y + 0.03 * np.std(y) * rng.normal(size=y.shape)
    start = truth * rng.uniform(0.9, 1.1, 2)
    fun = lambda p: (course(p) - y).ravel()
    got, want = fz.least_squares(fun, start), scipy_optimize.least_squares(fun, start)
    assert got.success and got.cost <= want.cost * (1 + 1e-4), (got, want)


def test_a_robust_fit_of_a_function_that_is_called_has_the_errors_of_its_formula():
    rng = np.random.default_rng(6)
    x = np.linspace(0, 5, 80)
    y = 2 * np.exp(-0.8 * x) + 0.5 + 0.05 * rng.normal(size=80)
    y[::9] += 1
    formula = lambda x, a, b, c: a * np.exp(-b * x) + c
    called = lambda x, a, b, c: np.array([a * np.exp(-b * float(t)) + c for t in x])
    for loss in LOSSES:
        p0, more = [1.5, 1, 0.2], {"loss": loss, "f_scale": 0.1}
        want, theirs = fz.curve_fit(formula, x, y, p0, **more)
        with pytest.warns(fz.UntracedWarning):
            got, ours = fz.curve_fit(called, x, y, p0, **more)
        np.testing.assert_allclose(got, want, rtol=1e-5)
        np.testing.assert_allclose(ours, theirs, rtol=1e-4)


@pytest.mark.parametrize(
    ("fun", "x0", "words"),
    [
        (lambda p: np.array([p[0] + 1j]), [1.0], "must return real residuals"),
        (lambda p: np.array([np.nan * p[0]]), [1.0], "not finite in the initial point"),
        (lambda p: np.ones((2, 2)) * p[0], [1.0], "at most 1-d"),
    ],
)
def test_what_is_no_residual_is_said(fun, x0, words):
    with pytest.raises(ValueError, match=words):
        fz.least_squares(fun, x0)
