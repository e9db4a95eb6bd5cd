//! The table of all distributions by name, with their parameterisations.

use super::univariate::{Arg, ArgKind, Support};
use super::{Scalar, Structured};

/// A distribution as a model names it.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// The ways to give its arguments; the first is that of positions.
    pub forms: Vec<Form>,
}

/// One parameterisation of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// Of a number.
    Scalar(Scalar),
    /// Of a vector or matrix, or made of other distributions.
    Structured(Structured),
}

impl Form {
    /// The name of the distribution.
    pub fn name(self) -> &'static str {
        match self {
            Form::Scalar(form) => form.name(),
            Form::Structured(form) => form.name(),
        }
    }

    /// Names, defaults and kinds of the arguments, in order.
    pub fn args(self) -> &'static [Arg] {
        match self {
            Form::Scalar(form) => form.args(),
            Form::Structured(form) => form.args(),
        }
    }

    /// Where it has mass.
    pub fn support(self) -> Support {
        match self {
            Form::Scalar(form) => form.support(),
            Form::Structured(form) => form.support(),
        }
    }

    /// Whether a parameter with this distribution can be sampled in standardised coordinates.
    pub fn standardises(self) -> bool {
        match self {
            Form::Scalar(form) => form.location_scale().is_some(),
            Form::Structured(form) => form.standardises(),
        }
    }

    /// Whether the density has an infinite integral, so that there is nothing to draw from.
    pub fn is_improper(self) -> bool {
        match self {
            Form::Scalar(form) => form.is_improper(),
            Form::Structured(_) => false,
        }
    }
}

/// All distributions, scalar ones first.
///
/// ```
/// let beta = fitzroy::dist::entries().into_iter().find(|e| e.name == "Beta").unwrap();
/// let names = |form: usize| beta.forms[form].args().iter().map(|a| a.name).collect::<Vec<_>>();
/// assert_eq!(names(0), ["alpha", "beta"]);
/// assert_eq!(names(1), ["mu", "kappa"]);
/// ```
pub fn entries() -> Vec<Entry> {
    let scalars = Scalar::ALL.iter().map(|&form| Form::Scalar(form));
    let structured = Structured::ALL.iter().map(|&form| Form::Structured(form));
    let mut entries: Vec<Entry> = Vec::new();
    for form in scalars.chain(structured) {
        match entries.last_mut() {
            Some(entry) if entry.name == form.name() => entry.forms.push(form),
            _ => entries.push(Entry {
                name: form.name(),
                forms: vec![form],
            }),
        }
    }
    entries
}

/// The distribution called `name`.
pub fn entry(name: &str) -> Option<Entry> {
    entries().into_iter().find(|entry| entry.name == name)
}

const fn vector(name: &'static str) -> Arg {
    Arg::of_kind(name, ArgKind::Vector)
}

const fn matrix(name: &'static str) -> Arg {
    Arg::of_kind(name, ArgKind::Matrix)
}

const P: Arg = vector("p");
const LOGIT_P: Arg = vector("logit_p");
const CUTPOINTS: Arg = vector("cutpoints");
const A: Arg = vector("a");
const N: Arg = Arg::needed("n");
const MEANS: Arg = vector("mu");
const NU: Arg = Arg::needed("nu");
const ALPHA: Arg = Arg::needed("alpha");
const SCALE: Arg = matrix("scale");
const COV: Arg = matrix("cov");
const CHOL: Arg = matrix("chol");
const DRIFT: Arg = Arg::with_default("mu", 0.0);
const RHO: Arg = vector("rho");
const W: Arg = vector("w");
const ETA: Arg = Arg::needed("eta");
const SIGMA: Arg = Arg::with_default("sigma", 1.0);
const SD_DIST: Arg = Arg::of_kind("sd_dist", ArgKind::Distribution);
const DIST: Arg = Arg::of_kind("dist", ArgKind::Distribution);
const INIT: Arg = Arg {
    name: "init_dist",
    default: Some(f64::NAN),
    kind: ArgKind::Distribution,
};
const RACE: [Arg; 5] = [
    Arg::needed("rt"),
    Arg::needed("t0"),
    Arg::needed("B"),
    Arg::needed("v_plus"),
    Arg::needed("v_minus"),
];
const STOP_SIGNAL: [Arg; 16] = [
    RACE[0],
    Arg::needed("ssd"),
    RACE[1],
    RACE[2],
    RACE[3],
    RACE[4],
    Arg::needed("v0"),
    Arg::needed("g"),
    Arg::needed("stop_mu"),
    Arg::needed("stop_sigma"),
    Arg::needed("stop_tau"),
    Arg::needed("pgf"),
    Arg::needed("ptf"),
    Arg::with_default("stop_lb", 0.05),
    Arg::with_default("deadline", f64::INFINITY),
    Arg::with_default("nodes", 24.0),
];
const STOP_SIGNAL_EX_GAUSSIAN: [Arg; 17] = [
    STOP_SIGNAL[0],
    STOP_SIGNAL[1],
    Arg::needed("go_mu"),
    Arg::needed("go_sigma"),
    Arg::needed("go_tau"),
    STOP_SIGNAL[8],
    STOP_SIGNAL[9],
    STOP_SIGNAL[10],
    STOP_SIGNAL[11],
    STOP_SIGNAL[12],
    Arg::with_default("error_mu", f64::INFINITY),
    Arg::with_default("error_sigma", 1.0),
    Arg::with_default("error_tau", 1.0),
    STOP_SIGNAL[13],
    STOP_SIGNAL[14],
    STOP_SIGNAL[15],
    Arg::with_default("go_lb", 0.05),
];
const COMPONENTS: Arg = Arg::of_kind("comp_dists", ArgKind::Distributions);
const LOWER: Arg = Arg::with_default("lower", f64::NEG_INFINITY);
const UPPER_END: Arg = Arg::needed("upper");
const UPPER: Arg = Arg::with_default("upper", f64::INFINITY);

