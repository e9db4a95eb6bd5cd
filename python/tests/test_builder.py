"""Models written by calls are the text that one would write."""

from __future__ import annotations

import numpy as np
import pytest

import fitzroy as fz
from fitzroy import _fitzroy
from fitzroy.builder import Builder, Term


def test_eight_schools_are_eight_schools():
    m = Builder()
    y, sigma = m.data("y", "schools"), m.data("sigma", "schools")
    mu, tau = m.Normal("mu", 0, 5), m.HalfCauchy("tau", 5)
    theta = m.Normal("theta", mu, tau, dims="schools")
    m.Normal(y, theta, sigma)
    assert m.model == fz.Model(
        "data y[schools]\ndata sigma[schools]\nmu ~ Normal(0, 5)\ntau ~ HalfCauchy(5)\n"
        "theta[schools] ~ Normal(mu, tau)\ny ~ Normal(theta, sigma)\n"
    )
    assert "theta[schools] ~ Normal(mu, tau)" in repr(m) and "<pre>" in m._repr_html_()
    data = {"y": [28, 8, -3, 7, -1, 1, 18, 12], "sigma": [15, 10, 16, 11, 9, 11, 10, 18]}
    pytest.importorskip("xarray")
    draws = m.model.sample(data, random_seed=1, progressbar=False)
    assert draws.posterior["theta"].dims == ("chain", "draw", "schools")


def test_every_statement_and_every_operator():
    m = Builder()
    y = m.data("y", "obs")
    n = m.data("n", "obs", whole=True)
    group = m.data("group", "obs", into="groups", first=1)
    x = m.data("x", "obs", "features")
    kinds = m.dim("kinds", ["a", "b"])
    m.dim("cuts", 3)
    b = m.Normal("b", 0, 1, dims="features")
    a = m.Normal("a", 0, scale_of := m.HalfNormal("s", 1), dims=("groups",))
    w = m.Dirichlet("w", [1, 1.5], dims="kinds")
    cut = m.Normal("cut", 0, 3, dims="cuts", ordered=True)
    low = m.Normal("low", 0, 1, truncated=(0, None), centred=True)
    linear = m.let("linear", a[group] + x @ b - 2 * np.exp(-(low**2)) / (1 + abs(low)))
    m.record("best", m.max(a), ())
    m.record("share", m.sum(w, axis="kinds") + kinds + np.float64(0.5))
    m.target(-0.5 * low + m.softplus(low) * (low > 0.25))
    m.Mixture(y, w, m.dist.Normal(linear, 1), m.dist.StudentT(4, linear, scale_of))
    m.Poisson(n, np.exp(a[group]) + np.maximum(low, cut[0]))
    m.predict("new", m.dist.Normal(low, 1), "groups")
    m.predict("twice", 2 * cut[1:])
    m.say("# a statement of the language itself\nlet rest = sqrt(low)")
    want = """
        data y[obs]
        data n[obs]: int
        data group[obs] in groups from 1
        data x[obs, features]
        dim kinds = ["a", "b"]
        dim cuts = 3
        b[features] ~ Normal(0, 1)
        s ~ HalfNormal(1)
        a[groups] ~ Normal(0, s)
        w[kinds] ~ Dirichlet([1, 1.5])
        cut[cuts] ~ Normal(0, 3) ordered
        low ~ Normal(0, 1) truncated(lower=0) @ centred
        let linear = a[group] + x @ b - 2 * exp(-(low^2)) / (1 + abs(low))
        best = max(a)
        share = sum(w, axis=kinds) + kinds + 0.5
        target += -0.5 * low + softplus(low) * (low > 0.25)
        y ~ Mixture(w, Normal(linear, 1), StudentT(4, linear, s))
        n ~ Poisson(exp(a[group]) + max(low, cut[0]))
        predict new[groups] ~ Normal(low, 1)
        predict twice = 2 * cut[1:]
        let rest = sqrt(low)
    """
    assert m.model == fz.Model(want), m.text


