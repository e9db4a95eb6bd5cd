"""Models of random parts of their data, as models of all of it.

A minibatch is for methods that take another part at each step. A sampler needs one density, and
that of one part, which is never drawn again, is another posterior than the model's.
"""

from __future__ import annotations

from typing import Any

from pymc.data import MinibatchOp
from pymc.model.fgraph import ModelObservedRV, fgraph_from_model, model_from_fgraph
from pymc.variational.minibatch_rv import MinibatchRandomVariable
from pytensor.graph.basic import Constant
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.replace import clone_replace
from pytensor.graph.traversal import ancestors

from .starts import without_starts

__all__ = ["ALL_ROWS", "of_all_rows"]

#: What is said of a model that had minibatches.
ALL_ROWS = "all rows are used in place of a pm.Minibatch, whose density is that of a random part"


def of_all_rows(model: Any) -> Any:
    """The model with the whole of its data in place of minibatches; itself if it has none."""
    items = [*model.basic_RVs, *model.deterministics, *model.potentials]
    items += [model.rvs_to_values[v] for v in model.observed_RVs]
    if not any(_is_minibatch(v) for v in ancestors(items)):
        return model
    with without_starts(model):
        graph = fgraph_from_model(model)[0]
    whole = {
        out: given
        for node in graph.apply_nodes
        if isinstance(node.op, MinibatchOp)
        for given, out in zip(node.inputs, node.outputs)
    }
    return model_from_fgraph(_unweighted(_replaced(graph, whole)), mutate_fgraph=True)


def _is_minibatch(v: Any) -> bool:
    return v.owner is not None and isinstance(v.owner.op, MinibatchOp)


def _replaced(graph: Any, by: dict[Any, Any]) -> Any:
    """The graph of a model with other variables in it, whose lengths may be others."""
    outs = clone_replace(graph.outputs, by, rebuild_strict=False)
    for old, new in zip(graph.outputs, outs):
        # PyMC 6 has the names in the marks around variables.
        if not hasattr(old.owner.op, "name"):
            new.name = old.name
    out: Any = FunctionGraph(outputs=outs, clone=False)
    # Coords and lengths of dims are no part of the outputs.
    out._coords, out._dim_lengths = graph._coords, graph._dim_lengths
    return out


def _unweighted(graph: Any) -> Any:
    """The graph without weights of total sizes that are those of the data."""
    for node in list(graph.apply_nodes):
        if not isinstance(node.op, ModelObservedRV):
            continue
        rv, value = node.inputs[:2]
        if rv.owner is None or not isinstance(rv.owner.op, MinibatchRandomVariable):
            continue
        drawn, *totals = rv.owner.inputs
        there = zip(totals, value.type.shape)
        if all(isinstance(n, Constant) and n.data in (None, size) for n, size in there):
            graph.replace(rv, drawn)
    return graph
