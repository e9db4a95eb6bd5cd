//! Step size: a search by doubling, then dual averaging.

/// Dual averaging of the log step size (Hoffman, Gelman, JMLR 15, 2014, section 3.2), with
/// γ = 0.05, t₀ = 10, κ = 0.75:
///
/// H̄ₜ = (1 − 1/(t+t₀)) H̄ₜ₋₁ + (δ − αₜ)/(t+t₀),  log εₜ = μ − (√t/γ) H̄ₜ,
/// log ε̄ₜ = t^−κ log εₜ + (1 − t^−κ) log ε̄ₜ₋₁,  μ = log(10 ε₀).
#[derive(Clone, Debug)]
pub(crate) struct DualAveraging {
    mu: f64,
    error: f64,
    log_step: f64,
    log_average: f64,
    count: f64,
}

const GAMMA: f64 = 0.05;
const T0: f64 = 10.0;
const KAPPA: f64 = 0.75;

impl DualAveraging {
    /// Starts at `step_size`.
    pub(crate) fn new(step_size: f64) -> Self {
        let log_step = libm::log(step_size);
        DualAveraging {
            mu: libm::log(10.0) + log_step,
            error: 0.0,
            log_step,
            log_average: log_step,
            count: 0.0,
        }
    }

    /// All it knows, for [`DualAveraging::from_numbers`].
    pub(crate) fn numbers(&self) -> [f64; 5] {
        [
            self.mu,
            self.error,
            self.log_step,
            self.log_average,
            self.count,
        ]
    }

    /// What [`DualAveraging::numbers`] were of.
    pub(crate) fn from_numbers([mu, error, log_step, log_average, count]: [f64; 5]) -> Self {
        DualAveraging {
            mu,
            error,
            log_step,
            log_average,
            count,
        }
    }

    /// The step size to try next.
    pub(crate) fn current(&self) -> f64 {
        libm::exp(self.log_step)
    }

    /// The averaged step size.
    pub(crate) fn average(&self) -> f64 {
        libm::exp(self.log_average)
    }

    /// Learns that the last step size gave this mean acceptance.
    pub(crate) fn learn(&mut self, acceptance: f64, target: f64) {
        self.count += 1.0;
        let weight = 1.0 / (self.count + T0);
        self.error = (1.0 - weight) * self.error + weight * (target - acceptance);
        // Bounds far outside anything useful, so that a hopeless target ends in no infinity.
        let log_step = self.mu - self.count.sqrt() / GAMMA * self.error;
        self.log_step = log_step.clamp(-60.0, 60.0);
        let weight = forgetting(self.count);
        self.log_average = weight * self.log_step + (1.0 - weight) * self.log_average;
    }
}

/// The weight t^−κ of the newest of `count` step sizes in their average.
pub(crate) fn forgetting(count: f64) -> f64 {
    libm::pow(count, -KAPPA)
}

/// Acceptance at which the search stops.
const SEARCH_ACCEPTANCE: f64 = 0.8;

/// Doubles or halves `step_size` until the acceptance of one step crosses 0.8.
///
/// `acceptance` makes one leapfrog step of the given size and returns min(1, exp(H₀ − H)), zero
/// when that is not finite.
pub(crate) fn search(step_size: f64, mut acceptance: impl FnMut(f64) -> f64) -> f64 {
    let grow = acceptance(step_size) > SEARCH_ACCEPTANCE;
    let factor = if grow { 2.0 } else { 0.5 };
    let mut step_size = step_size;
    // 2^±60 is far beyond any sensible step: a flat or a broken density ends here.
    for _ in 0..60 {
        step_size *= factor;
        if (acceptance(step_size) > SEARCH_ACCEPTANCE) != grow {
            break;
        }
    }
    step_size
}

/// The middle number; the mean of the two middle ones for an even count. NaN for none.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[n / 2],
        n => 0.5 * (values[n / 2 - 1] + values[n / 2]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Rng};

    /// Acceptance exp(−ε) plus noise; the target 0.8 is reached at ε = 0.2231. Bound 10 %: the noise
    /// left by averaging 1000 steps, with room. Passes on 1000 of 1000 seeds. Catches: the sign of
    /// the error, weights t^−κ and 1 − t^−κ exchanged.
    #[test]
    fn dual_averaging_finds_the_step_with_the_wanted_acceptance() {
        for seed in super::super::tests::seeds(20) {
            let mut rng = Rng::new(seed, 0, 0, 0, Purpose::Test);
            let mut step = DualAveraging::new(5.0);
            for _ in 0..1000 {
                let noise = 0.2 * (rng.uniform() - 0.5);
                step.learn((-step.current()).exp() + noise, 0.8);
            }
            let wanted = -(0.8f64.ln());
            assert!(
                (step.average() / wanted - 1.0).abs() < 0.1,
                "{}",
                step.average()
            );
        }
    }

    #[test]
    fn the_search_stops_just_past_the_crossing() {
        let acceptance = |step: f64| (-step * step).exp();
        // exp(−ε²) = 0.8 at ε = 0.472.
        assert_eq!(search(0.01, acceptance), 0.64);
        assert_eq!(search(64.0, acceptance), 0.25);
        assert_eq!(search(1.0, |_| 1.0), 2f64.powi(60));
        assert_eq!(search(1.0, |_| 0.0), 2f64.powi(-60));
    }

    #[test]
    fn the_median_of_an_even_count_is_the_mean_of_the_middle() {
        assert_eq!(median(vec![4.0, 1.0, 3.0, 2.0]), 2.5);
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert!(median(vec![]).is_nan());
    }
}
