"""Random problems in lmfit's words: `drawn(seed, lmfit)` builds one with a module of that interface."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Drawn", "drawn"]

Array = np.ndarray[Any, Any]
#: Built-in models with the parameters of a line about the middle, and the range of their data.
PEAKS: dict[str, dict[str, tuple[float, float]]] = {
    "Gaussian": {},
    "Lorentzian": {},
    "SplitLorentzian": {"sigma_r": (0.6, 1.5)},
    "Voigt": {},
    "PseudoVoigt": {"fraction": (0.2, 0.8)},
    "Moffat": {"beta": (0.8, 2)},
    "Pearson7": {"expon": (1.2, 3)},
    "BreitWigner": {"q": (0.5, 2)},
    "SkewedGaussian": {"gamma": (-2, 2)},
    "ExponentialGaussian": {"gamma": (0.5, 2)},
    "Doniach": {"gamma": (0.05, 0.3)},
    "Step": {},
}
BACKGROUNDS: dict[str, dict[str, tuple[float, float]]] = {
    "Linear": {"slope": (-0.5, 0.5), "intercept": (1, 3)},
    "Quadratic": {"a": (-0.05, 0.05), "b": (-0.3, 0.3), "c": (1, 3)},
    "Exponential": {"amplitude": (2, 5), "decay": (2, 6)},
    "Constant": {"c": (0.5, 3)},
}
STEPS = ("atan", "erf", "logistic")


@dataclass
class Drawn:
    """A problem: how it is fitted, and its residuals of the parameters that vary."""

    fit: Callable[..., Any]
    names: list[str]
    #: Residuals by names of parameters, without the module.
    residuals: Callable[[dict[str, float]], Array]
    truth: dict[str, float]
    scale_covar: bool
    what: str


def _line(x: Array, kind: str, form: str, p: dict[str, float]) -> Array:
    """A line or a step by its formula."""
    from scipy import special

    a, c, s = p["amplitude"], p["center"], p["sigma"]
    u = (x - c) / s
    normal = np.exp(-(u**2) / 2) / (s * np.sqrt(2 * np.pi))
    if kind == "Gaussian":
        return a * normal
    if kind == "Lorentzian":
        return a / (np.pi * s * (1 + u**2))
    if kind == "SplitLorentzian":
        r = p["sigma_r"]
        wide = np.where(x < c, s, r)
        return 2 * a / (np.pi * (s + r)) / (1 + ((x - c) / wide) ** 2)
    if kind == "Voigt":
        return a * special.voigt_profile(x - c, s, s)
    if kind == "PseudoVoigt":
        g, f = s / np.sqrt(2 * np.log(2)), p["fraction"]
        bell = np.exp(-((x - c) ** 2) / (2 * g**2)) / (g * np.sqrt(2 * np.pi))
        return a * ((1 - f) * bell + f / (np.pi * s * (1 + u**2)))
    if kind == "Moffat":
        return a * (1 + u**2) ** -p["beta"]
    if kind == "Pearson7":
        return a * (1 + u**2) ** -p["expon"] / (s * special.beta(p["expon"] - 0.5, 0.5))
    if kind == "BreitWigner":
        g = s / 2
        return a * (p["q"] * g + x - c) ** 2 / (g**2 + (x - c) ** 2)
    if kind == "SkewedGaussian":
        return a * normal * (1 + special.erf(p["gamma"] * u / np.sqrt(2)))
    if kind == "ExponentialGaussian":
        g = p["gamma"]
        rest = special.erfc((c + g * s**2 - x) / (np.sqrt(2) * s))
        return a * g / 2 * np.exp(g * (c + g * s**2 / 2 - x)) * rest
    if kind == "Doniach":
        g = p["gamma"]
        turn = np.cos(np.pi * g / 2 + (1 - g) * np.arctan(u))
        return a / s ** (1 - g) * turn / (1 + u**2) ** ((1 - g) / 2)
    if form == "atan":
        return a * (0.5 + np.arctan(u) / np.pi)
    return a * (0.5 * (1 + special.erf(u)) if form == "erf" else special.expit(u))


def _background(x: Array, kind: str, p: dict[str, float]) -> Array:
    if kind == "Linear":
        return p["slope"] * x + p["intercept"]
    if kind == "Quadratic":
        return p["a"] * x**2 + p["b"] * x + p["c"]
    if kind == "Exponential":
        return p["amplitude"] * np.exp(-x / p["decay"])
    return np.full_like(x, p["c"])


def drawn(seed: int, lmfit: Any) -> Drawn:
    """A problem of one of the kinds, by turns."""
    rng = np.random.default_rng(seed)
    kinds = (_of_models, _of_models, _of_models, _of_function, _of_residuals, _complex)
    return kinds[seed % len(kinds)](rng, lmfit)


def _start(rng: np.random.Generator, truth: float, low: float = 0.9, high: float = 1.1) -> float:
    return float(truth * rng.uniform(low, high))


def _of_models(rng: np.random.Generator, lmfit: Any) -> Drawn:
    """One or two lines on a background, with ties, bounds, held parameters and weights."""
    x = np.linspace(0, 10, int(rng.integers(120, 300)))
    n = int(rng.integers(1, 3))
    parts, truth, model = [], {}, None
    for k in range(n):
        kind, prefix = str(rng.choice(list(PEAKS))), f"p{k}_"
        form = str(rng.choice(STEPS))
        own = {
            "amplitude": rng.uniform(6, 12),
            "center": rng.uniform(2, 4) + 4.5 * k,
            "sigma": rng.uniform(0.5, 0.9),
            **{name: rng.uniform(*ends) for name, ends in PEAKS[kind].items()},
        }
        more = {"form": form} if kind == "Step" else {}
        one = getattr(lmfit.models, f"{kind}Model")(prefix=prefix, **more)
        model = one if model is None else model + one
        truth.update({f"{prefix}{name}": float(value) for name, value in own.items()})
        parts.append((prefix, kind, form, list(own)))
    ground = str(rng.choice(list(BACKGROUNDS)))
    names = BACKGROUNDS[ground]
    model = model + getattr(lmfit.models, f"{ground}Model")(prefix="b_")
    truth.update({f"b_{name}": float(rng.uniform(*ends)) for name, ends in names.items()})
    params = model.make_params(**{name: _start(rng, value) for name, value in truth.items()})
    ties: dict[str, Callable[[dict[str, float]], float]] = {}
    if n == 2 and rng.random() < 0.5:
        params["p1_sigma"].expr = "1.25 * p0_sigma"
        truth["p1_sigma"] = 1.25 * truth["p0_sigma"]
        ties["p1_sigma"] = lambda p: 1.25 * p["p0_sigma"]
    if rng.random() < 0.3:
        params["p0_center"].set(value=truth["p0_center"], vary=False)
    if rng.random() < 0.5:
        low, high = truth["p0_amplitude"] - 5, truth["p0_amplitude"] + 5
        params["p0_amplitude"].set(min=low, max=high)

    def curve(p: dict[str, float]) -> Array:
        total = _background(x, ground, {name: p[f"b_{name}"] for name in names})
        for prefix, kind, form, own in parts:
            total = total + _line(x, kind, form, {name: p[f"{prefix}{name}"] for name in own})
        return total

    sd = rng.uniform(0.02, 0.08, x.size)
    y = curve(truth) + sd * rng.normal(size=x.size)
    weights = 1 / sd if rng.random() < 0.5 else None
    scale_covar = bool(rng.random() < 0.7)
    free = [name for name in truth if params[name].vary]

    def residuals(p: dict[str, float]) -> Array:
        whole = {**truth, **p}
        whole.update({name: tie(whole) for name, tie in ties.items()})
        return (y - curve(whole)) * (1.0 if weights is None else weights)

    what = " + ".join([kind for _, kind, _, _ in parts] + [ground])
    return Drawn(
        lambda: model.fit(y, params, x=x, weights=weights, scale_covar=scale_covar),
        free,
        residuals,
        truth,
        scale_covar,
        what,
    )


def _of_function(rng: np.random.Generator, lmfit: Any) -> Drawn:
    """A function of the user's: one that can be traced, or one that cannot."""
    x = np.linspace(0, 6, 150)
    truth = {"a": rng.uniform(2, 4), "b": rng.uniform(0.3, 0.8), "w": rng.uniform(1.5, 2.5)}
    looped = bool(rng.random() < 0.5)

    def wave(x: Any, a: float, b: float, w: float) -> Any:
        return a * np.exp(-b * x) * np.cos(w * x)

    def one_by_one(x: Any, a: float, b: float, w: float) -> Any:
        return np.array([float(a) * np.exp(-float(b) * t) * np.cos(float(w) * t) for t in x])

    y = wave(x, **truth) + 0.05 * rng.normal(size=x.size)
    model = lmfit.Model(one_by_one if looped else wave)
    params = model.make_params(**{name: _start(rng, value) for name, value in truth.items()})
    params["b"].min = 0
    return Drawn(
        lambda: model.fit(y, params, x=x),
        list(truth),
        lambda p: y - wave(x, **p),
        truth,
        True,
        "one by one" if looped else "wave",
    )


