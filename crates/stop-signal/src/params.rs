//! The eleven parameters of a subject.

/// Names in the order of everything here. Times in seconds, rates in 1/s of a diffusion of unit
/// noise, pgf and ptf probabilities.
pub const NAMES: [&str; 11] = [
    "B",
    "t0",
    "v_plus",
    "v_minus",
    "v0",
    "g",
    "stop_mu",
    "stop_sigma",
    "stop_tau",
    "pgf",
    "ptf",
];

/// How many of them are positive numbers; the others are probabilities.
pub const N_POSITIVE: usize = 9;

/// What each means, for tables.
pub const MEANINGS: [&str; 11] = [
    "threshold of both racers",
    "non-decision time, s",
    "rate of the matching response on go trials",
    "rate of the mismatching response on go trials",
    "rate of both at stop-signal delay 0",
    "speed at which rates move from v0 to their go value",
    "stop process: mean of the normal part, s",
    "stop process: standard deviation of the normal part, s",
    "stop process: mean of the exponential part, s",
    "probability of go failure",
    "probability of trigger failure",
];

/// Parameters of one subject, in the order of [`NAMES`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params(pub [f64; 11]);

impl Params {
    /// The one called `name`.
    ///
    /// # Panics
    /// When there is none.
    #[track_caller]
    pub fn get(&self, name: &str) -> f64 {
        let at = NAMES.iter().position(|n| *n == name);
        self.0[at.expect("a name of NAMES")]
    }

    /// Mean of the stop time without its lower bound, μ + τ, in seconds.
    pub fn ssrt(&self) -> f64 {
        self.get("stop_mu") + self.get("stop_tau")
    }
}
