"""PyMC models: the same density, the same names, the same answers."""

from __future__ import annotations

import importlib.util
import logging
import subprocess
import sys
import warnings

import numpy as np
import pytest

pm = pytest.importorskip("pymc")
az = pytest.importorskip("arviz")

from pymc_models import MODELS, NOT_YET, ROUNDED_BY_PYMC  # noqa: E402
from pymc.step_methods.compound import Competence  # noqa: E402
import pytensor.tensor as pt  # noqa: E402
from pytensor.graph.traversal import ancestors  # noqa: E402

import fitzroy as fz  # noqa: E402
from fitzroy.pymc import ConversionWarning, Unconvertible  # noqa: E402

logging.getLogger("pymc").setLevel(logging.ERROR)


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("name", [n for n in MODELS if n not in NOT_YET])
def test_log_densities_differ_by_a_constant_and_slopes_not_at_all(name):
    found = fz.from_pymc(MODELS[name]()).check(n=16)
    assert found.range > 1, "the points must tell densities apart"
    assert found.spread < ROUNDED_BY_PYMC.get(name, 1e-9), found
    assert found.slope_error < ROUNDED_BY_PYMC.get(name, 1e-7), found
    assert np.isfinite(found.model_slopes).mean() > 0.9


@pytest.mark.parametrize("name", list(NOT_YET))
def test_what_cannot_be_converted_says_why(name):
    with pytest.raises(Unconvertible, match=NOT_YET[name]):
        fz.from_pymc(MODELS[name]())


