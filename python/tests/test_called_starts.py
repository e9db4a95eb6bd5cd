"""Functions that cannot be traced, without starting values: the right minimum, or a warning."""

import warnings

import numpy as np
import pytest
from scipy.optimize import least_squares

import fitzroy as fz

pytestmark = pytest.mark.once


def peak(x, a, m, s, b):
    return a * np.exp(-0.5 * ((x - m) / s) ** 2) + b


def decay(x, a, t, c):
    return a * np.exp(-x / t) + c


def logistic(x, top, m, w):
    return top / (1 + np.exp(-(x - m) / w))


def saturation(x, v, k):
    return v * x / (k + x)


def hill(x, top, k, n):
    return top * x**n / (k**n + x**n)


def power(x, a, n, c):
    return a * x**n + c


def weibull(x, a, t, k):
    return a * (1 - np.exp(-((x / t) ** k)))


def wave(x, a, w, p, c):
    return a * np.sin(w * x + p) + c


def lorentz(x, a, m, g, b):
    return a * g**2 / ((x - m) ** 2 + g**2) + b


#: Shapes, with true values in units of the largest x and of the size of y.
SHAPES = {
    peak: lambda X, Y, u: (Y * u(0.5, 2), X * u(0.3, 0.7), X * u(0.05, 0.2), Y * u(-1, 1)),
    decay: lambda X, Y, u: (Y * u(0.5, 2), X * u(0.1, 0.5), Y * u(-1, 1)),
    logistic: lambda X, Y, u: (Y * u(0.5, 2), X * u(0.3, 0.7), X * u(0.03, 0.15)),
    saturation: lambda X, Y, u: (Y * u(0.5, 2), X * u(0.1, 0.6)),
    hill: lambda X, Y, u: (Y * u(0.5, 2), X * u(0.2, 0.6), u(1, 4)),
    power: lambda X, Y, u: (Y * u(0.5, 2) / X ** (n := u(0.4, 2.5)), n, Y * u(-1, 1)),
    weibull: lambda X, Y, u: (Y * u(0.5, 2), X * u(0.2, 0.6), u(0.8, 3)),
    wave: lambda X, Y, u: (Y * u(0.5, 2), u(4, 20) / X, u(-1, 1), Y * u(-1, 1)),
    lorentz: lambda X, Y, u: (Y * u(0.5, 2), X * u(0.3, 0.7), X * u(0.03, 0.1), Y * u(-1, 1)),
}


def called(f):
    """`f` as one that cannot be traced."""
    names = f.__code__.co_varnames[: f.__code__.co_argcount]
    scope = {"f": f}
    given = ", ".join(names)
    text = f"def g({given}):\n    return f({given}) if {names[1]} > -1e300 else f({given})"
    exec(text, scope)
    return scope["g"]


def test_without_starts_the_right_minimum_is_found_or_a_warning_says_that_it_is_not():
    chance = np.random.default_rng(61)
    right, silent, n_fits = 0, [], 0
    for f, truth in SHAPES.items():
        for _ in range(4):
            X, Y = 10 ** chance.uniform(-3, 4), 10 ** chance.uniform(-4, 6)
            x = np.sort(X * chance.uniform(0.01, 1, 60))
            true = truth(X, Y, chance.uniform)
            y = f(x, *true) + 0.02 * Y * chance.standard_normal(x.size)
            size = np.abs(true)
            lowest = least_squares(lambda q: (f(x, *(q * size)) - y) / Y, true / size).cost
            with warnings.catch_warnings(record=True) as said, np.errstate(all="ignore"):
                warnings.simplefilter("always")
                try:
                    popt, _ = fz.curve_fit(called(f), x, y)
                    cost = 0.5 * np.sum(((f(x, *popt) - y) / Y) ** 2)
                except RuntimeError:
                    cost = np.inf
            kinds = {w.category for w in said} - {fz.UntracedWarning}
            n_fits += 1
            right += bool(cost < lowest * (1 + 1e-6))
            if np.isfinite(cost) and not cost < lowest * (1 + 1e-6) and not kinds:
                silent.append((f.__name__, true, popt))
    assert silent == []
    assert right >= 0.9 * n_fits, (right, n_fits)


def test_a_curve_that_misses_something_is_in_doubt_though_its_function_was_called():
    chance = np.random.default_rng(62)
    x = np.linspace(0, 10, 80)
    y = np.sin(x) + 0.05 * chance.standard_normal(x.size)
    line = called(lambda x, a, b: a + b * x)
    with pytest.warns(fz.DoubtWarning, match="the residuals are patterned and the curve tells"):
        fz.curve_fit(line, x, y, p0=[1, 0])
    found = fz.CurveFit(line).fit(x, y, p0=[1, 0])
    assert found.doubts == "the residuals are patterned and the curve tells little of the response"
    # With errors of their own size nothing speaks against the right curve.
    with warnings.catch_warnings():
        warnings.simplefilter("error", fz.DoubtWarning)
        warnings.simplefilter("ignore", fz.UntracedWarning)
        fz.curve_fit(called(lambda x, a, w: a * np.sin(w * x)), x, y, p0=[1, 1.01])


def test_without_a_value_at_ones_another_start_is_found():
    x = np.linspace(1, 20, 40)
    y = 3 * np.log(x + 7.5)
    positive = called(lambda x, a, c: a * np.log(x - (c - 8.5) * 1.0 - 2 * x[0]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        popt, _ = fz.curve_fit(positive, x, y)
    np.testing.assert_allclose(popt, [3, -1.0], rtol=1e-6)


def test_an_error_of_the_function_itself_is_the_users_own():
    def broken(x, a, b):
        if a > -1e300:
            raise TypeError("no such thing")
        return a + b * x

    with pytest.raises(TypeError, match="no such thing"):
        fz.curve_fit(broken, np.arange(5.0), np.arange(5.0))
