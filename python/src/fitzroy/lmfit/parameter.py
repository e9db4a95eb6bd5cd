"""Parameters of a fit: numbers with bounds, that vary, are held, or are tied by expressions."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from copy import deepcopy
from typing import Any, TextIO

import numpy as np

from ..tracing.nodes import Recorded
from .encoding import decoded, encoded
from .expressions import KNOWN, Expression, Scope, parsed, valid_symbol_name
from .number import Number, plain
from .printfuncs import params_html_table

__all__ = ["Parameter", "Parameters", "create_params"]

inf = math.inf
#: What `Parameter.__getstate__` and files keep, in their order.
STATE = "name value _vary expr min max brute_step stderr correl init_value user_data".split()
COLUMNS = ["value", "min", "max", "stderr", "vary", "expr", "brute_step"]


class Parameter(Number):
    """A number that a fit may change; in arithmetic it is its value.

    `vary` says whether it is fitted, `min` and `max` bound it, and `expr` ties it to others: then it
    does not vary. After a fit `stderr` is its standard error, `correl` its correlations with
    others by their names, and `init_value` what it started from.

    >>> p = Parameter("width", value=2.0, min=0)
    >>> p * 3
    6.0
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        name: str,
        value: Any = None,
        vary: bool = True,
        min: float | None = -inf,  # noqa: A002 - lmfit's words
        max: float | None = inf,  # noqa: A002
        expr: str | None = None,
        brute_step: float | None = None,
        user_data: Any = None,
    ) -> None:
        self.name = name
        self.user_data = user_data
        self.init_value = value
        self.brute_step = brute_step
        self.stderr: float | None = None
        self.correl: dict[str, float] | None = None
        self._owner: Parameters | None = None
        self._vary = vary
        self._expr = expr or None
        self._set_bounds(min, max)
        self._val: Any = -inf if value is None else value
        self._val = self._inside(self._val)

    def _set_bounds(self, low: float | None, high: float | None) -> None:
        low, high = -inf if low is None else low, inf if high is None else high
        if low > high:
            low, high = high, low
        if math.isclose(low, high, rel_tol=1e-13, abs_tol=1e-13):
            raise ValueError(f"Parameter '{self.name}' has min == max")
        self.min, self.max = low, high

    def set(
        self,
        value: Any = None,
        vary: bool | None = None,
        min: float | None = None,  # noqa: A002
        max: float | None = None,  # noqa: A002
        expr: str | None = None,
        brute_step: float | None = None,
        is_init_value: bool = True,
    ) -> None:
        """Changes what is given. A value or `vary=True` unties the parameter, and so does
        `expr=''`; `brute_step=0` takes the step away."""
        if vary is not None:
            self.vary = vary
        if min is not None:
            self.min = min
        if max is not None:
            self.max = max
        if value is not None:
            first = is_init_value or self._val in (None, -inf, inf)
            self.value = value
            if first:
                self.init_value = value
            self.expr = ""
        if expr is not None:
            self.expr = expr
        if brute_step is not None:
            self.brute_step = None if brute_step == 0.0 else brute_step

    @property
    def expression(self) -> Expression | None:
        """What ties the parameter, as it was read."""
        return None if self._expr is None else parsed(self._expr)

    def _inside(self, value: Any) -> Any:
        """The value between its bounds."""
        if isinstance(value, Recorded):
            if self.min > -inf:
                value = np.maximum(value, float(self.min))  # type: ignore[call-overload]
            return np.minimum(value, float(self.max)) if self.max < inf else value
        if value is None:
            return value
        if value > self.max:
            return self.max
        return self.min if value < self.min else value

    def _getval(self) -> Any:
        if self._expr is not None and self._owner is not None and not self._owner.adding:
            self._val = self._inside(self._owner.evaluated(parsed(self._expr), self.name))
        return self._val

    @property
    def value(self) -> Any:
        """The number, by its expression where it is tied."""
        return self._getval()

    @value.setter
    def value(self, value: Any) -> None:
        self._val = self._inside(value)

    @property
    def vary(self) -> bool:
        """Whether a fit changes it."""
        return self._vary

    @vary.setter
    def vary(self, value: bool) -> None:
        self._vary = value
        if value:
            self.expr = ""

    @property
    def expr(self) -> str | None:
        """The expression of other parameters that it is."""
        return self._expr

    @expr.setter
    def expr(self, text: str | None) -> None:
        self._expr = text or None
        if self._expr is not None:
            self._vary = False
            if self._owner is not None:
                self._owner.check(self)

    def __getstate__(self) -> tuple[Any, ...]:
        return tuple(getattr(self, word) for word in STATE)

    def __setstate__(self, state: Iterable[Any]) -> None:
        name, value, vary, expr, low, high, step, stderr, correl, first, data = state
        self.__init__(name, value, vary, low, high, expr, step, data)  # type: ignore[misc]
        self.stderr, self.correl, self.init_value = stderr, correl, first

    def __deepcopy__(self, memo: Any) -> Parameter:
        out = Parameter.__new__(Parameter)
        out.__dict__.update(self.__dict__)
        out._val, out._owner = self._getval(), None
        out.correl = None if self.correl is None else dict(self.correl)
        if self.user_data is not None:
            out.user_data = deepcopy(self.user_data, memo)
        return out

    def __repr__(self) -> str:
        value = f"value={self._getval()!r}"
        if not self._vary and self._expr is None:
            value += " (fixed)"
        elif self.stderr is not None:
            value += f" +/- {self.stderr:.3g}"
        parts = [value, f"bounds=[{self.min!r}:{self.max!r}]"]
        if self._expr is not None:
            parts.append(f"expr='{self._expr}'")
        if self.brute_step is not None:
            parts.append(f"brute_step={self.brute_step}")
        return f"<Parameter '{self.name}', {', '.join(parts)}>"


