"""Residuals of many parameters of which each has few: ends against SciPy's and the dense ones'."""

from __future__ import annotations

import numpy as np
import pytest

scipy_optimize = pytest.importorskip("scipy.optimize")
sparse = pytest.importorskip("scipy.sparse")

from test_called import Counted, untraced  # noqa: E402

import fitzroy as fz  # noqa: E402
from fitzroy.curves import large  # noqa: E402
from fitzroy.curves.sparsity import Sparse  # noqa: E402

pytestmark = pytest.mark.once


class Chain:
    """Decays whose offsets are the amplitudes of the next, with a wave of a common frequency."""

    def __init__(self, seed, most=90):
        rng = np.random.default_rng([seed, 1])
        self.blocks = int(rng.integers(51, most))
        self.x = np.linspace(0, 2, int(rng.integers(6, 12)))
        self.p, self.n = 2 * self.blocks + 1, self.blocks * self.x.size
        self.truth = rng.uniform(0.5, 2, self.p)
        self.y = np.zeros(self.n)
        self.y = self(self.truth) + 0.05 * rng.normal(size=self.n)
        self.start = self.truth * rng.uniform(0.95, 1.05, self.p)
        self.pattern = sparse.lil_matrix((self.n, self.p), dtype=int)
        for b in range(self.blocks):
            rows = slice(b * self.x.size, (b + 1) * self.x.size)
            self.pattern[rows, [2 * b, 2 * b + 1, (2 * b + 2) % (self.p - 1), self.p - 1]] = 1
        self.rng = rng

    def __call__(self, theta):
        theta = untraced(theta)
        a, rate = theta[:-1:2, None], theta[1:-1:2, None]
        values = a * np.exp(-rate * self.x) + np.roll(a, -1, axis=0)
        return (values + 0.3 * np.sin(theta[-1] * self.x)).ravel() - self.y

    def slopes(self, theta):
        """The Jacobian, as a sparse matrix."""
        theta = untraced(theta)
        a, rate = theta[:-1:2], theta[1:-1:2]
        falls = np.exp(-np.multiply.outer(rate, self.x))
        out = sparse.lil_matrix((self.n, self.p))
        for b in range(self.blocks):
            rows = slice(b * self.x.size, (b + 1) * self.x.size)
            out[rows, [2 * b]] = falls[b][:, None]
            out[rows, [2 * b + 1]] = (-a[b] * self.x * falls[b])[:, None]
            out[rows, [(2 * b + 2) % (self.p - 1)]] = 1.0
            out[rows, [self.p - 1]] = (0.3 * self.x * np.cos(theta[-1] * self.x))[:, None]
        return out.tocsr()


@pytest.mark.parametrize("seed", range(10))
def test_many_parameters_end_where_scipy_ends_or_lower(seed):
    chain = Chain(seed)
    more = {}
    if seed % 2:
        more["bounds"] = (chain.start - 0.1, chain.start + 0.1)
    if seed % 3 == 0:
        more.update(loss=["soft_l1", "cauchy"][seed % 2], f_scale=0.1)
    ours = Counted(chain)
    if seed % 5 == 4:
        got = fz.least_squares(ours, chain.start, chain.slopes, **more)
        assert ours.calls == got.nfev
        want = scipy_optimize.least_squares(
            chain, chain.start, chain.slopes, x_scale="jac", max_nfev=20, **more
        )
    else:
        got = fz.least_squares(ours, chain.start, jac_sparsity=chain.pattern, **more)
        assert ours.calls <= got.nfev + 14 * (got.njev + 2) + 4
        want = scipy_optimize.least_squares(
            chain, chain.start, jac_sparsity=chain.pattern, x_scale="jac", max_nfev=20, **more
        )
    assert got.success and got.cost <= want.cost * (1 + 1e-9)
    assert sparse.issparse(got.jac) and got.jac.shape == (chain.n, chain.p)
    np.testing.assert_allclose(got.fun, chain(got.x), atol=1e-12)
    # What it says of its end is so: slopes, and that nothing that is free can be lower.
    at = scipy_optimize.least_squares(chain, got.x, chain.slopes, max_nfev=1, **more)
    np.testing.assert_allclose(got.jac.toarray(), at.jac.toarray(), atol=1e-6)
    np.testing.assert_allclose(got.grad, at.grad, atol=1e-7)
    free = got.active_mask == 0
    assert np.max(np.abs(got.grad[free])) < 1e-5


