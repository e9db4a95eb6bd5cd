//! How heavy the tails of draws are.
//!
//! Beyond a high threshold almost every distribution looks like a generalized Pareto distribution,
//! whose shape k says which moments exist: those of order below 1/k. From k = ½ on there is no
//! standard deviation, and long before that the one of the draws rests on the few farthest.

use super::loo::fit_pareto;

/// Tails are only fitted where a draw lies more than this many standard deviations from the mean;
/// of 4,000 normal draws none does, of as many exponential ones every second set has one.
const FAR: f64 = 5.0;
/// Draws in a tail, at least.
const FEWEST: usize = 5;

/// The larger k of the lower and the upper tail of ascending draws: ⌊3 √S⌋ of S draws, at most a
/// fifth. NaN where no tail reaches far enough to be fitted, or none can be.
pub(crate) fn heaviest(sorted: &[f64], mean: f64, sd: f64) -> f64 {
    let size = sorted.len();
    let n = ((3.0 * (size as f64).sqrt()) as usize).min(size / 5);
    if n < FEWEST {
        return f64::NAN;
    }
    let far = |end: f64| (end - mean).abs() > FAR * sd;
    let shape = |beyond: Vec<f64>| fit_pareto(&beyond).map_or(f64::NAN, |(k, _)| k);
    let (mut upper, mut lower) = (f64::NAN, f64::NAN);
    if far(sorted[size - 1]) {
        let from = sorted[size - n - 1];
        upper = shape(sorted[size - n..].iter().map(|x| x - from).collect());
    }
    if far(sorted[0]) {
        let from = sorted[n];
        lower = shape(sorted[..n].iter().rev().map(|x| from - x).collect());
    }
    // `max` takes the other of a number and NaN.
    upper.max(lower)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::{mean, sd};
    use crate::rng::{Purpose, Rng};

    fn shape(draw: impl Fn(&mut Rng) -> f64) -> f64 {
        let mut rng = Rng::new(5, 0, 0, 0, Purpose::Test);
        let mut x: Vec<f64> = (0..4000).map(|_| draw(&mut rng)).collect();
        x.sort_by(f64::total_cmp);
        heaviest(&x, mean(&x), sd(&x))
    }

    /// Bound: the standard error of k is about (1 + k)/√189 = .11 for k = ½; three of them, and a
    /// prior that moves it by .02. Catches: a tail taken from the wrong end, the other sign.
    #[test]
    fn tails_of_either_side_are_told_from_light_ones() {
        let power = |k: f64| move |rng: &mut Rng| libm::pow(1.0 - rng.uniform(), -k);
        assert!((shape(power(0.5)) - 0.5).abs() < 0.35);
        assert!((shape(|rng| -power(1.0)(rng)) - 1.0).abs() < 0.45);
        assert!(shape(|rng| rng.normal()).is_nan());
        assert!(shape(|_| 1.0).is_nan());
        assert!(heaviest(&[1.0, 2.0, 900.0], 1.0, 1.0).is_nan());
    }
}
