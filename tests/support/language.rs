//! Models that use, together, every distribution and every function of the language, with data.

use super::{joint, special};
use fitzroy::data::{Dataset, Values};
use fitzroy::model::joint::Joint;

/// Numbers that parameters of distributions are: a place, two positive numbers and a share.
const HEAD: &str = "mu ~ Normal(0, 1)\ns ~ HalfNormal(1)\nk ~ LogNormal(0, 0.5)\np ~ Beta(2, 3)\n";

/// Likelihoods of numbers of any sign.
const REALS: [&str; 22] = [
    "Normal(mu, s)",
    "Normal(mu=mu, tau=s)",
    "StudentT(k + 1, mu, s)",
    "StudentT(nu=k + 1, mu=mu, lam=s)",
    "Cauchy(mu, s)",
    "Laplace(mu, s)",
    "Logistic(mu, s)",
    "AsymmetricLaplace(k, mu, s)",
    "Moyal(mu, s)",
    "SkewStudentT(k, s, mu, k)",
    "SkewStudentT(a=k, b=s, mu=mu, lam=k)",
    "Gumbel(mu, s)",
    "SkewNormal(mu, s, mu + k)",
    "ExGaussian(mu, s, k)",
    "VonMises(mu, k)",
    "TruncatedNormal(mu, s, -3, 3 + k)",
    "Uniform(mu - 5, mu + 5 + s)",
    "Triangular(mu - 5, mu + 5, mu + s / 9)",
    "Mixture([p, 1 - p], Normal(mu, s), StudentT(3, mu, k))",
    "Censored(Normal(mu, s), lower=-1.5, upper=1.9)",
    "Normal(mu, s) truncated(-4, 4 + s)",
    "Logistic(mu, s) bounded(-4 - k, 4)",
];

/// Of positive numbers.
const POSITIVE: [&str; 25] = [
    "HalfNormal(s)",
    "HalfNormal(tau=s)",
    "HalfStudentT(k + 1, s)",
    "HalfStudentT(nu=k + 1, lam=s)",
    "HalfCauchy(s)",
    "LogNormal(mu, s)",
    "LogNormal(mu=mu, tau=s)",
    "Exponential(k)",
    "Exponential(scale=k)",
    "Gamma(k, s)",
    "Gamma(mu=k, sigma=s)",
    "ChiSquared(k)",
    "InverseGamma(k, s)",
    "InverseGamma(mu=k, sigma=s)",
    "Weibull(k, s)",
    "Pareto(k, 0.1)",
    "Rice(k, s)",
    "Rice(b=k, sigma=s)",
    "HurdleGamma(p, k, s)",
    "HurdleGamma(psi=p, mu=k, sigma=s)",
    "HurdleLogNormal(p, mu, s)",
    "HurdleLogNormal(psi=p, mu=mu, tau=s)",
    "Wald(k, s)",
    "Wald(k, s, 0.05)",
    "Gamma(k, s) bounded(lower=0.01)",
];

/// Of shares.
const SHARES: [&str; 7] = [
    "Beta(k, s)",
    "Beta(mu=p, kappa=k)",
    "Beta(mu=p, nu=k)",
    "Beta(mu=p, sigma=0.1 * p * (1 - p))",
    "Kumaraswamy(k, s)",
    "LogitNormal(mu, s)",
    "LogitNormal(mu=mu, tau=s)",
];

/// Of 0 and 1, and of counts, for some from 1 on.
const COUNTS: [&str; 22] = [
    "Bernoulli(p)",
    "Bernoulli(logit_p=mu)",
    "Binomial(9, p)",
    "Binomial(n=9, logit_p=mu)",
    "BetaBinomial(k, s, 9)",
    "Poisson(k)",
    "NegativeBinomial(k, s)",
    "NegativeBinomial(n=k, p=p)",
    "ZeroInflatedPoisson(p, k)",
    "ZeroInflatedBinomial(p, 9, p)",
    "ZeroInflatedBinomial(psi=p, n=9, logit_p=mu)",
    "ZeroInflatedNegativeBinomial(p, k, s)",
    "ZeroInflatedNegativeBinomial(psi=p, n=k, p=p)",
    "HurdlePoisson(p, k)",
    "HurdleNegativeBinomial(p, k, s)",
    "HurdleNegativeBinomial(psi=p, n=k, p=p)",
    "HyperGeometric(20, 8, 5)",
    "DiscreteWeibull(p, k)",
    "DiscreteUniform(0, 9)",
    "Geometric(p)",
    "Mixture([p, 1 - p], Poisson(k), Poisson(2 * k))",
    "Censored(Poisson(k), upper=3)",
];

