"""Models written in Python: each call writes a statement of the language of models.

Names of distributions and functions are those of the language, which checks every statement.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable
from html import escape
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from . import _fitzroy
from .model import Model
from .tracing.numpy_calls import UFUNCS

__all__ = ["Builder", "Term"]

#: Dims behind a name.
Dims = str | Iterable[str]


class Term(NDArrayOperatorsMixin):
    """A name or an expression of a model. Operators, indices and NumPy's functions of it are
    expressions of the same model."""

    __array_priority__ = 1e6

    def __init__(self, text: str) -> None:
        #: As it stands in the model.
        self.text = text

    def __repr__(self) -> str:
        return self.text

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: object, **kwargs: object
    ) -> Term:
        if ufunc.__name__ == "matmul" and method == "__call__":
            return Term("({} @ {})".format(*map(_text, inputs)))
        form = UFUNCS.get(ufunc.__name__)
        if method != "__call__" or kwargs or form is None:
            raise TypeError(f"np.{ufunc.__name__} has no counterpart in a model")
        return Term(form.format(*map(_text, inputs)))

    def __getitem__(self, at: Any) -> Term:
        places = at if isinstance(at, tuple) else (at,)
        return Term(f"{self.text}[{', '.join(map(_place, places))}]")

    def __iter__(self) -> Any:
        raise TypeError(f"`{self.text}` has elements in the model, and none in Python")

    def __bool__(self) -> bool:
        raise TypeError(f"`{self.text}` has no truth in Python; write where(condition, a, b)")

    __hash__ = object.__hash__


class Distribution:
    """A distribution with its arguments, as an argument of others."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


class Distributions:
    """Distributions as arguments: `m.dist.Normal(0, 1)`."""

    def __getattr__(self, name: str) -> Callable[..., Distribution]:
        usage = _usage(name)

        def call(*args: Any, **kwargs: Any) -> Distribution:
            return Distribution(_call(name, args, kwargs))

        call.__doc__ = usage
        return call


