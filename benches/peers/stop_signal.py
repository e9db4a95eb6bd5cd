"""The stop-signal likelihood in JAX, beside `fitzroy bench stop-signal --gradient-only`.

Run: python3 benches/peers/stop_signal.py --fitzroy target/release/fitzroy --subjects 100

The same data, the same 48 nodes, f64, one core for both programs, in one run. As an expert would
write it: everything over arrays, successful stops once for each child and delay, tails by log_ndtr,
nodes behind stop_gradient, value and gradient compiled together with the priors. Before anything is
timed the log likelihood of every trial of the first child must agree with `stop-signal loglik` to
1e-7. Prints one JSON document; --json FILE writes it.

--sample N also samples a study of N subjects by NumPyro's NUTS, non-centred as its documentation
has it, one chain of 200 + 200, and by `fitzroy stop-signal fit` two of 500 + 500: smallest
effective sample size of the 22 group parameters over all seconds, for NumPyro with compiling.
"""

import argparse
import csv
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

# One core for both: XLA's flags alone leave it a second thread.
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import log_ndtr, ndtr
from jax.scipy.stats import norm

jax.config.update("jax_enable_x64", True)

NAMES = ["B", "t0", "v_plus", "v_minus", "v0", "g", "stop_mu", "stop_sigma", "stop_tau", "pgf", "ptf"]
TYPICAL = [1.25, .15, 3.2, .6, 2.6, 2.8, .24, .045, .025, .03, .06]
LOWER = 0.05
M = np.array([1.2, .15, 3, .5, 2.5, 2.8, .23, .05, .03, -1.8, -1.8])
S = np.array([.4, .4, .4, 1, .4, .6, .3, .7, .8, .7, .7])
H = np.array([.3, .3, .3, .8, .3, .3, .3, .8, .8, .6, .6])


def log_survivor(t, v, B):
    root = jnp.sqrt(t)
    first = log_ndtr((B - v * t) / root)
    return first + jnp.log1p(-jnp.exp(2 * B * v + log_ndtr(-(B + v * t) / root) - first))


def log_density(t, v, B):
    return jnp.log(B) - .5 * jnp.log(2 * jnp.pi) - 1.5 * jnp.log(t) - (B - v * t) ** 2 / (2 * t)


def rate(v, v0, g, ssd):
    return v0 + jnp.clip(v - v0, -g * ssd, g * ssd)


def stop_log_density(x, mu, sigma, tau):
    return -jnp.log(tau) + (mu - x) / tau + sigma**2 / (2 * tau**2) + log_ndtr((x - mu) / sigma - sigma / tau)


def stop_survivor(x, mu, sigma, tau):
    z = (x - mu) / sigma
    return ndtr(-z) + jnp.exp((mu - x) / tau + sigma**2 / (2 * tau**2) + log_ndtr(z - sigma / tau))


def rho(u):
    root = jnp.sqrt(u * u + 4)
    s = (u + root) / 2
    return s * s / 2, s * s / root


def stopped(p, ssd, c, w):
    """P(the stop process is first), over cells."""
    B, t0, plus, minus, v0, g, mu, sigma, tau, _, _ = p
    start = jnp.maximum(LOWER, t0 - ssd)
    goal = (start - mu) / sigma
    u = jnp.clip(goal, -12, 6)
    for _ in range(8):
        r, slope = rho(u)
        u = jnp.minimum(u - (u + tau / sigma * r - goal) / (1 + tau / sigma * slope), 6)
    u = jnp.maximum(u, -6)[:, None] + (6 - jnp.maximum(u, -6))[:, None] * c
    r, slope = rho(u)
    x = mu[:, None] + sigma[:, None] * u + tau[:, None] * r
    dx = (sigma[:, None] + tau[:, None] * slope) * (6 - u[:, :1]) / (1 - c[:1]) * w
    x, dx, start = (jax.lax.stop_gradient(a) for a in (x, dx, start))
    t = jnp.maximum(x + (ssd - t0)[:, None], 1e-9)
    plus, minus = rate(plus, v0, g, ssd), rate(minus, v0, g, ssd)
    log_f = stop_log_density(x, mu[:, None], sigma[:, None], tau[:, None])
    both = log_survivor(t, plus[:, None], B[:, None]) + log_survivor(t, minus[:, None], B[:, None])
    total = jnp.sum(dx * jnp.exp(log_f + both), axis=1)
    kept = stop_survivor(LOWER, mu, sigma, tau)
    early = jnp.where(start > LOWER, kept - stop_survivor(start, mu, sigma, tau), 0.0)
    return (early + total) / kept


