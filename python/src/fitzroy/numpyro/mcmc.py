"""`MCMC` with NumPyro's constructor and methods."""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.infer
from numpyro.diagnostics import print_summary
from numpyro.infer.hmc import euclidean_kinetic_energy

from ..conversion import ConversionWarning
from ..model import settings_of
from ..results import warn_of
from .draws import Draws
from .sampling import drawn

__all__ = ["MCMC"]

Array = np.ndarray[Any, Any]
#: NumPyro's fields of a state, by ArviZ's names of what the sampler says of a draw.
FIELDS = {
    "diverging": "diverging",
    "num_steps": "n_steps",
    "accept_prob": "acceptance_rate",
    "adapt_state.step_size": "step_size",
    "energy": "energy",
    "potential_energy": "lp",
}
#: Starting strategies that Fitzroy's own start takes the place of.
STRATEGIES = frozenset(
    "init_to_uniform init_to_median init_to_mean init_to_sample init_to_feasible".split()
)


class MCMC(numpyro.infer.MCMC):  # type: ignore[misc]
    """NumPyro's `MCMC`, sampled by Fitzroy.

    >>> from fitzroy.numpyro import MCMC, NUTS  # in place of numpyro.infer  # doctest: +SKIP
    >>> mcmc = MCMC(NUTS(model), num_warmup=1000, num_samples=1000, num_chains=4)  # doctest: +SKIP
    >>> mcmc.run(jax.random.PRNGKey(0), x, y=y)  # doctest: +SKIP
    >>> mcmc.get_samples()["mu"].mean()  # doctest: +SKIP

    The model is converted to Fitzroy's language; one that cannot be is sampled by the gradient that
    JAX compiles, under the same sampler, with a ConversionWarning that gives the reason. Both are in
    float64. `backend="fitzroy"` makes an error of that, `backend="compiled"` takes the compiled
    gradient in any case.

    Of NUTS the settings `target_accept_prob`, `max_tree_depth`, `dense_mass`, an `init_strategy`
    that is `init_to_value`, and `forward_mode_differentiation` count. Chains otherwise start where
    Fitzroy starts them, which adapts the step size and the mass matrix from the beginning:
    `step_size`, `inverse_mass_matrix`, `regularize_mass_matrix` and other strategies have no effect.
    Neither have `chain_method`, `jit_model_args` and `progress_rate`: chains are parallel, and there
    is nothing to compile. A kernel that is not NUTS is run by NumPyro's own MCMC, with a warning.

    `cores`, `device`, `precision`, `out` and `overwrite` are those of
    `fitzroy.Model.sample`.
    """

    def __new__(cls, sampler: Any, **settings: Any) -> Any:
        if isinstance(sampler, numpyro.infer.NUTS):
            return super().__new__(cls)
        name = type(sampler).__name__
        message = f"{name} is NumPyro's own kernel, and is run by numpyro.infer.MCMC"
        warnings.warn(message, ConversionWarning, stacklevel=2)
        settings = {k: v for k, v in settings.items() if k not in OWN}
        return numpyro.infer.MCMC(sampler, **settings)

    def __init__(
        self,
        sampler: Any,
        *,
        num_warmup: int,
        num_samples: int,
        num_chains: int = 1,
        thinning: int = 1,
        postprocess_fn: Any = None,
        chain_method: Any = "parallel",
        progress_bar: bool = True,
        progress_rate: int | None = None,
        jit_model_args: bool = False,
        backend: str = "auto",
        cores: int | None = None,
        device: str = "auto",
        precision: str = "auto",
        out: str | os.PathLike[str] | None = None,
        overwrite: bool = False,
    ) -> None:
        """Raises ValueError for settings out of range and for those of NUTS that are not offered."""
        if num_warmup < 0:
            raise ValueError(f"num_warmup={num_warmup}: needs a whole number that is not negative")
        if thinning < 1 or num_samples < thinning:
            raise ValueError(
                f"num_samples={num_samples}, thinning={thinning}: needs at least one draw to keep"
            )
        _check_kernel(sampler)
        self.sampler = sampler
        self.num_warmup, self.num_samples, self.num_chains = num_warmup, num_samples, num_chains
        self.thinning, self.postprocess_fn = thinning, postprocess_fn
        self.chain_method, self.progress_bar = chain_method, progress_bar
        self._given: dict[str, Any] = {
            "cores": cores,
            "device": device,
            "precision": precision,
            "sampler": "nuts",
            "out": out,
            "overwrite": overwrite,
        }
        self._backend = backend
        self._args: tuple[Any, ...] = ()
        self._kwargs: dict[str, Any] = {}
        self._draws: Draws | None = None
        self._tree: Any = None
        self._left_out: set[str] = set()
        self._fields: tuple[str, ...] = ()

    def run(
        self,
        rng_key: Any,
        *args: Any,
        extra_fields: Sequence[str] = (),
        init_params: Any = None,
        **kwargs: Any,
    ) -> None:
        """Samples the model, called with the arguments that follow the key.

        The key gives the seed: the same key gives the same draws. `extra_fields` are recorded beside
        `diverging`: num_steps, accept_prob, adapt_state.step_size, energy, potential_energy;
        `~z.NAME` leaves a site out. `init_params` are unconstrained values of sites, with a first
        axis of chains where there are several, as NumPyro takes them.

        Raises ValueError for fields that are not known and for a model without a finite density.
        """
        fields, left_out = _fields(extra_fields)
        kernel = self.sampler
        settings = self._settings(rng_key)
        starts = self._starts(init_params, args, kwargs)
        if kernel.model is None:
            found = self._potential(init_params, settings)
        else:
            found = drawn(
                kernel.model,
                args,
                kwargs,
                settings,
                progressbar=self.progress_bar,
                backend=self._backend,
                starts=starts,
                init_strategy=kernel._init_strategy,
                forward=kernel._forward_mode_differentiation,
            )
        self._args, self._kwargs, self._draws = args, kwargs, found
        self._fields, self._left_out = fields, left_out
        warn_of(found.raw, stacklevel=2)

    def _settings(self, rng_key: Any) -> dict[str, Any]:
        kernel = self.sampler
        return settings_of(
            draws=self.num_samples,
            tune=self.num_warmup,
            chains=self.num_chains,
            target_accept=float(kernel._target_accept_prob),
            random_seed=_seed(rng_key),
            max_treedepth=_depth(kernel._max_tree_depth),
            metric="dense" if kernel._dense_mass else "auto",
            device_memory=None,
            resume=False,
            report=True,
            keep_warmup=False,
            **self._given,
        )

    def _starts(self, init_params: Any, args: Any, kwargs: Any) -> Any:
        """Values of sites at which chains start; none where Fitzroy chooses."""
        strategy = self.sampler._init_strategy
        if init_params is not None and self.sampler.model is not None:
            from .starts import constrained

            return constrained(self.sampler.model, args, kwargs, init_params, self.num_chains)
        while isinstance(strategy, functools.partial) and "values" not in strategy.keywords:
            strategy = strategy.func
        if isinstance(strategy, functools.partial):
            return dict(strategy.keywords["values"])
        name = getattr(strategy, "__name__", type(strategy).__name__)
        if name not in STRATEGIES:
            message = f"init_strategy: {name} has no effect; Fitzroy starts chains itself"
            warnings.warn(message, ConversionWarning, stacklevel=3)
        return None

    def _potential(self, init_params: Any, settings: dict[str, Any]) -> Draws:
        from .compiled import compile_potential

        if init_params is None:
            raise ValueError("init_params: NUTS(potential_fn=...) needs values at which to start")
        first = init_params
        if self.num_chains > 1:
            first = jax.tree.map(lambda x: jnp.asarray(x)[0], init_params)
        forward = self.sampler._forward_mode_differentiation
        compiled = compile_potential(self.sampler._potential_fn, first, forward)
        self._tree = compiled.tree
        starts = [
            jax.tree.map(lambda x, c=c: jnp.asarray(x)[c], init_params)
            for c in range(self.num_chains if self.num_chains > 1 else 0)
        ] or [init_params]
        given = {
            k: v for k, v in settings.items() if k not in ("device", "precision", "device_memory")
        }
        return compiled.sample(given, starts, self.progress_bar)

    def _found(self) -> Draws:
        if self._draws is None:
            raise RuntimeError("there are no draws yet: call run(rng_key, ...) first")
        return self._draws

    def _arranged(self, values: Array, group_by_chain: bool) -> Any:
        kept = values[:, self.thinning - 1 :: self.thinning]
        if not group_by_chain:
            kept = kept.reshape(-1, *kept.shape[2:])
        return jnp.asarray(kept)

    def get_samples(self, group_by_chain: bool = False) -> Any:
        """Values of the sites, in JAX's present precision; with a first axis of chains if asked for.

        As with NumPyro, discrete sites that were summed out are not among them; those of
        `fitzroy.from_numpyro(...).sample()` are.
        """
        found = self._found()
        gone = self._left_out | found.discrete
        names = sorted(name for name in found.posterior if name not in gone)
        out = {name: self._arranged(found.posterior[name], group_by_chain) for name in names}
        if self._tree is not None:
            leaves = [self._arranged(v, group_by_chain) for v in found.posterior.values()]
            return jax.tree.unflatten(self._tree, leaves)
        if self.postprocess_fn is not None:
            message = "postprocess_fn has no effect: draws are values of sites already"
            warnings.warn(message, ConversionWarning, stacklevel=2)
        return out

    def get_extra_fields(self, group_by_chain: bool = False) -> dict[str, Any]:
        """Whether draws diverged, and the fields that `run` was asked for."""
        stats, out = self._found().stats, {}
        for name in self._fields:
            values = stats[FIELDS[name]]
            values = -values if name == "potential_energy" else values
            out[name] = self._arranged(values, group_by_chain)
        return out

    def print_summary(self, prob: float = 0.9, exclude_deterministic: bool = True) -> None:
        """NumPyro's table: means, intervals, effective sample sizes and R-hat."""
        found = self._found()
        sites = {k: np.asarray(v) for k, v in self.get_samples(group_by_chain=True).items()}
        if exclude_deterministic:
            sites = {k: v for k, v in sites.items() if k not in found.deterministic}
        print_summary(sites, prob=prob)
        diverging = self._arranged(found.stats["diverging"], False)
        print(f"Number of divergences: {int(np.sum(np.asarray(diverging)))}")

    def warmup(self, *args: Any, collect_warmup: bool = False, **kwargs: Any) -> None:
        """Does nothing, with a warning: the run that follows warms up itself.

        Raises NotImplementedError for `collect_warmup=True`; `fitzroy.from_numpyro(...)
        .sample(keep_warmup=True)` has the draws of the warm-up.
        """
        if collect_warmup:
            raise NotImplementedError(
                "collect_warmup: fitzroy.from_numpyro(...).sample(keep_warmup=True) has these draws"
            )
        message = "warmup does nothing: the run that follows warms up itself"
        warnings.warn(message, ConversionWarning, stacklevel=2)

    @property
    def post_warmup_state(self) -> None:
        """None: Fitzroy's states are not NumPyro's."""
        return None

    @post_warmup_state.setter
    def post_warmup_state(self, state: Any) -> None:
        raise NotImplementedError(
            "post_warmup_state: NumPyro's states are not Fitzroy's; ask for all draws at once"
        )

    @property
    def last_state(self) -> None:
        """None: Fitzroy's states are not NumPyro's."""
        return None

    def transfer_states_to_host(self) -> None:
        """Does nothing: draws are on the host."""


