//! Numbers by chance, for problems that nobody chose.

use fitzroy::rng::Rng;

pub(crate) struct Chance(pub(crate) Rng);

impl Chance {
    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.0.uniform()
    }

    /// Between positive ends, by the logarithm.
    pub(crate) fn scale(&mut self, low: f64, high: f64) -> f64 {
        self.between(low.ln(), high.ln()).exp()
    }
}