def read(path):
    rows = list(csv.DictReader(open(path)))
    subjects = list(dict.fromkeys(r["subject"] for r in rows))
    at = {s: i for i, s in enumerate(subjects)}
    number = lambda text: float(text) if text else np.nan
    who = np.array([at[r["subject"]] for r in rows])
    response = np.array([int(r["response"]) for r in rows])
    outcome = np.where(response == 0, 0, np.where(response == np.array([int(r["stimulus"]) for r in rows]) + 1, 1, 2))
    rt, ssd = (np.array([number(r[k]) for r in rows]) for k in ("rt", "ssd"))
    keep = ~((rt < .15) | (rt > 2))
    return len(subjects), who[keep], outcome[keep], rt[keep], ssd[keep]


def groups(data):
    n, who, outcome, rt, ssd = data
    go = np.isnan(ssd)
    out = {"n": n, "go": [], "stop": []}
    for o in (1, 2):
        here = go & (outcome == o)
        out["go"].append((who[here], rt[here]))
        here = ~go & (outcome == o)
        out["stop"].append((who[here], rt[here], ssd[here]))
    here = go & (outcome == 0)
    out["none"] = np.bincount(who[here], minlength=n)
    here = ~go & (outcome == 0)
    cells, counts = np.unique(np.stack([who[here], np.round(ssd[here] * 1e6)]), axis=1, return_counts=True)
    out["cells"] = (cells[0].astype(int), cells[1] / 1e6, counts)
    return out


def log_likelihood(P, of, c, w):
    """P: parameters by subjects."""
    total = jnp.sum(of["none"] * jnp.log(P[9]))
    for (who, rt), (win, lose) in zip(of["go"], ((2, 3), (3, 2))):
        p = P[:, who]
        t = rt - p[1]
        safe = jnp.where(t > 0, t, 1.0)
        here = log_density(safe, p[win], p[0]) + log_survivor(safe, p[lose], p[0]) + jnp.log1p(-p[9])
        total += jnp.sum(jnp.where(t > 0, here, -jnp.inf))
    for (who, rt, ssd), (win, lose) in zip(of["stop"], ((2, 3), (3, 2))):
        p = P[:, who]
        t = rt - p[1]
        safe = jnp.where(t > 0, t, 1.0)
        here = log_density(safe, rate(p[win], p[4], p[5], ssd), p[0])
        here += log_survivor(safe, rate(p[lose], p[4], p[5], ssd), p[0]) + jnp.log1p(-p[9])
        x = rt - ssd
        later = stop_survivor(jnp.maximum(x, LOWER), *p[6:9]) / stop_survivor(LOWER, *p[6:9])
        here += jnp.log(p[10] + (1 - p[10]) * jnp.where(x > LOWER, later, 1.0))
        total += jnp.sum(jnp.where(t > 0, here, -jnp.inf))
    who, ssd, counts = of["cells"]
    p = P[:, who]
    first = stopped(p, ssd, c, w)
    return total + jnp.sum(counts * jnp.log(p[9] + (1 - p[9]) * (1 - p[10]) * first))


def log_posterior(theta, of, c, w):
    mu, log_sigma, z = theta[:11], theta[11:22], theta[22:].reshape(11, of["n"])
    sigma = jnp.exp(log_sigma)
    x = mu[:, None] + sigma[:, None] * z
    P = jnp.concatenate([jnp.exp(x[:9]), ndtr(x[9:])])
    centre = jnp.concatenate([jnp.log(M[:9]), M[9:]])
    prior = jnp.sum(norm.logpdf(mu, centre, S)) + jnp.sum(norm.logpdf(z))
    prior += jnp.sum(norm.logpdf(sigma, 0, H) + jnp.log(2.0) + log_sigma)
    return prior + log_likelihood(P, of, c, w)


def rule(n=24):
    x, w = np.polynomial.legendre.leggauss(n)
    return np.concatenate([(x + 1) / 4, .5 + (x + 1) / 4]), np.concatenate([w, w]) / 4


