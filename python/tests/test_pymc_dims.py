"""Models of `pymc.dims`: the text of the same models in plain arrays, and PyMC's densities."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

pm = pytest.importorskip("pymc")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pmd = pytest.importorskip("pymc.dims")

import fitzroy as fz  # noqa: E402

R = np.random.default_rng(7)
Y, COUNTS = R.normal(size=(3, 4)), R.poisson(2, size=12)
GROUP, X = np.repeat([0, 1, 2], 4), R.normal(size=(12, 2))
COORDS = {"a": ["u", "v", "w"], "b": range(4), "row": range(12), "k": ["x", "z"]}
PAIRS = {}


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def pair(build):
    """A model written twice: `build` with `pymc.dims` and without."""
    PAIRS[build.__name__] = build
    return build


def made(name, named):
    with pm.Model(coords=COORDS) as model:
        PAIRS[name](named)
    return model


def array(values, *dims):
    return pmd.as_xtensor(np.asarray(values, dtype=float), dims=dims)


@pair
def groups_by_data(named):
    if named:
        of = pmd.Data("of", GROUP, dims="row")
        y = pmd.Data("seen", COUNTS + 0.5, dims="row")
        mu = pmd.Normal("mu", 0, 2, dims="a")
        sigma = pmd.HalfNormal("sigma", 1)
        pmd.Deterministic("twice", 2 * mu)
        pmd.Normal("y", mu.isel(a=of), sigma, observed=y)
    else:
        of = pm.Data("of", GROUP, dims="row")
        y = pm.Data("seen", COUNTS + 0.5, dims="row")
        mu = pm.Normal("mu", 0, 2, dims="a")
        sigma = pm.HalfNormal("sigma", 1)
        pm.Deterministic("twice", 2 * mu, dims="a")
        pm.Normal("y", mu[of], sigma, observed=y, dims="row")


@pair
def transposed_variables(named):
    if named:
        s = pmd.LogNormal("s", array([0, 1, 2], "a"), 1)
        z = pmd.Normal("z", array([0, 1, 2, 3], "b"), s, dims=("b", "a"))
        pmd.Deterministic("mean", z.mean("a"))
        pmd.Potential("small", -(z**2).sum())
        pmd.Normal("y", z, 1, observed=array(Y, "a", "b"), dims=("b", "a"))
    else:
        s = pm.LogNormal("s", [0, 1, 2], 1, dims="a")
        z = pm.Normal("z", np.arange(4)[:, None], s, dims=("b", "a"))
        pm.Deterministic("mean", z.mean(axis=1), dims="b")
        pm.Potential("small", -(z**2).sum())
        pm.Normal("y", z, 1, observed=Y.T, dims=("b", "a"))


@pair
def vectors_along_the_first_axis(named):
    """PyMC's own vectors lie along the last one."""
    if named:
        w = pmd.Dirichlet("w", array([2, 2, 2, 2], "b"), core_dims="b", dims=("b", "a"))
        e = pmd.ZeroSumNormal("e", sigma=2.0, core_dims="b", dims=("b", "a"))
        pmd.Normal("y", w + e, 1, observed=array(Y, "a", "b"), dims=("b", "a"))
    else:
        w = pm.Dirichlet("w", np.full(4, 2.0), dims=("a", "b"))
        e = pm.ZeroSumNormal("e", sigma=2.0, dims=("a", "b"))
        pm.Normal("y", w + e, 1, observed=Y, dims=("a", "b"))


@pair
def some_variables_of_each_kind(named):
    b, sigma = pm.Normal("slope", 0, 1, dims="k"), pm.HalfCauchy("sigma", 1)
    if named:
        x = pmd.Data("x", X, dims=("row", "k"))
        mu = pmd.math.exp(x.dot(pmd.as_xtensor(b, dims="k"), dim="k"))
        pmd.Gamma("y", mu=mu, sigma=sigma, observed=array(COUNTS + 0.5, "row"))
    else:
        x = pm.Data("x", X, dims=("row", "k"))
        mu = pm.math.exp(pm.math.dot(x, b))
        pm.Gamma("y", mu=mu, sigma=sigma, observed=COUNTS + 0.5, dims="row")


