"""One curve over several data sets, with parameters of each: against SciPy."""

import pickle

import numpy as np
import pytest

import fitzroy as fz

pytestmark = pytest.mark.once
optimize = pytest.importorskip("scipy.optimize")

CURVE = "a[set]*exp(-b*x) + c"
SETS = ("u", "v", "w")


def _data(seed=1, n=40, sets=SETS):
    rng = np.random.default_rng(seed)
    x = np.tile(np.linspace(0, 4, n), len(sets))
    at = np.repeat(np.arange(len(sets)), n)
    heights = rng.uniform(1, 5, size=len(sets))
    y = heights[at] * np.exp(-1.2 * x) + 0.3 + 0.05 * rng.normal(size=x.size)
    order = rng.permutation(x.size)
    return x[order], np.array(sets)[at][order], y[order]


def _of_scipy(x, labels, y, sets):
    at = np.array([sets.index(label) for label in labels])

    def residuals(p):
        return p[at] * np.exp(-p[-2] * x) + p[-1] - y

    start = np.r_[np.ones(len(sets)), 1.0, 0.0]
    found = optimize.least_squares(residuals, start, x_scale="jac", xtol=1e-12, ftol=1e-12)
    reduced = 2 * found.cost / (x.size - start.size)
    return found.x, reduced * np.linalg.inv(found.jac.T @ found.jac)


@pytest.mark.parametrize("seed", range(5))
def test_a_global_fit_is_that_of_scipy(seed):
    sets = [f"set {k}" for k in range(2 + seed)]
    x, labels, y = _data(seed, sets=sets)
    made = fz.CurveFit(CURVE).fit({"x": x, "set": labels}, y)
    want, pcov = _of_scipy(x, labels, y, sets)
    names = [*(f"a[{name}]" for name in sets), "b", "c"]
    assert made.converged and set(made.names) == set(names)
    order = [made.names.index(name) for name in names]
    np.testing.assert_allclose(made.popt[order], want, rtol=1e-5)
    np.testing.assert_allclose(made.pcov[np.ix_(order, order)], pcov, rtol=1e-3, atol=1e-9)
    # At other points, of some of the sets, in another order.
    new = {"x": np.array([0.5, 1.0, 2.0]), "set": [sets[1], sets[0], sets[1]]}
    for again in (made, pickle.loads(pickle.dumps(made))):
        at = [1, 0, 1]
        value = want[at] * np.exp(-want[-2] * new["x"]) + want[-1]
        np.testing.assert_allclose(again.predict(new).value, value, rtol=1e-5)
    with pytest.raises(ValueError, match="'elsewhere' was not fitted"):
        made.predict({"x": [1.0], "set": ["elsewhere"]})


def test_labels_may_be_of_any_kind():
    pd = pytest.importorskip("pandas")
    x, labels, y = _data()
    want = fz.CurveFit(CURVE).fit({"x": x, "set": labels}, y)
    number = np.array([SETS.index(label) + 7 for label in labels])
    kinds = [
        ("u", pd.DataFrame({"x": x, "set": labels})),
        ("u", pd.DataFrame({"x": x, "set": pd.Categorical(labels)})),
        ("u", {"x": x, "set": labels.tolist()}),
        ("7", {"x": x, "set": number}),
        ("7", {"x": x, "set": number.astype(float)}),
    ]
    for first, given in kinds:
        made = fz.CurveFit(CURVE).fit(given, y)
        assert made.params[f"a[{first}]"] == pytest.approx(want.params["a[u]"], rel=1e-6)
    gaps = y.copy()
    gaps[3] = np.nan
    left = fz.CurveFit(CURVE).fit({"x": x, "set": labels}, gaps, nan_policy="omit")
    assert left.n == y.size - 1


def test_parameters_of_a_set_have_starts_bounds_and_values():
    x, labels, y = _data()
    curve, given = fz.CurveFit(CURVE), {"x": x, "set": labels}
    want = curve.fit(given, y)
    held = curve.fit(given, y, fixed={"a[u]": want.params["a[u]"]})
    assert held.params["b"] == pytest.approx(want.params["b"], rel=1e-6)
    bounds = {"a[v]": (0, 100)}
    started = curve.fit(given, y, p0={name: 1.0 for name in want.names}, bounds=bounds)
    np.testing.assert_allclose(started.popt, want.popt, rtol=1e-5)
    assert curve.names(given) == want.names
    with pytest.raises(ValueError, match="set"):
        fz.CurveFit("a*set*exp(-b*x)").fit(given, y)
