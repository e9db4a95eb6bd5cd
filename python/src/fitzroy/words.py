"""Named arguments as settings of the library: names and values in words."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

__all__ = ["words"]


def words(settings: Mapping[str, Any]) -> list[str]:
    """`name=value` for each value that is given, once for each element of a list.

    A setting that is on or off is `name`, or left out; `use_NAME=False` is `no_NAME`.
    """
    out = []
    for name, value in settings.items():
        if value is None:
            continue
        if isinstance(value, bool):
            if value:
                out.append(name)
            elif name.startswith("use_"):
                out.append(f"no_{name[4:]}")
        elif isinstance(value, (list, tuple)):
            out.extend(f"{name}={_word(one)}" for one in value)
        else:
            out.append(f"{name}={_word(value)}")
    return out


def _word(value: Any) -> str:
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    return str(value.item() if hasattr(value, "item") else value)
