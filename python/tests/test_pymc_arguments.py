"""PyMC models: what is done with arguments of `pm.sample`, minibatches and simulators."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

pm = pytest.importorskip("pymc")

import fitzroy as fz  # noqa: E402
from fitzroy.pymc import ConversionWarning  # noqa: E402

X = np.random.default_rng(5).normal(size=(400, 2))
Y = X @ [1.0, -2.0] + np.random.default_rng(6).normal(size=400)
#: Too few draws to be relied on.
SHORT = {"draws": 20, "tune": 20, "chains": 2, "random_seed": 1, "progressbar": False}


def line(x=X, y=Y, **weight):
    with pm.Model() as model:
        b = pm.Normal("b", 0, 5, shape=2)
        pm.Normal("y", x @ b, 1, observed=y, **weight)
    return model


def test_a_minibatch_stands_for_all_rows():
    x, y = pm.Minibatch(X, Y, batch_size=40)
    of_parts = line(x, y, total_size=400)
    found = fz.from_pymc(of_parts)
    assert found.text == fz.from_pymc(line()).text
    assert any("all rows" in note for note in found.notes)
    assert found.check().spread < 1e-9
    exact = np.linalg.lstsq(X, Y)[0]
    draws = fz.sample(of_parts, random_seed=1, progressbar=False)
    # Of 40 rows of 400 it would be 0.16 off, with errors of 0.05.
    assert np.abs(draws.posterior["b"].mean(("chain", "draw")) - exact).max() < 0.01
    assert draws.observed_data["y"].size == 400


def test_total_sizes_count_without_minibatches():
    found = fz.from_pymc(line(X[:40], Y[:40], total_size=400))
    assert found.text.rstrip().endswith("* 10") and found.check().spread < 1e-9


def test_arguments_of_pymc_are_taken():
    model = line()
    same = fz.sample(model, **{**SHORT, "target_accept": 0.9, "max_treedepth": 7})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        draws = fz.sample(
            model,
            **SHORT,
            init="jitter+adapt_diag",
            n_init=1000,
            mp_ctx="spawn",
            step=None,
            callback=None,
            return_inferencedata=True,
            compute_convergence_checks=False,
            nuts={"target_accept": 0.9},
            nuts_sampler_kwargs={"max_treedepth": 7},
        )
    np.testing.assert_array_equal(draws.posterior["b"], same.posterior["b"])


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"step": 1}, ValueError, "pm.sample"),
        ({"callback": print}, ValueError, "progressbar"),
        ({"return_inferencedata": False}, ValueError, "draws.posterior"),
        ({"nuts_sampler": "numpyro"}, ValueError, "numpyro"),
        ({"target_acept": 0.9}, TypeError, "target_acept"),
        ({"nuts": {"foo": 1}}, TypeError, "foo"),
    ],
)
def test_arguments_that_cannot_be_taken_say_why(given, error, says):
    with pytest.raises(error, match=says):
        fz.sample(line(), **SHORT, **given)


def test_slips_are_errors_of_pm_sample_as_well():
    fz.register()
    with line(), pytest.raises(TypeError, match="target_acept"):
        pm.sample(nuts_sampler="fitzroy", target_acept=0.9, **SHORT)


def test_what_is_no_model_is_named():
    with pytest.raises(TypeError, match="of type str"):
        fz.sample("mu ~ Normal(0, 1)")


def test_a_simulator_is_sampled_by_pymc():
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 1)
        by = lambda rng, mu, size: rng.normal(mu, 1, size)
        pm.Simulator("s", by, mu, epsilon=1, sum_stat="mean", observed=Y)
    with pytest.warns(ConversionWarning, match="sampled by PyMC"):
        draws = fz.sample(model, cores=1, **SHORT)
    assert draws.posterior["mu"].shape == (2, 20)
