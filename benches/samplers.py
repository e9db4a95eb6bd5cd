"""The samplers of Fitzroy beside each other; their table in docs/samplers.md.

    python benches/samplers.py [--parts a,b] [--into FILE]    # measures, and adds to FILE
    python benches/samplers.py --into FILE --render           # writes the table of FILE into the docs

Measures every sampler with `fitzroy bench`, which refuses wrong answers, on problems with all
rewrites and without. The table stands between `<!-- samplers:begin -->` and `<!-- samplers:end -->`.
Let nothing else run meanwhile.
"""

import argparse
import datetime
import json
import pathlib
import subprocess

from run import FITZROY, HERE, ROOT, load, machine

SAMPLERS = "nuts,walnuts,mams,chees,independence"
# part: what `fitzroy bench` is asked for, and runs of each
MEASURED = {
    "groups": (["hierarchical", "--only", "groups-100", "--rewrites", "auto", "--samplers", SAMPLERS], 3),
    "groups-off": (["hierarchical", "--only", "groups-100", "--rewrites", "off", "--samplers", SAMPLERS], 1),
    "artists": (["sample", "--preset", "standard", "--rewrites", "both", "--samplers", SAMPLERS], 2),
    "schools": (["hierarchical", "--only", "eight-schools", "--rewrites", "both", "--samplers", SAMPLERS], 3),
    "logistic": (["hierarchical", "--only", "logistic", "--rewrites", "auto", "--samplers", SAMPLERS], 1),
    "funnel": (["hierarchical", "--only", "funnel", "--rewrites", "auto", "--samplers", "nuts,walnuts,mams,chees"], 3),
}
PAGE = ROOT / "docs" / "samplers.md"
BEGIN, END = "<!-- samplers:begin -->", "<!-- samplers:end -->"
LABELS = {("groups-100", "auto"): "100 × 10 groups, rewritten", ("groups-100", "off"): "100 × 10 groups, as written",
          ("artists", "auto"): "artists, rewritten", ("artists", "off"): "artists, as written",
          ("eight-schools", "auto"): "eight schools, rewritten", ("eight-schools", "off"): "eight schools, as written",
          ("logistic", "auto"): "logistic, 10,000 × 25", ("funnel", "auto"): "Neal's funnel, as it is"}


def measure(options, document):
    for part in options.parts.split(","):
        flags, repeats = MEASURED[part]
        command = [FITZROY, "bench", *flags, "--repeats", str(repeats), "--json"]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        found = json.loads(done.stdout)
        document |= {k: found[k] for k in ("device", "version", "commit", "seed", "threads")}
        for row in found["rows"]:
            row["repeats"] = len(row.pop("runs"))
        document["parts"][part] = found["rows"]
        document["load"].append(load())


def number(x):
    return f"{x:,.0f}" if x >= 100 else f"{x:.3g}"


def table(document):
    lines = [f"{document['device']['name']}, {document['machine']['cores']} cores; {document['date']}, commit "
             f"{document['commit'][:10]}; medians of 1 to 3 runs.", "",
             "| problem | sampler | ESS per 1,000 gradients | ESS/s, chains | ESS/s, to the disk | ESS | R-hat | divergences |",
             "|---|---|---:|---:|---:|---:|---:|---:|"]
    rows = [row for part in MEASURED for row in document["parts"].get(part, [])]
    for row in rows:
        def of(key, row=row):
            return row[key]["median"]
        mark = "" if row["converged"] else " †"
        lines.append(f"| {LABELS[row['problem'], row['rewrites']]} | `{row['sampler']}` | {number(1e3 * of('ess_bulk_per_gradient'))}{mark} | "
                     f"{number(of('ess_bulk_per_chains_s'))} | {number(of('ess_bulk_per_written_s'))} | {number(of('min_ess_bulk'))} | "
                     f"{of('max_rhat'):.3f} | {of('divergences'):.0f} |")
    return "\n".join([*lines, "", "† not converged in every run: an R-hat of 1.01 or more, no more than 400 effective draws, or divergences. "
                      "ESS is the smallest bulk ESS of all recorded variables; gradients are those of the warm-up, too."])


def main():
    today = datetime.date.today().isoformat()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default=",".join(MEASURED))
    parser.add_argument("--into", default=str(HERE / "results" / f"{today}-samplers.json"))
    parser.add_argument("--render", action="store_true")
    options = parser.parse_args()
    path = pathlib.Path(options.into)
    document = {"date": today, "machine": machine(), "load": [], "parts": {}}
    if path.exists():
        document = json.loads(path.read_text())
    if not options.render:
        measure(options, document)
        path.write_text(json.dumps(document, indent=1) + "\n")
    text = PAGE.read_text()
    before, rest = text.split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{table(document)}\n{END}{rest.split(END)[1]}")


if __name__ == "__main__":
    main()
