"""`CurveFit`: estimates, bands, formulas, many fits."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest

import fitzroy as fz


def decay(x, a, b, c):
    return a * np.exp(-b * x) + c


X = np.linspace(0, 4, 60)
Y = decay(X, 2.0, 1.3, 0.5) + 0.1 * np.random.default_rng(1).normal(size=60)


def test_an_estimate_unpacks_and_names_its_parameters():
    found = fz.CurveFit(decay).fit(X, Y)
    popt, pcov = found
    assert found.names == ["a", "b", "c"] and list(found.params) == found.names
    np.testing.assert_array_equal(np.sqrt(np.diag(pcov)), found.se)
    assert found.converged and found.covariance_status == "ok" and len(found) == 2
    assert np.all(found.ci[:, 0] < popt) and np.all(popt < found.ci[:, 1])
    assert "converged" in repr(found) and "<table>" in found._repr_html_()


def test_functions_and_formulas_agree():
    one = fz.CurveFit(decay).fit(X, Y)
    two = fz.CurveFit("a*exp(-b*t)+c").fit({"t": X}, Y)
    np.testing.assert_allclose(one.popt, two.popt, rtol=1e-9)
    np.testing.assert_allclose(one.pcov, two.pcov, rtol=1e-7)


def test_bands_are_those_of_the_delta_method():
    found = fz.CurveFit(decay).fit(X, Y)
    at = np.array([0.5, 1.0])
    a, b, _ = found.popt
    slopes = np.stack([np.exp(-b * at), -a * at * np.exp(-b * at), np.ones(2)], 1)
    want = np.sqrt(np.einsum("ij,jk,ik->i", slopes, found.pcov, slopes))
    band = found.predict(at)
    np.testing.assert_allclose(band.se, want, rtol=1e-10)
    np.testing.assert_allclose(band.value, decay(at, *found.popt))
    assert np.all(band.prediction_lower < band.lower)
    called = fz.CurveFit(lambda x, a, b, c: decay(np.array([v * a for v in x]) / a, a, b, c))
    with pytest.warns(fz.UntracedWarning):
        other = called.fit(X, Y, p0=[1.5, 1.0, 0.3])
    np.testing.assert_allclose(other.predict(at).se, want, rtol=1e-5)
    np.testing.assert_allclose(other.ci, found.ci, rtol=1e-5)


def test_estimates_are_pickled_with_their_curve():
    found = pickle.loads(pickle.dumps(fz.CurveFit(decay).fit(X, Y)))
    np.testing.assert_allclose(found.predict(X[:2]).value, decay(X[:2], *found.popt))
    found = pickle.loads(pickle.dumps(fz.CurveFit("a*exp(-b*x)+c").fit(X, Y)))
    np.testing.assert_allclose(found.predict(X[:2]).value, decay(X[:2], *found.popt))


def test_parameters_are_given_by_name():
    fitter = fz.CurveFit("a*exp(-b*x)+c")
    found = fitter.fit(X, Y, p0={"a": 1, "b": 1, "c": 0}, bounds={"c": (0, 0.3)})
    assert found.params["c"] == 0.3 and np.isnan(found.se[2])
    assert "c is at its upper bound" in found.findings[0]
    held = fitter.fit(X, Y, fixed={"c": 0.4})
    assert held.names == ["a", "b"]
    np.testing.assert_allclose(held.predict(X[:1]).value, held.params["a"] + 0.4)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (dict(p0={"a": 1}), "no value for b, c"),
        (dict(p0={"z": 1}), "p0 names z"),
        (dict(p0=[1, 2]), "p0 needs 3 values"),
        (dict(bounds={"z": (0, 1)}), "bounds names z"),
        (dict(loss="absolute"), "loss='absolute' is not known"),
        (dict(method="newton"), "method='newton' is not known"),
        (dict(fixed={"z": 1.0}), "fixed names z; the parameters are a, b, c"),
        (dict(confidence=2.0), "probability between 0 and 1"),
    ],
)
def test_what_is_wrong_is_named(given, words):
    with pytest.raises(ValueError, match=words):
        fz.CurveFit(decay).fit(X, Y, **given)


def test_hints_say_start_bounds_and_what_is_held():
    fitter = fz.CurveFit(decay)
    want = fz.CurveFit("a*exp(-b*x)+c").fit(X, Y, fixed={"c": 0.4}, bounds={"b": (0, 9)})
    hints = {"a": 2, "b": {"value": 1, "min": 0, "max": 9}, "c": {"value": 0.4, "vary": False}}

    class Parameter:  # lmfit's
        def __init__(self, value, vary=True, min=-np.inf, max=np.inf, expr=None):
            self.value, self.vary, self.min, self.max, self.expr = value, vary, min, max, expr

    lmfit = {"a": Parameter(2), "b": Parameter(1, min=0, max=9), "c": Parameter(0.4, vary=False)}
    hinted = fz.CurveFit(decay)
    hinted.set_param_hint("b", min=0, max=9)
    hinted.set_param_hint("c", value=0.4, vary=False)
    for found in [
        fitter.fit(X, Y, p0=hints),
        fitter.fit(X, Y, p0=lmfit),
        fitter.fit(X, Y, fixed={"c": 0.4}),
        hinted.fit(X, Y),
        pickle.loads(pickle.dumps(hinted)).fit(X, Y, p0={"a": {"value": 3}}),
        pickle.loads(pickle.dumps(hinted.fit(X, Y))),
    ]:
        assert found.names == ["a", "b"] and found.fixed == {"c": 0.4}
        np.testing.assert_allclose(found.popt, want.popt, rtol=1e-8)
        np.testing.assert_allclose(found.se, want.se, rtol=1e-6)
        np.testing.assert_allclose(found.predict(X[:3]).se, want.predict(X[:3]).se, rtol=1e-6)
        assert "c is held at 0.4" in repr(found) and "held" in found._repr_html_()
    hinted.set_param_hint("c", vary=True, max=0.3)
    assert hinted.fit(X, Y).params["c"] == 0.3
    many = fitter.fit_many(X, np.stack([Y, Y]), p0=hints)
    np.testing.assert_allclose(many.popt, [want.popt] * 2, rtol=1e-6)
    for bad, words in [
        ({"a": {"start": 1}}, "has start; what it may have is value, min, max, vary"),
        ({"z": {"value": 1}}, "p0 names z"),
        ({"a": Parameter(1, expr="2*b")}, "tied by an expression"),
        ({"a": {"vary": False}}, "held and has no value"),
    ]:
        with pytest.raises(ValueError, match=words):
            fitter.fit(X, Y, p0=bad)


def test_the_curve_and_its_band_are_drawn():
    figure = pytest.importorskip("matplotlib.figure")
    ax = figure.Figure().add_subplot()
    found = fz.CurveFit(decay).fit(X, Y)
    assert found.plot(X[::-1], Y[::-1], ax=ax) is ax
    points, curve = ax.lines
    np.testing.assert_allclose(curve.get_ydata(), decay(X, *found.popt))
    np.testing.assert_allclose(points.get_xdata(), X[::-1])
    assert len(ax.collections) == 1


def test_points_with_gaps_are_refused_or_left_out():
    gaps = np.isin(np.arange(60), [3, 17, 40])
    y, x, sigma = Y.copy(), X.copy(), np.full(60, 0.1)
    y[3], x[17], sigma[40] = np.nan, np.nan, np.nan
    want = fz.CurveFit(decay).fit(X[~gaps], Y[~gaps], 0.1)
    with pytest.raises(ValueError, match="row 4.*nan_policy='omit'"):
        fz.CurveFit(decay).fit(X, y)
    for curve, at in [
        (decay, x),
        (decay, list(x)),
        ("a*exp(-b*x)+c", x),
        ("a*exp(-b*x)+c", {"x": x}),
    ]:
        found = fz.CurveFit(curve).fit(at, y, sigma, nan_policy="omit")
        assert found.n == 57
        np.testing.assert_allclose(found.popt, want.popt, rtol=1e-9)
    # What is masked is missing, and not what stands below the mask.
    masked = np.ma.array(Y, mask=gaps)
    found = fz.CurveFit(decay).fit(np.ma.array(X), masked, 0.1, nan_policy="omit")
    np.testing.assert_allclose(found.popt, want.popt, rtol=1e-9)
    np.testing.assert_allclose(fz.curve_fit(decay, X, masked, nan_policy="omit")[0], want.popt)
    with pytest.raises(ValueError, match="must not contain infs or NaNs"):
        fz.curve_fit(decay, X, masked)
    rows = np.ma.stack([masked, np.ma.array(Y)])
    with pytest.warns(UserWarning, match="1 of 2 fits have points with NaN, the first is fit 0"):
        many = fz.CurveFit(decay).fit_many(X, rows, p0=[2, 1, 0])
    assert list(many.converged) == [False, True]
    with pytest.raises(ValueError, match="nan_policy='drop' is not known"):
        fz.CurveFit(decay).fit(X, Y, nan_policy="drop")


@pytest.mark.parametrize("curve", [decay, "a*exp(-b*x)+c"], ids=["function", "formula"])
def test_many_fits_leave_gaps_out_as_single_ones(curve):
    rng = np.random.default_rng(5)
    errors = rng.uniform(0.01, 0.03, (40, Y.size))
    rows = decay(X, 2.5, 1.3, 0.5) + errors * rng.normal(size=errors.shape)
    rows[rng.random(rows.shape) < 0.1] = np.nan
    errors[3, 4] = np.nan
    rows[7] = np.nan
    rows[8, 2:] = np.nan
    fitter, options = fz.CurveFit(curve), {"p0": [2, 1, 0], "absolute_sigma": True}
    many = fitter.fit_many(X, rows, errors, nan_policy="omit", **options)
    assert np.flatnonzero(~many.converged).tolist() == [7, 8]
    assert many.status[7] == many.status[8] == "too_few_rows"
    assert np.isnan(many.popt[7:9]).all()
    for k in [*range(7), *range(9, 40)]:
        one = fitter.fit(X, rows[k], errors[k], nan_policy="omit", **options)
        np.testing.assert_allclose(many.popt[k], one.popt, rtol=1e-6)
        np.testing.assert_allclose(many.se[k], np.sqrt(np.diag(one.pcov)), rtol=1e-4)
    with pytest.raises(ValueError, match="40 of 40 fits have points with NaN|nan_policy='omit'"):
        fitter.fit_many(X, rows, errors, nan_policy="raise", **options)
    with pytest.raises(ValueError, match="nan_policy='drop' is not known"):
        fitter.fit_many(X, rows, errors, nan_policy="drop", **options)


def test_many_fits_are_shown_as_a_table():
    many = fz.CurveFit(decay).fit_many(X, np.stack([Y] * 12), p0=[2, 1, 0])
    page = many._repr_html_()
    assert page.count("<tr>") == 11 and "and 2 more" in page and "12 converged" in page
    frame = pytest.importorskip("pandas") and many.to_dataframe()
    columns = "a b c a_se b_se c_se chi2 converged status doubts".split()
    assert list(frame.columns) == columns
    np.testing.assert_array_equal(frame["b"], many.popt[:, 1])


def test_curves_of_the_wrong_kind_are_refused():
    with pytest.raises(TypeError, match="a function or a formula"):
        fz.CurveFit(3)
    with pytest.raises(ValueError, match="row 3"):
        fz.CurveFit(decay).fit(X, np.where(np.arange(60) == 2, np.nan, Y))


def test_pandas_polars_and_lists_are_columns():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    want = fz.CurveFit("a*exp(-b*x)+c").fit(X, Y).popt
    for x, y in [
        (pd.DataFrame({"x": X, "y": Y}), pd.Series(Y)),
        (pl.DataFrame({"x": X}), pl.Series(Y)),
        (list(X), list(Y)),
    ]:
        np.testing.assert_array_equal(fz.CurveFit("a*exp(-b*x)+c").fit(x, y).popt, want)
    np.testing.assert_array_equal(
        fz.curve_fit(decay, pd.Series(X), pd.Series(Y))[0], fz.curve_fit(decay, X, Y)[0]
    )


def test_functions_of_data_frames_are_called_with_them():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"t": X})

    def of_frame(x, a, b, c):
        return decay(x["t"].values, a, b, c)

    def of_series(x, a, b, c):
        return decay(x.values, a, b, c)

    want = fz.curve_fit(decay, X, Y, p0=[1, 1, 0])[0]
    for f, x in [(of_frame, frame), (of_series, frame["t"])]:
        with pytest.warns(fz.UntracedWarning):
            np.testing.assert_allclose(fz.curve_fit(f, x, Y, p0=[1, 1, 0])[0], want, rtol=1e-6)


def test_many_fits_are_those_made_one_by_one():
    r = np.random.default_rng(3)
    theta = np.stack([r.uniform(1, 3, 40), r.uniform(0.5, 2, 40), r.uniform(-1, 1, 40)], 1)
    many_y = np.stack([decay(X, *t) for t in theta]) + 0.05 * r.normal(size=(40, 60))
    fitter = fz.CurveFit(decay)
    many = fitter.fit_many(X, many_y, p0=[2, 1, 0])
    assert many.converged.all() and len(many) == 40
    for k in range(0, 40, 7):
        one = fitter.fit(X, many_y[k], p0=[2, 1, 0])
        np.testing.assert_allclose(many.popt[k], one.popt, rtol=1e-6)
        np.testing.assert_allclose(many.se[k], one.se, rtol=1e-4)
    weighted = fitter.fit_many(X, many_y, sigma=0.05, absolute_sigma=True, p0=[2, 1, 0])
    one = fitter.fit(X, many_y[7], sigma=0.05, absolute_sigma=True, p0=[2, 1, 0])
    np.testing.assert_allclose(weighted.se[7], one.se, rtol=1e-4)


def test_many_fits_say_what_speaks_against_each():
    r = np.random.default_rng(5)
    x = np.linspace(0, 6, 60)
    rows = 3 * np.exp(-x) + 0.02 * r.normal(size=(200, 60))
    fitter = fz.CurveFit("a*exp(-b*x)")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        right = fitter.fit_many(x, rows)
    assert right.converged.all() and sum(map(bool, right.doubts)) <= 4
    # A level that the curve lacks.
    rows[::4] += 1.0
    with pytest.warns(fz.DoubtWarning, match="see `doubts`"):
        some = fitter.fit_many(x, rows)
    assert some.converged.all() and all(some.doubts[::4])
    assert sum(map(bool, some.doubts)) <= 54
    for k in range(0, 200, 20):
        assert (fitter.fit(x, rows[k]).doubts or "") == some.doubts[k]
    assert "in doubt" in repr(some) and "patterned" in some._repr_html_()
    assert list(some.to_dataframe()["doubts"]) == some.doubts


def test_a_start_that_stayed_a_guess_is_said():
    r = np.random.default_rng(8)
    x = np.linspace(0, 10, 200)
    y = 2.0 + 3.0 * x + 0.1 * r.normal(size=200)
    peak = lambda x, a, m, s, b, c: b * x + c + a * np.exp(-(((x - m) / s) ** 2))
    with pytest.warns(fz.DoubtWarning, match="its start is a guess; give starting values .p0."):
        fz.curve_fit(peak, x, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fz.curve_fit(peak, x, y + 3 * np.exp(-((x - 4) ** 2)))


def test_a_fit_of_many_that_fails_is_a_row_of_nan():
    many_y = np.stack([Y, np.full(60, np.nan), Y])
    many = fz.CurveFit(decay).fit_many(X, many_y, p0=[2, 1, 0])
    assert list(many.converged) == [True, False, True]
    assert np.isnan(many.popt[1]).all() and np.isfinite(many.popt[[0, 2]]).all()


def test_many_fits_may_have_their_own_x():
    xs = np.stack([X, X + 0.5])
    ys = decay(xs, 2.0, 1.0, 0.5)
    many = fz.CurveFit(decay).fit_many(xs, ys, p0=[1.5, 0.8, 0.3])
    np.testing.assert_allclose(many.popt, [[2.0, 1.0, 0.5]] * 2, rtol=1e-7)
    with pytest.raises(ValueError, match="two axes"):
        fz.CurveFit(decay).fit_many(X, Y)
    with pytest.raises(ValueError, match="points"):
        fz.CurveFit("a*x+b").fit_many(X[:5], ys)


def test_starts_are_found_where_ones_do_not_lead():
    y = 2.0 * np.sin(3.1 * X + 0.4)
    popt, _ = fz.curve_fit(lambda x, a, f, phase: a * np.sin(f * x + phase), X, y)
    np.testing.assert_allclose(popt, [2.0, 3.1, 0.4], rtol=1e-6)


def test_findings_name_arguments_of_python():
    x = np.linspace(0, 1, 50)
    fit = fz.CurveFit("a*x + b + 0*c").fit(x, 2 * x + 1)
    assert any("fix" in finding for finding in fit.findings), fit.findings
    assert not any("--" in f or "⟨" in f for f in fit.findings)


def test_the_formula_of_a_table_is_that_of_its_fit():
    def plane(x, a, b):
        return a * x[:, 0] + b * x[:, 1]

    table = np.random.default_rng(1).normal(size=(30, 2))
    fitter = fz.CurveFit(plane)
    assert fitter.formula(table) == fitter.fit(table, plane(table, 2.0, 3.0)).formula
    with pytest.raises(fz.Untraceable):
        fz.CurveFit(lambda x, a: int(a) * x[:, 0]).formula(table)


def test_a_curve_that_does_not_describe_its_data_is_in_doubt():
    x = np.linspace(0, 10, 200)
    y = np.sin(3 * x) + 0.05 * np.random.default_rng(2).normal(size=200)

    def wave(x, a, w, p):
        return a * np.sin(w * x + p)

    with pytest.warns(fz.DoubtWarning, match="residuals are patterned"):
        popt, _ = fz.curve_fit(wave, x, y, p0=[1.0, 0.7, 0.0])
    assert abs(popt[1] - 3) > 1  # a start that was given is kept to
    found = fz.CurveFit(wave).fit(x, y, p0=[1.0, 0.7, 0.0])
    assert "patterned" in found.doubts and "patterned" in repr(found) and found.findings
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        popt, _ = fz.curve_fit(wave, x, y)
        assert abs(abs(popt[1]) - 3) < 0.05
        assert not fz.CurveFit(wave).fit(x, y).doubts


def test_voigt_profiles_of_scipy_are_traced():
    special = pytest.importorskip("scipy.special")
    x = np.linspace(-5, 5, 150)
    truth = [3.0, 0.4, 0.8, 0.5]

    def line(x, area, x0, sigma, gamma):
        return area * special.voigt_profile(x - x0, sigma, gamma)

    y = line(x, *truth) + 0.01 * np.random.default_rng(3).normal(size=150)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        popt, pcov = fz.curve_fit(line, x, y)
    np.testing.assert_array_less(np.abs(popt - truth), 5 * np.sqrt(np.diag(pcov)))


def test_a_poor_minimum_near_p0_is_left_for_a_lower_one_only_if_that_is_asked_for():
    def wave(x, a, w, c):
        return a * np.sin(w * x) + c

    rng = np.random.default_rng(4)
    x = np.linspace(0, 10, 300)
    y = wave(x, 2.0, 3.1, 0.5) + 0.1 * rng.normal(size=x.size)
    p0 = [1.0, 1.2, 0.0]
    scipy_optimize = pytest.importorskip("scipy.optimize")
    with pytest.warns(fz.DoubtWarning, match="restart=True"):
        near, _ = fz.curve_fit(wave, x, y, p0=p0)
    np.testing.assert_allclose(near, scipy_optimize.curve_fit(wave, x, y, p0)[0], rtol=1e-4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lower, _ = fz.curve_fit(wave, x, y, p0=p0, restart=True)
    np.testing.assert_allclose(lower, [2.0, 3.1, 0.5], atol=0.05)
    found = fz.CurveFit(wave).fit(x, y, p0=p0, restart=True)
    np.testing.assert_allclose(found.popt, lower, rtol=1e-7)
    assert not found.doubts and "lower minimum" in found.findings[0]
