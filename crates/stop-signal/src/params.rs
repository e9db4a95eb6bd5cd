//! The models, and the parameters of a subject in each.

use crate::priors::Prior;
use fitzroy::Named;

/// Which model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Two racing Wald accumulators against an ex-Gaussian stop process.
    Rdex,
    /// Ex-Gaussian times of both responses and of the stop process.
    ExGaussian,
    /// An ex-Gaussian time of any response, whichever it is, and of the stop process.
    ExGaussianSingle,
    /// Go responses alone: two racing Wald accumulators.
    WaldRace,
    /// Go responses alone: one Wald time, its rate by correctness.
    WaldSingle,
}

impl Named for Kind {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("rdex-abcd", Kind::Rdex),
        ("ex-gaussian", Kind::ExGaussian),
        ("ex-gaussian-single", Kind::ExGaussianSingle),
        ("wald", Kind::WaldRace),
    ];

    fn meaning(self) -> &'static str {
        match self {
            Kind::Rdex => "Two racing accumulators against a stop process",
            Kind::ExGaussian => {
                "A race of ex-Gaussian times: right and wrong response, stop process"
            }
            Kind::ExGaussianSingle => "The same with one go time, whichever response it gives",
            Kind::WaldRace | Kind::WaldSingle => "Go responses alone",
        }
    }
}

/// A parameter of subjects, positive or a probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// Its name. Times in seconds, rates in 1/s of a diffusion of unit noise.
    pub name: &'static str,
    /// Whether it is a probability; the others are positive numbers.
    pub probability: bool,
    /// Whether a subject says so little about it that non-centred coordinates are the better ones, and
    /// the data may allow a population in which all subjects are alike.
    pub weak: bool,
    /// Its prior where nothing else is asked for.
    pub prior: Prior,
}

/// A sum or a difference of two parameters that is recorded beside them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Derived {
    /// Its name.
    pub name: &'static str,
    /// The first parameter.
    pub left: &'static str,
    /// 1 for a sum, −1 for a difference.
    pub sign: f64,
    /// The second parameter.
    pub right: &'static str,
    /// Whether it is recorded for the medians of the population, too.
    pub of_population: bool,
}

const fn well(name: &'static str, [m, s, h]: [f64; 3]) -> Parameter {
    Parameter {
        name,
        probability: false,
        weak: false,
        prior: Prior { m, s, h },
    }
}

const fn weakly(name: &'static str, prior: [f64; 3]) -> Parameter {
    let mut made = well(name, prior);
    made.weak = true;
    made
}

const fn probability(name: &'static str) -> Parameter {
    let mut made = well(name, [-1.8, 0.7, 0.6]);
    made.probability = true;
    made
}

/// The stop process: mean and standard deviation of the normal part, mean of the exponential part;
/// go failure and trigger failure.
const STOP: [Parameter; 5] = [
    weakly("stop_mu", [0.23, 0.3, 0.3]),
    weakly("stop_sigma", [0.05, 0.7, 0.8]),
    weakly("stop_tau", [0.03, 0.8, 0.8]),
    probability("pgf"),
    probability("ptf"),
];

/// Threshold of both racers; non-decision time; rates of the matching and of the mismatching response
/// on go trials; the rate of both at delay 0; the speed at which rates move from there.
///
/// Priors, here and below, are wide around what fits of children report.
static RDEX: [Parameter; 11] = [
    well("B", [1.2, 0.4, 0.3]),
    well("t0", [0.15, 0.4, 0.3]),
    well("v_plus", [3.0, 0.4, 0.3]),
    weakly("v_minus", [0.5, 1.0, 0.8]),
    well("v0", [2.5, 0.4, 0.3]),
    weakly("g", [2.8, 0.6, 0.3]),
    STOP[0],
    STOP[1],
    STOP[2],
    STOP[3],
    STOP[4],
];

/// Times of the matching response and, last, of the mismatching one, as of the stop process.
static EX_GAUSSIAN: [Parameter; 11] = [
    well("go_mu", [0.42, 0.3, 0.25]),
    well("go_sigma", [0.07, 0.5, 0.4]),
    well("go_tau", [0.12, 0.5, 0.4]),
    STOP[0],
    STOP[1],
    STOP[2],
    STOP[3],
    STOP[4],
    well("error_mu", [0.65, 0.4, 0.3]),
    weakly("error_sigma", [0.15, 0.6, 0.5]),
    weakly("error_tau", [0.25, 0.7, 0.5]),
];

