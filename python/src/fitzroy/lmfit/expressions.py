"""Expressions of Python over named numbers: what ties parameters, and curves as text.

They are a part of Python that reads numbers and calls functions of numbers: no statements, no names
that begin with an underscore, and nothing but what is in the names that they are given.
"""

from __future__ import annotations

import ast
import builtins
import keyword
import math
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from ..tracing.plain import counterpart
from .special import SPECIAL, of_special

__all__ = ["KNOWN", "Expression", "Scope", "parsed", "valid_symbol_name"]

#: Functions and constants of NumPy that expressions know by their names.
OF_NUMPY = (
    "abs absolute add angle any all arange arccos arccosh arcsin arcsinh arctan arctan2 arctanh "
    "argmax argmin array asarray cbrt ceil clip concatenate conj conjugate convolve copysign cos cosh "
    "cross cumprod cumsum deg2rad degrees diff divide dot e exp exp2 expm1 fabs finfo float_power "
    "floor fmax fmin fmod greater heaviside hypot imag inf inner interp isfinite isinf isnan less "
    "linspace log log10 log1p log2 logaddexp logical_and logical_not logical_or maximum mean median "
    "minimum mod multiply nan nanmax nanmean nanmin nansum negative newaxis ones ones_like outer pi "
    "piecewise polyval power prod rad2deg radians real reciprocal remainder round select sign sin "
    "sinc sinh size sort sqrt square std subtract sum take tan tanh trunc unwrap var where zeros "
    "zeros_like"
).split()
#: Functions of Python.
OF_PYTHON = "abs bool complex float int len max min pow range round sum".split()
OF_PYTHON_MATH = {"acos": np.arccos, "asin": np.arcsin, "atan": np.arctan, "atan2": np.arctan2}
#: Functions of complex numbers, which are SciPy's.
OF_SCIPY = ("wofz",)
#: What an expression may be made of.
NODES = (
    ast.Expression,
    ast.BinOp,
    ast.UnaryOp,
    ast.BoolOp,
    ast.Compare,
    ast.IfExp,
    ast.Call,
    ast.keyword,
    ast.Name,
    ast.Load,
    ast.Constant,
    ast.Attribute,
    ast.Subscript,
    ast.Slice,
    ast.Tuple,
    ast.List,
    ast.operator,
    ast.unaryop,
    ast.boolop,
    ast.cmpop,
)
#: Methods by which a text reads what it was not given.
REFUSED = ("format", "format_map")


def _known() -> dict[str, Any]:
    out: dict[str, Any] = {name: getattr(np, name) for name in OF_NUMPY}
    out.update(SPECIAL)
    out.update(OF_PYTHON_MATH)
    for name in OF_PYTHON:
        out[name] = counterpart(getattr(builtins, name))
    for name in ("factorial", "floor", "ceil"):
        out.setdefault(name, getattr(math, name))
    return out


#: Names that every expression knows.
KNOWN = _known()


def valid_symbol_name(name: str) -> bool:
    """Whether a parameter can have this name."""
    return isinstance(name, str) and name.isidentifier() and not keyword.iskeyword(name)


class Expression:
    """An expression that has been read."""

    __slots__ = ("code", "names", "text")

    def __init__(self, text: str) -> None:
        tree = ast.parse(text.strip(), mode="eval")
        names: dict[str, None] = {}
        for node in _in_order(tree):
            if not isinstance(node, NODES):
                raise SyntaxError(
                    f"an expression of numbers has no {type(node).__name__.lower()}: {text!r}"
                )
            if isinstance(node, ast.Name):
                names[node.id] = None
            elif isinstance(node, ast.Attribute) and (
                node.attr.startswith("_") or node.attr in REFUSED
            ):
                raise SyntaxError(f"an expression does not read `.{node.attr}`: {text!r}")
        private = [name for name in names if name.startswith("__") and name.endswith("__")]
        if private:
            raise NameError(f"name '{private[0]}' is not defined")
        self.text = text
        #: The names that it reads, in the order in which they stand.
        self.names = list(names)
        self.code = compile(tree, "<expression>", "eval")

    def __call__(self, scope: Mapping[str, Any]) -> Any:
        """The value. Raises NameError for a name that the scope does not have."""
        return eval(self.code, {"__builtins__": {}}, scope)


def _in_order(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _in_order(child)


@lru_cache(maxsize=1024)
def parsed(text: str) -> Expression:
    """The expression of a text. Raises SyntaxError for what is none."""
    return Expression(text)


class Scope(dict[str, Any]):
    """Names that a user gave, and all that expressions know."""

    def __init__(self, own: Mapping[str, Any] | None = None) -> None:
        super().__init__(own or {})

    def __missing__(self, name: str) -> Any:
        if name in KNOWN:
            return KNOWN[name]
        if name in OF_SCIPY:
            return of_special(name)
        raise NameError(f"name '{name}' is not defined")

    def knows(self, name: str) -> bool:
        """Whether the name means anything."""
        return name in self or name in KNOWN or name in OF_SCIPY