@pytest.mark.parametrize("name", [n for n in MODELS if n not in NOT_YET])
def test_deterministics_are_those_of_pymc(name):
    model = MODELS[name]()
    draws = fz.sample(model, draws=10, tune=50, chains=2, random_seed=3, progressbar=False)
    posterior = _posterior(draws)
    # PyMC draws observed variables anew.
    names = [
        v.name
        for v in model.deterministics
        if not _is_factor(model, v.name) and not set(ancestors([v])) & set(model.observed_RVs)
    ]
    if not names:
        return
    with model:
        want = pm.compute_deterministics(
            posterior, var_names=names, progressbar=False, merge_dataset=False
        )
    for name in names:
        assert posterior[name].dims == want[name].dims
        np.testing.assert_allclose(posterior[name], want[name], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(
    ("name", "of", "gaps"),
    [
        ("missing_values", "y", [3, 10, 30]),
        ("missing_covariate", "x", [3, 7, 21]),
        ("missing_covariate", "y", [7, 30]),
        # Computed by PyMC, row by row.
        ("missing_cells_of_a_table", "y", [6, 16]),
        ("gaps_in_a_table_of_covariates", "gaps", [2, 8, 9, 14, 19]),
        ("series_with_gaps", "y", [5, 6, 20]),
        ("missing_answers", "y", [2, 9]),
        ("missing_counts", "y", [2]),
        ("coal_mining", "y", [7, 31]),
        ("missing_part_of_a_vector", "y", [7]),
        ("vectors_with_gaps_as_covariates", "x", [4, 5, 10, 18, 19, 23]),
        ("missing_censored_times", "y", [4, 9]),
    ],
)
def test_observed_elements_stand_among_the_missing_ones(name, of, gaps):
    model = MODELS[name]()
    draws = fz.sample(model, draws=20, tune=50, random_seed=1, progressbar=False)
    found = draws.posterior[of].values
    whole = found.reshape(*found.shape[:2], -1)
    assert np.all(whole[..., gaps] == draws.posterior[f"{of}_unobserved"].values)
    kept = np.delete(whole, gaps, axis=-1)
    assert np.ptp(kept.reshape(-1, kept.shape[-1]), axis=0).max() == 0
    seen = model.rvs_to_values[model[f"{of}_observed"]].data
    np.testing.assert_allclose(kept[0, 0], seen, rtol=1e-15)


def _is_factor(model, name):
    """Deterministics that PyMC makes of the packed factor, whose zeros it does not keep."""
    return any(name.startswith(f"{v.name}_") for v in model.free_RVs)


def _posterior(draws):
    found = draws.posterior
    return found.to_dataset() if hasattr(found, "to_dataset") else found


def test_all_that_pymc_returns_is_there():
    model = MODELS["varying_intercepts_and_slopes"]()
    draws = fz.sample(model, draws=200, tune=300, random_seed=1, progressbar=False)
    assert {"posterior", "sample_stats", "observed_data", "constant_data"} <= set(_groups(draws))
    posterior = _posterior(draws)
    assert posterior["a"].dims == ("chain", "draw", "county")
    assert list(posterior["county"].values) == list(range(9))
    assert posterior.attrs["inference_library"] == "fitzroy"
    assert draws.constant_data["county_of"].dims == ("house",)
    assert draws.observed_data["y"].dims == ("house",)
    free = {v.name for v in model.free_RVs}
    assert set(posterior.data_vars) == free
    assert not posterior.isnull().any().to_dataarray().any()


def _groups(draws):
    return draws.children if hasattr(draws, "children") else draws.groups()


def test_pymc_samples_by_name_and_goes_on_with_the_result():
    fz.register()
    fz.register()
    with MODELS["eight_schools"]():
        draws = pm.sample(
            500, tune=500, chains=4, nuts_sampler="fitzroy", random_seed=2, progressbar=False
        )
        pm.sample_posterior_predictive(draws, extend_inferencedata=True, progressbar=False)
        pm.compute_log_likelihood(draws, progressbar=False)
    assert draws.posterior_predictive["y"].shape == (4, 500, 8)
    assert az.loo(draws).n_data_points == 8
    # From 4 x 100,000 draws of the sampler of PyMC: mean 4.41, sd 3.31.
    assert abs(float(draws.posterior["mu"].mean()) - 4.4) < 0.5


def test_every_call_of_pymc_is_fitzroys_if_asked():
    """As packages make them that are built on PyMC."""
    given = {"draws": 300, "tune": 300, "chains": 4, "random_seed": 2, "progressbar": False}
    rng = np.random.default_rng(1)
    fz.register(default=True)
    try:
        with MODELS["eight_schools"]():
            ours = pm.sample(**given, init="auto", n_init=50)
            # Bambi names PyMC's sampler if its users name none.
            of_bambi = {"__name__": "bambi.backend", "pm": pm, "given": given}
            exec("draws = pm.sample(**given, nuts_sampler='pymc')", of_bambi)
            theirs = pm.sample(**given, nuts_sampler="pymc", compute_convergence_checks=False)
        with pm.Model():
            side = pm.Bernoulli("side", 0.5)
            centre = pm.Normal("centre", 6.0 * side - 3.0, 1)
            pm.Normal("y", centre, 1, observed=3 + rng.normal(size=9))
            summed = pm.sample(**given, target_accept=0.9)
        with pm.Model():
            pm.Normal("x")
            steps = pm.sample(**given, step=pm.Metropolis())
    finally:
        fz.register()
    assert ours.posterior.attrs["inference_library"] == "fitzroy"
    assert of_bambi["draws"].posterior.attrs["inference_library"] == "fitzroy"
    assert theirs.posterior.attrs["inference_library"] != "fitzroy"
    assert summed.posterior.attrs["inference_library"] == "fitzroy"
    assert float(summed.posterior["side"].mean()) > 0.99
    assert steps.posterior.attrs["inference_library"] != "fitzroy"
    with MODELS["eight_schools"]():
        theirs = pm.sample(**{**given, "draws": 20, "tune": 20, "chains": 1})
    assert theirs.posterior.attrs["inference_library"] != "fitzroy"
    with pm.Model() as unbounded:
        n = pm.Poisson("n", 5)
        pm.Binomial("y", n=n, p=0.5, observed=3)
    with pytest.warns(ConversionWarning, match="sampled by PyMC"):
        theirs = fz.sample(unbounded, **given)
    assert theirs.posterior.attrs["verdict"] in ("converged", "in question", "not converged")


def test_directions_go_round():
    """A mean direction on both sides of π. Bound: five Monte Carlo errors of its share below 0."""
    y = np.array([2.9, -2.7, 3.1, -2.5, 2.4, -3.0, -2.9, 2.6, -2.2, 3.0])
    with pm.Model() as model:
        mu = pm.VonMises("mu", mu=0, kappa=0.01)
        pm.VonMises("y", mu=mu, kappa=2.0, observed=y)
    grid = np.linspace(-np.pi, np.pi, 20001)
    logp = 0.01 * np.cos(grid) + 2 * np.cos(y[:, None] - grid).sum(axis=0)
    weight = np.exp(logp - logp.max())
    truth = weight[grid < 0].sum() / weight.sum()
    assert 0.1 < truth < 0.9
    posterior = fz.sample(model, random_seed=1, progressbar=False).posterior
    share = float((posterior["mu"] < 0).mean())
    effective = fz.diagnose({"posterior": {"below": posterior["mu"].values < 0}}).rows[0]
    error = np.sqrt(truth * (1 - truth) / effective["ess_bulk"])
    assert abs(share - truth) < 5 * error
    assert posterior.attrs["verdict"] == "converged"


@pytest.mark.parametrize("seed", range(6))
def test_random_directions_have_the_means_of_quadrature(seed):
    """Cosine and sine of the mean direction of random data. Bound: five Monte Carlo errors."""
    r = np.random.default_rng(seed)
    kappa = r.uniform(0.5, 4)
    y = r.vonmises(r.uniform(-np.pi, np.pi), kappa, r.integers(2, 15))
    with pm.Model() as model:
        mu = pm.VonMises("mu", mu=r.uniform(-3, 3), kappa=r.uniform(0.1, 2))
        pm.VonMises("y", mu=mu, kappa=kappa, observed=y)
    centre, prior_kappa = (float(p.eval()) for p in mu.owner.inputs[-2:])
    grid = np.linspace(-np.pi, np.pi, 4000, endpoint=False)
    logp = prior_kappa * np.cos(grid - centre) + kappa * np.cos(y[:, None] - grid).sum(axis=0)
    weight = np.exp(logp - logp.max())
    drawn = fz.sample(model, random_seed=1 + seed, progressbar=False).posterior["mu"].values
    found = fz.diagnose({"posterior": {"c": np.cos(drawn), "s": np.sin(drawn)}}).rows
    for row, values in zip(found, (np.cos(grid), np.sin(grid))):
        truth = (weight * values).sum() / weight.sum()
        assert abs(row["mean"] - truth) < 5 * row["mcse_mean"], row


def test_a_start_at_an_end_is_no_start():
    """PyMC puts both of these values at one place, which is at an end of where ordered ones lie."""
    transforms = pm.distributions.transforms
    chain = transforms.Chain([transforms.log, transforms.ordered])
    with pm.Model() as model:
        pm.Exponential("x", 1, shape=2, transform=chain)
    assert not np.isfinite(model.initial_point()["x_chain__"]).all()
    draws = fz.sample(model, random_seed=1, progressbar=False, draws=300, tune=300)
    x = draws.posterior["x"].values
    assert (np.diff(x, axis=-1) > 0).all()


def test_gamma_functions_are_reflected_below_0():
    with pm.Model() as model:
        x = pm.Normal("x", 0, 2)
        pm.Normal("y", pt.tanh(pt.gamma(x)), 1, observed=[0.3, -0.2])
    check = fz.from_pymc(model).check()
    assert check.spread < 1e-9
    assert check.slope_error < 1e-7


def test_named_dims_can_be_imported_after_a_model_without_them():
    """Catches: a question to PyTensor's rewrites that takes the place of those of named dims."""
    if importlib.util.find_spec("pymc.dims") is None:
        pytest.skip("this PyMC has no named dims")
    text = """
import fitzroy as fz, pymc as pm
with pm.Model() as model:
    pm.Normal("y", pm.Normal("x"), 1, observed=[0.5])
fz.from_pymc(model).check()
import pymc.dims
"""
    run = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-2000:]


