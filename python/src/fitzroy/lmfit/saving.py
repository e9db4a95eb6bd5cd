"""Models and fits as JSON.

Functions are kept by the module that has them, or pickled; reading a file of somebody who is not
trusted may run what they wrote. Where a function can be had neither way it is given again, in
`funcdefs`.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from . import lineshapes
from .encoding import decoded, encoded
from .minimizerresult import MinimizerResult
from .parameter import Parameters

if TYPE_CHECKING:
    from .model import Model
    from .modelresult import ModelResult

__all__ = [
    "build_model",
    "load_model",
    "load_modelresult",
    "model_dumps",
    "result_dumps",
    "result_loads",
    "save_model",
    "save_modelresult",
]

#: What of a fit is kept as it is.
KEPT = (
    "aborted aic best_values bic chisqr ci_out covar errorbars ier init_values lmdif_message message "
    "method nan_policy ndata nfev nfree nvarys redchi residual rsquared scale_covar calc_covar success "
    "userargs userkws var_names weights user_options untraced"
).split()
Path = str | PathLike[str]


def model_state(model: Model) -> Any:
    """A model as plain values, lists and functions."""
    from .model import CompositeModel
    from .models import ExpressionModel

    if isinstance(model, CompositeModel):
        op = getattr(operator, model.op.__name__, None)
        named = model.op.__name__ if op is model.op else encoded(model.op)
        return [model_state(model.left), model_state(model.right), named]
    tied = isinstance(model, ExpressionModel)
    return {
        "version": "2",
        "funcname": "_eval" if tied else model.func.__name__,
        "funcdef": encoded(model.expr if isinstance(model, ExpressionModel) else model.func),
        "name": model._name,
        "prefix": model._prefix,
        "independent_vars": model.independent_vars,
        "param_root_names": None if tied else model._roots,
        "param_hints": encoded(model.param_hints),
        "nan_policy": model.nan_policy,
        "opts": encoded(model.opts),
    }


def model_dumps(model: Model, **kws: Any) -> str:
    """A model as JSON."""
    return json.dumps(model_state(model), **kws)


def build_model(text: Any, funcdefs: Mapping[str, Any] | None = None, **kws: Any) -> Model:
    """The model of JSON or of its plain values.

    Raises ValueError for what is no model, and for a function that cannot be had.
    """
    from .model import CompositeModel, Model
    from .models import ExpressionModel

    state = json.loads(text, **kws) if isinstance(text, str) else text
    if isinstance(state, list) and len(state) == 3:
        left, right = (build_model(side, funcdefs) for side in state[:2])
        op = getattr(operator, state[2]) if isinstance(state[2], str) else decoded(state[2])
        name = state[2]["__name__"] if isinstance(state[2], dict) else ""
        return CompositeModel(left, right, (funcdefs or {}).get(name, op))
    if not isinstance(state, dict) or "funcname" not in state:
        raise ValueError("Cannot restore Model: unrecognized state data")
    name, func = state["funcname"], decoded(state["funcdef"])
    common: dict[str, Any] = {
        "independent_vars": state["independent_vars"],
        "nan_policy": state["nan_policy"],
        "name": state["name"],
        **decoded(state["opts"]),
    }
    model: Model
    if name == "_eval" and isinstance(func, str):
        model = ExpressionModel(func, **common)
    else:
        func = (funcdefs or {}).get(name, func)
        if func is None and name in lineshapes.functions:
            func = getattr(lineshapes, name)
        if func is None:
            raise ValueError(
                f"Cannot restore Model: model function not found; give it as funcdefs={{'{name}': ...}}"
            )
        roots = state["param_root_names"]
        model = Model(func, prefix=state["prefix"], param_names=roots, **common)
    for hinted, hint in decoded(state["param_hints"]).items():
        model.set_param_hint(hinted, **hint)
    return model


def result_dumps(result: ModelResult, **kws: Any) -> str:
    """A fit as JSON."""
    out: dict[str, Any] = {
        "__class__": "lmfit.ModelResult",
        "__version__": "2",
        "model": model_state(result.model),
        "params": result.params.dumps(),
        "init_params": result.init_params.dumps(),
    }
    for name in KEPT:
        if hasattr(result, name):
            out[name] = encoded(getattr(result, name))
    return json.dumps(out, **kws)


def result_loads(
    result: ModelResult, text: str, funcdefs: Mapping[str, Any] | None = None, **kws: Any
) -> ModelResult:
    """Fills a result with the fit of JSON. Raises ValueError for what is none."""
    state = json.loads(text, **kws)
    if not isinstance(state, dict) or "modelresult" not in str(state.get("__class__")).lower():
        raise AttributeError("ModelResult.loads() needs saved ModelResult")
    if "model" not in state or "params" not in state:
        raise AttributeError("ModelResult.loads() needs valid ModelResult")
    result.model = build_model(state["model"], funcdefs)
    result.userfcn = result.model._residual
    for name in ("params", "init_params"):
        params = Parameters(usersyms=funcdefs).loads(state[name])
        setattr(result, name, params)
    for name in KEPT:
        if name in state:
            setattr(result, name, decoded(state[name]))
    result.data, result.weights = result.userargs
    result.best_fit = result.model.eval(result.params, **result.userkws)
    for name, value in result.init_values.items():
        if name in result.init_params:
            par = result.init_params[name]
            par.correl = par.stderr = None
            par._val = par.init_value = value
    result.init_fit = result.model.eval(result.init_params, **result.userkws)
    starts = [float(result.init_values[n]) for n in result.var_names if n in result.init_values]
    result.init_vals = starts
    result.result = MinimizerResult(params=result.params, covar=np.asarray(result.covar))
    return result


def save_model(model: Model, fname: Path) -> None:
    """Writes a model into a file."""
    with open(fname, "w", encoding="utf-8") as file:
        model.dump(file)


def load_model(fname: Path, funcdefs: Mapping[str, Any] | None = None) -> Model:
    """The model of a file, with functions by name in `funcdefs`."""
    with open(fname, encoding="utf-8") as file:
        return build_model(file.read(), funcdefs)


def save_modelresult(modelresult: ModelResult, fname: Path) -> None:
    """Writes a fit into a file."""
    with open(fname, "w", encoding="utf-8") as file:
        modelresult.dump(file)


def load_modelresult(fname: Path, funcdefs: Mapping[str, Any] | None = None) -> ModelResult:
    """The fit of a file, with functions by name in `funcdefs`."""
    from .model import Model
    from .modelresult import ModelResult

    with open(fname, encoding="utf-8") as file:
        empty = ModelResult(Model(_nothing), Parameters())
        return result_loads(empty, file.read(), funcdefs)


def _nothing(x: Any) -> Any:
    """Stands for a model that is still to be read."""
    return x
