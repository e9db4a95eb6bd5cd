"""Fits the problems of `fitzroy bench curve-fit` with other programs, in the same run.

    python benches/curve_fit.py --into benches/results/FILE.json               # all of it: about ten minutes
    python benches/curve_fit.py --into FILE --quick                            # a trial of a minute or two
    python benches/curve_fit.py --into FILE --parts scipy-lm --rows 1000 --problems exponential   # a part
    python benches/curve_fit.py --into FILE --render                           # its tables in COMPARE.md

Parts: scipy-lm, scipy-trf (each with numeric and analytic Jacobian), lmfit, optimistix, nlsq, cold (whole
processes), spots (10,000 small fits), nist. Each measures the release binary on one thread and the peer on
the very same data, by turns (`--rounds`), asserts that parameters agree to 1e-4 relative (peers stop at their own
tolerances), and adds its rows to FILE, so that a long benchmark can be done in pieces: every ratio is the median
over turns of those of medians measured one after the other. Peers may use all cores. A peer that cannot be imported is said to
be missing. Peers that compile nothing and take more than five seconds are timed once. 10 million rows are
measured with SciPy's lm alone, unless `--rows` asks for them. Let nothing else run meanwhile.
"""

import argparse
import datetime
import importlib.metadata
import json
import logging
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
FITZROY = ROOT / "target" / "release" / "fitzroy"


def exponential(x, a, b, c, np=np):
    return a * np.exp(-b * x) + c


def exponential_jacobian(x, a, b, c):
    e = np.exp(-b * x)
    return np.stack([e, -a * x * e, np.ones_like(x)], axis=1)


def sine(x, a, b, w, p, c, np=np):
    return a * np.exp(-b * x) * np.sin(w * x + p) + c


def sine_jacobian(x, a, b, w, p, c):
    e, s, k = np.exp(-b * x), np.sin(w * x + p), np.cos(w * x + p)
    return np.stack([e * s, -a * x * e * s, a * e * x * k, a * e * k, np.ones_like(x)], axis=1)


CASES = {
    "exponential": (exponential, exponential_jacobian, (1.0, 1.0, 0.0)),
    "damped-sine": (sine, sine_jacobian, (1.5, 0.2, 2.9, 0.3, 0.0)),
}


def timed(run, seconds=2.0, most=51, compiles=True):
    """Median, least and greatest seconds of warm runs, and the last answer. A first run that took more than
    five seconds counts where nothing was compiled in it."""
    all_ = []
    start = time.perf_counter()
    answer = run()
    first = time.perf_counter() - start
    if first > 5 and not compiles:
        all_.append(first)
    while not all_ or (sum(all_) < seconds and len(all_) < most):
        start = time.perf_counter()
        answer = run()
        all_.append(time.perf_counter() - start)
    return {"median_s": statistics.median(all_), "min_s": min(all_), "max_s": max(all_), "repeats": len(all_)}, answer


def scipy_peers(method):
    from scipy.optimize import curve_fit

    for analytic in (False, True):
        def make(case, x, y, analytic=analytic):
            f, jac, p0 = case
            return lambda: curve_fit(f, x, y, p0=p0, method=method, jac=jac if analytic else None)[0]

        yield f"scipy-{method}" + ("-jacobian" if analytic else ""), make


def lmfit_peers():
    import lmfit

    def make(case, x, y):
        f, _, p0 = case
        model = lmfit.Model(f, independent_vars=["x"])
        names = model.param_names
        names = [n for n in names if n != "np"]
        params = model.make_params(**dict(zip(names, p0)))
        return lambda: [model.fit(y, params, x=x).params[n].value for n in names]

    yield "lmfit", make


def optimistix_peers():
    import jax
    import jax.numpy as jnp
    import optimistix

    jax.config.update("jax_enable_x64", True)

    def make(case, x, y):
        f, _, p0 = case
        x, y = jnp.asarray(x), jnp.asarray(y)
        solver = optimistix.LevenbergMarquardt(rtol=1e-8, atol=1e-8)
        start = jnp.asarray(p0)

        @jax.jit
        def solve(start):
            residual = lambda p, _: f(x, *p, np=jnp) - y
            return optimistix.least_squares(residual, solver, start, throw=False).value

        return lambda: np.asarray(solve(start).block_until_ready())

    yield "optimistix-lm", make


