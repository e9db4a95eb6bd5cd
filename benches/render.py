"""Writes the measured tables into README.md and COMPARE.md.

    python benches/render.py benches/results/FILE.json           # between the two marks of each file
    python benches/render.py benches/results/FILE.json --check   # exit code 1 where a file differs
    python benches/render.py benches/results/FILE.json --print   # both tables, no file touched

The marks are `<!-- measured:begin -->` and `<!-- measured:end -->`; what stands between them is
never edited by hand.
"""

import argparse
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- measured:begin -->", "<!-- measured:end -->"
WHO = {"fitzroy": "Fitzroy", "nutpie": "nutpie", "nutpie-low-rank": "nutpie, low rank", "numpyro": "NumPyro", "pymc": "PyMC"}
MODELS = {"eight-schools": "eight schools", "hierarchical": "100 × 10 hierarchical"}
GRADIENTS = {
    "eight-schools": "eight schools, 10 parameters",
    "artists": "artists 1000 × 10, 113 parameters",
    "logistic": "logistic 10,000 × 25, 25 parameters",
    "hierarchical-noncentred": "100 × 10 hierarchical, 103 parameters",
    "hierarchical-centred": "the same, centred",
    "mixture": "20,000-row mixture, 613 parameters",
}


def number(x):
    """Two digits, or three where there are more than two before the point."""
    if x >= 100:
        digits = len(str(int(x)))
        return f"{round(x, 3 - digits):,.0f}"
    return f"{x:.2g}" if x < 10 else f"{x:.0f}"


def median(entry):
    return entry["median"]


def place(document):
    machine = document["machine"]
    peers = document.get("versions", {})
    names = ", ".join(f"{n} {peers[n]}" for n in ("nutpie", "numpyro", "jax") if n in peers)
    level = {"Avx512": "AVX-512", "Avx2": "AVX2", "Scalar": "scalar"}[machine.get("simd", "Scalar")]
    changed = " with changes" if document["changed"] else ""
    return (f"{machine['cpu']}, {machine['cores']} cores, {level}; {document['date']}, commit "
            f"{document['commit'][:10]}{changed}" + (f"; {names}" if names else ""))


def best(document, model, who, key):
    """The median of the better of the two spellings of a model."""
    rates = [median(by[who][key]) for problem, by in document["sampling"].items()
             if problem.rsplit("-", 1)[0] == model and who in by]
    return max(rates)


def people(document):
    any_problem = next(iter(document["sampling"].values()))
    return [who for who in WHO if who in any_problem]


def readme(document):
    who = people(document)
    lines = ["| effective draws a second | " + " | ".join(WHO[w] for w in who) + " |", "|---|" + "---:|" * len(who)]
    models = {p.rsplit("-", 1)[0] for p in document["sampling"]}
    for model in [m for m in MODELS if m in models]:
        for key, text in (("ess_bulk_per_sampling_s", "while sampling"), ("ess_bulk_per_process_s", "whole process")):
            cells = " | ".join(number(best(document, model, w, key)) for w in who)
            lines.append(f"| {MODELS[model]}, {text} | {cells} |")
    speed = []
    for problem, by in document["gradients"].items():
        if "jax" in by:
            own, jax = by["fitzroy"]["wall_us"], by["jax"]
            speed.append(f"{GRADIENTS[problem]}: {number(median(own))} µs (JAX {number(median(jax['call_us']))} µs a call, "
                         f"{number(median(jax['in_loop_us']))} µs in a compiled loop)")
    v, first = document["validate"], document["first_draw"].values()
    start = max(median(f["shortest_process_s"]) for f in first)
    lines += ["", f"Value and gradient on one thread, {'; '.join(speed)}. `fitzroy validate`: {median(v['process_s']):.1f} s, "
              f"{number(v['peak_mib']['max'])} MiB. From the start of the program to the first draw: at most {number(1e3 * start)} ms.",
              "", "Smallest bulk ESS of all variables; 4 chains of 1000 + 1000, warm-up counted; each program in the better of two "
              f"spellings of the model. {place(document)}. [COMPARE.md](COMPARE.md#measured) has all of it, "
              "[benches](benches/README.md) repeats it."]
    return "\n".join(lines)


