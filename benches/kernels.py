"""What NVIDIA's compiler makes of our kernels, without a GPU; the table in docs/gpu.md.

    python benches/kernels.py --nvrtc FOLDER [--into FILE]    # compiles all, and writes FILE
    python benches/kernels.py --into FILE --render            # writes the tables of FILE into the docs
    python benches/kernels.py --into FILE --check             # exit code 1 where the docs differ

Every kernel of the compile gate (tests/kernel_compile.rs) is compiled for every architecture, one
after the other. Registers, stack, spilled bytes and instructions are those of the code; seconds are
of this machine's processor. The tables stand between `<!-- kernels:begin -->` and `<!-- kernels:end -->`.
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

from run import HERE, ROOT, machine, output

PAGE = ROOT / "docs" / "gpu.md"
BEGIN, END = "<!-- kernels:begin -->", "<!-- kernels:end -->"
CARDS = {70: "V100", 75: "T4, RTX 20", 80: "A100", 86: "A40, A6000, RTX 30", 89: "L4, L40S, RTX 40", 90: "H100, H200",
         100: "B200", 120: "RTX 50, RTX PRO"}
SHOWN = {"eight-schools": "eight schools", "hierarchical": "100 groups of 10, rewritten",
         "hierarchical-whole": "the same with all 103 parameters", "artists": "artists, rewritten",
         "artists-whole": "the same with all 113 parameters", "slopes": "correlated slopes",
         "all-stop-signal": "a stop-signal task", "all-reals": "18 likelihoods of real numbers at once",
         "operations": "every operation (`fitzroy verify`)"}


def measure(options, path):
    with tempfile.TemporaryDirectory() as folder:
        found = pathlib.Path(folder) / "kernels.json"
        wanted = {"FITZROY_NVRTC": str(pathlib.Path(options.nvrtc).resolve()), "FITZROY_REQUIRE_NVRTC": "1",
                  "FITZROY_ALL_ARCHS": "1", "FITZROY_KERNELS": str(found)}
        subprocess.run(["cargo", "test", "--release", "--test", "kernel_compile", "every_kernel"], cwd=ROOT, check=True,
                       env=os.environ | wanted)
        document = {"date": datetime.date.today().isoformat(), "machine": machine(),
                    "commit": output("git", "rev-parse", "HEAD")} | json.loads(found.read_text())
    path.write_text(json.dumps(document, indent=1) + "\n")
    return document


def span(numbers):
    low, high = min(numbers), max(numbers)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def table(document):
    rows = document["kernels"]
    lines = [f"NVRTC {document['nvrtc']}, compiled one after the other on {document['machine']['cpu']}; {document['date']}, commit "
             f"{document['commit'][:10]}. {len(rows)} kernels, of which {sum(r['spill_bytes'] > 0 for r in rows)} spill registers.",
             "", "| architecture | GPUs | kernels | registers | instructions | seconds to compile, median (most) |",
             "|---|---|---:|---:|---:|---:|"]
    for arch in sorted({r["arch"] for r in rows}):
        of = [r for r in rows if r["arch"] == arch]
        seconds = [r["compile_s"] for r in of]
        lines.append(f"| sm_{arch} | {CARDS[arch]} | {len(of)} | {span([r['registers'] for r in of])} | "
                     f"{span([r['instructions'] for r in of])} | {statistics.median(seconds):.2f} ({max(seconds):.1f}) |")
    lines += ["", "Some of them for an H100 or H200 (sm_90), in f64:", "",
              "| kernel | threads | registers | stack, bytes | spilled, bytes | instructions | seconds to compile |",
              "|---|---:|---:|---:|---:|---:|---:|"]
    for name, label in SHOWN.items():
        of = [r for r in rows if (r["kernel"], r["arch"], r["precision"]) == (name, 90, "f64")]
        lines += [f"| {label} | {r['team']:,} | {r['registers']} | {r['stack_bytes']} | {r['spill_bytes']} | "
                  f"{r['instructions']:,} | {r['compile_s']:.2f} |" for r in sorted(of, key=lambda r: r["team"])]
    return "\n".join(lines)


def main():
    today = datetime.date.today().isoformat()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nvrtc", help="libnvrtc.so.12 or its folder")
    parser.add_argument("--into", default=str(HERE / "results" / f"{today}-kernels.json"))
    parser.add_argument("--render", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    path = pathlib.Path(options.into)
    if options.render or options.check:
        document = json.loads(path.read_text())
    elif options.nvrtc:
        document = measure(options, path)
    else:
        parser.error("--nvrtc names the compiler, --render and --check need none")
    text = PAGE.read_text()
    before, rest = text.split(BEGIN)
    made = f"{before}{BEGIN}\n{table(document)}\n{END}{rest.split(END)[1]}"
    if options.check:
        sys.exit(made != text)
    PAGE.write_text(made)


if __name__ == "__main__":
    main()
