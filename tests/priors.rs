//! Every prior of a number integrates to one over its unconstrained coordinate, whatever its
//! limits: density, transform and Jacobian fit together. By quadrature of the compiled density.
#![allow(clippy::unwrap_used)]

mod support;

use fitzroy::data::Dataset;
use fitzroy::dist::Scalar;
use fitzroy::model::joint::{Coordinates, Joint};
use support::{Density, everywhere, joint, near};

/// Statements that are no more than a first parameter, fixed while the second is integrated out.
const FIRST: &str = "a ~ Normal(0.3, 0.8)\n";

/// Halvings of one panel at most, and the error that needs none.
const DEPTH: u32 = 24;
const TOLERANCE: f64 = 1e-12;

/// ∫ f over [a, b] by Simpson's rule, panels halved until two steps agree.
fn simpson(f: &mut impl FnMut(f64) -> f64, ends: [f64; 2], values: [f64; 3], depth: u32) -> f64 {
    let ([a, b], [fa, fm, fb]) = (ends, values);
    let m = 0.5 * (a + b);
    let (left, right) = (f(0.5 * (a + m)), f(0.5 * (m + b)));
    let coarse = (b - a) / 6.0 * (fa + 4.0 * fm + fb);
    let fine = (b - a) / 12.0 * (fa + 4.0 * left + 2.0 * fm + 4.0 * right + fb);
    if depth == 0 || (fine - coarse).abs() < TOLERANCE {
        return fine + (fine - coarse) / 15.0;
    }
    simpson(f, [a, m], [fa, left, fm], depth - 1) + simpson(f, [m, b], [fm, right, fb], depth - 1)
}

/// ∫ exp(density) over the last coordinate, the others at `fixed`, where the parameter on its
/// natural scale is at most `upper`.
///
/// In t with u = sinh t + t, so that tails of any power end.
fn mass(joint: &Joint, coordinates: &[Coordinates], fixed: &[f64], upper: f64) -> f64 {
    let mut density = Density::new(joint, coordinates);
    let graphs = &density.graphs;
    let recorded = graphs.recorded.last().unwrap().node;
    let natural =
        fitzroy_device::cpu::Function::compile(&graphs.graph, &graphs.bindings, &[recorded]);
    let natural = natural.unwrap();
    let mut workspace = natural.workspace();
    let mut at = fixed.to_vec();
    at.push(0.0);
    let last = at.len() - 1;
    let mut f = |t: f64| {
        at[last] = t.sinh() + t;
        let log = density.value(&at);
        // Where rounding puts the parameter onto a finite end of its support a density that is 0
        // there has no logarithm; the sampler ends such a trajectory.
        if log.is_nan() && at[last] < -36.0 {
            return 0.0;
        }
        assert!(!log.is_nan() && log < f64::INFINITY, "{log} at {at:?}");
        natural.run(&mut workspace, &at);
        let inside = natural.output(&workspace, 0)[0] <= upper;
        if inside {
            log.exp() * (t.cosh() + 1.0)
        } else {
            0.0
        }
    };
    // A coordinate beyond ±700 is only within reach of a power-law tail.
    let reach = if heavy(joint) { 40.0 } else { 7.2 };
    // A direction has a mode at each of its turns.
    let goes_round = joint.model().text().contains("~ VonMises(");
    let (mut sum, panel) = (0.0, if goes_round { 1.0 / 1024.0 } else { 1.0 / 16.0 });
    let mut a = -reach;
    while a < reach {
        let b = a + panel;
        let values = [f(a), f(0.5 * (a + b)), f(b)];
        sum += simpson(&mut f, [a, b], values, DEPTH);
        a = b;
    }
    sum
}

/// Where distribution functions are compared.
const MIDDLE: f64 = 0.7;

/// Whether the coordinate itself has a power-law tail.
fn heavy(joint: &Joint) -> bool {
    let text = joint.model().text();
    ["Cauchy(", "StudentT(", "SkewStudentT("]
        .iter()
        .any(|name| text.contains(&format!("~ {name}")))
}

