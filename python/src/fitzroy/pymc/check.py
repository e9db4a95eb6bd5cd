"""Are density and gradient of the text those of the model? Compared at draws, far from the mode as
well."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt
from pymc.logprob.utils import local_check_parameter_to_ninf_switch
from pytensor.compile.mode import Mode
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.replace import graph_replace
from pytensor.graph.rewriting.basic import node_rewriter, out2in
from pytensor.scalar.basic import Add, Mul, autocast_float_as
from pytensor.tensor.elemwise import Elemwise

from .. import _fitzroy
from .axes import Unconvertible
from .convert import Conversion
from .discrete import combinations, drawn_afterwards, is_discrete, moving
from .distributions import kind_of
from .folding import CANONICAL
from .layout import as_model, as_text
from .lowering import in_plain_arrays, like, values_of
from .starts import started

__all__ = ["Check", "check", "log_turn"]

Array = np.ndarray[Any, Any]
#: How far Fitzroy's coordinate of a direction strays, in radians.
STRAY = 10.0
#: Compiled without a C compiler or numba, which would take longer than the check. Canonical sums
#: may have more than the 32 terms that PyTensor adds without them.
QUICK = Mode(linker="py", optimizer="fast_compile").excluding("canonicalize")
#: Parameters out of range have the density 0, as where PyMC samples, and end no computation.
OF_PARAMETERS = out2in(local_check_parameter_to_ninf_switch)


@node_rewriter([Elemwise])  # type: ignore[untyped-decorator]
def _two_by_two(fgraph: Any, node: Any) -> list[Any] | None:
    """Sums and products of two, which are functions of NumPy; of more, PyTensor calls Python for
    each element."""
    if not isinstance(node.op.scalar_op, (Add, Mul)) or len(node.inputs) < 3:
        return None
    return [reduce(node.op, node.inputs)]


TWO_BY_TWO = out2in(_two_by_two)
AS_IT_STANDS = Mode(linker="py", optimizer=None)


@dataclass(frozen=True)
class Check:
    """Log densities and their gradients at draws: of the text, and of the model."""

    #: lp of the text.
    text: Array
    #: model.logp.
    model: Array
    #: Slopes of lp by the coordinates of the text, a row for each point.
    text_slopes: Array
    #: Those of model.logp by the same coordinates.
    model_slopes: Array
    #: Whose density that is.
    of: str = "PyMC"

    @property
    def spread(self) -> float:
        """Largest difference of the two, less the smallest: 0 for the same density."""
        return float(np.ptp(self.text - self.model))

    @property
    def slope_error(self) -> float:
        """Largest difference of two slopes, by the largest slope at the point or 1; where PyMC has
        slopes (those of ExGaussian are NaN at some points)."""
        there = np.isfinite(self.model_slopes)
        size = np.max(np.abs(self.model_slopes), axis=1, keepdims=True, initial=1.0, where=there)
        off = np.abs(self.text_slopes - self.model_slopes) / size
        return float(np.max(off, initial=0.0, where=there))

    @property
    def range(self) -> float:
        """How far apart the densities of the points are, in nats."""
        return float(np.ptp(self.model))

    def __repr__(self) -> str:
        none = np.sum(~np.isfinite(self.model))
        seen = f"; {self.of} gives no finite log density at {none} of them" if none else ""
        return (
            f"log densities of {len(self.text)} points differ by a constant and at most "
            f"{self.spread:.1e}, over a range of {self.range:.0f} nats; slopes differ by at most "
            f"{self.slope_error:.1e} of the largest{seen}"
        )

    def _repr_html_(self) -> str:
        return f"<p>{self!r}</p>"


def check(conversion: Conversion, model: Any, n: int = 64, random_seed: int = 1) -> Check:
    """Compares density and gradient of the model's text with those of PyMC at `n` points.

    Raises Unconvertible for what cannot be compared.
    """
    plain = conversion.model
    for rv in plain.free_RVs:
        if kind_of(rv) == "LKJCorr":
            why = "PyMC has other coordinates of them, and with these another density"
            raise Unconvertible(f"the check of the correlations {rv.name}", why)
    arrays: dict[str, Any] = dict(conversion.data)
    raw = drawn_as_written(conversion, arrays, n, random_seed)
    free = free_values(plain, conversion, raw["groups"]["posterior"], n)
    forward, back = _value_variables(model)
    free, placed = _inside(model, forward, free, n)
    theirs, slopes = _of_model(model, plain, free, placed, back)
    ends, of_ends = _on_intervals(plain, free)
    for name, slope in of_ends.items():
        slopes[name] = slopes[name] + slope

    ours = of_text(conversion, arrays, free, slopes)
    return Check(ours["lp"] - ends, theirs, ours["slope"], ours["other"])


def drawn_as_written(
    conversion: Conversion, arrays: dict[str, Any], n: int, random_seed: int
) -> dict[str, Any]:
    """At least `n` draws of a text, at which it is compared."""
    chains = 4
    settings = {
        "draws": -(-n // chains),
        "tune": 40,
        "chains": chains,
        "threads": 1,
        "seed": random_seed,
        "as_written": True,
        "target_accept": 0.8,
    }
    return started(conversion, arrays, settings, False)


def of_text(
    conversion: Conversion,
    arrays: dict[str, Any],
    free: dict[str, Array],
    slopes: dict[str, Array],
) -> dict[str, Any]:
    """The text's log density at values of the model's variables, and its slopes beside these."""
    shown = {name: text for text, name in conversion.called.items()}

    def renamed(values: dict[str, Array]) -> dict[str, Array]:
        return {
            shown[name]: np.ascontiguousarray(as_text(conversion, name, x), dtype=float)
            for name, x in values.items()
        }

    return _fitzroy.log_density(conversion.text, arrays, renamed(free), renamed(slopes))


def _inside(
    model: Any, forward: Any, free: dict[str, Array], n: int
) -> tuple[dict[str, Array], list[list[Array]]]:
    """The draws none of whose values is rounded to an end of its support, and in PyMC's coordinates."""
    rvs = moving(model)
    placed = [forward(*[free[rv.name][k] for rv in rvs]) for k in range(n)]
    good = [all(np.isfinite(x).all() for x in place) for place in placed]
    if not any(good):
        raise Unconvertible("the check", "every draw has a value at an end of its support")
    inside = {name: x[np.array(good)] for name, x in free.items()}
    return inside, [place for place, is_good in zip(placed, good) if is_good]


