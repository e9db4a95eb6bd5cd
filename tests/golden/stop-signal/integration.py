"""Writes integration.csv: trials, and integration.json: their SSRT by the integration method.

The reference is NumPy's quantile, method "weibull", which is Hyndman and Fan's sixth and R's type 6.

    python3 integration.py
"""

import json
import pathlib

import numpy as np

here = pathlib.Path(__file__).parent
rng = np.random.default_rng(20191)
lines, expected = ["subject,stimulus,response,rt,ssd"], {}
for k, (n_go, n_stop, omit, respond) in enumerate(
    [(60, 20, 0.0, 0.5), (45, 12, 0.2, 0.4), (31, 9, 0.1, 0.7), (50, 10, 0.0, 0.0), (20, 40, 0.5, 0.95)]
):
    name = f"c{k}"
    go = np.round(0.3 + rng.gamma(3, 0.08, n_go), 4)
    missed = rng.random(n_go) < omit
    stimulus = rng.integers(0, 2, n_go)
    right = rng.random(n_go) < 0.9
    for i in range(n_go):
        key = 0 if missed[i] else 1 + (stimulus[i] if right[i] else 1 - stimulus[i])
        lines.append(f"{name},{stimulus[i]},{key},{'' if missed[i] else go[i]},")
    ssd = np.round(rng.integers(1, 9, n_stop) * 0.05, 2)
    answered = rng.random(n_stop) < respond
    for i in range(n_stop):
        rt = np.round(0.3 + rng.gamma(2, 0.08), 4) if answered[i] else ""
        lines.append(f"{name},0,{1 if answered[i] else 0},{rt},{ssd[i]}")
    p = answered.mean()
    if p in (0.0, 1.0):
        expected[name] = None
        continue
    full = np.where(missed, go[~missed].max(), go)
    nth = np.quantile(full, p, method="weibull")
    expected[name] = {"p_respond": p, "mean_ssd": ssd.mean(), "nth_rt": nth, "ssrt": nth - ssd.mean()}

(here / "integration.csv").write_text("\n".join(lines) + "\n")
(here / "integration.json").write_text(json.dumps(expected, indent=1) + "\n")
