"""`pm.sample(nuts_sampler="fitzroy")`."""

from __future__ import annotations

from typing import Any

__all__ = ["register"]


def register() -> None:
    """Makes `pm.sample(nuts_sampler="fitzroy")` work, from here on in this process.

    PyMC's list of samplers is closed, so that the function that picks one is replaced by one that
    knows Fitzroy, too. Options go into `nuts={...}` (`nuts_sampler_kwargs` before PyMC 6):
    `target_accept`, `max_treedepth`, `sampler`.
    """
    import pymc.sampling.mcmc as mcmc

    others = mcmc._sample_external_nuts
    if getattr(others, "knows_fitzroy", False):
        return

    def pick(sampler: str, draws: int, **given: Any) -> Any:
        if sampler != "fitzroy":
            return others(sampler, draws, **given)
        return _sample(draws, given)

    pick.knows_fitzroy = True  # type: ignore[attr-defined]
    mcmc._sample_external_nuts = pick


def _sample(draws: int, given: dict[str, Any]) -> Any:
    from .sampling import sample

    options = dict(given.get("nuts_kwargs") or given.get("nuts_sampler_kwargs") or {})
    if given.get("target_accept") is not None:
        options.setdefault("target_accept", given["target_accept"])
    tune = given.get("tune")
    return sample(
        given["model"],
        draws=draws,
        tune=1000 if tune is None else tune,
        chains=given["chains"],
        cores=given.get("cores"),
        random_seed=given.get("random_seed"),
        initvals=given.get("initvals"),
        var_names=given.get("var_names"),
        progressbar=bool(given.get("progressbar", True)) and not given.get("quiet", False),
        discard_tuned_samples=given.get("discard_tuned_samples", True),
        idata_kwargs=given.get("idata_kwargs"),
        **options,
    )
