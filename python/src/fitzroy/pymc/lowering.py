"""Models of `pymc.dims`, whose arrays have named dims, as models of plain arrays."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt
from pymc.distributions import transforms
from pymc.distributions.transforms import _default_transform
from pymc.model.fgraph import fgraph_from_model, model_from_fgraph
from pytensor.compile import optdb
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Constant
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.rewriting.basic import node_rewriter, out2in
from pytensor.tensor.math import Max, Min

from .axes import Unconvertible
from .folding import Constants
from .limits import INTERVALS
from .starts import without_starts
from .walk import strip

__all__ = ["has_dims", "in_plain_arrays", "like", "lowered", "values_of"]

Array = np.ndarray[Any, Any]
#: Transforms that a user may give a variable of any distribution.
ELEMENTWISE = {"LogTransform": transforms.log, "LogOddsTransform": transforms.logodds}


def has_dims(v: Any) -> bool:
    """Whether the axes of a variable have names, which those of `pymc.dims` have."""
    return hasattr(v.type, "dims")


def values_of(v: Any) -> Any:
    """An array without the names of its dims."""
    return v.values if has_dims(v) else pt.as_tensor(v)


def like(v: Any, array: Any) -> Any:
    """The array with the names of the dims of a variable."""
    if not has_dims(v):
        return array
    from pytensor.xtensor import as_xtensor

    return as_xtensor(array, dims=v.type.dims)


def in_plain_arrays(outs: list[Any]) -> list[Any]:
    """Graphs between plain arrays, without the named dims in the midst of them."""
    graph = FunctionGraph(outputs=outs, clone=False)
    if "pytensor.xtensor" in sys.modules:  # before that, to ask for its rewrites takes their place
        optdb.query("+lower_xtensor").rewrite(graph)
    WITH_SLOPES.rewrite(graph)
    return list(graph.outputs)


@node_rewriter([Min])  # type: ignore[untyped-decorator]
def _least(fgraph: Any, node: Any) -> list[Any]:
    """−max(−x) of min(x), of which PyTensor has no gradient."""
    return [-Max(axis=node.op.axis)(-node.inputs[0])]


WITH_SLOPES = out2in(_least)


def lowered(model: Any) -> Any:
    """The model in plain arrays, with the same names, dims and order of variables; itself if it is
    one of plain arrays.

    Raises Unconvertible for a model that PyMC cannot copy.
    """
    if not any(has_dims(v) for v in model.named_vars.values()):
        return model
    try:
        with without_starts(model):
            graph = fgraph_from_model(model)[0]
    except (NotImplementedError, ValueError) as why:
        raise Unconvertible("a copy of the model in plain arrays", str(why)) from why
    _roots(graph)
    _variables(graph)
    optdb.query("+lower_xtensor").rewrite(graph)
    plain = model_from_fgraph(graph, mutate_fgraph=True)
    for rv in plain.free_RVs:
        plain.rvs_to_transforms[rv] = _transform(rv, plain.rvs_to_transforms[rv])
    _order(plain, model)
    return plain


def _roots(graph: Any) -> None:
    """Plain arrays in place of data and values with named dims."""
    for v in list(graph.variables):
        if v.owner is not None or not has_dims(v):
            continue
        if isinstance(v, SharedVariable):
            plain = pytensor.shared(np.asarray(v.get_value()), name=v.name)
        elif isinstance(v, Constant):
            continue
        else:
            plain = pytensor.tensor.tensor(v.name, dtype=v.type.dtype, shape=v.type.shape)
        graph.replace(v, like(v, plain), import_missing=True)


def _variables(graph: Any) -> None:
    """Plain arrays within the marks that PyMC puts around the variables of a model."""
    for node in graph.toposort():
        out = node.outputs[0]
        if not hasattr(node.op, "_parse_dims") and not type(node.op).__name__.startswith("Model"):
            continue
        if not has_dims(out):
            continue
        ins = [v.values if has_dims(v) else v for v in node.inputs]
        plain = node.op(*ins)
        plain.name = out.name
        graph.replace(out, like(out, plain), import_missing=True)
    for out in list(graph.outputs):
        graph.add_output(values_of(out), import_missing=True)
        graph.remove_output(0)


def _transform(rv: Any, transform: Any) -> Any:
    """The transform of plain arrays that does the same."""
    kind = type(transform).__name__
    if not type(transform).__module__.startswith("pymc.dims"):
        return transform
    drawn = strip(rv)
    own = _default_transform(drawn.owner.op, drawn)
    if kind == "IntervalTransform":
        ends = [np.squeeze(x.data) for x in (transform.lower, transform.upper)]
        if type(own).__name__ in INTERVALS and _same(own.args_fn(*drawn.owner.inputs), ends):
            return own
        if any(x.ndim for x in ends):
            raise Unconvertible(rv.name, "an interval for each element")
        return transforms.Interval(*(float(x) if np.isfinite(x) else None for x in ends))
    if type(own).__name__ == kind:
        return own
    if kind in ELEMENTWISE:
        return ELEMENTWISE[kind]
    raise Unconvertible(rv.name, f"the transform {kind}")


def _same(ends: Sequence[Any], given: Sequence[Array]) -> bool:
    """Whether the constant ends of an interval are the given ones; none stands for infinity."""
    constants = Constants()
    for end, want, none in zip(ends, given, (-np.inf, np.inf)):
        end = pt.as_tensor(none if end is None else end)
        if not constants.holds(end) or not np.array_equal(np.squeeze(constants.value(end)), want):
            return False
    return True


def _order(plain: Any, model: Any) -> None:
    """Puts the variables of a copy in the order of those of the model."""
    place = {name: k for k, name in enumerate(model.named_vars)}
    for some in (plain.free_RVs, plain.observed_RVs, plain.deterministics, plain.potentials):
        some.sort(key=lambda v: place[v.name])
    named = sorted(plain.named_vars.items(), key=lambda one: place[one[0]])
    plain.named_vars.clear()
    plain.named_vars.update(named)