const SSRT: Derived = Derived {
    name: "ssrt",
    left: "stop_mu",
    sign: 1.0,
    right: "stop_tau",
    of_population: true,
};
static OF_RDEX: [Derived; 2] = [
    SSRT,
    Derived {
        name: "eea",
        left: "v_plus",
        sign: -1.0,
        right: "v_minus",
        of_population: false,
    },
];
static OF_EX_GAUSSIAN: [Derived; 2] = [
    SSRT,
    Derived {
        name: "go_mean",
        left: "go_mu",
        sign: 1.0,
        right: "go_tau",
        of_population: true,
    },
];

/// Names of the parameters of the Wald baseline, whose priors are its own.
const WALD_NAMES: [&str; 4] = ["B", "t0", "v_true", "v_false"];

impl Kind {
    /// Models of stop trials and go trials.
    pub const OF_STOPPING: [Kind; 3] = [Kind::Rdex, Kind::ExGaussian, Kind::ExGaussianSingle];

    /// Its name in files; both densities of the baseline are one model by name.
    pub fn name(self) -> &'static str {
        match self {
            Kind::WaldSingle => Kind::WaldRace.setting(),
            kind => kind.setting(),
        }
    }

    /// Whether it is about stopping, and not about go responses alone.
    pub fn stops(self) -> bool {
        Self::OF_STOPPING.contains(&self)
    }

    /// Whether its go times are ex-Gaussian.
    pub fn is_ex_gaussian(self) -> bool {
        matches!(self, Kind::ExGaussian | Kind::ExGaussianSingle)
    }

    /// Whether right and wrong responses are one to it.
    pub fn is_single(self) -> bool {
        self == Kind::ExGaussianSingle
    }

    /// The parameters of a subject in a model of stopping; none of the Wald baseline.
    pub fn parameters(self) -> &'static [Parameter] {
        match self {
            Kind::Rdex => &RDEX,
            Kind::ExGaussian => &EX_GAUSSIAN,
            Kind::ExGaussianSingle => &EX_GAUSSIAN[..8],
            Kind::WaldRace | Kind::WaldSingle => &[],
        }
    }

    /// Sums and differences of them that are recorded, too.
    pub fn derived(self) -> &'static [Derived] {
        match self {
            Kind::Rdex => &OF_RDEX,
            Kind::ExGaussian | Kind::ExGaussianSingle => &OF_EX_GAUSSIAN,
            Kind::WaldRace | Kind::WaldSingle => &[],
        }
    }

    /// Names of all parameters of a subject.
    pub fn parameter_names(self) -> Vec<&'static str> {
        match self.stops() {
            true => self.parameters().iter().map(|p| p.name).collect(),
            false => WALD_NAMES.to_vec(),
        }
    }
}

/// Parameters of one subject of a model of stopping, in the order of [`Kind::parameters`].
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// The model.
    pub kind: Kind,
    /// Their values.
    pub values: Vec<f64>,
}

impl Params {
    /// The one called `name`.
    ///
    /// # Panics
    /// When there is none.
    #[track_caller]
    pub fn get(&self, name: &str) -> f64 {
        let at = self.kind.parameters().iter().position(|p| p.name == name);
        self.values[at.expect("a name of the model's parameters")]
    }

    /// Mean of the stop time without its lower bound, μ + τ, in seconds.
    pub fn ssrt(&self) -> f64 {
        self.get("stop_mu") + self.get("stop_tau")
    }
}

impl Parameter {
    /// Its value on the scale on which subjects are normal: a logarithm, or a probit.
    pub fn scaled(&self, x: f64) -> f64 {
        match self.probability {
            true => crate::simulate::ndtri(x),
            false => libm::log(x),
        }
    }

    /// What [`Parameter::scaled`] makes of a value, undone.
    pub fn unscaled(&self, y: f64) -> f64 {
        match self.probability {
            true => crate::simulate::ndtr(y),
            false => libm::exp(y),
        }
    }

    /// Its name on that scale: `log_B`, `probit_pgf`.
    pub fn scaled_name(&self) -> String {
        match self.probability {
            true => format!("probit_{}", self.name),
            false => format!("log_{}", self.name),
        }
    }

    /// The population's mean on that scale: `log_mu_B`, `mu_pgf_probit`.
    pub fn centre_name(&self) -> String {
        match self.probability {
            true => format!("mu_{}_probit", self.name),
            false => format!("log_mu_{}", self.name),
        }
    }

    /// The population's standard deviation on that scale: `sigma_B`, `sigma_pgf_probit`.
    pub fn spread_name(&self) -> String {
        match self.probability {
            true => format!("sigma_{}_probit", self.name),
            false => format!("sigma_{}", self.name),
        }
    }
}
