"""Traces: the formula computes what the function does, or the function is refused with a reason."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest

import fitzroy as fz
from fitzroy.curves.function import of_function
from fitzroy.tracing import Untraceable, parameter_names, trace

X = np.linspace(0.1, 3, 50)
COLUMN = np.cos(np.arange(50.0))


def saturating(x, vmax, km):
    return vmax * x / (km + x)


def branches(x, a, b):
    return np.where((x > 1) & (x < 2), a * x, b - x) + np.heaviside(x - a, 0.5)


def pieces(x, a, b):
    return np.piecewise(x, [x < 1, x > 2], [lambda t: a * t, lambda t: b * t, 0.5])


def overlapping_pieces(x, a, b):
    return np.piecewise(x, [x > 0.5, x > 1.5], [a, b])


def choices(x, a, b):
    return np.select([x < 1, x < 2], [a * x, b * x], default=x**2)


def clipped(x, a, b):
    return np.clip(a * x, 0.5, b) + (a * x).clip(max=2)


def polynomial(x, *p):
    return np.polyval(p, x)


def with_column(x, a, b):
    return a * COLUMN + b * x


def awkward_names(x, e, pi, lambda_, _inf, data):
    return e * x + pi * x**2 + lambda_ + _inf * np.exp(-data * x)


def exotic(x, a, b):
    u = np.arcsinh(a * x)
    return (
        u + np.cbrt(x - b) + np.hypot(a, x) + np.logaddexp(a * x, b) + np.exp2(-x) + np.sinc(b * x)
    )


def rounded(x, a, b):
    steps = np.floor(a * x) + np.ceil(b * x) + np.rint(x) + np.trunc(a - x) + np.sign(x - a)
    angles = np.arctan2(a - x, b - x) + np.arctanh(0.1 * x) + np.arccosh(1 + b * x)
    return steps + angles + np.remainder(x, a) + x // b


def special(x, a, b):
    s = pytest.importorskip("scipy.special")
    tails = s.erfcx(x) + s.erfinv(0.3 * x) + s.ndtr(a * x) + s.ndtri(0.3 * x)
    bessel = s.i0(x) + s.i0e(b * x) + s.i1(x) + s.j0(a * x) + s.j1(x)
    return tails + bessel + s.gamma(1 + a * x) + s.voigt_profile(x - a, b, 0.3)


def shared(x, a, b):
    u = (x - a) / b
    v = u
    for _ in range(200):
        v = 0.5 * v + u
    return np.exp(-(u**2)) + v


def swapped(x, a, b):
    return 2.0**x - a / (1 + b**x) + (-x) ** 2 + abs(x - a) + np.float64(3) * x + np.array(2.0) * x


class Curve:
    def __call__(self, x, a, b):
        return a + b * x

    def method(self, x, a, b):
        return a * np.sqrt(x) + b


def scaled(x, a, b, factor=1.0, *, power=2):
    return factor * a * x**power + b


@pytest.mark.parametrize(
    ("f", "theta"),
    [
        (saturating, [2.0, 0.7]),
        (branches, [1.1, 2.0]),
        (pieces, [1.1, 2.0]),
        (overlapping_pieces, [1.1, 2.0]),
        (choices, [1.1, 2.0]),
        (clipped, [1.1, 2.0]),
        (polynomial, [1.1, 2.0, -0.3]),
        (with_column, [1.1, 2.0]),
        (awkward_names, [1.0, 2.0, 3.0, 4.0, 0.5]),
        (exotic, [1.1, 2.0]),
        (rounded, [1.1, 2.0]),
        (special, [1.1, 2.0]),
        (shared, [1.1, 2.0]),
        (swapped, [1.1, 2.0]),
        (Curve(), [1.1, 2.0]),
        (Curve().method, [1.1, 2.0]),
        (scaled, [1.1, 2.0]),
        (functools.partial(scaled, factor=3.0, power=3), [1.1, 2.0]),
        (lambda x, a, b: a, [1.1, 2.0]),
    ],
    ids=lambda v: getattr(v, "__name__", None),
)
def test_the_formula_computes_what_the_function_does(f, theta):
    names = parameter_names(f, len(theta))
    made = of_function(f, X, X.size, names, theta)
    values, _ = made.pointwise(theta)
    want = np.broadcast_to(np.asarray(f(X, *theta), dtype=float), X.shape)
    np.testing.assert_allclose(values, want, rtol=1e-13, atol=1e-13)


def test_rows_of_x_are_columns():
    grid = np.array(np.meshgrid(np.linspace(0, 1, 5), np.linspace(0, 2, 4)))

    def plane(xy, a, b):
        x, y = xy
        return (a * x + b * y * xy[1]).ravel()

    made = of_function(plane, grid, 20, ["a", "b"], [2.0, 3.0])
    np.testing.assert_allclose(made.pointwise([2.0, 3.0])[0], plane(grid, 2.0, 3.0))


def test_partial_derivatives_are_exact():
    made = of_function(saturating, X, X.size, ["vmax", "km"], [2.0, 0.7])
    _, partials = made.pointwise([2.0, 0.7])
    np.testing.assert_allclose(partials[:, 0], X / (0.7 + X), rtol=1e-14)
    np.testing.assert_allclose(partials[:, 1], -2 * X / (0.7 + X) ** 2, rtol=1e-14)


def counted(x, a):
    return a * len(x)


def looped(x, a):
    return np.array([a * t for t in x])


def branching(x, a):
    return a * x if a > 0 else x


def by_whole(x, a):
    return int(a) * x


def accumulated(x, a):
    return a * np.cumsum(x)


def summed(x, a):
    return np.add.accumulate(a * x)


def of_the_largest(x, a):
    return (a * x)[3] * x


def asked_for_its_kind(x, a):
    return a * x if isinstance(x, np.ndarray) else a + x


def by_their_number(x, a):
    return a * x * x.shape[0] / 50 if x.size > 40 else x.size * a


def scaled_by_math(x, a, b):
    return math.exp(-a) * max(1e-15, b) * x


def of_numbers(x, a, b):
    return float(a) * np.exp(-x / max(1e-15, float(b))) + scaled_by_math(x, a, b=abs(b))


def of_an_array(x, *p):
    p = np.array(p).reshape(-1, 2)
    widths = np.sqrt(p[:, 1] ** 2)
    return sum(np.exp(-(x - c) ** 2 / w) for c, w in zip(p[:, 0], widths)) + np.sum(p)


@pytest.mark.parametrize("f", [of_numbers, of_an_array])
def test_pythons_own_functions_of_numbers_and_arrays_of_parameters_are_traced(f):
    x = np.linspace(0.1, 3, 40)
    made = of_function(f, x, 40, ["p0", "p1"], [1.5, 0.7])
    for theta in ([1.5, 0.7], [0.3, -0.4], [2.0, 1e-20]):
        np.testing.assert_allclose(made.pointwise(theta)[0], f(x, *theta), rtol=1e-12)


@pytest.mark.parametrize(
    ("f", "reason"),
    [
        (looped, "loops over the points"),
        (branching, "np.where"),
        (by_whole, "plain number"),
        (summed, "goes over the points"),
        (of_the_largest, "single points"),
        (asked_for_its_kind, "other values for arrays"),
        (lambda x, a: a * 1j * x, "complex"),
        (lambda x, a: a + np.ones((50, 2)), "shape"),
        (lambda x, a: unknown_name * x, "NameError"),  # noqa: F821
        (lambda x, a: sum(a * k for k in range(20_000)) * x, "20,000 operations"),
    ],
)
def test_what_has_no_formula_says_why(f, reason):
    with pytest.raises(Untraceable, match=reason):
        of_function(f, X, X.size, parameter_names(f, None), [1.0])


def of_all(x, a, b):
    table = np.interp(x, [0, 1, 3], [0, 2, 1]) + np.cumsum(x) + np.gradient(x, x) + x[3] * len(x)
    u = x - x.mean()
    u -= x.min()
    return a * table + b * u / x.max() + (a if x[0] > 0 else b) * (x @ x)


def by_columns(table, a, b):
    return a * table[:, 0] + b * np.sqrt(table[:, 1])


def by_parts(x, a, b):
    out = np.zeros_like(x)
    out[x > 1] = a * x[x > 1] ** 2
    out[~(x > 1)] = b
    out[:] = out + 1
    kept = out
    out += a
    q = b
    q *= 2
    other = kept.copy()
    other -= q
    return kept + other * b


def counted_truths(x, a, b):
    return a * ((x > 1) + (x > 2)) + b * ((x > 1) ^ (x > 2)) + ~(x > 2) + (a * x).astype(int)


def cut(x, a, b):
    return a * x.astype(np.float32) + b * np.zeros_like(x, dtype=int) + np.full_like(x > 1, 0.5)


@pytest.mark.parametrize("f", [of_all, by_columns, by_parts, counted_truths, cut])
def test_what_numpy_makes_of_x_alone_is_read_from_x(f):
    x = np.stack([X, X[::-1]], axis=1) if f is by_columns else X
    made = of_function(f, x.copy(), X.size, ["a", "b"], [1.0, 0.0])
    for theta in ([1.0, 0.0], [0.7, -2.2]):
        np.testing.assert_allclose(
            made.pointwise(theta)[0], f(x.copy(), *np.array(theta)), rtol=1e-13
        )


def test_a_formula_of_one_x_is_not_taken_for_another():
    def centred(x, a):
        return a * (x - x.mean()) + max(x)

    for x in (X, X**2):
        popt, _ = fz.curve_fit(centred, x, centred(x, 3.0), p0=[1.0])
        np.testing.assert_allclose(popt, 3.0)
    with pytest.raises(Untraceable, match="row for each"):
        fz.CurveFit(centred).fit_many(np.stack([X, X**2]), np.stack([X, X**2]))
    found = fz.CurveFit(centred).fit(X, centred(X, 3.0))
    np.testing.assert_allclose(found.predict(X**2).value, centred(X**2, 3.0))


def test_a_table_of_columns_can_be_predicted_at():
    x = np.stack([X, X[::-1]], axis=1)
    found = fz.CurveFit(by_columns).fit(x, by_columns(x, 2.0, 3.0), p0=[1, 1])
    np.testing.assert_allclose(found.predict(x[:7]).value, by_columns(x[:7], 2.0, 3.0))


def test_x_is_as_it_was_after_a_function_that_changes_it():
    def changing(x, a, b):
        x -= 1
        return np.array([a * v + b for v in x])

    x = X.copy()
    with pytest.warns(fz.UntracedWarning, match="x in place"):
        popt, _ = fz.curve_fit(changing, x, 2 * (X - 1) + 3, p0=[1, 1])
    np.testing.assert_array_equal(x, X)
    np.testing.assert_allclose(popt, [2, 3], rtol=1e-6)


def test_a_branch_on_the_number_of_points_is_kept():
    made = of_function(by_their_number, X, X.size, ["a"], [2.0])
    np.testing.assert_allclose(made.pointwise([2.0])[0], by_their_number(X, 2.0))


def test_errors_of_the_function_come_out():
    def broken(x, a):
        raise KeyError("broken")

    with pytest.raises(KeyError, match="broken"):
        fz.curve_fit(broken, X, X)


def test_names_that_the_language_needs_are_renamed():
    found = trace(awkward_names, X, X.size, parameter_names(awkward_names, None))
    assert len(set(found.parameters)) == 5
    popt, _ = fz.curve_fit(awkward_names, X, awkward_names(X, 1.0, 2.0, 3.0, 4.0, 0.5), p0=[1] * 5)
    assert (
        np.max(np.abs(awkward_names(X, *popt) - awkward_names(X, 1.0, 2.0, 3.0, 4.0, 0.5))) < 1e-8
    )


def test_jax_functions_are_traced():
    jax = pytest.importorskip("jax")
    jnp = jax.numpy

    def decay(x, a, b, c):
        return a * jnp.exp(-b * x) + jnp.where(x > 1, c, jax.nn.sigmoid(c * x))

    def numpy_decay(x, a, b, c):
        return a * np.exp(-b * x) + np.where(x > 1, c, 1 / (1 + np.exp(-c * x)))

    for f in (decay, jax.jit(decay)):
        made = of_function(f, X, X.size, ["a", "b", "c"], [2.0, 1.0, 0.5])
        want = numpy_decay(X, 2.0, 1.0, 0.5)
        np.testing.assert_allclose(made.pointwise([2.0, 1.0, 0.5])[0], want, rtol=1e-12)
