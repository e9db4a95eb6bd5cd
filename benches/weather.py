"""Training steps of Fitzroy beside JAX and PyTorch, one after the other on this machine.

    python benches/weather.py --python PYTHON [--seconds 10] [--json benches/results/DATE-weather.json]

Asserts first that all follow the same losses from the same parameters and data.
"""

import argparse
import datetime
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def ours(latent, batch, threads, preset):
    program = os.environ.get("FITZROY", str(ROOT / "target/release/fitzroy"))
    command = [program, "bench", "weather", "--json", "--latent-size", str(latent), "--batch-size", str(batch)]
    command += ["--threads", str(threads), "--preset", preset]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def peer(python, library, latent, seconds, threads, projected):
    command = [python, str(ROOT / "benches/peers/weather.py"), library, "--latent", str(latent)]
    command += ["--seconds", str(seconds), *(["--projected"] if projected else [])]
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "CUDA_VISIBLE_DEVICES": ""}
    out = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
    return json.loads(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, help="interpreter with jax and torch")
    parser.add_argument("--libraries", default="jax,torch")
    parser.add_argument("--latents", default="64,128")
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--preset", default="standard")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--json", help="write everything here")
    args = parser.parse_args()
    rows = []
    for latent in map(int, args.latents.split(",")):
        own = ours(latent, 4, args.threads, args.preset)
        rows.append({"who": "fitzroy", "latent": latent, **own})
        for library in args.libraries.split(","):
            for projected in (False, True):
                found = peer(args.python, library, latent, args.seconds, args.threads, projected)
                for step, (a, b) in enumerate(zip(own["losses"], found["losses"])):
                    assert abs(a / b - 1) < 1e-4, f"{library}, step {step}: {a} and {b}"
                rows.append({"who": library, "latent": latent, **found})
                print(
                    f"latent {latent}: fitzroy {1e3 * own['median_step_s']:.1f} ms, {library} {found['version']}"
                    f"{' projected' if projected else ''} {1e3 * found['median_step_s']:.1f} ms:"
                    f" {found['median_step_s'] / own['median_step_s']:.2f}x; first step"
                    f" {own['first_step_s']:.2f} and {found['first_step_s']:.2f} s",
                    flush=True,
                )
    for batch in (1, 4):
        one, two = ours(64, batch, 1, args.preset), ours(64, batch, 2, args.preset)
        rows += [{"who": "fitzroy", "scaling": True, "latent": 64, **row} for row in (one, two)]
        print(f"batch {batch}, 1 to 2 threads: {one['median_step_s'] / two['median_step_s']:.2f}x", flush=True)
    if args.json:
        commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
        machine = {"cpu": rows[0]["cpu"], "simd": rows[0]["simd"], "threads": args.threads}
        date = datetime.date.today().isoformat()
        document = {"date": date, "commit": commit, "machine": machine, "rows": rows}
        Path(args.json).write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
