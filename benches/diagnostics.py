"""Summary and report of a large trace beside ArviZ, and what streamed draws cost a run.

    python benches/diagnostics.py [--variables 1000] [--repeats 5] [--into FILE]
    python benches/diagnostics.py --streaming PAIRS [--draws 20000] [--into FILE]
    python benches/diagnostics.py --render [--into FILE]

The first makes 4 chains of 1,000 draws of so many variables (autoregressive, of many strengths),
saves them as NetCDF, and times: `fitzroy diagnose FILE --json` as a whole process, reading and
printing included; `fitzroy report FILE` as a whole process; and `arviz.summary` of the same file,
already read into memory, after a first call that is not counted. Asserts before that R-hat, both
ESS and the MCSE agree to 1e-8. Run it with each line of ArviZ: both are kept in FILE.

The second samples the 100 x 10 hierarchical model without rewrites in pairs, once publishing every
five seconds and once not until the end, and compares the processor time of both whole processes.

`--render` measures nothing and writes the table of FILE into COMPARE.md. FILE is
benches/results/DATE-diagnostics.json. Nothing else should run on the machine.
"""

import argparse
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time
import warnings

from run import FITZROY, HERE, ROOT, load, machine, output

warnings.simplefilter("ignore")
CHAINS, DRAWS = 4, 1000
BEGIN, END = "<!-- diagnostics:begin -->", "<!-- diagnostics:end -->"
MODEL = "hierarchical"


def trace(variables):
    import numpy as np
    import xarray as xr

    rng = np.random.default_rng(1)
    noise = rng.standard_normal((CHAINS, DRAWS, variables))
    rho = np.linspace(-0.3, 0.9, variables)
    x = np.zeros_like(noise)
    x[:, 0] = noise[:, 0]
    for d in range(1, DRAWS):
        x[:, d] = rho * x[:, d - 1] + np.sqrt(1 - rho**2) * noise[:, d]
    dims = ("chain", "draw", "x_dim_0")
    coords = {"chain": np.arange(CHAINS), "draw": np.arange(DRAWS)}
    posterior = xr.Dataset({"x": (dims, x)}, coords=coords)
    statistics = {
        "energy": (dims[:2], x[:, :, :50].sum(axis=2) + 100),
        "diverging": (dims[:2], np.zeros((CHAINS, DRAWS), dtype=bool)),
    }
    return xr.DataTree.from_dict({"posterior": posterior, "sample_stats": xr.Dataset(statistics, coords=coords)})


def clocked(repeats, work):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return {"median": statistics.median(times), "min": min(times), "max": max(times)}, result


def summaries(options):
    """Ours and ArviZ's summary of the same file, and our report of it."""
    import arviz as az
    import numpy as np
    import xarray as xr

    is_old = az.__version__.startswith("0.")

    def summary(tree):
        data = az.InferenceData(posterior=tree["posterior"].to_dataset()) if is_old else tree
        return az.summary(data, round_to="none")

    def run(*command):
        return subprocess.run([FITZROY, *command], capture_output=True, check=True).stdout

    with tempfile.TemporaryDirectory() as folder:
        file, page = f"{folder}/trace.nc", f"{folder}/report.html"
        trace(options.variables).to_netcdf(file, engine="h5netcdf")
        diagnose = ["diagnose", file, "--json", "--ess-tail", "classic" if is_old else "arviz1",
                    "--threads", str(options.threads)]
        ours = json.loads(run(*diagnose))["summary"]
        tree = xr.open_datatree(file, engine="h5netcdf").load()
        theirs = summary(tree)
        for name in ["r_hat", "ess_bulk", "ess_tail", "mcse_mean", "mcse_sd"]:
            a = np.array([row[name] for row in ours])
            b = theirs[name].to_numpy(dtype=float)
            assert np.allclose(a, b, rtol=1e-8, atol=0), (name, np.abs(a / b - 1).max())
        own, _ = clocked(options.repeats, lambda: run(*diagnose))
        report, _ = clocked(options.repeats, lambda: run("report", file, "--out", page, "--overwrite"))
        report_bytes = os.path.getsize(page)
        peer, _ = clocked(options.repeats, lambda: summary(tree))
    return {
        "arviz": az.__version__, "numpy": np.__version__, "chains": CHAINS, "draws": DRAWS,
        "variables": options.variables, "threads": options.threads, "repeats": options.repeats,
        "diagnose_s": own, "arviz_s": peer, "ratio": peer["median"] / own["median"],
        "report_s": report, "report_bytes": report_bytes, "load": load(),
    }