def test_models_of_named_dims_can_be_sampled_by_their_gradient():
    pmd = pytest.importorskip("pymc.dims")
    with pm.Model(coords={"group": ["a", "b", "c"], "row": range(6)}) as model:
        y = pmd.Data("y", np.repeat([-3.0, 0.0, 3.0], 2), dims="row")
        group = pmd.Data("of", np.repeat([0, 1, 2], 2), dims="row")
        mu = pmd.Normal("mu", 0, 2, dims="group")
        sigma = pmd.HalfNormal("sigma", 1)
        pmd.Deterministic("twice", 2 * mu)
        pmd.Normal("seen", mu.isel(group=group), sigma, observed=y, dims="row")
    settings = {"draws": 200, "tune": 300, "random_seed": 1, "progressbar": False}
    draws = fz.sample(model, backend="compiled", **settings)
    assert draws.posterior["mu"].dims == ("chain", "draw", "group")
    assert draws.posterior["twice"].dims == ("chain", "draw", "group")
    means = draws.posterior["mu"].mean(("chain", "draw")).values
    assert np.allclose(means, [-3, 0, 3], atol=0.5)


def test_the_same_seed_gives_the_same_draws_and_seeds_may_be_lists():
    model = MODELS["linear_regression"]()
    one, two, three = (
        fz.sample(model, draws=50, tune=100, random_seed=seed, progressbar=False)
        for seed in (5, 5, [1, 2, 3, 4])
    )
    assert np.array_equal(one.posterior["noise"], two.posterior["noise"])
    assert not np.array_equal(one.posterior["noise"], three.posterior["noise"])