@pytest.mark.parametrize("seed", range(40))
def test_expressions_keep_their_meaning(seed):
    """Random expressions: the number that Python computes is the one that the text gives."""
    r = np.random.default_rng(seed)
    values = {"a": 1.25, "b": -0.75, "c": 2.5}
    m = Builder()
    terms = {name: m.data(name) for name in values}

    def some(depth):
        if depth == 0 or r.random() < 0.2:
            name = "abc"[r.integers(3)]
            if r.random() < 0.3:
                number = float(np.round(r.normal(), 3))
                return number, number
            return terms[name], values[name]
        kind = r.integers(8)
        one, two = some(depth - 1), some(depth - 1)
        if kind == 0:
            return one[0] + two[0], one[1] + two[1]
        if kind == 1:
            return one[0] - two[0], one[1] - two[1]
        if kind == 2:
            return one[0] * two[0], one[1] * two[1]
        if kind == 3:
            return one[0] / (abs(two[0]) + 1), one[1] / (abs(two[1]) + 1)
        if kind == 4:
            return -one[0], -one[1]
        if kind == 5:
            return (abs(one[0]) + 0.5) ** (two[0] / 4), (abs(one[1]) + 0.5) ** (two[1] / 4)
        if kind == 6:
            return np.tanh(one[0]), np.tanh(one[1])
        return np.maximum(one[0], two[0]), np.maximum(one[1], two[1])

    term, value = some(5)
    m.record("found", m.data("zero") + term)
    m.Normal("mu", 0, 1)
    draws = m.model.sample(
        {**values, "zero": 0.0},
        draws=2,
        tune=5,
        chains=1,
        random_seed=1,
        progressbar=False,
        prior_only=True,
    )
    prior = draws["prior"] if isinstance(draws, dict) else draws.prior
    np.testing.assert_allclose(np.asarray(prior["found"]).ravel()[0], value, rtol=1e-12)


def test_what_is_wrong_is_said_where_it_is_written():
    m = Builder()
    with pytest.raises(AttributeError, match="unknown distribution `Norml`; did you mean `Normal`"):
        m.Norml("mu", 0, 1)
    with pytest.raises(
        AttributeError, match="unknown function `sigmoid`; it is called `inv_logit`"
    ):
        m.sigmoid(1)
    with pytest.raises(AttributeError, match="unknown distribution"):
        m.dist.Nothing(0)
    with pytest.raises(ValueError, match="Normal"):
        m.Normal("mu", 0, 1, 2)
    mu = m.Normal("mu", 0, 1)
    with pytest.raises(ValueError, match="mu"):
        m.HalfNormal("mu", 1)
    assert m.text.strip() == "mu ~ Normal(0, 1)", "what was refused is not kept"
    with pytest.raises(TypeError, match="declare arrays with data"):
        m.let("x", mu * np.ones(3))
    with pytest.raises(TypeError, match="no truth in Python; write where"):
        bool(mu > 1)
    with pytest.raises(TypeError, match="np.sort has no counterpart|none in Python"):
        list(mu)
    with pytest.raises(TypeError, match="np.frexp has no counterpart"):
        np.frexp(mu)
    with pytest.raises(TypeError, match="no step"):
        mu[::2]
    with pytest.raises(ValueError, match="not a number"):
        m.let("z", mu + float("nan"))


def test_names_are_those_of_the_language():
    names = _fitzroy.names()
    assert {"Normal", "exp"} <= set(names) and set(names) <= set(dir(Builder()))
    # No function of the language is hidden by a method.
    assert not set(names) & {name for name in vars(Builder) if not name.startswith("_")}
    assert "sigma=1" in Builder().Normal.__doc__ and "logarithm" in Builder().log.__doc__
    assert not hasattr(Builder(), "_repr_png_") and Term("a").text == "a"
