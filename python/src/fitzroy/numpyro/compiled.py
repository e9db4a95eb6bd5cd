"""NumPyro models by the gradient that JAX compiles: what has no counterpart as text."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from numpyro import handlers
from numpyro.infer.initialization import init_to_uniform, init_to_value
from numpyro.infer.util import initialize_model, unconstrain_fn

from ..conversion import ConversionWarning, Unconvertible
from ..density import Density
from .arguments import dims_of, in_double
from .draws import Draws
from .graph import double

__all__ = ["Compiled", "compile_model", "compile_potential"]

Array = np.ndarray[Any, Any]
#: Starts that are tried.
STARTS = 10


@dataclass
class Compiled:
    """A density and what is recorded of its draws, as functions of one array."""

    density: Density
    #: Shapes of what is recorded, in order.
    shapes: dict[str, tuple[int, ...]]
    #: Types of what is recorded.
    types: dict[str, Any]
    #: The coordinates of values of sites.
    point: Callable[[Mapping[str, Any]], Array]
    dims: dict[str, list[str | None]] = field(default_factory=dict)
    observed: dict[str, Array] = field(default_factory=dict)
    #: Sites that are functions of others.
    deterministic: frozenset[str] = frozenset()
    #: What the draws are, if they are no dict by names.
    tree: Any = None

    def sample(self, settings: dict[str, Any], starts: Any, progressbar: Any) -> Draws:
        """Draws; `starts` are values of sites, a dict for all chains or one for each."""
        if starts:
            sets = [starts] * settings["chains"] if isinstance(starts, Mapping) else starts
            settings = {**settings, "points": np.array([self.point(one) for one in sets])}
        settings.pop("initvals", None)
        raw = self.density.run(settings, progressbar)
        groups = raw["groups"]

        def values(name: str) -> dict[str, Array]:
            found = {k: v for k, (_, v) in groups.get(name, {}).items()}
            return {k: v.astype(self.types[k]) for k, v in found.items() if k in self.types}

        return Draws(
            raw,
            values("posterior"),
            values("warmup_posterior"),
            self.dims,
            self.observed,
            self.deterministic,
        )


def _functions(
    logp: Callable[[Any], Any],
    recorded: Callable[[Any], Any],
    n: int,
    forward: bool,
    is_double: bool,
) -> tuple[Any, Any]:
    """The density with its slopes, and what is recorded, of one array in float64."""
    shape = jax.ShapeDtypeStruct((n,), np.float64 if is_double else np.float32)

    def with_slopes(x: Any) -> Any:
        # Loops whose steps are not counted have slopes forwards alone.
        return (logp(x), jax.jacfwd(logp)(x)) if forward else jax.value_and_grad(logp)(x)

    value = jax.jit(with_slopes).lower(shape).compile()
    draw = jax.jit(recorded).lower(shape).compile()

    def density(q: Array) -> tuple[float, Array]:
        with double(is_double):
            out, slopes = value(q)
        return float(out), np.asarray(slopes)

    def expand(q: Array) -> Array:
        with double(is_double):
            return np.asarray(draw(q))

    return density, expand


def compile_model(
    model: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    init_strategy: Any = None,
    forward: bool = False,
) -> Compiled:
    """Compiles NumPyro's own potential of a model and its gradient, in float64 if it runs in that.

    Raises Unconvertible for discrete sites that NumPyro cannot sum out, and for a model without
    continuous ones.
    """
    try:
        return _compiled(model, args, kwargs, init_strategy, forward, True)
    except TypeError as first:
        try:
            out = _compiled(model, args, kwargs, init_strategy, forward, False)
        except TypeError:
            raise first from None
        message = "the model does not run in float64, and is sampled in JAX's present precision"
        warnings.warn(message, ConversionWarning, stacklevel=5)
        return out


def _compiled(
    model: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    init_strategy: Any,
    forward: bool,
    is_double: bool,
) -> Compiled:
    with double(is_double):
        if is_double:
            args, kwargs = in_double((tuple(args), dict(kwargs)))
        info = _initialized(model, args, kwargs, init_strategy or init_to_uniform, forward)
        start, back = ravel_pytree(info.param_info.z)
        if not start.size:
            raise Unconvertible("the model", "it has no continuous latent sites")
        first = info.postprocess_fn(info.param_info.z)
        names = list(first)
        shapes = {name: np.shape(first[name]) for name in names}
        types = {name: jnp.result_type(first[name]) for name in names}

        def recorded(x: Any) -> Any:
            values = info.postprocess_fn(back(x))
            return jnp.concatenate([jnp.ravel(values[k]).astype(float) for k in names])

        functions = _functions(
            lambda x: -info.potential_fn(back(x)), recorded, start.size, forward, is_double
        )

    def point(values: Mapping[str, Any]) -> Array:
        with double(is_double):
            chosen = init_to_value(values={k: jnp.asarray(v) for k, v in values.items()})
            seeded = handlers.substitute(handlers.seed(model, 0), substitute_fn=chosen)
            trace = handlers.trace(seeded).get_trace(*args, **kwargs)
            at = {k: trace[k]["value"] for k in info.param_info.z}
            seeded = handlers.seed(model, 0)
            found = unconstrain_fn(seeded, args, kwargs, at)
            return np.asarray(ravel_pytree({k: found[k] for k in info.param_info.z})[0])

    dims, seen = _of_trace(info.model_trace)
    density = Density(
        functions[0],
        dim=int(start.size),
        variables=shapes,
        expand=functions[1],
        centre=np.asarray(start),
        dims={k: _distinct(k, dims.get(k, []), len(s)) for k, s in shapes.items()},
    )
    functions_of = frozenset(names) - set(info.param_info.z)
    return Compiled(density, shapes, types, point, dims, seen, functions_of)


def _initialized(
    model: Callable[..., Any], args: Any, kwargs: Any, init_strategy: Any, forward: bool
) -> Any:
    """What NumPyro makes of a model; another start where the first is none, as it may be of a
    differential equation."""
    for key in range(STARTS):
        try:
            return initialize_model(
                jax.random.PRNGKey(key),
                model,
                init_strategy=init_strategy,
                model_args=args,
                model_kwargs=kwargs,
                forward_mode_differentiation=forward,
                validate_grad=False,
            )
        except ImportError as error:
            raise Unconvertible("the compiled gradient", str(error)) from error
        except (RuntimeError, ValueError):
            if key == STARTS - 1:
                raise
    raise AssertionError("one of them returned")


def compile_potential(
    potential: Callable[[Any], Any], start: Any, forward: bool = False
) -> Compiled:
    """Compiles a potential energy of arrays in any tree; `start` is one such tree."""
    is_double = True
    with double(is_double):
        start = in_double(jax.tree.map(jnp.asarray, start))
        flat, back = ravel_pytree(start)
        flat = flat.astype(float)
        leaves, tree = jax.tree.flatten(start)
        names = list(start) if _is_plain(start) else [f"Param:{k}" for k in range(len(leaves))]
        shapes = dict(zip(sorted(names) if _is_plain(start) else names, map(np.shape, leaves)))
        functions = _functions(
            lambda x: -potential(back(x)), lambda x: x, flat.size, forward, is_double
        )
    density = Density(
        functions[0],
        dim=int(flat.size),
        variables=shapes,
        expand=functions[1],
        centre=np.asarray(flat),
    )

    def point(values: Any) -> Array:
        with double(is_double):
            return np.asarray(ravel_pytree(values)[0], dtype=float)

    return Compiled(density, shapes, dict.fromkeys(shapes, float), point, tree=tree)


def _is_plain(tree: Any) -> bool:
    """Whether a tree is a dict of arrays by names."""
    return isinstance(tree, dict) and all(isinstance(k, str) for k in tree)


def _of_trace(trace: Mapping[str, Any]) -> tuple[dict[str, list[str | None]], dict[str, Array]]:
    """Names of axes, and what is observed."""
    dims, seen = {}, {}
    for name, site in trace.items():
        if site["type"] not in ("sample", "deterministic"):
            continue
        is_random = site["type"] == "sample"
        dims[name] = dims_of(
            site, np.ndim(site["value"]), site["fn"].event_dim if is_random else None
        )
        if is_random and site["is_observed"] and type(site["fn"]).__name__ != "Unit":
            seen[name] = np.asarray(site["value"])
    return dims, seen


def _distinct(name: str, dims: Sequence[str | None], ndim: int) -> list[str]:
    given = [*dims, *[None] * ndim][:ndim]
    return [
        d if d is not None and given.count(d) == 1 else f"{name}_dim_{k}"
        for k, d in enumerate(given)
    ]
