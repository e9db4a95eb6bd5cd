"""How cost grows with size: curves of tenfold steps, with the stages that bend.

    python benches/scale.py [--only groups,curve] [--largest 100000] [--repeats 1] [--patience 180]
                            [--program FITZROY] [--into FILE] [--render]

Needs NumPy, and `cargo build --release` before it. Every point is a process of its own, `fitzroy
sample` or `fitzroy curve-fit` on files made by `scale_problems.py`, whose answer is compared with the
truth before its time counts. What a point takes is the processor time of all threads: other programs
on the machine change it less than the clock. The smallest of `--repeats` runs counts. A curve ends
where a point takes longer than `--patience` seconds by the clock, and that is said.

From point to point the slope d log(time) / d log(n) is printed, of the whole and of every stage that
takes a tenth of it or more; above that of n log n, and 0.05 for what noise there is, it is named.
Results go to benches/results/DATE-scale.json; `--render` measures nothing and writes the tables of FILE
into docs/benchmarks.md, between `<!-- scale:begin -->` and `<!-- scale:end -->`.
"""

import argparse
import datetime
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from run import FITZROY, HERE, ROOT, load, machine, output

FEW = ["--tune", "200", "--draws", "100"]
# curve: what grows, how far by tens, flags with n in the place of {n}, and how that is said
CURVES = {
    "groups": ("groups of 10 rows, normal effects", (100, 1_000_000), ["--tune", "150", "--draws", "50"],
               "4 chains of 150 + 50"),
    "effects": ("groups of 10 rows, Poisson effects", (10, 100_000), FEW, "4 chains of 200 + 100"),
    "matches": ("players of a Bradley-Terry model, 32 matches for each", (100, 100_000), FEW, "4 chains of 200 + 100"),
    "coefficients": ("coefficients of a regression on 2,000 rows", (10, 10_000), FEW, "4 chains of 200 + 100"),
    "logistic": ("rows of a logistic regression on 5 columns", (1_000, 10_000_000), FEW, "4 chains of 200 + 100"),
    "poisson": ("rows of a Poisson regression with 100 groups", (1_000, 10_000_000), FEW, "4 chains of 200 + 100"),
    "robust": ("rows of a regression with Student's t", (1_000, 10_000_000), FEW, "4 chains of 200 + 100"),
    "chains": ("chains, 100 groups of 10 rows", (1, 1_000), ["--tune", "200", "--draws", "200", "--chains", "{n}"], "200 + 200"),
    "draws": ("draws, 10 groups of 10 rows", (1_000, 1_000_000), ["--draws", "{n}"], "4 chains, warm-up of 1,000"),
    "curve": ("rows of a curve of 3 parameters", (100, 100_000_000), [], "least squares, from NPY files"),
}
STAGES = ("read", "bind, compile", "warm-up", "draws", "collect", "write", "diagnose", "report")
PARTS = ("reading", "binding", "chains", "examining", "rest")
PAGE, BEGIN, END = ROOT / "docs" / "benchmarks.md", "<!-- scale:begin -->", "<!-- scale:end -->"
NOISE = 0.05


def say(text):
    print(text, file=sys.stderr, flush=True)


