"""Predictions for data that were not fitted, against NumPy, SciPy and PyMC."""

import numpy as np
import pytest

import fitzroy as fz

pytest.importorskip("xarray")
stats = pytest.importorskip("scipy.stats")

GROUPS = """
data y[obs], x[obs], g[obs] in group, width[group], shift
a          ~ Normal(0, 5)
b          ~ Normal(0, 2)
tau        ~ HalfNormal(1)
u[group]   ~ Normal(0, tau)
sigma      ~ HalfNormal(1)
mu[obs]    = a + shift + b * x + u[g] * width[g]
y          ~ Normal(mu, sigma)
"""
GIVEN = {"draws": 250, "tune": 300, "chains": 4, "random_seed": 3, "progressbar": False}


def _groups(seed=1, n=120, labels=("north", "south", "east", "west")):
    rng = np.random.default_rng(seed)
    g = rng.integers(len(labels), size=n)
    x = rng.normal(size=n)
    u = rng.normal(0, 0.8, size=len(labels))
    y = 1.5 + 2 + 0.7 * x + u[g] + rng.normal(0, 0.4, size=n)
    return {"y": y, "x": x, "g": np.asarray(labels)[g], "width": np.ones(len(labels)), "shift": 2.0,
            "group": list(labels)}


@pytest.fixture(scope="module")
def fitted():
    model = fz.Model(GROUPS)
    return model, model.sample(_groups(), **GIVEN)


def _flat(draws, name):
    values = draws.posterior[name].values
    return values.reshape(-1, *values.shape[2:])


def test_predictions_are_those_of_numpy(fitted):
    model, draws = fitted
    # Some of the groups, in another order; constants of groups come with the draws.
    new = {"x": [0.0, 3.0, -1.0, 10.0], "g": ["west", "north", "west", "east"]}
    made = model.predict(draws, new, random_seed=1)
    labels = list(draws.posterior["u"].coords["group"].values)
    at = [labels.index(one) for one in new["g"]]
    mu = (
        _flat(draws, "a")[:, None] + 2 + _flat(draws, "b")[:, None] * np.asarray(new["x"])
        + _flat(draws, "u")[:, at]
    )
    ours = made.predictions["mu"]
    assert ours.dims == ("chain", "draw", "obs") and ours.shape == (4, 250, 4)
    np.testing.assert_allclose(ours.values.reshape(mu.shape), mu, rtol=1e-10, atol=1e-10)
    z = (made.predictions["y"].values.reshape(mu.shape) - mu) / _flat(draws, "sigma")[:, None]
    assert stats.kstest(z.ravel(), "norm").pvalue > 1e-3
    assert abs(np.corrcoef(z.T)[np.triu_indices(4, 1)]).max() < 0.15
    np.testing.assert_array_equal(made.predictions_constant_data["x"], new["x"])
    assert "posterior" not in made and "observed_data" not in made


def test_predictions_depend_on_the_seed_alone(fitted):
    model, draws = fitted
    new = {"x": [0.5, 1.0], "g": ["west", "south"]}
    first, again = (model.predict(draws, new, random_seed=5).predictions["y"] for _ in range(2))
    other = model.predict(draws, new, random_seed=6).predictions["y"]
    np.testing.assert_array_equal(first, again)
    assert (first != other).all()
    one = model.predict(draws, new, random_seed=5, cores=1).predictions["y"]
    np.testing.assert_array_equal(first, one)