def nlsq_peers():
    import jax.numpy as jnp
    from nlsq import CurveFit

    # What it says while it works would be measured, too.
    logging.disable(logging.WARNING)

    def make(case, x, y):
        f, _, p0 = case
        fitter = CurveFit()
        g = {3: lambda x, a, b, c: f(x, a, b, c, np=jnp),
             5: lambda x, a, b, w, p, c: f(x, a, b, w, p, c, np=jnp)}[len(p0)]
        def fit():
            popt, _ = fitter.curve_fit(g, x, y, p0=p0)
            return np.asarray(popt)

        return fit

    yield "nlsq-curvefit", make


PEERS = {
    "scipy-lm": lambda: scipy_peers("lm"), "scipy-trf": lambda: scipy_peers("trf"), "lmfit": lmfit_peers,
    "optimistix": optimistix_peers, "nlsq": nlsq_peers,
}
COMPILE = {"optimistix", "nlsq"}
PARTS = [*PEERS, "cold", "spots", "nist"]
SIZES = [1_000, 10_000, 100_000, 500_000, 1_000_000, 10_000_000]
QUICK = [1_000, 100_000]
# Most rows where none are asked for: a goal names SciPy's lm, and others would take an hour.
MOST = {"scipy-lm": 10_000_000}


def own(folder, problems, rows):
    """What `fitzroy bench curve-fit` measures, on one thread; it writes its data into `folder`."""
    command = [FITZROY, "bench", "curve-fit", "--threads", "1", "--json", "--write-data", folder, "--problems", problems]
    if rows:
        command += ["--rows", ",".join(map(str, rows))]
    done = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return [dict(row, who="fitzroy") for row in done["rows"]]


def alternating(ours, peers, seconds, rounds, rate):
    """Ours and peers in turns, since a machine that others use is slow by spells: `ours` gives a row, `peers` are
    (name, run, whether it compiles). Our row, then of every peer what was measured, its ratio to ours, and its
    answer. Times and ratios are medians over the turns; `rate` is how fast a row or what was measured is."""
    own_rows, found = [], {who: [] for who, *_ in peers}
    for _ in range(rounds):
        own_rows.append(ours())
        for who, run, compiles in peers:
            measured, answer = timed(run, seconds / rounds, compiles=compiles)
            found[who].append((measured, rate(own_rows[-1]) / rate(measured), answer))
    middle = lambda rows: {"median_s": statistics.median(r["median_s"] for r in rows), "min_s": min(r["min_s"] for r in rows),
                           "max_s": max(r["max_s"] for r in rows), "repeats": sum(r["repeats"] for r in rows), "rounds": rounds}
    peers = [(who, middle([m for m, *_ in all_]), statistics.median(r for _, r, _ in all_), all_[-1][2]) for who, all_ in found.items()]
    return {**own_rows[-1], **middle(own_rows)}, peers


def peer_rows(part, folder, problems, sizes, seconds, rounds):
    """Rows of a peer and of ours beside it."""
    for problem in problems:
        for n in sizes:
            first = own(folder, problem, [n])[0]
            x, y = (np.load(folder / f"{problem}-{n}-{axis}.npy") for axis in "xy")
            peers = [(who, make(CASES[problem], x, y), part in COMPILE) for who, make in PEERS[part]()]
            # A fit of ten million rows takes a peer ten seconds.
            ours, found = alternating(lambda: own(folder, problem, [n])[0], peers, seconds, 1 if n > 1_000_000 else rounds,
                                      lambda row: 1 / row["median_s"])
            yield ours
            want = np.array([v for _, v in first["popt"]])
            for who, measured, ratio, popt in found:
                off = np.max(np.abs((np.asarray(popt) - want) / want))
                # Peers stop at their own tolerances, and optimistix at 1e-8 of the cost.
                assert off < 1e-4, (who, problem, n, popt, want)
                yield {"who": who, "problem": problem, "rows": n, "largest_difference": off, "ratio": ratio, **measured}