@pair
def limits_and_transforms(named):
    if named:
        log = pmd.distributions.transforms.log_transform
        u = pmd.Uniform("u", -1, 2, dims="a")
        t = pmd.TruncatedNormal("t", mu=0.0, sigma=1.0, lower=-1, upper=2, dims="a")
        h = pmd.Normal("h", 1.0, 1.0, transform=log, dims="a")
        pmd.StudentT("y", 4, mu=u + t + h, sigma=1.0, observed=array(Y, "a", "b"), dims=("b", "a"))
    else:
        log = pm.distributions.transforms.log
        u = pm.Uniform("u", -1, 2, dims="a")
        t = pm.TruncatedNormal("t", 0, 1, lower=-1, upper=2, dims="a")
        h = pm.Normal("h", 1, 1, transform=log, dims="a")
        pm.StudentT("y", 4, mu=u + t + h, sigma=1.0, observed=Y.T, dims=("b", "a"))


@pair
def weights_scaled_to_their_range(named):
    """PyTensor has no gradient of the least of an array with named dims."""
    if named:
        w = pmd.Gamma("w", 2, 1, dims="b")
        share = (w - w.min("b")) / (w.max("b") - w.min("b"))
        pmd.Normal("y", share, 1, observed=array(Y, "a", "b"), dims=("b", "a"))
    else:
        w = pm.Gamma("w", 2, 1, dims="b")
        share = (w - w.min()) / (w.max() - w.min())
        pm.Normal("y", share[:, None], 1, observed=Y.T, dims=("b", "a"))


@pytest.mark.parametrize("name", PAIRS)
def test_density_and_slopes_are_those_of_pymc(name):
    found = fz.from_pymc(made(name, True)).check(n=16)
    assert found.range > 1
    assert found.spread < 1e-9, found
    assert found.slope_error < 1e-7, found


@pytest.mark.parametrize("name", PAIRS)
def test_the_result_is_that_of_the_model_in_plain_arrays(name):
    """Both models have the same density, so that the same seed gives the same draws, until rounding
    of sums in another order has grown."""
    settings = {"draws": 10, "tune": 20, "chains": 2, "random_seed": 3, "progressbar": False}
    named, plain = (fz.sample(made(name, k), backend="fitzroy", **settings) for k in (True, False))
    assert list(named.posterior) == list(plain.posterior)
    for v in plain.posterior:
        want = plain.posterior[v]
        if name == "vectors_along_the_first_axis":
            assert named.posterior[v].dims == ("chain", "draw", "b", "a")
            want = want.transpose(*named.posterior[v].dims)
        assert named.posterior[v].dims == want.dims
        np.testing.assert_allclose(named.posterior[v], want, rtol=1e-6, atol=1e-7)
    for group in ("observed_data", "constant_data"):
        got, want = ({k: v for k, v in getattr(d, group, {}).items()} for d in (named, plain))
        assert list(got) == list(want)
        for v in want:
            turned = got[v].transpose(*want[v].dims)
            np.testing.assert_allclose(turned, want[v], rtol=1e-12)
    assert list(named.posterior["a"].values) == COORDS["a"] if "a" in named.posterior.coords else 1


def test_pymc_goes_on_with_the_draws():
    model = made("vectors_along_the_first_axis", True)
    draws = fz.sample(model, draws=20, tune=40, progressbar=False, backend="fitzroy")
    with model:
        more = pm.sample_posterior_predictive(draws, progressbar=False)
        pm.compute_log_likelihood(draws, progressbar=False)
    assert more.posterior_predictive["y"].sizes["b"] == 4
    assert np.isfinite(draws.log_likelihood["y"]).all()


def test_chains_start_at_values_in_the_order_of_the_model():
    model = made("vectors_along_the_first_axis", True)
    start = R.dirichlet(np.ones(4), size=3).T
    draws = fz.sample(
        model,
        initvals={"w": start},
        draws=1,
        tune=1,
        discard_tuned_samples=False,
        progressbar=False,
        backend="fitzroy",
    )
    assert draws.warmup_posterior["w"].shape[2:] == (4, 3)


def test_every_call_of_pymc_is_fitzroys_without_pymcs_gradient():
    fz.register(default=True)
    try:
        with made("weights_scaled_to_their_range", True):
            draws = pm.sample(draws=30, tune=60, chains=2, random_seed=1, progressbar=False)
    finally:
        fz.register()
    assert draws.posterior.attrs["inference_library"] == "fitzroy"


def test_a_model_that_changes_stays_as_it_is():
    """A conversion copies the model, and later draws see its new data."""
    model = made("groups_by_data", True)
    first = fz.from_pymc(model)
    with model:
        pm.set_data({"seen": COUNTS + 100.5})
    second = fz.from_pymc(model)
    assert first.text == second.text
    assert np.max(np.abs(first.data["y"] - second.data["y"])) == 100
    assert hasattr(model["mu"].type, "dims")
    assert second.check().spread < 1e-9