class Parameters(dict[str, Parameter]):
    """Parameters by their names, in the order in which they were added.

    `usersyms` are functions and numbers that expressions may read besides.

    >>> params = Parameters()
    >>> params.add("a", value=3, min=0)
    >>> params.add("b", expr="2 * a")
    >>> params["b"].value
    6.0
    """

    def __init__(self, usersyms: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self.symbols: dict[str, Any] = dict(usersyms or {})
        #: Whether parameters are being added whose expressions read others that are still to come.
        self.adding = False
        self._reading: list[str] = []

    @property
    def _asteval(self) -> Symbols:
        """What expressions know besides, under the name by which code that exists reaches it:
        `params._asteval.symtable["f"] = f`."""
        return Symbols(self)

    def evaluated(self, expression: Expression, name: str = "") -> Any:
        """The value of an expression of these parameters. Raises NameError for a name that is
        none, and RecursionError for parameters that are tied to each other in a ring."""
        if name and name in self._reading:
            ring = " -> ".join([*self._reading, name])
            raise RecursionError(f"parameters are tied in a ring: {ring}")
        if name:
            self._reading.append(name)
        try:
            scope = Scope(self.symbols)
            for read in expression.names:
                if read in self:
                    scope[read] = plain(self[read].value)
            return plain(expression(scope), exact=False)
        finally:
            if name:
                self._reading.pop()

    def check(self, par: Parameter) -> None:
        """Ties a parameter to its expression. Raises SyntaxError for one that is none."""
        if par.expr is not None:
            parsed(par.expr)
            par._vary = False

    def eval(self, expr: str) -> Any:
        """The value of an expression of these parameters."""
        return self.evaluated(parsed(expr))

    def copy(self) -> Parameters:
        """Another set of parameters with the same values."""
        return deepcopy(self)

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> Parameters:
        out = self.__class__()
        out.symbols = dict(self.symbols)
        out.add_many(*[deepcopy(par, memo) for par in self.values()])
        return out

    def update(self, other: Parameters) -> Parameters:  # type: ignore[override]
        """Takes over the parameters of another set, and its symbols."""
        if not isinstance(other, Parameters):
            raise ValueError(f"'{other}' is not a Parameters object")
        self.symbols.update(other.symbols)
        self.add_many(*other.values())
        return self

    def __setitem__(self, key: str, par: Parameter) -> None:
        if key not in self and not valid_symbol_name(key):
            raise KeyError(f"'{key}' is not a valid Parameters name")
        if not isinstance(par, Parameter):
            raise ValueError(f"'{par}' is not a Parameter")
        super().__setitem__(key, par)
        par.name = key
        par._owner = self
        self.check(par)
        if not self.adding:
            par._getval()

    def __add__(self, other: Parameters) -> Parameters:
        if not isinstance(other, Parameters):
            raise ValueError(f"'{other}' is not a Parameters object")
        out = deepcopy(self)
        out.symbols = {**other.symbols, **out.symbols}
        out.add_many(*deepcopy(other).values())
        return out

    def __iadd__(self, other: Parameters) -> Parameters:
        return self.update(other)

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray[Any, Any]:
        return np.array([float(par) for par in self.values()])

    def __reduce__(self) -> Any:
        return self.__class__, (), {"unique_symbols": self.symbols, "params": list(self.values())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.symbols = {**state["unique_symbols"], **self.symbols}
        self.add_many(*state["params"])

    def __eq__(self, other: object) -> bool:
        return self is other or dict.__eq__(self, other)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self.items())!r})" if self else "Parameters()"

    def update_constraints(self) -> None:
        """Brings the values of all parameters that are tied up to date."""
        for par in self.values():
            par._getval()

    def set(self, **kws: Any) -> None:
        """Sets values, or what a dict says (`{'value': 1, 'min': 0}`); a name that is new is added."""
        for name, said in kws.items():
            if name not in self:
                self[name] = Parameter(name)
            said = {"value": said} if isinstance(said, (float, int)) else said
            self[name].set(**{"is_init_value": True, **said})

    def add(
        self,
        name: str | Parameter,
        value: Any = None,
        vary: bool | None = None,
        min: float = -inf,  # noqa: A002
        max: float = inf,  # noqa: A002
        expr: str | None = None,
        brute_step: float | None = None,
        user_data: Any = None,
    ) -> None:
        """Adds a parameter: by what is said of it, or one that is there, whose gaps the further
        arguments fill."""
        par = name if isinstance(name, Parameter) else value
        if isinstance(par, Parameter):
            if par is value:
                par = deepcopy(par)
                par.name = str(name)
            if par.expr is None and expr is not None:
                par.expr = expr
            par.min = min if par.min in (None, -inf) else par.min
            par.max = max if par.max in (None, inf) else par.max
            par.brute_step = brute_step if par.brute_step is None else par.brute_step
            par.user_data = user_data if par.user_data is None else par.user_data
            if vary is not None:
                par.vary = vary
            self[par.name] = par
        else:
            wanted = True if vary is None else vary
            self[str(name)] = Parameter(
                str(name), value, wanted, min, max, expr, brute_step, user_data
            )

    def add_many(self, *parlist: Any) -> None:
        """Adds parameters, or tuples of the arguments of `Parameter`; one may be tied to another
        that comes later."""
        self.adding = True
        try:
            for par in parlist:
                par = par if isinstance(par, Parameter) else Parameter(*par)
                self[par.name] = par
        finally:
            self.adding = False

    def valuesdict(self) -> dict[str, Any]:
        """The values by name."""
        return {par.name: plain(par.value) for par in self.values()}

    def create_uvars(self, covar: Any = None) -> dict[str, Any]:
        """The parameters as numbers of the package `uncertainties`, with their correlations."""
        from .propagation import create_uvars

        return create_uvars(self, covar)

    def dumps(self, **kws: Any) -> str:
        """All parameters as JSON. Keywords are those of `json.dumps`."""
        state = {
            "unique_symbols": {name: encoded(value) for name, value in self.symbols.items()},
            "params": [par.__getstate__() for par in self.values()],
        }
        return json.dumps(state, **kws)

    def loads(self, s: str, **kws: Any) -> Parameters:
        """Parameters of JSON, in the place of these."""
        state = json.loads(s, **kws)
        read = {name: decoded(value) for name, value in state["unique_symbols"].items()}
        symbols = {name: value for name, value in read.items() if value is not None}
        self.clear()
        made = []
        for one in state["params"]:
            par = Parameter("")
            par.__setstate__(one)
            made.append(par)
        self.__setstate__({"unique_symbols": symbols, "params": made})
        return self

    def dump(self, fp: TextIO, **kws: Any) -> int:
        """Writes the JSON into a file."""
        return fp.write(self.dumps(**kws))

    def load(self, fp: TextIO, **kws: Any) -> Parameters:
        """Reads the JSON of a file."""
        return self.loads(fp.read(), **kws)

    def pretty_repr(self, oneline: bool = False) -> str:
        """The parameters as text, one on each line."""
        if oneline:
            return repr(self)
        rows = "".join(f"    '{name}': {par}, \n" for name, par in self.items())
        return "Parameters({\n" + rows + "    })\n"

    def pretty_print(
        self,
        oneline: bool = False,
        colwidth: int = 8,
        precision: int = 4,
        fmt: str = "g",
        columns: list[str] | None = None,
    ) -> None:
        """Prints a table of the parameters."""
        if oneline:
            print(self.pretty_repr(oneline=True))
            return
        columns = COLUMNS if columns is None else columns
        width = max(map(len, self), default=4)

        def cell(value: Any, number: bool) -> str:
            if number and value is not None:
                return f"{value:>{colwidth}.{precision}{fmt}}"
            return f"{value!s:>{colwidth}}"

        titles = [f"{name:>{colwidth}}" for name in columns]
        print(" ".join([f"{'name':{width}} ", *titles]).title())
        for name, par in sorted(self.items()):
            cells = [cell(getattr(par, c), c not in ("vary", "expr")) for c in columns]
            print(" ".join([f"{name:<{width}} ", *cells]))

    def _repr_html_(self) -> str:
        return params_html_table(self)


class Symbols(MutableMapping[str, Any]):
    """The names that expressions of parameters may read; those that are set are a user's own."""

    def __init__(self, params: Parameters) -> None:
        self._params = params
        self.eval = params.eval

    @property
    def symtable(self) -> Symbols:
        return self

    def user_defined_symbols(self) -> set[str]:
        return {*self._params, *self._params.symbols}

    def __getitem__(self, name: str) -> Any:
        if name in self._params:
            return self._params[name].value
        return self._params.symbols[name] if name in self._params.symbols else KNOWN[name]

    def __setitem__(self, name: str, value: Any) -> None:
        if name in self._params:
            self._params[name].value = value
        else:
            self._params.symbols[name] = value

    def __delitem__(self, name: str) -> None:
        del self._params.symbols[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self._params, **self._params.symbols, **KNOWN})

    def __len__(self) -> int:
        return len({**self._params, **self._params.symbols, **KNOWN})


def create_params(**kws: Any) -> Parameters:
    """Parameters by name: numbers, or dicts of what is said of them.

    >>> create_params(a=2, b={"value": 1, "min": 0})["b"].min
    0
    """
    params = Parameters()
    params.set(**kws)
    return params
