"""`fitzroy.lmfit`: the names of lmfit, its signatures and results."""

from __future__ import annotations

import doctest
import importlib
import os
import pickle
import re

import numpy as np
import pytest
from random_lmfit import drawn

import fitzroy.lmfit as lmfit
from fitzroy.lmfit import models
from fitzroy.lmfit.models import ExpressionModel, GaussianModel, LinearModel

pytestmark = pytest.mark.once

X = np.linspace(0, 10, 201)
RNG = np.random.default_rng(3)
Y = 5 * np.exp(-((X - 4) ** 2) / (2 * 0.7**2)) + 0.3 * X + 1 + 0.2 * RNG.normal(size=X.size)


def fitted(**more):
    model = GaussianModel(prefix="g_") + LinearModel(prefix="l_")
    params = model.make_params(g_amplitude=8, g_center=4.5, g_sigma=1, l_slope=0, l_intercept=0)
    return model.fit(Y, params, x=X, **more)


@pytest.mark.parametrize("seed", range(int(os.environ.get("FITZROY_CASES", "42"))))
def test_fits_are_those_of_scipy(seed):
    optimize = pytest.importorskip("scipy.optimize")
    problem = drawn(seed, lmfit)
    result = problem.fit()
    assert result.success and result.errorbars
    scale = np.array([abs(problem.truth[n]) for n in problem.names])

    def residuals(u):
        return problem.residuals(dict(zip(problem.names, u * scale)))

    start = [result.params[n].value for n in problem.names] / scale
    best = optimize.least_squares(
        residuals, start * 1.001, method="lm", jac="3-point", xtol=1e-14, ftol=1e-14, gtol=1e-14
    )
    values = np.array([result.params[n].value for n in problem.names])
    np.testing.assert_allclose(values / scale, best.x, rtol=1e-6, atol=1e-6)
    covariance = np.linalg.inv(best.jac.T @ best.jac) * np.outer(scale, scale)
    if problem.scale_covar:
        covariance *= 2 * best.cost / (best.fun.size - best.x.size)
    order = [result.var_names.index(n) for n in problem.names]
    np.testing.assert_allclose(
        np.sqrt(np.diag(result.covar))[order], np.sqrt(np.diag(covariance)), rtol=1e-4
    )
    for k, name in enumerate(problem.names):
        assert result.params[name].stderr == pytest.approx(np.sqrt(covariance[k, k]), rel=1e-4)
    assert result.chisqr == pytest.approx(2 * best.cost, rel=1e-9)


def test_a_model_of_numpy_is_traced_and_one_with_a_loop_is_called():
    assert fitted().untraced == ""

    def looped(x, a, b):
        return np.array([a * t + b for t in x])

    result = lmfit.Model(looped).fit(2 * X + 1, x=X, a=1, b=0)
    assert result.untraced
    assert result.params["a"].value == pytest.approx(2)


def test_errors_of_tied_parameters_follow_from_their_expressions():
    result = fitted()
    amplitude, sigma = result.params["g_amplitude"], result.params["g_sigma"]
    height = 0.3989423 * amplitude.value / sigma.value
    k, j = result.var_names.index("g_amplitude"), result.var_names.index("g_sigma")
    slopes = np.array([height / amplitude.value, -height / sigma.value])
    covariance = result.covar[np.ix_([k, j], [k, j])]
    assert result.params["g_height"].value == pytest.approx(height)
    assert result.params["g_height"].stderr == pytest.approx(np.sqrt(slopes @ covariance @ slopes))
    assert result.params["g_fwhm"].stderr == pytest.approx(2.35482 * sigma.stderr)


def test_reports_have_what_reports_of_lmfit_have():
    result = fitted()
    report = result.fit_report()
    for line in (
        r"\[\[Model\]\]\n    \(Model\(gaussian, prefix='g_'\) \+ Model\(linear, prefix='l_'\)\)",
        r"    # fitting method   = leastsq",
        r"    # data points      = 201",
        r"    reduced chi-square = 0\.0\d+",
        r"    g_center:     [\d.]+ \+/- [\d.]+ \([\d.]+%\) \(init = 4\.5\)",
        r"== '2\.3548200\*g_sigma'",
        r"\[\[Correlations\]\] \(unreported correlations are < 0\.100\)",
        r"    C\(l_slope, l_intercept\)     = -0\.\d{4}",
    ):
        assert re.search(line, report), line
    assert "g_center" in lmfit.fit_report(result, sort_pars=True, correl_mode="table")
    assert "<table" in result._repr_html_() and "<table" in result.params._repr_html_()
    assert result.summary()["ndata"] == 201