def test_an_observed_series_stands_in_what_is_made_of_it():
    model = MODELS["observed_series_of_ones_own"]()
    found = fz.from_pymc(model)
    assert found.missing == []
    draws = found.sample(draws=10, tune=50, random_seed=1, progressbar=False)
    whole = draws.posterior["whole"].values
    assert np.all(whole[..., 2:] == model.rvs_to_values[model["steps"]].data)
    assert np.all(whole[..., :2] == draws.posterior["start"].values)


def test_a_conversion_serves_again():
    model = MODELS["missing_values"]()
    found = fz.from_pymc(model)
    settings = {"draws": 10, "tune": 20, "random_seed": 1, "progressbar": False}
    one, two = found.sample(**settings), fz.sample(model, conversion=found, **settings)
    assert np.all(one.posterior["mu"].values == two.posterior["mu"].values)


def test_transforms_of_ones_own_restrict():
    draws = fz.sample(MODELS["limits_by_transforms"](), draws=300, random_seed=1, progressbar=False)
    low = {"late": 4, "share": 0.2, "inside": 3, "positive": 0, "chance": 0}
    high = {"early": 2.5, "share": 0.9, "inside": 4, "chance": 1}
    for name, end in low.items():
        assert float(draws.posterior[name].min()) >= end
    for name, end in high.items():
        assert float(draws.posterior[name].max()) <= end
    assert bool((draws.posterior["higher"] >= draws.posterior["floor"]).all())


def test_a_check_says_where_pymc_has_no_density():
    found = fz.pymc.Check(np.zeros(2), np.array([0, -np.inf]), np.zeros((2, 1)), np.zeros((2, 1)))
    assert "PyMC gives no finite log density at 1 of them" in repr(found)


def test_a_check_goes_on_where_parameters_are_out_of_range():
    """Chances that do not sum to 1, of which PyMC's check would end the computation."""
    with pm.Model() as model:
        chances = [pm.Uniform(f"chance{k}", 0, 1) for k in range(3)]
        pm.Multinomial("y", n=20, p=chances, observed=[4, 7, 9])
    found = fz.from_pymc(model).check()
    assert np.all(found.model == -np.inf)
    assert f"no finite log density at {len(found.model)} of them" in repr(found)


def test_a_model_without_free_variables_is_refused_as_by_pymc():
    with pm.Model() as model:
        pm.Normal("y", 0, 1, observed=[1.0, 2.0])
    with pytest.raises(Unconvertible, match="no free variables"):
        fz.from_pymc(model)
    with pytest.raises(pm.exceptions.SamplingError, match="free variables"):
        fz.sample(model, progressbar=False)


def test_rates_are_those_that_were_given():
    with pm.Model() as model:
        pm.Gamma("a", 2, 10)
        pm.Gamma("b", 2, np.array([[10], [50]]), shape=(2, 3))
    found = fz.from_pymc(model)
    assert "a ~ Gamma(2, 10)" in found.text
    assert np.array_equal(found.data["c"], [10, 50])
    assert found.check().spread < 1e-12


