"""A trace is made again whenever anything that it reads may be another."""

from __future__ import annotations

import types

import numpy as np
import pytest

import fitzroy as fz
from fitzroy.curves import function
from fitzroy.tracing import identity

X = np.linspace(0, 4, 50)
SCALE = 1.0
TABLE = np.ones(50)
SEEN: list[int] = []


def shape(x, b):
    return np.exp(-b * x)


def plain(x, a, b, c):
    return a * np.exp(-b * x) + c


def by_global(x, a, b):
    return SCALE * a * np.exp(-b * x)


def by_helper(x, a, b):
    return a * shape(x, b)


def by_table(x, a, b):
    return a * TABLE * np.exp(-b * x)


def with_side_effect(x, a, b):
    SEEN.append(1)
    return a * np.exp(-b * x)


def at_random(x, a, b):
    return a * np.exp(-b * x) * np.random.default_rng(1).normal()


CONFIG = types.SimpleNamespace(power=2.0)


def by_attribute(x, a, b, config=CONFIG):
    return a * x**config.power + b


def fit(f, y, p0):
    return fz.curve_fit(f, X, y, p0=p0)[0]


def counted(monkeypatch):
    """The number of traces that are made."""
    made = []
    own = function.trace
    monkeypatch.setattr(function, "trace", lambda *given: made.append(1) or own(*given))
    monkeypatch.setattr(function, "_traced", {})
    return made


def test_a_function_that_reads_nothing_else_is_traced_once(monkeypatch):
    made = counted(monkeypatch)
    y = plain(X, 2.0, 1.3, 0.5)
    for shift in (0.0, 1.0, 2.0):
        np.testing.assert_allclose(fit(plain, y + shift, [1, 1, 0]), [2, 1.3, 0.5 + shift])
    assert len(made) == 1
    # Other points of the same number are other columns; other numbers are another trace.
    assert np.allclose(
        fz.curve_fit(plain, X + 1, plain(X + 1, 2, 1, 0.5), [1, 1, 0])[0], [2, 1, 0.5]
    )
    assert len(made) == 1
    assert np.allclose(
        fz.curve_fit(plain, X[:9], plain(X[:9], 2, 1, 0.5), [1, 1, 0])[0], [2, 1, 0.5]
    )
    assert len(made) == 2
    whole = np.arange(9)
    assert np.allclose(
        fz.curve_fit(plain, whole, plain(whole, 2, 1, 0.5), [1, 1, 0])[0], [2, 1, 0.5]
    )
    assert len(made) == 2


def test_what_a_function_reads_is_looked_at_in_every_call(monkeypatch):
    made = counted(monkeypatch)
    y = 2 * np.exp(-1.3 * X)
    for scale in (1.0, 2.0, 1.0):
        monkeypatch.setitem(globals(), "SCALE", scale)
        np.testing.assert_allclose(fit(by_global, y, [1, 1]), [2 / scale, 1.3])
    assert len(made) == 2
    np.testing.assert_allclose(fit(by_helper, y, [1, 1]), [2, 1.3])
    monkeypatch.setitem(globals(), "shape", lambda x, b: np.exp(-2 * b * x))
    np.testing.assert_allclose(fit(by_helper, y, [1, 1]), [2, 0.65])

    def of(k):
        return lambda x, a, b: a * np.exp(-b * k * x)

    for k in (1.0, 2.0, 1.0):
        np.testing.assert_allclose(fit(of(k), y, [1, 1]), [2, 1.3 / k])
    k = 1.0
    inner = lambda x, a, b: a * np.exp(-b * k * x)
    np.testing.assert_allclose(fit(inner, y, [1, 1]), [2, 1.3])
    k = 2.0
    np.testing.assert_allclose(fit(inner, y, [1, 1]), [2, 0.65])
    # -0.0 is equal to 0.0, and 1 to True.
    for at, want in [(0.0, np.inf), (-0.0, -np.inf)]:
        with np.errstate(all="ignore"):
            assert 1 / np.float64(at) == want
        assert identity(of(at)) != identity(of(-at))


def test_what_may_change_unseen_is_traced_in_every_call(monkeypatch):
    made = counted(monkeypatch)
    y = 2 * np.exp(-1.3 * X)
    np.testing.assert_allclose(fit(by_table, y, [1, 1]), [2, 1.3])
    TABLE[:] = 2
    np.testing.assert_allclose(fit(by_table, y, [1, 1]), [1, 1.3])
    TABLE[:] = 1
    before = len(SEEN)
    fit(with_side_effect, y, [1, 1])
    again = len(SEEN)
    fit(with_side_effect, y, [1, 1])
    assert before < again < len(SEEN)
    for power in (2.0, 3.0):
        CONFIG.power = power
        np.testing.assert_allclose(fit(by_attribute, 3 * X**power + 1, [1, 0]), [3, 1], rtol=1e-6)
    for f in (by_table, with_side_effect, at_random, by_attribute, fit, print, np.exp):
        assert identity(f) is None, f
    counter = iter(range(10))

    def counts(x, a, b):
        return a * x + b * next(counter)

    def writes(x, a, b):
        global SCALE
        SCALE = SCALE * 1.0
        return a * x + b

    def brings(x, a, b):
        import math

        return a * x + b * math.pi

    for f in (counts, writes, brings):
        assert identity(f) is None
    assert len(made) >= 4


def test_functions_of_jax_are_traced_once(monkeypatch):
    jax = pytest.importorskip("jax")
    made = counted(monkeypatch)
    jnp = jax.numpy
    for f in (
        lambda x, a, b: a * jnp.exp(-b * x),
        jax.jit(lambda x, a, b: a * jnp.exp(-b * x)),
    ):
        del made[:]
        for scale in (1.0, 2.0):
            y = scale * np.exp(-1.3 * X)
            np.testing.assert_allclose(fit(f, y, [1, 1]), [scale, 1.3], rtol=1e-6)
        assert len(made) == 1