def run(command, patience):
    """Seconds by the clock and of processors; none where it took longer than `patience`."""
    start = time.perf_counter()
    child = subprocess.Popen([str(c) for c in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        error = child.communicate(timeout=patience)[1]
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
        return None
    if child.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}: exit code {child.returncode}\n{error.decode()}")
    return time.perf_counter() - start


def used():
    """Seconds of processors of all children that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def size_of(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def sampled(out, point):
    """What `run.json` says of the stages."""
    document = json.loads((out / "run.json").read_text())
    t, stages = document["timing_s"], document["stages"]
    reading = stages["reading"]["s"]
    drawn = t["compile"] + t["warmup"] + t["sampling"] + t["collecting"]
    point["clock_s"] = dict(zip(STAGES, (reading, t["compile"] - reading, t["warmup"], t["sampling"], t["collecting"],
                                         t["written"] - drawn, t["total"] - t["written"], point["s"] - t["total"])))
    parts = {name: stages[name]["processor_s"] for name in PARTS[:-1]}
    point["parts_s"] = parts | {"rest": point["processor_s"] - sum(parts.values())}
    point |= {"peak_mib": document["peak_memory_bytes"] / 2**20, "gradients": document["gradients"],
              "min_ess_bulk": document["min_ess_bulk"], "ess_per_s": document["min_ess_bulk"] / point["s"],
              "max_rhat": document["max_rhat"]}


def measure(name, n, options, parent):
    """One point, or none where it takes too long."""
    folder, out = parent / f"{name}-{n}", parent / "out"
    folder.mkdir()
    problems = [sys.executable, HERE / "scale_problems.py"]
    subprocess.run([*problems, name, str(n), folder], check=True)
    flags = [flag.format(n=n) for flag in CURVES[name][2]]
    if name == "curve":
        command = ["curve-fit", "--model", "a*exp(-b*x)+c", folder / "x.npy", folder / "y.npy", "--y", "y"]
    else:
        command = ["sample", folder / "model.fz", "--data", folder / "data.npz", *flags]
    best = None
    for _ in range(options.repeats):
        subprocess.run(["rm", "-rf", out], check=True)
        before = used()
        seconds = run([options.program, *command, "--out", out, "--no-progress", "--quiet"], options.patience)
        if seconds is None:
            break
        point = {"n": n, "s": seconds, "processor_s": used() - before, "disk_mib": size_of(out) / 2**20}
        if name == "curve":
            point["peak_mib"] = json.loads((out / "fit.json").read_text()).get("peak_memory_bytes", 0) / 2**20
        else:
            sampled(out, point)
        done = subprocess.run([*problems, "--check", name, folder, out], check=True, stdout=subprocess.PIPE, text=True)
        point["errors"] = json.loads(done.stdout)
        if best is None or point["processor_s"] < best["processor_s"]:
            best = point
    subprocess.run(["rm", "-rf", folder, out], check=True)
    return best


def slope(before, after, value):
    """Of `value` between two points, and what n log n would have."""
    (a, b), tens = map(value, (before, after)), math.log(after["n"] / before["n"])
    linear = 1 + math.log(math.log(after["n"]) / math.log(max(before["n"], math.e))) / tens
    return (math.log(b / a) / tens if a > 0 and b > 0 else 0.0), linear


def slopes(points):
    """Slopes from each point to the next, with the stages above n log n."""
    for before, after in zip(points, points[1:]):
        total, linear = slope(before, after, lambda p: p["processor_s"])
        after["slope"], after["n_log_n"], after["bends"] = total, linear, {}
        for part in PARTS if "parts_s" in after else ():
            own, _ = slope(before, after, lambda p, part=part: p["parts_s"][part])
            weighs = after["parts_s"][part] > 0.1 * after["processor_s"]
            if weighs and before["parts_s"][part] > 0.02 and own > linear + NOISE:
                after["bends"][part] = own
        if total > linear + NOISE:
            after["bends"]["whole"] = total


def grow(name, options, document, path):
    title, (first, last), _, settings = CURVES[name]
    curve = document["curves"][name] = {"title": title, "settings": settings, "points": [], "stopped": None}
    n = first
    with tempfile.TemporaryDirectory(dir=options.folder) as parent:
        while n <= min(last, options.largest):
            point = measure(name, n, options, pathlib.Path(parent))
            if point is None:
                curve["stopped"] = n
                say(f"{name:13} {n:>11,}  longer than {options.patience:.0f} s")
                break
            point |= {"commit": output("git", "rev-parse", "HEAD"), "load": load()}
            curve["points"].append(point)
            slopes(curve["points"])
            bends = "  ".join(f"{part} {own:.2f}" for part, own in point.get("bends", {}).items())
            say(f"{name:13} {n:>11,}  {point['processor_s']:8.2f} s of processors, {point['s']:8.2f} s by the clock, "
                f"{point['peak_mib']:7.0f} MiB  slope {point.get('slope', math.nan):5.2f}"
                + (f"  above n log n: {bends}" if bends else ""))
            path.write_text(json.dumps(document, indent=1) + "\n")
            n *= 10


def number(x):
    return f"{x:,.0f}" if x >= 99.5 else f"{x:.3g}"


def steepest(curve):
    """How far the curve is above n log n at its worst, where it takes a second or more."""
    late = [p["slope"] - p["n_log_n"] for p in curve["points"] if "slope" in p and p["processor_s"] > 1.0]
    return max(late, default=-1.0)


def table(document):
    commits = sorted({p["commit"][:10] for c in document["curves"].values() for p in c["points"]})
    lines = [f"{document['machine']['cpu']}, {document['machine']['cores']} cores; {document['date']}, commit "
             f"{', '.join(commits)}. `python benches/scale.py` repeats it. {document.get('note', '')}".strip(), ""]
    curves = sorted(document["curves"].values(), key=steepest, reverse=True)
    above = [c for c in curves if steepest(c) > NOISE]
    lines += ["| n | processors, s | slope | clock, s | read, bind | chains | examine | rest | MiB | disk, MiB | ESS/s |",
              "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"]
    for curve in curves:
        mark = "above n log n: " if curve in above else ""
        lines.append(f"| **{mark}{curve['title']}** ({curve['settings']}) | | | | | | | | | | |")
        for p in curve["points"]:
            of = p.get("parts_s")
            cells = [number(of["reading"] + of["binding"]), *(number(of[k]) for k in PARTS[2:])] if of else [""] * 4
            own = f"{round(p['slope'], 2) + 0.0:.2f}" + (" †" if p["bends"] else "") if "slope" in p else ""
            peak = number(p["peak_mib"]) if p["peak_mib"] else ""
            ess = number(p["ess_per_s"]) if of else ""
            lines.append(f"| {p['n']:,} | {number(p['processor_s'])} | {own} | {number(p['s'])} | {' | '.join(cells)} | {peak} | "
                         f"{number(p['disk_mib'])} | {ess} |")
        if curve["stopped"]:
            lines.append(f"| {curve['stopped']:,} | longer than {document['patience']:.0f} s | | | | | | | | | |")
    return "\n".join(lines)


def main():
    today = datetime.date.today().isoformat()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(CURVES), metavar="CURVE", help="curves, separated by commas")
    parser.add_argument("--largest", type=int, default=10**9, metavar="N")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--patience", type=float, default=180.0, metavar="SECONDS")
    parser.add_argument("--program", default=FITZROY, help="another build of it")
    parser.add_argument("--folder", help="for data and results while it runs [default: that for temporary files]")
    parser.add_argument("--note", help="what is to be said of the machine in the table")
    parser.add_argument("--into", default=str(HERE / "results" / f"{today}-scale.json"), metavar="FILE")
    parser.add_argument("--render", action="store_true")
    options = parser.parse_args()
    path = pathlib.Path(options.into)
    document = {"date": today, "machine": machine(), "patience": options.patience, "curves": {}}
    if path.exists():
        document = json.loads(path.read_text())
    if options.note:
        document["note"] = options.note
    if options.render:
        before, rest = PAGE.read_text().split(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n{table(document)}\n{END}{rest.split(END)[1]}")
        return
    for name in options.only.split(","):
        grow(name, options, document, path)


if __name__ == "__main__":
    main()
