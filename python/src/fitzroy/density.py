"""Log densities that somebody else computes, sampled."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import _fitzroy
from .model import draw, settings_of
from .progress import Progress
from .results import groups_of, only, tree, warn_of

__all__ = ["Density"]

#: What a density may be.
Source = Any


class Density:
    """A log density with its gradient: a library, a machine address, or a Python function.

    `source` is one of

    - the path of a library: a Stan program that BridgeStan compiled, whose data are the JSON file
      `data`, or functions of C (see the page on densities of others);
    - the address of a function of C with nutpie's signature, or something with an `address`, such
      as a `numba.cfunc`: `int f(size_t dim, const double *x, double *gradient, double *logp,
      const void *user)`, which returns 0, a number above 0 where there is no density, below 0 if
      nothing can go on. Threads call it side by side. `user_data` is its last argument, an address
      or an array;
    - a function of an array of `dim` numbers that returns the log density and its slopes. Python
      calls it for one chain at a time.

    `variables` are the names and shapes of what is recorded, in the order in which `expand` gives
    their elements: `{"mu": (), "theta": (8,)}`. Without it the coordinates are recorded as `x`.
    `expand` is a function of an array, or of C: `int f(size_t dim, size_t n, const double *x,
    double *out, const void *user)`. `dims` names the dims of variables, `coords` labels them. `centre` is
    the point around which chains start, the origin without it. `identity` tells this density from
    others, so that no run of another one is resumed with it.

    >>> normal = Density(lambda x: (-0.5 * x @ x, -x), dim=2)
    >>> draws = normal.sample(random_seed=1)  # doctest: +SKIP
    """

    def __init__(
        self,
        source: Source,
        *,
        dim: int | None = None,
        variables: Mapping[str, Sequence[int]] | None = None,
        expand: Any = None,
        user_data: Any = None,
        data: str | os.PathLike[str] | None = None,
        dims: Mapping[str, Sequence[str]] | None = None,
        coords: Mapping[str, Any] | None = None,
        centre: Any = None,
        identity: str | None = None,
    ) -> None:
        """Raises TypeError and ValueError for what does not fit."""
        self._coords = {str(k): np.asarray(v) for k, v in (coords or {}).items()}
        #: What has to live as long as the addresses.
        self._alive = (source, expand, user_data)
        if isinstance(source, (str, os.PathLike)):
            others = {"dim": dim, "variables": variables, "expand": expand, "user_data": user_data}
            given = [name for name, value in others.items() if value is not None]
            if given:
                raise ValueError(f"{', '.join(given)}: a library says that itself")
            self.dim = None
            self._source: dict[str, Any] = {"library": os.fspath(source)}
            if data is not None:
                self._source["data"] = os.fspath(data)
            self._name = Path(source).stem
            return
        if data is not None:
            raise ValueError("data: only a library takes a file of data")
        if dim is None or dim < 1:
            raise ValueError(f"dim={dim}: the density needs a number of coordinates, at least 1")
        self.dim = int(dim)
        self._name = "density"
        self._source = {
            "dim": self.dim,
            "quantities": _quantities(self.dim, variables, expand, dims or {}),
            "coords": {name: _labels(values) for name, values in self._coords.items()},
            **_functions(source, expand, user_data),
        }
        self._source["identity"] = identity or _identity(source, expand, self._source)
        if centre is not None:
            self._source["centre"] = np.array(centre, dtype=float).ravel()

    def sample(
        self,
        *,
        draws: int = 1000,
        tune: int = 1000,
        chains: int = 4,
        cores: int | None = None,
        target_accept: float = 0.8,
        random_seed: Any = None,
        initvals: Any = None,
        var_names: Iterable[str] | None = None,
        max_treedepth: int = 10,
        sampler: str = "nuts",
        metric: str = "auto",
        out: str | os.PathLike[str] | None = None,
        overwrite: bool = False,
        resume: bool = False,
        report: bool = True,
        keep_warmup: bool = False,
        progressbar: bool | Progress = True,
    ) -> Any:
        """Draws, as `Model.sample` gives them.

        `initvals` are coordinates at which chains start: one array, or one for each chain.

        Raises ValueError for settings out of range, RuntimeError for a density that is not finite
        where chains start; what a Python function raises comes through.
        """
        settings = settings_of(
            draws=draws,
            tune=tune,
            chains=chains,
            cores=cores,
            target_accept=target_accept,
            random_seed=random_seed,
            max_treedepth=max_treedepth,
            sampler=sampler,
            metric=metric,
            out=out,
            overwrite=overwrite,
            resume=resume,
            report=report,
            keep_warmup=keep_warmup,
            name=self._name,
        )
        if initvals is not None:
            settings["points"] = _points(initvals, chains, self.dim)
        raw = self.run(settings, progressbar)
        groups = only(groups_of(raw), var_names, "density")
        warn_of(raw, stacklevel=2)
        return tree(raw, groups, self._coords)

    def run(self, settings: dict[str, Any], progressbar: bool | Progress) -> dict[str, Any]:
        """One run; `settings` by the library's names."""
        call = lambda tick: _fitzroy.sample_density(self._source, settings, tick)
        return draw(call, settings, progressbar)