def cold(folder, size, model, start):
    """Seconds of a whole process: read two binary files, fit, print."""
    x, y = folder / f"{model}-{size}-x.npy", folder / f"{model}-{size}-y.npy"
    formula = {"exponential": "a*exp(-b*x)+c", "damped-sine": "a*exp(-b*x)*sin(w*x+p)+c"}[model]
    names = {"exponential": "abc", "damped-sine": "abwpc"}[model]
    p0 = ",".join(f"{n}={v}" for n, v in zip(names, start))
    command = [FITZROY, "curve-fit", "--model", formula, "--x", f"x={x.stem}", "--y", y.stem, "--p0", p0,
               "--threads", "1", x, y]
    return timed(lambda: subprocess.run(command, check=True, capture_output=True))[0]


def cold_rows(folder):
    """Whole processes, ours and the peers', beside the warm fit."""
    size = 1_000_000
    for model, (_, _, start) in CASES.items():
        own(folder, model, [size])
        yield {"who": "fitzroy-process", "problem": model, "rows": size, **cold(folder, size, model, start)}
    for who, measured in cold_peers(folder, size):
        yield {"who": who, "problem": "exponential", "rows": size, **measured}


def nist_rows(program):
    """NIST's 54 fits, formulas compiled each time."""
    # With the program, whose features the library then has, too.
    command = ["cargo", "bench", "--quiet", "-p", "fitzroy-curve-fit", "-p", "fitzroy-cli", "--bench", "nist"]
    command = [program] if program else command
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    yield {"who": "fitzroy", "problem": "nist", "rows": 54, **json.loads(done.stdout.splitlines()[-1])}


SCIPY_COLD = """
import sys
import numpy as np
from scipy.optimize import curve_fit
x, y = np.load(sys.argv[1]), np.load(sys.argv[2])
f = lambda x, a, b, c: a * np.exp(-b * x) + c
print(curve_fit(f, x, y, p0=(1.0, 1.0, 0.0))[0])
"""

NLSQ_COLD = """
import sys
import numpy as np
import jax.numpy as jnp
from nlsq import CurveFit
x, y = np.load(sys.argv[1]), np.load(sys.argv[2])
f = lambda x, a, b, c: a * jnp.exp(-b * x) + c
popt, _ = CurveFit().curve_fit(f, x, y, p0=(1.0, 1.0, 0.0))
print(popt)
"""


def cold_peers(folder, size):
    """The same process by peers: start, read, fit, print."""
    x, y = (folder / f"exponential-{size}-{axis}.npy" for axis in "xy")
    for who, module, text in [("scipy-process", "scipy", SCIPY_COLD), ("nlsq-process", "nlsq", NLSQ_COLD)]:
        try:
            __import__(module)
        except ImportError:
            continue
        command = [sys.executable, "-c", text, x, y]
        yield who, timed(lambda: subprocess.run(command, check=True, capture_output=True))[0]


def spot(p, x, y, np=np):
    a, x0, y0, s, c = p
    return a * np.exp(-((x - x0) ** 2 + (y - y0) ** 2) / (2 * s**2)) + c


SPOT_START = (8.0, 3.0, 3.0, 1.0, 1.0)


def scipy_spots(x, y, z):
    """SciPy one fit after the other, with its derivatives, on some of the spots."""
    from scipy.optimize import leastsq

    def jacobian(p, x, y, z):
        a, x0, y0, s, c = p
        u, v = x - x0, y - y0
        e = np.exp(-(u**2 + v**2) / (2 * s**2))
        return np.stack([e, a * e * u / s**2, a * e * v / s**2, a * e * (u**2 + v**2) / s**3, np.ones_like(e)], axis=1)

    residual = lambda p, x, y, z: spot(p, x, y) - z
    yield "scipy-leastsq-jacobian", 200, lambda: [
        leastsq(residual, SPOT_START, args=(x[k], y[k], z[k]), Dfun=jacobian)[0] for k in range(200)]