def _of_model(
    model: Any, plain: Any, free: dict[str, Array], placed: list[list[Array]], back: Any
) -> tuple[Array, dict[str, Array]]:
    """model.logp at values of the free variables, summed over those of discrete ones, and its slopes
    by these values; `plain` is the model in plain arrays, `placed` has the draws in
    PyMC's coordinates, from which `back` leads."""
    rvs = moving(model)
    values = [model.rvs_to_values[rv] for rv in rvs]
    whole = [model.rvs_to_values[rv] for rv in model.free_RVs if is_discrete(rv)]
    all_whole, later = combinations(plain), {v.name for v in drawn_afterwards(plain)}
    counted = [v for v in [*model.basic_RVs, *model.potentials] if v.name not in later]
    # Without this PyMC computes √2 and the like in float32.
    with autocast_float_as("float64"):
        # PyTensor without a C compiler adds no more than 32 terms at once.
        terms = [values_of(term).sum() for term in model.logp(vars=counted, sum=False)]
        graph = FunctionGraph(outputs=in_plain_arrays([reduce(add, terms)]), clone=False)
        OF_PARAMETERS.rewrite(graph)
        [logp] = graph.outputs
        by_values = pytensor.grad(logp, values, disconnected_inputs="ignore")
        graph = FunctionGraph(outputs=[logp, *by_values], clone=False)
        TWO_BY_TWO.rewrite(graph)
    given = {"inputs": [*values, *whole], "outputs": list(graph.outputs)}
    density = _running(given, [*placed[0], *all_whole[0]])
    n = len(placed)
    out = np.empty(n)
    slopes = {rv.name: np.empty((n, *free[rv.name].shape[1:])) for rv in rvs}
    for k, place in enumerate(placed):
        at = [free[rv.name][k] for rv in rvs]
        out[k], *of_values = _sum([density(*place, *z) for z in all_whole])
        for rv, slope in zip(rvs, back(*at, *of_values)):
            slopes[rv.name][k] = slope
    return out, slopes


