"""NumPyro models: the same density, the same names, the same answers."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

pytest.importorskip("numpyro", reason="NumPyro is not installed")
pytest.importorskip("pymc")
az = pytest.importorskip("arviz")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpyro  # noqa: E402
import numpyro.distributions as dist  # noqa: E402
from numpyro_models import BY_GRADIENT, MODELS, ROUNDED_BY_JAX, SLOW  # noqa: E402
from numpyro.infer.util import initialize_model  # noqa: E402
from random_numpyro import random_model  # noqa: E402

import fitzroy as fz  # noqa: E402
from fitzroy.numpyro import MCMC, NUTS, ConversionWarning, Predictive, Unconvertible  # noqa: E402

#: Random models; asked for more, those of the list that JAX takes long to compile are tried, too.
CASES = int(os.environ.get("FITZROY_CASES", "3"))
CHECKED = [n for n in MODELS if n not in BY_GRADIENT and (CASES > 3 or n not in SLOW)]


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("name", CHECKED)
def test_log_densities_differ_by_a_constant_and_slopes_not_at_all(name):
    model, args, kwargs = MODELS[name]()
    found = fz.from_numpyro(model, *args, **kwargs).check(16)
    assert found.range > 1, "the points must tell densities apart"
    assert found.spread < ROUNDED_BY_JAX.get(name, 1e-9), found
    assert found.slope_error < ROUNDED_BY_JAX.get(name, 1e-7), found


@pytest.mark.parametrize("seed", range(CASES))
def test_random_models_have_numpyros_density(seed):
    model, args = random_model(seed)
    found = fz.from_numpyro(model, *args).check(16)
    assert found.spread < 1e-9 and found.slope_error < 1e-7, (seed, found)


@pytest.mark.parametrize("name", list(BY_GRADIENT))
def test_what_cannot_be_converted_says_why_and_is_sampled_all_the_same(name):
    model, args, kwargs = MODELS[name]()
    with pytest.raises(Unconvertible, match=BY_GRADIENT[name]):
        fz.from_numpyro(model, *args, **kwargs)
    if name != "loop_until":
        return
    kernel = NUTS(model, forward_mode_differentiation=True)
    mcmc = MCMC(kernel, num_warmup=30, num_samples=10, progress_bar=False)
    with pytest.warns(ConversionWarning, match=f"{BY_GRADIENT[name]}.*compiled gradient"):
        mcmc.run(jax.random.PRNGKey(0), *args, **kwargs)
    assert all(np.isfinite(v).all() for v in mcmc.get_samples().values())


def eight_schools(**settings):
    model, args, kwargs = MODELS["reparametrised"]()
    mcmc = MCMC(NUTS(model), num_warmup=300, num_samples=300, progress_bar=False, **settings)
    mcmc.run(jax.random.PRNGKey(3), *args, extra_fields=("num_steps", "potential_energy"), **kwargs)
    return mcmc, model, args, kwargs


def test_what_comes_back_is_what_numpyro_returns():
    mcmc, model, args, kwargs = eight_schools(num_chains=2, thinning=2)
    info = initialize_model(
        jax.random.PRNGKey(0), model, model_args=args, model_kwargs=kwargs, validate_grad=False
    )
    want, ours = info.postprocess_fn(info.param_info.z), mcmc.get_samples()
    assert list(ours) == sorted(want)
    for name, values in want.items():
        assert ours[name].shape == (300, *values.shape)
        assert ours[name].dtype == values.dtype
        assert mcmc.get_samples(group_by_chain=True)[name].shape[:2] == (2, 150)
    # The deterministic site that each reparametrisation leaves.
    np.testing.assert_allclose(
        ours["phi"], ours["mu"][:, None] + ours["tau"][:, None] * ours["phi_base"], rtol=1e-4
    )
    fields = mcmc.get_extra_fields(group_by_chain=True)
    assert {k: v.shape for k, v in fields.items()} == {
        k: (2, 150) for k in ("diverging", "num_steps", "potential_energy")
    }


def test_what_is_built_on_numpyro_goes_on_from_it(capsys):
    mcmc, model, args, kwargs = eight_schools(num_chains=2)
    draws = az.from_numpyro(mcmc)
    assert draws["posterior"]["theta"].dims == ("chain", "draw", "school")
    assert draws["posterior"]["theta"].shape == (2, 300, 8)
    assert "obs" in draws["observed_data"] and "diverging" in draws["sample_stats"]
    samples = mcmc.get_samples()
    predicted = Predictive(model, samples)(jax.random.PRNGKey(1), *args)
    assert predicted["obs"].shape == (600, 8)
    pointwise = numpyro.infer.log_likelihood(model, samples, *args, **kwargs)
    assert pointwise["obs"].shape == (600, 8)
    mcmc.print_summary()
    printed = capsys.readouterr().out
    assert "tau" in printed and "theta[0]" not in printed and "divergences: " in printed


def test_a_key_gives_the_same_draws_again():
    first, second = (eight_schools()[0].get_samples() for _ in range(2))
    for name in first:
        np.testing.assert_array_equal(first[name], second[name])


def test_posterior_means_are_the_known_ones():
    """Normal data with a normal prior: the posterior is known."""
    data = np.random.default_rng(5).normal(1.5, 1, size=40)

    def model(y):
        mu = numpyro.sample("mu", dist.Normal(0, 2))
        numpyro.deterministic("twice", 2 * mu)
        numpyro.sample("y", dist.Normal(mu, 1.0), obs=y)

    precision = 40 + 1 / 4
    mean, sd = data.sum() / precision, precision**-0.5
    for backend in ("fitzroy", "compiled"):
        mcmc = MCMC(
            NUTS(model), num_warmup=500, num_samples=2000, backend=backend, progress_bar=False
        )
        mcmc.run(jax.random.PRNGKey(1), data)
        draws = np.asarray(mcmc.get_samples()["mu"], dtype=float)
        # Six standard errors at an effective sample size of a quarter of the draws.
        assert abs(draws.mean() - mean) < 6 * sd / np.sqrt(500), backend
        assert abs(draws.std() / sd - 1) < 0.15, backend
        np.testing.assert_allclose(mcmc.get_samples()["twice"], 2 * draws, rtol=1e-6)


def test_groups_have_plates_as_dims_and_discrete_sites():
    model, args, kwargs = MODELS["which_of_two"]()
    draws = fz.from_numpyro(model, *args, **kwargs).sample(
        draws=200, tune=200, chains=2, random_seed=1, progressbar=False
    )
    posterior = draws["posterior"]
    assert posterior["z"].dims == ("chain", "draw", "n")
    assert set(np.unique(posterior["z"])) <= {0, 1}
    assert draws["observed_data"]["y"].dims == ("n",)
    mcmc = MCMC(NUTS(model), num_warmup=50, num_samples=50, progress_bar=False)
    mcmc.run(jax.random.PRNGKey(0), *args)
    assert list(mcmc.get_samples()) == ["m"]


def test_chains_start_at_values_that_are_given():
    model, args, kwargs = MODELS["transformed_sites"]()
    at = {"a": 0.7, "b": 0.4, "c": np.array([0.1, 0.2, -0.4, 0.1])}
    kernel = NUTS(model, init_strategy=numpyro.infer.init_to_value(values=at))
    mcmc = MCMC(kernel, num_warmup=0, num_samples=1, progress_bar=False)
    mcmc.run(jax.random.PRNGKey(0), *args)
    # One transition with the first step size goes nowhere far.
    assert abs(float(mcmc.get_samples()["b"][0]) - 0.4) < 1.5


def test_settings_that_would_pretend_are_refused():
    model, args, _ = MODELS["conditioned"]()
    for given, match in (
        ({"adapt_step_size": False}, "adapt_step_size=False"),
        ({"adapt_mass_matrix": False}, "adapt_mass_matrix=False"),
        ({"kinetic_fn": lambda *a: 0.0}, "kinetic_fn"),
    ):
        with pytest.raises(ValueError, match=match):
            MCMC(NUTS(model, **given), num_warmup=1, num_samples=1)
    mcmc = MCMC(NUTS(model), num_warmup=10, num_samples=10, progress_bar=False)
    with pytest.raises(RuntimeError, match="run"):
        mcmc.get_samples()
    with pytest.raises(ValueError, match="there is no 'i'"):
        mcmc.run(jax.random.PRNGKey(0), *args, extra_fields=("i",))
    with pytest.raises(NotImplementedError, match="keep_warmup=True"):
        mcmc.warmup(jax.random.PRNGKey(0), *args, collect_warmup=True)
    with pytest.warns(ConversionWarning, match="warms up itself"):
        mcmc.warmup(jax.random.PRNGKey(0), *args)
    with pytest.warns(ConversionWarning, match="HMC is NumPyro's own kernel"):
        other = MCMC(numpyro.infer.HMC(model), num_warmup=1, num_samples=1)
    assert type(other) is numpyro.infer.MCMC


def test_a_potential_of_any_tree_is_sampled():
    def potential(z):
        return 0.5 * (z["a"] ** 2 + jnp.sum((z["b"] - z["a"]) ** 2))

    mcmc = MCMC(NUTS(potential_fn=potential), num_warmup=200, num_samples=200, progress_bar=False)
    mcmc.run(jax.random.PRNGKey(0), init_params={"a": jnp.zeros(()), "b": jnp.zeros(3)})
    samples = mcmc.get_samples()
    assert samples["b"].shape == (200, 3) and abs(float(samples["a"].std()) - 1) < 0.4


def test_without_pymc_models_run_on_their_gradient_and_the_text_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pymc", None)
    model, args, kwargs = MODELS["conditioned"]()
    with pytest.raises(ImportError, match=r"pip install 'fitzroy\[numpyro\]'"):
        fz.from_numpyro(model, *args, **kwargs)
    at = numpyro.infer.init_to_value(values={"m": 5.0, "s": 0.2})
    kernel = NUTS(model, init_strategy=at)
    mcmc = MCMC(kernel, num_warmup=0, num_samples=1, progress_bar=False)
    with pytest.warns(ConversionWarning, match=r"fitzroy\[numpyro\].*compiled gradient"):
        mcmc.run(jax.random.PRNGKey(0), *args)
    # One transition from there goes nowhere far.
    assert abs(float(mcmc.get_samples()["m"][0]) - 5) < 4


def test_the_order_of_imports_does_not_matter():
    """ArviZ leaves a NumPyro behind that is not loaded before it is used."""
    program = """
import arviz
from fitzroy.numpyro import MCMC, NUTS
import jax, numpyro, numpyro.distributions as dist
def model():
    numpyro.sample("mu", dist.Normal())
mcmc = MCMC(NUTS(model), num_warmup=100, num_samples=100, num_chains=1, progress_bar=False)
mcmc.run(jax.random.PRNGKey(0))
print(mcmc.get_samples()["mu"].shape)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "(100,)", done.stderr
