"""Is the density of the text that of the model? Compared at draws, far from the mode as well."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytensor
from pytensor.compile.mode import Mode
from pytensor.graph.replace import graph_replace
from pytensor.scalar.basic import autocast_float_as

from ..model import run
from .convert import Conversion, convert

__all__ = ["Check", "check"]

Array = np.ndarray[Any, Any]
#: Compiled without a C compiler or numba, which would take longer than the check. Canonical sums
#: may have more than the 32 terms that PyTensor adds without them.
QUICK = Mode(linker="py", optimizer="fast_compile").excluding("canonicalize")
AS_IT_STANDS = Mode(linker="py", optimizer=None)


@dataclass(frozen=True)
class Check:
    """Log densities at draws: of the text, and of the model."""

    #: lp of the text.
    text: Array
    #: model.logp.
    model: Array

    @property
    def spread(self) -> float:
        """Largest difference of the two, less the smallest: 0 for the same density."""
        return float(np.ptp(self.text - self.model))

    @property
    def range(self) -> float:
        """How far apart the densities of the points are, in nats."""
        return float(np.ptp(self.model))

    def __repr__(self) -> str:
        return (
            f"log densities of {len(self.text)} points differ by a constant and at most "
            f"{self.spread:.1e}, over a range of {self.range:.0f} nats"
        )


def check(model: Any, n: int = 64, random_seed: int = 1) -> Check:
    """Compares the density of the model's text with `model.logp` at `n` points."""
    conversion = convert(model)
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
    arrays: dict[str, Any] = dict(conversion.data)
    raw = run(conversion.text, arrays, settings, False)
    lp = raw["groups"]["sample_stats"]["lp"][1].ravel()[:n]
    free = free_values(model, conversion, raw["groups"]["posterior"], n)
    lp = lp - _on_circles(model, free)
    # Without this PyMC computes √2 and the like in float32.
    with autocast_float_as("float64"):
        logp = model.compile_logp(mode=QUICK)
    values = _value_variables(model)
    names = [model.rvs_to_values[rv].name for rv in model.free_RVs]
    ours = []
    for k in range(len(lp)):
        point = dict(zip(names, values(*[free[rv.name][k] for rv in model.free_RVs])))
        ours.append(float(logp(point)))
    return Check(lp, np.array(ours))


def free_values(
    model: Any, conversion: Conversion, posterior: dict[str, Any], n: int
) -> dict[str, Array]:
    """Draws of the free variables by PyMC's names, in PyMC's shapes."""
    shown = {name: text for text, name in conversion.called.items()}
    out = {}
    for rv in model.free_RVs:
        values = posterior[shown[rv.name]][1]
        values = values.reshape(-1, *values.shape[2:])[:n]
        if rv.name in conversion.packed:
            values = packed(values)
        out[rv.name] = values.reshape(n, *values.shape[1:])
    return out


def packed(values: Array) -> Array:
    """Lower triangles row by row, as PyMC keeps Cholesky factors."""
    rows, columns = np.tril_indices(values.shape[-1])
    return values[..., rows, columns]


def _value_variables(model: Any) -> Any:
    """A function from constrained values of the free variables to PyMC's value variables."""
    ins = {rv: rv.type() for rv in model.free_RVs}
    outs = []
    for rv in model.free_RVs:
        transform = model.rvs_to_transforms[rv]
        out = ins[rv] if transform is None else transform.forward(ins[rv], *rv.owner.inputs)
        outs.append(graph_replace([out], ins, strict=False)[0])
    return pytensor.function(
        list(ins.values()),
        outs,
        mode=AS_IT_STANDS,
        on_unused_input="ignore",
        allow_input_downcast=True,
    )


def _on_circles(model: Any, free: dict[str, Array]) -> Any:
    """log |dx/du| of angles, less that of PyMC's coordinates, in which they go round without end.

    Fitzroy's coordinates of an angle are those of any interval: the logit of its place in (−π, π).
    """
    total: Any = 0.0
    for rv in model.free_RVs:
        if type(model.rvs_to_transforms[rv]).__name__ == "CircularTransform":
            x = free[rv.name]
            total = total + np.log((np.pi + x) * (np.pi - x)).reshape(len(x), -1).sum(axis=1)
    return total