/// What is wrong with the integral, if anything. Bound: 1e-8 of one.
fn wrong(first: &str, fixed: &[f64], statement: &str) -> Option<String> {
    let text = format!("{first}{statement}\n");
    let both = joint(&text, &Dataset::new());
    let outer = match first {
        "" => 0.0,
        _ => {
            let alone = joint(first, &Dataset::new());
            let centred = everywhere(&alone, &Coordinates::Centred);
            Density::new(&alone, &centred).value(fixed)
        }
    };
    for choice in [
        Coordinates::Centred,
        Coordinates::NonCentred,
        Coordinates::Partial(vec![0.4]),
    ] {
        let coordinates = everywhere(&both, &choice);
        let mass = mass(&both, &coordinates, fixed, f64::INFINITY) / outer.exp();
        if (mass - 1.0).abs().total_cmp(&1e-8).is_ge() {
            return Some(format!("{statement} at {fixed:?}, {choice:?}: {mass}"));
        }
        if coordinates.is_empty() {
            break;
        }
    }
    None
}

/// A proper prior of every family of numbers, some with extreme shapes.
const PRIORS: [&str; 56] = [
    "Normal(1, 2)",
    "Normal(-5, 0.05)",
    "HalfNormal(3)",
    "StudentT(3, 1, 2)",
    "HalfStudentT(4, 2)",
    "Cauchy(1, 2)",
    "HalfCauchy(5)",
    "Laplace(0, 1.5)",
    "Logistic(1, 2)",
    "LogNormal(1, 0.5)",
    "Exponential(3)",
    "Exponential(scale=3)",
    "Gamma(0.3, 2)",
    "Gamma(50, 2)",
    "Gamma(mu=3, sigma=1)",
    "InverseGamma(2, 3)",
    "Weibull(0.7, 2)",
    "Weibull(6, 2)",
    "Gumbel(1, 2)",
    "Pareto(1.5, 2)",
    "Beta(0.5, 0.5)",
    "Beta(2, 30)",
    "Beta(mu=0.3, kappa=10)",
    "Kumaraswamy(2, 3)",
    "Kumaraswamy(0.4, 0.6)",
    "LogitNormal(0.3, 1.5)",
    "LogitNormal(mu=1, tau=9)",
    "Moyal(1, 2)",
    "AsymmetricLaplace(1.7, 0.5, 2)",
    "AsymmetricLaplace(0.3, 0.5, 2)",
    "ChiSquared(3)",
    "ChiSquared(0.7)",
    "Uniform(-2, 5)",
    "Uniform(0, 1)",
    "Uniform(1e6, 1e6 + 1)",
    "Triangular(-1, 3, 0.5)",
    "Triangular(0, 1, 1)",
    "Triangular(0, 1, 0)",
    "VonMises(0.5, 2)",
    "VonMises(3, 40)",
    "SkewNormal(1, 2, 4)",
    "SkewNormal(0, 1, -30)",
    "SkewStudentT(1.5, 4, 0.5, 2)",
    "SkewStudentT(a=4, b=0.8, mu=0, lam=2)",
    "Rice(1.3, 0.7)",
    "Rice(0, 2)",
    "Rice(b=3, sigma=0.5)",
    "ExGaussian(0, 1, 2)",
    "ExGaussian(0, 0.1, 5)",
    "Wald(2, 3)",
    "Wald(2, 3, 0.5)",
    "TruncatedNormal(1, 2, -1, 3)",
    "TruncatedNormal(1, 2, lower=0)",
    "TruncatedNormal(1, 2, upper=0)",
    "TruncatedNormal(1, 2)",
    "TruncatedNormal(0, 1, 8, 9)",
];