def lmfit_spots(x, y, z):
    import lmfit

    model = lmfit.Model(lambda x, y, a, x0, y0, s, c: spot((a, x0, y0, s, c), x, y), independent_vars=["x", "y"])
    params = model.make_params(**dict(zip(("a", "x0", "y0", "s", "c"), SPOT_START)))
    fit = lambda k: list(model.fit(z[k], params, x=x[k], y=y[k]).best_values.values())
    yield "lmfit-spots", 20, lambda: [fit(k) for k in range(20)]


def optimistix_spots(x, y, z):
    """All fits at once, by `vmap`."""
    import jax
    import jax.numpy as jnp
    import optimistix

    jax.config.update("jax_enable_x64", True)
    solver = optimistix.LevenbergMarquardt(rtol=1e-8, atol=1e-8)
    residual = lambda p, data: spot(p, data[0], data[1], np=jnp) - data[2]
    solve = lambda *data: optimistix.least_squares(residual, solver, jnp.asarray(SPOT_START), args=data, throw=False).value
    all_fits = jax.jit(jax.vmap(solve))
    data = [jnp.asarray(v) for v in (x, y, z)]
    yield "optimistix-vmap", len(z), lambda: np.asarray(all_fits(*data).block_until_ready())


def nlsq_spots(x, y, z):
    import jax.numpy as jnp
    from nlsq import CurveFit

    logging.disable(logging.WARNING)
    fitter = CurveFit()
    f = lambda xy, a, x0, y0, s, c: spot((a, x0, y0, s, c), xy[0], xy[1], np=jnp)

    def fit(k):
        popt, _ = fitter.curve_fit(f, np.stack([x[k], y[k]]), z[k], p0=SPOT_START)
        return np.asarray(popt)

    yield "nlsq-spots", 20, lambda: [fit(k) for k in range(20)]


def spots_rows(folder, seconds, rounds):
    """10,000 small fits, and peers on all or some of them."""
    spots = lambda: own(folder, "spots", [])[0]
    ours = spots()
    want = np.array([v for _, v in ours["popt"]])
    data = [np.load(folder / f"spots-{axis}.npy").reshape(-1, 49) for axis in "xyz"]
    peers, fits = [], {}
    for some in (scipy_spots, lmfit_spots, optimistix_spots, nlsq_spots):
        try:
            for who, n, run in some(*data):
                peers.append((who, run, True))
                fits[who] = n
        except ImportError:
            continue
    ours, found = alternating(spots, peers, seconds, rounds, lambda row: row.get("fits", 1) / row["median_s"])
    yield {**ours, "fits_per_second": ours["fits"] / ours["median_s"]}
    for who, measured, ratio, popt in found:
        off = np.max(np.abs((np.asarray(popt[0]) - want) / want))
        assert off < 1e-4, (who, popt[0], want)
        n = fits[who]
        yield {"who": who, "problem": "spots", "rows": ours["rows"], "fits": n, "fits_per_second": n / measured["median_s"],
               "ratio": ratio / n, "largest_difference": off, **measured}


# Peer, problem, rows, least ratio to ours.
GOALS = [
    ("scipy-lm", "exponential", 1_000, 25), ("nlsq-curvefit", "exponential", 1_000, 300),
    ("scipy-lm", "damped-sine", 1_000, 25), ("nlsq-curvefit", "damped-sine", 1_000, 300),
    ("scipy-lm", "exponential", 1_000_000, 100), ("optimistix-lm", "exponential", 1_000_000, 100),
    ("nlsq-curvefit", "exponential", 1_000_000, 200), ("scipy-lm", "damped-sine", 1_000_000, 100),
    ("optimistix-lm", "damped-sine", 1_000_000, 60), ("nlsq-curvefit", "damped-sine", 1_000_000, 150),
    ("scipy-lm", "exponential", 10_000_000, 150), ("scipy-lm", "damped-sine", 10_000_000, 150),
]
WHO = {
    "scipy-lm": "SciPy lm", "scipy-lm-jacobian": "lm, Jacobian", "scipy-trf": "trf", "scipy-trf-jacobian": "trf, Jacobian",
    "lmfit": "lmfit", "optimistix-lm": "Optimistix", "nlsq-curvefit": "NLSQ CurveFit",
}


