"""The summary of a large trace by Fitzroy and by ArviZ, from the same file in the same run.

    python benches/diagnostics.py [--variables 1000] [--repeats 5] [--out benches/results/NAME.json]

Makes 4 chains of 1,000 draws of so many variables (autoregressive, of many strengths), saves them
as NetCDF, and times: `fitzroy diagnose FILE --json` as a whole process, reading and printing
included; and `arviz.summary` of the same file, already read into memory, after a first call that is
not counted. Asserts before that R-hat, both ESS and the MCSE agree to 1e-8.

Run it with each line of ArviZ; nothing else should run on the machine.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

import arviz as az
import numpy as np
import xarray as xr

warnings.simplefilter("ignore")
ROOT = Path(__file__).resolve().parent.parent
CHAINS, DRAWS = 4, 1000


def trace(variables):
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
    return xr.DataTree.from_dict({"posterior": posterior})


def summary(tree):
    if az.__version__.startswith("0."):
        data = az.InferenceData(posterior=tree["posterior"].to_dataset())
        return az.summary(data, round_to="none")
    return az.summary(tree, round_to="none")


def clocked(repeats, work):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return times, result


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--variables", type=int, default=1000)
    options.add_argument("--repeats", type=int, default=5)
    options.add_argument("--threads", type=int, default=2)
    options.add_argument("--out")
    options = options.parse_args()
    tail = "classic" if az.__version__.startswith("0.") else "arviz1"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "trace.nc"
        trace(options.variables).to_netcdf(file, engine="h5netcdf")
        command = [str(ROOT / "target/release/fitzroy"), "diagnose", str(file), "--json"]
        command += ["--ess-tail", tail, "--threads", str(options.threads)]
        run = lambda: subprocess.run(command, capture_output=True, check=True).stdout
        ours = json.loads(run())["summary"]
        tree = xr.open_datatree(file, engine="h5netcdf").load()
        theirs = summary(tree)
        for name in ["r_hat", "ess_bulk", "ess_tail", "mcse_mean", "mcse_sd"]:
            a = np.array([row[name] for row in ours])
            b = theirs[name].to_numpy(dtype=float)
            assert np.allclose(a, b, rtol=1e-8, atol=0), (name, np.abs(a / b - 1).max())
        own, _ = clocked(options.repeats, run)
        peer, _ = clocked(options.repeats, lambda: summary(tree))
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    result = {
        "what": f"summary of {CHAINS} x {DRAWS} draws of {options.variables} variables",
        "machine": {"processor": processor(), "cores": os.cpu_count(), "load": os.getloadavg()},
        "commit": commit.stdout.strip(),
        "versions": {"arviz": az.__version__, "numpy": np.__version__, "python": platform.python_version()},
        "threads": options.threads,
        "fitzroy_s": {"median": statistics.median(own), "all": own},
        "arviz_s": {"median": statistics.median(peer), "all": peer},
        "ratio": statistics.median(peer) / statistics.median(own),
    }
    text = json.dumps(result, indent=1)
    print(text)
    if options.out:
        Path(options.out).write_text(text + "\n")


def processor():
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


if __name__ == "__main__":
    main()