def _of_residuals(rng: np.random.Generator, lmfit: Any) -> Drawn:
    """Residuals of parameters, two data sets that share a rate, with a tie."""
    x = np.linspace(0, 5, 80)
    truth = {"a0": rng.uniform(2, 4), "rate": rng.uniform(0.4, 0.9), "off": rng.uniform(0, 1)}
    data = np.array(
        [k * truth["a0"] * np.exp(-truth["rate"] * x) + truth["off"] for k in (1, 2)]
    ) + 0.03 * rng.normal(size=(2, x.size))
    params = lmfit.Parameters()
    for name, value in truth.items():
        params.add(name, value=_start(rng, value), min=-1, max=20)
    params.add("a1", expr="2 * a0")

    def misfit(p: Any, x: Any, data: Any) -> Any:
        out = 0.0 * data[:]
        for k in range(2):
            out[k] = data[k] - p[f"a{k}"] * np.exp(-p["rate"] * x) - p["off"]
        return out.flatten()

    def residuals(p: dict[str, float]) -> Array:
        rows = [data[k] - (k + 1) * p["a0"] * np.exp(-p["rate"] * x) - p["off"] for k in range(2)]
        return np.concatenate(rows)

    return Drawn(
        lambda: lmfit.minimize(misfit, params, args=(x, data)),
        list(truth),
        residuals,
        truth,
        True,
        "two data sets",
    )


def _complex(rng: np.random.Generator, lmfit: Any) -> Drawn:
    """A resonator with complex values."""
    x = np.linspace(90, 110, 201)
    truth = {"f0": rng.uniform(98, 102), "q": rng.uniform(40, 90), "g": rng.uniform(0.5, 0.9)}

    def resonator(x: Any, f0: float, q: float, g: float) -> Any:
        return 1 - g / (1 + 2j * q * (x - f0) / f0)

    noise = 0.01 * (rng.normal(size=x.size) + 1j * rng.normal(size=x.size))
    y = resonator(x, **truth) + noise
    model = lmfit.Model(resonator)
    params = model.make_params(
        f0=truth["f0"] + rng.uniform(-0.3, 0.3),
        q=_start(rng, truth["q"]),
        g=_start(rng, truth["g"]),
    )
    params["q"].min = 0

    def residuals(p: dict[str, float]) -> Array:
        return np.ascontiguousarray(y - resonator(x, **p)).view(float)

    return Drawn(lambda: model.fit(y, params, x=x), list(truth), residuals, truth, True, "complex")
