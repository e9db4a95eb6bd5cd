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


#: What a state has, in the order of the files that have no names for it.
STATE = (
    "funcname funcdef name prefix independent_vars param_root_names param_hints nan_policy opts"
).split()


def model_state(model: Model) -> tuple[Any, Any, Any]:
    """A model as plain values and functions: a triple of a dict, or of two models and an operator,
    as files of lmfit have it."""
    from .composite import CompositeModel
    from .models import ExpressionModel

    if isinstance(model, CompositeModel):
        named: Any = model.op.__name__
        if getattr(operator, named, None) is not model.op:
            named = model.op
        return model_state(model.left), model_state(model.right), named
    tied = isinstance(model, ExpressionModel)
    values = (
        "_eval" if tied else model.func.__name__,
        model.expr if isinstance(model, ExpressionModel) else model.func,
        model._name,
        model._prefix,
        model.independent_vars,
        None if tied else model._param_root_names,
        model.param_hints,
        model.nan_policy,
        model.opts,
    )
    return {"version": "2", **dict(zip(STATE, values))}, None, None


def model_dumps(model: Model, **kws: Any) -> str:
    """A model as JSON."""
    return json.dumps(encoded(model_state(model)), **kws)


def build_model(state: Any, funcdefs: Mapping[str, Any] | None = None, **kws: Any) -> Model:
    """The model of JSON, or of what `model_state` gives.

    Raises ValueError for what is no model, and for a function that cannot be had.
    """
    from .composite import CompositeModel

    if isinstance(state, str):
        state = decoded(json.loads(state, **kws))
    if not isinstance(state, (tuple, list)) or len(state) != 3:
        raise ValueError("Cannot restore Model")
    left, right, op = state
    if right is not None:
        if isinstance(op, str):
            op = (funcdefs or {}).get(op, getattr(operator, op, None))
        return CompositeModel(build_model(left, funcdefs), build_model(right, funcdefs), op)
    if isinstance(left, (tuple, list)) and len(left) == len(STATE):
        left = dict(zip(STATE, left))
    if not isinstance(left, dict) or "funcname" not in left:
        raise ValueError("Cannot restore Model: unrecognized state data")
    return _built(left, funcdefs or {})


def _built(state: dict[str, Any], funcdefs: Mapping[str, Any]) -> Model:
    from .model import Model
    from .models import ExpressionModel

    name, func = state["funcname"], state["funcdef"]
    common: dict[str, Any] = {
        "independent_vars": state["independent_vars"],
        "nan_policy": state["nan_policy"],
        "name": state["name"],
        **state["opts"],
    }
    model: Model
    if name == "_eval" and isinstance(func, str):
        model = ExpressionModel(func, **common)
    else:
        func = funcdefs.get(name, func)
        if name in lineshapes.functions and name not in funcdefs:
            func = getattr(lineshapes, name)
        if not callable(func):
            raise ValueError(
                "Cannot restore Model: model function not found; give it as "
                f"funcdefs={{'{name}': ...}}"
            )
        roots = state["param_root_names"]
        model = Model(func, prefix=state["prefix"], param_names=roots, **common)
    for hinted, hint in state["param_hints"].items():
        model.set_param_hint(hinted, **hint)
    return model


def result_dumps(result: ModelResult, **kws: Any) -> str:
    """A fit as JSON."""
    out: dict[str, Any] = {
        "__class__": "lmfit.ModelResult",
        "__version__": "2",
        "model": encoded(model_state(result.model)),
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
    result.model = build_model(decoded(state["model"]), funcdefs)
    result.userfcn = result.model._residual
    for name in ("params", "init_params"):
        said = state.get(name, state["params"])
        if not isinstance(said, str):
            # A file of an old version.
            symbols = state.get("unique_symbols", {})
            said = json.dumps({"unique_symbols": symbols, "params": state["params"]})
        params = Parameters(usersyms=funcdefs).loads(said)
        params.symbols.update(funcdefs or {})
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
