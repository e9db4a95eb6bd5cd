"""One peer on one problem, in this process; prints one JSON object.

    python benches/peers/sample.py PEER PROBLEM [--chains 4] [--tune 1000] [--draws 1000]
                                   [--target-accept 0.8] [--seed 1]

PEER: nutpie, nutpie-low-rank, numpyro, pymc, blackjax, stanli, nextstat, nextstat-mams, nuts-rs. PROBLEM: a name in problems.py. Seconds of the whole
process are for the caller to measure. The effective sample sizes are the least over every
variable the model records, `z` included, as a sampler's user would see them in a summary;
`main` leaves `z` out, which only says again what the group effects say. `answer` is the largest error of a posterior mean in Monte Carlo standard
errors against the exact posterior: a fast wrong answer should show.
"""

import argparse
import json
import pathlib
import platform
import subprocess
import sys
import tempfile
import time
import warnings

warnings.filterwarnings("ignore")
PACKAGES = ("arviz", "blackjax", "jax", "nextstat", "numba", "numpy", "numpyro", "nutpie", "pymc", "pytensor", "stanli")


def versions():
    from importlib.metadata import version

    return {"python": platform.python_version()} | {p: version(p) for p in PACKAGES}


def run_nutpie(options, low_rank):
    import nutpie
    from problems import PROBLEMS

    build, _, centred, _ = PROBLEMS[options.problem]
    start = time.perf_counter()
    compiled = nutpie.compile_pymc_model(build(centred))
    compiled_at = time.perf_counter()
    extra = {"low_rank_modified_mass_matrix": True} if low_rank else {}
    trace = nutpie.sample(compiled, draws=options.draws, tune=options.tune, chains=options.chains,
                          seed=options.seed, target_accept=options.target_accept,
                          progress_bar=False, save_warmup=False, **extra)
    end = time.perf_counter()
    return trace, compiled_at - start, end - compiled_at


def run_pymc(options, sampler="pymc"):
    import pymc as pm
    from problems import PROBLEMS

    build, _, centred, _ = PROBLEMS[options.problem]
    start = time.perf_counter()
    with build(centred):
        trace = pm.sample(draws=options.draws, tune=options.tune, chains=options.chains,
                          random_seed=options.seed, target_accept=options.target_accept,
                          nuts_sampler=sampler, progressbar=False, compute_convergence_checks=False)
    total = time.perf_counter() - start
    sampling = float(trace.posterior.attrs["sampling_time"])
    return trace, total - sampling, sampling


def run_numpyro(options):
    import numpyro

    numpyro.set_host_device_count(options.chains)
    numpyro.enable_x64()
    import arviz
    import jax
    from numpyro.infer import MCMC, NUTS
    from problems import PROBLEMS

    spans = []  # tracing, lowering and compiling nest: keep intervals, not a sum

    def listen(event, seconds, **_):
        if event.startswith("/jax/core/compile/"):
            now = time.perf_counter()
            spans.append((now - seconds, now))

    jax.monitoring.register_event_duration_secs_listener(listen)
    _, build, centred, _ = PROBLEMS[options.problem]
    start = time.perf_counter()
    mcmc = MCMC(NUTS(build(centred), target_accept_prob=options.target_accept),
                num_warmup=options.tune, num_samples=options.draws, num_chains=options.chains,
                chain_method="parallel", progress_bar=False)
    mcmc.run(jax.random.PRNGKey(options.seed))
    jax.block_until_ready(mcmc.get_samples())
    total = time.perf_counter() - start
    compile_s, reached = 0.0, start
    for begin, end in sorted(spans):
        compile_s += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return arviz.from_numpyro(mcmc, log_likelihood=False), compile_s, total - compile_s


def run_stanli(options):
    import stanli
    from stan_models import program

    text, data = program(options.problem)
    start = time.perf_counter()
    model = stanli.Model(stan_code=text, data=data)
    compiled_at = time.perf_counter()
    fit = model.sample(chains=options.chains, seed=options.seed, warmup=options.tune, samples=options.draws,
                       delta=options.target_accept, refresh=0)
    end = time.perf_counter()
    return fit.to_arviz(), compiled_at - start, end - compiled_at


def run_nextstat(options, mams=False):
    """Of our problems it has the eight schools alone, non-centred and with our priors."""
    import arviz
    import nextstat
    import numpy as np
    from problems import columns

    if options.problem not in ("eight-schools", "eight-schools-noncentred"):
        sys.exit("nextstat has no such model with these priors")
    d = columns("eight-schools.csv")
    start = time.perf_counter()
    model = nextstat.EightSchoolsModel(d["y"].tolist(), d["sigma"].tolist(), prior_mu_sigma=5.0, prior_tau_scale=5.0)
    compiled_at = time.perf_counter()
    sample = nextstat.sample_mams if mams else nextstat.sample_nuts
    drawn = sample(model, n_chains=options.chains, n_warmup=options.tune, n_samples=options.draws, seed=options.seed,
                   target_accept=options.target_accept)
    end = time.perf_counter()
    posterior = {k: np.asarray(v) for k, v in drawn["posterior"].items()}
    return arviz.from_dict(posterior=posterior, sample_stats=flags(drawn)), compiled_at - start, end - compiled_at