#[test]
fn every_proper_prior_integrates_to_one() {
    let found = PRIORS.map(|prior| wrong("", &[], &format!("x ~ {prior}")));
    let found: Vec<String> = found.into_iter().flatten().collect();
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn every_family_of_numbers_with_a_density_is_in_the_list() {
    let discrete = |s: Scalar| {
        use fitzroy::dist::Support;
        matches!(
            s.support(),
            Support::IntegerRange(..)
                | Support::NonNegativeInteger
                | Support::PositiveInteger
                | Support::ZeroOrPositive
        )
    };
    for &scalar in Scalar::ALL {
        let listed = PRIORS
            .iter()
            .any(|p| p.starts_with(&format!("{}(", scalar.name())));
        let wanted = !discrete(scalar) && !scalar.is_improper();
        assert_eq!(listed, wanted, "{}", scalar.name());
    }
}

/// Limits cut a part of the support, all of a tail, nothing, or more than there is.
const LIMITS: [&str; 9] = [
    "(-1, 2)",
    "(0, inf)",
    "(-inf, 0.7)",
    "(-inf, inf)",
    "(0.2, 0.4)",
    "(-3, 0.5)",
    "(0.9, 40)",
    "(-100, 100)",
    "(0.5, 0.50001)",
];

/// Families whose distribution function is closed, with and without an end of their own.
const CUT: [&str; 19] = [
    "Normal(0.3, 1.2)",
    "HalfNormal(1)",
    "Cauchy(0.3, 2)",
    "HalfCauchy(1)",
    "Laplace(0.4, 1)",
    "Logistic(0.1, 1)",
    "LogNormal(0, 1)",
    "Exponential(2)",
    "Weibull(1.5, 1)",
    "Gumbel(0, 1)",
    "Kumaraswamy(2, 3)",
    "LogitNormal(0.3, 1.5)",
    "Moyal(0, 1)",
    "AsymmetricLaplace(1.7, 0.5, 2)",
    "Uniform(-2, 3)",
    "Uniform(0, 0.95)",
    "Triangular(-2, 2, 0.5)",
    "ExGaussian(0, 1, 1)",
    "TruncatedNormal(0, 1, -2, 3)",
];

#[test]
fn truncated_priors_integrate_to_one() {
    let pairs = CUT
        .iter()
        .flat_map(|p| LIMITS.map(|l| format!("x ~ {p} truncated{l}")));
    let found: Vec<String> = pairs.filter_map(|s| wrong("", &[], &s)).collect();
    assert!(found.is_empty(), "{found:#?}");
}

/// The share that is left is that of the distribution function, which has its own tests.
#[test]
fn bounded_priors_keep_the_share_within_the_bounds() {
    for prior in CUT {
        let whole = joint(&format!("x ~ {prior}\n"), &Dataset::new());
        let centred = everywhere(&whole, &Coordinates::Centred);
        let share = mass(&whole, &centred, &[], MIDDLE);
        let statement = format!("x ~ {prior} bounded(-inf, {MIDDLE})");
        let cut = joint(&format!("{statement}\n"), &Dataset::new());
        let mass = mass(&cut, &centred, &[], f64::INFINITY);
        near(mass, share, 1.0, 1e-8, &statement);
        let truncated = format!("x ~ {prior} truncated(-inf, {MIDDLE})");
        let truncated = joint(&format!("{truncated}\n"), &Dataset::new());
        let mut pair = [
            Density::new(&cut, &centred),
            Density::new(&truncated, &centred),
        ];
        let lost = pair[1].value(&[-0.3]) - pair[0].value(&[-0.3]);
        near(-lost, mass.ln(), 1.0, 1e-8, statement);
    }
}

/// Ends and arguments that are themselves parameters.
#[test]
fn priors_with_parameters_for_arguments_and_ends_integrate_to_one() {
    let mut found = Vec::new();
    for at in [-0.8, 0.1, 1.3] {
        for statement in [
            "x ~ Normal(a, exp(a))",
            "x ~ StudentT(4, a, exp(a))",
            "x ~ Cauchy(a, exp(a))",
            "x ~ Laplace(a, exp(a))",
            "x ~ Logistic(a, exp(a))",
            "x ~ Gumbel(a, exp(a))",
            "x ~ SkewNormal(a, exp(a), 2)",
            "x ~ LogNormal(a, exp(a))",
            "x ~ HalfNormal(exp(a))",
            "x ~ Uniform(a, 2)",
            "x ~ Uniform(-3, a)",
            "x ~ Uniform(a, a + exp(a))",
            "x ~ Triangular(a, 2, 1.5)",
            "x ~ Pareto(2, exp(a))",
            "x ~ VonMises(a, exp(a))",
            "x ~ Wald(exp(a), 2, a)",
            "x ~ Beta(exp(a), 2)",
            "x ~ Gamma(exp(a), 2)",
            "x ~ TruncatedNormal(a, 1, a - 1, a + 2)",
            "x ~ TruncatedNormal(a, 1, lower=a)",
            "x ~ TruncatedNormal(a, 1, upper=a)",
            "x ~ Normal(0, 1) truncated(a, 3)",
            "x ~ Normal(0, 1) truncated(-2, a)",
            "x ~ Normal(0, 1) truncated(a, inf)",
            "x ~ Normal(0, 1) truncated(-inf, a)",
            "x ~ Normal(a, exp(a)) truncated(a - 1, a + 1)",
            "x ~ HalfNormal(1) truncated(a, 3)",
            "x ~ Exponential(exp(a)) truncated(0.5, 2)",
            "x ~ Uniform(-2, 3) truncated(a, inf)",
        ] {
            found.extend(wrong(FIRST, &[at], statement));
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}