def test_names_end_as_they_do_in_the_model():
    with pm.Model() as model:
        pm.Normal("lambda_", 0, 1)
        pm.Normal("lambda", 0, 1)
    names = [line.split(" ")[0] for line in fz.from_pymc(model).text.splitlines()]
    assert names == ["lambda_", "lambda"]


def test_answers_are_those_of_pymc():
    model = MODELS["logistic_growth"]()
    ours = fz.sample(model, draws=1000, random_seed=1, progressbar=False)
    theirs = pm.sample(
        1000, chains=4, cores=1, model=model, random_seed=1, progressbar=False, nuts_sampler="pymc"
    )
    for name in ("top", "rate", "middle", "s"):
        a, b = ours.posterior[name], theirs.posterior[name]
        # Five standard errors of a difference of means with at least 400 effective draws each.
        assert abs(float(a.mean() - b.mean())) < 5 * float(b.std()) * np.sqrt(2 / 400)


def test_a_model_without_a_counterpart_is_sampled_by_pymc_and_says_so():
    with pm.Model() as model:
        number = pm.Poisson("number", 3)
        pm.Normal("y", number * pm.Normal("step", 0, 1), 1, observed=[2.0, 3.0])
    with pytest.warns(ConversionWarning, match="discrete parameter"):
        draws = fz.sample(model, draws=20, tune=20, chains=1, progressbar=False, random_seed=1)
    assert draws.posterior["number"].shape == (1, 20)
    with pytest.raises(ValueError, match="cannot be converted"):
        fz.sample(model, backend="fitzroy")


class Own(pm.Metropolis):
    """A step method for variables named `trees`, as a package beside PyMC brings it."""

    @staticmethod
    def competence(var, has_grad):
        own = var.name == "trees"
        return Competence.IDEAL if own else Competence.INCOMPATIBLE


def test_a_variable_with_a_step_method_of_its_own_is_sampled_by_it(monkeypatch):
    monkeypatch.setattr(pm, "STEP_METHODS", [*pm.STEP_METHODS, Own])
    with pm.Model() as model:
        pm.Normal("y", pm.Normal("trees", 0, 1), 1, observed=[2.0, 3.0])
    with pytest.raises(Unconvertible, match="trees: .* draws it by Own"):
        fz.from_pymc(model)
    with pytest.warns(ConversionWarning, match=r"draws it by Own.*\), and is sampled by PyMC$"):
        draws = fz.sample(model, draws=20, tune=20, chains=1, progressbar=False, random_seed=1)
    assert draws.posterior["trees"].shape == (1, 20)
    with pytest.raises(ValueError, match="cannot be converted"):
        fz.sample(model, backend="compiled")


def test_discrete_variables_are_drawn_as_pymc_draws_them():
    model = MODELS["change_point_in_a_discrete_year"]()
    ours = fz.sample(model, draws=2000, random_seed=1, progressbar=False, backend="fitzroy")
    theirs = pm.sample(
        4000, chains=4, cores=1, model=model, random_seed=1, progressbar=False, nuts_sampler="pymc"
    )
    a, b = (d.posterior["when"].values.ravel() for d in (ours, theirs))
    assert a.dtype.kind == "i" and set(np.unique(a)) <= set(range(41))
    # Five standard errors with at least 400 effective draws of PyMC's Metropolis steps.
    assert abs(a.mean() - b.mean()) < 5 * b.std() * np.sqrt(2 / 400)


def test_correlations_have_the_spread_of_their_distribution():
    with pm.Model() as model:
        pm.LKJCorr("R", n=3, eta=2.0)
    if model["R"].type.ndim != 2:
        pytest.skip("a packed triangle, which is sampled by PyMC")
    with pytest.raises(Unconvertible, match="the check of the correlations R: PyMC has other"):
        fz.from_pymc(model).check()
    draws = fz.sample(model, draws=5000, random_seed=1, progressbar=False)
    # (r + 1)/2 is Beta(eta + (n - 2)/2, the same): variance 1/6. 20,000 nearly independent draws
    # have a standard error of the variance of some 0.0015.
    assert abs(float(draws.posterior["R"].values[..., 0, 1].var()) - 1 / 6) < 0.008


