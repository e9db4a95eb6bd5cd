"""Fits the problems of `fitzroy bench curve-fit` with other programs, in the same run.

    python benches/curve_fit.py [--preset quick|standard|publication] [--peers scipy,lmfit,optimistix,nlsq]
                                  [--peer-rows 1000,1000000] [--seconds 2] [--what NAME]

Runs the release binary on one thread, then every peer that can be imported on the very same data,
asserts that parameters agree to 1e-4 relative (peers stop at their own tolerances), and writes
benches/results/DATE-NAME.json with machine, commit and the table of goals: ratios of medians, peer to
ours, in the same run. Peers may use all cores. Let nothing else run meanwhile.
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


def timed(run, seconds=2.0, most=51):
    """Median, least and greatest seconds of warm runs, and the last answer."""
    answer = run()
    all_ = []
    while not all_ or (sum(all_) < seconds and len(all_) < most):
        start = time.perf_counter()
        answer = run()
        all_.append(time.perf_counter() - start)
    return {"median_s": statistics.median(all_), "min_s": min(all_), "max_s": max(all_), "repeats": len(all_)}, answer


def scipy_peers():
    from scipy.optimize import curve_fit

    for method in ("lm", "trf"):
        for analytic in (False, True):
            def fit(f, jac, p0, x, y, method=method, analytic=analytic):
                return curve_fit(f, x, y, p0=p0, method=method, jac=jac if analytic else None)[0]

            yield f"scipy-{method}" + ("-jacobian" if analytic else ""), lambda case, x, y, fit=fit: (
                lambda: fit(*case, x, y)
            )


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

    def make(case, x, y):
        f, _, p0 = case
        fitter = CurveFit()
        g = {3: lambda x, a, b, c: f(x, a, b, c, np=jnp),
             5: lambda x, a, b, w, p, c: f(x, a, b, w, p, c, np=jnp)}[len(p0)]
        return lambda: np.asarray(fitter.curve_fit(g, x, y, p0=p0)[0])

    yield "nlsq-curvefit", make


PEERS = {"scipy": scipy_peers, "lmfit": lmfit_peers, "optimistix": optimistix_peers, "nlsq": nlsq_peers}


def cold(folder, size, model, start):
    """Seconds of a whole process: read two binary files, fit, print."""
    x, y = folder / f"{model}-{size}-x.npy", folder / f"{model}-{size}-y.npy"
    formula = {"exponential": "a*exp(-b*x)+c", "damped-sine": "a*exp(-b*x)*sin(w*x+p)+c"}[model]
    names = {"exponential": "abc", "damped-sine": "abwpc"}[model]
    p0 = ",".join(f"{n}={v}" for n, v in zip(names, start))
    command = [FITZROY, "curve-fit", "--model", formula, "--x", f"x={x.stem}", "--y", y.stem, "--p0", p0,
               "--threads", "1", "--quiet", x, y]
    measured, _ = timed(lambda: subprocess.run(command, check=True, capture_output=True))
    return measured


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
print(CurveFit().curve_fit(f, x, y, p0=(1.0, 1.0, 0.0))[0])
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


def batch_peers(folder, fits=200):
    """SciPy one fit after the other, on some of the spots."""
    from scipy.optimize import leastsq

    x, y, z = (np.load(folder / f"spots-{axis}.npy").reshape(-1, 49)[:fits] for axis in "xyz")

    def residual(p, x, y, z):
        a, x0, y0, s, c = p
        return a * np.exp(-((x - x0) ** 2 + (y - y0) ** 2) / (2 * s**2)) + c - z

    def jacobian(p, x, y, z):
        a, x0, y0, s, c = p
        u, v = x - x0, y - y0
        e = np.exp(-(u**2 + v**2) / (2 * s**2))
        return np.stack([e, a * e * u / s**2, a * e * v / s**2, a * e * (u**2 + v**2) / s**3, np.ones_like(e)], axis=1)

    def all_fits():
        return [leastsq(residual, (8.0, 3.0, 3.0, 1.0, 1.0), args=(x[k], y[k], z[k]), Dfun=jacobian)[0] for k in range(fits)]

    measured, popt = timed(all_fits)
    return {"fits": fits, "fits_per_second": fits / measured["median_s"], "first": list(popt[0]), **measured}


# Peer, problem, rows, least ratio to ours.
GOALS = [
    ("scipy-lm", "exponential", 1_000_000, 100), ("optimistix-lm", "exponential", 1_000_000, 100),
    ("nlsq-curvefit", "exponential", 1_000_000, 200), ("scipy-lm", "damped-sine", 1_000_000, 100),
    ("optimistix-lm", "damped-sine", 1_000_000, 60), ("nlsq-curvefit", "damped-sine", 1_000_000, 150),
    ("scipy-lm", "exponential", 10_000_000, 150), ("scipy-lm", "damped-sine", 10_000_000, 150),
    ("scipy-lm", "exponential", 1_000, 25), ("nlsq-curvefit", "exponential", 1_000, 300),
    ("scipy-process", "exponential", 1_000_000, 20), ("nlsq-process", "exponential", 1_000_000, 50),
]


def goals(rows):
    """Each goal beside what was measured; nothing where it was not."""
    def median(who, problem, n):
        found = [r["median_s"] for r in rows if r["who"] == who and r["problem"] == problem and r["rows"] == n]
        return found[0] if found else None

    out = []
    for who, problem, n, least in GOALS:
        own = "fitzroy-process" if who.endswith("-process") else "fitzroy"
        ours, theirs = median(own, problem, n), median(who, problem, n)
        ratio = theirs / ours if ours and theirs else None
        out.append({"peer": who, "problem": problem, "rows": n, "goal": least, "ratio": ratio,
                    "reached": None if ratio is None else ratio >= least})
    spots = [r for r in rows if r["problem"] == "spots"]
    ours = [r["fits_per_second"] for r in spots if r["who"] == "fitzroy"]
    if ours:
        out.append({"what": "small fits a second and core", "goal": 1e6, "value": ours[0], "reached": ours[0] >= 1e6})
    process = median("fitzroy-process", "exponential", 1_000_000)
    if process:
        out.append({"what": "cold process, 1,000,000 rows, seconds", "goal": 0.05, "value": process, "reached": process <= 0.05})
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--preset", default="standard")
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--what", default="curve-fit")
    parser.add_argument("--seconds", type=float, default=2.0, help="least seconds of repeats of each peer")
    parser.add_argument("--peer-rows", default="", help="sizes the peers fit, by default all")
    args = parser.parse_args()
    peer_rows = {int(n) for n in args.peer_rows.split(",") if n}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        load = os.getloadavg()
        command = [FITZROY, "bench", "curve-fit", "--preset", args.preset, "--threads", "1", "--json", "--write-data", name]
        ours = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        rows = [dict(r, who="fitzroy") for r in ours["rows"]]
        missing = []
        for family in args.peers.split(","):
            try:
                peers = list(PEERS[family]())
            except ImportError as error:
                missing.append(f"{family}: {error}")
                continue
            for who, make in peers:
                for row in ours["rows"]:
                    case = CASES.get(row["problem"])
                    if case is None or (peer_rows and row["rows"] not in peer_rows):
                        continue
                    stem = f"{row['problem']}-{row['rows']}"
                    x, y = np.load(folder / f"{stem}-x.npy"), np.load(folder / f"{stem}-y.npy")
                    measured, popt = timed(make(case, x, y), args.seconds)
                    want = np.array([v for _, v in row["popt"]])
                    off = np.max(np.abs((np.asarray(popt) - want) / want))
                    # Peers stop at their own tolerances, and optimistix at 1e-8 of the cost.
                    assert off < 1e-4, (who, stem, popt, want)
                    rows.append({"who": who, "problem": row["problem"], "rows": row["rows"], "largest_difference": off,
                                 "ratio": measured["median_s"] / row["median_s"], **measured})
                    print(f"{who:18} {stem:22} {1e3 * measured['median_s']:10.3f} ms  {rows[-1]['ratio']:8.1f} x  "
                          f"off {off:.1e}", flush=True)
        sizes = [r["rows"] for r in ours["rows"] if r["problem"] in CASES]
        largest = min(max(sizes), 1_000_000)
        for model, (_, _, start) in CASES.items():
            rows.append({"who": "fitzroy-process", "problem": model, "rows": largest, **cold(folder, largest, model, start)})
        for who, measured in cold_peers(folder, largest):
            rows.append({"who": who, "problem": "exponential", "rows": largest, **measured})
        rows.append({"who": "scipy-leastsq-jacobian", "problem": "spots", "rows": 490_000, **batch_peers(folder)})
    git = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    cpu = [l.split(":", 1)[1].strip() for l in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if l.startswith("model name")]
    document = {"what": args.what, "commit": git, "date": datetime.date.today().isoformat(), "load_before": load,
                "machine": {"cpu": cpu[0] if cpu else platform.processor(), "cores": os.cpu_count()},
                "threads": {"fitzroy": 1, "peers": "all"}, "missing": missing, "goals": goals(rows), "rows": rows}
    path = HERE / "results" / f"{document['date']}-{args.what}.json"
    path.write_text(json.dumps(document, indent=1) + "\n")
    for goal in document["goals"]:
        print(goal)
    print(path)


if __name__ == "__main__":
    main()