/// Priors of parameters whose coordinates have ends of their own, or none.
const PRIORS: &str = "a ~ Uniform(-1, 2)
b ~ TruncatedNormal(0, 1, -1, 1)
c ~ Pareto(2, 1)
d ~ Wald(1, 2, 0.5)
f ~ VonMises(0, 2)
g ~ Kumaraswamy(2, 3)
h ~ Triangular(-1, 3, 0.5)
i ~ InverseGamma(3, 2)
j ~ HalfFlat()
l ~ Flat()
m ~ Weibull(2, 1)
n ~ SkewNormal(0, 1, 2)
o ~ Normal(0, 1) truncated(lower=a)
q ~ Cauchy(0, 1) bounded(-2, 2)
target += -j - l^2
";

/// Vectors and matrices: parameters, then what is observed of them.
const VECTORS: &str =
    "data m[obs, kinds], kind[obs] in kinds, sort[obs] in kinds, counts[sites, kinds]
data mixed[sites, kinds], z2[obs, kinds], v[obs, kinds], step[obs]: int
data grade[obs]: int, z[time], w[time]
dim cuts = 2
L[kinds, kinds] ~ LKJCholeskyCov(2, HalfNormal(1))
R[kinds, kinds] ~ LKJCorr(2)
mu[kinds]       ~ MvNormal(0, chol=[[1, 0, 0], [0.5, 1, 0], [0, 0.2, 1]])
m               ~ MvNormal(mu, chol=L)
p[kinds]        ~ Dirichlet([1, 2, 3])
counts          ~ Multinomial(9, p)
kind            ~ Categorical(p)
logit[kinds]    ~ ZeroSumNormal(1)
sort            ~ Categorical(logit_p=logit)
cut[cuts]       ~ Normal(0, 3) ordered
slope           ~ Normal(0, 1)
grade           ~ OrderedLogistic(slope * m[:, 0], cut)
step            ~ OrderedProbit(slope * m[:, 0], cut, exp(slope))
mixed           ~ DirichletMultinomial(9, exp(logit))
broken[kinds]   ~ StickBreakingWeights(2)
heavy[kinds]    ~ MvStudentT(4, 0, [[2, 0.5, 0], [0.5, 1, 0], [0, 0, 1]])
z2              ~ Mixture([0.3, 0.7], MvNormal(mu, chol=L), MvStudentT(4, 0, chol=L))
low[cuts]       ~ Uniform(0, 1) ordered
high[cuts]      ~ Normal(0, 1) bounded(upper=2) ordered
v               ~ MvStudentT(nu=3 + broken[0], mu=heavy, chol=L)
level[time]     ~ GaussianRandomWalk(0.1, 0.3, init_dist=Normal(0, 1))
z               ~ Normal(level, 0.2)
rho[cuts]       ~ Normal(0, 0.3)
w               ~ AR(rho, 0.7, init_dist=Normal(0, 2))
state[time]     ~ AR([0.5, -0.2], 0.7, init_dist=Normal(0, 2))
target += -sum(abs(R)) - sum(state^2) + sum(low) - sum(high)
";

/// The stop-signal task, trials with a signal and without.
const TASK: &str = "data y[trials], rt[trials], ssd[trials], race[goes], goes_rt[goes]
t0 ~ Uniform(0.05, 0.15)
B ~ HalfNormal(2)
v_plus ~ Normal(3, 1)
v_minus ~ Normal(1, 1)
v0 ~ Normal(2, 1)
g ~ Normal(2, 1)
stop_mu ~ TruncatedNormal(0.2, 0.05, 0.1, 0.4)
stop_sigma ~ HalfNormal(0.1)
stop_tau ~ HalfNormal(0.1)
pgf ~ Beta(1, 9)
ptf ~ Beta(1, 9)
y ~ StopSignal(rt, ssd, t0, B, v_plus, v_minus, v0, g, stop_mu, stop_sigma, stop_tau, pgf, ptf)
race ~ WaldRace(goes_rt, t0, B, v_plus, v_minus)
";

