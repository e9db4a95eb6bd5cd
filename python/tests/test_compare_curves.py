"""Curves that are compared and averaged, beside NumPy and SciPy, and beside the program."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

import fitzroy as fz

scipy = pytest.importorskip("scipy")
from scipy.optimize import curve_fit  # noqa: E402
from scipy.stats import norm, t  # noqa: E402


def decay(x, a, b):
    return a * np.exp(-b * x)


def raised(x, a, b, c):
    return a * np.exp(-b * x) + c


def line(x, a, b):
    return a + b * x


CURVES = {"decay": decay, "raised": raised, "line": line}
FORMULAS = {"decay": "a*exp(-b*x)", "raised": "a*exp(-b*x) + c", "line": "a + b*x"}
START = {"decay": [1, 0.5], "raised": [1, 0.5, 0.1], "line": [1, 0]}


def problem(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(12, 40))
    x = np.sort(rng.uniform(0, 4, n))
    truth = raised(x, rng.uniform(1, 3), rng.uniform(0.3, 1), rng.uniform(0, 0.3))
    sigma = rng.uniform(0.1, 0.3, n)
    return x, truth + sigma * rng.normal(size=n), sigma


def by_numpy(x, y, sigma, absolute, by, at):
    """Weights, average, its error, and the ends of its interval."""
    n = len(x)
    criteria, values, squares, quantiles = [], [], [], []
    for name, f in CURVES.items():
        popt, pcov = curve_fit(
            f, x, y, START[name], sigma, absolute, maxfev=20000, ftol=1e-14, xtol=1e-14, gtol=1e-14
        )
        r, p = (f(x, *popt) - y) / sigma, len(popt)
        chi2, k = r @ r, p + (not absolute)
        scale = np.ones(n) if absolute else np.full(n, chi2 / n)
        deviance = -2 * norm.logpdf(r * sigma, scale=sigma * np.sqrt(scale)).sum()
        slopes = np.stack(
            [(f(x, *(popt + h)) - f(x, *(popt - h))) / 2e-6 for h in 1e-6 * np.eye(p)], axis=1
        )
        if by == "loo":
            own = slopes / sigma[:, None]
            left = 1 - np.einsum("ij,jk,ik->i", own, np.linalg.inv(own.T @ own), own)
            variance = 1.0 if absolute else (chi2 - r**2 / left) / (n - p - 1)
            spread = sigma * np.sqrt(variance)
            criteria.append(-2 * norm.logpdf(r / left * sigma, scale=spread).sum())
        elif by == "bic":
            criteria.append(deviance + k * np.log(n))
        else:
            criteria.append(deviance + 2 * k + 2 * k * (k + 1) / (n - k - 1))
        there = np.stack(
            [(f(at, *(popt + h)) - f(at, *(popt - h))) / 2e-6 for h in 1e-6 * np.eye(p)], axis=1
        )
        values.append(f(at, *popt))
        squares.append(np.einsum("ij,jk,ik->i", there, pcov, there))
        quantiles.append(norm.ppf(0.975) if absolute else t.ppf(0.975, n - p))
    weights = np.exp(-0.5 * (np.array(criteria) - min(criteria)))
    weights /= weights.sum()
    value = weights @ np.array(values)
    between = weights @ (np.array(values) - value) ** 2
    se = np.sqrt(weights @ np.array(squares) + between)
    wide = weights @ (np.array(quantiles)[:, None] ** 2 * np.array(squares))
    half = np.sqrt(wide + norm.ppf(0.975) ** 2 * between)
    return dict(zip(CURVES, weights)), value, se, value - half, value + half


@pytest.mark.parametrize("by", ["aicc", "bic", "loo"])
@pytest.mark.parametrize("absolute", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_weights_and_averages_are_those_of_numpy(seed, absolute, by):
    x, y, sigma = problem(seed)
    at = np.linspace(0, 5, 9)
    weights, value, se, lower, upper = by_numpy(x, y, sigma, absolute, by, at)
    for curves in (CURVES, FORMULAS):
        found = fz.compare_curves(curves, x, y, sigma, absolute_sigma=absolute)
        own = dict(zip(found.names, found.weights(by)))
        for name, weight in weights.items():
            assert own[name] == pytest.approx(weight, abs=1e-6)
        average = found.predict(at, by)
        np.testing.assert_allclose(average.value, value, rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(average.se, se, rtol=1e-4)
        np.testing.assert_allclose(average.lower, lower, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(average.upper, upper, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("by", ["aicc", "bic", "loo"])
def test_the_program_says_the_same(tmp_path, by):
    x, y, sigma = problem(7)
    table = np.column_stack([x, y, sigma])
    np.savetxt(tmp_path / "data.csv", table, delimiter=",", header="x,y,s", comments="")
    np.savetxt(tmp_path / "at.csv", np.linspace(0, 5, 6), header="x", comments="")
    first, *others = FORMULAS.values()
    flags = [word for other in others for word in ("--compare", other)]
    flags += ["--y", "y", "--sigma", "s", "--average", by, "--predict", str(tmp_path / "at.csv")]
    out = str(tmp_path / "out")
    command = ["curve-fit", "--model", first, str(tmp_path / "data.csv"), *flags]
    command = [sys.executable, "-m", "fitzroy", *command, "--json", "--out", out]
    said = json.loads(subprocess.check_output(command, text=True))["comparison"]
    found = fz.compare_curves(list(FORMULAS.values()), x, y, sigma)
    average = found.predict(np.linspace(0, 5, 6), by)
    assert [r["model"] for r in said["ranked"]] == found.names
    key = "weight" if by == "aicc" else f"weight_{by}"
    np.testing.assert_allclose([r[key] for r in said["ranked"]], found.weights(by), atol=1e-8)
    for name in ("value", "se", "between", "lower", "upper"):
        np.testing.assert_allclose(said["averaged"][name], getattr(average, name), rtol=1e-6)
    written = np.genfromtxt(tmp_path / "out" / "averaged.csv", delimiter=",", names=True)
    np.testing.assert_allclose(written["se"], average.se, rtol=1e-6)
    assert "average" in (tmp_path / "out" / "averaged.svg").read_text()


def test_what_cannot_be_compared_is_refused():
    x, y, _ = problem(1)
    with pytest.raises(ValueError, match="at least one other"):
        fz.compare_curves([decay], x, y)
    with pytest.raises(ValueError, match="a robust loss is none"):
        fz.compare_curves([decay, line], x, y, loss="huber")
    found = fz.compare_curves([decay, line], x, y)
    with pytest.raises(ValueError, match="by='dic' is not known"):
        found.predict(x, by="dic")


def test_it_is_shown():
    x, y, sigma = problem(2)
    found = fz.compare_curves(CURVES, x, y, sigma)
    assert repr(found).splitlines()[0].split() == "parameters chi2 AICc BIC LOO weight".split()
    assert "<table>" in found._repr_html_()
    assert sorted(found.to_dataframe().index) == sorted(CURVES)
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    assert found.plot().get_legend() is not None