def sampled(folder, name, draws, every):
    """One run: seconds of processor time of the process, and what it says of itself."""
    model = ROOT / "models"
    command = [FITZROY, "sample", model / f"{MODEL}.fz", "--data", model / f"{MODEL}.csv", "--rewrites", "off",
               "--draws", str(draws), "--seed", "1", "--out", f"{folder}/{name}", "--publish-every", str(every),
               "--in-memory", "100000", "--no-report", "--no-progress", "--json"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    document = json.loads(child.stdout.read())
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0
    return {"processor_s": used.ru_utime + used.ru_stime, "sampling_s": document["timing_s"]["sampling"],
            "gradients": document["gradients"], "max_rhat": document["max_rhat"]}


def streaming(options):
    """Alternating pairs of runs that publish and that do not: the same draws, so the same work."""
    pairs = []
    for pair in range(options.streaming):
        with tempfile.TemporaryDirectory() as folder:
            order = [("streamed", 5), ("alone", 1e9)]
            runs = {name: sampled(folder, name, options.draws, every) for name, every in order[:: 1 if pair % 2 else -1]}
        assert runs["streamed"]["gradients"] == runs["alone"]["gradients"]
        runs["ratio"] = runs["streamed"]["processor_s"] / runs["alone"]["processor_s"]
        pairs.append(runs)
        print(json.dumps(runs), flush=True)
    ratios = [p["ratio"] for p in pairs]
    return {"model": MODEL, "rewrites": "off", "chains": 4, "draws": options.draws, "every_s": 5, "pairs": pairs,
            "ratio": {"median": statistics.median(ratios), "min": min(ratios), "max": max(ratios)}, "load": load()}


def table(document):
    m = document["machine"]
    lines = [f"{m['cpu']}, {m['cores']} cores; {document['date']}, commit {document['commit'][:10]}"
             f"{' with changes' if document['changed'] else ''}.", ""]
    lines += ["| 4 × 1,000 draws of | `fitzroy diagnose`, s | ArviZ | `arviz.summary`, s | ratio | `fitzroy report`, s | page, MB |",
              "|---|---:|---|---:|---:|---:|---:|"]
    for s in document.get("summaries", {}).values():
        cells = [f"{s['variables']:,} variables"]
        cells += [f"{s['diagnose_s']['median']:.2f} ({s['diagnose_s']['min']:.2f}–{s['diagnose_s']['max']:.2f})"]
        cells += [s["arviz"], f"{s['arviz_s']['median']:.2f} ({s['arviz_s']['min']:.2f}–{s['arviz_s']['max']:.2f})", f"{s['ratio']:.0f}"]
        cells += [f"{s['report_s']['median']:.2f} ({s['report_s']['min']:.2f}–{s['report_s']['max']:.2f})", f"{s['report_bytes'] / 1e6:.1f}"]
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "Ours are whole processes, reading the file included; ArviZ has it in memory. Medians, with the smallest and largest."]
    s = document.get("streaming")
    if s:
        seconds = [p["streamed"]["sampling_s"] for p in s["pairs"]]
        cost = {k: 100 * (v - 1) for k, v in s["ratio"].items()}
        lines += ["", f"Draws published every {s['every_s']} seconds cost {cost['median']:+.1f} % of processor time ({cost['min']:+.1f} to "
                  f"{cost['max']:+.1f} % in {len(seconds)} alternating pairs) beside the same run that publishes once, at its end: 100 × 10 "
                  f"hierarchical model without rewrites, {s['chains']} × {s['draws']:,} draws, {min(seconds):.0f} to {max(seconds):.0f} s of sampling, load average "
                  f"{s['load'][0]:.0f}: pairs differ by what else ran."]
    return "\n".join(lines)


def render(document):
    path = ROOT / "COMPARE.md"
    before, rest = path.read_text().split(BEGIN)
    path.write_text(f"{before}{BEGIN}\n{table(document)}\n{END}{rest.split(END)[1]}")


def main():
    today = datetime.date.today().isoformat()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--variables", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--streaming", type=int, metavar="PAIRS")
    parser.add_argument("--draws", type=int, default=20000)
    parser.add_argument("--into", default=str(HERE / "results" / f"{today}-diagnostics.json"))
    parser.add_argument("--render", action="store_true")
    options = parser.parse_args()
    path = pathlib.Path(options.into)
    document = json.loads(path.read_text()) if path.exists() else {}
    if options.render:
        return render(document)
    document |= {"date": today, "machine": machine(), "commit": output("git", "rev-parse", "HEAD"),
                 "changed": bool(output("git", "status", "--porcelain", "--untracked-files=no"))}
    if options.streaming:
        document["streaming"] = streaming(options)
    else:
        found = summaries(options)
        print(json.dumps(found, indent=1))
        document.setdefault("summaries", {})[f"arviz {found['arviz'].split('.')[0]}, {options.variables}"] = found
    path.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
