"""`fitzroy.nlsq`: the names of NLSQ, its signatures and results."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest

import fitzroy as fz
from fitzroy import nlsq


def decay(x, a, b, c):
    return a * np.exp(-b * x) + c


X = np.linspace(0, 4, 200)
Y = decay(X, 2.5, 1.3, 0.5) + 0.1 * np.random.default_rng(1).normal(size=200)
START = [2.0, 1.0, 0.3]


def by_loop(x, a, b, c):
    return np.array([decay(t, a, b, c) for t in x])


@pytest.mark.parametrize("seed", range(int(os.environ.get("FITZROY_CASES", "20"))))
def test_fits_are_those_of_scipy(seed):
    optimize = pytest.importorskip("scipy.optimize")
    r = np.random.default_rng(seed)
    theta = r.uniform([1, 0.5, -1], [3, 2, 1])
    y = decay(X, *theta) + 0.05 * r.normal(size=X.size)
    given = dict(p0=theta * r.uniform(0.8, 1.2, 3))
    if seed % 2:
        given.update(sigma=r.uniform(0.05, 0.2, X.size), absolute_sigma=bool(seed % 4 == 1))
    if seed % 3 == 0:
        given.update(bounds=(theta - 2, theta + 2))
    want, covariance = optimize.curve_fit(decay, X, y, xtol=1e-12, ftol=1e-12, **given)
    for fitted in (nlsq.curve_fit, nlsq.CurveFit().curve_fit, nlsq.fit, nlsq.curve_fit_large):
        popt, pcov = fitted(decay, X, y, **given)
        np.testing.assert_allclose(popt, want, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(pcov, covariance, rtol=1e-4, atol=1e-9)


def test_a_result_has_the_names_of_nlsq():
    stats = pytest.importorskip("scipy.stats")
    result = nlsq.curve_fit(decay, X, Y, p0=START, sigma=np.full(200, 0.1), ftol=1e-6)
    popt, pcov = result
    assert result.success and "below the tolerance" in result.message and result.nfev > 0
    for name, value in [("popt", popt), ("x", popt), ("pcov", pcov)]:
        np.testing.assert_array_equal(result[name], value)
        np.testing.assert_array_equal(getattr(result, name), value)
    np.testing.assert_array_equal(result[0], popt)
    with pytest.raises(KeyError, match="nothing"):
        result["nothing"]
    left = Y - decay(X, *popt)
    np.testing.assert_allclose(result.residuals, left, atol=1e-12)
    np.testing.assert_allclose(result.fun, -left / 0.1, atol=1e-10)
    np.testing.assert_allclose(result.cost, 0.5 * np.sum((left / 0.1) ** 2))
    np.testing.assert_allclose(result.grad, 0, atol=1e-6)
    scale = result.chi2 / (200 - 3)
    np.testing.assert_allclose(np.linalg.inv(result.jac.T @ result.jac) * scale, pcov, rtol=1e-6)
    rss = np.sum(left**2)
    np.testing.assert_allclose(result.r_squared, 1 - rss / np.sum((Y - Y.mean()) ** 2))
    np.testing.assert_allclose(result.adj_r_squared, 1 - (1 - result.r_squared) * 199 / 196)
    np.testing.assert_allclose(result.rmse, np.sqrt(rss / 200))
    np.testing.assert_allclose(result.mae, np.mean(np.abs(left)))
    np.testing.assert_allclose(result.aic, 6 + 200 * np.log(rss / 200))
    np.testing.assert_allclose(result.bic, 3 * np.log(200) + 200 * np.log(rss / 200))
    half = stats.t.ppf(0.95, 197) * np.sqrt(np.diag(pcov))
    np.testing.assert_allclose(result.confidence_intervals(0.9)[:, 1], popt + half)
    low, high = result.confidence_band()
    wide = result.prediction_interval([1.0, 2.0])
    assert low.shape == (200,) and np.all(low < high) and wide.shape == (2, 2)


def test_results_are_pickled_and_printed(capsys):
    result = pickle.loads(pickle.dumps(nlsq.curve_fit(decay, X, Y, p0=START)))
    np.testing.assert_allclose(result.predictions, decay(X, *result.popt))
    result.summary()
    assert "converged" in capsys.readouterr().out


def test_functions_of_jax_numpy_and_its_arrays_are_fitted():
    jax = pytest.importorskip("jax")
    jnp = jax.numpy

    def model(x, a, b, c, d, e):
        return a * jnp.exp(-b * x) * jnp.sin(c * x + d) + e

    x = np.linspace(0, 20, 3000)
    truth = [2.0, 0.1, 1.5, 0.3, 0.5]
    y = np.asarray(2 * np.exp(-0.1 * x) * np.sin(1.5 * x + 0.3) + 0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = nlsq.CurveFit().curve_fit(model, x, y, p0=[2, 0.1, 1.5, 0.3, 0.4])
        single = nlsq.curve_fit(model, jnp.asarray(x), jnp.asarray(y), p0=[2, 0.1, 1.5, 0.3, 0.4])
    np.testing.assert_allclose(result.popt, truth, rtol=1e-9)
    np.testing.assert_allclose(single.popt, truth, rtol=1e-4)  # arrays of float32


def test_a_jax_function_that_is_called_computes_in_float64():
    jax = pytest.importorskip("jax")
    table = jax.numpy.linspace(0, 5, 300)

    def model(x, a, b):
        return a * jax.numpy.interp(x, table, jax.numpy.exp(-b * table))

    assert not jax.config.jax_enable_x64
    with pytest.warns(fz.UntracedWarning, match="cannot be traced"):
        result = nlsq.curve_fit(model, X, model(X, 2.0, 0.7), p0=[1.0, 1.0])
    np.testing.assert_allclose(result.popt, [2.0, 0.7], rtol=1e-5)
    low, high = result.confidence_band([1.0, 2.0])
    assert low.shape == high.shape == (2,)
    assert not jax.config.jax_enable_x64


def test_surfaces_and_masks():
    a, b = (g.ravel() for g in np.meshgrid(np.linspace(-1, 1, 20), np.linspace(-1, 1, 15)))

    def surface(xy, height, width, base):
        x, y = xy
        return height * np.exp(-(x**2 + y**2) / width) + base

    z = surface((a, b), 2.0, 0.5, 0.1)
    popt, _ = nlsq.curve_fit(surface, (a, b), z, p0=[1, 1, 0])
    np.testing.assert_allclose(popt, [2.0, 0.5, 0.1], rtol=1e-8, atol=1e-9)
    wrong = np.where(np.arange(z.size) % 7 == 0, 50.0, z)
    keep = np.arange(z.size) % 7 != 0
    popt, _ = nlsq.curve_fit(surface, (a, b), wrong, p0=[1, 1, 0], data_mask=keep)
    np.testing.assert_allclose(popt, [2.0, 0.5, 0.1], rtol=1e-8, atol=1e-9)
    with pytest.raises(ValueError, match="data_mask has shape"):
        nlsq.curve_fit(decay, X, Y, data_mask=keep)


def test_full_output_and_return_eval():
    popt, pcov, info, message, ier = nlsq.curve_fit(decay, X, Y, p0=START, full_output=True)
    assert ier in (1, 2, 3, 4) and info["fvec"].shape == (200,)
    again, _, values = nlsq.CurveFit().curve_fit(decay, X, Y, START, return_eval=True)
    np.testing.assert_allclose(values, decay(X, *again))


@pytest.mark.parametrize(
    "asked",
    [
        dict(multistart=True, n_starts=12),
        dict(global_search=True),
        dict(method="multi-start"),
        dict(method="cmaes"),
        dict(workflow="auto_global"),
        dict(preset="global"),
        dict(goal="quality"),
        dict(
            workflow=nlsq.HybridStreamingConfig(enable_multistart=True, n_starts=12),
        ),
    ],
)
def test_several_starts_find_the_lowest_minimum(asked):
    y = np.sin(6.3 * X) + 0.3 * X
    how = nlsq.fit if {"workflow", "preset", "goal"} & set(asked) else nlsq.curve_fit
    given = dict(p0=[1.0, 1.5, 0.1], bounds=([0.5, 0.5, 0], [2, 8, 1]))
    wave = lambda x, a, f, slope: a * np.sin(f * x) + slope * x
    assert abs(nlsq.curve_fit(wave, X, y, **given).popt[1] - 6.3) > 1
    np.testing.assert_allclose(how(wave, X, y, **given, **asked).popt, [1, 6.3, 0.3], rtol=1e-6)
    with pytest.raises(ValueError, match="needs a function that can be traced"):
        how(lambda x, *p: np.array([wave(t, *p) for t in x]), X, y, **given, **asked)


def test_large_data_from_files_are_fitted(tmp_path):
    x = np.linspace(0, 4, 200_000)
    for name, values in [("x", x), ("y", decay(x, 2.5, 1.3, 0.5))]:
        np.save(tmp_path / f"{name}.npy", values)
    x, y = (np.load(tmp_path / f"{n}.npy", mmap_mode="r") for n in "xy")
    # Nothing is copied, so that a limit of some bytes is enough.
    popt, pcov = nlsq.curve_fit_large(decay, x, y, p0=START, memory_limit_gb=1e-8)
    np.testing.assert_allclose(popt, [2.5, 1.3, 0.5], rtol=1e-8)
    assert pcov.shape == (3, 3)
    result = nlsq.LargeDatasetFitter(memory_limit_gb=1.0).fit(decay, x, y, p0=START)
    np.testing.assert_allclose(result.popt, popt)
    np.testing.assert_allclose(nlsq.fit_large_dataset(decay, x, y, START).popt, popt)


def test_a_fit_above_the_limit_is_refused_before_it_begins():
    kib = 2.0**-20
    with pytest.raises(MemoryError, match="copies of data"):
        nlsq.curve_fit_large(decay, X.astype(np.float32), Y, memory_limit_gb=kib)
    with pytest.raises(MemoryError, match="copies of data"):
        nlsq.curve_fit_large(decay, X, Y, sigma=np.eye(200), memory_limit_gb=kib)
    with pytest.raises(MemoryError, match="Jacobian, since it cannot be traced"):
        nlsq.curve_fit_large(by_loop, X, Y, p0=START, memory_limit_gb=kib)
    with pytest.raises(ValueError, match="memory_limit_gb=0"):
        nlsq.curve_fit_large(decay, X, Y, memory_limit_gb=0)
    with pytest.raises(ValueError, match="memory_limit_gb=-1"):
        nlsq.LargeDatasetFitter(-1)


def test_requirements_are_those_of_the_data():
    needed = nlsq.estimate_memory_requirements(2**27, 3)
    assert needed.memory_per_point_bytes == 16 and needed.total_memory_estimate_gb == 2.0
    assert needed.n_chunks == 1 and needed == nlsq.LargeDatasetFitter().estimate_requirements(
        2**27, 3
    )
    with pytest.raises(ValueError, match="n_points=0"):
        nlsq.estimate_memory_requirements(0, 3)


def test_the_streaming_optimiser_gives_its_dict():
    config = nlsq.HybridStreamingConfig(chunk_size=50_000)
    found = nlsq.AdaptiveHybridStreamingOptimizer(config).fit((X, Y), decay, START, verbose=0)
    popt, pcov = fz.curve_fit(decay, X, Y, p0=START)
    np.testing.assert_allclose(found["x"], popt)
    np.testing.assert_allclose(found["perr"], np.sqrt(np.diag(pcov)))
    assert found["success"] and found["message"]
    with pytest.raises(TypeError, match="pair of arrays"):
        nlsq.AdaptiveHybridStreamingOptimizer().fit(X, decay, START)


@pytest.mark.parametrize(
    ("set_", "warned"),
    [
        ({}, False),
        ({"JAX_PLATFORM_NAME": "cpu"}, False),
        ({"JAX_PLATFORM_NAME": "cuda"}, False),
        ({"JAX_PLATFORM_NAME": "gpu"}, False),
        ({"JAX_PLATFORM_NAME": "tpu"}, True),
        ({"JAX_PLATFORM_NAME": "tpu", "NLSQ_FORCE_CPU": "1"}, False),
        ({"JAX_PLATFORM_NAME": "tpu", "NLSQ_FORCE_CPU": "0"}, True),
    ],
)
def test_variables_ask_for_a_device(monkeypatch, set_, warned):
    for name in ("JAX_PLATFORM_NAME", "NLSQ_FORCE_CPU"):
        monkeypatch.delenv(name, raising=False)
    for name, value in set_.items():
        monkeypatch.setenv(name, value)
    for how in (nlsq.curve_fit, nlsq.fit, nlsq.curve_fit_large, nlsq.CurveFit().curve_fit):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = how(decay, X, Y, p0=START)
            how(decay, X, Y, p0=START, device="cpu")
        if how is nlsq.fit and set_.get("JAX_PLATFORM_NAME") in ("gpu", "cuda"):
            assert found.device == "cpu" and found.device_reason.startswith("auto: ")
        assert [w.category for w in caught] == ([RuntimeWarning] if warned else [])
        assert all(w.filename == __file__ for w in caught)


@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        (dict(device="tpu"), ValueError, "device='tpu'"),
        (dict(method="newton"), ValueError, "method='newton' is not known"),
        (dict(auto_bounds=True), ValueError, "auto_bounds=True is not offered"),
        (dict(timeit=True), ValueError, "timeit=True is not offered"),
        (dict(nonsense=1), TypeError, "nonsense"),
        (dict(p0=[1, 2, 3], bounds=(0, 1)), ValueError, "outside of provided bounds"),
        (dict(maxfev=1, p0=[20.0, 9.0, 3.0]), RuntimeError, "Optimal parameters not found"),
    ],
)
def test_what_is_wrong_is_named(given, kind, words):
    with pytest.raises(kind, match=words):
        nlsq.curve_fit(decay, X, Y, **given)


def test_unknown_workflows_and_callbacks_are_not_passed_over():
    with pytest.raises(ValueError, match="workflow='fastest' is not known; it is one of"):
        nlsq.fit(decay, X, Y, workflow="fastest")
    with pytest.warns(RuntimeWarning, match="callback is not called") as caught:
        nlsq.curve_fit(decay, X, Y, p0=START, callback=print)
    assert caught[0].filename == __file__


def test_warnings_point_to_the_caller():
    with pytest.warns(fz.UntracedWarning) as caught:
        nlsq.curve_fit(by_loop, X, Y, p0=START)
        nlsq.curve_fit_large(by_loop, X, Y, p0=START)
    assert [w.filename for w in caught] == [__file__] * 2


def test_nothing_else_is_imported():
    code = (
        "import sys, fitzroy.nlsq; "
        "print(sorted({m.partition('.')[0] for m in sys.modules} & {'scipy', 'jax', 'xarray'}))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