def test_what_cannot_be_asked_for_is_refused():
    model = MODELS["eight_schools"]()
    with pytest.raises(ValueError, match="backend"):
        fz.sample(model, backend="stan")
    with pytest.raises(ValueError, match="var_names"):
        fz.sample(model, draws=5, tune=5, var_names=["nothing"], progressbar=False)
    with pytest.raises(ValueError, match="chains"):
        fz.sample(model, chains=0)
    with pytest.raises(ValueError, match="target"):
        fz.sample(model, target_accept=1.5, progressbar=False)


def test_chains_start_at_the_values_of_variables():
    """Chains in a sharp posterior stay near the mode that they start in: the other one is 20 standard
    deviations off. The long first steps of the warm-up lead one chain in 200 over, so the seed is
    given."""
    with pm.Model() as model:
        x = pm.Normal("x", 0, 100)
        s = pm.HalfNormal("s", 1)
        pm.Potential("modes", pm.math.logsumexp([-50 * (x - 2) ** 2, -50 * (x + 2) ** 2]))
        pm.Potential("near", -50 * (s - 1) ** 2)
    given = {"draws": 50, "tune": 50, "random_seed": 1, "progressbar": False}
    for value in (2.0, -2.0):
        for start in ({"x": value, "s": 1}, {x: value}, {"x": value, "s_log__": 0.0}):
            draws = fz.sample(model, initvals=start, **given)
            assert abs(float(draws.posterior["x"].mean()) - value) < 0.1
    chains = [{"x": value, "s": 1.0} for value in (2.0, -2.0, 2.0, -2.0)]
    draws = fz.sample(model, initvals=chains, **given)
    # Restarts of chains in a much worse mode do not move these: both are as good.
    assert np.sign(draws.posterior["x"].values[:, -1]).tolist() == [1, -1, 1, -1]
    fz.register()
    with model:
        draws = pm.sample(
            50,
            tune=50,
            nuts_sampler="fitzroy",
            initvals={"x": -2.0},
            random_seed=1,
            progressbar=False,
        )
    assert float(draws.posterior["x"].mean()) < -1.9


def test_chains_start_where_few_draws_of_the_priors_have_a_density():
    with pm.Model() as constrained:
        a = pm.Normal("a", 0, 1)
        b = pm.Normal("b", 0, 1)
        pm.Potential("above", pm.math.switch(a + b > 2, 0.0, -np.inf))
    with pm.Model() as far_with_discrete:
        z = pm.Bernoulli("z", 0.5)
        a = pm.Normal("a", 100, 1)
        pm.Potential("above", pm.math.switch(a > 50, 0.0, -np.inf))
        pm.Normal("y", a + z, 1, observed=101.0)
    for model in (constrained, far_with_discrete):
        found = fz.sample(model, draws=100, tune=200, random_seed=1, progressbar=False).posterior
        assert np.isfinite(found["a"].values).all()
        if model is constrained:
            assert (found["a"] + found["b"] > 2).all()


def test_draws_that_round_to_an_end_are_no_places_to_compare():
    with pm.Model() as model:
        u = pm.Uniform("u", 0, 1)
        pm.Normal("y", u, 0.05, observed=[1.15, 1.2])
        pm.Beta("b", 0.1, 0.1)
        pm.Beta("c", 0.02, 1)
    found = fz.from_pymc(model).check()
    assert 32 <= len(found.text) <= 64 and found.spread < 1e-8


def test_starts_of_vectors_matrices_and_words():
    model = MODELS["correlated_effects"]()
    point = model.initial_point()
    names = [v.name for v in model.free_RVs]
    given = {"draws": 5, "tune": 20, "random_seed": 1, "progressbar": False}
    fz.sample(model, initvals=dict.fromkeys(names, "prior"), **given)
    fz.sample(model, initvals=point, **given)
    with pytest.raises(ValueError, match="initvals.*no free variable 'nothing'"):
        fz.sample(model, initvals={"nothing": 1}, **given)
    with pytest.raises(TypeError, match="initvals"):
        fz.sample(model, initvals=3, **given)
    with pytest.raises(ValueError, match="initvals.*sets of values for 4 chains"):
        fz.sample(model, initvals=[{}, {}], **given)


