"""The example models in NumPyro, in coordinates that sample well.

The variables carry the names of the model files; helpers that a file does not record begin with
an underscore. Priors and likelihoods are those of the files; only the coordinates may differ.
"""

import json
import pathlib

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax.scipy.special import expit

MODELS = pathlib.Path(__file__).resolve().parents[3] / "models"


def table(name):
    """The columns of a CSV file or the arrays of a JSON file; text becomes codes in sorted order."""
    path = MODELS / name
    if path.suffix == ".json":
        return {k: np.array(v) for k, v in json.loads(path.read_text()).items()}
    head, *rows = (line.split(",") for line in path.read_text().split())
    out = {}
    for j, column in enumerate(head):
        cells = [row[j] for row in rows]
        try:
            out[column] = np.array([float(c) for c in cells])
        except ValueError:
            out[column] = np.unique(cells, return_inverse=True)[1]
        if np.all(out[column] == np.round(out[column])):
            out[column] = out[column].astype(int)
    return out


def sample(name, d, obs=None):
    return numpyro.sample(name, d, obs=obs)


def record(name, value):
    return numpyro.deterministic(name, value)


def effects(name, mean, sd, size, centred):
    """Normal(mean, sd) effects in either coordinates."""
    if centred:
        return sample(name, dist.Normal(mean, sd).expand([size]))
    return record(name, mean + sd * sample("_" + name, dist.Normal(0, 1).expand([size])))


def hierarchical():
    d = table("hierarchical.csv")
    mu = sample("mu_pop", dist.Normal(50, 20))
    sigma = sample("sigma_pop", dist.HalfNormal(15))
    group = effects("mu_group", mu, sigma, 100, True)
    sample("y", dist.Normal(group[d["group"]], sample("sigma_obs", dist.HalfNormal(5))), d["y"])


def eight_schools():
    d = table("eight-schools.csv")
    mu = sample("mu", dist.Normal(0, 5))
    theta = effects("theta", mu, sample("tau", dist.HalfCauchy(5)), 8, False)
    sample("y", dist.Normal(theta, d["sigma"]), d["y"])


def radon():
    d = table("radon.json")
    g0, g1 = sample("gamma_0", dist.Normal(0, 2)), sample("gamma_1", dist.Normal(0, 2))
    sigma = sample("sigma_county", dist.HalfNormal(1))
    alpha = record("alpha", g0 + g1 * d["uranium"] + sigma * sample("_z", dist.Normal(0, 1).expand([85])))
    floor = sample("beta_floor", dist.Normal(0, 2))
    noise = sample("sigma_obs", dist.HalfNormal(2))
    sample("y", dist.Normal(alpha[d["county"]] + floor * d["floor"], noise), d["log_radon"])


def artists():
    d = table("artists.json")
    mu = sample("mu", dist.Normal(0, 20))
    effect = effects("effect", mu, sample("sigma_artist", dist.HalfNormal(5)), 100, True)
    beta = sample("beta", dist.Normal(0, 2).expand([10]))
    mean = effect[d["artist"]] + jnp.asarray(d["features"]) @ beta
    sample("y", dist.Normal(mean, sample("sigma", dist.HalfNormal(5))), d["y"])


def rats():
    d = table("rats.csv")
    vague = dist.Gamma(0.001, 0.001)
    mean_a, mean_b = sample("alpha_c", dist.Normal(0, 1000)), sample("beta_c", dist.Normal(0, 1000))
    a = effects("alpha", mean_a, sample("alpha_tau", vague) ** -0.5, 30, True)
    b = effects("beta", mean_b, sample("beta_tau", vague) ** -0.5, 30, True)
    sigma = record("sigma", sample("tau_c", vague) ** -0.5)
    record("alpha0", mean_a - 22 * mean_b)
    rat = d["rat"] - 1
    sample("y", dist.Normal(a[rat] + b[rat] * (d["day"] - 22), sigma), d["weight"])