def test_statistics_are_those_of_their_formulas():
    result = fitted()
    left = Y - result.best_fit
    chi2 = float(left @ left)
    assert result.chisqr == pytest.approx(chi2) and result.redchi == pytest.approx(chi2 / 196)
    assert result.aic == pytest.approx(201 * np.log(chi2 / 201) + 10)
    assert result.bic == pytest.approx(201 * np.log(chi2 / 201) + 5 * np.log(201))
    assert result.rsquared == pytest.approx(1 - chi2 / np.sum((Y - Y.mean()) ** 2))
    np.testing.assert_allclose(result.residual, left)
    parts = result.eval_components()
    np.testing.assert_allclose(parts["g_"] + parts["l_"], result.best_fit)


def test_bands_are_those_of_the_covariance():
    stats = pytest.importorskip("scipy.stats")
    result = fitted()
    a, c, s = (result.params[f"g_{n}"].value for n in ("amplitude", "center", "sigma"))
    bell = np.exp(-((X - c) ** 2) / (2 * s**2)) / (s * np.sqrt(2 * np.pi))
    slopes = np.stack(
        [
            bell,
            a * bell * (X - c) / s**2,
            a * bell * ((X - c) ** 2 / s**3 - 1 / s),
            X,
            np.ones_like(X),
        ]
    )
    names = ["g_amplitude", "g_center", "g_sigma", "l_slope", "l_intercept"]
    order = [result.var_names.index(n) for n in names]
    covariance = result.covar[np.ix_(order, order)]
    half = np.sqrt(np.einsum("in,ij,jn->n", slopes, covariance, slopes))
    t = stats.t.ppf(stats.norm.cdf(2), 196)
    np.testing.assert_allclose(result.eval_uncertainty(sigma=2), t * half, rtol=1e-4)
    wide = t * np.sqrt(half**2 + result.redchi)
    np.testing.assert_allclose(result.dely_predicted, wide, rtol=1e-4)
    assert set(result.dely_comps) == {"g_", "l_"}


def test_intervals_are_where_the_profile_has_its_probability():
    stats = pytest.importorskip("scipy.stats")
    result = fitted()
    found = result.conf_interval(p_names=["g_center"], sigmas=[1, 2])
    (p2, low2), (p1, low1), (p0, best), (_, high1), (_, high2) = found["g_center"]
    assert (p0, best) == (0.0, result.params["g_center"].value)
    assert p1 == pytest.approx(stats.norm.cdf(1) - stats.norm.cdf(-1))
    for prob, limit in ((p1, low1), (p1, high1), (p2, low2), (p2, high2)):
        held = result.params.copy()
        held["g_center"].set(value=limit, vary=False)
        chi2 = result.model.fit(Y, held, x=X).chisqr
        f = (chi2 / result.chisqr - 1) * result.nfree
        assert stats.f.cdf(f, 1, result.nfree) == pytest.approx(prob, abs=1e-5)
    assert "_BEST_" in lmfit.ci_report(found)
    x, y, grid = lmfit.conf_interval2d(result, result, "g_center", "g_sigma", 5, 4, nsigma=2)
    assert grid.shape == (4, 5) and np.all(grid >= 0)