def _quantities(
    dim: int,
    variables: Mapping[str, Sequence[int]] | None,
    expand: Any,
    dims: Mapping[str, Sequence[str]],
) -> list[tuple[str, list[str], list[int]]]:
    """Names, dims and sizes of what is recorded."""
    if variables is None:
        if expand is not None:
            raise ValueError("expand needs variables: the names and shapes of what it gives")
        variables = {"x": (dim,)}
    out = []
    for name, shape in variables.items():
        sizes = [int(n) for n in np.atleast_1d(np.array(shape, dtype=int))] if shape != () else []
        named = dims.get(name)
        if named is not None and len(named) != len(sizes):
            raise ValueError(f"dims['{name}'] has {len(named)} names for {len(sizes)} axes")
        own = [f"{name}_dim_{k}" for k in range(len(sizes))]
        out.append((str(name), [str(d) for d in named or own], sizes))
    n = sum(int(np.prod(sizes)) for _, _, sizes in out)
    if expand is None and n != dim:
        raise ValueError(f"variables have {n} elements for {dim} coordinates; give expand, too")
    return out


def _functions(source: Any, expand: Any, user_data: Any) -> dict[str, Any]:
    """Addresses of functions of C, or functions of Python."""
    address = _address(source)
    if address is not None:
        to = 0 if expand is None else _address(expand)
        if to is None:
            message = "expand is a Python function, and the density one of C; give both alike"
            raise TypeError(message)
        data = _data_address(user_data)
        return {"addresses": (address, data, to, data)}
    if not callable(source):
        name = type(source).__name__
        raise TypeError(f"a density is a path, an address or a function, not a {name}")
    if user_data is not None:
        raise ValueError("user_data: a Python function holds its data itself")
    if expand is not None and not callable(expand):
        raise TypeError(f"expand is a function, not a {type(expand).__name__}")
    return {"function": source, "expand": expand}


def _address(of: Any) -> int | None:
    """A machine address; none of a Python function."""
    if isinstance(of, (int, np.integer)) and not isinstance(of, bool):
        return int(of)
    found = getattr(of, "address", None)
    return int(found) if isinstance(found, (int, np.integer)) else None


def _data_address(user_data: Any) -> int:
    if user_data is None:
        return 0
    if isinstance(user_data, np.ndarray):
        return int(user_data.ctypes.data)
    return int(user_data)


def _labels(values: np.ndarray[Any, Any]) -> list[Any]:
    """Labels of a dim as the library takes them."""
    if values.dtype.kind in "iu":
        return [int(v) for v in values]
    return [str(v) for v in values.tolist()]


def _identity(source: Any, expand: Any, described: dict[str, Any]) -> str:
    """What of a density can be known: names and shapes, and the code of Python functions.

    Nothing is known of what stands at an address: give `identity` where runs are to go on.
    """
    parts = [repr(described["quantities"]), repr(described["dim"])]
    for function in (source, expand):
        code = getattr(function, "__code__", None)
        if code is not None:
            parts += [code.co_code.hex(), repr(code.co_names), repr(code.co_consts[1:])]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _points(initvals: Any, chains: int, dim: int | None) -> np.ndarray[Any, Any]:
    """Coordinates at which each chain starts."""
    points = np.atleast_2d(np.array(initvals, dtype=float))
    if len(points) == 1:
        points = np.repeat(points, chains, axis=0)
    if points.ndim != 2 or len(points) != chains or (dim is not None and points.shape[1] != dim):
        raise ValueError(
            f"initvals has shape {np.shape(initvals)}; it needs {dim} coordinates, or as many for "
            f"each of {chains} chains"
        )
    return np.ascontiguousarray(points)
