"""Functions of independent variables and parameters as models, and models that are made of others."""

from __future__ import annotations

import inspect
import operator
import warnings
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from ..tracing.nodes import Recorded
from ..tracing.plain import recording
from .expressions import valid_symbol_name
from .inputs import aligned, coerce_arraylike, not_missing, values_of
from .modelresult import ModelResult
from .parameter import Parameter, Parameters
from .plotting import get_reducer, propagate_err
from .saving import (
    build_model,
    load_model,
    load_modelresult,
    model_dumps,
    save_model,
    save_modelresult,
)

if TYPE_CHECKING:
    from .composite import CompositeModel

__all__ = [
    "CompositeModel",
    "Model",
    "ModelResult",
    "get_reducer",
    "load_model",
    "load_modelresult",
    "propagate_err",
    "save_model",
    "save_modelresult",
]

EMPTY = inspect.Parameter.empty
#: What may be said of a parameter before there are any.
HINTS = ("value", "vary", "min", "max", "expr", "brute_step")
#: Arguments of the function that a fit has another use for.
FORBIDDEN = ("data", "weights", "params")
OF_MODEL_NAN = (
    "The model function generated NaN values and the fit aborted! Please check your model function "
    "and/or set boundaries on parameters where applicable."
)


class Model:
    """A function `func(x, *parameters)` whose parameters can be fitted.

    The first argument is the independent variable, or those that `independent_vars` names, and
    arguments whose default is no number are such, too. The names of parameters are those of the
    other arguments, with `prefix` before them. `nan_policy` is 'raise', 'omit' or 'propagate'.
    Further keywords are values of arguments.

    >>> import numpy as np
    >>> def line(x, slope, offset):
    ...     return slope * x + offset
    >>> x = np.linspace(0, 1, 20)
    >>> result = Model(line).fit(2 * x + 1, x=x, slope=1, offset=0)
    >>> round(result.best_values["slope"], 6)
    2.0
    """

    valid_forms: tuple[Any, ...] = ()

    def __init__(
        self,
        func: Callable[..., Any],
        independent_vars: Sequence[str] | None = None,
        param_names: Sequence[str] | None = None,
        nan_policy: str = "raise",
        prefix: str = "",
        name: str | None = None,
        **kws: Any,
    ) -> None:
        prefix = prefix if isinstance(prefix, str) else ""
        if prefix and not valid_symbol_name(prefix):
            raise ValueError(f"'{prefix}' is not a valid Model prefix")
        self.func = func
        self._prefix = prefix
        self._param_root_names = None if param_names is None else list(param_names)
        self.independent_vars: list[str] = list(independent_vars or [])
        self._asked_vars = independent_vars is not None
        self.independent_vars_defvals: dict[str, Any] = {}
        self.nan_policy = nan_policy
        self.opts = kws
        self.def_vals: dict[str, Any] = {}
        self.param_hints: dict[str, dict[str, Any]] = {}
        self._param_names: list[str] = []
        self._func_allargs: list[str] = []
        self._func_haskeywords = False
        self._name = name if name is not None else getattr(func, "__name__", "model")
        self._parse_params()

    def _parse_params(self) -> None:
        """Finds out which arguments of the function are what."""
        defaults: dict[str, Any] = {}
        for name, par in inspect.signature(self.func).parameters.items():
            if par.kind is par.VAR_KEYWORD:
                self._func_haskeywords = True
            elif par.kind is par.POSITIONAL_ONLY:
                raise ValueError("positional only arguments with '/' are not supported")
            elif par.kind is par.VAR_POSITIONAL:
                raise ValueError(f"varargs '*{name}' is not supported")
            else:
                defaults[name] = par.default
        self._func_allargs = list(defaults)
        if not defaults and self._func_haskeywords:
            self._param_names = [f"{self._prefix}{name}" for name in self._param_root_names or []]
            return
        numbers = {name for name, value in defaults.items() if _is_number(value)}
        others = [n for n, value in defaults.items() if value is not EMPTY and n not in numbers]
        if not self._asked_vars:
            first = next((name for name in defaults if name not in others), None)
            self.independent_vars = [] if first is None else [first]
            for name in others:
                self.independent_vars_defvals[name] = self.opts.get(name, defaults[name])
                if name not in self.independent_vars:
                    self.independent_vars.append(name)
            self._asked_vars = True
        if self._param_root_names is None:
            self._param_root_names = [
                name
                for name, value in defaults.items()
                if name not in self.independent_vars and (value is EMPTY or name in numbers)
            ]
        self.def_vals = {
            n: defaults[n] for n in defaults if n in numbers and n in self._param_root_names
        }
        self._read_options(others)
        self._check_names()
        self._param_names = [f"{self._prefix}{name}" for name in self._param_root_names]

    def _read_options(self, others: Sequence[str]) -> None:
        kept = {}
        for name, value in self.opts.items():
            if isinstance(value, Parameter) and (
                name in (self._param_root_names or []) or name in others
            ):
                self.set_param_hint(
                    name, value=value.value, min=value.min, max=value.max, expr=value.expr
                )
            elif name in self._func_allargs:
                kept[name] = value
        self.opts = kept

    def _check_names(self) -> None:
        name = getattr(self.func, "__name__", "?")
        for arg in self.independent_vars:
            if arg not in self._func_allargs or arg in FORBIDDEN:
                raise ValueError(f"Invalid independent variable name ('{arg}') for function {name}")
        for arg in self._param_root_names or []:
            full = f"{self._prefix}{arg}"
            if (arg not in self._func_allargs and not self._func_haskeywords) or full in FORBIDDEN:
                raise ValueError(f"Invalid parameter name ('{full}') for function {name}")

    def _reprstring(self, long: bool = True) -> str:
        said = [f"prefix='{self._prefix}'"] if self._prefix else []
        said += [f"{name}='{value}'" for name, value in self.opts.items()] if long else []
        return f"Model({', '.join([str(self._name), *said])})"

    @property
    def name(self) -> str:
        """What the model is called in reports."""
        return self._reprstring(long=True)

    @name.setter
    def name(self, value: str) -> None:
        self._name = value

    def __repr__(self) -> str:
        return self._reprstring(long=True)

    @property
    def prefix(self) -> str:
        """What stands before the names of its parameters."""
        return self._prefix

    @prefix.setter
    def prefix(self, value: str) -> None:
        self._prefix = value
        self._set_paramhints_prefix()
        self._parse_params()

    def _set_paramhints_prefix(self) -> None:
        """Writes the hints of built-in models anew, whose expressions hold the prefix."""

    @property
    def param_names(self) -> list[str]:
        """Names of the parameters, with the prefix."""
        return self._param_names

    @property
    def components(self) -> list[Model]:
        """The models that it is made of: itself."""
        return [self]

    def copy(self, **kwargs: Any) -> Model:
        """Refused: a model is made anew."""
        raise NotImplementedError("Model.copy does not work. Make a new Model")

    def set_param_hint(self, name: str, **kwargs: Any) -> None:
        """What `make_params` takes for a parameter: `value`, `vary`, `min`, `max`, `expr`. A name
        that is none of the function's becomes a further parameter."""
        hint = self.param_hints.setdefault(self._strip_prefix(name), {})
        for word, said in kwargs.items():
            if word in HINTS:
                hint[word] = said
            else:
                message = f"unknown parameter hint '{word}' for param '{name}'"
                warnings.warn(message, stacklevel=2)

    def print_param_hints(self, colwidth: int = 8) -> None:
        """Prints a table of the hints."""
        width = max(map(len, self.param_hints), default=4)
        heads = "".join(f" {word:>{colwidth}}" for word in ("Value", "Min", "Max", "Vary"))
        print(f"{'Name':{width}} {heads}    {'Expr':{colwidth}}")
        for name, hint in sorted(self.param_hints.items()):
            said = {
                "value": np.nan,
                "min": -np.inf,
                "max": np.inf,
                "vary": True,
                "expr": "",
                **hint,
            }
            cells = "".join(f" {said[word]:{colwidth}g}" for word in ("value", "min", "max"))
            print(f"{name:<{width}} {cells} {said['vary']!s:>{colwidth}}    {said['expr']}")

    def make_params(self, verbose: bool = False, **kwargs: Any) -> Parameters:
        """Parameters of the model: by defaults of the function, then by hints, then by keywords,
        which are numbers or dicts (`sigma={'value': 1, 'min': 0}`)."""
        params = Parameters()
        made: list[Parameter] = []
        roots = {name: self._strip_prefix(name) for name in self.param_names}
        extra = [f"{self._prefix}{base}" for base in self.param_hints]
        for name in [*roots, *(n for n in extra if n not in roots)]:
            base = roots.get(name, name[len(self._prefix) :])
            par = Parameter(name)
            if base in self.def_vals:
                par.value = par.init_value = self.def_vals[base]
            elif name in roots:
                for key, value in self.def_vals.items():
                    if key in name.lower():
                        par.value = value
            hint = self.param_hints.get(base, {})
            for word in HINTS:
                if word in hint:
                    setattr(par, word, hint[word])
            for key in dict.fromkeys((base, name)):
                if key in kwargs:
                    _set(par, kwargs[key])
            made.append(par)
            if verbose:
                print(f' - Adding parameter "{name}"')
        for key, value in kwargs.items():
            known = self.independent_vars_defvals.get(key, EMPTY)
            if key in self.independent_vars and (known is None or isinstance(known, bool)):
                par = Parameter(f"{self._prefix}{key}")
                _set(par, value)
                made.append(par)
        params.add_many(*made)
        self._param_names += [name for name in extra if name not in roots]
        return params

    def guess(self, data: Any, x: Any = None, **kws: Any) -> Parameters:
        """Starting values by the data, for built-in models."""
        raise NotImplementedError(f"guess() not implemented for {type(self).__name__}")

    def _strip_prefix(self, name: str) -> str:
        n = len(self._prefix)
        return name[n:] if n and name.startswith(self._prefix) else name

    def make_funcargs(
        self, params: Any = None, kwargs: Mapping[str, Any] | None = None, strip: bool = True
    ) -> dict[str, Any]:
        """The arguments with which the function is called."""
        kwargs = kwargs or {}
        params = params or {}
        out = dict(self.opts)
        out.update({n: v for n, v in self.independent_vars_defvals.items() if v is not EMPTY})

        def known(name: str) -> bool:
            return name in self._func_allargs or self._func_haskeywords

        roots = {name: self._strip_prefix(name) if strip else name for name in params}
        own = {name: root for name, root in roots.items() if known(root)}
        # With a prefix, a name that has it comes before one that is without.
        own.update({n: own.pop(n) for n in self._param_names if self._prefix and n in own})
        values = values_of(params, kwargs, own)
        out.update({root: values[name] for name, root in own.items()})
        for name, value in kwargs.items():
            name = self._strip_prefix(name) if strip else name
            if name in self.independent_vars or known(name):
                out[name] = value
        return out

    def _make_all_args(self, params: Any = None, **kwargs: Any) -> dict[str, Any]:
        args = self.make_funcargs(params, kwargs)
        return {f"{self._prefix}{name}": value for name, value in args.items()}

    def eval(self, params: Any = None, **kwargs: Any) -> Any:
        """The values of the function, with parameters by `params` and keywords."""
        args = self.make_funcargs(params, kwargs)
        func = self.func
        if any(isinstance(value, Recorded) for value in args.values()):
            func = recording(func)
        return coerce_arraylike(func(**args))

    def eval_components(self, params: Any = None, **kwargs: Any) -> dict[str, Any]:
        """The values of each model that it is made of, by prefix, or by name without one."""
        return {self._prefix or str(self._name): self.eval(params=params, **kwargs)}

    def post_fit(self, fitresult: Any) -> None:
        """Called with the result of each fit, for those who derive from a model."""

    def _residual(self, params: Any, data: Any, weights: Any, **kwargs: Any) -> Any:
        values = self.eval(params, **kwargs)
        if isinstance(values, Recorded):
            diff = data - values
            return diff if weights is None else diff * weights
        if self.nan_policy == "raise" and not np.all(np.isfinite(values)):
            raise ValueError(OF_MODEL_NAN)
        diff = np.asarray(data - values)
        if diff.dtype.kind == "c":
            diff = np.ascontiguousarray(diff).ravel().view(float)
            if weights is not None:
                w = np.broadcast_to(weights, np.shape(data))
                w = w if np.iscomplexobj(w) else w + 1j * w
                return diff * np.ascontiguousarray(w).ravel().view(float)
        return diff if weights is None else diff * weights

    def fit(
        self,
        data: Any,
        params: Parameters | None = None,
        weights: Any = None,
        method: str = "leastsq",
        iter_cb: Callable[..., Any] | None = None,
        scale_covar: bool = True,
        verbose: bool = False,
        fit_kws: Mapping[str, Any] | None = None,
        nan_policy: str | None = None,
        calc_covar: bool = True,
        max_nfev: int | None = None,
        coerce_farray: bool = True,
        **kwargs: Any,
    ) -> ModelResult:
        """Fits the model to data: Σ (weights · (data − model))² is the least at `params`.

        Independent variables, and values of parameters, are keywords. `method` is one of those of
        `Minimizer.minimize`, `fit_kws` are its further keywords.
        """
        params = self.make_params(verbose=verbose) if params is None else deepcopy(params)
        for name in [n for n in kwargs if n in self.param_names]:
            given = kwargs.pop(name)
            if isinstance(given, Parameter):
                own = deepcopy(given)
                params[name] = own
            else:
                params[name].set(value=given)
        for name in kwargs:
            if name not in self.independent_vars:
                message = (
                    f"The keyword argument {name} does not match any arguments of the model "
                    "function. It will be ignored."
                )
                warnings.warn(message, UserWarning, stacklevel=2)
        self._check_params(params)
        self.nan_policy = self.nan_policy if nan_policy is None else nan_policy
        mask = not_missing(data) if self.nan_policy == "omit" else None
        if mask is not None:
            data = data[mask]
        weights = aligned(weights, mask, data)
        for var in self.independent_vars:
            if var in params or var in self.opts or var in self.independent_vars_defvals:
                continue
            if var not in kwargs:
                raise ValueError(f"'Missing independent variable '{var}'")
            kwargs[var] = aligned(kwargs[var], mask, data)
        if coerce_farray:
            data = coerce_arraylike(data)
            for var in self.independent_vars:
                if var in kwargs and var not in params:
                    kwargs[var] = coerce_arraylike(kwargs[var])
        output = ModelResult(
            self,
            params,
            method=method,
            iter_cb=iter_cb,
            scale_covar=scale_covar,
            fcn_kws=kwargs,
            nan_policy=self.nan_policy,
            calc_covar=calc_covar,
            max_nfev=max_nfev,
            **(fit_kws or {}),
        )
        output.fit(data=data, weights=weights)
        output.components = self.components
        return output

    def _check_params(self, params: Parameters) -> None:
        missing = [name for name in self.param_names if name not in params]
        blank = [n for n, par in params.items() if par._val in (None, -np.inf) and par.expr is None]
        if missing or blank:
            raise ValueError(
                "Assign each parameter an initial value by passing Parameters or keyword arguments "
                f"to fit.\nMissing parameters: {missing}\nNon initialized parameters: {blank}"
            )

    def __add__(self, other: Any) -> CompositeModel:
        return _combined(self, other, operator.add)

    def __sub__(self, other: Any) -> CompositeModel:
        return _combined(self, other, operator.sub)

    def __mul__(self, other: Any) -> CompositeModel:
        return _combined(self, other, operator.mul)

    def __truediv__(self, other: Any) -> CompositeModel:
        return _combined(self, other, operator.truediv)

    def dumps(self, **kws: Any) -> str:
        """The model as JSON. A function that is no module's own is given again when it is read."""
        return model_dumps(self, **kws)

    def dump(self, fp: TextIO, **kws: Any) -> int:
        """Writes the JSON into a file."""
        return fp.write(self.dumps(**kws))

    def loads(self, s: str, funcdefs: Mapping[str, Any] | None = None, **kws: Any) -> Model:
        """The model of JSON, with functions by name in `funcdefs`."""
        return build_model(s, funcdefs, **kws)

    def load(self, fp: TextIO, funcdefs: Mapping[str, Any] | None = None, **kws: Any) -> Model:
        """The model of a file."""
        return self.loads(fp.read(), funcdefs=funcdefs, **kws)


def _combined(left: Model, right: Any, op: Callable[..., Any]) -> CompositeModel:
    from .composite import CompositeModel

    return CompositeModel(left, right, op)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, complex)) and not isinstance(value, bool)


def _set(par: Parameter, said: Any) -> None:
    if isinstance(said, Parameter):
        said = {"value": said.value, "min": said.min, "max": said.max, "vary": said.vary}
    if isinstance(said, Mapping):
        if "value" not in said and "expr" not in said:
            raise TypeError(f"Invalid parameter value for {par.name}: {said}")
        par.set(**said)
    else:
        par.set(value=said.real if isinstance(said, complex) else float(said))


def __getattr__(name: str) -> Any:
    if name == "CompositeModel":
        from .composite import CompositeModel

        return CompositeModel
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
