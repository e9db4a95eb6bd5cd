"""A stop-signal task in PyMC: two racers and a stop process, with likelihoods as Potentials.

    python examples/stop_signal.py

The model is RDEX-ABCD's (docs/stop-signal.md says it in full) with its caution `B`, its time `t0`
for seeing and moving, and its rate `v_plus` different between children, and the rest alike. This is
how to write a variant of one's own; `fitzroy stop-signal` fits the model itself.

Times are in seconds. A racer's density at t seconds is that of a Wald distribution with threshold B
and rate v; the stop process is a normal time plus an exponential one after the delay `ssd`.
"""

from __future__ import annotations

import time

import arviz as az
import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt

import fitzroy as fz

TRUTH = {
    "mu_B": 1.25,
    "mu_t0": 0.15,
    "mu_v_plus": 3.2,
    "v_minus": 0.8,
    "v0": 2.2,
    "g": 2.8,
    "stop_mu": 0.20,
    "stop_sigma": 0.03,
    "stop_tau": 0.04,
    "pgf": 0.04,
    "ptf": 0.08,
}
SD = {"B": 0.15, "t0": 0.15, "v_plus": 0.12}
DELAYS = np.array([0.05, 0.15, 0.25, 0.35, 0.45])
#: Nodes and weights of the integral over race times, from 0 to 1.2 s, when every stop has ended.
NODES, WEIGHTS = np.polynomial.legendre.leggauss(32)
NODES, WEIGHTS = 0.6 * (NODES + 1), 0.6 * WEIGHTS


def simulate(n_subjects=6, n_trials=160, seed=1):
    """A data frame with a row for each trial (subject, ssd, correct, rt; NaN is none), and t0."""
    rng = np.random.default_rng(seed)
    rows, t0s = [], []
    for subject in range(n_subjects):
        B, t0, v_plus = (TRUTH[f"mu_{k}"] * np.exp(SD[k] * rng.normal()) for k in SD)
        t0s.append(t0)
        for trial in range(n_trials):
            ssd = rng.choice(DELAYS) if trial % 4 == 0 else np.nan
            reach = np.inf if np.isnan(ssd) else TRUTH["g"] * ssd
            rates = [
                TRUTH["v0"] + np.clip(v - TRUTH["v0"], -reach, reach)
                for v in (v_plus, TRUTH["v_minus"])
            ]
            arrivals = [t0 + rng.wald(B / v, B**2) for v in rates]
            rt, correct = min(arrivals), arrivals[0] < arrivals[1]
            stop = TRUTH["stop_mu"] + TRUTH["stop_sigma"] * rng.normal()
            stop += ssd + rng.exponential(TRUTH["stop_tau"])
            triggered = not np.isnan(ssd) and rng.random() >= TRUTH["ptf"]
            if rng.random() < TRUTH["pgf"] or (triggered and stop < rt):
                rt = np.nan
            rows.append((subject, ssd, bool(correct), rt))
    return pd.DataFrame(rows, columns=["subject", "ssd", "correct", "rt"]), np.array(t0s)


def phi(x):
    """The standard normal distribution function."""
    return 0.5 * pt.erfc(-x / np.sqrt(2))


def log_density(t, B, v):
    """Logarithm of a racer's density."""
    return pt.log(B) - 0.5 * pt.log(2 * np.pi * t**3) - (B - v * t) ** 2 / (2 * t)


def log_survivor(t, B, v):
    """Logarithm of the probability that a racer has not arrived by t."""
    root = pt.sqrt(t)
    arrived = pt.exp(2 * v * B) * phi(-(B + v * t) / root)
    return pt.log(pt.maximum(phi((B - v * t) / root) - arrived, 1e-300))


def log_race(t, B, winner, loser):
    """Logarithm of the density of the winner's arrival before the loser's."""
    return log_density(t, B, winner) + log_survivor(t, B, loser)


def moved(v, v0, g, ssd):
    """A rate at a delay: at v0 when the signal comes at once, v when it comes late."""
    return v0 + pt.minimum(pt.maximum(v - v0, -g * ssd), g * ssd)


