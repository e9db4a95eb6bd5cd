"""Times one curve fit by SciPy and lmfit, for `fitzroy bench curve-fit --model`.

Reads one JSON document from standard input, and writes one to standard output.
"""

import json
import statistics
import sys
import time

import numpy as np


def measured(run, repeats):
    """What a run gives, and the seconds of some runs after a first."""
    result = run()
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return result, seconds


def main():
    asked = json.load(sys.stdin)
    from scipy import optimize, special

    columns = {name: np.array(values) for name, values in asked["columns"].items()}
    y = np.array(asked["y"])
    sigma = None if asked["sigma"] is None else np.array(asked["sigma"])
    names, start = asked["parameters"], asked["start"]
    low, high = (np.array(ends, dtype=float) for ends in asked["bounds"])
    body = "".join(f"    {name} = {value}\n" for name, value in asked["lets"])
    text = f"def curve(columns, {', '.join(names)}):\n"
    text += "".join(f"    {name} = columns[{name!r}]\n" for name in columns)
    text += f"{body}    return {asked['value']} + 0*columns[{next(iter(columns))!r}]\n"
    space = {"np": np, "special": special}
    exec(text, space)
    curve = space["curve"]
    bounded = bool(np.isfinite(low).any() or np.isfinite(high).any())
    weights = 1.0 if sigma is None else 1.0 / sigma

    def chi2(theta):
        return float(np.sum(((curve(columns, *theta) - y) * weights) ** 2))

    def scipy_fit(tight):
        more = {"xtol": 1e-12, "ftol": 1e-12, "gtol": 1e-12} if tight else {}
        limits = {"bounds": (low, high)} if bounded else {}
        return optimize.curve_fit(
            lambda _, *theta: curve(columns, *theta), None, y, start, sigma=sigma, **limits, **more
        )[0]

    rows = []

    def add(name, run):
        try:
            theta, seconds = measured(run, asked["repeats"])
        except Exception as error:  # noqa: BLE001 - whatever the peer says is the result
            rows.append({"peer": name, "error": f"{type(error).__name__}: {error}"})
            return
        rows.append(
            {
                "peer": name,
                "median_s": statistics.median(seconds),
                "min_s": min(seconds),
                "max_s": max(seconds),
                "chi2": chi2(theta),
                "popt": [float(v) for v in theta],
            }
        )

    import scipy

    add(f"SciPy {scipy.__version__} curve_fit", lambda: scipy_fit(False))
    add(f"SciPy {scipy.__version__} curve_fit, 1e-12", lambda: scipy_fit(True))
    try:
        import lmfit
    except ImportError:
        pass
    else:
        parameters = lmfit.Parameters()
        for name, value, a, b in zip(names, start, low, high):
            parameters.add(name, value=value, min=a, max=b)

        def residual(given):
            theta = [given[name].value for name in names]
            return (curve(columns, *theta) - y) * weights

        def lmfit_fit():
            found = lmfit.minimize(residual, parameters)
            return [found.params[name].value for name in names]

        add(f"lmfit {lmfit.__version__} minimize", lmfit_fit)
    json.dump({"rows": rows, "start_chi2": chi2(start)}, sys.stdout)


if __name__ == "__main__":
    main()