def test_parameters_are_tied_bounded_held_and_copied():
    params = lmfit.Parameters(usersyms={"twice": lambda v: 2 * v})
    params.add_many(("a", 3.0, True, 0, 10), ("b", None, None, None, None, "twice(a) + c"))
    params.add("c", value=1, vary=False)
    assert params["b"].value == 7 and not params["b"].vary
    params["a"].value = 99
    assert params["a"].value == 10 and params.valuesdict()["b"] == 21
    other = params.copy()
    other["a"].value = 1
    assert params["a"].value == 10 and other["b"].value == 3
    assert params.eval("a + sqrt(c) * 2") == 12
    assert params["a"] * 2 == 20 and np.exp(params["c"]) == pytest.approx(np.e)
    loaded = lmfit.create_params(p={"value": 2, "min": 1}, q=3)
    again = lmfit.Parameters().loads(loaded.dumps())
    assert again["p"].min == 1 and again.valuesdict() == loaded.valuesdict()
    with pytest.raises(KeyError, match="not a valid Parameters name"):
        params.add("not valid", value=1)
    with pytest.raises(ValueError, match="min == max"):
        params.add("flat", value=1, min=1, max=1)
    with pytest.raises(NameError, match="'nowhere' is not defined"):
        params.add("d", expr="nowhere + 1")
    with pytest.raises(SyntaxError, match="lambda"):
        params.eval("(lambda: 1)()")
    with pytest.raises(SyntaxError, match="does not read"):
        params.eval("a.__class__")
    ring = lmfit.Parameters()
    ring.add_many(("a", 1, None, None, None, "b"), ("b", 1, None, None, None, "a"))
    with pytest.raises(RecursionError, match="a -> b -> a"):
        ring.update_constraints()


def test_what_can_be_pickled_comes_back(tmp_path):
    result = fitted()
    again = pickle.loads(pickle.dumps(result))
    assert again.fit_report() == result.fit_report()
    np.testing.assert_array_equal(again.eval(x=X), result.best_fit)
    path = tmp_path / "fit.json"
    lmfit.model.save_modelresult(result, path)
    loaded = lmfit.model.load_modelresult(path)
    assert loaded.fit_report() == result.fit_report()
    np.testing.assert_array_equal(loaded.best_fit, result.best_fit)
    lmfit.model.save_model(result.model, path)
    assert lmfit.model.load_model(path).param_names == result.model.param_names


@pytest.mark.parametrize("name", [n for n in models.__all__ if n.endswith("Model")])
def test_built_in_models_are_fitted_from_their_guess(name):
    made = getattr(models, name)
    more = {"ExpressionModel": ("a * exp(-x / b)",), "SplineModel": (np.linspace(0.5, 9.5, 6),)}
    model = made(*more.get(name, ()), **({"degree": 3} if name == "PolynomialModel" else {}))
    truth = dict(amplitude=9, center=4, sigma=0.8, centerx=4, centery=3, sigmax=1, sigmay=0.8)
    truth.update(sigma_r=1.3, beta=1.5, expon=2, skew=0.3, q=1.2, kt=2, frequency=1.3, shift=0.4)
    truth.update(center1=3, center2=7, sigma1=0.7, sigma2=0.8, slope=1, intercept=2, exponent=0.7)
    truth.update(decay=3, c=2, re=1, im=2, a=2, b=3, c0=1, c1=0.5, c2=-0.2, c3=0.01, fraction=0.4)
    if name in ("BoseModel", "FermiModel", "ThermalDistributionModel"):
        truth.update(center=-1.0)
    if name == "LognormalModel":
        truth.update(center=1.2, sigma=0.4)
    x = np.linspace(0.1, 9.9, 160)
    at = {"x": x}
    if name == "Gaussian2dModel":
        at = dict(zip("xy", (part.ravel() for part in np.meshgrid(x[::8], x[::8]))))
    params = model.make_params()
    free = [n for n in model.param_names if params[n].expr is None]
    want = {n: truth.get(n, params[n].value) for n in free}
    if name == "SplineModel":
        want = {n: 1.0 + k % 3 for k, n in enumerate(free)}
    for n, value in want.items():
        params[n].value = value
    clean = model.eval(params, **at)
    noise = 1e-4 * np.max(np.abs(clean)) * np.random.default_rng(5).normal(size=clean.shape)
    y = clean + noise
    if name == "ExpressionModel":
        start = model.make_params(a=1, b=2)
    else:
        start = model.guess(y, **at)
    if name in ("BoseModel", "DoniachModel", "DampedHarmonicOscillatorModel", "Pearson7Model"):
        start = model.make_params(**{n: 1.05 * value for n, value in want.items()})
    result = model.fit(y, start, **at)
    assert result.success
    assert result.chisqr == pytest.approx(np.sum(np.abs(noise) ** 2), rel=0.2)