def test_data_that_change_are_read_anew():
    with pm.Model() as model:
        x = pm.Data("x", np.zeros(30))
        pm.Normal("y", pm.Normal("a", 0, 10) + x, 1.0, observed=np.full(30, 4.0))
    first = fz.sample(model, draws=400, random_seed=1, progressbar=False)
    with model:
        pm.set_data({"x": np.ones(30)})
    second = fz.sample(model, draws=400, random_seed=1, progressbar=False)
    change = float(first.posterior["a"].mean() - second.posterior["a"].mean())
    assert abs(change - 1) < 0.1


def test_the_text_can_be_read():
    found = fz.from_pymc(MODELS["eight_schools"]())
    assert "theta[school] ~ Normal(mu, tau)" in found.text
    assert set(found.data) == {"y", "c"}
    assert found.notes == [] and found.missing == []


def test_log_likelihoods_of_a_model_with_starts():
    # PyMC itself refuses these.
    model = MODELS["limits_by_transforms"]()
    asked = {"log_likelihood": True}
    draws = fz.sample(
        model, draws=20, tune=50, chains=2, random_seed=1, progressbar=False, idata_kwargs=asked
    )
    assert np.isfinite(draws.log_likelihood["y"]).all()
    assert any(start is not None for start in model.rvs_to_initial_values.values())


def test_draws_are_kept_where_pymc_gives_no_log_likelihood(monkeypatch):
    def none(*_, **__):
        raise NotImplementedError("none here")

    monkeypatch.setattr(pm.stats, "compute_log_likelihood", none)
    with pytest.warns(ConversionWarning, match="no log likelihood: .*none here"):
        draws = fz.sample(
            MODELS["linear_regression"](),
            draws=20,
            tune=50,
            chains=2,
            random_seed=1,
            progressbar=False,
            idata_kwargs={"log_likelihood": True},
        )
    assert draws.posterior.sizes["draw"] == 20


def test_customers_who_die_after_some_occasion_are_those_of_a_plain_sum():
    from fitzroy.pymc.densities import density
    from fitzroy.pymc.folding import Constants
    from scipy.special import betaln

    rng = np.random.default_rng(5)
    occasions = rng.integers(3, 9, size=20)
    bought = rng.binomial(occasions, 0.4)
    last = np.where(bought > 0, np.maximum(bought, rng.binomial(occasions, 0.8)), 0)
    params = rng.uniform(0.3, 4, size=4)
    value = pt.constant(np.stack([last, bought], axis=1).astype(float))
    given = [*(pt.constant(p) for p in params), pt.constant(occasions)]
    got = density(Constants(), "BetaGeoBetaBinom", value, given).eval()
    a, b, c, d = params

    def of(n: int, x: int, t: int) -> float:
        """Equation 5 of Fader, Hardie and Shang."""
        lived = np.exp(betaln(a + x, b + n - x) - betaln(a, b) + betaln(c, d + n) - betaln(c, d))
        for k in range(t, n):
            bought = betaln(a + x, b + k - x) - betaln(a, b)
            lived += np.exp(bought + betaln(c + 1, d + k) - betaln(c, d))
        return np.log(lived)

    want = [of(*one) for one in zip(occasions, bought, last)]
    np.testing.assert_allclose(got, want, rtol=1e-11)
    with pytest.raises(Unconvertible, match="not data"):
        density(Constants(), "BetaGeoBetaBinom", pt.matrix(), given)
    assert density(Constants(), "Normal", value, given) is None


