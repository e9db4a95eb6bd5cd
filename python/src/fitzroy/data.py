"""Data of any kind as arrays by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .arrays import host

__all__ = ["Data", "bound", "numbers_of", "seed_of", "starts_of"]

Array = np.ndarray[Any, Any]
#: What the library takes: float64, or the shape and the labels of text.
Bound = dict[str, Any]


class Data:
    """Arrays by name, and labels of dims."""

    def __init__(self) -> None:
        self.arrays: Bound = {}
        #: Labels of dims as they were given, for the result.
        self.coords: dict[str, Array] = {}


def bound(data: Any, coords: Mapping[str, Any] | None = None) -> Data:
    """Arrays of a dict, of the columns of a pandas or polars data frame, of an xarray Dataset.

    Labels in `coords`, and coordinates of a Dataset, become labels of the model's dims.
    Raises TypeError and ValueError for what is no array of numbers or labels.
    """
    out = Data()
    for name, value in _items(data):
        out.arrays[str(name)] = _array(str(name), value)
    labels = dict(getattr(data, "coords", {})) if hasattr(data, "data_vars") else {}
    labels.update(coords or {})
    for name, value in labels.items():
        values = np.asarray(host(value))
        if values.ndim != 1:
            raise ValueError(f"coords['{name}'] needs one axis; it has {values.ndim}")
        out.coords[str(name)] = values
        # A dim of the model is labelled by data that are called as it is.
        if str(name) not in out.arrays and len(set(values.tolist())) == len(values):
            out.arrays[str(name)] = ([len(values)], [str(v) for v in values.tolist()])
    return out


def _items(data: Any) -> list[tuple[Any, Any]]:
    if data is None:
        return []
    if isinstance(data, Mapping) and not hasattr(data, "data_vars"):
        return list(data.items())
    if hasattr(data, "data_vars"):
        return list(data.data_vars.items())
    if hasattr(data, "columns"):
        return [(name, data[name]) for name in data.columns]
    raise TypeError(
        f"data is a {type(data).__name__}; it may be a dict, a data frame or an xarray Dataset"
    )


def _array(name: str, value: Any) -> Any:
    """An array for the library."""
    if hasattr(value, "to_numpy"):
        value = value.to_numpy()
    array = np.asarray(host(value))
    if array.dtype.kind in "fiub":
        return np.asarray(array, dtype=float)
    if array.dtype.kind in "US" or _is_text(array):
        return (list(array.shape), [str(v) for v in array.ravel().tolist()])
    if array.dtype.kind == "O":
        try:
            return array.astype(float)
        except (TypeError, ValueError):
            pass
    raise TypeError(
        f"data['{name}'] has elements of type {array.dtype}; it needs numbers or text, in rows of "
        "equal length"
    )


def starts_of(initvals: Any) -> list[Bound] | None:
    """Values at which chains start: one set for all, or one for each."""
    if initvals is None:
        return None
    sets = [initvals] if isinstance(initvals, Mapping) else initvals
    if not isinstance(sets, Sequence) or not all(isinstance(one, Mapping) for one in sets):
        raise TypeError("initvals needs a dict of values by parameter, or one such dict per chain")
    return [{str(k): numbers_of(str(k), value) for k, value in one.items()} for one in sets]


def numbers_of(name: str, value: Any) -> Array:
    """The value of a variable at which chains start."""
    try:
        return np.array(host(value), dtype=float)
    except (TypeError, ValueError) as error:
        raise TypeError(f"initvals['{name}'] needs numbers: {error}") from error


def _is_text(array: Array) -> bool:
    return array.dtype.kind == "O" and all(isinstance(v, str) for v in array.ravel().tolist())


def seed_of(random_seed: Any) -> int:
    """One seed, from whatever NumPy and PyMC take for one."""
    if random_seed is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> 1)
    if hasattr(random_seed, "integers"):
        return int(random_seed.integers(2**62))
    if hasattr(random_seed, "randint"):
        return int(random_seed.randint(2**31 - 1))
    if isinstance(random_seed, np.random.SeedSequence):
        return int(random_seed.generate_state(1, np.uint64)[0] >> 1)
    if isinstance(random_seed, (Sequence, np.ndarray)):
        return int(np.random.SeedSequence([abs(int(s)) for s in random_seed]).generate_state(1)[0])
    seed = int(random_seed)
    if seed < 0:
        raise ValueError(f"random_seed={seed}: needs a whole number that is not negative")
    return seed
