"""Residuals that are called: their calls, counted, and where fits of them end, against SciPy's."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

scipy_optimize = pytest.importorskip("scipy.optimize")

import fitzroy as fz  # noqa: E402
from fitzroy import _fitzroy  # noqa: E402
from fitzroy.curves import called, differences  # noqa: E402

pytestmark = pytest.mark.once


def untraced(p):
    """Numbers that no trace goes through."""
    return np.frombuffer(np.asarray(p, dtype=float).tobytes())


class Counted:
    """A function, with the number of its calls with numbers."""

    def __init__(self, function):
        self.function, self.calls = function, 0

    def __call__(self, p):
        value = self.function(untraced(p))
        self.calls += 1
        return value


def curve(rng):
    """Residuals of a curve with noise of their own, perhaps, the exact ones, and a start."""
    x = np.linspace(0.1, 5, int(rng.integers(25, 120)))
    kind = rng.choice(["peaks", "decays", "resonance", "hill", "sine"])
    if kind == "peaks":
        k = int(rng.integers(1, 4))
        truth = np.ravel(
            [[rng.uniform(1, 4), 1 + 1.4 * i, rng.uniform(0.2, 0.6)] for i in range(k)]
        )
        f = lambda p: sum(
            p[3 * i] * np.exp(-0.5 * ((x - p[3 * i + 1]) / p[3 * i + 2]) ** 2) for i in range(k)
        )
    elif kind == "decays":
        truth = np.array([2.0, rng.uniform(0.3, 0.6), 1.5, rng.uniform(2, 4), 0.2])
        f = lambda p: p[0] * np.exp(-p[1] * x) + p[2] * np.exp(-p[3] * x) + p[4]
    elif kind == "resonance":
        width = 10.0 ** -rng.uniform(1, 7)
        at = 5e9 * (1 + width * (2 * x - 5))
        truth = np.array([5e9 * (1 + 0.2 * width * rng.normal()), 1 / width, 2.0])
        f = lambda p: np.abs(p[2] / (1 + 2j * p[1] * (at - p[0]) / p[0]))
    elif kind == "hill":
        truth = np.array([rng.uniform(2, 5), rng.uniform(1, 3), rng.uniform(1, 3), 0.5])
        f = lambda p: p[3] + p[0] * x ** p[1] / (p[2] ** p[1] + x ** p[1])
    else:
        truth = np.array([rng.uniform(1, 3), rng.uniform(1, 4), rng.uniform(0, 1), 0.5])
        f = lambda p: p[0] * np.sin(p[1] * x + p[2]) + p[3]
    size = np.std(f(truth)) + 0.1
    y = f(truth) + 10.0 ** -rng.uniform(1, 3) * size * rng.normal(size=x.size)
    exact = lambda p: f(p) - y
    start = truth * rng.uniform(0.97, 1.03, truth.size)
    if kind == "resonance":
        return exact, exact, truth * [1 + 0.2 * width, 0.8, 0.9]
    grain = size * 10.0 ** -rng.uniform(5, 8) if rng.random() < 0.4 else 0.0
    return (lambda p: np.round(exact(p) / grain) * grain) if grain else exact, exact, start


@pytest.mark.parametrize("seed", range(60))
def test_a_called_function_ends_at_scipys_minimum_in_few_calls(seed):
    """Calls are those of central differences, at the places that a fit goes on from: 2p + 1 for
    each, four more at the end. Catches: a second look by a whole Jacobian, slopes at places that
    are refused, and an end that is made twice."""
    rng = np.random.default_rng([seed, 1])
    residuals, exact, start = curve(rng)
    ours = Counted(residuals)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        got = fz.least_squares(ours, start)
        best = scipy_optimize.least_squares(
            exact, got.x, "3-point", x_scale="jac", ftol=1e-14, xtol=1e-14, gtol=1e-14
        )
    assert got.success, got.message
    spread = 2 * best.cost / exact(start).size
    assert 2 * (0.5 * np.sum(exact(got.x) ** 2) - best.cost) < 2e-3 * spread
    if residuals is exact:
        p = start.size
        searches = 14 * p + 2 * p * (got.njev // 3)  # steps that are looked for
        assert ours.calls <= got.nfev + 2 * p * got.njev + 6 + searches


def test_calls_are_at_most_some_more_than_scipys():
    """Twice as many for slopes on both sides, and no more than that by much."""
    ours = theirs = 0
    for seed in range(30):
        residuals, exact, start = curve(np.random.default_rng([seed, 2]))
        if residuals is not exact or np.max(start) > 1e6:
            continue
        one, other = Counted(residuals), Counted(residuals)
        assert fz.least_squares(one, start).success
        scipy_optimize.least_squares(other, start)
        ours, theirs = ours + one.calls, theirs + other.calls
    assert ours < 2.6 * theirs, (ours, theirs)


@pytest.mark.parametrize("seed", range(12))
def test_steps_are_those_of_the_librarys_own_differences(seed):
    """The library makes a Jacobian where a fit begins, and where it ends: here both are one."""
    rng = np.random.default_rng([seed, 3])
    residuals, _, start = curve(rng)
    lower, upper = np.full(start.size, -np.inf), np.full(start.size, np.inf)
    if seed % 3 == 0:
        lower[0], upper[-1] = start[0], start[-1] + 1e-7 * abs(start[-1])
    own, other = Counted(residuals), Counted(residuals)
    here = residuals(start)
    more = {"method": "lm", "xtol": 0.0, "ftol": 0.0, "gtol": 0.0, "max_evaluations": 1}
    with np.errstate(all="ignore"):
        bounds = lower.tolist(), upper.tolist()
        want = _fitzroy.least_squares(other, None, here.size, start.tolist(), *bounds, **more)
        layout = differences.Layout(None, start.size)
        steps = differences.Steps(own, lower, upper, layout)
        steps.jacobian(start, here)
        got = steps.jacobian(start, here)
    scale = np.max(np.abs(want["jacobian"]), axis=0)
    np.testing.assert_allclose(got / scale, want["jacobian"] / scale, atol=1e-8)
    assert own.calls + 2 == other.calls


@pytest.mark.parametrize("seed", range(20))
def test_columns_that_share_no_row_are_made_together(seed):
    rng = np.random.default_rng([seed, 4])
    n, p = int(rng.integers(5, 60)), int(rng.integers(2, 40))
    pattern = rng.random((n, p)) < rng.uniform(0.02, 0.3)
    rows = [np.flatnonzero(column) for column in pattern.T]
    layout = differences.Layout(rows, p)
    groups = layout.groups
    assert sorted(k for group in groups for k in group.columns) == list(range(p))
    for group in groups:
        assert np.max(np.sum(pattern[:, group.columns], axis=1)) <= 1
    weights = np.where(pattern, rng.normal(size=(n, p)), 0.0)
    function = Counted(lambda theta: weights @ np.sin(theta) + (weights @ theta) ** 2)
    theta = rng.normal(size=p)
    here = function(theta)
    lower, upper = np.full(p, -np.inf), np.full(p, np.inf)
    got = differences.Steps(function, lower, upper, layout).jacobian(theta, here)
    assert function.calls <= 1 + 14 * len(groups)
    want = weights * np.cos(theta) + 2 * (weights @ theta)[:, None] * weights
    np.testing.assert_allclose(got, want, atol=1e-7)
    fixed = differences.differences(
        function, theta, here, 1e-6 * differences.sizes(theta), lower, upper, layout
    )
    np.testing.assert_allclose(fixed, want, atol=1e-6)


def chained(rng):
    """Residuals of blocks of parameters, each of which shares some with the next; the pattern, and
    a start."""
    blocks, own = int(rng.integers(3, 12)), int(rng.integers(2, 4))
    p = blocks * own
    x = np.linspace(0, 2, int(rng.integers(6, 15)))
    truth = rng.uniform(0.5, 2, p)
    pattern = np.zeros((blocks * x.size, p), dtype=int)
    for b in range(blocks):
        columns = np.arange(b * own, min(b * own + own + 1, p))
        pattern[b * x.size : (b + 1) * x.size, columns] = 1

    def values(theta):
        out = np.empty((blocks, x.size))
        for b in range(blocks):
            part = theta[b * own : b * own + own + 1]
            out[b] = part[0] * np.exp(-part[1] * x) + sum(
                (i + 2) * np.sin(q * x) for i, q in enumerate(part[2:])
            )
        return out.ravel()

    y = values(truth) + 0.05 * rng.normal(size=blocks * x.size)
    return lambda theta: values(theta) - y, pattern, truth * rng.uniform(0.97, 1.03, p)


@pytest.mark.parametrize("seed", range(15))
def test_a_sparse_fit_is_that_of_scipy_in_calls_that_do_not_grow(seed):
    rng = np.random.default_rng([seed, 5])
    residuals, pattern, start = chained(rng)
    sparse = pytest.importorskip("scipy.sparse")
    form = [np.asarray, np.ndarray.tolist, sparse.lil_matrix, sparse.coo_array][seed % 4]
    more = {"jac_sparsity": form(pattern)}
    if seed % 2:
        more["bounds"] = (start - 0.4, start + 0.4)
    if seed % 5 == 0:
        more.update(loss="soft_l1", f_scale=0.1)
    ours = Counted(residuals)
    got = fz.least_squares(ours, start, **more)
    want = scipy_optimize.least_squares(residuals, start, **more)
    assert got.success and got.cost <= want.cost * (1 + 1e-9)
    assert got.njev <= got.nfev <= ours.calls < 25 * (got.njev + 1) + got.nfev
    assert not np.any(got.jac[pattern == 0])
    # The same without the pattern.
    dense = fz.least_squares(residuals, start, **{k: more[k] for k in more if k != "jac_sparsity"})
    np.testing.assert_allclose(got.x, dense.x, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(got.jac, dense.jac, atol=1e-5 * np.max(np.abs(dense.jac)))


def test_narrow_lines_that_are_fitted_together_have_steps_of_their_own():
    """Catches: one step for all columns of a group. It is right for some, and wider than others."""
    rng = np.random.default_rng(6)
    widths = np.array([1e-2, 1e-4, 1e-6, 1e-7])
    u = np.linspace(-5, 5, 80)
    values = lambda p: np.ravel(
        [
            np.abs(a / (1 + 2j * q * (5e9 * (1 + w * u) - f) / f))
            for w, (f, q, a) in zip(widths, p.reshape(-1, 3))
        ]
    )
    truth = np.ravel([[5e9, 1 / w, 2.0] for w in widths])
    y = values(truth) + 0.02 * rng.normal(size=u.size * widths.size)
    start = np.ravel([[5e9 * (1 + 0.3 * w), 0.7 / w, 1.5] for w in widths])
    pattern = np.kron(np.eye(widths.size), np.ones((u.size, 3)))
    got = fz.least_squares(lambda p: values(untraced(p)) - y, start, jac_sparsity=pattern)
    assert got.success and 2 * got.cost < 1.2 * 0.02**2 * y.size
    for k in range(widths.size):
        rows = slice(k * u.size, (k + 1) * u.size)
        line = lambda p, k=k, rows=rows: (
            values(np.concatenate([truth[: 3 * k], untraced(p), truth[3 * k + 3 :]]))[rows]
            - y[rows]
        )
        alone = fz.least_squares(line, start[3 * k : 3 * k + 3])
        np.testing.assert_allclose(got.x[3 * k + 1 : 3 * k + 3], alone.x[1:], rtol=1e-6)


def test_numbers_of_calls_are_scipys():
    """`nfev` has the places of the method, `njev` those with slopes; `leastsq` counts all."""
    t = np.linspace(0, 4, 60)
    y = 2 * np.exp(-1.3 * t) + 0.3 + 0.05 * np.sin(37 * t)
    plain = lambda p: p[0] * np.exp(-p[1] * t) + p[2] - y
    slopes = lambda p: np.stack(
        [np.exp(-p[1] * t), -p[0] * t * np.exp(-p[1] * t), 0 * t + 1], axis=1
    )
    for method in ("trf", "dogbox", "lm"):
        fun, jac = Counted(plain), Counted(slopes)
        with_slopes = fz.least_squares(fun, [1.5, 0.8, 0.1], jac, method=method)
        assert with_slopes.nfev == fun.calls and with_slopes.njev == jac.calls
        fun = Counted(plain)
        got = fz.least_squares(fun, [1.5, 0.8, 0.1], method=method)
        want = scipy_optimize.least_squares(plain, [1.5, 0.8, 0.1], method=method)
        assert (got.njev is None) == (want.njev is None)
        assert got.nfev + 6 * (got.njev or 5) <= fun.calls and got.nfev < 25
        fun = Counted(plain)
        few = fz.least_squares(fun, [1.5, 0.8, 0.1], method=method, max_nfev=3)
        assert few.status == 0 and not few.success and few.nfev == 3
    fun = Counted(plain)
    info = fz.leastsq(fun, [1.5, 0.8, 0.1], full_output=True)[2]
    assert info["nfev"] == fun.calls


def test_longer_steps_are_looked_at_where_four_calls_tell_that_they_matter(monkeypatch):
    """Rounding of 1e-4 leaves slopes by short steps wrong; catches: a minimum that is
    taken for one by slopes that nobody tried."""
    seen = []
    smooth = called.Called._smooth
    monkeypatch.setattr(
        called.Called, "_smooth", lambda *given: seen.append(smooth(*given)) or seen[-1]
    )
    x = np.linspace(0, 4, 60)
    f = lambda p: p[0] * np.exp(-p[1] * x) + p[2]
    y = f([2.5, 1.2, 0.5]) + 0.05 * np.random.default_rng(7).normal(size=60)
    for grain in (1e-14, 1e-4):
        seen.clear()
        fun = lambda p, grain=grain: np.round((f(untraced(p)) - y) / grain) * grain
        assert fz.least_squares(fun, [1.5, 1, 0.2]).success
        assert seen == [True] if grain < 1e-10 else False in seen


@pytest.mark.parametrize("seed", range(8))
def test_coarsely_rounded_values_are_fitted(seed):
    """Values that do not change along the first steps, nor much along the next. Catches: an end by
    slopes of 0, and one whose promises no descent finds and that is taken for a minimum anyway."""
    rng = np.random.default_rng([seed, 8])
    x = np.linspace(0, 4, 60)
    f = lambda p: p[0] * np.exp(-p[1] * x) + p[2]
    y = f([2.5, rng.uniform(0.5, 2), 0.5]) + 0.05 * rng.normal(size=60)
    got = fz.least_squares(lambda p: np.round(f(untraced(p)), 3) - y, [1.5, 1, 0.2])
    best = scipy_optimize.least_squares(lambda p: f(p) - y, [1.5, 1, 0.2])
    assert 0.5 * np.sum((f(got.x) - y) ** 2) < 1.01 * best.cost


@pytest.mark.parametrize("traced", [True, False])
@pytest.mark.parametrize("more", [{}, {"bounds": (0, 8)}, {"loss": "soft_l1", "f_scale": 0.1}])
def test_a_callback_sees_every_lower_place_and_stops_a_fit(traced, more):
    t = np.linspace(0, 4, 60)
    y = 2 * np.exp(-1.3 * t) + 0.3 + 0.05 * np.sin(37 * t)
    plain = lambda p: p[0] * np.exp(-p[1] * t) + p[2] - y
    fun = plain if traced else lambda p: plain(untraced(p))
    start, seen = [1.5, 0.8, 0.1], []
    want = fz.least_squares(fun, start, **more)

    def whole(intermediate_result):
        seen.append(intermediate_result)

    got = fz.least_squares(fun, start, callback=whole, **more)
    np.testing.assert_allclose(got.x, want.x, rtol=1e-6)
    assert got.success and [r.nit for r in seen] == list(range(1, len(seen) + 1))
    np.testing.assert_array_equal(seen[-1].x, got.x)
    costs = [r.cost for r in seen]
    assert all(b < a for a, b in zip(costs[:-2], costs[1:-1])) and len(costs) > 2
    for r in seen:
        np.testing.assert_allclose(r.fun, plain(r.x), rtol=1e-12, atol=1e-14)

    def stopping(x):
        seen.append(x)
        if len(seen) == 2:
            raise StopIteration

    seen.clear()
    stopped = fz.least_squares(fun, start, callback=stopping, **more)
    assert stopped.status == -2 and not stopped.success and len(seen) == 2
    np.testing.assert_array_equal(stopped.x, seen[-1])
    np.testing.assert_allclose(stopped.fun, plain(stopped.x), rtol=1e-12, atol=1e-14)
    at = scipy_optimize.least_squares(plain, stopped.x, "3-point", max_nfev=1, **more)
    np.testing.assert_allclose(stopped.jac, at.jac, rtol=1e-5, atol=1e-7)
    with pytest.raises(ZeroDivisionError):
        fz.least_squares(fun, start, callback=lambda x: 1 / 0, **more)


@pytest.mark.parametrize("seed", range(6))
def test_a_start_at_the_cut_of_an_angle_leads_where_one_beside_it_does(seed):
    """The helical valley of Moré, Garbow and Hillstrom, of random size, and its own start first."""
    rng = np.random.default_rng(seed)
    pitch, radius, weight = (10.0, 1.0, 1.0) if seed == 0 else rng.uniform(0.5, 12, 3)

    def valley(p):
        x, y, z = untraced(p)
        turn = np.arctan2(y, x) / (2 * np.pi)
        return np.array([10 * (z - pitch * turn), weight * 10 * (np.hypot(x, y) - radius), z])

    start = [-rng.uniform(0.5, 3), 0.0, 0.0 if seed == 0 else rng.normal()]
    got = fz.least_squares(valley, start)
    want = scipy_optimize.least_squares(valley, start)
    assert got.success and want.success
    np.testing.assert_allclose(got.x, [radius, 0, 0], atol=1e-9)
    np.testing.assert_allclose(want.x, [radius, 0, 0], atol=1e-6)


def test_a_jump_on_one_side_gives_the_slope_of_the_other_and_a_corner_stays_one():
    floors = lambda p: np.array([p[0] + 5 * (p[0] > 2), 3 * p[0] - 5 * (p[0] < 2), abs(p[0] - 2)])
    layout = differences.Layout(None, 1)
    ends = np.array([-np.inf]), np.array([np.inf])
    steps = differences.Steps(floors, *ends, layout)
    at = np.array([2.0])
    jacobian = steps.jacobian(at, floors(at))
    np.testing.assert_allclose(jacobian[:, 0], [1, 3, 0], atol=1e-8)


def test_a_callback_of_minpacks_method_is_refused_in_words():
    with pytest.warns(UserWarning, match="not supported with `lm`"):
        fz.least_squares(lambda p: p - 1, [0.0], method="lm", callback=lambda x: 1 / 0)
