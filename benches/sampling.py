"""Fitzroy and its peers on the problems of `fitzroy bench sample` and `fitzroy bench hierarchical`.

    python benches/sampling.py --peers PYTHON [--problems a,b] [--peer-names a,b] [--repeats 5]
                               [--peer-repeats 1] [--into FILE] [--render]

Measures each problem with Fitzroy (rewrites on and off) and then each peer, on the same data, one
process after the other, and adds what it measured to FILE (benches/results/DATE-sampling.json),
so that problems and peers can be measured a few at a time. A peer that takes longer than
`--patience` seconds is stopped and said to have been. `--render` measures nothing and writes the
table of FILE into COMPARE.md, between `<!-- sampling:begin -->` and `<!-- sampling:end -->`.
Let nothing else run meanwhile.
"""

import argparse
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from run import FITZROY, HERE, ROOT, load, machine, output

# problem: the command that measures it, and its configuration for the peers
PROBLEMS = {
    "groups-100": (["hierarchical", "--only", "groups-100"], (1000, 2000, 0.95)),
    "groups-500": (["hierarchical", "--only", "groups-500"], (1000, 1000, 0.8)),
    "groups-1000": (["hierarchical", "--only", "groups-1000"], (1000, 1000, 0.8)),
    "artists": (["sample", "--preset", "standard"], (500, 500, 0.8)),
    "eight-schools": (["hierarchical", "--only", "eight-schools"], (1000, 1000, 0.8)),
    "logistic": (["hierarchical", "--only", "logistic"], (1000, 1000, 0.8)),
}
PEERS = ("nutpie", "nutpie-low-rank", "numpyro", "pymc", "blackjax", "stanli", "nuts-rs")
NAMES = {"fitzroy": "**Fitzroy**", "fitzroy-off": "Fitzroy, rewrites off", "nutpie": "nutpie",
         "nutpie-low-rank": "nutpie, low rank", "numpyro": "NumPyro", "pymc": "PyMC", "blackjax": "BlackJAX (PyMC)", "stanli": "stanli",
         "nuts-rs": "nuts-rs, slopes by hand", "nextstat": "NextStat", "nextstat-mams": "NextStat, MAMS"}
BEGIN, END = "<!-- sampling:begin -->", "<!-- sampling:end -->"
KEYS = ("process_s", "written_s", "chains_s", "min_ess_bulk", "min_ess_tail", "max_rhat", "divergences")


def spread(runs):
    """Median, least and greatest of every measure, and of effective draws a second."""
    def of(values):
        return {"median": statistics.median(values), "min": min(values), "max": max(values)}
    out = {k: of([r[k] for r in runs]) for k in KEYS}
    out["ess_per_written_s"] = of([r["min_ess_bulk"] / r["written_s"] for r in runs])
    out["ess_per_chains_s"] = of([r["min_ess_bulk"] / r["chains_s"] for r in runs])
    return out | {"repeats": len(runs)}


def own(command, repeats, problem, document):
    done = subprocess.run([FITZROY, "bench", *command, "--repeats", str(repeats), "--json"], check=True,
                          stdout=subprocess.PIPE, text=True)
    found = json.loads(done.stdout)
    document["device"], document["commit"] = found["device"], found["commit"]
    for row in found["rows"]:
        runs = [r | {"chains_s": r["warmup_s"] + r["sampling_s"]} for r in row["runs"]]
        who = "fitzroy" if row["rewrites"] == "auto" else "fitzroy-off"
        problem[who] = spread(runs)


def peer(python, who, name, settings, options, folder):
    tune, draws, target = settings
    runs, versions = [], None
    for seed in range(1, options.peer_repeats + 1):
        command = [python, "-W", "ignore", HERE / "peers" / "sample.py", who, name, "--tune", tune, "--draws", draws,
                   "--target-accept", target, "--seed", seed]
        start = time.perf_counter()
        try:
            done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=options.patience,
                                  env=os.environ | {"FITZROY_BENCH_DATA": folder})
        except subprocess.TimeoutExpired:
            return {"stopped_after_s": options.patience}, versions
        seconds = time.perf_counter() - start
        if done.returncode != 0:
            return {"error": done.stderr.strip().splitlines()[-1:]}, versions
        run = json.loads(done.stdout.strip().splitlines()[-1])
        # Draws stay in memory: nothing is written, but by a program of its own.
        process = run.get("own_process_s", seconds - run["summary_s"])
        # z says again what the group effects say, and Fitzroy's figure has it too.
        runs.append({k: run[k] for k in ("min_ess_bulk", "min_ess_tail", "max_rhat", "divergences")}
                    | {"process_s": process, "written_s": process, "chains_s": run["sampling_s"]})
        versions = run["versions"]
    return spread(runs), versions


