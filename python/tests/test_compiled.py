"""PyMC models that have no counterpart as text, by their compiled gradient."""

from __future__ import annotations

import logging
import warnings

import numpy as np
import pytest

pm = pytest.importorskip("pymc")
az = pytest.importorskip("arviz")
pytest.importorskip("numba")

from pymc_models import MODELS, NOT_YET  # noqa: E402

import fitzroy as fz  # noqa: E402
from fitzroy.pymc import ConversionWarning  # noqa: E402
from fitzroy.pymc.compiled import compile_model  # noqa: E402

logging.getLogger("pymc").setLevel(logging.ERROR)


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def posterior_of(draws):
    return draws.posterior


def levels():
    """Transforms, dims, data that change shape, and a deterministic of whole numbers."""
    with pm.Model(coords={"g": ["a", "b", "c"]}) as model:
        y = pm.Data("y", np.array([1.0, 2.0, 4.0]), dims="g")
        mu = pm.Normal("mu", 0, 5)
        sigma = pm.HalfNormal("sigma", 2)
        shares = pm.Dirichlet("shares", np.ones(3), dims="g")
        theta = pm.Normal("theta", mu, sigma, dims="g")
        pm.Deterministic("twice", 2 * theta, dims="g")
        pm.Deterministic("above", (theta > 0).sum())
        pm.Normal("seen", theta + shares, 1, observed=y, dims="g")
    return model


@pytest.fixture(scope="module")
def compiled():
    model = levels()
    return model, compile_model(model)


def test_values_and_slopes_are_those_of_pymc(compiled):
    model, found = compiled
    dim = found.density.dim
    source = found.density._source
    assert dim == 1 + 1 + 2 + 3 and [q[0] for q in source["quantities"]] == [
        "mu", "sigma", "shares", "theta", "twice", "above",
    ]  # fmt: skip
    call = found.density._alive[0].ctypes
    logp, slopes = model.compile_logp(mode="FAST_COMPILE"), model.compile_dlogp(mode="FAST_COMPILE")
    random = np.random.default_rng(1)
    for _ in range(5):
        x = random.normal(size=dim)
        gradient, value = np.empty(dim), np.empty(1)
        pointer = lambda a, t=call.argtypes[1]: a.ctypes.data_as(t)
        assert call(dim, pointer(x), pointer(gradient), pointer(value), None) == 0
        point, at = {}, 0
        for name, shape, _ in found.places:
            n = int(np.prod(shape))
            point[name], at = x[at : at + n].reshape(shape), at + n
        assert np.isclose(value[0], logp(point), rtol=1e-9)
        np.testing.assert_allclose(gradient, slopes(point), rtol=1e-7, atol=1e-9)


def test_the_result_has_the_groups_dims_and_types_of_pymc(compiled):
    model, found = compiled
    settings = {"draws": 500, "tune": 500, "chains": 2, "threads": 2, "seed": 1}
    draws = found.sample({**settings, "keep_warmup": True}, None, None, False)
    posterior = posterior_of(draws)
    assert set(posterior.data_vars) == {"mu", "sigma", "shares", "theta", "twice", "above"}
    assert posterior["theta"].dims == ("chain", "draw", "g")
    assert list(posterior["g"].values) == ["a", "b", "c"]
    assert posterior["above"].dtype.kind == "i"
    assert np.allclose(posterior["shares"].sum("g"), 1)
    assert np.allclose(posterior["twice"], 2 * posterior["theta"])
    assert (posterior["sigma"] > 0).all()
    for group in ("sample_stats", "observed_data", "warmup_posterior"):
        assert getattr(draws, group) is not None
    # Chains that start at values, one of them on the transformed scale.
    starts = [{"mu": 1.0}, {"mu": -1.0, "sigma": 0.5}]
    points = found._points(starts, settings)
    names = [name for name, _, _ in found.places]
    assert points.shape == (2, 7) and list(points[:, names.index("mu")]) == [1.0, -1.0]
    assert np.isclose(points[1, names.index("sigma_log__")], np.log(0.5))
    with pytest.raises(ValueError, match="one for each of 2 chains"):
        found._points([{}], settings)


def test_both_ways_have_one_posterior(compiled):
    model, found = compiled
    more = {"draws": 2000, "random_seed": 1, "progressbar": False, "target_accept": 0.95}
    text = posterior_of(fz.sample(model, backend="fitzroy", **more))
    settings = {"draws": 2000, "tune": 1000, "chains": 4, "threads": 2, "seed": 2}
    other = posterior_of(found.sample({**settings, "target_accept": 0.95}, None, None, False))
    for name in ("mu", "theta", "shares"):
        a, b = text[name], other[name]
        # Five standard errors of a difference of means with at least 400 effective draws each.
        bound = 5 * b.std(("chain", "draw")) * np.sqrt(2 / 400)
        far = abs(a.mean(("chain", "draw")) - b.mean(("chain", "draw")))
        assert bool((far < bound).all()), name


def test_a_model_that_is_no_text_is_sampled_all_the_same_and_says_why():
    model = MODELS["spatial_volume"]()
    reason = f"{NOT_YET['spatial_volume']}.*by its compiled gradient"
    with pytest.warns(ConversionWarning, match=reason):
        draws = fz.sample(model, random_seed=1, progressbar=False)
    ess = az.ess(draws, var_names=["s"])
    ess = ess.to_dataset() if hasattr(ess, "to_dataset") else ess
    assert float(ess["s"]) > 400
    with pytest.raises(ValueError, match="cannot be converted"):
        fz.sample(model, backend="fitzroy")
    with pytest.raises(ValueError, match="device: a compiled gradient"):
        fz.sample(model, backend="compiled", device="cuda")
