"""Random curves: `random_function(seed)` is Python text as a user writes it, and data for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from random_terms import JAX_TERMS, TERMS, Draft

__all__ = ["Drawn", "random_function"]

#: Forms of x: one column; two as rows, as a tuple, as columns of a table.
FORMS = ("one", "one", "one", "rows", "unpacked", "tuple", "table")


@dataclass
class Drawn:
    """A function with data at which it can be fitted."""

    text: str
    f: Callable[..., Any]
    x: Any
    truth: np.ndarray[Any, Any]
    #: Whether sums of squares are smooth in the parameters.
    smooth: bool
    #: Whether it computes with jax.numpy.
    jax: bool


def _opening(d: Draft, form: str) -> None:
    """How the function gets at its columns."""
    if form == "one":
        d.x = "x"
        return
    d.x, d.more = "u", "w"
    if form == "rows" or (form == "tuple" and d.chance(0.5)):
        d.x, d.more = ("x[0]", "x[1]") if d.chance(0.5) else ("u", "w")
        if d.x == "u":
            d.lines += ["u = x[0]", "w = x[1]"] if d.chance(0.5) else ["u = x[0, :]", "w = x[1, :]"]
            if form == "tuple":
                d.lines = ["u = x[0]", "w = x[1]"]
    elif form == "table":
        d.lines += d.pick(
            [["u = x[:, 0]", "w = x[:, 1]"], ["u, w = x.T"], ["u = x[..., 0]", "w = x.T[1]"]]
        )
    else:
        d.lines.append("u, w = x")


def _definition(d: Draft, result: str) -> list[str]:
    """The function as text, called `f`."""
    n = len(d.truth)
    names = [f"p{k}" for k in range(n)]
    body = [f"    {line}" for line in d.lines]
    style = d.pick(
        ["plain"] * 6
        + ["star", "default", "class", "method", "partial", "closure", "helper"]
        + ([] if d.jax else ["array", "numbers"])
    )
    head = f"def f(x, {', '.join(names)}):"
    if style == "star":
        head = "def f(x, *p):"
        body.insert(0, f"    {', '.join(names)}{',' if n == 1 else ''} = p")
    elif style == "array":
        head = "def f(x, *p):"
        opened = d.pick(["p = np.array(p)", "p = np.asarray(p).reshape(-1)", "p = np.array(p) * 1.0"])
        body = [f"    {opened}", *[f"    {q} = p[{k}]" for k, q in enumerate(names)], *body]
    elif style == "numbers":
        own = d.pick(["float({0})", "max({0}, -1e9)", "min(1e9, {0})", "math.sinh(math.asinh({0}))"])
        body = [*[f"    {q} = {own.format(q)}" for q in names], *body]
    elif style == "default":
        head = f"def f(x, {', '.join(names[:-1] + [names[-1] + '=1.0'])}):"
    elif style == "helper":
        return [
            f"def g(x, {', '.join(names)}):",
            *body,
            f"    return {result}",
            head,
            f"    return g(x, {', '.join(names)})",
        ]
    elif style == "partial":
        head = f"def g(x, {', '.join(names)}, shift=0.0):"
        return [head, *body, f"    return {result} + shift", "f = functools.partial(g, shift=0.5)"]
    elif style in ("class", "method"):
        call = "__call__" if style == "class" else "curve"
        body = [f"    {line}" for line in body]
        return [
            "class Curve:",
            "    shift = 0.25",
            f"    def {call}(self, x, {', '.join(names)}):",
            *body,
            f"        return {result} + self.shift",
            "f = Curve()" if style == "class" else "f = Curve().curve",
        ]
    elif style == "closure":
        body = [f"    {line}" for line in body]
        return [
            "def make(shift):",
            f"    {head}",
            *body,
            f"        return {result} + shift",
            "    return f",
            "f = make(0.125)",
        ]
    return [head, *body, f"    return {result}"]


def random_function(seed: int, jax: bool = False) -> Drawn:
    """A function as text, with data and true parameters; of jax.numpy if there is JAX."""
    rng = np.random.default_rng(seed)
    d = Draft(rng, bool(jax and rng.random() < 0.25))
    form = "one" if d.jax and d.chance(0.5) else d.pick(FORMS)
    if d.jax and form == "table":
        form = "rows"
    _opening(d, form)
    terms = []
    while not terms or (len(d.truth) < 4 and d.chance(0.55)):
        terms.append(d.pick(JAX_TERMS if d.jax else TERMS)(d))
    result = " + ".join(f"({t})" if "lambda" in t else t for t in terms)
    definition = _definition(d, result)
    head = "import functools\nimport math\n"
    head += "import jax\nimport jax.numpy as jnp\n" if d.jax else ""
    text = head + "\n".join([*d.outside, *definition]) + "\n"
    return Drawn(text, _made(text), _points(d, form), np.array(d.truth), d.smooth, d.jax)


def _made(text: str) -> Callable[..., Any]:
    import scipy
    from scipy import integrate, special, stats

    scope = {"np": np, "scipy": scipy, "special": special, "stats": stats, "integrate": integrate}
    exec(compile(text, "<curve>", "exec"), scope)
    found: Callable[..., Any] = scope["f"]
    return found


def _points(d: Draft, form: str) -> Any:
    n = int(d.rng.integers(20, 70))
    one = np.round(np.sort(d.rng.uniform(0.05, 4.0, n)), 4)
    if d.chance(0.15):
        one = np.arange(n) * (0.1 if d.chance(0.5) else 1.0)
        one[0] = 0.05
    if form == "one":
        return one
    two = np.round(d.rng.uniform(0.05, 4.0, n), 4)
    if form == "tuple":
        return one, two
    return np.column_stack([one, two]) if form == "table" else np.stack([one, two])
