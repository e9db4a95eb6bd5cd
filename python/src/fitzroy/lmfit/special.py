"""Functions that are formulas of the language of curves.

Of numbers and arrays they give values, of values that record a trace another such value, so that a
curve made of them is fitted as a formula.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from ..curves.function import compiled
from ..tracing.numpy_calls import Traced

__all__ = ["Formula", "SPECIAL", "of_special"]

Array = np.ndarray[Any, Any]


#: An argument without a default.
NEEDED: Any = object()


#: A parameter that no formula reads.
UNIT = "unit_of_formula"


class Formula:
    """A function of named arguments as a text of the language of curves."""

    def __init__(
        self,
        name: str,
        module: str,
        arguments: dict[str, float | None],
        text: str,
        doc: str = "",
        instead: dict[str, str] | None = None,
    ) -> None:
        self.__name__ = self.__qualname__ = name
        self.__module__ = module
        self.__doc__ = f"{doc} The formula: `{text}`.".strip()
        self.text = text
        self.__signature__ = inspect.Signature(
            [
                inspect.Parameter(
                    argument,
                    inspect.Parameter.POSITIONAL_OR_KEYWORD,
                    default=inspect.Parameter.empty if default is NEEDED else default,
                )
                for argument, default in arguments.items()
            ]
        )
        self._defaults = arguments
        #: The argument whose value another has that is None.
        self._instead = instead or {}
        words = re.split(rf"\b({'|'.join(map(re.escape, arguments))})\b", text)
        #: The arguments in the order in which the formula reads them, and the form with places
        #: for them: what is read twice has two places, so that a long one gets a name.
        self._read = words[1::2]
        self._form = "".join(
            word if k % 2 == 0 else f"({{{k // 2}}})" for k, word in enumerate(words)
        )

    def at(self, *arguments: str) -> str:
        """The formula of other formulas."""
        places = dict(zip(self._defaults, arguments))
        return self._form.format(*[places[name] for name in self._read])

    def __reduce__(self) -> str:
        return self.__name__

    def __repr__(self) -> str:
        return f"<function {self.__name__}{self.__signature__}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        given = self.__signature__.bind(*args, **kwargs).arguments
        values = {**self._defaults, **given}
        for name, other in self._instead.items():
            if values[name] is None:
                values[name] = values[other]
        recorded = next((v for v in values.values() if isinstance(v, Traced)), None)
        if recorded is not None:
            return recorded.form(f"({self._form})", *[values[name] for name in self._read])
        return evaluate(self.text, values)


def evaluate(text: str, values: dict[str, Any]) -> Any:
    """A formula at numbers and arrays, which are broadcast."""
    arrays = [np.asarray(v) for v in values.values()]
    if any(a.dtype.kind == "c" for a in arrays):
        raise TypeError(f"`{text}` is a formula of real numbers, and an argument is complex")
    shape = np.broadcast_shapes(*[a.shape for a in arrays])
    columns = []
    for name, array in zip(values, arrays):
        column = np.empty(shape)
        column[...] = array
        columns.append((name, column.reshape(-1)))
    # A curve has a parameter.
    found = np.asarray(compiled(f"{UNIT}*({text})").pointwise(columns, [1.0])[0])
    if shape == ():
        return float(found[0])
    return np.array(np.broadcast_to(found, columns[0][1].shape)).reshape(shape)


def _special(name: str, arguments: str, text: str, doc: str) -> Formula:
    return Formula(name, __name__, dict.fromkeys(arguments.split(), NEEDED), text, doc)


#: The rest of Stirling's series of log Γ at z + SHIFT, of which the error is below rounding.
SHIFT = 8


def _log_abs_gamma(a: str, b: str) -> str:
    """log |Γ(a + ib)| for a above 0: the series of Stirling, SHIFT to the right."""
    steps = " + ".join(f"log(({a} + {k})^2 + {b}^2)" for k in range(SHIFT))
    x = f"({a} + {SHIFT})"
    r2 = f"({x}^2 + {b}^2)"
    angle = f"atan2({b}, {x})"
    main = f"({x} - 0.5)*0.5*log({r2}) - {b}*{angle} - {x} + 0.5*log(2*pi)"
    terms = ((1 / 12, 1), (-1 / 360, 3), (1 / 1260, 5), (-1 / 1680, 7), (1 / 1188, 9))
    series = " + ".join(
        f"({factor!r})*cos({power}*{angle})*{r2}^({-power / 2!r})" for factor, power in terms
    )
    return f"({main} + {series} - 0.5*({steps}))"


erf = _special("erf", "z", "erf(z)", "The error function.")
erfc = _special("erfc", "z", "erfc(z)", "1 − erf(z).")
erfcx = _special("erfcx", "z", "erfcx(z)", "exp(z²) erfc(z).")
gamfcn = _special("gamfcn", "z", "gamma(z)", "Γ(z).")
loggammafcn = _special("loggammafcn", "z", "lgamma(z)", "log |Γ(z)|.")
betalnfnc = _special("betalnfnc", "a b", "log_beta(a, b)", "The logarithm of the beta function.")
log_abs_gamma = _special(
    "log_abs_gamma", "a b", _log_abs_gamma("a", "b"), "log |Γ(a + ib)|, for a above 0."
)
#: Iₓ(a, b).
beta_inc = _special("beta_inc", "a b z", "beta_inc(a, b, z)", "The incomplete beta function.")

#: What an expression may call, besides functions of NumPy.
SPECIAL: dict[str, Callable[..., Any]] = {
    f.__name__: f for f in (erf, erfc, erfcx, gamfcn, loggammafcn, betalnfnc, log_abs_gamma)
}


def of_special(name: str) -> Any:
    """SciPy's function of this name, where it is installed."""
    try:
        from scipy import special
    except ImportError:
        message = f"`{name}` is SciPy's function of complex numbers: pip install scipy"
        raise NameError(message) from None
    return getattr(special, name)
