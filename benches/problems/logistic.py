"""Data of the logistic benchmark: 10,000 rows of 25 columns and a binary outcome.

    python benches/problems/logistic.py FILE.json    # writes x and y
    python benches/problems/logistic.py --checksum   # prints the checksum only

Uniforms from SplitMix64, normals by Box and Muller, as in `mixture.py`. Column entries are
rounded to whole multiples of 1e-3, which hides the last bits of the elementary functions; the
checksum is over these integers and the outcomes.
"""

import json
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from mixture import MASK, SplitMix64, checksum

N_ROWS, N_COLUMNS, SEED = 10_000, 25, 10_025
TRUTH = [((7 * k) % 11 - 5) / 10 for k in range(N_COLUMNS)]


def generate():
    """Entries in units of 1e-3, row by row, and the outcome of each row."""
    rng = SplitMix64(SEED)
    ticks, outcomes = [], []
    for _ in range(N_ROWS):
        row = [math.floor(rng.normal() * 1e3 + 0.5) for _ in range(N_COLUMNS)]
        eta = 0.0
        for t, b in zip(row, TRUTH, strict=True):
            eta += t / 1e3 * b
        ticks += row
        outcomes.append(int(rng.uniform() < 1.0 / (1.0 + math.exp(-eta))))
    return ticks, outcomes


def rows():
    """The columns, row by row, and the outcomes."""
    ticks, outcomes = generate()
    x = [t / 1e3 for t in ticks]
    return [x[i * N_COLUMNS:(i + 1) * N_COLUMNS] for i in range(N_ROWS)], outcomes


if __name__ == "__main__":
    integers = generate()
    if sys.argv[1:] != ["--checksum"]:
        x, y = rows()
        pathlib.Path(sys.argv[1]).write_text(json.dumps({"y": y, "x": x}) + "\n")
    print(checksum([t & MASK for t in integers[0]] + integers[1]))
