"""Distributions of NumPyro that PyMC has, too, by a table: what each is called there, and its
parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpyro.distributions as dist
from numpyro.distributions import continuous, discrete, truncated

__all__ = ["CORE", "EVENT", "FAMILIES", "Described", "Slot"]


class Slot(int):
    """The place of an array among the outputs of the traced program."""


@dataclass
class Described:
    """A distribution of PyMC: its class, and arrays, distributions and numbers by its arguments."""

    kind: str
    params: dict[str, Any]


#: Keeps an array of a trace.
Put = Callable[[Any], Slot]
#: What a distribution is; none where its parameters are given in another form.
Describe = Callable[[Any, Put], "Described | None"]
FAMILIES: dict[type, Describe] = {}
#: Axes of an argument that are not the variable's, or are those of its vectors.
CORE = {
    ("Dirichlet", "a"): 1,
    ("MvNormal", "mu"): 1,
    ("MvNormal", "chol"): 2,
    ("MvStudentT", "mu"): 1,
    ("MvStudentT", "chol"): 2,
    ("Categorical", "p"): 1,
    ("Categorical", "logit_p"): 1,
    ("Multinomial", "p"): 1,
    ("DirichletMultinomial", "a"): 1,
    ("OrderedLogistic", "cutpoints"): 1,
    ("Mixture", "w"): 1,
}
#: Axes of one value.
EVENT = {
    "Dirichlet": 1,
    "MvNormal": 1,
    "MvStudentT": 1,
    "Multinomial": 1,
    "DirichletMultinomial": 1,
    "GaussianRandomWalk": 1,
    "LKJCholesky": 2,
    "LKJ": 2,
}

#: Distributions whose arguments are attributes: PyMC's class, and its arguments by NumPyro's.
SIMPLE: dict[type, tuple[str, dict[str, str]]] = {
    dist.Normal: ("Normal", {"mu": "loc", "sigma": "scale"}),
    dist.LogNormal: ("LogNormal", {"mu": "loc", "sigma": "scale"}),
    dist.HalfNormal: ("HalfNormal", {"sigma": "scale"}),
    dist.HalfCauchy: ("HalfCauchy", {"beta": "scale"}),
    dist.Cauchy: ("Cauchy", {"alpha": "loc", "beta": "scale"}),
    dist.StudentT: ("StudentT", {"nu": "df", "mu": "loc", "sigma": "scale"}),
    dist.Laplace: ("Laplace", {"mu": "loc", "b": "scale"}),
    dist.Logistic: ("Logistic", {"mu": "loc", "s": "scale"}),
    dist.Gumbel: ("Gumbel", {"mu": "loc", "beta": "scale"}),
    dist.Exponential: ("Exponential", {"lam": "rate"}),
    dist.Gamma: ("Gamma", {"alpha": "concentration", "beta": "rate"}),
    dist.Chi2: ("Gamma", {"alpha": "concentration", "beta": "rate"}),
    dist.InverseGamma: ("InverseGamma", {"alpha": "concentration", "beta": "rate"}),
    dist.Beta: ("Beta", {"alpha": "concentration1", "beta": "concentration0"}),
    dist.BetaProportion: ("Beta", {"alpha": "concentration1", "beta": "concentration0"}),
    dist.Uniform: ("Uniform", {"lower": "low", "upper": "high"}),
    dist.Pareto: ("Pareto", {"alpha": "alpha", "m": "scale"}),
    dist.Weibull: ("Weibull", {"alpha": "concentration", "beta": "scale"}),
    dist.Kumaraswamy: ("Kumaraswamy", {"a": "concentration1", "b": "concentration0"}),
    dist.VonMises: ("VonMises", {"mu": "loc", "kappa": "concentration"}),
    dist.Poisson: ("Poisson", {"mu": "rate"}),
    discrete.BernoulliProbs: ("Bernoulli", {"p": "probs"}),
    discrete.BernoulliLogits: ("Bernoulli", {"logit_p": "logits"}),
    discrete.BinomialProbs: ("Binomial", {"n": "total_count", "p": "probs"}),
    discrete.BinomialLogits: ("Binomial", {"n": "total_count", "logit_p": "logits"}),
    discrete.CategoricalProbs: ("Categorical", {"p": "probs"}),
    discrete.CategoricalLogits: ("Categorical", {"logit_p": "logits"}),
    dist.DiscreteUniform: ("DiscreteUniform", {"lower": "low", "upper": "high"}),
    discrete.MultinomialProbs: ("Multinomial", {"n": "total_count", "p": "probs"}),
    dist.DirichletMultinomial: ("DirichletMultinomial", {"n": "total_count", "a": "concentration"}),
    dist.OrderedLogistic: ("OrderedLogistic", {"eta": "predictor", "cutpoints": "cutpoints"}),
    dist.NegativeBinomial2: ("NegativeBinomial", {"mu": "mean", "alpha": "concentration"}),
    dist.Dirichlet: ("Dirichlet", {"a": "concentration"}),
    dist.MultivariateNormal: ("MvNormal", {"mu": "loc", "chol": "scale_tril"}),
    dist.MultivariateStudentT: ("MvStudentT", {"nu": "df", "mu": "loc", "chol": "scale_tril"}),
    dist.LKJCholesky: ("LKJCholesky", {"eta": "concentration"}),
    dist.LKJ: ("LKJ", {"eta": "concentration"}),
}


def _simple(kind: str, names: dict[str, str]) -> Describe:
    def describe(d: Any, put: Put) -> Described:
        return Described(kind, {ours: put(getattr(d, theirs)) for ours, theirs in names.items()})

    return describe


FAMILIES.update({of: _simple(*row) for of, row in SIMPLE.items()})


def family(*of: type) -> Callable[[Describe], Describe]:
    """Registers what distributions of these classes are."""

    def register(describe: Describe) -> Describe:
        FAMILIES.update(dict.fromkeys(of, describe))
        return describe

    return register


@family(dist.BetaBinomial)
def beta_binomial(d: Any, put: Put) -> Described:
    alpha, beta = put(d.concentration1), put(d.concentration0)
    return Described("BetaBinomial", {"n": put(d.total_count), "alpha": alpha, "beta": beta})


@family(dist.GammaPoisson)
def gamma_poisson(d: Any, put: Put) -> Described:
    mean = put(d.concentration / d.rate)
    return Described("NegativeBinomial", {"mu": mean, "alpha": put(d.concentration)})


@family(dist.NegativeBinomialProbs)
def negative_binomial(d: Any, put: Put) -> Described:
    return Described("NegativeBinomial", {"n": put(d.total_count), "p": put(1 - d.probs)})


@family(dist.ZeroInflatedPoisson)
def zero_inflated(d: Any, put: Put) -> Described:
    return Described("ZeroInflatedPoisson", {"psi": put(1 - d.gate), "mu": put(d.base_dist.rate)})


@family(dist.GaussianRandomWalk)
def random_walk(d: Any, put: Put) -> Described:
    return Described("GaussianRandomWalk", {"sigma": put(d.scale), "steps": int(d.num_steps)})


@family(
    truncated.LeftTruncatedDistribution,
    truncated.RightTruncatedDistribution,
    truncated.TwoSidedTruncatedDistribution,
)
def truncated_(d: Any, put: Put) -> Described | None:
    base = d.base_dist
    ends = {
        k: put(getattr(d, k2)) for k, k2 in (("lower", "low"), ("upper", "high")) if hasattr(d, k2)
    }
    if type(base) is dist.Normal:
        return Described("TruncatedNormal", {"mu": put(base.loc), "sigma": put(base.scale), **ends})
    inner = FAMILIES[type(base)](base, put) if type(base) in FAMILIES else None
    return None if inner is None else Described("Truncated", {"dist": inner, **ends})


@family(dist.MixtureSameFamily)
def mixture(d: Any, put: Put) -> Described | None:
    component = d.component_distribution
    while isinstance(component, dist.ExpandedDistribution):
        component = component.base_dist
    describe = FAMILIES.get(type(component))
    if d.event_dim or describe is None or not isinstance(component, COMPONENTS):
        return None
    inner = describe(component, put)
    if inner is None:
        return None
    weights = put(d.mixing_distribution.probs)
    return Described("Mixture", {"w": weights, "comp_dists": inner, "n": int(d.mixture_size)})


@family(dist.MixtureGeneral)
def mixture_of_kinds(d: Any, put: Put) -> Described | None:
    parts = []
    for component in d.component_distributions:
        while isinstance(component, dist.ExpandedDistribution):
            component = component.base_dist
        describe = FAMILIES.get(type(component))
        inner = describe(component, put) if describe and isinstance(component, COMPONENTS) else None
        if inner is None:
            return None
        parts.append(inner)
    if d.event_dim:
        return None
    return Described("Mixture", {"w": put(d.mixing_distribution.probs), "comp_dists": parts})


#: What a mixture may be of.
COMPONENTS = tuple(
    of for of, (kind, _) in SIMPLE.items() if kind not in EVENT and kind != "OrderedLogistic"
)


@family(continuous.AsymmetricLaplace)
def asymmetric_laplace(d: Any, put: Put) -> Described:
    scale = put(1 / (jnp.asarray(d.scale)))
    return Described("AsymmetricLaplace", {"b": scale, "kappa": put(d.asymmetry), "mu": put(d.loc)})
