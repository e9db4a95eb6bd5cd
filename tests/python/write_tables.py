"""Writes tables by NumPy, pandas and h5py into a folder, and the columns that they hold as JSON."""

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd

folder = Path(sys.argv[1])
rng = np.random.default_rng(20261126)
expected = {}


def expect(name, frame):
    numbers = lambda column: [None if pd.isna(x) else float(x) for x in column]
    labels = lambda column: [str(x) for x in column]
    is_number = pd.api.types.is_numeric_dtype
    expected[name] = {
        str(key): numbers(frame[key]) if is_number(frame[key]) else labels(frame[key]) for key in frame.columns
    }


def frame(k):
    n = int(rng.integers(3, 40))
    columns = {}
    for j in range(int(rng.integers(2, 6))):
        x = np.round(rng.normal(0, 10.0 ** rng.integers(-3, 5), n), int(rng.integers(1, 3)))
        x[0] = 0.25
        if rng.random() < 0.3:
            x[1 + int(rng.integers(n - 1))] = np.nan
        columns[["t", "größe", "p value", "U/mV", "count"][j]] = x
    if rng.random() < 0.4:
        columns["group"] = rng.choice(["left", "right", "Öl; Wasser", 'a "b"'], n)
    return pd.DataFrame(columns)


for k in range(60):
    df = frame(k)
    sep, decimal = [(",", "."), (";", ","), (";", "."), ("\t", ","), ("\t", "."), ("|", ".")][k % 6]
    name = f"pandas{k}" + (".csv" if k % 2 else ".txt") + ["", ".gz", ""][k % 3]
    encoding = ["utf-8", "utf-8-sig", "utf-16", "cp1252"][k % 4]
    na = ["", "NA", "NaN", "<NA>"][k % 4]
    index = bool(k % 5 == 0)
    df.to_csv(folder / name, sep=sep, decimal=decimal, index=index, encoding=encoding, na_rep=na)
    expect(name, df)

for k in range(20):
    columns = int(rng.integers(2, 6))
    x = rng.normal(size=(int(rng.integers(3, 30)), columns))
    names = [f"c{j}" for j in range(columns)]
    name = f"numpy{k}.{'dat' if k % 2 else 'txt'}"
    fmt = ["%.18e", "%.17g", "%.4f", "%12.5f"][k % 4]
    x = np.array([[float(fmt % v) for v in row] for row in x])
    sep = [" ", ",", "\t"][k % 3]
    header = sep.join(names) if k % 4 else ""
    np.savetxt(folder / name, x, fmt=fmt, delimiter=sep, header=header)
    if not header:
        names = ["x", "y"] if columns == 2 else [f"col{j + 1}" for j in range(columns)]
    expect(name, pd.DataFrame(x, columns=names))

df = pd.DataFrame({"x": [1.5, 2.5, 3.5], "n": [1, 2, 3]})
df.to_string(folder / "printed.txt")
expect("printed.txt", df)
(folder / "expected.json").write_text(json.dumps(expected))

try:
    import h5py
except ImportError:
    sys.exit(0)
with h5py.File(folder / "groups.h5", "w") as f:
    f["run1/time"] = np.array([0.0, 1.0, 2.0])
    f["run1/signal"] = np.array([3, 1, 2])
expected["groups.h5"] = {"run1/signal": [3.0, 1.0, 2.0], "run1/time": [0.0, 1.0, 2.0]}
(folder / "expected.json").write_text(json.dumps(expected))
