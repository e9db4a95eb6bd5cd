"""Densities that PyMC, and packages built on it, write with loops or eigenvalues, in other forms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pymc.distributions import MvNormal
from pymc.logprob.basic import logp

from .axes import Unconvertible
from .folding import Constants

__all__ = ["density"]

#: The log density of a value, given constants and the parameters, by the kind of the variable.
Density = Callable[..., Any]


def _ln_beta(a: Any, b: Any) -> Any:
    return pt.gammaln(a) + pt.gammaln(b) - pt.gammaln(a + b)


def beta_geometric_beta_binomial(
    constants: Constants, value: Any, params: Sequence[Any]
) -> Any:
    """PyMC-Marketing's BG/BB: of T occasions to buy, x were taken, the last at t_x.

    A customer who lives on dies before an occasion with a Beta-distributed chance; the sum is over
    how many occasions after t_x that was. Reference: Fader, Hardie and Shang, Marketing Science 29
    (2010), 1086–1108.
    """
    alpha, beta, gamma, delta, occasions = params
    for known in (value, occasions):
        if not constants.holds(known):
            raise Unconvertible("BetaGeoBetaBinom", "of customers that are not data")
    at = constants.value(value)
    last, n_bought = at[..., 0], at[..., 1]
    n_more = np.broadcast_to(constants.value(occasions), last.shape) - last
    if np.any((last < 0) | (n_bought < 0) | (n_more < 0)):
        raise Unconvertible("BetaGeoBetaBinom", "of customers who bought at no occasion")
    # The occasions after the last purchase are a last axis.
    after = np.arange(n_more.max() + 1)
    there = after <= n_more[..., None]
    died = (after < n_more[..., None]).astype(float)
    passed = last[..., None] + after
    wide = [pt.shape_padright(p) if p.type.ndim else p for p in (alpha, beta, gamma, delta)]
    bought = _ln_beta(wide[0] + n_bought[..., None], wide[1] + passed - n_bought[..., None])
    lived = _ln_beta(wide[2] + died, wide[3] + passed)
    ways = pt.log(pt.sum(pt.exp(pt.where(there, bought + lived, -np.inf)), axis=-1))
    return ways - _ln_beta(alpha, beta) - _ln_beta(gamma, delta)


#: Rows of a Kronecker product of covariances up to which its factor takes less time than eigenvalues
#: by the compiled gradient.
MOST_OF_PRODUCT = 400


def kronecker_normal(constants: Constants, value: Any, params: Sequence[Any]) -> Any:
    """A normal vector whose covariance is a Kronecker product and something along the diagonal."""
    mu, sigma, *covs = params
    n = int(np.prod([constants.whole(c.shape[-1]) for c in covs]))
    if n > MOST_OF_PRODUCT:
        raise Unconvertible("KroneckerNormal", f"a covariance of {n} by {n} elements")
    cov = reduce(pt.linalg.kron, covs) + pt.square(sigma) * pt.eye(n)
    return logp(MvNormal.dist(mu=mu, cov=cov), value)


#: Which kinds have one.
DENSITIES: dict[str, Density] = {
    "BetaGeoBetaBinom": beta_geometric_beta_binomial,
    "KroneckerNormal": kronecker_normal,
}


def density(constants: Constants, kind: str, value: Any, params: Sequence[Any]) -> Any:
    """The log density of a kind of variable at a value, if it is one of these."""
    known = DENSITIES.get(kind)
    return None if known is None else known(constants, value, params)