def spread(entry, scale=1.0):
    return f"{number(scale * median(entry))} ({number(scale * entry['min'])}–{number(scale * entry['max'])})"


def compare(document):
    lines = [f"{place(document)}. Load average {document['load_before'][0]:.1f} before and {document['load_after'][0]:.1f} after. "
             "Medians, with the smallest and largest.", ""]
    lines += ["| model and spelling | program | ESS/s, sampling | ESS/s, process | process, s | R-hat | divergences | error |",
              "|---|---|---:|---:|---:|---:|---:|---:|"]
    for problem, by in document["sampling"].items():
        for who, s in by.items():
            lines.append(f"| {problem} | {WHO[who]} | {spread(s['ess_bulk_per_sampling_s'])} | {spread(s['ess_bulk_per_process_s'])} | "
                         f"{median(s['process_s']):.2f} | {median(s['max_rhat']):.3f} | {median(s['divergences']):.0f} | {s['max_abs_z']['max']:.1f} |")
    settings = document["settings"]
    lines += ["", f"{settings['chains']} chains of {settings['tune']} + {settings['draws']}, target acceptance {settings['target_accept']}, "
              f"{settings['repeats']} seeds for Fitzroy and {settings['peer_repeats']} for the others. ESS is the smallest bulk ESS over all recorded "
              "variables, sampling includes the warm-up, the process everything from its start: for Fitzroy diagnosis and files too, for the others "
              "imports and compiling with filled caches, not their summary. The error is the largest one of a posterior mean in Monte Carlo standard "
              "errors, over all seeds.", ""]
    lines += ["| value and gradient, one thread | Fitzroy, µs | of processor | JAX, one call, µs | ratio | JAX, in a compiled loop, µs | ratio |",
              "|---|---:|---:|---:|---:|---:|---:|"]
    for problem, by in document["gradients"].items():
        own, jax = by["fitzroy"], by.get("jax")
        cells = [spread(own["wall_us"]), number(median(own["cpu_us"]))]
        for key in ("call_us", "in_loop_us"):
            cells += [spread(jax[key]), f"{median(jax[key]) / median(own['wall_us']):.1f}"] if jax else ["", ""]
        lines.append(f"| {GRADIENTS[problem]} | " + " | ".join(cells) + " |")
    v = document["validate"]
    lines += ["", f"`fitzroy validate`: {spread(v['process_s'])} s, at most {number(v['peak_mib']['max'])} MiB.", "",
              "| seconds from the start of the program | a whole run without warm-up | the first draw after 1000 of warm-up |", "|---|---:|---:|"]
    for problem, f in document["first_draw"].items():
        lines.append(f"| {problem} | {spread(f['shortest_process_s'])} | {spread(f['after_warmup_s'])} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--print", action="store_true", dest="show")
    options = parser.parse_args()
    document, stale = json.loads(pathlib.Path(options.file).read_text()), []
    for name, block in (("README.md", readme(document)), ("COMPARE.md", compare(document))):
        if options.show:
            print(f"{name}\n\n{block}\n")
            continue
        path = ROOT / name
        text = path.read_text() if path.exists() else ""
        if BEGIN not in text or END not in text:
            print(f"{name}: no marks {BEGIN} and {END}", file=sys.stderr)
            stale.append(name)
            continue
        head, rest = text.split(BEGIN, 1)
        new = f"{head}{BEGIN}\n{block}\n{END}{rest.split(END, 1)[1]}"
        if new != text:
            stale.append(name)
            if not options.check:
                path.write_text(new)
    if options.check and stale:
        print(f"differs from {options.file}: {', '.join(stale)}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
