"""Terms of random curves, as Python text: point by point, of all points, by statements."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["JAX_TERMS", "TERMS", "Draft"]


@dataclass
class Draft:
    """A function on its way."""

    rng: np.random.Generator
    jax: bool
    #: Where the points of the first column are, and its name in the function.
    x: str = "x"
    more: str = ""
    truth: list[float] = field(default_factory=list)
    #: Statements, statements before the function, and what the result is the sum of.
    lines: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)
    smooth: bool = True
    count: int = 0

    @property
    def np(self) -> str:
        return "jnp" if self.jax else "np"

    def pick(self, of: Any) -> Any:
        return of[int(self.rng.integers(len(of)))]

    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def number(self, low: float, high: float) -> float:
        return float(np.round(self.rng.uniform(low, high), 3))

    def parameter(self, low: float, high: float) -> str:
        """A new one, whose true value is in a range."""
        self.truth.append(self.number(low, high))
        return f"p{len(self.truth) - 1}"

    def name(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def let(self, text: str, stem: str = "u") -> str:
        """A local variable."""
        name = self.name(stem)
        self.lines.append(f"{name} = {text}")
        return name

    def constant(self, text: str) -> str:
        """A number in the text, or in a variable outside of the function."""
        if self.chance(0.6):
            return text
        name = self.name("K")
        self.outside.append(f"{name} = {text}")
        return name

    def column(self) -> str:
        return self.more if self.more and self.chance(0.4) else self.x


def _amplitude(d: Draft) -> str:
    return d.parameter(0.8, 3.0)


def _decay(d: Draft) -> str:
    a, k, x = _amplitude(d), d.parameter(0.4, 1.5), d.column()
    return d.pick(
        [
            f"{a} * {d.np}.exp(-{k} * {x})",
            f"{a} / {d.np}.exp({k} * {x})",
            f"{a} * {d.np}.e ** (-{k} * {x})" if not d.jax else f"{a} * {d.np}.exp({x} * -{k})",
            f"{a} * (1 - {d.np}.exp(-{x} / {k}))",
            f"-{a} * {d.np}.expm1(-{k} * {x})",
            f"{a} * {d.np}.exp2(-{x} * {k})",
        ]
    )


def _peak(d: Draft) -> str:
    a, m, s, x = _amplitude(d), d.parameter(1.5, 2.5), d.parameter(0.3, 0.8), d.column()
    if d.jax:
        return f"{a} * jnp.exp(-0.5 * (({x} - {m}) / {s}) ** 2)"
    z = d.let(f"({x} - {m}) / {s}")
    if d.chance(0.3):
        d.lines.append(f"{z} **= 2" if d.chance(0.5) else f"{z} *= {z}")
        return f"{a} * np.exp(-0.5 * {z})"
    return d.pick(
        [
            f"{a} * np.exp(-0.5 * {z} ** 2)",
            f"{a} * np.exp(-(np.square({z})) / 2)",
            f"{a} / (1 + {z} ** 2)",
            f"{a} * (1 + {z} * {z}) ** -1",
            f"{a} * np.power(1 + {z} ** 2, -1.5)",
            f"{a} * stats.norm.pdf({x}, {m}, {s})",
            f"{a} * stats.norm.pdf({x}, loc={m}, scale={s})",
            f"{a} * stats.norm(loc={m}, scale={s}).pdf({x})",
            f"{a} / np.cosh({z})",
            f"{a} * special.voigt_profile({x} - {m}, {s}, 0.1)",
            f"{a} * special.wofz({z} + 0.3j).real",
        ]
    )


def _step(d: Draft) -> str:
    a, m, s, x = _amplitude(d), d.parameter(1.5, 2.5), d.parameter(0.3, 0.8), d.column()
    if d.jax:
        return d.pick(
            [
                f"{a} * jax.nn.sigmoid(({x} - {m}) / {s})",
                f"{a} * jax.scipy.special.erf(({x} - {m}) / {s})",
                f"{a} * jnp.tanh(({x} - {m}) / {s})",
            ]
        )
    z = f"({x} - {m}) / {s}"
    return d.pick(
        [
            f"{a} * special.expit({z})",
            f"{a} / (1 + np.exp(-{z}))",
            f"{a} * special.erf({z})",
            f"{a} * (1 - special.erfc({z}))",
            f"{a} * special.ndtr({z})",
            f"{a} * stats.norm.cdf({x}, {m}, {s})",
            f"{a} * stats.logistic.cdf({z})",
            f"{a} * np.tanh({z})",
            f"{a} * np.arctan({z}) / np.pi",
            f"{a} * (0.5 + np.arctan2({x} - {m}, {s}) / np.pi)",
            f"{a} * {x} ** 3 / ({m} ** 3 + {x} ** 3) + {s} * {x}",
        ]
    )


def _line(d: Draft) -> str:
    a, x = d.parameter(-2, 2), d.column()
    return d.pick(
        [f"{a} * {x}", f"{a} * ({x} - {d.constant('1.5')})", f"{a} * {x} ** 2", f"{x} * {a}"]
    )


def _level(d: Draft) -> str:
    a = d.parameter(-2, 2)
    if d.jax:
        return a
    x = d.x
    return d.pick(
        [
            a,
            f"{a} * np.ones_like({x})",
            f"np.full_like({x}, {a})",
            f"{a} * np.ones({x}.shape)",
            f"{a} * np.ones(len({x}))",
            f"np.full({x}.shape, 1.0) * {a}",
            f"np.zeros_like({x}) + {a}",
            f"{a} + 0 * {x}",
            f"np.broadcast_to({a}, {x}.shape)",
            f"np.repeat({a}, {x}.size)",
        ]
    )


def _wave(d: Draft) -> str:
    a, w, x = _amplitude(d), d.parameter(1.0, 2.0), d.column()
    f = d.pick(["sin", "cos"])
    phase = d.parameter(0.2, 1.0) if d.chance(0.5) else d.constant("0.3")
    if not d.jax and d.chance(0.2):
        return f"({a} * np.exp(1j * ({w} * {x} + {phase}))).{d.pick(['real', 'imag'])}"
    return f"{a} * {d.np}.{f}({w} * {x} + {phase})"


def _saturating(d: Draft) -> str:
    a, k, x = _amplitude(d), d.parameter(0.5, 1.5), d.column()
    return d.pick(
        [
            f"{a} * {x} / ({k} + {x})",
            f"{a} * {d.np}.log1p({x} / {k})",
            f"{a} * {d.np}.log(1 + {k} * {x})",
            f"{a} * {d.np}.sqrt({k} + {x})",
            f"{a} * ({x} + 1) ** {k}",
            f"{a} * {d.np}.power({x} + 0.5, -{k})",
            f"{a} * pow({x} + 1, {k})",
            f"{a} * {k} ** {x}",
            f"{a} * {d.np}.hypot({x}, {k})",
            f"{a} * {d.np}.cbrt({x} + {k})",
            f"{a} * {d.np}.abs({x} + {k}) ** 0.7",
            f"{a} * {d.np}.logaddexp({x}, {k})",
            f"{a} * ({x} + {k}) ** (1 / 3)",
        ]
    )


def _by_conditions(d: Draft) -> str:
    a, b, x = d.parameter(0.8, 3), d.parameter(-2, -0.5), d.column()
    t, u = d.number(0.8, 1.8), d.number(2.2, 3.2)
    t_, u_ = d.constant(str(t)), d.constant(str(u))
    both = [
        f"{d.np}.where({x} < {t_}, {a}, {b} * {x})",
        f"{d.np}.where(({x} > {t_}) & ({x} < {u_}), {a} * {x}, {b})",
        f"{d.np}.where(~({x} > {t_}), {a}, {b})",
        f"{d.np}.where({d.np}.logical_or({x} < {t_}, {x} >= {u_}), {a}, {b} + {x})",
        f"({x} > {t_}) * {a} + ({x} <= {u_}) * {b}",
        f"({a} * ({x} < {t_}) + {b} * ({x} >= {t_}))",
        f"{a} * {d.np}.maximum({x} - {t_}, 0) + {b} * {d.np}.minimum({x}, {u_})",
        f"{a} * {d.np}.clip({x}, {t_}, {u_}) + {b}",
        f"{a} * {d.np}.heaviside({x} - {t_}, 0.5) + {b} * {x}",
        f"{d.np}.select([{x} < {t_}, {x} < {u_}], [{a}, {b}], 0.5)",
        f"{d.np}.where({x} > {t_}, {a} * {d.np}.log({x} - {t_} + 1e-3), {b})",
        f"{a} * {d.np}.sign({x} - {t_}) + {b} * {d.np}.abs({x} - {u_})",
    ]
    if d.jax:
        return d.pick(both)
    return d.pick(
        [
            *both,
            f"np.piecewise({x}, [{x} < {t_}, {x} >= {t_}], [lambda v: {a} * v, {b}])",
            f"np.piecewise({x}, [{x} < {t_}], [lambda v: {a} + v ** 2, lambda v: {b} * v])",
            f"np.where({x} > {t_}, 1, 0) * {a} + {b} * {x}",
            f"{a} * (({x} > {t_}) + ({x} > {u_})) + {b} * {x}",
            f"{a} * (({x} > {t_}) ^ ({x} > {u_})) + {b} * {x}",
            f"{a} * ({x} > {t_}).astype(int) + {b} * {x}",
            f"{a} * np.isfinite({x}) + {b} * {x}",
            f"np.choose(({x} > {t_}).astype(int), [{a} * {x}, {b}])",
            f"np.nan_to_num({a} * {x}) + {b}",
            f"np.where([v > {t} for v in {x}], {a}, {b})",
            f"np.array([{a} if v > {t} else {b} * v for v in {x}])",
            f"np.select([{x} > {u_}, ({x} > {t_}) | ({x} < 0.3)], [{a} * {x}, {b}])",
        ]
    )


def _at_a_parameter(d: Draft) -> str:
    """A kink or an edge where a parameter says."""
    a, t, x = _amplitude(d), d.parameter(1.2, 2.8), d.column()
    kink = [
        f"{a} * {d.np}.maximum({x} - {t}, 0)",
        f"{a} * {d.np}.where({x} > {t}, {x} - {t}, 0.0)",
        f"{a} * {d.np}.abs({x} - {t})",
        f"{a} * {d.np}.minimum({x}, {t})",
        f"{a} * {d.np}.clip({x}, 0.2, {t})",
        f"{a} * ({x} - {t}) * ({x} > {t})",
    ]
    edge = [
        f"{a} * ({x} > {t})",
        f"{a} * {d.np}.heaviside({x} - {t}, 1.0)",
        f"{a} * {d.np}.floor({x} * {t})",
    ]
    if not d.jax:
        kink.append(f"np.piecewise({x}, [{x} > {t}], [lambda v: {a} * (v - {t}), 0])")
        edge += [
            f"{a} * ({t} * {x}).astype(int)",
            f"{a} * np.round({t} * {x})",
            f"{a} * ({x} // {t})",
            f"{a} * ({t} * {x}).round(1)",
            f"{a} * np.asarray({t} * {x}, dtype=int)",
        ]
    d.smooth = False
    return d.pick(kink if d.chance(0.6) else edge)


def _of_all_points(d: Draft) -> str:
    """What is not point by point."""
    a, x = _amplitude(d), d.column()
    return d.pick(
        [
            f"{a} * ({x} - {x}.mean())",
            f"{a} * ({x} - {x}[0])",
            f"{a} * {x} / {x}.max()",
            f"{a} * {x} / np.sum({x})",
            f"{a} * np.cumsum({x}) / len({x})",
            f"{a} * np.gradient({x} ** 2, {x})",
            f"{a} * ({x} - np.median({x})) / np.std({x})",
            f"{a} * np.diff({x}, prepend=0)",
            f"np.cumsum({a} * {x}) / {x}.size",
            f"{a} * np.interp({x}, [0, 1, 2, 4], [0, 1.5, 1, 3])",
            f"{a} * np.interp({x}, np.linspace(0, 4, 9), np.sin(np.arange(9)))",
            f"{a} * np.convolve({x}, [0.25, 0.5, 0.25], mode='same')",
            f"{a} * np.trapezoid({x}, {x}) * {x}",
            f"{a} * np.linspace(0, 1, len({x}))",
            f"{a} * np.arange({x}.size) / 10",
            f"{a} * np.argsort({x}) / 10",
            f"{a} * {x}[::-1]",
            f"{a} * np.roll({x}, 1)",
            f"{a} * np.linalg.norm({x}) * {x}",
            f"{a} * ({x} @ {x}) * {x} / 100",
            f"np.sum({a} * {x}) * {x} / 100",
            f"{a} * np.where({x} > np.mean({x}), 1.0, {x})",
            f"{a} * np.mod(np.arange(len({x})), 3)",
            f"{a} * np.vander({x}, 3)[:, 1]",
            f"{a} * np.array({x}) ** 2",
            f"{a} * {x}.astype(int)",
            f"{a} * np.trunc({x})",
            f"{a} * ({x} % 1)",
            f"{a} * np.fmod({x}, 1.3)",
            f"{a} * np.digitize({x}, [1.0, 2.0])",
            f"{a} * np.isin(np.floor({x}), [1, 3])",
            f"{a} * {x}.astype(np.float32) ** 2",
            f"{a} * np.float64({x})",
            f"{a} * np.max(np.stack([{x}, np.full_like({x}, 2)]), axis=0)",
        ]
    )


def _over_a_grid(d: Draft) -> str:
    a, k, x = _amplitude(d), d.parameter(0.3, 1.0), d.column()
    grid = d.constant("np.linspace(0.1, 2.0, 7)")
    weights = d.constant("np.array([0.5, 0.3, 0.2])")
    return d.pick(
        [
            f"{a} * np.sum(np.exp(-{k} * {grid} * {x}[:, None]), axis=1) / 7",
            f"{a} * np.exp(-{k} * np.outer({grid}, {x})).mean(axis=0)",
            f"{a} * np.trapezoid(np.exp(-{k} * {grid}[:, None] * {x}), {grid}, axis=0)",
            f"{a} * sum(w * np.exp(-{k} * {x} * (i + 1)) for i, w in enumerate({weights}))",
            f"{a} * sum([{k} ** i * {x} ** i / (i + 1) for i in range(4)])",
            f"{a} * np.dot({weights}, [{x} ** {k}, {x}, np.ones_like({x})])",
            f"{a} * ({weights}[:, np.newaxis] * np.exp(-{k} * {x})).sum(axis=0)",
            f"{a} * np.polyval([{k}, 0.5, 1], {x})",
            f"{a} * np.polyval({weights}, {k} * {x})",
            f"np.polynomial.polynomial.polyval({x}, [{a}, {k}, 0.1])",
            f"np.polynomial.Polynomial([{a}, {k}])({x})",
            f"{a} * np.array([1, {k}])[0] * {x} + {k}",
            f"np.dot(np.array([{a}, {k}]), np.array([{x}, {x} ** 2]))",
            f"np.column_stack([{x}, {x} ** 2]) @ np.array([{a}, {k}])",
            f"np.sum([{a} * {x}, {k} * {x} ** 2], axis=0)",
            f"np.prod([{a} * {x} + 1, {k} + {x}], axis=0)",
            f"np.vectorize(lambda v: {a} * v ** 2 if v > 1 else {a} * v)({x}) + {k} * {x}",
            f"{a} * math.exp(-{k}) * {x} + {k} * {x} ** 2",
            f"{a} * float({k}) * {x} + {k}",
            f"{a} * np.exp(-{k} * np.asarray({x}))",
            f"np.einsum('i,ij->j', [{a}, {k}], np.vstack([{x}, np.sqrt({x})]))",
            f"np.cumprod([1 + {k} * 0.1, {a}])[1] * {x} + {k}",
            f"{a} * np.max([{k}, 0.01]) * {x} + {k}",
            f"{a} * max({k}, 0.01) * {x} + {k}",
            f"functools.reduce(lambda u, v: u * {k} + v, [{a}, 1.0, {x}])",
            f"{a} * integrate.quad(lambda t: np.exp(-{k} * t), 0, 1)[0] * {x} + {k}",
            f"{a} * special.gamma(1 + {k}) * {x} + {k}",
            f"{a} * {x} ** special.beta(1, {k}) + {k}",
            f"{a} * special.jv(0, {k} * {x})",
            f"{a} * special.j0({k} * {x}) + {k} * special.gammaln({x} + 1)",
            f"{a} * special.gammainc({k} + 1, {x})",
            f"{a} * stats.expon.pdf({x}, scale={k})",
            f"{a} * stats.gamma.pdf({x}, 2, scale={k})",
            f"{a} * stats.lognorm.pdf({x} + 0.1, {k})",
        ]
    )


def _by_statements(d: Draft) -> str:
    """Loops, changes in place, assignments to parts, branches."""
    a, b, x = _amplitude(d), d.parameter(0.4, 1.4), d.column()
    out = d.name("out")
    t = d.number(1.2, 2.5)
    blocks = [
        [f"{out} = np.zeros_like({x})", f"{out}[{x} > {t}] = {a}", f"{out} += {b} * {x}"],
        [
            f"{out} = np.zeros({x}.shape)",
            f"m = {x} > {t}",
            f"{out}[m] = {a} * {x}[m]",
            f"{out}[~m] = {b}",
        ],
        [f"{out} = {a} * {x}", f"{out}[{x} < {t}] = {b}"],
        [f"{out} = {a} * {x}", f"{out}[0] = {b}", f"{out}[1:] += {b}"],
        [
            f"{out} = 0",
            f"for k in range(3): {out} += {a} * {x} ** k / (k + 1)",
            f"{out} = {out} + {b}",
        ],
        [f"{out} = np.empty_like({x})", f"{out}[:] = {a} * np.exp(-{b} * {x})"],
        [f"{out} = {a} * {x}", f"other = {out}", f"other += {b}"],
        [
            f"{out} = {a} * {x}",
            f"other = {out}.copy()",
            f"other *= {b}",
            f"{out} = {out} + other ** 2",
        ],
        [f"q = {a}", "q *= 2", f"{out} = q * {x} + {a} * {x} ** 2 + {b}"],
        [f"{out} = {a} * {x} if {a} > 0 else -{a} * {x}", f"{out} = {out} + {b}"],
        [f"if {b} < 0: return 1e6 * np.ones_like({x})", f"{out} = {a} * {x} ** {b}"],
        [f"assert {a} > -50", f"{out} = {a} * {x} + {b}"],
        [f"scale = 1 if abs({b}) < 5 else 2", f"{out} = {a} * {x} ** 2 * scale + {b}"],
        [f"{out} = np.exp({x}, out=np.empty_like({x})) * {a} + {b} * {x}"],
        [
            f"{out} = np.empty(len({x}))",
            f"for i, v in enumerate({x}): {out}[i] = {a} * v + {b} * v ** 2",
        ],
        [
            f"{out} = []",
            f"for v in {x}: {out}.append({a} * math.exp(-{b} * v))",
            f"{out} = np.array({out})",
        ],
        [f"v = {x}.copy()", f"v[v < {t}] = {t}", f"{out} = {a} * v + {b}"],
        [f"v = {x} + 0", f"v -= {t}", f"{out} = {a} * v + {b} * {x} ** 2"],
        [f"v = np.ones({x}.shape)", f"{out} = {a} * v", "v *= 2", f"{out} = {out} + {b} * v * {x}"],
        [
            f"pars = [{a}, {b}]",
            f"{out} = 0",
            "for i, p in enumerate(pars):",
            f"    {out} = {out} + p * {x} ** i",
        ],
        [f"d_ = dict(a={a}, b={b})", f"{out} = d_['a'] * {x} ** d_['b']"],
        [
            "def inner(v, s=2.0):",
            f"    return {a} * v / s",
            f"{out} = inner({x}) + inner({x} ** 2, s={b})",
        ],
        [f"{out} = np.zeros_like({x}, dtype=float)", f"{out} += {a}", f"{out} -= {b} * {x}"],
        [f"with np.errstate(all='ignore'): {out} = np.where({x} > 0, {a} / {x}, 0) * {b} + {a}"],
        [f"try: {out} = {a} * {x} ** {b}", f"except ZeroDivisionError: {out} = {x}"],
        [f"{out} = {a} * {x}", f"{out} = np.minimum({out}, 100, out={out})", f"{out} += {b}"],
        ["n = int(3.7)", f"{out} = {a} * {x} ** n + {b}"],
        [f"g, h = np.meshgrid({x}, [1.0, 2.0])", f"{out} = ({a} * g * h).sum(axis=0) + {b}"],
        [
            f"s, c = np.sin({x}), np.cos({x})",
            f"{out} = {a} * s + {b} * c",
            f"{out} = {out}.reshape({x}.shape)",
        ],
        [f"{out} = np.concatenate([{a} * {x}[:5], {b} * {x}[5:]])"],
        [f"{out} = np.hstack([{a} * {x}[:3], {a} * {x}[3:] ** 2]) + {b}"],
        [f"{out} = {x} * {a}", f"{out} = np.where(np.arange({out}.size) % 2 == 0, {out}, {b})"],
        [f"v = np.array([{x}, {x} ** 2])", f"{out} = {a} * v[0] + {b} * v[1]"],
        [f"total = np.array({a} + {x}).sum()", f"{out} = {a} * {x} ** 2 / total + {b}"],
        [f"y_ = {a} * np.exp(-{b} * {x})", f"{out} = y_ / y_.max() * {a}"],
        [f"y_ = np.exp(-{b} * {x})", f"{out} = {a} * (y_ - y_[-1])"],
    ]
    d.lines += d.pick(blocks)
    return out


def _by_integers(d: Draft) -> str:
    """Integers and powers of them."""
    a, x = _amplitude(d), d.column()
    return d.pick(
        [
            f"{a} * {x} ** -2.0 * 0.01",
            f"{a} / ({x} + 1) ** 2",
            f"{a} * (1 + {x}) ** -1",
            f"{a} * {x} ** np.int64(2)",
            f"{a} * np.power({x}, 3) / 10",
            f"{a} ** 2 * {x}",
            f"2 ** ({a} * {x} / 4)",
            f"{a} * ({x} - 2) ** 3 / 4",
            f"{a} * (-{x}) ** 2",
            f"{a} * -{x} ** 2",
            f"{a} * np.float_power({x}, 1.5)",
            f"{a} * True * {x}",
            f"{a} * np.sqrt({x}) ** 3",
            f"{a} * {x} ** 0",
            f"{a} * {x} ** 0.5",
            f"{a} * np.array(3) * {x}",
            f"{a} * (3 // 2) * {x}",
            f"({a} * {x} > 0) * {x} * {a}",
        ]
    )


JAX_TERMS = (
    _decay,
    _peak,
    _step,
    _line,
    _level,
    _wave,
    _saturating,
    _by_conditions,
    _at_a_parameter,
)
TERMS = (*JAX_TERMS, _of_all_points, _over_a_grid, _by_statements, _by_integers)