@pytest.mark.parametrize("seed", [1, 2])
def test_many_parameters_end_where_the_dense_method_ends(seed, monkeypatch):
    chain = Chain(seed, 52)
    bounds = (chain.start - 0.1, chain.start + 0.1) if seed % 2 else (-np.inf, np.inf)
    got = fz.least_squares(chain, chain.start, jac_sparsity=chain.pattern, bounds=bounds)
    # Without SciPy's products.
    monkeypatch.setattr(Sparse, "as_scipys", lambda self: self)
    plain = fz.least_squares(chain, chain.start, jac_sparsity=chain.pattern, bounds=bounds)
    monkeypatch.setattr(fz.curves.least_squares, "MANY", 10**6)
    want = fz.least_squares(chain, chain.start, jac_sparsity=chain.pattern, bounds=bounds)
    assert isinstance(want.jac, np.ndarray) and isinstance(plain.jac, Sparse)
    for found in (got, plain):
        np.testing.assert_allclose(found.cost, want.cost, rtol=1e-11)
        np.testing.assert_allclose(found.x, want.x, atol=1e-5)
        np.testing.assert_array_equal(found.active_mask, want.active_mask)


def test_many_equations_are_solved_in_a_moment():
    """Broyden's function of 5,000 parameters. Catches: anything of the size of these squared."""
    n = 5_000

    def broyden(x):
        x = untraced(x)
        f = (3 - x) * x + 1
        f[1:] -= x[:-1]
        f[:-1] -= 2 * x[1:]
        return f

    near = sparse.diags([np.ones(n - 1), np.ones(n), np.ones(n - 1)], [-1, 0, 1])
    fun = Counted(broyden)
    got = fz.least_squares(fun, -np.ones(n), jac_sparsity=near)
    assert got.success and got.cost < 1e-20 and fun.calls < 80


def test_rounded_values_of_many_parameters_are_looked_at_by_longer_steps():
    chain = Chain(7)
    exact = fz.least_squares(chain, chain.start, jac_sparsity=chain.pattern)
    for digits in (4, 6):
        got = fz.least_squares(
            lambda p, digits=digits: np.round(chain(p), digits),
            chain.start,
            jac_sparsity=chain.pattern,
        )
        excess = 0.5 * np.sum(chain(got.x) ** 2) / exact.cost - 1
        assert got.success and excess < 1e-4, (digits, excess)


def test_a_parameter_without_residuals_stays_and_one_with_narrow_ones_moves():
    chain = Chain(5)
    u = np.linspace(-5, 5, 40)
    line = lambda f, q, a: np.abs(a / (1 + 2j * q * (5e9 * (1 + 1e-6 * u) - f) / f))
    y = line(5e9, 1e6, 2.0) + 0.02 * np.random.default_rng(1).normal(size=u.size)

    def both(p):
        return np.concatenate([chain(p[: chain.p]), line(*untraced(p[chain.p : -1])) - y])

    pattern = sparse.block_diag([chain.pattern, np.ones((u.size, 3)), np.zeros((0, 1))])
    start = np.concatenate([chain.start, [5e9 * (1 + 3e-7), 0.7e6, 1.5], [3.0]])
    got = fz.least_squares(both, start, jac_sparsity=pattern)
    alone = fz.least_squares(chain, chain.start, jac_sparsity=chain.pattern)
    narrow = fz.least_squares(lambda p: line(*untraced(p)) - y, start[chain.p : -1])
    assert got.success and got.x[-1] == 3.0
    np.testing.assert_allclose(got.cost, alone.cost + narrow.cost, rtol=1e-9)
    np.testing.assert_allclose(got.x[chain.p + 1 : -1], narrow.x[1:], rtol=1e-5)


def test_a_fit_of_many_parameters_is_watched_stopped_and_limited():
    chain, seen = Chain(3), []

    def callback(intermediate_result):
        seen.append(intermediate_result.cost)
        if len(seen) == 2:
            raise StopIteration

    more = {"jac_sparsity": chain.pattern}
    stopped = fz.least_squares(chain, chain.start, callback=callback, **more)
    assert stopped.status == -2 and stopped.cost == pytest.approx(seen[-1], rel=1e-14)
    few = fz.least_squares(chain, chain.start, max_nfev=2, **more)
    assert few.status == 0 and not few.success and few.nfev == 2
    assert large.MANY < chain.p