def build(data):
    """The model of a data frame as `simulate` makes it."""
    n = data["subject"].nunique()
    go, stop = data[data["ssd"].isna()], data[data["ssd"].notna()]
    answered, slipped = go[go["rt"].notna()], stop[stop["rt"].notna()]
    held = stop[stop["rt"].isna()].groupby(["subject", "ssd"]).size().reset_index(name="count")
    with pm.Model() as model:
        each = {}
        for name, (median, wide) in {"B": (1.2, 0.4), "v_plus": (3.0, 0.4)}.items():
            mu = pm.LogNormal(f"mu_{name}", np.log(median), wide)
            sigma = pm.HalfNormal(f"sigma_{name}", 0.3)
            z = pm.Normal(f"z_{name}", 0, 1, shape=n)
            each[name] = pm.Deterministic(name, mu * pt.exp(sigma * z))
        # Below the fastest response of each child, since densities are zero before t0.
        fastest = data.groupby("subject")["rt"].min().to_numpy()
        share = pm.Normal("logit_share", pm.Normal("mu_logit_share", 0, 1), 0.5, shape=n)
        each["t0"] = pm.Deterministic("t0", fastest * pm.math.invlogit(share))
        v_minus = pm.LogNormal("v_minus", np.log(0.5), 1.0)
        v0 = pm.LogNormal("v0", np.log(2.5), 0.4)
        g = pm.LogNormal("g", np.log(2.8), 0.6)
        stop_mu = pm.LogNormal("stop_mu", np.log(0.23), 0.3)
        stop_sigma = pm.LogNormal("stop_sigma", np.log(0.05), 0.7)
        stop_tau = pm.LogNormal("stop_tau", np.log(0.03), 0.8)
        pgf, ptf = pm.Beta("pgf", 1, 10), pm.Beta("ptf", 1, 10)

        def racers(rows):
            """Threshold, times since t0, and the rate of the right racer on go trials."""
            of = rows["subject"].to_numpy()
            t = rows["rt"].to_numpy() - each["t0"][of]
            return each["B"][of], t, each["v_plus"][of]

        # Go trials: a response, or none.
        B, t, v_plus = racers(answered)
        right = answered["correct"].to_numpy()
        winner, loser = pt.where(right, v_plus, v_minus), pt.where(right, v_minus, v_plus)
        pm.Potential("go", pt.sum(pt.log1p(-pgf) + log_race(t, B, winner, loser)))
        pm.Potential("go_failures", (len(go) - len(answered)) * pt.log(pgf))

        # Stop trials with a response: no trigger, or the racers came first.
        ssd = slipped["ssd"].to_numpy()
        B, t, v_plus = racers(slipped)
        right = slipped["correct"].to_numpy()
        plus, minus = moved(v_plus, v0, g, ssd), moved(v_minus, v0, g, ssd)
        winner, loser = pt.where(right, plus, minus), pt.where(right, minus, plus)
        still = 1 - ex_gaussian_cdf(slipped["rt"].to_numpy() - ssd, stop_mu, stop_sigma, stop_tau)
        race = pt.log1p(-pgf) + log_race(t, B, winner, loser)
        pm.Potential("slips", pt.sum(race + pt.log(ptf + (1 - ptf) * still)))

        # Stop trials without one: a go failure, or the stop came before both racers.
        of, ssd = held["subject"].to_numpy(), held["ssd"].to_numpy()
        B, t0 = each["B"][of], each["t0"][of]
        plus, minus = moved(each["v_plus"][of], v0, g, ssd), moved(v_minus, v0, g, ssd)
        B, plus, minus = B[:, None], plus[:, None], minus[:, None]
        race = pt.exp(log_race(NODES, B, plus, minus)) + pt.exp(log_race(NODES, B, minus, plus))
        since = (t0 - ssd)[:, None] + NODES
        still = 1 - ex_gaussian_cdf(since, stop_mu, stop_sigma, stop_tau)
        won = 1 - pt.sum(WEIGHTS * race * still, axis=1)
        stopped = pt.log(pgf + (1 - pgf) * (1 - ptf) * won)
        pm.Potential("stops", pt.sum(held["count"].to_numpy() * stopped))
        pm.Deterministic("ssrt", stop_mu + stop_tau)
    return model


def ex_gaussian_cdf(t, mu, sigma, tau):
    """Distribution function of a normal time plus an exponential one."""
    rate, z = sigma / tau, (t - mu) / sigma
    return phi(z) - pt.exp(pt.minimum(0.5 * rate**2 - (t - mu) / tau, 700)) * phi(z - rate)


def main(n_subjects=6, draws=1000, tune=500):
    data, t0 = simulate(n_subjects)
    model = build(data)
    print(f"{len(data)} trials of {n_subjects} subjects")
    start = time.perf_counter()
    trace = fz.sample(
        model,
        draws=draws,
        tune=tune,
        chains=4,
        target_accept=0.9,
        random_seed=42,
        progressbar=False,
        backend="fitzroy",
    )
    took = time.perf_counter() - start
    rhat = max(float(v.max()) for v in az.rhat(trace).data_vars.values())
    print(f"{took:.1f} s, largest R-hat {rhat:.3f}")
    posterior, scores = trace.posterior, {}
    for name, truth in [*TRUTH.items(), *((f"t0 of {k}", v) for k, v in enumerate(t0))]:
        if name == "mu_t0":
            continue
        values = posterior["t0"][..., int(name[6:])] if name.startswith("t0") else posterior[name]
        scores[name] = float((values.mean() - truth) / values.std())
        print(
            f"  {name}: {float(values.mean()):.3f} ± {float(values.std()):.3f}, truth {truth:.3f}"
        )
    return dict(rhat=rhat, scores=scores, model=model)


if __name__ == "__main__":
    main()