def linear():
    d = table("linear.csv")
    mean = sample("intercept", dist.Normal(0, 10)) + sample("slope", dist.Normal(0, 10)) * d["x"]
    sample("y", dist.Normal(mean, sample("sigma", dist.HalfNormal(5))), d["y"])


def random_walk():
    d = table("random-walk.csv")
    start = sample("start", dist.Normal(0, 5))
    level = sample("sigma_level", dist.HalfNormal(1))
    noise = sample("sigma_obs", dist.HalfNormal(1))
    steps = sample("_step", dist.Normal(0, 1).expand([len(d["y"])]))
    sample("y", dist.Normal(record("level", start + level * jnp.cumsum(steps)), noise), d["y"])


def pumps():
    d = table("pumps.csv")
    alpha, beta = sample("alpha", dist.Exponential(1)), sample("beta", dist.Gamma(0.1, 1))
    theta = sample("theta", dist.Gamma(alpha, beta).expand([10]))
    sample("x", dist.Poisson(theta * d["t"]), d["x"])


def logistic():
    d = table("logistic.csv")
    eta = sample("intercept", dist.Normal(0, 2.5))
    for k in range(1, 5):
        eta = eta + sample(f"b{k}", dist.Normal(0, 2.5)) * d[f"x{k}"]
    sample("y", dist.Bernoulli(logits=eta), d["y"])


def conversion_funnel():
    d = table("conversion-funnel.csv")
    prior_mean, product = {"signup": -2, "trial": 0, "purchase": -1}, 1.0
    trials_of = {"signup": "visits", "trial": "signups", "purchase": "trials"}
    for stage, before in trials_of.items():
        mu = sample(f"mu_{stage}", dist.Normal(prior_mean[stage], 1))
        sigma = sample(f"sigma_{stage}", dist.HalfNormal(1))
        effect = effects(stage, mu, sigma, 12, stage != "purchase")
        logits = effect[d["campaign"]]
        sample("_" + stage + "s", dist.Binomial(d[before], logits=logits), d[stage + "s"])
        product = product * expit(effect)
    record("conversion", product)


def energy():
    d = table("energy.json")
    mu = sample("mu_log", dist.Normal(4, 1))
    log_usage = effects("log_usage", mu, sample("sigma_log", dist.HalfNormal(1)), 6, True)
    usage = record("usage", jnp.exp(log_usage))
    heating = sample("heating", dist.HalfNormal(50))
    habit = effects("habit", 0.0, sample("sigma_household", dist.HalfNormal(0.5)), 60, True)
    noise = sample("sigma_obs", dist.HalfNormal(0.5))
    home = d["household"]
    expected = (jnp.asarray(d["owns"]) @ usage)[home] + heating * d["electric_heat"][home] * d["cold"]
    sample("y", dist.LogNormal(jnp.log(expected) + habit[home], noise), d["total"])


def mixture():
    d = table("mixture.csv")
    w = sample("weight", dist.Beta(2, 2))
    low, gap = sample("mu_low", dist.Normal(60, 20)), sample("gap", dist.HalfNormal(30))
    high = record("mu_high", low + gap)
    s1, s2 = sample("sigma_low", dist.HalfNormal(10)), sample("sigma_high", dist.HalfNormal(10))
    parts = [jnp.log(w) + dist.Normal(low, s1).log_prob(d["wait"]),
             jnp.log1p(-w) + dist.Normal(high, s2).log_prob(d["wait"])]
    numpyro.factor("y", jnp.logaddexp(*parts).sum())


def count_mean(d):
    eta = sample("intercept", dist.Normal(0, 2.5)) + sample("slope", dist.Normal(0, 2.5)) * d["x"]
    return d["exposure"] * jnp.exp(eta + sample("treatment", dist.Normal(0, 2.5)) * d["treated"])