impl Structured {
    /// All of them, the parameterisations of one distribution next to each other.
    pub const ALL: &'static [Structured] = &[
        Structured::Categorical,
        Structured::CategoricalLogit,
        Structured::OrderedLogistic,
        Structured::OrderedProbit,
        Structured::Dirichlet,
        Structured::StickBreakingWeights,
        Structured::Multinomial,
        Structured::DirichletMultinomial,
        Structured::MvNormal,
        Structured::MvNormalCholesky,
        Structured::MvStudentT,
        Structured::MvStudentTCholesky,
        Structured::LkjCholeskyCov,
        Structured::LkjCorr,
        Structured::ZeroSumNormal,
        Structured::GaussianRandomWalk,
        Structured::Ar,
        Structured::StopSignal,
        Structured::StopSignalExGaussian,
        Structured::WaldRace,
        Structured::Mixture,
        Structured::Censored,
        Structured::Interval,
    ];

    /// Name, arguments and support.
    fn facts(self) -> (&'static str, &'static [Arg], Support) {
        use Structured as S;
        match self {
            S::Categorical => ("Categorical", &[P], Support::Category(0)),
            S::CategoricalLogit => ("Categorical", &[LOGIT_P], Support::Category(0)),
            S::OrderedLogistic => {
                let args = &[ETA, CUTPOINTS];
                ("OrderedLogistic", args, Support::Category(1))
            }
            S::OrderedProbit => {
                let args = &[ETA, CUTPOINTS, SIGMA];
                ("OrderedProbit", args, Support::Category(1))
            }
            S::Dirichlet => ("Dirichlet", &[A], Support::Simplex),
            S::StickBreakingWeights => ("StickBreakingWeights", &[ALPHA], Support::Simplex),
            S::Multinomial => ("Multinomial", &[N, P], Support::Counts(0)),
            S::DirichletMultinomial => ("DirichletMultinomial", &[N, A], Support::Counts(0)),
            S::MvStudentT => ("MvStudentT", &[NU, MEANS, SCALE], Support::RealVector),
            S::MvStudentTCholesky => ("MvStudentT", &[NU, MEANS, CHOL], Support::RealVector),
            S::MvNormal => ("MvNormal", &[MEANS, COV], Support::RealVector),
            S::MvNormalCholesky => ("MvNormal", &[MEANS, CHOL], Support::RealVector),
            S::LkjCholeskyCov => (
                "LKJCholeskyCov",
                &[ETA, SD_DIST],
                Support::CovarianceCholesky,
            ),
            S::LkjCorr => ("LKJCorr", &[ETA], Support::CorrelationCholesky),
            S::ZeroSumNormal => ("ZeroSumNormal", &[SIGMA], Support::ZeroSum),
            S::GaussianRandomWalk => {
                let args = &[DRIFT, SIGMA, INIT];
                ("GaussianRandomWalk", args, Support::RealVector)
            }
            S::Ar => ("AR", &[RHO, SIGMA, INIT], Support::RealVector),
            S::StopSignal => ("StopSignal", &STOP_SIGNAL, Support::NonNegativeInteger),
            S::StopSignalExGaussian => {
                let args = &STOP_SIGNAL_EX_GAUSSIAN;
                ("StopSignalExGaussian", args, Support::NonNegativeInteger)
            }
            S::WaldRace => ("WaldRace", &RACE, Support::PositiveInteger),
            S::Mixture => ("Mixture", &[W, COMPONENTS], Support::OfComponents),
            S::Censored => ("Censored", &[DIST, LOWER, UPPER], Support::OfComponents),
            S::Interval => {
                let args = &[DIST, UPPER_END];
                ("Interval", args, Support::OfComponents)
            }
        }
    }

    /// The name of the distribution.
    pub fn name(self) -> &'static str {
        self.facts().0
    }

    /// Names, defaults and kinds of the arguments, in order. An `init_dist` may be left out.
    pub fn args(self) -> &'static [Arg] {
        self.facts().1
    }

    /// Where it has mass.
    pub fn support(self) -> Support {
        self.facts().2
    }

    /// Whether a parameter with this distribution can be sampled in standardised coordinates.
    pub fn standardises(self) -> bool {
        use Structured as S;
        matches!(
            self,
            S::MvNormal
                | S::MvNormalCholesky
                | S::MvStudentT
                | S::MvStudentTCholesky
                | S::ZeroSumNormal
                | S::GaussianRandomWalk
        )
    }
}