def names_of(model, d):
    """The parameters of a model of `nuts-rs/src/models.rs` with their numbers, in its order."""
    if model == "groups":
        return [("mu_pop", 1), ("sigma_pop", 1), ("z", int(max(d["group"])) + 1), ("sigma_obs", 1)]
    if model == "schools":
        return [("mu", 1), ("tau", 1), ("z", len(d["y"]))]
    if model == "artists":
        return [("mu", 1), ("sigma_artist", 1), ("effect", int(max(d["artist"])) + 1),
                ("beta", len(d["features"][0])), ("sigma", 1)]
    return [("intercept", 1), ("beta", len(d["X"][0]))]


def run_nuts_rs(options):
    """A program of its own, so that the seconds of its process are told apart from ours."""
    import arviz
    import numpy as np
    from problems import columns, made

    kind, _, rest = options.problem.partition("-")
    if rest == "centred":
        sys.exit("nuts-rs is measured on the non-centred spelling")
    model = {"hierarchical": "groups", "eight": "schools"}.get(kind, kind)
    if options.problem.startswith(("hierarchical", "eight-schools-")):
        data = columns("hierarchical.csv" if model == "groups" else "eight-schools.csv")
    else:
        data = made(options.problem)
    data = {k: v.tolist() for k, v in data.items()}
    with tempfile.TemporaryDirectory() as folder:
        source, out = pathlib.Path(folder, "data.json"), pathlib.Path(folder, "draws.f64")
        source.write_text(json.dumps(data))
        program = pathlib.Path(sys.prefix, "nuts-rs", "release", "nuts-rs-peer")
        words = (model, source, out, options.chains, options.tune, options.draws, options.target_accept, options.seed)
        start = time.perf_counter()
        done = subprocess.run([str(w) for w in (program, *words)], capture_output=True, text=True, check=True)
        options.own_process_s = time.perf_counter() - start
        draws = np.fromfile(out).reshape(options.chains, options.draws, -1)
    said, posterior, at = json.loads(done.stdout), {}, 0
    for name, size in names_of(model, data):
        part = draws[:, :, at:at + size]
        posterior[name], at = part[:, :, 0] if size == 1 else part, at + size
    if model == "groups":
        posterior["mu_group"] = posterior["mu_pop"][..., None] + posterior["sigma_pop"][..., None] * posterior["z"]
    if model == "schools":
        posterior["theta"] = posterior["mu"][..., None] + posterior["tau"][..., None] * posterior["z"]
    diverging = np.zeros(draws.shape[:2])
    diverging[0, 0] = said["divergences"]  # it counts them, and only their sum is shown
    return arviz.from_dict(posterior=posterior, sample_stats={"diverging": diverging}), 0.0, said["sampling_s"]


def flags(drawn):
    """Divergences of each transition."""
    import numpy as np

    return {"diverging": np.asarray(drawn["sample_stats"]["diverging"])}


def summarise(trace, problem):
    """Convergence, and the error against the exact posterior."""
    import arviz as az
    import numpy as np
    from problems import reference

    exact, entries = reference(problem), []
    for name, array in trace.posterior.data_vars.items():
        if name.endswith("__"):  # nutpie also keeps the unconstrained values
            continue
        values = np.asarray(array)
        for index in np.ndindex(values.shape[2:]):
            x = values[(slice(None), slice(None), *index)]
            mcse = x.std(ddof=1) / np.sqrt(az.ess(x, method="mean"))
            known = exact.get((name, *index))
            entries.append((name, az.ess(x, method="bulk"), az.ess(x, method="tail"), az.rhat(x),
                            abs(x.mean() - known["mean"]) / mcse if known else 0.0))
    main = [e for e in entries if e[0] != "z"]
    diverging = "diverging" if "diverging" in trace.sample_stats else "divergent"
    return {
        "min_ess_bulk": float(min(e[1] for e in entries)), "min_ess_tail": float(min(e[2] for e in entries)),
        "max_rhat": float(max(e[3] for e in entries)),
        "main": {"min_ess_bulk": float(min(e[1] for e in main)), "min_ess_tail": float(min(e[2] for e in main)),
                 "max_rhat": float(max(e[3] for e in main))},
        "answer": {"max_abs_z": float(max(e[4] for e in main)), "quantities": len(main)},
        "divergences": int(np.asarray(trace.sample_stats[diverging]).sum()),
    }


def main():
    from problems import PROBLEMS

    runners = {"nutpie": lambda o: run_nutpie(o, False), "nutpie-low-rank": lambda o: run_nutpie(o, True),
               "numpyro": run_numpyro, "pymc": run_pymc, "blackjax": lambda o: run_pymc(o, "blackjax"), "stanli": run_stanli, "nextstat": run_nextstat,
               "nextstat-mams": lambda o: run_nextstat(o, True), "nuts-rs": run_nuts_rs}
    parser = argparse.ArgumentParser()
    parser.add_argument("peer", choices=runners)
    parser.add_argument("problem", choices=PROBLEMS)
    for name, default in (("chains", 4), ("tune", 1000), ("draws", 1000), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--target-accept", type=float, default=0.8)
    options = parser.parse_args()
    trace, compile_s, sampling_s = runners[options.peer](options)
    done = time.perf_counter()
    result = vars(options) | {"compile_s": compile_s, "sampling_s": sampling_s}
    result |= summarise(trace, options.problem)
    result |= {"summary_s": time.perf_counter() - done, "versions": versions()}
    print(json.dumps(result))


if __name__ == "__main__":
    if sys.argv[1:] == ["--versions"]:
        print(json.dumps(versions()))
    else:
        main()