SPOTS = {
    "fitzroy": "Fitzroy, in lanes", "scipy-leastsq-jacobian": "SciPy leastsq, Jacobian, a loop", "lmfit-spots": "lmfit, a loop",
    "optimistix-vmap": "Optimistix, `vmap`", "nlsq-spots": "NLSQ CurveFit, a loop",
}


def goals(rows):
    """Each goal beside what was measured; nothing where it was not."""
    def row(who, problem, n):
        found = [r for r in rows if r["who"] == who and r["problem"] == problem and r["rows"] == n]
        return found[0] if found else {}

    out = []
    for who, problem, n, least in GOALS:
        ratio = row(who, problem, n).get("ratio")
        out.append({"what": f"{WHO[who]}, {problem}, {n:,} rows", "goal": f">= {least} x", "value": ratio,
                    "reached": None if ratio is None else ratio >= least})
    process = row("fitzroy-process", "exponential", 1_000_000).get("median_s")
    for who, least in (("scipy", 20), ("nlsq", 50)):
        theirs = row(f"{who}-process", "exponential", 1_000_000).get("median_s")
        if process and theirs:
            out.append({"what": f"{who} as a whole process, 1,000,000 rows", "goal": f">= {least} x", "value": theirs / process,
                        "reached": theirs / process >= least})
    absolute = [
        ("whole process, 1,000,000 rows, ms", process and 1e3 * process, 50),
        ("NIST's 54 fits, ms", 1e3 * row("fitzroy", "nist", 54).get("median_s", 0) or None, 50),
    ]
    for what, value, most in absolute:
        if value:
            out.append({"what": what, "goal": f"<= {most}", "value": value, "reached": value <= most})
    rate = row("fitzroy", "spots", 490_000).get("fits_per_second")
    if rate:
        out.append({"what": "small fits of 49 rows and 5 parameters, a second", "goal": ">= 1,000,000", "value": rate,
                    "reached": rate >= 1e6})
    return out


def digits(x):
    return f"{x:,.0f}" if x >= 100 else f"{x:.3g}"


def milliseconds(x):
    return "" if x is None else digits(1e3 * x)


def table(document):
    """Milliseconds of ours, and how many times as long peers take; then the goals."""
    rows = document["rows"]
    who = [w for w in WHO if any(r["who"] == w for r in rows)]
    lines = ["| problem | rows | Fitzroy, ms | " + " | ".join(WHO[w] for w in who) + " |", "|---|" + "---:|" * (len(who) + 2)]
    for problem in CASES:
        for n in SIZES:
            found = {r["who"]: r for r in rows if r["problem"] == problem and r["rows"] == n}
            if "fitzroy" in found:
                cells = [f"{digits(found[w]['ratio'])} ×" if w in found else "" for w in who]
                lines.append(f"| {problem} | {n:,} | {milliseconds(found['fitzroy']['median_s'])} | " + " | ".join(cells) + " |")
    spots = [r for r in rows if r["problem"] == "spots"]
    if spots:
        lines += ["", "| 10,000 fits of 49 rows, 5 parameters | fits a second | ratio |", "|---|---:|---:|"]
        for r in sorted(spots, key=lambda r: -r["fits_per_second"]):
            ratio = f"{digits(r['ratio'])} ×" if "ratio" in r else ""
            lines.append(f"| {SPOTS.get(r['who'], r['who'])} | {digits(r['fits_per_second'])} | {ratio} |")
    lines += ["", "| goal | asked | measured | reached |", "|---|---:|---:|---|"]
    for goal in goals(rows):
        if goal["value"] is not None:
            lines.append(f"| {goal['what']} | {goal['goal']} | {digits(goal['value'])} | {'yes' if goal['reached'] else 'no'} |")
    machine = document["machine"]
    lines += ["", f"Fitzroy on one thread, peers as they like; ratios are medians over turns in which both were measured. {machine['cpu']}, "
              f"{machine['cores']} cores; {document['date']}, commit {document['commit']}"
              + "".join(f"; {name} {v}" for name, v in document["versions"].items()) + "."]
    return "\n".join(lines)