/// The same task as a race of ex-Gaussian times, of two go runners and of one.
const EX_GAUSSIAN_TASK: &str = "data y[trials], rt[trials], ssd[trials], race[goes], goes_rt[goes]
go_mu ~ TruncatedNormal(0.4, 0.05, 0.2, 0.6)
go_sigma ~ TruncatedNormal(0.08, 0.01, 0.03, 0.2)
go_tau ~ TruncatedNormal(0.1, 0.02, 0.03, 0.3)
error_mu ~ TruncatedNormal(0.6, 0.05, 0.3, 0.9)
error_sigma ~ TruncatedNormal(0.1, 0.01, 0.03, 0.2)
error_tau ~ TruncatedNormal(0.2, 0.02, 0.03, 0.3)
stop_mu ~ TruncatedNormal(0.2, 0.05, 0.1, 0.4)
stop_sigma ~ TruncatedNormal(0.05, 0.01, 0.02, 0.1)
stop_tau ~ TruncatedNormal(0.05, 0.01, 0.02, 0.1)
pgf ~ Beta(1, 9)
ptf ~ Beta(1, 9)
y ~ StopSignalExGaussian(rt, ssd, go_mu, go_sigma, go_tau, stop_mu, stop_sigma, stop_tau, pgf, ptf, error_mu, error_sigma, error_tau)
race ~ StopSignalExGaussian(goes_rt, inf, go_mu, go_sigma, go_tau, stop_mu, stop_sigma, stop_tau, pgf, ptf, error_mu, error_sigma, error_tau, deadline=2)
";

/// The other functions, of a vector `v`, of a matrix `x` and of a share `u`.
const FUNCTIONS: &str = "data x[obs, kinds], e1[obs]
v[kinds] ~ Normal(0, 1)
u        ~ Beta(2, 2)
let t[obs] = x @ v
let near   = 0.4 * (2 * u - 1)
target += sum(exp(t) + log1p(exp(t)) + expm1(t) + square(t) + abs(t)) / 10
target += sum(sin(t) + cos(t) + tan(near * x[:, 0]) + asin(near * e1) + acos(near * e1) + atan(t))
target += sum(sinh(near * t) + cosh(near * t) + tanh(t) + erf(t) + erfc(t) + log_ndtr(t))
target += logit(u) + sum(inv_logit(t) + softplus(t) + lgamma(1 + t^2) + digamma(1 + t^2))
target += log(u) + log2(u) + log10(u) + sqrt(u) + pow(u, 1.7) + u^near + pow(1 + u, near)
target += sum(clip(t, -0.5, 0.7)) + sum(where(t > 0.1, t, 0.5 * t)) + min(u, 0.4) + max(u, 0.6)
target += sum(log_sum_exp(x * v, axis=kinds)) + log_sum_exp(u, near, 0.3)
target += -sum(mean(x * v, axis=obs)^2) - sd(t) - var(t) + sum(sd(x * v, axis=kinds))
target += sum(min(x * v, axis=kinds)) - sum(max(x * v, axis=obs)) + mean(t)
target += -sum(cumsum(t)^2) / 9 + sum(cumsum(x * v, axis=obs)) / 9 + sum(softmax(v) * v)
target += dot(t, e1) + size(x, 1) * u - sum(t^2) + sum(softmax(x * v, axis=kinds) * x)
target += e1 @ t - sum(t^4) / 9 - u * pi + u / e
";

/// Functions put together from others.
const COMPOSED: &str = "data x[obs, kinds], e1[obs]
v[kinds] ~ Normal(0, 1)
u        ~ Beta(2, 2)
let t[obs] = x @ v
let near   = 0.4 * (2 * u - 1)
target += sum(asinh(t) + acosh(1.5 + t^2) + atanh(near * e1) + atan2(t, 1 + u) + cbrt(2 + t) + erfcx(near * t))
target += sum(ndtr(t) + sign(t) + floor(t) + ceil(t) + round(t) + trunc(t) + mod(t, 0.7) + hypot(t, u)) / 9
target += probit(u) + erfinv(near) + log1m_exp(-u) + log_diff_exp(1 + u, near)
";

/// Bessel functions.
const BESSEL: &str = "data x[obs, kinds]
v[kinds] ~ Normal(0, 1)
u        ~ Beta(2, 2)
let t[obs] = x @ v
let near   = 0.4 * (2 * u - 1)
target += sum(i0(near * t) + i0e(t) + i1(near * t) + i1e(t)) / 9
";

