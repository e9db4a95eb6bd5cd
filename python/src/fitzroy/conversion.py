"""What is told of models of other packages that are converted to text."""

from __future__ import annotations

__all__ = ["ConversionWarning", "Slopeless", "Unconvertible"]


class Unconvertible(Exception):
    """What of a model has no counterpart in the language."""

    def __init__(self, what: str, why: str = "") -> None:
        super().__init__(f"{what}: {why}" if why else what)
        self.what = what


class Slopeless(Unconvertible):
    """A model whose density has no slopes to follow, as that of a simulator has none."""


class ConversionWarning(UserWarning):
    """Something of a model of another package is done otherwise than asked."""
