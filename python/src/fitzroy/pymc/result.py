"""Draws of a text as draws of the PyMC model that it came from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.graph.replace import graph_replace
from pytensor.graph.traversal import ancestors

from ..results import Groups, tree
from .check import QUICK
from .convert import Conversion
from .discrete import is_discrete
from .given import Given, dims_of, given
from .layout import as_model

__all__ = ["dressed", "tree_of"]

Array = np.ndarray[Any, Any]


def tree_of(
    model: Any, conversion: Conversion, raw: dict[str, Any], var_names: Iterable[str] | None
) -> Any:
    """What `pm.sample` returns of the draws of a text."""
    # What is drawn after all others is a prediction to Fitzroy, and a free variable to PyMC.
    more: dict[str, Any] = {"posterior": raw["groups"].get("predictions", {})}
    drawn = {
        name: _posterior(model, conversion, {**raw["groups"][name], **more.get(name, {})})
        for name in ("posterior", "warmup_posterior")
        if name in raw["groups"]
    }
    return dressed(model, raw, drawn, var_names, conversion.missing, conversion.given)


def dressed(
    model: Any,
    raw: dict[str, Any],
    drawn: Groups,
    var_names: Iterable[str] | None,
    missing: Sequence[str] = (),
    has: Given | None = None,
) -> Any:
    """What `pm.sample` returns: all groups, with the model's names, dims and coords.

    `missing` are deterministics that PyMC computes from the draws. `has` are the data that were
    sampled; those of the model by default.
    """
    groups = dict(drawn)
    for name in ("sample_stats", "warmup_sample_stats"):
        if name in raw["groups"]:
            groups[name] = dict(raw["groups"][name])
    has = has or given(model)
    groups["observed_data"], groups["constant_data"] = has.observed, has.constant
    groups = {name: one for name, one in groups.items() if one}
    coords = dict(has.coords)
    raw = {**raw, "coords": {k: v for k, v in raw["coords"].items() if k in ("chain", "draw")}}
    if missing:
        _compute(model, list(missing), groups)
    if var_names is not None:
        names = [var_names] if isinstance(var_names, str) else var_names
        wanted = {v if isinstance(v, str) else v.name for v in names}
        unknown = wanted - set(groups["posterior"])
        if unknown:
            raise ValueError(f"var_names: the model has no {', '.join(sorted(unknown))}")
        groups["posterior"] = {k: v for k, v in groups["posterior"].items() if k in wanted}
    return tree(raw, groups, coords)


def _posterior(model: Any, conversion: Conversion, drawn: dict[str, Any]) -> dict[str, Any]:
    """Draws by the model's names, in its order."""
    out: dict[str, Array] = {}
    for shown, (_, values) in drawn.items():
        name = conversion.called.get(shown)
        if name is None or name not in model.named_vars:
            continue
        out[name] = _typed(model, name, as_model(conversion, name, values))
    order = {name: k for k, name in enumerate(model.named_vars)}
    return {
        name: (("chain", "draw", *dims_of(model, name, out[name].ndim - 2)), out[name])
        for name in sorted(out, key=order.__getitem__)
    }


def _typed(model: Any, name: str, values: Array) -> Array:
    """Draws of whole numbers as the model has them."""
    variable = model.named_vars[name]
    if variable in model.free_RVs and is_discrete(variable):
        values = values.astype(variable.type.dtype)
    return values


def _compute(model: Any, names: list[str], groups: Groups) -> None:
    """Deterministics that are not in the text, by PyMC."""
    # PyMC's own function draws the observed variables anew, on which they may depend.
    ins = {rv: rv.type() for rv in model.free_RVs}
    seen = {rv: pt.as_tensor(_value(model, rv)).astype(rv.type.dtype) for rv in model.observed_RVs}
    wanted, known = [model[name] for name in names], {**ins, **seen}
    # Those behind others are in PyTensor's way, where an index stands between them.
    near = [v for v in ancestors(wanted, blockers=list(known)) if v in known]
    outs = graph_replace(wanted, {v: known[v] for v in near}, strict=False)
    compute = pytensor.function(
        list(ins.values()), outs, mode=QUICK, on_unused_input="ignore", allow_input_downcast=True
    )
    drawn = [groups["posterior"][rv.name][1] for rv in model.free_RVs]
    chains, draws = next(iter(groups["posterior"].values()))[1].shape[:2]
    made = [compute(*[v[c, d] for v in drawn]) for c in range(chains) for d in range(draws)]
    for k, name in enumerate(names):
        values = np.array([one[k] for one in made])
        values = values.reshape(chains, draws, *values.shape[1:])
        dims = ("chain", "draw", *dims_of(model, name, values.ndim - 2))
        groups["posterior"][name] = (dims, values)


def _value(model: Any, rv: Any) -> Array:
    value = model.rvs_to_values[rv]
    return np.asarray(value.data if hasattr(value, "data") else value.get_value())