def test_names_are_the_models_everywhere(tmp_path):
    """Of the text, of messages, and of the trace in the folder, from which PyMC may predict."""
    y = np.random.default_rng(0).normal(100, 1, size=200)
    with pm.Model() as model:
        level = pm.Normal("level of y", 0, 100)
        e = pm.HalfNormal("e", 50)
        pm.Normal("1|g_offset", 0, 1, shape=2)
        pm.Normal("data", level, e, observed=y)
        pm.Deterministic("x.y", 2 * level)
    assert fz.from_pymc(model).check().spread < 1e-9
    draws = fz.sample(model, out=tmp_path / "run", random_seed=1, progressbar=False)
    kept = fz.read(tmp_path / "run")
    for one in (draws, kept):
        names = ["1|g_offset", "e", "level of y", "x.y"]
        assert sorted(map(str, one.posterior.data_vars)) == names
        with model:
            seen = pm.sample_posterior_predictive(one, random_seed=1, progressbar=False)
        assert abs(float(seen.posterior_predictive["data"].mean()) - y.mean()) < 0.1
    assert "level of y" in (tmp_path / "run" / "summary.txt").read_text()
    bad = {"level of y": np.inf}
    with pytest.raises(ValueError, match="`level of y` is inf"):
        fz.sample(model, initvals=bad, progressbar=False)


def test_a_conversion_follows_the_data_of_its_model():
    given = {"draws": 200, "tune": 200, "random_seed": 1, "progressbar": False}
    with pm.Model() as model:
        x = pm.Data("x", np.ones(5))
        a = pm.Normal("a", 0, 10)
        pm.Normal("y", a, 0.1, observed=x)
    converted = fz.from_pymc(model)
    behind = fz.sample(model, blocking=False, **given)
    with model:
        pm.set_data({"x": np.full(5, 7.0)})
    draws = converted.sample(**given)
    assert abs(float(draws.posterior["a"].mean()) - 7) < 0.1
    assert draws.observed_data["y"].values.tolist() == [7.0] * 5
    draws = behind.wait()
    assert abs(float(draws.posterior["a"].mean()) - 1) < 0.1
    assert draws.observed_data["y"].values.tolist() == [1.0] * 5


def test_additions_to_a_result_are_made_or_said():
    with pm.Model() as model:
        a = pm.Normal("a")
        pm.Normal("y", a, 1, observed=[1.0, 2.0])
    given = {"draws": 50, "tune": 100, "random_seed": 1, "progressbar": False}
    draws = fz.sample(model, idata_kwargs={"log_prior": True, "log_likelihood": True}, **given)
    assert draws.log_prior["a"].shape == (4, 50) and draws.log_likelihood["y"].shape == (4, 50, 2)
    with pytest.raises(TypeError, match="'log_pior' is not known"):
        fz.sample(model, idata_kwargs={"log_pior": True}, **given)
    with pytest.warns(ConversionWarning, match="save_warmup has no effect: discard_tuned"):
        fz.sample(model, idata_kwargs={"save_warmup": True}, **given)
    with model, pytest.raises(TypeError, match="the number of draws is draws=500"):
        fz.sample(500)


def test_a_constant_that_is_no_number_is_named():
    with pm.Model() as model:
        b = pm.Normal("b")
        pm.Normal("y", b * np.array([1.0, 2.0, np.nan, 4.0]), 1, observed=[1.0, 2.0, 9.0, 4.0])
    with (
        pytest.warns(ConversionWarning, match="a constant of the model: is NaN in row 3"),
        pytest.raises(RuntimeError, match="no starting point"),
    ):
        fz.sample(model, random_seed=1, progressbar=False)


def test_random_names_come_back():
    """Those that the language takes, and those that it does not, of which the text has others."""
    rng = np.random.default_rng(7)
    letters = list("abé_ 1|:.,<>-=+*()[]`'\"\\&#~@")
    names = {"".join(rng.choice(letters, rng.integers(1, 9))) for _ in range(40)}
    names = {name for name in names if not name.endswith(":")}  # PyMC refuses them
    names |= {"e", "pi", "inf", "let", "target", "draw_", "lp", "a b", "a_b", "v_e"}
    with pm.Model() as model:
        for k, name in enumerate(sorted(names)):
            pm.Normal(name, k, 0.01)
    draws = fz.sample(model, draws=50, tune=100, random_seed=1, progressbar=False)
    drawn = draws.posterior.data_vars
    means = [float(drawn[name].mean()) for name in sorted(names)]
    np.testing.assert_allclose(means, np.arange(len(names)), atol=0.05)
