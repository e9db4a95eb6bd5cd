"""What is told of models of other packages that are converted to text."""

from __future__ import annotations

__all__ = ["ConversionWarning", "Unconvertible"]


class Unconvertible(Exception):
    """What of a model has no counterpart in the language."""

    def __init__(self, what: str, why: str = "") -> None:
        super().__init__(f"{what}: {why}" if why else what)
        self.what = what


class ConversionWarning(UserWarning):
    """Something of a model of another package is done otherwise than asked."""