def test_held_out_data_are_scored_as_scipy_scores_them(fitted):
    model, draws = fitted
    new = _groups(seed=9, n=15)
    made = model.predict(draws, new, log_likelihood=True, random_seed=1)
    want = stats.norm.logpdf(
        new["y"], made.predictions["mu"], draws.posterior["sigma"].values[..., None]
    )
    np.testing.assert_allclose(made.log_likelihood["y"], want, rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(made.observed_data["y"], new["y"])
    assert made.predictions["y"].shape == want.shape


def test_groups_that_were_not_seen_are_drawn_from_their_prior(fitted):
    model, draws = fitted
    new = {"x": [0.0, 0.0, 1.0], "g": ["centre", "north", "far"],
           "width": [1.0, 2.0, 1.0], "group": ["centre", "far", "north"]}
    with pytest.raises(ValueError, match="dim `group` of `u` has labels that were not fitted"):
        model.predict(draws, new)
    with pytest.raises(ValueError, match="centre"):
        model.predict(draws, {"x": [0.0], "g": ["centre"]})
    with pytest.raises(ValueError, match="redraw='u' draws it, too"):
        model.predict(draws, new, redraw="tau")
    with pytest.raises(ValueError, match="leave `y` out of the data"):
        model.predict(draws, new | {"y": [1.0, 2.0, 3.0]}, redraw="u")
    made = model.predict(draws, new, redraw="u", random_seed=1)
    u = made.predictions["u"]
    assert list(u.coords["group"].values) == ["centre", "far", "north"]
    z = u.values / draws.posterior["tau"].values[..., None]
    assert stats.kstest(z.ravel(), "norm").pvalue > 1e-3
    want = draws.posterior["a"].values + 2 + u.values[..., 0]
    np.testing.assert_allclose(made.predictions["mu"].values[..., 0], want, rtol=1e-10)
    far = draws.posterior["a"] + 2 + draws.posterior["b"] + u.values[..., 1] * 2.0
    np.testing.assert_allclose(made.predictions["mu"].values[..., 2], far, rtol=1e-10)


LAWS = {
    "Poisson(exp(eta))": lambda eta, s: stats.poisson(np.exp(eta)),
    "Bernoulli(1 / (1 + exp(-eta)))": lambda eta, s: stats.bernoulli(1 / (1 + np.exp(-eta))),
    "StudentT(4, eta, s)": lambda eta, s: stats.t(4, eta, s),
    "Gamma(s, s / exp(eta))": lambda eta, s: stats.gamma(s, scale=np.exp(eta) / s),
    "LogNormal(eta, s)": lambda eta, s: stats.lognorm(s, scale=np.exp(eta)),
    "Binomial(9, 1 / (1 + exp(-eta)))": lambda eta, s: stats.binom(9, 1 / (1 + np.exp(-eta))),
}


@pytest.mark.parametrize("law", list(LAWS))
def test_random_draws_predict_as_scipy_does(law):
    """Draws that nobody sampled: every law at parameters of its own, bounds among them."""
    model = fz.Model(f"data y[obs], x[obs]\nb ~ Normal(0, 1)\ns ~ HalfNormal(1)\n"
                     f"let eta = b * x\ny ~ {law}")
    rng = np.random.default_rng(sum(map(ord, law)))
    b, s = rng.normal(size=(2, 400)), rng.uniform(0.5, 2, size=(2, 400))
    draws = {"posterior": {"b": b, "s": s}}
    x = np.array([-0.7, 0.0, 1.1])
    y = model.predict(draws, {"x": x}, random_seed=2).predictions["y"].values
    dist = LAWS[law](b[..., None] * x, s[..., None])
    # A randomised rank of each draw in its own distribution is uniform.
    below = dist.cdf(y) if dist.dist.__class__ in _continuous() else dist.cdf(y - 1)
    u = below + rng.uniform(size=y.shape) * (dist.cdf(y) - below)
    for column in u.reshape(-1, 3).T:
        assert stats.kstest(column, "uniform").pvalue > 1e-3
    held = {"x": x, "y": y[0, 0]}
    scored = model.predict(draws, held, log_likelihood=True).log_likelihood["y"].values
    log = dist.logpdf if hasattr(dist.dist, "logpdf") else dist.logpmf
    np.testing.assert_allclose(scored, log(y[0, 0]), rtol=1e-9, atol=1e-9)


def _continuous():
    return tuple(type(one) for one in (stats.norm, stats.t, stats.gamma, stats.lognorm))


def test_draws_at_the_ends_of_a_range_are_taken_as_they_are():
    model = fz.Model("data k[n], trials[n]\np ~ Beta(1, 1)\ntau ~ HalfNormal(1)\n"
                     "w ~ Normal(0, tau)\nk ~ Binomial(trials, p)")
    draws = {"posterior": {
        "p": np.array([[0.0, 1.0, 0.5]]), "tau": np.array([[0.0, 1e-300, 2.0]]), "w": np.zeros((1, 3)),
    }}
    k = model.predict(draws, {"trials": [5.0, 8.0]}, random_seed=1).predictions["k"].values
    assert k.dtype == np.int64 and (k[0, 0] == 0).all() and (k[0, 1] == [5, 8]).all()


def test_vectors_with_constraints_come_back():
    model = fz.Model("data y[obs] in kind, n_kinds\ndim kind = n_kinds\n"
                     "p[kind] ~ Dirichlet(1)\ny ~ Categorical(p)")
    rng = np.random.default_rng(3)
    p = rng.dirichlet(np.ones(3), size=(2, 500))
    made = model.predict({"posterior": {"p": p}}, {"n_kinds": 3.0}, coords={"obs": range(4)})
    share = (made.predictions["y"].values == 0).mean()
    assert abs(share - p[..., 0].mean()) < 0.05


def test_labels_keep_their_places():
    text = "data y[obs], g[obs] in unit\nm[unit] ~ Normal(0, 10)\ny ~ Normal(m[g], 0.001)"
    for labels in ([3, 7, 11], ["c", "a", "b"]):
        model = fz.Model(text)
        data = {"g": np.repeat(labels, 5), "y": np.repeat([1.0, 2.0, 3.0], 5)}
        draws = model.sample(data, **GIVEN)
        made = model.predict(draws, {"g": [labels[2], labels[0]]}, random_seed=1)
        np.testing.assert_allclose(made.predictions["y"].mean(("chain", "draw")), [3, 1], atol=0.01)


@pytest.mark.parametrize(
    ("data", "settings", "words"),
    [
        ({"x": [1.0], "g": ["west"]}, {"log_likelihood": True}, "log_likelihood: the data hold no"),
        ({"x": [np.nan], "g": ["west"]}, {}, "`x`"),
        ({"x": [1.0]}, {}, "g"),
        ({"x": [1.0], "g": ["up"]}, {}, "up"),
        ({"x": [1.0], "g": ["west"]}, {"redraw": "v"}, "redraw: `v` is no parameter"),
        ({"x": [1.0], "g": ["west"], "width": [1.0]}, {}, "group"),
        ({"x": [1.0, 2.0], "g": ["west"]}, {}, "obs"),
    ],
)
def test_what_is_wrong_is_named(fitted, data, settings, words):
    model, draws = fitted
    with pytest.raises(ValueError, match=words):
        model.predict(draws, data, **settings)


def test_draws_of_another_model_are_refused(fitted):
    model, _ = fitted
    other = {"posterior": {"a": np.zeros((1, 3))}}
    with pytest.raises(ValueError, match="the draws have no `b`"):
        model.predict(other, {"x": [1.0], "g": ["b"], "group": ["b"], "width": [1.0], "shift": 0.0})
    with pytest.raises(ValueError, match="no group `posterior`"):
        model.predict({"prior": {"a": np.zeros((1, 3))}}, {"x": [1.0], "g": ["west"]})


def test_what_cannot_be_predicted_says_why():
    walk = fz.Model("data y[t]\ns ~ HalfNormal(1)\ny[1:] ~ Normal(y[:-1], s)")
    with pytest.raises(ValueError, match="parts of it"):
        walk.predict({"posterior": {"s": np.ones((1, 3))}}, {})
    mixed = fz.Model("data y[n]\nz[n] ~ Bernoulli(0.5)\nm ~ Normal(0, 1)\ny ~ Normal(m + z, 1)")
    draws = {"posterior": {"m": np.zeros((1, 300))}}
    with pytest.raises(ValueError, match="`z` is a discrete parameter"):
        mixed.predict(draws, {"n": [0.0, 1.0]})
    made = mixed.predict(draws, {}, coords={"n": range(2)}, redraw=["z"], random_seed=1)
    assert set(made.predictions) == {"y", "z"} and made.predictions["z"].dtype == np.int64
    rest = made.predictions["y"] - made.predictions["z"]
    assert stats.kstest(rest.values.ravel(), "norm").pvalue > 1e-3
    assert abs(made.predictions["z"].values.mean() - 0.5) < 0.1


def test_data_that_follow_other_data_are_predicted_in_turn():
    model = fz.Model("data y[n], w[n]\nb ~ Normal(0, 1)\nlet m = b * y\n"
                     "y ~ Normal(b, 1)\nw ~ Normal(m, 1)")
    b = np.random.default_rng(4).normal(size=(2, 500))
    made = model.predict({"posterior": {"b": b}}, {"n": [0.0, 1.0]}, random_seed=1).predictions
    assert set(made) == {"y", "w"}
    for z in (made["y"] - b[..., None], made["w"] - made["y"] * b[..., None]):
        assert stats.kstest(z.values.ravel(), "norm").pvalue > 1e-3


def test_predictions_are_those_of_pymc():
    pm = pytest.importorskip("pymc")
    data = _groups()
    labels = sorted(set(data["g"]))
    at = [labels.index(one) for one in data["g"]]
    with pm.Model(coords={"group": labels}) as model:
        x, g = pm.Data("x", data["x"]), pm.Data("g", at)
        a, b = pm.Normal("a", 0, 5), pm.Normal("b", 0, 2)
        tau, sigma = pm.HalfNormal("tau", 1), pm.HalfNormal("sigma", 1)
        u = pm.Normal("u", 0, tau, dims="group")
        mu = pm.Deterministic("mu", a + 2 + b * x + u[g])
        pm.Normal("y", mu, sigma, observed=data["y"], shape=mu.shape)
    draws = fz.sample(model, **GIVEN)
    new = {"x": np.array([0.0, 2.0, -3.0]), "g": ["west", "east", "west"]}
    constants = {"width": np.ones(4), "shift": 2.0}
    ours = fz.Model(GROUPS).predict(draws, new | constants, random_seed=1).predictions
    with model:
        pm.set_data({"x": new["x"], "g": [labels.index(one) for one in new["g"]]})
        theirs = pm.sample_posterior_predictive(
            draws, var_names=["mu", "y"], predictions=True, random_seed=1, progressbar=False
        ).predictions
    np.testing.assert_allclose(ours["mu"], theirs["mu"], rtol=1e-9, atol=1e-9)
    for k in range(3):
        two = stats.ks_2samp(ours["y"].values[..., k].ravel(), theirs["y"].values[..., k].ravel())
        assert two.pvalue > 1e-3


def test_numbers_over_whole_data_are_those_of_the_fit():
    model = fz.Model("""
        data y[obs], x[obs], n[obs]
        let z = (x - mean(x)) / sd(x)
        let half = 1.5 * max(abs(z))
        a ~ Normal(0, 9)
        b ~ Normal(0, 9)
        s ~ HalfNormal(1)
        mu[obs] = a + b * z / half + n / sum(n)
        predict top = max(x)
        y ~ Normal(mu, s)
    """)
    rng = np.random.default_rng(2)
    x, n = rng.normal(10, 1, size=80), rng.integers(1, 5, size=80)
    y = 2 * x + rng.normal(0, 0.3, size=80)
    draws = model.sample({"x": x, "y": y, "n": n}, **GIVEN)
    new = np.array([11.0])
    made = model.predict(draws, {"x": new, "n": [2]}, random_seed=1).predictions
    half = 1.5 * np.abs((x - x.mean()) / x.std(ddof=1)).max()
    z = (new - x.mean()) / x.std(ddof=1)
    want = _flat(draws, "a") + _flat(draws, "b") * z[0] / half + 2 / n.sum()
    np.testing.assert_allclose(made["mu"].values.ravel(), want, rtol=1e-9)
    assert abs(made["y"].values.mean() - 22) < 0.3 and (made["top"].values == 11).all()
    with pytest.raises(ValueError, match="the draws do not hold `[nx]`"):
        model.predict({"posterior": dict(draws.posterior.data_vars)}, {"x": new, "n": [2]})


def test_rows_that_depend_on_those_fitted_are_refused():
    model = fz.Model("data y[obs], x[obs]\nm ~ Normal(0, 1)\n"
                     "let K = exp(-(x[obs] - x[obs'])^2) + 0.1 * identity(obs)\n"
                     "y ~ MvNormal(m, cov=K)")
    x = np.arange(5.0)
    draws = model.sample({"x": x, "y": np.sin(x)}, **GIVEN)
    with pytest.raises(ValueError, match="the elements of `y` over `obs` depend on each other"):
        model.predict(draws, {"x": [0.5, 1.5]})
    again = model.predict(draws, {"x": x}, random_seed=1).predictions["y"]
    assert again.shape == (4, 250, 5)


def test_values_that_are_missing_are_not_those_of_other_rows():
    model = fz.Model("data y[obs], x[obs]\nb ~ Normal(0, 3)\nx ~ Normal(0, 1)\n"
                     "let m = b * x\ny ~ Normal(m, 1)")
    x = np.array([1.0, np.nan, -1.0, 2.0])
    draws = model.sample({"x": x, "y": [2.0, 9.0, -2.0, 4.0]}, **GIVEN)
    with pytest.raises(ValueError, match="`x` has missing elements, which were not fitted"):
        model.predict(draws, {"x": [0.0, np.nan]})
    made = model.predict(draws, {"obs": [0, 1]}, random_seed=1).predictions
    assert abs(made["x"].values.std() - 1) < 0.1


def test_some_groups_in_any_form():
    pd = pytest.importorskip("pandas")
    g = np.repeat(list("abc"), 20)
    y = np.repeat([1.0, 3.0, 5.0], 20) + np.random.default_rng(1).normal(0, 0.1, size=60)
    rows = fz.Model("data y[obs], g[obs] in unit\na[unit] ~ Normal(0, 5)\ny ~ Normal(a[g], 0.1)")
    draws = rows.sample(pd.DataFrame({"y": y, "g": g}), **GIVEN)
    forms = [
        ["c", "a"],
        pd.Categorical(["c", "a"]),
        pd.Categorical(["c", "a"], categories=list("cba")),
    ]
    for given in forms:
        made = rows.predict(draws, pd.DataFrame({"g": given}), random_seed=1).predictions
        np.testing.assert_allclose(made["y"].mean(("chain", "draw")), [5, 1], atol=0.1)
    nested = fz.Model("data y[obs], school[obs] in schools, region[schools] in regions\n"
                      "r[regions] ~ Normal(0, 5)\na[schools] ~ Normal(r[region], 1)\n"
                      "mu[obs] = a[school] + 0 * r[region[school]]\ny ~ Normal(mu, 0.1)")
    given = {"y": y, "school": g, "schools": list("abc"), "region": ["n", "n", "s"]}
    draws = nested.sample(given, **GIVEN)
    made = nested.predict(draws, {"school": ["c", "a"]}, random_seed=1).predictions
    np.testing.assert_allclose(made["y"].mean(("chain", "draw")), [5, 1], atol=0.1)
    each = fz.Model("data y[schools], sigma[schools]\nmu ~ Normal(0, 5)\n"
                    "theta[schools] ~ Normal(mu, 5)\ny ~ Normal(theta, sigma)")
    given = {"y": [1.0, 3.0, 5.0], "sigma": [0.1] * 3}
    draws = each.sample(given, coords={"schools": list("abc")}, **GIVEN)
    for labels, want in (("ca", [5, 1]), ("cba", [5, 3, 1])):
        new = {"sigma": [0.1] * len(labels)}
        made = each.predict(draws, new, coords={"schools": list(labels)}, random_seed=1)
        np.testing.assert_allclose(
            made.predictions["y"].mean(("chain", "draw")), want, atol=0.1
        )
    with pytest.raises(ValueError, match="give labels of `schools`"):
        each.predict(each.sample(given, **GIVEN), {"sigma": [0.1, 0.1]})
