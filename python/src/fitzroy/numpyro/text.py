"""A NumPyro model as text: traced, built anew for PyMC, and converted as PyMC's models are."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpyro import handlers

from ..conversion import Unconvertible
from ..pymc.convert import Conversion, convert
from ..pymc.layout import as_model, as_text
from ..pymc.starts import started
from .building import Built, built
from .draws import Draws, at_sites
from .graph import double, value_of
from .trace import Site, Traced, peeled, traced

__all__ = ["Text", "text_of"]

Array = np.ndarray[Any, Any]


@dataclass
class Text:
    """A model as text, and how its draws become those of the sites."""

    traced: Traced
    built: Built
    conversion: Conversion
    #: The user's own model, without what tracing adds.
    model: Callable[..., Any]

    @property
    def notes(self) -> list[str]:
        # What is said of potentials is said of the sites that they are.
        rounded = (
            []
            if self.traced.is_double
            else ["constants are those of float32: in float64 the model does not run"]
        )
        return [*rounded, *self.built.notes, *self.conversion.notes]

    @property
    def missing(self) -> list[str]:
        """Deterministic sites that NumPyro computes from the draws."""
        own = {s.name for s in self.traced.sites if not s.is_random}
        return [*self.built.missing, *[n for n in self.conversion.missing if n in own]]

    @property
    def arrays(self) -> dict[str, Any]:
        """Data and labels for the library."""
        out: dict[str, Any] = dict(self.conversion.data)
        for name, labels in self.conversion.labels.items():
            out.setdefault(name, ([len(labels)], labels))
        return out

    def sample(self, settings: dict[str, Any], progressbar: Any) -> Draws:
        """Draws; `settings` by the library's names.

        Raises Unconvertible where the text is not what the library takes.
        """
        try:
            raw = started(self.conversion, self.arrays, settings, progressbar)
        except ValueError as error:
            if re.match(r"line \d+, column", str(error)):
                raise Unconvertible("its text", str(error)) from error
            raise
        except BaseException as error:
            # A broken invariant of the library: the compiled gradient does not meet it.
            if type(error).__name__ != "PanicException":
                raise
            raise Unconvertible("its text", f"the library failed: {error}") from error
        return self.draws(raw)

    def draws(self, raw: dict[str, Any]) -> Draws:
        groups = raw["groups"]
        # What is drawn after all others is a prediction to Fitzroy.
        more = groups.get("predictions", {})
        posterior = self.values({**groups["posterior"], **more})
        warmup = self.values(groups["warmup_posterior"]) if "warmup_posterior" in groups else {}
        seen = {
            s.name: np.asarray(value_of(self.traced.outs[s.value]))
            for s in self.traced.sites
            if s.is_observed and s.kind != "Unit" and self.traced.outs[s.value].is_constant
        }
        return Draws(
            raw,
            posterior,
            warmup,
            dims={s.name: s.dims for s in self.traced.sites},
            observed=seen,
            deterministic=frozenset(s.name for s in self.traced.sites if not s.is_random),
            discrete=frozenset(s.name for s in self.traced.latent if s.is_discrete),
        )

    def values(self, drawn: Mapping[str, Any]) -> dict[str, Array]:
        """Values of the sites by their names, in the order of the model."""
        shown = {name: text for text, name in self.conversion.called.items()}
        found: dict[str, Array] = {}
        for site in self.traced.sites:
            text = shown.get(site.name)
            if text is None or text not in drawn or site.is_observed:
                continue
            values = as_model(self.conversion, site.name, drawn[text][1])
            values = values.reshape(*values.shape[:2], *site.shape)
            found[site.name] = values.astype(int) if site.is_discrete else values
        missing = self.missing
        if missing:
            latent = {s.name: found[s.name] for s in self.traced.latent if s.name in found}
            t = self.traced
            found.update(at_sites(t.model, t.args, t.kwargs, missing, latent, t.is_double))
        names = [s.name for s in self.traced.sites if s.name not in self.traced.own]
        return {name: found[name] for name in names if name in found}

    def starts(self, values: Mapping[str, Any]) -> dict[str, Array]:
        """Values of sites at which chains start, by the names and shapes of the text."""
        shown = {name: text for text, name in self.conversion.called.items()}
        sites = {s.name: s for s in self.traced.latent}
        out = {}
        for name, value in self.bases(values).items():
            site = sites.get(name)
            if site is None:
                known = ", ".join(s for s in sites if s not in self.traced.own)
                raise ValueError(
                    f"init values: the model has no latent site {name!r}; it has {known}"
                )
            placed = np.broadcast_to(np.asarray(value, dtype=float), site.shape)
            if site.is_discrete:
                continue
            pm_name, placed = self.placed(site, placed)
            out[shown[pm_name]] = as_text(self.conversion, pm_name, np.array(placed))
        return out

    def placed(self, site: Site, value: Array) -> tuple[str, Array]:
        """The variable that carries a site, and its value."""
        if site.name in self.built.factors:
            return self.built.factors[site.name], value @ np.swapaxes(value, -1, -2)
        return site.name, value.reshape(self.built.shapes[site.name])

    def bases(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Values with those of bases in place of transformed sites."""
        latent = {s.name for s in self.traced.latent}
        transformed = [n for n in values if n not in latent and f"{n}_base" in self.traced.own]
        if not transformed:
            return dict(values)
        t = self.traced
        with double(t.is_double):
            model = handlers.substitute(handlers.seed(self.model, 0), data=dict(values))
            trace = handlers.trace(model).get_trace(*t.args, **t.kwargs)
            out = {k: v for k, v in values.items() if k not in transformed}
            for name in transformed:
                value = trace[name]["value"]
                for transform in reversed(peeled(trace[name]["fn"]).transforms):
                    value = transform.inv(value)
                out[f"{name}_base"] = np.asarray(value)
        return out


def text_of(model: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Text:
    """Converts a model with its arguments.

    Raises Unconvertible, with the reason; what the model itself raises comes through.
    """
    found = traced(model, args, kwargs)
    try:
        return _made(found, model, False)
    except Unconvertible as first:
        if not found.has_loops:
            raise
        try:
            return _made(found, model, True)
        except Unconvertible:
            raise first from None


def _made(found: Traced, model: Callable[..., Any], unrolled: bool) -> Text:
    try:
        made = built(found, unrolled)
    except Unconvertible:
        raise
    except Exception as error:
        # Models of other people hold programs that nobody here has seen.
        said = str(error).strip().partition("\n")[0]
        raise Unconvertible("the model", f"{type(error).__name__}: {said}") from error
    return Text(found, made, convert(made.model), model)