def poisson():
    d = table("counts.csv")
    sample("n", dist.Poisson(count_mean(d)), d["n"])


def negative_binomial():
    d = table("counts.csv")
    mean = count_mean(d)
    sample("n", dist.NegativeBinomial2(mean, sample("dispersion", dist.Gamma(2, 0.5))), d["n"])


def seeds():
    d = table("seeds.csv")
    a0, a1, a2, a12 = (sample(k, dist.Normal(0, 1000)) for k in ("alpha0", "alpha1", "alpha2", "alpha12"))
    sigma = record("sigma", sample("tau", dist.Gamma(0.001, 0.001)) ** -0.5)
    b = effects("b", 0.0, sigma, 21, False)
    eta = a0 + a1 * d["seed"] + a2 * d["extract"] + a12 * d["seed"] * d["extract"] + b
    sample("r", dist.Binomial(d["n"], logits=eta), d["r"])


def ratings():
    d = table("ratings.csv")
    eta = sample("beta_price", dist.Normal(0, 1)) * d["price"] + sample("beta_label", dist.Normal(0, 1)) * d["label"]
    cuts = sample("cutpoints", dist.ImproperUniform(dist.constraints.ordered_vector, (), (4,)))
    numpyro.factor("_cutpoints", dist.Normal(0, 3).log_prob(cuts).sum())
    sample("rating", dist.OrderedLogistic(eta, cuts), d["rating"])


def slopes():
    d = table("slopes.csv")
    mu = sample("mu", dist.Normal(0, 5).expand([2]))
    sd = sample("chol_stds", dist.HalfNormal(2).expand([2]))
    factor = sample("_factor", dist.LKJCholesky(2, 2.0))
    record("correlation", factor[1, 0])
    z = sample("_z", dist.Normal(0, 1).expand([25, 2]))
    effect = record("effect", mu + z @ (sd[:, None] * factor).T)
    mean = effect[d["group"], 0] + effect[d["group"], 1] * d["x"]
    sample("y", dist.Normal(mean, sample("sigma", dist.HalfNormal(2))), d["y"])


def trips():
    d = table("trips.json")
    common = sample("common", dist.Dirichlet(2.0 * jnp.ones(4)))
    concentration = sample("concentration", dist.Gamma(2, 0.05))
    share = sample("share", dist.Dirichlet(concentration * common).expand([12]))
    sample("trips", dist.Multinomial(d["trips"].sum(1), share), d["trips"])


def autoregression():
    y = table("autoregression.csv")["y"]
    rho, sigma = sample("rho", dist.Normal(0, 0.5).expand([2])), sample("sigma", dist.HalfNormal(1))
    sample("start", dist.Normal(0, 2), y[:2])
    sample("y", dist.Normal(rho[0] * y[1:-1] + rho[1] * y[:-2], sigma), y[2:])


# Name of the model: (function, data file). Those of EXACT are solved by exact.py.
SAMPLED = {
    "logistic": (logistic, "logistic.csv"), "conversion-funnel": (conversion_funnel, "conversion-funnel.csv"),
    "energy": (energy, "energy.json"), "mixture": (mixture, "mixture.csv"),
    "poisson": (poisson, "counts.csv"), "negative-binomial": (negative_binomial, "counts.csv"),
    "seeds": (seeds, "seeds.csv"), "ratings": (ratings, "ratings.csv"), "slopes": (slopes, "slopes.csv"),
    "trips": (trips, "trips.json"), "autoregression": (autoregression, "autoregression.csv"),
}
EXACT = {
    "hierarchical": (hierarchical, "hierarchical.csv"), "eight-schools": (eight_schools, "eight-schools.csv"),
    "radon": (radon, "radon.json"), "artists": (artists, "artists.json"), "rats": (rats, "rats.csv"),
    "linear": (linear, "linear.csv"), "random-walk": (random_walk, "random-walk.csv"),
    "pumps": (pumps, "pumps.csv"),
}
