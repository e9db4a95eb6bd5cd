"""PyMC models by their compiled gradient: what has no counterpart as text."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pymc.initial_point import make_initial_point_fn
from pymc.model.transform.optimization import freeze_dims_and_data
from pymc.pytensorf import compile as compile_graph
from pymc.pytensorf import rewrite_pregrad
from pytensor.gradient import NullTypeGradError
from pytensor.graph.replace import clone_replace

from ..conversion import Slopeless
from ..density import Density
from ..progress import Progress
from ..results import warn_of
from .axes import Unconvertible
from .lowering import in_plain_arrays, like, values_of
from .given import dims_of
from .result import dressed
from .starts import without_starts
from .steps import check_steps

__all__ = ["Compiled", "compile_model"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Compiled:
    """Log density and values of draws as functions of C, of all coordinates in one array."""

    model: Any
    density: Density
    #: Name, shape and type of each free variable on its unconstrained scale, in order.
    places: list[tuple[str, tuple[int, ...], Any]]
    #: Types of what is recorded, by name.
    types: dict[str, Any]

    def sample(
        self,
        settings: dict[str, Any],
        initvals: Any,
        var_names: Iterable[str] | None,
        progressbar: bool | Progress,
    ) -> Any:
        """What `pm.sample` returns; `settings` by the library's names."""
        if initvals:
            settings = {**settings, "points": self._points(initvals, settings)}
        raw = self.density.run(settings, progressbar)
        groups = {
            name: {k: (dims, _typed(v, self.types[k])) for k, (dims, v) in drawn.items()}
            for name, drawn in raw["groups"].items()
            if name.endswith("posterior")
        }
        out = dressed(self.model, raw, groups, var_names)
        warn_of(raw, stacklevel=4)
        return out

    def _points(self, initvals: Any, settings: dict[str, Any]) -> Array:
        """Coordinates of values at which chains start; PyMC's own start for other variables."""
        chains = settings["chains"]
        sets = [initvals] * chains if isinstance(initvals, Mapping) else initvals
        if not isinstance(sets, Sequence) or len(sets) != chains:
            raise ValueError(f"initvals needs a dict of values, or one for each of {chains} chains")
        points = []
        for one in sets:
            make: Any = make_initial_point_fn(
                model=self.model, overrides=dict(one or {}), return_transformed=True
            )
            points.append(_joined(make(settings["seed"]), self.places))
        return np.array(points)


def compile_model(model: Any) -> Compiled:
    """Compiles density, gradient and what is recorded, by numba.

    Raises Unconvertible for a model with discrete free variables or variables that have a step
    method of their own, for one without slopes, and without numba.
    """
    check_steps(model)
    discrete = [rv.name for rv in model.free_RVs if rv.dtype.startswith(("int", "uint", "bool"))]
    if discrete:
        raise Unconvertible("discrete free variables", ", ".join(discrete))
    try:
        import numba
    except ImportError as error:
        raise Unconvertible("the compiled gradient", "numba is not installed") from error

    with without_starts(model):
        # Data as constants.
        frozen = freeze_dims_and_data(model)
    start = model.initial_point()
    # A frozen model has its variables in another order.
    values = [frozen.rvs_to_values[frozen[rv.name]] for rv in model.free_RVs]
    places = [(v.name, np.shape(start[v.name]), v.dtype) for v in values]
    n = sum(int(np.prod(shape)) for _, shape, _ in places)
    if n == 0:
        raise Unconvertible("the model", "it has no free variables")
    x = pt.TensorType("float64", shape=(n,))("coordinates")
    parts, at = {}, 0
    for value, (_, shape, dtype) in zip(values, places):
        size = int(np.prod(shape))
        parts[value] = like(value, x[at : at + size].reshape(shape).astype(dtype))
        at += size
    logp = rewrite_pregrad(in_plain_arrays([values_of(frozen.logp())])[0])
    try:
        slopes = pt.concatenate([values_of(g).ravel() for g in pt.grad(logp, values)])
    except (NotImplementedError, NullTypeGradError) as error:
        # A simulator has none, nor has an op of somebody else.
        raise Slopeless("the compiled gradient", "PyTensor has none of one of its ops") from error
    recorded = [rv.name for rv in (*model.free_RVs, *model.deterministics)]
    known = {v.name: v for v in frozen.unobserved_value_vars}
    outs = [values_of(known[name]) for name in recorded]
    logp, slopes, *outs = clone_replace([logp, slopes, *outs], parts)
    shapes = _shapes(x, outs, _joined(start, places))
    flat = pt.concatenate([o.ravel().astype("float64") for o in outs])
    with frozen:
        density = compile_graph([x], [logp, slopes], mode="NUMBA")
        expand = compile_graph([x], [flat], mode="NUMBA")
    kept = _callable_from_c(numba, density, expand, n, sum(int(np.prod(s)) for s in shapes))
    coords = {k: np.asarray(v) for k, v in model.coords.items() if v is not None}
    # PyMC's own start may lie at an end, as that of ordered values which are all the same.
    centre = _joined(start, places)
    centre = np.where(np.isfinite(centre), centre, 0.0)
    compiled = Density(
        kept[0],
        dim=n,
        variables=dict(zip(recorded, shapes)),
        expand=kept[1],
        dims={name: dims_of(model, name, len(s)) for name, s in zip(recorded, shapes)},
        centre=centre,
        identity=_identity(frozen, logp, places),
    )
    compiled._coords.update(coords)
    return Compiled(model, compiled, places, dict(zip(recorded, (o.dtype for o in outs))))


