"""The sampling benchmarks for PyMC and NumPyro, written as their own documentation would.

Every function reads the file that Fitzroy reads. `noncentred` is how both projects tell people
to write these models; `centred` is the other spelling of the same posterior.
"""

import json
import os
import pathlib

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "tests" / "golden" / "posteriors"


def columns(name):
    """Numeric columns of a CSV file in the models folder."""
    lines = (ROOT / "models" / name).read_text().split()
    head = lines[0].split(",")
    rows = [line.split(",") for line in lines[1:]]
    return {h: np.array([float(r[j]) for r in rows]) for j, h in enumerate(head)
            if not rows[0][j][0].isalpha()}


def pymc_hierarchical(centred):
    import pymc as pm

    d = columns("hierarchical.csv")
    group = d["group"].astype(int)
    with pm.Model() as model:
        mu_pop = pm.Normal("mu_pop", 50, 20)
        sigma_pop = pm.HalfNormal("sigma_pop", 15)
        if centred:
            mu_group = pm.Normal("mu_group", mu_pop, sigma_pop, shape=100)
        else:
            z = pm.Normal("z", 0, 1, shape=100)
            mu_group = pm.Deterministic("mu_group", mu_pop + sigma_pop * z)
        sigma_obs = pm.HalfNormal("sigma_obs", 5)
        pm.Normal("y", mu_group[group], sigma_obs, observed=d["y"])
    return model


def pymc_eight_schools(centred):
    import pymc as pm

    d = columns("eight-schools.csv")
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 5)
        tau = pm.HalfCauchy("tau", 5)
        if centred:
            theta = pm.Normal("theta", mu, tau, shape=8)
        else:
            theta = pm.Deterministic("theta", mu + tau * pm.Normal("z", 0, 1, shape=8))
        pm.Normal("y", theta, d["sigma"], observed=d["y"])
    return model


def numpyro_hierarchical(centred):
    import numpyro
    import numpyro.distributions as dist

    d = columns("hierarchical.csv")
    group, y = d["group"].astype(int), d["y"]

    def model():
        mu_pop = numpyro.sample("mu_pop", dist.Normal(50, 20))
        sigma_pop = numpyro.sample("sigma_pop", dist.HalfNormal(15))
        with numpyro.plate("groups", 100):
            if centred:
                mu_group = numpyro.sample("mu_group", dist.Normal(mu_pop, sigma_pop))
            else:
                z = numpyro.sample("z", dist.Normal(0, 1))
                mu_group = numpyro.deterministic("mu_group", mu_pop + sigma_pop * z)
        sigma_obs = numpyro.sample("sigma_obs", dist.HalfNormal(5))
        with numpyro.plate("obs", len(y)):
            numpyro.sample("y", dist.Normal(mu_group[group], sigma_obs), obs=y)

    return model


def numpyro_eight_schools(centred):
    import numpyro
    import numpyro.distributions as dist

    d = columns("eight-schools.csv")

    def model():
        mu = numpyro.sample("mu", dist.Normal(0, 5))
        tau = numpyro.sample("tau", dist.HalfCauchy(5))
        with numpyro.plate("schools", 8):
            if centred:
                theta = numpyro.sample("theta", dist.Normal(mu, tau))
            else:
                theta = numpyro.deterministic("theta", mu + tau * numpyro.sample("z", dist.Normal(0, 1)))
            numpyro.sample("y", dist.Normal(theta, d["sigma"]), obs=d["y"])

    return model


def made(name):
    """Data that `fitzroy bench ... --write-data FOLDER` wrote, FOLDER in FITZROY_BENCH_DATA."""
    text = (pathlib.Path(os.environ["FITZROY_BENCH_DATA"]) / f"{name}.json").read_text()
    return {k: np.array(v) for k, v in json.loads(text).items()}


def pymc_groups(name):
    import pymc as pm

    d = made(name)
    with pm.Model() as model:
        mu_pop = pm.Normal("mu_pop", 50, 20)
        sigma_pop = pm.HalfNormal("sigma_pop", 15)
        z = pm.Normal("z", 0, 1, shape=int(d["group"].max()) + 1)
        mu_group = pm.Deterministic("mu_group", mu_pop + sigma_pop * z)
        sigma_obs = pm.HalfNormal("sigma_obs", 5)
        pm.Normal("y", mu_group[d["group"]], sigma_obs, observed=d["y"])
    return model


