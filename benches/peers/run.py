"""All peers on all problems, each run in a fresh process; prints or writes one JSON document.

    FOLDER/bin/python benches/peers/run.py [--out FILE] [--repeats 5] [--peers a,b] [--problems a,b]
                                           [-- options for sample.py]

One run per peer warms the disk caches of the compilers first and is kept apart as `first_run`,
because that is what a user pays once after an installation. `process_s` is from starting the
process to its end, less the seconds that summarising took.
"""

import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
PEERS = ("nutpie", "nutpie-low-rank", "numpyro", "pymc", "stanli", "nextstat", "nextstat-mams", "nuts-rs")
PROBLEMS = ("eight-schools-noncentred", "eight-schools-centred", "hierarchical-noncentred", "hierarchical-centred")


def once(arguments):
    """Runs a script of this folder; its JSON, with the seconds of the whole process added."""
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-W", "ignore", *arguments], capture_output=True, text=True)
    seconds = time.perf_counter() - start
    if done.returncode != 0:
        return {"error": done.stderr.strip().splitlines()[-1:], "process_s": seconds}
    result = json.loads(done.stdout.strip().splitlines()[-1])
    return result | {"process_s": result.get("own_process_s", seconds - result.get("summary_s", 0.0))}


def machine():
    """Processor, cores and system."""
    model = platform.processor() or platform.machine()
    info = pathlib.Path("/proc/cpuinfo")
    if info.exists():
        lines = [l.split(":", 1)[1].strip() for l in info.read_text().splitlines() if l.startswith("model name")]
        model = lines[0] if lines else model
    return {"cpu": model, "cores": os.cpu_count(), "system": f"{platform.system()} {platform.release()}"}


def commit():
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=HERE, capture_output=True, text=True)
    return done.stdout.strip() or None


def summary(runs):
    """Median and range of what matters, over the repeats."""
    good, out = [r for r in runs if "error" not in r], {"runs": len(runs)}
    if not good:
        return out | {"error": runs[0]["error"]}
    for key in ("process_s", "compile_s", "sampling_s", "min_ess_bulk", "min_ess_tail", "max_rhat", "divergences"):
        values = [r[key] for r in good]
        out[key] = {"median": statistics.median(values), "min": min(values), "max": max(values)}
    rates = [min(r["min_ess_bulk"], r["min_ess_tail"]) / r["process_s"] for r in good]
    out["ess_per_process_second"] = {"median": statistics.median(rates), "min": min(rates), "max": max(rates)}
    rates = [min(r["min_ess_bulk"], r["min_ess_tail"]) / r["sampling_s"] for r in good]
    out["ess_per_sampling_second"] = {"median": statistics.median(rates), "min": min(rates), "max": max(rates)}
    out["max_abs_z"] = max(r["answer"]["max_abs_z"] for r in good)
    return out


def main():
    own, extra = sys.argv[1:], []
    if "--" in own:
        own, extra = own[:own.index("--")], own[own.index("--") + 1:]
    parser = argparse.ArgumentParser()
    parser.add_argument("--out")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--problems", default=",".join(PROBLEMS))
    parser.add_argument("--no-gradients", action="store_true")
    options = parser.parse_args(own)
    document = {"machine": machine(), "commit": commit(), "options": extra, "results": {}}
    for problem in options.problems.split(","):
        for peer in options.peers.split(","):
            command = [str(HERE / "sample.py"), peer, problem, *extra]
            first = once(command)
            runs = [once([*command, "--seed", str(seed)]) for seed in range(1, options.repeats + 1)]
            document["versions"] = first.get("versions", document.get("versions"))
            document["results"][f"{problem}/{peer}"] = summary(runs) | {"first_run_s": first["process_s"]}
            print(f"{problem}/{peer}", json.dumps(document["results"][f"{problem}/{peer}"]), file=sys.stderr)
    if not options.no_gradients:
        document["gradients"] = once([str(HERE / "gradient.py"), "time", "--threads", "1"])
    text = json.dumps(document, indent=1)
    pathlib.Path(options.out).write_text(text + "\n") if options.out else print(text)


if __name__ == "__main__":
    main()