/// Functions of the gamma and the beta distribution. Each incomplete one is an integral over many nodes,
/// and NVIDIA's compiler takes far longer for one kernel of three than for three kernels.
const LOWER: &str = "u ~ Beta(2, 2)
target += log_beta(u, 1 + u) + log_choose(7, 5 * u) + gamma_inc(1 + u, 2)
";
const UPPER: &str = "u ~ Beta(2, 2)
target += gamma_incc(2 + u, u)
";
const SHARE: &str = "u ~ Beta(2, 2)
target += beta_inc(1 + u, 2, u)
";
const GAUSS: &str = "u ~ Beta(2, 2)
target += log(hyp2f1(1 + u, 2, 3 + u, u))
";
const ORDER: &str = "u ~ Beta(2, 2)
target += log(ive(1 + u, 2 * u)) + iv(3, u)
";

/// Functions of all elements of an axis together.
const ORDERED: &str = "data x[obs, kinds], e1[obs]
v[kinds] ~ Normal(0, 1)
u        ~ Beta(2, 2)
target += prod(v) + sum(cumprod(v) * v) + sum(sort(v)) - sum(sort(x * v, axis=obs) * x) + sum(log_softmax(v)) / 9
target += any(v > 0.1) * u + all(e1 * x < 2) * sum(prod(x * v, axis=kinds)) / 9
";

/// Definitions by their own step before: of a number, of two that use each other in lanes, of the
/// states of a hidden Markov chain.
const RECURRENCES: &str = "data z[time], m[obs, kinds]
mu ~ Normal(0, 1)
s ~ HalfNormal(1)
let variance[time] = 0.2 + 0.3 * lag((z - mu)^2, 1) + 0.4 * lag(variance, 1)
z ~ Normal(lag(lag(z, 0), mu), sqrt(variance))
v[kinds] ~ Normal(0, 1)
let flow[obs, kinds] = inv_logit(mu) * lag(level, v, axis=obs) + 0.1 * lag(level * flow, 0, axis=obs)
let level[obs, kinds] = tanh(lag(level, v, axis=obs) - flow) + s * m
target += -sum(level^2)
to[kinds, kinds] ~ Normal(0, 1)
let move = softmax(to, axis=kinds)
let centre[kinds, time] = v
let both[kinds, time] = (move @ lag(p, [0.2, 0.3, 0.5], axis=time)) * exp(-(centre - z)^2)
let all[time] = sum(both, axis=kinds)
let p[kinds, time] = both / all
target += log(all)
";

/// Differential equations: of two states, of a vector in lanes with kicks, and a stiff one.
const EQUATIONS: &str = "data e1[obs], clock[obs], shot[shots]
dim kinds = 3
mu ~ Normal(0, 1)
s ~ HalfNormal(1)
v[kinds] ~ Normal(0, 1)
let hunted[obs] = solve((0.9 + mu / 9 - 0.5 * hunters) * hunted, 1 + s, clock)
let hunters[obs] = solve(hunters * (0.4 * hunted - 0.6), 1, clock)
e1 ~ Normal(hunters - hunted, 1)
let level[kinds, obs] = solve(s * sin(clock) - level * exp(v / 9), v, clock, from=-0.5, add=shot * s, when=shot)
target += -sum(level^2) / 99
let fast[obs] = solve_stiff(-80 * fast + 60 * slow, 1, clock, rtol=1e-5)
let slow[obs] = solve_stiff(fast - slow * exp(mu / 9), s, clock, rtol=1e-5)
target += -sum((fast - slow)^2) / 99
";