def _callable_from_c(numba: Any, density: Any, expand: Any, n: int, recorded: int) -> Any:
    """Both functions with the signatures of C that the library calls."""
    value, draw = density.vm.jit_fn, expand.vm.jit_fn
    given = [v.get_value() for f in (density, expand) for v in f.get_shared()]
    if given:
        raise Unconvertible("the compiled gradient", "it depends on shared variables")
    real, size = numba.types.CPointer(numba.types.float64), numba.types.uint64
    code, user = numba.types.int32, numba.types.voidptr

    @numba.cfunc(code(size, real, real, real, user))
    def log_density(dim, at, gradient, logp, data):  # type: ignore[no-untyped-def]
        if dim != n:
            return -1
        try:
            out, slopes = value(numba.carray(at, (n,)))
            numba.carray(logp, ())[()] = out
            numba.carray(gradient, (n,))[:] = slopes
        except Exception:  # noqa: BLE001
            return 1
        return 0

    @numba.cfunc(code(size, size, real, real, user))
    def log_density_expand(dim, length, at, to, data):  # type: ignore[no-untyped-def]
        if dim != n or length != recorded:
            return -1
        try:
            (out,) = draw(numba.carray(at, (n,)))
            numba.carray(to, (recorded,))[:] = out
        except Exception:  # noqa: BLE001
            return 1
        return 0

    return log_density, log_density_expand


def _shapes(x: Any, outs: list[Any], at: Array) -> list[tuple[int, ...]]:
    """Shapes of what is recorded; computed at one point where they are not known."""
    static = [o.type.shape for o in outs]
    if all(None not in shape for shape in static):
        return [tuple(shape) for shape in static]
    compute = compile_graph(
        [x], [o.shape for o in outs], mode="FAST_COMPILE", on_unused_input="ignore"
    )
    return [tuple(int(k) for k in np.atleast_1d(s)) for s in compute(at)]


def _joined(point: Mapping[str, Any], places: list[tuple[str, tuple[int, ...], Any]]) -> Array:
    """All coordinates of a point in one array."""
    return np.concatenate([np.ravel(point[name]).astype(float) for name, _, _ in places])


def _typed(values: Array, dtype: Any) -> Array:
    return values if np.dtype(dtype).kind == "f" else values.astype(dtype)


def _identity(model: Any, logp: Any, places: list[tuple[str, tuple[int, ...], Any]]) -> str:
    """Names, shapes, the graph's ops and the data in it."""
    from pytensor.graph.traversal import ancestors

    sum_of = hashlib.sha256(repr(places).encode())
    for node in ancestors([logp]):
        owner = getattr(node, "owner", None)
        sum_of.update((type(owner.op).__name__ if owner is not None else str(node.type)).encode())
        if hasattr(node, "data") and isinstance(node.data, (np.ndarray, np.number)):
            sum_of.update(np.ascontiguousarray(node.data).tobytes())
    return sum_of.hexdigest()[:16]