def numpyro_groups(name):
    import numpyro
    import numpyro.distributions as dist

    d = made(name)

    def model():
        mu_pop = numpyro.sample("mu_pop", dist.Normal(50, 20))
        sigma_pop = numpyro.sample("sigma_pop", dist.HalfNormal(15))
        with numpyro.plate("groups", int(d["group"].max()) + 1):
            z = numpyro.sample("z", dist.Normal(0, 1))
            mu_group = numpyro.deterministic("mu_group", mu_pop + sigma_pop * z)
        sigma_obs = numpyro.sample("sigma_obs", dist.HalfNormal(5))
        with numpyro.plate("obs", len(d["y"])):
            numpyro.sample("y", dist.Normal(mu_group[d["group"]], sigma_obs), obs=d["y"])

    return model


def pymc_artists(name):
    import pymc as pm

    d = made(name)
    with pm.Model() as model:
        mu = pm.Normal("mu", 0, 20)
        sigma_artist = pm.HalfNormal("sigma_artist", 5)
        effect = pm.Normal("effect", mu, sigma_artist, shape=int(d["artist"].max()) + 1)
        beta = pm.Normal("beta", 0, 2, shape=d["features"].shape[1])
        sigma = pm.HalfNormal("sigma", 5)
        pm.Normal("y", effect[d["artist"]] + d["features"] @ beta, sigma, observed=d["y"])
    return model


def numpyro_artists(name):
    import numpyro
    import numpyro.distributions as dist

    d = made(name)

    def model():
        mu = numpyro.sample("mu", dist.Normal(0, 20))
        sigma_artist = numpyro.sample("sigma_artist", dist.HalfNormal(5))
        with numpyro.plate("artists", int(d["artist"].max()) + 1):
            effect = numpyro.sample("effect", dist.Normal(mu, sigma_artist))
        with numpyro.plate("feature", d["features"].shape[1]):
            beta = numpyro.sample("beta", dist.Normal(0, 2))
        sigma = numpyro.sample("sigma", dist.HalfNormal(5))
        with numpyro.plate("obs", len(d["y"])):
            numpyro.sample("y", dist.Normal(effect[d["artist"]] + d["features"] @ beta, sigma), obs=d["y"])

    return model


def pymc_logistic(name):
    import pymc as pm

    d = made(name)
    with pm.Model() as model:
        intercept = pm.Normal("intercept", 0, 2.5)
        beta = pm.Normal("beta", 0, 1, shape=d["X"].shape[1])
        pm.Bernoulli("y", logit_p=intercept + d["X"] @ beta, observed=d["y"])
    return model


def numpyro_logistic(name):
    import numpyro
    import numpyro.distributions as dist

    d = made(name)

    def model():
        intercept = numpyro.sample("intercept", dist.Normal(0, 2.5))
        with numpyro.plate("feature", d["X"].shape[1]):
            beta = numpyro.sample("beta", dist.Normal(0, 1))
        with numpyro.plate("obs", len(d["y"])):
            numpyro.sample("y", dist.Bernoulli(logits=intercept + d["X"] @ beta), obs=d["y"])

    return model


# problem: (PyMC model, NumPyro model, centred, name of the reference posterior)
PROBLEMS = {
    "eight-schools-noncentred": (pymc_eight_schools, numpyro_eight_schools, False, "eight-schools"),
    "eight-schools-centred": (pymc_eight_schools, numpyro_eight_schools, True, "eight-schools"),
    "hierarchical-noncentred": (pymc_hierarchical, numpyro_hierarchical, False, "hierarchical"),
    "hierarchical-centred": (pymc_hierarchical, numpyro_hierarchical, True, "hierarchical"),
}
# Problems of `fitzroy bench`, with their own data; their builders take the name, and there is no
# exact posterior, only that of the eight schools.
PROBLEMS |= {f"groups-{n}": (pymc_groups, numpyro_groups, f"groups-{n}", None) for n in (100, 500, 1000)}
PROBLEMS |= {
    "artists": (pymc_artists, numpyro_artists, "artists", None),
    "logistic": (pymc_logistic, numpyro_logistic, "logistic", None),
    "eight-schools": (pymc_eight_schools, numpyro_eight_schools, True, "eight-schools"),
}


def reference(problem):
    """The exact posterior of a problem: (name, index) to mean and sd; nothing where none is known."""
    if PROBLEMS[problem][3] is None:
        return {}
    text = (REFERENCE / f"{PROBLEMS[problem][3]}.json").read_text()
    return {(q["name"], *q["index"]): q for q in json.loads(text)["quantities"]}
