"""NumPyro models of many kinds: `MODELS[name]()` is a model and its arguments."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro import handlers
from numpyro.distributions import constraints, transforms
from numpyro.infer.reparam import LocScaleReparam, TransformReparam

__all__ = ["BY_GRADIENT", "MODELS", "ROUNDED_BY_JAX", "SLOW"]

MODELS = {}
ENUMERATED = {"enumerate": "parallel"}
rng = np.random.default_rng(20261128)
N, G = 24, 4
X = rng.normal(size=(N, 3))
x = X[:, 0]
y = 1 + 0.5 * x + 0.3 * rng.normal(size=N)
group = np.arange(N) % G
counts = rng.poisson(3, size=N)
yes = rng.integers(2, size=N)
level = rng.integers(4, size=N)


def model(*args, **kwargs):
    """Registers a model with its arguments."""

    def register(function):
        MODELS[function.__name__] = lambda: (function, args, kwargs)
        return function

    return register


@model(np.array([15.0, 10, 16, 11, 9, 11, 10, 18]), y=np.array([28.0, 8, -3, 7, -1, 1, 18, 12]))
def eight_schools(sigma, y=None):
    mu = numpyro.sample("mu", dist.Normal(0, 5))
    tau = numpyro.sample("tau", dist.HalfCauchy(5))
    with numpyro.plate("school", len(sigma)):
        theta = numpyro.sample("theta", dist.Normal(mu, tau))
        numpyro.sample("obs", dist.Normal(theta, sigma), obs=y)


@model(np.array([15.0, 10, 16, 11, 9, 11, 10, 18]), y=np.array([28.0, 8, -3, 7, -1, 1, 18, 12]))
def reparametrised(sigma, y=None):
    mu = numpyro.sample("mu", dist.Normal(0, 5))
    tau = numpyro.sample("tau", dist.LogNormal(1, 1))
    with numpyro.plate("school", len(sigma)):
        with handlers.reparam(config={"theta": LocScaleReparam(0)}):
            theta = numpyro.sample("theta", dist.Normal(mu, tau))
        with handlers.reparam(config={"phi": TransformReparam()}):
            base = dist.Normal(0, 1)
            phi = numpyro.sample(
                "phi", dist.TransformedDistribution(base, transforms.AffineTransform(mu, tau))
            )
        numpyro.sample("obs", dist.Normal(theta + 0.1 * phi, sigma), obs=y)


@model(X, yes)
def logistic_regression(X, y):
    b = numpyro.sample("b", dist.Normal(0, 1).expand([X.shape[1]]).to_event(1))
    a = numpyro.sample("a", dist.StudentT(4, 0, 2.5))
    numpyro.deterministic("odds", jnp.exp(b))
    numpyro.sample("y", dist.Bernoulli(logits=a + X @ b), obs=y)


@model(x, group, counts)
def varying_slopes(x, group, y):
    sd = numpyro.sample("sd", dist.HalfNormal(1).expand([2]).to_event(1))
    L = numpyro.sample("L", dist.LKJCholesky(2, concentration=2.0))
    m = numpyro.sample("m", dist.Normal(0, 1).expand([2]).to_event(1))
    with numpyro.plate("g", G):
        b = numpyro.sample("b", dist.MultivariateNormal(m, scale_tril=sd[:, None] * L))
    rate = jnp.exp(b[group, 0] + b[group, 1] * x)
    with numpyro.plate("obs", len(y)):
        numpyro.sample("y", dist.Poisson(rate), obs=y)


@model(counts.reshape(6, 4))
def nested_plates(y):
    mu = numpyro.sample("mu", dist.Normal(0, 1))
    rows = numpyro.plate("rows", 6, dim=-2)
    with rows:
        a = numpyro.sample("a", dist.Normal(mu, 0.5))
    with numpyro.plate("columns", 4, dim=-1):
        b = numpyro.sample("b", dist.Normal(0, 1))
        with rows:
            numpyro.sample("y", dist.NegativeBinomial2(jnp.exp(a + b), 2.0), obs=y)


@model(y)
def mixture_of_one_kind(y):
    w = numpyro.sample("w", dist.Dirichlet(jnp.array([2.0, 3.0, 4.0])))
    ordered = dist.ImproperUniform(constraints.ordered_vector, (), (3,))
    m = numpyro.sample("m", ordered)
    numpyro.factor("prior", dist.Normal(0, 2).log_prob(m).sum())
    s = numpyro.sample("s", dist.InverseGamma(3, 1))
    numpyro.sample("y", dist.MixtureSameFamily(dist.Categorical(w), dist.Normal(m, s)), obs=y)


@model(y)
def mixture_of_kinds(y):
    w = numpyro.sample("w", dist.Beta(2, 2))
    m = numpyro.sample("m", dist.Cauchy(0, 2))
    s = numpyro.sample("s", dist.Gamma(2, 1))
    weights = dist.Categorical(jnp.stack([w, 1 - w]))
    parts = [dist.Normal(m, s), dist.StudentT(3, 0, 2)]
    numpyro.sample("y", dist.MixtureGeneral(weights, parts), obs=y)


@model(counts)
def zero_inflated(y):
    gate = numpyro.sample("gate", dist.Uniform(0, 1))
    rate = numpyro.sample("rate", dist.Exponential(0.5))
    with numpyro.plate("n", len(y)):
        numpyro.sample("y", dist.ZeroInflatedPoisson(gate, rate), obs=y)


@model(x, counts)
def zero_inflated_by_logits(x, y):
    gate = numpyro.sample("gate", dist.Normal(0, 1))
    k = numpyro.sample("k", dist.HalfNormal(2))
    base = dist.NegativeBinomialLogits(k + 0.1, 0.3 * x)
    numpyro.sample("y", dist.ZeroInflatedDistribution(base, gate_logits=gate), obs=y)


@model(x, level)
def ordered_logistic(x, y):
    b = numpyro.sample("b", dist.Normal(0, 1))
    start = dist.Normal(0, 2).expand([3]).to_event(1)
    cut = numpyro.sample("cut", dist.TransformedDistribution(start, transforms.OrderedTransform()))
    numpyro.sample("y", dist.OrderedLogistic(b * x, cut), obs=y)


@model(X, level)
def softmax_regression(X, y):
    b = numpyro.sample("b", dist.Normal(0, 1).expand([3, 4]).to_event(2))
    numpyro.sample("y", dist.Categorical(logits=X @ b), obs=y)


@model(X, level)
def shares_by_softmax(X, y):
    b = numpyro.sample("b", dist.Laplace(0, 1).expand([3, 4]))
    p = jax.nn.softmax(jnp.einsum("ij,jk->ik", X, b), axis=-1)
    with numpyro.plate("n", len(y)):
        numpyro.sample("y", dist.Categorical(probs=p), obs=y)


@model(y)
def random_walk(y):
    s = numpyro.sample("s", dist.HalfNormal(1))
    h = numpyro.sample("h", dist.GaussianRandomWalk(s, num_steps=len(y)))
    numpyro.sample("y", dist.StudentT(4, h, 0.3), obs=y)


@model(y)
def state_by_scan(y):
    s = numpyro.sample("s", dist.HalfNormal(1))
    a = numpyro.sample("a", dist.Uniform(-1, 1))
    e = numpyro.sample("e", dist.Normal(0, s).expand([len(y)]))

    def step(h, e):
        h = a * h + e
        return h, h

    last, h = jax.lax.scan(step, 0.0, e)
    numpyro.deterministic("h", h)
    numpyro.deterministic("last", last)
    numpyro.sample("y", dist.Normal(h, 0.5), obs=y)


@model(y)
def states_that_are_sites(y):
    from numpyro.contrib.control_flow import scan

    s = numpyro.sample("s", dist.HalfNormal(1))

    def step(h, y):
        h = numpyro.sample("h", dist.Normal(0.8 * h, s))
        numpyro.sample("y", dist.Normal(h, 0.5), obs=y)
        return h, None

    scan(step, 0.0, y)


@model(x, y, np.arange(N) % 5 != 0)
def masked(x, y, seen):
    a = numpyro.sample("a", dist.Normal(0, 2))
    b = numpyro.sample("b", dist.Normal(0, 2))
    s = numpyro.sample("s", dist.LogNormal(0, 1))
    with numpyro.plate("n", len(y)), handlers.mask(mask=seen):
        numpyro.sample("y", dist.Normal(a + b * x, s), obs=y)


@model(y, 1 + 0.5 * (np.arange(N) % 2))
def weighted(y, weights):
    a = numpyro.sample("a", dist.Logistic(0, 2))
    s = numpyro.sample("s", dist.Weibull(2.0, 1.5))
    with numpyro.plate("n", len(y)), handlers.scale(scale=weights):
        numpyro.sample("y", dist.Normal(a, s), obs=y)


@model(y)
def truncations(y):
    low = numpyro.sample("low", dist.TruncatedNormal(0, 1, low=-1))
    both = numpyro.sample("both", dist.TruncatedNormal(0, 1, low=-1, high=2).expand([3]))
    tail = numpyro.sample("tail", dist.TruncatedCauchy(0, 1, low=0.5))
    wide = numpyro.sample("wide", dist.Uniform(0, tail))
    numpyro.sample("y", dist.Normal(low + both.sum(), tail + wide), obs=y)


@model(y)
def transformed_sites(y):
    a = numpyro.sample(
        "a", dist.TransformedDistribution(dist.Normal(0, 1), transforms.ExpTransform())
    )
    b = numpyro.sample("b", dist.LogUniform(0.1, 5))
    c = numpyro.sample("c", dist.ZeroSumNormal(1.0, (4,)))
    numpyro.sample("y", dist.Gumbel(a + c[0] - c[3], b), obs=y)


@model(y)
def which_of_two(y):
    m = numpyro.sample("m", dist.Normal(jnp.array([-1.0, 1.0]), 1).to_event(1))
    with numpyro.plate("n", 6):
        z = numpyro.sample("z", dist.Bernoulli(0.3), infer=ENUMERATED)
        numpyro.sample("y", dist.Normal(m[z], 0.5), obs=y[:6])


@model(y)
def change_point(y):
    a = numpyro.sample("a", dist.Normal(0, 2).expand([2]))
    at = numpyro.sample("at", dist.Categorical(jnp.ones(N) / N), infer=ENUMERATED)
    numpyro.sample("y", dist.Normal(jnp.where(jnp.arange(N) < at, a[0], a[1]), 0.4), obs=y)


@model(rng.integers(3, size=(5, 4)))
def annotators(y):
    with numpyro.plate("annotator", 3, dim=-2), numpyro.plate("class", 3):
        beta = numpyro.sample("beta", dist.Dirichlet(jnp.ones(3)))
    pi = numpyro.sample("pi", dist.Dirichlet(jnp.ones(3)))
    with numpyro.plate("item", 5, dim=-2):
        c = numpyro.sample("c", dist.Categorical(pi), infer=ENUMERATED)
        with numpyro.plate("position", 4):
            seen = dist.Categorical(beta[jnp.array([0, 0, 1, 2]), c, :])
            numpyro.sample("y", seen, obs=y)


@model(x, y)
def gaussian_process(x, y):
    variance = numpyro.sample("variance", dist.LogNormal(0, 1))
    length = numpyro.sample("length", dist.LogNormal(0, 1))
    noise = numpyro.sample("noise", dist.HalfNormal(1))
    apart = (x[:, None] - x[None]) / length
    k = variance * jnp.exp(-0.5 * apart**2) + (noise + 1e-3) * jnp.eye(len(x))
    numpyro.sample("y", dist.MultivariateNormal(jnp.zeros(len(x)), covariance_matrix=k), obs=y)


@model(np.array([[0, 1, 4], [2, 3, 0], [1, 1, 3]]), np.array([3, 5, 2]))
def counts_of_several(y, k):
    a = numpyro.sample("a", dist.HalfNormal(2).expand([3]).to_event(1))
    p = numpyro.sample("p", dist.Dirichlet(a + 0.5))
    q = numpyro.sample("q", dist.Kumaraswamy(2.0, 1.5))
    numpyro.sample("y", dist.Multinomial(total_count=5, probs=p), obs=y)
    numpyro.sample("k", dist.BetaBinomial(1 + a[0], 2.0, total_count=6), obs=k)
    numpyro.sample("j", dist.Binomial(6, probs=q), obs=k)
    numpyro.sample("m", dist.Binomial(6, logits=a[1] - q), obs=k)


@model(X, y)
def network_of_two_layers(X, y):
    w = numpyro.sample("w", dist.Normal(jnp.zeros((3, 4)), 1))
    v = numpyro.sample("v", dist.Normal(jnp.zeros(4), 1))
    hidden = jnp.tanh(X @ w)
    numpyro.sample("y", dist.Normal(jax.nn.relu(hidden) @ v, 0.3), obs=y)


@model(X, y)
def array_functions(X, y):
    b = numpyro.sample("b", dist.Normal(0, 1).expand([4]))
    joined = jnp.concatenate([b[:2], jnp.cumsum(b)[1:], jnp.array([0.5])])
    rows = jax.vmap(lambda r: jnp.dot(r, joined[:3]) + jax.nn.softplus(b[3]))(X)
    part = jnp.zeros(3).at[jnp.array([0, 2])].set(b[:2])
    more = jax.ops.segment_sum(rows, group, num_segments=G)
    top = jax.scipy.special.logsumexp(jnp.stack([b, 2 * b[::-1]]), axis=0)
    tail = jnp.clip(top, -1.0, 2.0).max() + jnp.where(b > 0, b, 0.1 * b).sum()
    numpyro.deterministic("more", more)
    numpyro.sample("y", dist.Normal(rows + part[1] + part[2] + 0.1 * tail, 1), obs=y)
    numpyro.sample("z", dist.Normal(more, 2), obs=np.ones(G))


@model(y)
def other_distributions(y):
    a = numpyro.sample("a", dist.AsymmetricLaplace(0.0, 1.0, 1.5))
    b = numpyro.sample("b", dist.SoftLaplace(0, 1))
    c = numpyro.sample("c", dist.Pareto(1.0, 3.0))
    d = numpyro.sample("d", dist.VonMises(0.5, 2.0))
    e = numpyro.sample("e", dist.Chi2(4.0))
    f = numpyro.sample("f", dist.BetaProportion(0.4, 5.0))
    numpyro.sample("y", dist.Normal(a + b + jnp.cos(d), c + e + f), obs=y)
    numpyro.sample("g", dist.GammaPoisson(e, c), obs=np.array([2, 0, 1]))
    numpyro.sample("h", dist.GeometricProbs(f), obs=np.array([3, 0, 1]))
    numpyro.sample("i", dist.NegativeBinomialProbs(3.0, f), obs=np.array([3, 0, 1]))


@model(y)
def conditioned(y):
    def inner():
        m = numpyro.sample("m", dist.Normal(0, 1))
        s = numpyro.sample("s", dist.HalfNormal(1))
        numpyro.sample("y", dist.Normal(m, s).expand([N]))

    handlers.condition(inner, data={"y": y})()


@model(y)
def within_plates(y):
    with numpyro.plate("one", 1):
        a = numpyro.sample("a", dist.Normal(0, 1))
    with numpyro.plate("k", 3):
        p = numpyro.sample("p", dist.Dirichlet(jnp.ones(2)))
        c = numpyro.sample("c", dist.MultivariateNormal(jnp.zeros(2), jnp.eye(2)))
    numpyro.sample("y", dist.Normal(a + (p * c).sum(), 1), obs=y)


@model(x, y)
def jax_control_flow(x, y):
    a = numpyro.sample("a", dist.Normal(0, 1).expand([3]))
    value = jax.lax.fori_loop(0, 3, lambda i, v: v * 0.5 + a[i], 0.0)
    other = jax.lax.cond(a[0] > 0, lambda v: v**2, lambda v: -v, a[1])
    numpyro.sample("y", dist.Normal(value + other * x, 1), obs=y)


@model(y)
def loop_until(y):
    a = numpyro.sample("a", dist.Normal(0, 1))

    # As many halvings as it takes.
    value = jax.lax.while_loop(lambda v: v > 0.1, lambda v: 0.5 * v, 1.0 + a**2)
    numpyro.sample("y", dist.Normal(value + a, 1), obs=y)


@model(y)
def covariances(y):
    S = numpyro.sample("S", dist.WishartCholesky(4.0, scale_tril=jnp.eye(2)))
    numpyro.sample("y", dist.MultivariateNormal(jnp.zeros(2), scale_tril=S), obs=y.reshape(-1, 2))


#: Models that are sampled by their compiled gradient, and a part of the reason.
BY_GRADIENT = {"loop_until": "while_loop", "covariances": "LowerCholesky"}
#: How far densities may be apart where JAX's own functions are not exact: `betaln` is off in the ninth
#: digit where an argument is above 8, and in the sixth at large ones.
ROUNDED_BY_JAX = {"counts_of_several": 1e-4}
#: Models that JAX takes long to compile.
SLOW = ("counts_of_several", "other_distributions", "gaussian_process")