def test_methods_lead_to_the_same_minimum():
    want = fitted()
    for method in ("least_squares", "nelder", "powell", "lbfgsb", "cg", "basinhopping"):
        found = fitted(method=method)
        for name in want.var_names:
            assert found.params[name].value == pytest.approx(want.params[name].value, rel=1e-6)
    assert fitted(method="nelder").method == "Nelder-Mead"
    robust = fitted(method="least_squares", fit_kws={"loss": "soft_l1"})
    assert robust.params["g_center"].value != want.params["g_center"].value


def test_searches_find_the_lowest_minimum_inside_bounds():
    x = np.linspace(0, 10, 120)
    y = 2 * np.sin(3.1 * x + 0.3)

    def residual(p):
        return p["a"] * np.sin(p["w"] * x + p["s"]) - y

    def called(p):
        return np.array([float(p["a"]) * np.sin(p["w"] * t + p["s"]) - v for t, v in zip(x, y)])

    params = lmfit.create_params(
        a={"value": 1, "min": 0.1, "max": 5},
        w={"value": 1, "min": 0.5, "max": 5},
        s={"value": 0, "min": -1, "max": 2},
    )
    assert lmfit.minimize(residual, params).chisqr > 100
    for method in ("differential_evolution", "dual_annealing", "shgo", "basinhopping", "ampgo"):
        found = lmfit.minimize(residual, params, method=method)
        assert found.params["w"].value == pytest.approx(3.1, abs=1e-6), method
    found = lmfit.minimize(called, params, method="differential_evolution")
    assert found.params["w"].value == pytest.approx(3.1, abs=1e-6)
    params["a"].max = np.inf
    with pytest.raises(ValueError, match="requires finite bounds"):
        lmfit.minimize(residual, params, method="shgo")


def test_one_number_is_minimised_as_it_is():
    def rosenbrock(p):
        return (1 - p["a"]) ** 2 + 100 * (p["b"] - p["a"] ** 2) ** 2 - 3

    params = lmfit.create_params(a={"value": -1.2, "min": -5, "max": 5}, b=2)
    found = lmfit.minimize(rosenbrock, params, method="nelder")
    assert found.params["a"].value == pytest.approx(1, abs=1e-6)
    assert found.residual[0] == pytest.approx(-3) and found.params["a"].stderr is None

    def bumps(p):
        return np.cos(14.5 * p["x"] - 0.3) + (p["x"] + 0.2) * p["x"]

    found = lmfit.minimize(bumps, lmfit.create_params(x=1), method="basinhopping")
    assert found.params["x"].value == pytest.approx(-0.1951, abs=1e-4)


def test_a_grid_is_searched():
    def residual(p):
        return np.array([p["x"] - 1.2, 2 * (p["y"] + 0.7)])

    params = lmfit.Parameters()
    params.add("x", value=0, min=-2, max=2)
    params.add("y", value=0, min=-1, max=1, brute_step=0.25)
    found = lmfit.minimize(residual, params, method="brute", Ns=9, keep=3)
    assert found.brute_Jout.shape == (9, 8) and len(found.candidates) == 3
    np.testing.assert_allclose(found.brute_x0, [1.0, -0.75])
    assert found.brute_fval == pytest.approx(0.04 + 0.01)
    params.add("z", value=1)
    with pytest.raises(ValueError, match="Not enough information"):
        lmfit.minimize(residual, params, method="brute")


def test_a_fit_is_watched_and_ended():
    seen = []

    def watch(params, iteration, residual, *args, **kwargs):
        seen.append((iteration, float(params["g_center"]), residual.size))
        return len(seen) == 7

    result = fitted(iter_cb=watch)
    assert [k for k, _, _ in seen] == list(range(1, 8)) and seen[0][1] == 4.5
    assert result.aborted and not result.success and not result.errorbars
    assert "aborted by user" in result.message
    limited = lmfit.Model(lambda x, a, b: np.array([a * np.exp(b * t) for t in x])).fit(
        np.exp(X / 10), x=X, a=5, b=-2, max_nfev=6
    )
    assert limited.aborted and "> 6" in limited.message


def test_nan_is_refused_or_left_out():
    y = Y.copy()
    y[5] = np.nan
    model = GaussianModel() + LinearModel()
    start = model.make_params(amplitude=8, center=4.5, sigma=1, slope=0, intercept=0)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(y, start, x=X)
    result = model.fit(y, start, x=X, nan_policy="omit", weights=np.ones_like(y))
    want = model.fit(np.delete(Y, 5), start, x=np.delete(X, 5))
    assert result.ndata == 200 and result.chisqr == pytest.approx(want.chisqr)


