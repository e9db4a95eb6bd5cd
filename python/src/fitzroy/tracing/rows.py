"""An x with several columns, as a function sees it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from .nodes import NoAttribute, Untraceable

__all__ = ["Rows"]


class Rows:
    """x with further axes before that of the points: x[0], or a, b = x."""

    __slots__ = ("_parts",)

    def __init__(self, parts: np.ndarray[Any, Any]) -> None:
        self._parts = parts

    @staticmethod
    def _of(parts: Any) -> Any:
        return Rows(parts) if isinstance(parts, np.ndarray) and parts.ndim else _item(parts)

    def __getitem__(self, key: Any) -> Any:
        keys = key if isinstance(key, tuple) else (key,)
        axes = self._parts.ndim + 1
        if Ellipsis in [k for k in keys if k is Ellipsis]:
            at = next(i for i, k in enumerate(keys) if k is Ellipsis)
            missing = axes - (len(keys) - 1)
            keys = (*keys[:at], *[slice(None)] * missing, *keys[at + 1 :])
        keys = (*keys, *[slice(None)] * (axes - len(keys)))
        last = keys[self._parts.ndim :]
        if last != (slice(None),):
            raise Untraceable("the function picks single points")
        return Rows._of(self._parts[keys[: self._parts.ndim]])

    def squeeze(self, *_: object) -> Any:
        return Rows._of(self._parts.squeeze())

    def __iter__(self) -> Iterator[Any]:
        return (Rows._of(part) for part in self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def __array__(self, *_: object, **__: object) -> NoReturn:
        raise Untraceable("the function computes with all columns of x at once")

    def __getattr__(self, name: str) -> NoReturn:
        raise NoAttribute(f"the function uses `.{name}` of all columns of x at once")


def _item(part: Any) -> Any:
    return part.item() if isinstance(part, np.ndarray) else part
