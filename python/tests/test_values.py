"""Curves: data and values with several axes, complex numbers, functions without a value."""

from __future__ import annotations

import numpy as np
import pytest

import fitzroy as fz

rng = np.random.default_rng(3)
GRID = np.array(np.meshgrid(np.linspace(0, 1, 8), np.linspace(0, 2, 5)))
SHEET = 3 * GRID[0] - GRID[1] + rng.normal(0, 0.1, GRID[0].shape)
X = np.linspace(0, 1, 20)
Y = 2 * X + 1 + rng.normal(0, 0.1, 20)


def plane(xy, a, b):
    return a * xy[0] + b * xy[1]


def called_plane(xy, a, b):
    return plane(xy, a, b) if a > -100 else plane(xy, a, -b)


def column(x, a, b):
    return np.array([[a * t + b] for t in x])


def exact(columns, y):
    return np.linalg.lstsq(np.stack([np.ravel(c) for c in columns], axis=1), np.ravel(y))[0]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("f", [plane, called_plane])
def test_data_with_several_axes_are_fitted_point_by_point(f):
    want = exact(GRID, SHEET)
    weights = np.ones(SHEET.shape)
    for y in (SHEET, SHEET.ravel()):
        np.testing.assert_allclose(fz.curve_fit(f, GRID, y)[0], want, rtol=1e-6)
        np.testing.assert_allclose(fz.CurveFit(f).fit(GRID, y).popt, want, rtol=1e-6)
    np.testing.assert_allclose(fz.curve_fit(f, GRID, SHEET, sigma=weights)[0], want, rtol=1e-6)


@pytest.mark.filterwarnings("ignore")
def test_a_column_of_values_is_not_repeated_beside_the_points():
    want = exact((X, np.ones(20)), Y)
    for y in (Y, Y[:, None]):
        np.testing.assert_allclose(fz.curve_fit(column, X, y, p0=[1, 1])[0], want, rtol=1e-6)
        found = fz.CurveFit(column).fit(X, y, p0=[1, 1])
        assert found.n == 20
        np.testing.assert_allclose(found.popt, want, rtol=1e-6)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("f", [plane, called_plane])
def test_values_in_another_order_are_refused(f):
    for fit in (fz.curve_fit, lambda f, x, y: fz.CurveFit(f).fit(x, y)):
        with pytest.raises(ValueError, match="shape"):
            fit(lambda xy, a, b: f(xy, a, b).T, GRID, SHEET)


@pytest.mark.filterwarnings("ignore")
def test_complex_numbers_are_refused_with_what_to_do():
    def wave(x, a, b):
        return a * np.exp(1j * b * x)

    z = wave(X, 2, 1)
    for fit in (fz.curve_fit, lambda f, x, y, p0: fz.CurveFit(f).fit(x, y, p0=p0)):
        with pytest.raises(TypeError, match="`ydata` is complex.*concatenate"):
            fit(wave, X, z, p0=[1, 1])
        with pytest.raises(TypeError, match="`xdata` is complex"):
            fit(lambda s, a, b: np.abs(a / (1 + b * s)), 1j * X, np.abs(z), p0=[1, 1])
        with pytest.raises(TypeError, match="gives complex numbers"):
            fit(wave, X, z.real, p0=[1, 1])

    def parts(x, a, b):
        f = wave(x, a, b)
        return np.concatenate([f.real, f.imag])

    found, _ = fz.curve_fit(parts, X, np.concatenate([z.real, z.imag]), p0=[1, 1.5])
    np.testing.assert_allclose(found, [2, 1], rtol=1e-6)
    # Real numbers that happen to be stored as complex ones lose nothing.
    np.testing.assert_allclose(
        fz.curve_fit(lambda x, a, b: a * x + b, X, Y.astype(complex))[0],
        exact((X, np.ones(20)), Y),
    )


@pytest.mark.filterwarnings("ignore")
def test_a_function_without_a_value_is_told_so():
    with pytest.raises(TypeError, match="returns None"):
        fz.curve_fit(lambda x, a, b: None, X, Y)


def test_the_reason_why_a_function_is_called_is_one_sentence():
    with pytest.warns(fz.UntracedWarning, match=r"sequence\. It is called"):
        fz.curve_fit(lambda x, a: np.float64(a), X, Y)