def test_what_is_wrong_is_said():
    model = GaussianModel()
    with pytest.raises(ValueError, match="Missing independent variable 'x'"):
        model.fit(Y, model.make_params())
    with pytest.raises(NameError, match="parameters named 'amplitude'"):
        GaussianModel() + models.LorentzianModel()
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        model.guess(Y)
    with pytest.raises(NotImplementedError, match="conf_interval"):
        model.fit(Y, x=X, method="emcee")
    with pytest.raises(ValueError, match="method='nothing' is not known"):
        model.fit(Y, x=X, method="nothing")
    with pytest.raises(ValueError, match="No independent variable"):
        ExpressionModel("a * b")
    with pytest.raises(lmfit.MinimizerException, match="array of\\s+residuals"):
        lmfit.minimize(lambda p: p["a"] ** 2 + p["b"] ** 2, lmfit.create_params(a=1, b=2))
    with pytest.warns(UserWarning, match="does not match any arguments"):
        model.fit(Y, x=X, speed=3)


def test_a_tied_step_that_ends_at_a_bound_is_looked_at_again():
    def decaying(t, omega, real, imaginary, phase, life):
        wave = real * np.cos(t * omega + phase) + 1j * imaginary * np.sin(t * omega + phase)
        return wave * np.exp(-t / life)

    t = np.linspace(0, 10, 501)
    rng = np.random.default_rng(0)
    y = decaying(t, 4, 10, 5, 0.2, 4.5) + 0.05 * (rng.normal(size=501) + 1j * rng.normal(size=501))
    model = lmfit.Model(decaying)
    params = model.make_params(omega=5, real=5, imaginary=5, phase=0.5)
    params["life"].set(value=3, min=1e-5, max=1000)
    result = model.fit(y, params, t=t)
    assert result.params["life"].value == pytest.approx(4.5, rel=0.01) and result.errorbars
    assert result.eval_uncertainty().dtype == complex


def test_numbers_with_errors_are_those_of_uncertainties():
    pytest.importorskip("uncertainties")
    result = fitted()
    area, fwhm = result.uvars["g_amplitude"], result.uvars["g_fwhm"]
    assert area.std_dev == pytest.approx(result.params["g_amplitude"].stderr)
    assert fwhm.std_dev == pytest.approx(result.params["g_fwhm"].stderr)
    ratio = area / result.uvars["g_sigma"] * 0.3989423
    assert ratio.std_dev == pytest.approx(result.params["g_height"].stderr, rel=1e-6)


def test_figures_are_drawn():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from matplotlib import pyplot

    result = fitted(weights=np.full_like(Y, 5.0))
    assert len(result.plot(show_init=True).axes) == 2
    assert result.plot_residuals(ax=pyplot.figure().add_subplot()) is not False
    pyplot.close("all")


def test_parameters_are_numbers_wherever_a_function_is_traced():
    def residual(p):
        x = X - p["c"]
        x /= p["s"]
        return np.multiply(p["a"], np.exp(-(x**2))) - p["off"] * 1.0 - (Y - 1)

    found = lmfit.minimize(residual, lmfit.create_params(a=5, c=4, s=1, off=-1))
    assert found.untraced == "" and found.success
    assert lmfit.minimize(residual, found.params).chisqr == pytest.approx(found.chisqr)


def test_a_formula_is_dropped_when_its_data_change():
    data = {"y": Y}
    mini = lmfit.Minimizer(lambda p: p["a"] * X + p["b"] - data["y"], lmfit.create_params(a=1, b=0))
    first = mini.minimize()
    data["y"] = 2 * X + 1
    second = mini.minimize()
    assert second.params["a"].value == pytest.approx(2) and second.chisqr < 1e-15
    assert first.chisqr > 1


@pytest.mark.parametrize("name", ["parameter", "minimizer", "model"])
def test_examples_of_docstrings_run(name):
    found = doctest.testmod(importlib.import_module(f"fitzroy.lmfit.{name}"))
    assert found.attempted > 0 and found.failed == 0
