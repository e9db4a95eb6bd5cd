"""Data of any kind as arrays by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import _fitzroy
from .arrays import host

__all__ = ["Data", "bound", "is_text", "numbers_of", "seed_of", "starts_of"]

Array = np.ndarray[Any, Any]
#: What the library takes: float64, or the shape and the labels of text.
Bound = dict[str, Any]


class Data:
    """Arrays by name, and labels of dims."""

    def __init__(self) -> None:
        self.arrays: Bound = {}
        #: Labels of dims as they were given, for the result.
        self.coords: dict[str, Array] = {}


def bound(data: Any, coords: Mapping[str, Any] | None, text: str) -> Data:
    """Arrays of a dict, of the columns of a pandas or polars data frame, of an xarray Dataset, for
    the model `text`.

    Labels in `coords`, coordinates of a Dataset, the categories of a column that indexes a dim, and
    an index of a data frame that is called as a dim, become labels of the model's dims. What the
    model does not declare may be of any kind.
    Raises TypeError and ValueError for what is no array of numbers or labels.
    """
    declared, dims = _fitzroy.declared(text)
    indexes = {name: of for name, _, of in declared if of is not None}
    dims_of = {name: of for name, of, _ in declared}
    needed = {name for name, _, _ in declared} | set(dims)
    out = Data()
    labels = dict(getattr(data, "coords", {})) if hasattr(data, "data_vars") else {}
    labels.update(_index(data, dims))
    for name, value in _items(data):
        name = str(name)
        try:
            out.arrays[name] = _array(name, _in_order(name, value, dims_of.get(name, ())))
        except TypeError:
            if name in needed:
                raise
            continue
        if name in indexes:
            levels = _levels(value)
            if levels is not None:
                labels.setdefault(indexes[name], levels)
    for name, value in (coords or {}).items():
        if str(name) not in dims:
            known = "', '".join(dims)
            has = f"it has '{known}'" if dims else "it has none"
            raise ValueError(f"coords['{name}']: the model has no dim of this name; {has}")
        labels[name] = value
    for name, value in labels.items():
        values = np.asarray(host(value))
        if values.ndim != 1:
            raise ValueError(f"coords['{name}'] needs one axis; it has {values.ndim}")
        if name in (coords or {}):
            _check_length(str(name), len(values), declared, out.arrays)
        out.coords[str(name)] = values
        # A dim of the model is labelled by data that are called as it is.
        if str(name) not in out.arrays and len(set(values.tolist())) == len(values):
            out.arrays[str(name)] = ([len(values)], [str(v) for v in values.tolist()])
    return out


def _check_length(dim: str, n: int, declared: Any, arrays: Bound) -> None:
    """Refuses labels of another number than an array has along their dim."""
    for name, dims, _ in declared:
        array = arrays.get(name)
        shape = array[0] if isinstance(array, tuple) else getattr(array, "shape", ())
        for of, size in zip(dims, shape):
            if of == dim and size != n:
                raise ValueError(
                    f"coords['{dim}'] has {n} labels; data['{name}'] has {size} along this dim"
                )


def _in_order(name: str, value: Any, dims: Sequence[str]) -> Any:
    """An xarray variable with the axes that are called as the model's dims in the model's order."""
    own = getattr(value, "dims", None)
    if not hasattr(value, "transpose") or not isinstance(own, tuple) or len(own) != len(dims):
        return value
    if set(own) == set(dims):
        return value.transpose(*dims)
    if any(a in dims and a != b for a, b in zip(own, dims)):
        raise ValueError(
            f"data['{name}'] has dims ({', '.join(map(str, own))}); the model has ({', '.join(dims)})"
        )
    return value


def _levels(column: Any) -> Any:
    """The categories of a column of text in their order, those that no row has among them."""
    kind = getattr(column, "dtype", None)
    levels = getattr(kind, "categories", None)
    if levels is None:
        return None
    levels = levels.to_list() if hasattr(levels, "to_list") else list(levels)
    return levels if levels and all(isinstance(one, str) for one in levels) else None


def _index(data: Any, dims: Sequence[str]) -> dict[str, Any]:
    """The index of a pandas data frame that is called as a dim."""
    index: Any = getattr(data, "index", None)
    name = getattr(index, "name", None)
    return {name: index.to_numpy()} if isinstance(name, str) and name in dims else {}


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
    if is_text(array):
        return (list(array.shape), [str(v) for v in array.ravel().tolist()])
    if array.dtype.kind == "M":
        return (list(array.shape), [_day(v) for v in array.ravel()])
    if array.dtype.kind == "O":
        missing = [k for k, v in enumerate(array.ravel().tolist()) if _is_missing(v)]
        others = [v for v in array.ravel().tolist() if not _is_missing(v)]
        if missing and others and all(isinstance(v, str) for v in others):
            raise TypeError(
                f"data['{name}'] has no label in row {missing[0]}; leave the row out, or give it a "
                "label of its own"
            )
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


def _is_missing(value: Any) -> bool:
    """None, NaN, NaT or pandas' NA."""
    nan = isinstance(value, float) and value != value
    return value is None or nan or type(value).__name__ in ("NAType", "NaTType")


def _day(value: Any) -> str:
    """A date, without the time of day where that is midnight."""
    text = str(value.astype("datetime64[s]"))
    return text.removesuffix("T00:00:00")


def is_text(array: Array) -> bool:
    """Whether all elements are text."""
    if array.dtype.kind in "US":
        return True
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
    if isinstance(random_seed, float) and not random_seed.is_integer():
        raise TypeError(f"random_seed={random_seed}: needs a whole number")
    seed = int(random_seed)
    if seed < 0:
        raise ValueError(f"random_seed={seed}: needs a whole number that is not negative")
    return seed