/// Covariance functions of differences, and functions of matrices.
const MATRICES: &str = "data e1[obs], x[obs, kinds]
s ~ HalfNormal(1)
v[kinds] ~ Normal(0, 1)
z[obs] ~ Normal(0, 1)
let d[obs, obs] = e1[obs] - e1[obs']
let far[obs, obs] = norm(x[obs] - x[obs'], axis=kinds)
let smooth = exp_quad(d, 0.5 + s) + rat_quad(far, 1 + s, 0.9) + periodic(d, 2, 1 + s)
let rough = matern12(d, 0.5 + s) + matern32(far, 0.5 + s) + matern52(d, 1)
let L[obs, obs] = cholesky(smooth + rough + (0.3 + s^2) * identity(obs))
target += -sum((L @ z)^2) / 9 - log_det(tril(L) @ transpose(tril(L)))
let w = solve_lower(L, z) + solve_upper(transpose(L), z) + cho_solve(L, z)
target += -sum(w^2) / 99 - sum(log(diagonal(L))) - sum(outer(v, v) @ diag(v)) / 9
let A[kinds, kinds] = 3 * identity(kinds) + outer(v, sin(v))
target += log_abs_det(A) - sum(linear_solve(A, v)^2) / 9 - sum(inverse(A))
";

/// Positions computed from data, and arrays that are joined.
const ARRAYS: &str = "data x[obs, kinds], e1[obs], order[obs, pairs]
v[kinds] ~ Normal(0, 1)
s        ~ Normal(0, 1)
dim long = kinds + 3
dim more = kinds + 2
let all[long] = concat(v, s, v[1:])
let wide[obs, more] = concat(x * v, e1 * s, 1, axis=kinds)
target += -sum(all^2 * positions(long)) - sum((v[order + 0] - s)^2) - sum(wide^2)
";

/// Rows that are known exactly, and between two ends, of which one may be infinite.
const INTERVALS: &str = "data low[obs], high[obs]
mu ~ Normal(0, 1)
s ~ HalfNormal(1)
low ~ Interval(Normal(mu, s), upper=high)
";

/// Discrete parameters: of rows, of groups and of everything, summed out value by value and along dims.
const DISCRETE: &str = "data real[obs], bit[obs], count[obs], kind[obs] in kinds, e1[obs]
mu[kinds] ~ Normal(0, 1)
p ~ Beta(2, 3)
s ~ HalfNormal(1)
which[obs] ~ Categorical([0.2, 0.3, 0.5])
real ~ Normal(mu[which], s)
part[kinds] ~ Bernoulli(p)
bit ~ Bernoulli(0.1 + 0.8 * part[kind] * p)
many[kinds] ~ Poisson(exp(mu[0])) truncated(upper=11)
count ~ Binomial(many[kind], p)
from ~ DiscreteUniform(-2, 9)
e1 ~ Normal(where(4 * real < from, mu[1], p), s)
";

/// Rows of every array, apart from series.
const ROWS: usize = 7;

fn data() -> Dataset {
    let mut data = Dataset::new();
    let wave = |k: usize, n: usize| -> Vec<f64> {
        let at = |i: usize| (1.3 * i as f64 + 0.7 * k as f64).sin();
        (0..n).map(at).collect()
    };
    let mut put = |name: &str, shape: &[usize], values: Vec<f64>| {
        data.insert_real(name, shape, values);
    };
    put(
        "real",
        &[ROWS],
        wave(0, ROWS).iter().map(|x| 1.4 * x).collect(),
    );
    put(
        "positive",
        &[ROWS],
        wave(1, ROWS).iter().map(|x| x + 1.2).collect(),
    );
    put(
        "share",
        &[ROWS],
        wave(2, ROWS).iter().map(|x| 0.5 + 0.4 * x).collect(),
    );
    put("bit", &[ROWS], vec![0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0]);
    put("count", &[ROWS], vec![0.0, 3.0, 1.0, 2.0, 0.0, 1.0, 1.0]);
    put("from_one", &[ROWS], vec![1.0, 3.0, 1.0, 2.0, 5.0, 1.0, 1.0]);
    put("m", &[ROWS, 3], wave(3, 3 * ROWS));
    put("x", &[ROWS, 3], wave(4, 3 * ROWS));
    put("e1", &[ROWS], wave(5, ROWS));
    let order = (0..2 * ROWS).map(|i| (i * i % 3) as f64).collect();
    put("order", &[ROWS, 2], order);
    put("kind", &[ROWS], vec![0.0, 1.0, 2.0, 2.0, 1.0, 0.0, 2.0]);
    put("sort", &[ROWS], vec![2.0, 1.0, 2.0, 0.0, 1.0, 0.0, 1.0]);
    put("step", &[ROWS], vec![1.0, 2.0, 2.0, 0.0, 1.0, 0.0, 1.0]);
    put("v", &[ROWS, 3], wave(8, 3 * ROWS));
    put("z2", &[ROWS, 3], wave(9, 3 * ROWS));
    put("mixed", &[2, 3], vec![4.0, 3.0, 2.0, 0.0, 4.0, 5.0]);
    put("grade", &[ROWS], vec![0.0, 1.0, 2.0, 1.0, 1.0, 0.0, 2.0]);
    put("counts", &[2, 3], vec![2.0, 3.0, 4.0, 5.0, 4.0, 0.0]);
    put("clock", &[ROWS], vec![0.0, 0.3, 0.7, 0.7, 1.6, 2.0, 3.5]);
    put("shot", &[3], vec![0.2, 0.7, 2.5]);
    put("z", &[6], wave(6, 6));
    put("w", &[6], wave(7, 6));
    let inf = f64::INFINITY;
    put("low", &[ROWS], vec![0.3, -0.4, -inf, 0.2, -0.1, 0.5, 1.1]);
    put("high", &[ROWS], vec![0.3, 0.6, 0.9, inf, -0.1, 0.8, 1.1]);
    put("y", &[5], vec![1.0, 2.0, 0.0, 1.0, 0.0]);
    put("rt", &[5], vec![0.52, 0.47, 0.0, 0.42, 0.0]);
    put("ssd", &[5], vec![inf, inf, inf, 0.2, 0.25]);
    put("race", &[3], vec![1.0, 2.0, 1.0]);
    put("goes_rt", &[3], vec![0.5, 0.44, 1.3]);
    data
}

/// A likelihood for each of `families`, of copies of one array.
fn likelihoods(families: &[&str], array: impl Fn(&str) -> &'static str) -> (String, Dataset) {
    let (mut text, mut all) = (String::new(), Dataset::new());
    let known = data();
    for (i, family) in families.iter().enumerate() {
        let mut values = known.get(array(family)).expect("an array").clone();
        let name = format!("y{i}");
        values.name.clone_from(&name);
        all.insert(values);
        text += &format!("data {name}[obs]\n{name} ~ {family}\n");
    }
    (format!("{text}{HEAD}"), all)
}

fn of_counts(family: &str) -> &'static str {
    match family {
        _ if family.starts_with("Bernoulli") => "bit",
        _ if family.starts_with("Geometric") => "from_one",
        _ => "count",
    }
}

/// Each distribution of numbers with arguments from [`HEAD`], and numbers that it may give.
pub(crate) fn families() -> Vec<(&'static str, Vec<f64>)> {
    let known = data();
    let numbers = |array: &str| match &known.get(array).expect("an array").values {
        Values::Real(numbers) => numbers.clone(),
        Values::Text(_) => panic!("`{array}` holds numbers"),
    };
    let of = |families: &[&'static str], array: fn(&str) -> &'static str| {
        let one = |&family: &&'static str| (family, numbers(array(family)));
        families.iter().map(one).collect::<Vec<_>>()
    };
    [
        of(&REALS, |_| "real"),
        of(&POSITIVE, |_| "positive"),
        of(&SHARES, |_| "share"),
        of(&COUNTS, of_counts),
    ]
    .concat()
}

/// Name, text and data of each model.
pub(crate) fn models() -> Vec<(&'static str, String, Dataset)> {
    let written = |name, text: &str| (name, text.to_string(), data());
    let made = |name, (text, data)| (name, text, data);
    let mut all = vec![
        made("reals", likelihoods(&REALS, |_| "real")),
        made("positive", likelihoods(&POSITIVE, |_| "positive")),
        made("shares", likelihoods(&SHARES, |_| "share")),
        made("counts", likelihoods(&COUNTS, of_counts)),
        written("priors", PRIORS),
        written("vectors", VECTORS),
        written("stop-signal", TASK),
        written("functions", FUNCTIONS),
        written("composed", COMPOSED),
        written("recurrences", RECURRENCES),
        written("matrices", MATRICES),
        written("equations", EQUATIONS),
        written("arrays", ARRAYS),
        written("intervals", INTERVALS),
        written("discrete", DISCRETE),
        written("bessel", BESSEL),
        written("lower-share", LOWER),
        written("upper-share", UPPER),
        written("beta-share", SHARE),
        written("hypergeometric", GAUSS),
        written("bessel-order", ORDER),
        written("ordered", ORDERED),
    ];
    all.extend(special::models());
    all.push(written("stop-signal-ex-gaussian", EX_GAUSSIAN_TASK));
    all
}

/// The same as joint densities.
pub(crate) fn joints() -> Vec<(&'static str, Joint)> {
    let all = models().into_iter();
    all.map(|(name, text, data)| (name, joint(&text, &data)))
        .collect()
}
