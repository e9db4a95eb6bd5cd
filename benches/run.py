"""Measures Fitzroy, and its peers in the same minutes, and writes one JSON document.

    python benches/run.py [--peers PYTHON] [--repeats 5] [--peer-repeats 3] [--rounds 3] [--warm]
                          [--problems a,b] [--only gradients,sampling,validate] [--what NAME]

Writes benches/results/DATE-NAME.json. PYTHON is an interpreter with benches/peers/requirements.txt;
without it only Fitzroy is measured. Runs of different programs alternate, so that whatever else
the machine does meets all of them. The answers are asserted: gradients to 1e-9 before they are
timed, posterior means to 5 Monte Carlo standard errors of the exact ones. Let nothing else run
meanwhile; the load average before and after goes into the document. `benches/render.py` makes the
tables of README.md and COMPARE.md from it.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
FITZROY = ROOT / "target" / "release" / "fitzroy"
PEERS = ("nutpie", "nutpie-low-rank", "numpyro")
# problem of the peers: our model, our data, the exact posterior
PROBLEMS = {
    "eight-schools-centred": ("eight-schools.fz", "eight-schools.csv", "eight-schools"),
    "eight-schools-noncentred": ("eight-schools-noncentred.fz", "eight-schools.csv", "eight-schools"),
    "hierarchical-centred": ("hierarchical.fz", "hierarchical.csv", "hierarchical"),
    "hierarchical-noncentred": ("hierarchical-noncentred.fz", "hierarchical.csv", "hierarchical"),
}
Z_MAX = 5.0


def say(text):
    print(text, file=sys.stderr, flush=True)


def spread(values):
    """Median, smallest and largest, and the values themselves."""
    return {"median": statistics.median(values), "min": min(values), "max": max(values), "all": values}


def output(*command):
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def machine():
    model, info = platform.processor() or platform.machine(), pathlib.Path("/proc/cpuinfo")
    if info.exists():
        names = [l.split(":", 1)[1].strip() for l in info.read_text().splitlines() if l.startswith("model name")]
        model = names[0] if names else model
    return {"cpu": model, "cores": os.cpu_count(), "system": f"{platform.system()} {platform.release()}",
            "rustc": output("rustc", "--version")}


def load():
    return os.getloadavg() if hasattr(os, "getloadavg") else None


def build():
    """Builds the program and the gradient benchmark; the path of the latter."""
    subprocess.run(["cargo", "build", "--release", "--bins"], cwd=ROOT, check=True)
    done = subprocess.run(["cargo", "bench", "--no-run", "--bench", "gradient", "--message-format=json"],
                          cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    found = [json.loads(line).get("executable") for line in done.stdout.splitlines() if line.startswith("{")]
    return [path for path in found if path][-1]


def process(*command):
    """Runs to the end: seconds by the clock, seconds of processor, largest resident set in MiB."""
    start = time.perf_counter()
    child = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    error = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}: exit code {child.returncode}\n{error.decode()}")
    return {"process_s": seconds, "cpu_s": usage.ru_utime + usage.ru_stime, "peak_mib": usage.ru_maxrss / 1024}


def answer(folder, posterior):
    """Largest error of a posterior mean, in Monte Carlo standard errors."""
    exact = json.loads((ROOT / "tests" / "golden" / "posteriors" / f"{posterior}.json").read_text())
    rows = json.loads((folder / "summary.json").read_text())["summary"]
    own = {(r["name"], *r["index"]): r for r in rows}
    errors = []
    for q in exact["quantities"]:
        row = own[(q["name"], *q["index"])]
        errors.append(abs(row["mean"] - q["mean"]) / (row["mcse_mean"] ** 2 + q["mcse_mean"] ** 2) ** 0.5)
    return max(errors)


def own_run(problem, seed):
    model, data, posterior = PROBLEMS[problem]
    with tempfile.TemporaryDirectory() as parent:
        folder = pathlib.Path(parent) / "out"
        used = process(FITZROY, "sample", f"models/{model}", "--data", f"models/{data}", "--seed", str(seed),
                       "--out", folder, "--no-progress")
        run = json.loads((folder / "run.json").read_text())
        timing = run["timing_s"]
        return used | {
            "compile_s": timing["compile"], "sampling_s": timing["warmup"] + timing["sampling"],
            "first_kept_draw_s": timing["compile"] + timing["warmup"], "min_ess_bulk": run["min_ess_bulk"],
            "min_ess_tail": run["min_ess_tail"], "max_rhat": run["max_rhat"], "divergences": run["divergences"],
            "gradients": run["gradients"], "max_abs_z": answer(folder, posterior),
        }


def peer_run(python, peer, problem, seed):
    start = time.perf_counter()
    done = subprocess.run([python, "-W", "ignore", HERE / "peers" / "sample.py", peer, problem, "--seed", str(seed)],
                          capture_output=True, text=True)
    seconds = time.perf_counter() - start
    if done.returncode != 0:
        raise SystemExit(f"{peer} on {problem}:\n{done.stderr}")
    run = json.loads(done.stdout.strip().splitlines()[-1])
    keep = ("compile_s", "sampling_s", "min_ess_bulk", "min_ess_tail", "max_rhat", "divergences")
    return {"process_s": seconds - run["summary_s"], "max_abs_z": run["answer"]["max_abs_z"],
            **{k: run[k] for k in keep}}, run["versions"]


def summary(runs):
    """Medians and ranges, and effective draws a second: of sampling (warm-up included), of the process."""
    out = {key: spread([r[key] for r in runs]) for key in runs[0]}
    for kind in ("sampling", "process"):
        for ess in ("bulk", "tail"):
            rates = [r[f"min_ess_{ess}"] / r[f"{kind}_s"] for r in runs]
            out[f"ess_{ess}_per_{kind}_s"] = spread(rates)
    return out


def sampling(options, document):
    """All programs on all problems, seed by seed in turn; the first run of a peer fills its caches."""
    out = document["sampling"] = {}
    for problem in options.problems.split(","):
        runs, first = {"fitzroy": []}, {}
        for peer in options.peer_names:
            runs[peer] = []
            if not options.warm:
                first[peer] = peer_run(options.peers, peer, problem, 1)[0]["process_s"]
        for seed in range(1, options.repeats + 1):
            runs["fitzroy"].append(own_run(problem, seed))
            for peer in options.peer_names if seed <= options.peer_repeats else ():
                one, document["versions"] = peer_run(options.peers, peer, problem, seed)
                runs[peer].append(one)
        out[problem] = {who: summary(r) for who, r in runs.items()}
        for peer, seconds in first.items():
            out[problem][peer]["first_process_s"] = seconds
        worst = out[problem]["fitzroy"]["max_abs_z"]["max"]
        if not worst < Z_MAX:
            document["failures"].append(f"{problem}: a posterior mean is off by {worst:.1f} standard errors")
        for who, s in out[problem].items():
            say(f"{problem:26} {who:16} ESS/s sampling {s['ess_bulk_per_sampling_s']['median']:9.0f}  process "
                f"{s['ess_bulk_per_process_s']['median']:9.1f}  R-hat {s['max_rhat']['median']:.3f}  "
                f"divergences {s['divergences']['median']:.0f}  process {s['process_s']['median']:.2f} s")
        write(document, options)


def write(document, options):
    """The document so far, so that a run that is stopped leaves what it measured."""
    path = HERE / "results" / f"{document['date']}-{options.what}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(document, indent=1) + "\n")
    return path


def gradients(options, document, binary):
    """Value and gradient, ours and JAX in turn."""
    own, interpreted, peer = [], [], []

    def ours(*flags):
        done = subprocess.run([binary, "--seconds", "1", *flags], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
        return json.loads(done.stdout)

    for _ in range(options.rounds):
        own.append(ours())
        interpreted.append(ours("--engine", "interpreter"))
        if options.peers:
            script = [options.peers, HERE / "peers" / "gradient.py", "time", "--seconds", "0.7"]
            peer.append(json.loads(subprocess.run(script, check=True, stdout=subprocess.PIPE, text=True).stdout))
    document["machine"]["simd"] = own[0]["simd"]
    out = document["gradients"] = {}
    for problem in [k for k in own[0] if k != "simd"]:
        out[problem] = {}
        for name, runs in (("fitzroy", own), ("fitzroy-interpreter", interpreted)):
            mine = out[problem][name] = {k: runs[0][problem][k] for k in ("parameters", "worst_error", "engine", "note")}
            for clock in ("wall_us", "cpu_us"):
                mine[clock] = spread([o[problem][clock]["median"] for o in runs])
        mine = out[problem]["fitzroy"]
        if peer and problem in peer[0]:
            out[problem]["jax"] = {k: spread([p[problem][k] for p in peer]) for k in ("compile_s", "call_us", "in_loop_us")}
        theirs = out[problem].get("jax")
        beside = f"  JAX a call {theirs['call_us']['median']:.1f}, in a compiled loop {theirs['in_loop_us']['median']:.1f}" if theirs else ""
        say(f"{problem:26} {mine['wall_us']['median']:8.2f} us ({mine['cpu_us']['median']:.2f} us of processor){beside}")


def validate(options, document):
    """The whole validation, and the time to the first draws."""
    with tempfile.TemporaryDirectory() as parent:
        runs = [process(FITZROY, "validate", "--out", f"{parent}/{k}", "--no-progress") for k in range(options.repeats)]
    document["validate"] = {key: spread([r[key] for r in runs]) for key in runs[0]}
    document["first_draw"] = {}
    for problem in ("eight-schools-centred", "hierarchical-centred"):
        # Without warm-up and with the fewest draws: an upper bound, since its files are written too.
        model, data, _ = PROBLEMS[problem]
        with tempfile.TemporaryDirectory() as parent:
            shortest = [process(FITZROY, "sample", f"models/{model}", "--data", f"models/{data}", "--tune", "0",
                                "--draws", "4", "--out", f"{parent}/{k}", "--no-progress") for k in range(options.repeats)]
        usual = [own_run(problem, s) for s in range(1, options.repeats + 1)]
        document["first_draw"][problem] = {
            "shortest_process_s": spread([r["process_s"] for r in shortest]),
            "after_warmup_s": spread([r["first_kept_draw_s"] for r in usual]),
        }
        say(f"{problem:26} first draw before {1e3 * document['first_draw'][problem]['shortest_process_s']['median']:.0f} ms, "
            f"after 1000 of warm-up {1e3 * document['first_draw'][problem]['after_warmup_s']['median']:.0f} ms")
    v = document["validate"]
    say(f"validate {v['process_s']['median']:.2f} s, {v['peak_mib']['max']:.0f} MiB")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", help="Python with the peers; without it only Fitzroy is measured")
    parser.add_argument("--peer-names", default=",".join(PEERS))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--peer-repeats", type=int, default=3)
    parser.add_argument("--warm", action="store_true", help="the peers' caches are filled: no first run of each")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--problems", default=",".join(PROBLEMS))
    parser.add_argument("--only", default="gradients,validate,sampling")
    parser.add_argument("--what", default="peers")
    options = parser.parse_args()
    options.peer_names = options.peer_names.split(",") if options.peers else []
    binary = build()
    document = {
        "date": datetime.date.today().isoformat(), "commit": output("git", "rev-parse", "HEAD"),
        "changed": bool(output("git", "status", "--porcelain", "--untracked-files=no")), "machine": machine(),
        "load_before": load(), "failures": [],
        "settings": {"chains": 4, "tune": 1000, "draws": 1000, "target_accept": 0.8, "repeats": options.repeats,
                     "peer_repeats": options.peer_repeats, "rounds": options.rounds},
    }
    start, only = time.perf_counter(), options.only.split(",")
    if "gradients" in only:
        gradients(options, document, binary)
    if "validate" in only:
        validate(options, document)
    if "sampling" in only:
        sampling(options, document)
    document |= {"load_after": load(), "seconds": time.perf_counter() - start}
    path = write(document, options)
    say(f"load average {document['load_before'][0]:.1f} before, {document['load_after'][0]:.1f} after; wrote {path}")
    for failure in document["failures"]:
        say(f"FAILED {failure}")
    sys.exit(bool(document["failures"]))


if __name__ == "__main__":
    main()
