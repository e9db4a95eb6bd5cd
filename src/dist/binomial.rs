//! Successes and trials: Bernoulli, Binomial, BetaBinomial, Geometric.

use super::formula::{
    count_ln, count_ln_1m, is_probability, ln_1m_exp, ln_choose, ln_rising, not_count, positive,
    probability, require, unless,
};
use super::sampling::{Rng, beta_draw, binomial_draw};
use super::tails::ln_beta_shares;
use super::{Arg, Bound, Real, Support, Univariate};
use fitzroy_graph::special::beta_inc;

/// n where it is a whole number ≥ 0, else NaN.
fn trials<R: Real>(n: R) -> R {
    require(R::lit(1.0) - not_count(n, 0.0), n)
}

/// Whether y is not a whole number from 0 to n.
fn not_successes<R: Real>(y: R, n: R) -> R {
    not_count(y, 0.0).max(n.lt(y))
}

/// ln P(Y ≤ y) and ln P(Y > y) of Binomial(n, p), given p and q = 1 − p.
fn ln_shares<R: Real>(y: R, n: R, p: R, q: R) -> (R, R) {
    let (zero, nothing) = (R::lit(0.0), R::lit(f64::NEG_INFINITY));
    let valid = is_probability(p) * trials(n).equals(n);
    let (none, all) = (y.lt(zero), n.le(y));
    // Below 0 and from n on the shares are known, and the shapes would not be positive.
    let k = none.max(all).select(zero, y.floor());
    let shape = (n - k).max(R::lit(1.0));
    let (below, above) = ln_beta_shares(shape, k + R::lit(1.0), q, p);
    let ends = |at_none: R, at_all: R, between: R| {
        require(valid, none.select(at_none, all.select(at_all, between)))
    };
    (ends(nothing, zero, below), ends(zero, nothing, above))
}

/// Bernoulli(p): 1 with probability p, else 0.
///
/// ln P(1) = ln p, ln P(0) = ln(1 − p). Requires 0 ≤ p ≤ 1.
/// Source: Johnson, Kemp and Kotz, *Univariate Discrete Distributions*, chapter 3.
pub struct Bernoulli;

impl Univariate<1> for Bernoulli {
    const ARGS: [Arg; 1] = [Arg::needed("p")];
    const SUPPORT: Support = Support::IntegerRange(Bound::At(0.0), Bound::At(1.0));

    fn log_density<R: Real>(y: R, [p]: [R; 1]) -> R {
        let value = y.equals(R::lit(0.0)).select((-p).ln_1p(), p.ln());
        require(
            is_probability(p),
            unless(not_successes(y, R::lit(1.0)), value),
        )
    }

    fn log_cdf<R: Real>(y: R, [p]: [R; 1]) -> Option<R> {
        let at_zero = y
            .lt(R::lit(1.0))
            .select((-probability(p)).ln_1p(), R::lit(0.0));
        Some(require(
            is_probability(p),
            unless(y.lt(R::lit(0.0)), at_zero),
        ))
    }

    fn log_ccdf<R: Real>(y: R, [p]: [R; 1]) -> Option<R> {
        let inside = y.lt(R::lit(0.0)).select(R::lit(0.0), probability(p).ln());
        Some(require(
            is_probability(p),
            unless(R::lit(1.0).le(y), inside),
        ))
    }

    fn sample(rng: &mut Rng, [p]: [f64; 1]) -> f64 {
        f64::from(rng.uniform() < p)
    }
}

/// Bernoulli by the log odds logit_p = ln(p/(1 − p)): ln P(y) = −ln(1 + e^((1 − 2y) logit_p)).
///
/// The form for regressions: it neither overflows nor loses the small probability.
pub struct BernoulliLogit;

impl Univariate<1> for BernoulliLogit {
    const ARGS: [Arg; 1] = [Arg::needed("logit_p")];
    const SUPPORT: Support = Bernoulli::SUPPORT;

    fn log_density<R: Real>(y: R, [logit_p]: [R; 1]) -> R {
        let sign = R::lit(1.0) - R::lit(2.0) * y;
        let outside = not_successes(y, R::lit(1.0));
        unless(outside, -(sign * logit_p).softplus())
    }