class Builder:
    """A model of the language, statement by statement.

    >>> m = Builder()
    >>> y = m.data("y", "obs")
    >>> mu = m.Normal("mu", 0, 10)
    >>> _ = m.Normal(y, mu, 1)
    >>> m.model.sample({"y": [1.2, 0.7]})  # doctest: +SKIP

    `m.Normal(name, ...)` is the statement `name ~ Normal(...)`, with every distribution of the
    language: of a new name, a parameter with this prior, and of data, a likelihood. `m.exp(x)` is
    a function of the language, with every one that it has; NumPy's work, too. A statement that is
    wrong raises ValueError where it is made.
    """

    #: Distributions as arguments: `m.Mixture(y, w, m.dist.Normal(0, 1), m.dist.Normal(a, 1))`.
    dist = Distributions()

    def __init__(self) -> None:
        self._statements: list[str] = []

    @property
    def text(self) -> str:
        """The model as text."""
        return _fitzroy.canonical("\n".join(self._statements) + "\n")

    @property
    def model(self) -> Model:
        """The model, to be sampled."""
        return Model(self.text)

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.text)}</pre>"

    def say(self, statement: str) -> None:
        """Adds a statement that is written in the language."""
        self._statements.append(statement)
        try:
            _fitzroy.canonical("\n".join(self._statements) + "\n")
        except ValueError:
            self._statements.pop()
            raise

    def data(
        self, name: str, *dims: str, whole: bool = False, into: str | None = None, first: int = 0
    ) -> Term:
        """Declares data: `whole` numbers, or positions or labels of the dim `into`, of which the
        `first` position is 0 or 1."""
        kind = ": int" if whole else ""
        if into is not None:
            kind = f" in {into}" + (f" from {first}" if first else "")
        self.say(f"data {name}{_dims(dims)}{kind}")
        return Term(name)

    def dim(self, name: str, size: Any) -> Term:
        """Declares a dim: its size, or labels."""
        self.say(f"dim {name} = {_text(size)}")
        return Term(name)

    def let(self, name: str, value: Any, dims: Dims = ()) -> Term:
        """Gives an expression a name."""
        self.say(f"let {name}{_dims(dims)} = {_text(value)}")
        return Term(name)

    def record(self, name: str, value: Any, dims: Dims = ()) -> Term:
        """Gives an expression a name, and records it for every draw."""
        self.say(f"{name}{_dims(dims)} = {_text(value)}")
        return Term(name)

    def predict(self, name: str, value: Any, dims: Dims = ()) -> Term:
        """Draws from a distribution (`m.dist.Normal(mu, 1)`), or computes, after sampling."""
        sign = "~" if isinstance(value, Distribution) else "="
        self.say(f"predict {name}{_dims(dims)} {sign} {_text(value)}")
        return Term(name)

    def target(self, value: Any) -> None:
        """Adds to the log density."""
        self.say(f"target += {_text(value)}")

    def __getattr__(self, name: str) -> Callable[..., Term]:
        usage = _usage(name)
        call = self._distribution(name) if name[0].isupper() else _function(name)
        call.__doc__ = usage
        return call

    def __dir__(self) -> list[str]:
        return sorted({*object.__dir__(self), *_fitzroy.names()})

    def _distribution(self, name: str) -> Callable[..., Term]:
        def call(
            target: str | Term,
            *args: Any,
            dims: Dims = (),
            truncated: tuple[Any, Any] | None = None,
            bounded: tuple[Any, Any] | None = None,
            ordered: bool = False,
            centred: bool = False,
            **kwargs: Any,
        ) -> Term:
            line = f"{_text(target) if isinstance(target, Term) else target}{_dims(dims)}"
            line += f" ~ {_call(name, args, kwargs)}"
            for word, ends in (("truncated", truncated), ("bounded", bounded)):
                if ends is not None:
                    line += f" {word}({_ends(ends)})"
            line += (" ordered" if ordered else "") + (" @ centred" if centred else "")
            self.say(line)
            return target if isinstance(target, Term) else Term(target)

        return call


def _function(name: str) -> Callable[..., Term]:
    def call(*args: Any, **kwargs: Any) -> Term:
        return Term(_call(name, args, kwargs))

    return call


def _usage(name: str) -> str:
    if name.startswith("_"):
        raise AttributeError(name)
    return _fitzroy.usage(name)


def _call(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    given = [_text(arg) for arg in args]
    # The axis of a function is the name of a dim.
    named = [f"{k}={v if k == 'axis' else _text(v)}" for k, v in kwargs.items()]
    return f"{name}({', '.join([*given, *named])})"


def _text(value: Any) -> str:
    if isinstance(value, (Term, Distribution)):
        return value.text
    if isinstance(value, str):
        return '"' + value.replace('"', "'") + '"'
    if isinstance(value, numbers.Real):
        return _number(float(value)) if not isinstance(value, numbers.Integral) else str(int(value))
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_text, value))}]"
    kind = type(value).__name__
    raise TypeError(
        f"a {kind} in a model: declare arrays with data(name, dims), and give them to sample"
    )


def _number(value: float) -> str:
    if np.isnan(value):
        raise ValueError("a model has no value that is not a number")
    if np.isinf(value):
        return "inf" if value > 0 else "(-inf)"
    return repr(value)


def _dims(dims: Dims) -> str:
    names = [dims] if isinstance(dims, str) else list(dims)
    return f"[{', '.join(names)}]" if names else ""


def _place(at: Any) -> str:
    if isinstance(at, slice):
        if at.step is not None:
            raise TypeError("slices of a model have no step")
        return ":".join("" if end is None else _text(end) for end in (at.start, at.stop))
    # A string is the name of a dim, as in m.let(..., dims=...).
    return at if isinstance(at, str) else _text(at)


def _ends(ends: tuple[Any, Any]) -> str:
    lower, upper = ends
    named = (("lower", lower), ("upper", upper))
    return ", ".join(f"{name}={_text(end)}" for name, end in named if end is not None)
