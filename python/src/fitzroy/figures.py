"""Figures of draws."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from . import _fitzroy
from .traces import draws_of

__all__ = ["Figure", "plot"]


class Figure:
    """A figure, which notebooks show."""

    def __init__(self, kind: str, drawn: _fitzroy.Figure) -> None:
        self.kind = kind
        self._drawn = drawn

    @property
    def svg(self) -> str:
        """The figure as the text of an SVG file."""
        return self._drawn.svg()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the figure; the ending of `path` chooses .png, .svg or .pdf."""
        made = self._drawn.file(os.fspath(path))
        Path(path).write_bytes(made)

    def __repr__(self) -> str:
        return f"<fitzroy figure '{self.kind}'; .save(path) writes it>"

    def _repr_svg_(self) -> str:
        return self.svg


def plot(
    draws: Any,
    kind: str = "trace",
    *,
    var_names: str | Iterable[str] | None = None,
    reference: float | Mapping[str, float] | None = None,
    rope: Sequence[float] | None = None,
    ci_prob: float = 0.89,
    width: float = 1100,
    dark: bool = False,
) -> Figure:
    """A figure of draws: one of those of `fitzroy plot`.

    `draws` are what `sample` returns, what ArviZ keeps, or a path, see `read`; for a forest also a
    dict of several by their names, which are shown side by side. `kind` is 'trace', 'rank',
    'posterior', 'forest', 'pair', 'energy', 'autocorr', 'ess', 'ppc', 'prior-predictive', 'loo-pit',
    'khat' or 'parallel'.

    `var_names` are variables (`theta`) or elements (`theta[Choate]`); without them scalars are shown
    first, then the worst. Posteriors are compared with `reference`, a number for all or a dict by name,
    and with the region of practical equivalence `rope`, two ascending numbers. Intervals hold
    `ci_prob`. `width` is in pixels, of which PNG has one and a half as many.

    Raises ValueError for unknown kinds and variables, and for a kind that needs what the draws lack.
    """
    several = _is_several(draws)
    if several and kind != "forest":
        raise ValueError(f"draws are a dict of {len(draws)} sets; kind='{kind}' shows one of them")
    named = draws.items() if several else [("draws", draws)]
    options = {
        "var_names": [var_names] if isinstance(var_names, str) else list(var_names or []),
        "reference": _references(reference),
        "rope": _rope(rope),
        "ci_prob": ci_prob,
        "width": width,
        "dark": dark,
    }
    return Figure(kind, _fitzroy.figure([(str(n), draws_of(d)) for n, d in named], kind, options))


def _is_several(draws: Any) -> bool:
    """Whether these are draws by name, and not the groups of one set."""
    if type(draws) is not dict or not draws:
        return False
    paths = (str, os.PathLike)
    return all(isinstance(one, paths) or hasattr(one, "groups") for one in draws.values())


def _references(reference: Any) -> list[tuple[str, float]]:
    if reference is None:
        return []
    if isinstance(reference, Mapping):
        return [(str(name), _number(f"reference['{name}']", v)) for name, v in reference.items()]
    return [("", _number("reference", reference))]


def _rope(rope: Any) -> list[float] | None:
    if rope is None:
        return None
    try:
        low, high = rope
    except (TypeError, ValueError):
        raise TypeError(f"rope={rope!r}: needs two numbers") from None
    return [_number("rope", low), _number("rope", high)]


def _number(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name}={value!r}: needs a number") from None