    fn log_cdf<R: Real>(y: R, [logit_p]: [R; 1]) -> Option<R> {
        let at_zero = y.lt(R::lit(1.0)).select(-logit_p.softplus(), R::lit(0.0));
        Some(require(
            logit_p.equals(logit_p),
            unless(y.lt(R::lit(0.0)), at_zero),
        ))
    }

    fn log_ccdf<R: Real>(y: R, [logit_p]: [R; 1]) -> Option<R> {
        let inside = y
            .lt(R::lit(0.0))
            .select(R::lit(0.0), -(-logit_p).softplus());
        Some(require(
            logit_p.equals(logit_p),
            unless(R::lit(1.0).le(y), inside),
        ))
    }

    fn sample(rng: &mut Rng, [logit_p]: [f64; 1]) -> f64 {
        f64::from(rng.uniform() < Real::inv_logit(logit_p))
    }
}

/// Binomial(n, p): successes in n trials.
///
/// ln P(y) = ln C(n, y) + y ln p + (n − y) ln(1 − p), for y = 0 … n.
///
/// Requires n whole and ≥ 0, 0 ≤ p ≤ 1.
/// Source: Johnson, Kemp and Kotz, *Univariate Discrete Distributions*, chapter 3.
pub struct Binomial;

impl Univariate<2> for Binomial {
    const ARGS: [Arg; 2] = [Arg::needed("n"), Arg::needed("p")];
    const SUPPORT: Support = Support::IntegerRange(Bound::At(0.0), Bound::Arg(0));

    fn log_density<R: Real>(y: R, [n, p]: [R; 2]) -> R {
        let kernel = count_ln(y, p) + count_ln_1m(n - y, p);
        let ways = require(trials(n).equals(n), ln_choose(n, y));
        require(
            is_probability(p),
            unless(not_successes(y, n), kernel) + ways,
        )
    }

    fn log_cdf<R: Real>(y: R, [n, p]: [R; 2]) -> Option<R> {
        let p = probability(p);
        Some(ln_shares(y, n, p, R::lit(1.0) - p).0)
    }

    fn log_ccdf<R: Real>(y: R, [n, p]: [R; 2]) -> Option<R> {
        let p = probability(p);
        Some(ln_shares(y, n, p, R::lit(1.0) - p).1)
    }

    fn cdf(y: f64, [n, p]: [f64; 2]) -> Option<f64> {
        let (n, p, y) = (trials(n), probability(p), y.floor());
        Some(if y < 0.0 || y >= n || (n + p).is_nan() {
            f64::from(y >= n) + 0.0 * (n + p)
        } else {
            beta_inc(n - y, y + 1.0, 1.0 - p, p)
        })
    }

    fn sample(rng: &mut Rng, [n, p]: [f64; 2]) -> f64 {
        binomial_draw(rng, n, p)
    }
}

/// Binomial by the log odds: ln P(y) = ln C(n, y) + y·logit_p − n ln(1 + e^logit_p).
pub struct BinomialLogit;

impl Univariate<2> for BinomialLogit {
    const ARGS: [Arg; 2] = [Arg::needed("n"), Arg::needed("logit_p")];
    const SUPPORT: Support = Binomial::SUPPORT;

    fn log_density<R: Real>(y: R, [n, logit_p]: [R; 2]) -> R {
        let kernel = y * logit_p - n * logit_p.softplus();
        let ways = require(trials(n).equals(n), ln_choose(n, y));
        unless(not_successes(y, n), kernel) + ways
    }

    fn log_cdf<R: Real>(y: R, [n, logit_p]: [R; 2]) -> Option<R> {
        Some(ln_shares(y, n, logit_p.inv_logit(), (-logit_p).inv_logit()).0)
    }

    fn log_ccdf<R: Real>(y: R, [n, logit_p]: [R; 2]) -> Option<R> {
        Some(ln_shares(y, n, logit_p.inv_logit(), (-logit_p).inv_logit()).1)
    }

