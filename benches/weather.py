"""Training steps of Fitzroy beside JAX and PyTorch, one after the other on this machine.

    python benches/weather.py --python PYTHON [--seconds 10] [--json benches/results/DATE-weather.json]

Asserts first that all follow the same losses from the same parameters and data; ends with 1 where they do not.
On a busy machine `--latents`, `--libraries` and `--forms` cut it into parts, each beside Fitzroy's own steps in
the same run; `--append` adds their rows to the file.
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
    parser.add_argument("--forms", default="plain,projected", help="of the peers' first edge layer")
    parser.add_argument("--scaling", default="1,4", help="batches of one thread beside two; nothing for none")
    parser.add_argument("--json", help="write everything here")
    parser.add_argument("--append", action="store_true", help="keep the rows that are there")
    args = parser.parse_args()
    rows, machine, agree = [], None, True
    for latent in map(int, filter(None, args.latents.split(","))):
        for library in args.libraries.split(","):
            for form in args.forms.split(","):
                own = ours(latent, 4, args.threads, args.preset)
                machine = {"cpu": own["cpu"], "simd": own["simd"], "threads": args.threads}
                found = peer(args.python, library, latent, args.seconds, args.threads, form == "projected")
                apart = max(abs(a / b - 1) for a, b in zip(own["losses"], found["losses"]))
                if apart > 1e-4:
                    print(f"{library} {form}: losses differ by {apart:.1e}, more than 1e-4", file=sys.stderr)
                    agree = False
                    continue
                ratio = found["median_step_s"] / own["median_step_s"]
                row = {"latent": latent, "form": form, "ratio": ratio, "losses_apart": apart}
                rows.append({**row, "fitzroy": own, library: found})
                print(
                    f"latent {latent}: fitzroy {1e3 * own['median_step_s']:.1f} ms, {library} {found['version']}"
                    f" {form} {1e3 * found['median_step_s']:.1f} ms: {ratio:.2f}x; first step"
                    f" {own['first_step_s']:.2f} and {found['first_step_s']:.2f} s",
                    flush=True,
                )
    for batch in map(int, filter(None, args.scaling.split(","))):
        one, two = ours(64, batch, 1, args.preset), ours(64, batch, 2, args.preset)
        machine = machine or {"cpu": one["cpu"], "simd": one["simd"], "threads": args.threads}
        ratio = one["median_step_s"] / two["median_step_s"]
        rows.append({"latent": 64, "batch": batch, "one_to_two_threads": ratio, "one": one, "two": two})
        print(f"batch {batch}, 1 to 2 threads: {ratio:.2f}x", flush=True)
    if args.json and rows:
        commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
        path = Path(args.json)
        if args.append and path.exists():
            rows = json.loads(path.read_text())["rows"] + rows
        date = datetime.date.today().isoformat()
        document = {"date": date, "commit": commit, "machine": machine, "rows": rows}
        path.write_text(json.dumps(document, indent=1) + "\n")
    sys.exit(0 if agree else 1)


if __name__ == "__main__":
    main()