def measure(options, document, path):
    with tempfile.TemporaryDirectory() as folder:
        for name in options.problems.split(","):
            command, settings = PROBLEMS[name]
            problem = document["problems"].setdefault(name, {})
            problem["configuration"] = dict(zip(("tune", "draws", "target_accept"), settings))
            subprocess.run([FITZROY, "bench", *command, "--write-data", folder], check=True)
            if options.repeats > 0:
                own(command, options.repeats, problem, document)
            for who in options.peer_names.split(",") if options.peers and options.peer_names else ():
                problem[who], versions = peer(options.peers, who, name, settings, options, folder)
                document["versions"] = versions or document.get("versions")
            document["load"].append(load())
            path.write_text(json.dumps(document, indent=1) + "\n")
            print(name, {k: v.get("ess_per_written_s", v) for k, v in problem.items() if k != "configuration"},
                  file=sys.stderr)


def cell(entry, key, digits):
    text = f"{entry[key]['median']:,.{digits}f}"
    if entry["repeats"] > 1:
        text += f" ({entry[key]['min']:,.{digits}f}–{entry[key]['max']:,.{digits}f})"
    return text


def table(document):
    versions = document.get("versions") or {}
    shown = ", ".join(f"{n} {versions[n]}" for n in ("pymc", "nutpie", "numpyro", "blackjax", "jax", "stanli", "nextstat")
                      if n in versions)
    device, changed = document["device"], " with changes" if document.get("changed") else ""
    where = f"{device['name']}, {document['machine']['cores']} cores, {device['simd']}"
    what = f"{document['date']}, commit {document['commit'][:10]}{changed}"
    lines = [f"{where}; {what}{'; ' + shown if shown else ''}.", "",
             "| problem | program | ESS/s, to the disk | seconds | ESS/s, chains alone | ESS | R-hat | divergences |",
             "|---|---|---:|---:|---:|---:|---:|---:|"]
    for name, problem in document["problems"].items():
        for who, label in NAMES.items():
            entry = problem.get(who)
            if entry is None:
                continue
            if "ess_per_written_s" not in entry:
                why = f"stopped after {entry['stopped_after_s']:.0f} s" if "stopped_after_s" in entry else "failed"
                lines.append(f"| {name} | {label} | {why} | | | | | |")
                continue
            rate, ess = entry["ess_per_written_s"]["median"], entry["min_ess_bulk"]["median"]
            diverges = entry["divergences"]["median"] > 0
            converged = entry["max_rhat"]["max"] < 1.01 and ess > 400 and not diverges
            mark = "" if converged else " †"
            lines.append(f"| {name} | {label} | {cell(entry, 'ess_per_written_s', 0 if rate > 20 else 1)}{mark} | "
                         f"{entry['written_s']['median']:.3g} | {entry['ess_per_chains_s']['median']:,.0f} | {ess:,.0f} | "
                         f"{entry['max_rhat']['max']:.3f} | {entry['divergences']['median']:.0f} |")
    return "\n".join([*lines, "", "† not converged: an R-hat of 1.01 or more in a run, no more than 400 effective draws, or divergences in most runs."])


def render(document):
    path = ROOT / "COMPARE.md"
    text = path.read_text()
    before, rest = text.split(BEGIN)
    path.write_text(f"{before}{BEGIN}\n{table(document)}\n{END}{rest.split(END)[1]}")


def main():
    today = datetime.date.today().isoformat()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", help="Python with the peers; without it only Fitzroy is measured")
    parser.add_argument("--peer-names", default=",".join(PEERS))
    parser.add_argument("--problems", default=",".join(PROBLEMS))
    parser.add_argument("--repeats", type=int, default=5, help="runs of Fitzroy; 0 leaves its rows as they are")
    parser.add_argument("--peer-repeats", type=int, default=1)
    parser.add_argument("--patience", type=float, default=600.0)
    parser.add_argument("--into", default=str(HERE / "results" / f"{today}-sampling.json"))
    parser.add_argument("--render", action="store_true")
    options = parser.parse_args()
    path = pathlib.Path(options.into)
    document = {"date": today, "machine": machine(), "commit": output("git", "rev-parse", "HEAD"), "load": [],
                "problems": {}}
    if path.exists():
        document = json.loads(path.read_text())
    if options.render:
        render(document)
    else:
        measure(options, document, path)


if __name__ == "__main__":
    main()
