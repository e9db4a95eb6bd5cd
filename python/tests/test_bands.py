"""Bands of a fit: against their formula, and against how often observations fall into them."""

import numpy as np
import pytest

import fitzroy as fz

stats = pytest.importorskip("scipy.stats")
optimize = pytest.importorskip("scipy.optimize")


def _decay(x, a, b, c):
    return a * np.exp(-b * x) + c


TRUE = (2.5, 1.3, 0.5)
SIGMAS = {
    "none": None,
    "one": 0.1,
    "each": np.linspace(0.05, 0.2, 200),
    "relative": 7.0,
}


def _data(sigma, scale, seed=0):
    rng = np.random.default_rng(seed)
    x = np.linspace(0, 4, 200)
    noise = 0.1 if sigma is None or np.size(sigma) == 1 else sigma
    return x, scale * (_decay(x, *TRUE) + noise * rng.normal(size=x.size)), rng


@pytest.mark.parametrize("absolute", [False, True])
@pytest.mark.parametrize("scale", [1.0, 1000.0])
@pytest.mark.parametrize("name", list(SIGMAS))
@pytest.mark.parametrize("curve", [_decay, "a*exp(-b*x)+c"])
def test_bands_are_those_of_the_formula(curve, name, scale, absolute):
    sigma = SIGMAS[name]
    x, y, _ = _data(sigma, scale)
    given = None if sigma is None else np.broadcast_to(sigma, x.shape) * scale
    made = fz.CurveFit(curve).fit(x, y, sigma=given, absolute_sigma=absolute)
    popt, pcov = optimize.curve_fit(
        _decay, x, y, p0=np.multiply(TRUE, (scale, 1, scale)), sigma=given, absolute_sigma=absolute
    )
    new = np.array([0.5, 2.0, 3.5])
    order = [made.names.index(k) for k in "abc"]
    np.testing.assert_allclose(made.popt[order], popt, rtol=1e-4)
    partials = np.stack([
        np.exp(-popt[1] * new), -popt[0] * new * np.exp(-popt[1] * new), np.ones(3)
    ], axis=1)
    variance = np.einsum("ij,jk,ik->i", partials, pcov, partials)
    weights = 1.0 if given is None else 1 / given
    reduced = np.sum(((y - _decay(x, *popt)) * weights) ** 2) / (x.size - 3)
    t = stats.norm.ppf(0.975) if absolute else stats.t.ppf(0.975, x.size - 3)
    for own, asked in ((None, None), (0.3 * scale, 0.3 * scale), (scale * new, scale * new)):
        if own is None:
            own = 1.0 if given is None else np.sqrt(np.mean(given**2))
        found = made.predict(new, sigma=asked, confidence=0.95)
        spread = np.square(own) * (1.0 if absolute else reduced)
        half = (found.upper - found.lower) / 2
        wide = (found.prediction_upper - found.prediction_lower) / 2
        np.testing.assert_allclose(half, t * np.sqrt(variance), rtol=1e-3)
        np.testing.assert_allclose(wide, t * np.sqrt(variance + spread), rtol=1e-3)


@pytest.mark.parametrize("sigma", [None, 0.1])
def test_new_observations_fall_into_their_band_as_often_as_it_says(sigma):
    x, y, rng = _data(sigma, 1000.0)
    given = None if sigma is None else sigma * 1000
    made = fz.CurveFit(_decay).fit(x, y, sigma=given, absolute_sigma=sigma is not None)
    new = 1000 * (_decay(0.5, *TRUE) + 0.1 * rng.normal(size=100_000))
    band = made.predict([0.5])
    inside = np.mean((new > band.prediction_lower) & (new < band.prediction_upper))
    assert abs(inside - 0.95) < 0.03


def test_points_in_other_forms_and_what_is_refused():
    x, y, _ = _data(None, 1.0)
    made = fz.CurveFit(_decay).fit(x, y)
    assert made.predict(0.5).value == made.predict([0.5]).value
    of_time = fz.CurveFit("a*exp(-b*t)+c").fit({"t": x}, y)
    assert of_time.predict([0.5]).value == of_time.predict({"t": [0.5]}).value
    for confidence in (95, 0, -0.5, np.nan):
        with pytest.raises(ValueError, match="confidence="):
            made.predict([0.5], confidence=confidence)
    with pytest.raises(ValueError, match="sigma: 2 for 3 points"):
        made.predict([0.5, 1, 2], sigma=[1, 2])
    with pytest.raises(ValueError, match="covariance matrix"):
        fz.CurveFit(_decay).fit(x, y, sigma=np.eye(x.size))
    for fixed in ({"a": 1, "b": 1, "c": 0},):
        with pytest.raises(ValueError, match="no parameter of the function is left"):
            fz.CurveFit(_decay).fit(x, y, fixed=fixed)