def compare(fitzroy, data_file, c, w):
    """The first child's log likelihood by both programs."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        lines = Path(data_file).read_text().splitlines()
        first = lines[1].split(",")[0]
        fits = lambda rt: not rt or .15 < float(rt) <= 2
        kept = [x for x in lines[1:] if x.startswith(first + ",") and fits(x.split(",")[3])]
        (folder / "one.csv").write_text("\n".join([lines[0]] + kept) + "\n")
        (folder / "p.json").write_text(json.dumps(dict(zip(NAMES, TYPICAL))))
        said = subprocess.run([fitzroy, "stop-signal", "loglik", "--params", folder / "p.json", "--data",
                               folder / "one.csv"], capture_output=True, text=True, check=True)
        ours = json.loads(said.stdout)["total"]
        one = groups(read(folder / "one.csv"))
        theirs = float(log_likelihood(jnp.array(TYPICAL)[:, None], one, c, w))
    assert abs(ours - theirs) < 1e-7 * abs(ours), (ours, theirs)
    return ours, theirs


def sample(fitzroy, n, c, w):
    """NumPyro's NUTS and `stop-signal fit` on one study, one thread each."""
    import numpyro
    from numpyro.diagnostics import effective_sample_size
    from numpyro.infer import MCMC, NUTS

    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        subprocess.run([fitzroy, "stop-signal", "simulate", "--subjects", str(n), "--seed", "1", "--out",
                        folder / "sim"], check=True, capture_output=True)
        start = time.perf_counter()
        said = subprocess.run([fitzroy, "stop-signal", "fit", folder / "sim" / "data.csv", "--chains", "2", "--tune",
                               "500", "--draws", "500", "--threads", "1", "--seed", "1", "--no-report", "--no-progress",
                               "--json", "--out", folder / "fit"], check=True, capture_output=True, text=True)
        seconds = time.perf_counter() - start
        ours = json.loads(said.stdout)
        of = groups(read(folder / "sim" / "data.csv"))
    group = lambda r: r["name"].startswith("sigma_") or r["name"].startswith("mu_") and r["name"] not in ("mu_pgf", "mu_ptf")
    least = min(r["ess_bulk"] for r in ours["summary"] if group(r))
    kernel = NUTS(potential_fn=lambda x: -log_posterior(x, of, c, w))
    run = MCMC(kernel, num_warmup=200, num_samples=200, progress_bar=False)
    start = time.perf_counter()
    run.run(jax.random.PRNGKey(1), init_params=first_point(of["n"]), extra_fields=("num_steps",))
    draws = np.asarray(run.get_samples())
    total = time.perf_counter() - start
    steps = float(np.mean(np.asarray(run.get_extra_fields()["num_steps"])))
    # Spreads as they are, not their logarithms, as in the other program's table.
    draws = np.concatenate([draws[:, :11], np.exp(draws[:, 11:22])], axis=1)
    theirs = min(float(effective_sample_size(draws[None, :, k])) for k in range(22))
    return {"subjects": n, "fitzroy": {"seconds": seconds, "min_ess_group": least, "ess_per_s": least / seconds},
            "numpyro": {"seconds_with_compiling": total, "min_ess_group": theirs, "ess_per_s": theirs / total,
                        "steps_per_draw": steps, "version": numpyro.__version__},
            "ratio": least / seconds / (theirs / total)}


def first_point(n):
    theta = np.zeros(22 + 11 * n)
    theta[:22] = np.concatenate([np.log(M[:9]), M[9:], np.log(H / 2)])
    # t0 below every response time.
    theta[22 + n:22 + 2 * n] = -2
    return theta


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fitzroy", required=True)
    parser.add_argument("--subjects", type=int, default=100)
    parser.add_argument("--sample", type=int, metavar="N")
    parser.add_argument("--json")
    args = parser.parse_args()
    c, w = rule()
    with tempfile.TemporaryDirectory() as folder:
        data_file = str(Path(folder) / "data.csv")
        said = subprocess.run([args.fitzroy, "bench", "stop-signal", "--subjects", str(args.subjects), "--gradient-only",
                               "--threads", "1", "--repeats", "3", "--data-file", data_file, "--json"],
                              capture_output=True, text=True, check=True)
        ours = json.loads(said.stdout)
        totals = compare(args.fitzroy, data_file, c, w)
        of = groups(read(data_file))
    theta = first_point(of["n"])
    both = jax.jit(jax.value_and_grad(lambda x: log_posterior(x, of, c, w)))
    start = time.perf_counter()
    value, slope = both(theta)
    slope.block_until_ready()
    compiled = time.perf_counter() - start
    assert np.isfinite(value) and np.all(np.isfinite(slope))
    times = []
    while len(times) < 11 or sum(times) < 3:
        start = time.perf_counter()
        both(theta)[1].block_until_ready()
        times.append(time.perf_counter() - start)
    mine = float(np.median([r["ns_per_gradient"] for r in ours["rows"]])) / 1e6
    result = {"problem": f"stop-signal/{args.subjects}x360/gradient", "cpu": ours["cpu"], "simd": ours["simd"],
              "fitzroy_ms": mine, "jax_ms": 1e3 * float(np.median(times)), "jax_min_ms": 1e3 * min(times),
              "ratio": 1e3 * float(np.median(times)) / mine, "jax_compile_s": compiled, "jax": jax.__version__,
              "log_likelihood_of_first": totals, "commit": ours["rows"][0]["commit"]}
    if args.sample:
        result["sampling"] = sample(args.fitzroy, args.sample, c, w)
    text = json.dumps(result, indent=2)
    print(text)
    if args.json:
        Path(args.json).write_text(text + "\n")


main()