def render(document):
    path = ROOT / "COMPARE.md"
    begin, end = "<!-- curve-fit:begin -->", "<!-- curve-fit:end -->"
    text = path.read_text()
    before, rest = text.split(begin)
    path.write_text(f"{before}{begin}\n{table(document)}\n{end}{rest.split(end)[1]}")


def blank():
    cpu = [l.split(":", 1)[1].strip() for l in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if l.startswith("model name")]
    return {"what": "curve-fit", "machine": {"cpu": cpu[0] if cpu else platform.processor(), "cores": os.cpu_count()},
            "threads": {"fitzroy": 1, "peers": "all"}, "versions": {}, "missing": [], "goals": [], "rows": []}


def main():
    global FITZROY
    parser = argparse.ArgumentParser()
    parser.add_argument("--into", type=pathlib.Path, required=True, help="the results, added to if they exist")
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--problems", default=",".join(CASES))
    parser.add_argument("--rows", help="by default 1,000 to 1 million, and 10 million for SciPy's lm")
    parser.add_argument("--seconds", type=float, default=2.0, help="least seconds of repeats of each peer")
    parser.add_argument("--rounds", type=int, default=3, help="turns of ours and the peers (default 3)")
    parser.add_argument("--quick", action="store_true", help="1,000 and 100,000 rows, 0.3 seconds: a trial")
    parser.add_argument("--render", action="store_true", help="measure nothing, write the tables")
    parser.add_argument("--program", type=pathlib.Path, default=FITZROY, help="the binary, by default the release build")
    parser.add_argument("--nist", type=pathlib.Path, help="the program of the part nist, by default built by cargo bench")
    args = parser.parse_args()
    FITZROY = args.program.resolve()
    document = json.loads(args.into.read_text()) if args.into.exists() else blank()
    if args.render:
        return render(document)
    problems, seconds = args.problems.split(","), 0.3 if args.quick else args.seconds

    def sizes(part):
        if args.rows:
            return [int(n) for n in args.rows.split(",")]
        return QUICK if args.quick else [n for n in SIZES if n <= MOST.get(part, 1_000_000)]

    git = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    document.update(commit=git, date=datetime.date.today().isoformat())
    for name in ("numpy", "scipy", "lmfit", "optimistix", "nlsq", "jax"):
        try:
            document["versions"][name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            pass

    def save():
        document["goals"] = goals(document["rows"])
        args.into.write_text(json.dumps(document, indent=1) + "\n")

    for part in args.parts.split(","):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            try:
                found = {"cold": lambda: cold_rows(folder), "spots": lambda: spots_rows(folder, seconds, args.rounds), "nist": lambda: nist_rows(args.nist)}
                rows = found[part]() if part in found else peer_rows(part, folder, problems, sizes(part), seconds, args.rounds)
                for row in rows:
                    row = dict(row, load=os.getloadavg()[0])
                    key = lambda r: (r["who"], r["problem"], r["rows"])
                    document["rows"] = [r for r in document["rows"] if key(r) != key(row)] + [row]
                    # At once: what was measured is kept when a later peer fails.
                    save()
                    ratio = f"{row['ratio']:8.1f} x" if "ratio" in row else ""
                    print(f"{row['who']:20} {row['problem']:12} {row['rows']:>10} {1e3 * row['median_s']:11.3f} ms {ratio}", flush=True)
            except ImportError as error:
                document["missing"] = sorted({*document["missing"], f"{part}: {error}"})
                save()


if __name__ == "__main__":
    main()
