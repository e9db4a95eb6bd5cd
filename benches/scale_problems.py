"""Data of known truth for `benches/scale.py`, of any size, and whether an answer is near to that truth.

    python benches/scale_problems.py CURVE N FOLDER            # writes model.fz, data.npz and truth.npz into FOLDER
    python benches/scale_problems.py --check CURVE FOLDER OUT  # compares the results in OUT with the truth

Truths are drawn from the priors, so that an error divided by the posterior standard deviation is a
standard normal number: of one parameter it must be below 5, and of more than 30 the mean of the
squares must lie within five of its own standard errors of 1. A process of its own, so that the memory
of the data is not counted as that of the program.
"""

import csv
import json
import pathlib
import sys

import numpy

GROUPS = """\
data y[obs], group[obs] in groups

mu            ~ Normal(0, 5)
tau           ~ HalfNormal(2)
theta[groups] ~ Normal(mu, tau)
sigma         ~ HalfNormal(2)

y[obs]        ~ Normal(theta[group], sigma)
"""
LOGISTIC = """\
data y[obs]: int, X[obs, feature]

beta[feature] ~ Normal(0, 1)

y[obs]        ~ Bernoulli(logit_p=X @ beta)
"""
POISSON = """\
data y[obs]: int, x[obs], group[obs] in groups

level          ~ Normal(0, 1)
slope          ~ Normal(0, 0.5)
spread         ~ HalfNormal(0.5)
effect[groups] ~ Normal(level, spread)

y[obs]         ~ Poisson(exp(effect[group] + slope * x))
"""
ROBUST = """\
data y[obs], x[obs]

a      ~ Normal(0, 5)
b      ~ Normal(0, 5)
sigma  ~ HalfNormal(2)
nu     ~ Gamma(4, 0.5)

y[obs] ~ StudentT(nu, a + b * x, sigma)
"""
COEFFICIENTS = """\
data y[obs], X[obs, feature]

beta[feature] ~ Normal(0, 1)
sigma         ~ HalfNormal(2)

y[obs]        ~ Normal(X @ beta, sigma)
"""
MATCHES = """\
data won[match]: int, first[match] in players, second[match] in players

spread         ~ HalfNormal(1)
skill[players] ~ Normal(0, spread)

won[match]     ~ Bernoulli(logit_p=skill[first] - skill[second])
"""
CURVE = "a*exp(-b*x)+c"


def groups(rng, n, rows=10):
    mu, tau, sigma = 1.5, 1.2, 0.9
    theta = rng.normal(mu, tau, n)
    group = numpy.repeat(numpy.arange(n), rows)
    return GROUPS, {"y": rng.normal(theta[group], sigma), "group": group}, {"mu": mu, "tau": tau, "sigma": sigma, "theta": theta}


def logistic(rng, n):
    beta = numpy.array([-0.5, 1.0, -0.7, 0.4, 0.0])
    features = rng.standard_normal((n, 5))
    won = rng.random(n) < 1 / (1 + numpy.exp(-features @ beta))
    return LOGISTIC, {"y": won.astype(int), "X": features}, {"beta": beta}


def poisson(rng, n, n_groups=None):
    n_groups = n_groups or 100
    level, slope, spread = 0.5, 0.3, 0.4
    effect = rng.normal(level, spread, n_groups)
    x, group = rng.standard_normal(n), rng.permutation(numpy.arange(n) % n_groups)
    y = rng.poisson(numpy.exp(effect[group] + slope * x))
    return POISSON, {"y": y, "x": x, "group": group}, {"level": level, "slope": slope, "spread": spread, "effect": effect}


def robust(rng, n):
    a, b, sigma, nu = 1.0, -2.0, 0.7, 5.0
    x = rng.standard_normal(n)
    y = a + b * x + sigma * rng.standard_t(nu, n)
    return ROBUST, {"y": y, "x": x}, {"a": a, "b": b, "sigma": sigma, "nu": nu}


def coefficients(rng, n, rows=2_000):
    beta, sigma = rng.standard_normal(n), 1.0
    features = rng.standard_normal((rows, n))
    return COEFFICIENTS, {"y": rng.normal(features @ beta, sigma), "X": features}, {"beta": beta, "sigma": sigma}


def matches(rng, n, each=65):
    """A match is one of two players, so `n` players have played about `each` matches."""
    count = n * each // 2
    skill = rng.normal(0, 0.8, n)
    first = rng.permutation(numpy.arange(count) % n)
    second = (first + rng.integers(1, n, count)) % n
    won = rng.random(count) < 1 / (1 + numpy.exp(skill[second] - skill[first]))
    return MATCHES, {"won": won.astype(int), "first": first, "second": second}, {"spread": 0.8, "skill": skill}


def curve(rng, n):
    x = numpy.linspace(0, 4, n)
    return None, {"x": x, "y": 2.5 * numpy.exp(-1.3 * x) + 0.5 + rng.normal(0, 0.1, n)}, {"a": 2.5, "b": 1.3, "c": 0.5}


MADE = {
    "groups": groups, "logistic": logistic, "poisson": poisson, "robust": robust, "coefficients": coefficients,
    "effects": lambda rng, n: poisson(rng, 10 * n, n), "matches": matches, "curve": curve,
    "chains": lambda rng, n: groups(rng, 100), "draws": lambda rng, n: groups(rng, 10),
}


def write(name, n, folder):
    model, data, truth = MADE[name](numpy.random.default_rng(7), n)
    if model is None:
        for column, values in data.items():
            numpy.save(folder / f"{column}.npy", values)
    else:
        (folder / "model.fz").write_text(model)
        numpy.savez(folder / "data.npz", **data)
    numpy.savez(folder / "truth.npz", **truth)


def fitted(name, out):
    """Mean and standard deviation of every parameter, by name and place."""
    if name == "curve":
        document = json.loads((out / "fit.json").read_text())
        return {(p["name"], ()): (p["value"], p["se"]) for p in document["parameters"]}
    found = {}
    with open(out / "summary.csv", newline="") as file:
        for row in csv.DictReader(file):
            index = tuple(int(i) for i in row["index"].split())
            found[row["name"], index] = float(row["mean"]), float(row["sd"])
    return found


def check(name, folder, out):
    """The largest error of a scalar and the mean square of the errors of an array, in standard deviations."""
    truth, found, worst = numpy.load(folder / "truth.npz"), fitted(name, out), {}
    for variable in truth.files:
        values = truth[variable]
        errors = []
        for index in numpy.ndindex(values.shape):
            mean, deviation = found[variable, index]
            errors.append((mean - values[index]) / deviation)
        z, n = numpy.array(errors), len(errors)
        worst[variable] = float(abs(z[0]) if n == 1 else numpy.mean(z**2))
        near = numpy.all(abs(z) < 5) if n <= 30 else abs(worst[variable] - 1) < 5 * (2 / n) ** 0.5 + 0.1
        if not near:
            raise SystemExit(f"{name}: {variable} misses the truth: {worst[variable]:.3g}")
    print(json.dumps(worst))


if __name__ == "__main__":
    if sys.argv[1] == "--check":
        check(sys.argv[2], *map(pathlib.Path, sys.argv[3:]))
    else:
        write(sys.argv[1], int(sys.argv[2]), pathlib.Path(sys.argv[3]))