def _running(given: dict[str, Any], at: list[Array]) -> Any:
    """A function that runs at a point, compiled as fast as that goes."""
    with autocast_float_as("float64"):
        quick = pytensor.function(**given, mode=QUICK, on_unused_input="ignore")
        try:
            quick(*at)
        except np.exceptions.AxisError:
            return pytensor.function(**given, mode=CANONICAL, on_unused_input="ignore")
    return quick


def _sum(found: list[list[Array]]) -> list[Array]:
    """ln Σ eˣ of the first of each of `found`, and the slopes of that."""
    if len(found) == 1:
        return found[0]
    x = np.array([float(one[0]) for one in found])
    weights = np.exp(x - x.max())
    shares = weights / weights.sum()
    there = [(share, one) for share, one in zip(shares, found) if share > 0]
    slopes = [sum(share * one[k] for share, one in there) for k in range(1, len(found[0]))]
    return [x.max() + np.log(weights.sum()), *slopes]


def free_values(
    model: Any, conversion: Conversion, posterior: dict[str, Any], n: int
) -> dict[str, Array]:
    """Draws of the free variables that are no whole numbers by PyMC's names, in PyMC's shapes."""
    shown = {name: text for text, name in conversion.called.items()}
    out = {}
    for rv in moving(model):
        values = posterior[shown[rv.name]][1]
        values = values.reshape(-1, *values.shape[2:])[:n]
        values = as_model(conversion, rv.name, values)
        out[rv.name] = values.reshape(n, *values.shape[1:])
    return out


def _value_variables(model: Any) -> tuple[Any, Any]:
    """A function from constrained values of the free variables to PyMC's value variables, and one
    from slopes by the latter to slopes by the former."""
    arrays = [pt.tensor(dtype=rv.type.dtype, shape=rv.type.shape) for rv in moving(model)]
    ins = {rv: like(rv, array) for rv, array in zip(moving(model), arrays)}
    outs = []
    for rv in ins:
        transform = model.rvs_to_transforms[rv]
        out = ins[rv] if transform is None else transform.forward(ins[rv], *rv.owner.inputs)
        outs.append(graph_replace([values_of(out)], ins, strict=False)[0])
    outs = in_plain_arrays(outs)
    given: dict[str, Any] = {"mode": AS_IT_STANDS, "on_unused_input": "ignore"}
    given["allow_input_downcast"] = True
    forward = pytensor.function(arrays, outs, **given)
    # A variable without a transform is its own value, whose slope would be asked for twice.
    apart = [out if out.owner is not None else out.copy() for out in outs]
    slopes = [out.type() for out in outs]
    known = dict(zip(apart, slopes))
    by_ins = pytensor.grad(
        None, arrays, known_grads=known, disconnected_inputs="ignore"
    )
    back = pytensor.function([*arrays, *slopes], by_ins, **given)
    return forward, back


def _on_intervals(model: Any, free: dict[str, Array]) -> tuple[Any, dict[str, Array]]:
    """What Fitzroy's density over coordinates has beside PyMC's, up to a constant, and its slopes.

    Shares of a LogitNormal, which PyMC samples as themselves, have their logits as coordinates, so
    that log |dx/du| is added. Directions go round in both, but Fitzroy's coordinate has a density.
    """
    total: Any = 0.0
    slopes = {}
    for rv in moving(model):
        transform = model.rvs_to_transforms[rv]
        x = free[rv.name]
        if type(transform).__name__ == "CircularTransform":
            term = log_turn(x, np)
            up, down = np.exp((x + np.pi) / STRAY), np.exp((np.pi - x) / STRAY)
            slope = (1 / (1 + up) - 1 / (1 + down)) / STRAY
        elif transform is None and kind_of(rv) == "LogitNormal":
            term, slope = np.log(x * (1 - x)), 1 / x - 1 / (1 - x)
        else:
            continue
        total = total + term.reshape(len(x), -1).sum(axis=1)
        slopes[rv.name] = slope
    return total, slopes


def log_turn(x: Any, xp: Any) -> Any:
    """ln(L(x + pi) - L(x - pi)) up to a constant, L(u) = 1/(1 + e^(-u/STRAY)), by NumPy or JAX.

    That is the part of a direction x that the turn around 0 of its coordinate has; the parts of all
    turns sum to 1.
    """
    return -xp.logaddexp(0, -(x + np.pi) / STRAY) - xp.logaddexp(0, (x - np.pi) / STRAY)