#: Settings of `MCMC` that NumPyro's own does not have.
OWN = frozenset("backend cores device precision out overwrite".split())


def _check_kernel(kernel: Any) -> None:
    """Refuses settings of NUTS that would have other draws."""
    if (
        kernel._kinetic_fn is not None
        and kernel._kinetic_fn is not euclidean_kinetic_energy
    ):
        raise ValueError("kinetic_fn: Fitzroy has the kinetic energy of a Gaussian alone")
    for name in ("adapt_step_size", "adapt_mass_matrix"):
        if not getattr(kernel, f"_{name}"):
            raise ValueError(f"{name}=False: Fitzroy adapts both; leave it out")


def _depth(depth: Any) -> int:
    """The depth of trees; NumPyro takes one for the warm-up and one for the rest."""
    return int(max(depth)) if isinstance(depth, (tuple, list)) else int(depth)


def _seed(rng_key: Any) -> int:
    """A seed of a key, or of the first of a batch of keys."""
    if jnp.issubdtype(rng_key.dtype, jax.dtypes.prng_key):
        rng_key = jax.random.key_data(rng_key)
    words = np.asarray(rng_key).reshape(-1)[-2:] if np.ndim(rng_key) == 1 else np.asarray(rng_key)
    high, low = (int(w) for w in words.reshape(-1)[:2])
    return ((high << 32) | low) % 2**63


def _fields(asked: Sequence[str]) -> tuple[tuple[str, ...], set[str]]:
    """Fields to return, and sites to leave out."""
    fields, left_out = {"diverging": None}, set()
    for name in asked:
        if name.startswith("~z."):
            left_out.add(name[3:])
        elif name in FIELDS:
            fields[name] = None
        elif name not in ("z",):
            known = ", ".join(FIELDS)
            raise ValueError(f"extra_fields: there is no {name!r}; there are {known}, and ~z.SITE")
    return tuple(fields), left_out