    fn cdf(y: f64, [n, logit_p]: [f64; 2]) -> Option<f64> {
        let (p, q) = (Real::inv_logit(logit_p), Real::inv_logit(-logit_p));
        let y = y.floor();
        if y < 0.0 || y >= n {
            return Binomial::cdf(y, [n, p]);
        }
        Some(beta_inc(trials(n) - y, y + 1.0, q, p))
    }

    fn sample(rng: &mut Rng, [n, logit_p]: [f64; 2]) -> f64 {
        binomial_draw(rng, n, Real::inv_logit(logit_p))
    }
}

/// BetaBinomial(alpha, beta, n): Binomial(n, p) with p from Beta(alpha, beta).
///
/// ln P(y) = ln C(n, y) + ln B(y + alpha, n − y + beta) − ln B(alpha, beta), for y = 0 … n.
///
/// Requires alpha > 0, beta > 0, n whole and ≥ 0. The distribution function sums the masses.
/// Source: Johnson, Kemp and Kotz, *Univariate Discrete Distributions*, section 6.2.2.
pub struct BetaBinomial;

impl Univariate<3> for BetaBinomial {
    const ARGS: [Arg; 3] = [Arg::needed("alpha"), Arg::needed("beta"), Arg::needed("n")];
    const SUPPORT: Support = Support::IntegerRange(Bound::At(0.0), Bound::Arg(2));

    fn log_density<R: Real>(y: R, [alpha, beta, n]: [R; 3]) -> R {
        let zero = R::lit(0.0);
        let valid = trials(n).equals(n) * zero.lt(alpha) * zero.lt(beta);
        let shares = ln_rising(alpha, y) + ln_rising(beta, n - y) - ln_rising(alpha + beta, n);
        let value = unless(not_successes(y, n), ln_choose(n, y) + shares);
        require(valid, value)
    }

    fn cdf(y: f64, args: [f64; 3]) -> Option<f64> {
        let n = args[2];
        if BetaBinomial::log_density(0.0, args).is_nan() {
            return Some(f64::NAN);
        }
        let y = y.floor().min(n);
        if y == n {
            return Some(1.0);
        }
        let mut sum = 0.0;
        let mut k = 0.0;
        while k <= y {
            sum += libm::exp(BetaBinomial::log_density(k, args));
            k += 1.0;
        }
        Some(sum.min(1.0))
    }

    fn sample(rng: &mut Rng, [alpha, beta, n]: [f64; 3]) -> f64 {
        let p = beta_draw(rng, alpha, beta).0;
        binomial_draw(rng, n, p)
    }
}

/// Geometric(p): the number of the first success, 1, 2, …
///
/// ln P(y) = ln p + (y − 1) ln(1 − p). Requires 0 < p ≤ 1.
/// Source: Johnson, Kemp and Kotz, *Univariate Discrete Distributions*, section 5.2.
pub struct Geometric;

impl Geometric {
    /// p where 0 < p ≤ 1, else NaN.
    fn chance<R: Real>(p: R) -> R {
        require(p.le(R::lit(1.0)), positive(p))
    }
}

impl Univariate<1> for Geometric {
    const ARGS: [Arg; 1] = [Arg::needed("p")];
    const SUPPORT: Support = Support::PositiveInteger;

    fn log_density<R: Real>(y: R, [p]: [R; 1]) -> R {
        let kernel = count_ln_1m(y - R::lit(1.0), p);
        unless(not_count(y, 1.0), kernel) + Geometric::chance(p).ln()
    }

    fn log_cdf<R: Real>(y: R, args: [R; 1]) -> Option<R> {
        Geometric::log_ccdf(y, args).map(ln_1m_exp)
    }

    fn log_ccdf<R: Real>(y: R, [p]: [R; 1]) -> Option<R> {
        Some(count_ln_1m(
            y.max(R::lit(0.0)).floor(),
            Geometric::chance(p),
        ))
    }

    fn sample(rng: &mut Rng, [p]: [f64; 1]) -> f64 {
        (1.0 + (rng.exponential() / -libm::log1p(-p)).floor()).max(1.0)
    }
}
