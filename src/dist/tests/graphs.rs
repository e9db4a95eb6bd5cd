//! The same formulas recorded as graphs: values, slopes, and what trust in the support removes.

use super::draws::cases;
use crate::dist::*;
use crate::rng::{Purpose, Rng};
use fitzroy_graph::{Bindings, Expr, Op, Scope, evaluate, gradient};

/// y and the arguments, each of which is a parameter of the graph or a constant.
struct Point {
    form: Scalar,
    values: Vec<f64>,
    fixed: Vec<bool>,
}

impl Point {
    fn new(form: Scalar, y: f64, args: &[f64]) -> Point {
        let whole_y = form.support().is_discrete();
        // A count of trials has no slope; an infinite bound is no parameter.
        let counts = matches!(
            form,
            Scalar::NegativeBinomialTrials | Scalar::HurdleNegativeBinomialTrials
        );
        let urn = form == Scalar::HyperGeometric;
        let whole = |name: &str| (name == "n" && !counts) || urn;
        let is_fixed = |(arg, value): (&Arg, &f64)| {
            whole(arg.name) || value.is_infinite() || form == Scalar::DiscreteUniform
        };
        let mut fixed = vec![whole_y];
        fixed.extend(form.args().iter().zip(args).map(is_fixed));
        Point {
            form,
            values: [&[y], args].concat(),
            fixed,
        }
    }

    /// Value and slopes to y and the arguments, by a graph.
    fn by_graph(&self, trust: bool) -> (f64, Vec<f64>) {
        let scope = Scope::new();
        scope.trust_support(trust);
        let node = {
            let leaf = |i: usize| match self.fixed[i] {
                true => Expr::lit(self.values[i]),
                false => scope.param(i, &[]),
            };
            let x: Vec<Expr> = (0..self.values.len()).map(leaf).collect();
            scope.node(self.form.log_density(x[0], &x[1..]))
        };
        let mut graph = scope.finish();
        let bindings = Bindings::default();
        let mut slopes = vec![0.0; self.values.len()];
        for partial in gradient(&mut graph, node) {
            let Op::Param { offset } = graph.node(partial.param).op else {
                panic!("a leaf")
            };
            slopes[offset] = evaluate(&graph, &bindings, &self.values, &[partial.adjoint])[0][0];
        }
        (
            evaluate(&graph, &bindings, &self.values, &[node])[0][0],
            slopes,
        )
    }

    fn value(&self, x: &[f64]) -> f64 {
        self.form.log_density(x[0], &x[1..])
    }

    /// A slope by central differences, or none where the formula has a kink or an end.
    fn slope(&self, i: usize) -> Option<f64> {
        let h = 1e-5 * self.values[i].abs().max(0.01);
        let moved = |by: f64| {
            let mut x = self.values.clone();
            x[i] += by;
            self.value(&x)
        };
        let here = self.value(&self.values);
        let (left, right) = ((here - moved(-h)) / h, (moved(h) - here) / h);
        let smooth = (left - right).abs() < 0.02 * (left.abs() + right.abs()) + 0.02;
        let half = (moved(0.5 * h) - moved(-0.5 * h)) / h;
        // Richardson: the errors of both steps are as 4 to 1.
        smooth.then_some((4.0 * half - 0.5 * (left + right)) / 3.0)
    }
}

/// Bound: extrapolated central differences at a relative step of 1e-5 are good to some 1e-8 of the
/// slope, plus rounding of the value over the step, 1e-16·|value|/1e-7; 1e-5 leaves room near ends.
#[test]
fn recorded_formulas_have_the_values_and_slopes_of_the_formulas() {
    let mut rng = Rng::new(9, 0, 0, 0, Purpose::Test);
    for (form, args) in cases() {
        for _ in 0..6 {
            let point = Point::new(form, form.sample(&mut rng, &args), &args);
            let exact = point.value(&point.values);
            for trust in [false, true] {
                let (value, slopes) = point.by_graph(trust);
                let what = format!("{form:?} at {:?}, trust {trust}", point.values);
                let error = (value - exact).abs() / exact.abs().max(1.0);
                assert!(error < 1e-11, "{what}: {value}, not {exact}");
                for i in (0..slopes.len()).filter(|i| !point.fixed[*i]) {
                    assert!(!slopes[i].is_nan(), "{what}: slope {i} is NaN");
                    let Some(rough) = point.slope(i) else {
                        continue;
                    };
                    let bound = 1e-5 * (1.0 + rough.abs()) + 1e-8 * exact.abs();
                    let error = (slopes[i] - rough).abs();
                    assert!(
                        error < bound,
                        "{what}: slope {i} is {}, not {rough}",
                        slopes[i]
                    );
                }
            }
        }
    }
}

/// Where formulas are decided by cases: a count of zero, equal odds, the mode of a peak.
#[test]
fn slopes_are_right_where_a_formula_changes_case() {
    let slope = |form: Scalar, y: f64, args: &[f64], i: usize| {
        Point::new(form, y, args).by_graph(false).1[i]
    };
    assert_eq!(slope(Scalar::BernoulliLogit, 1.0, &[0.0], 1), 0.5);
    assert_eq!(slope(Scalar::BernoulliLogit, 0.0, &[0.0], 1), -0.5);
    assert_eq!(slope(Scalar::BinomialLogit, 3.0, &[4.0, 0.0], 2), 1.0);
    assert_eq!(slope(Scalar::Poisson, 0.0, &[2.0], 1), -1.0);
    assert_eq!(slope(Scalar::Binomial, 0.0, &[4.0, 0.5], 2), -8.0);
    // At alpha = 1 the power of y vanishes, its slope does not: ln y + ln beta − ψ(1).
    let at_one = slope(Scalar::Gamma, 2.0, &[1.0, 1.0], 1);
    assert!((at_one - (2f64.ln() + 0.577_215_664_901_532_9)).abs() < 1e-14);
    let infinite = [0.0, 1.0, f64::NEG_INFINITY, f64::INFINITY];
    assert_eq!(slope(Scalar::TruncatedNormal, 0.5, &infinite, 1), 0.5);
}

/// A regression's probability, from log odds, is never formed: its logarithm is.
#[test]
fn probabilities_from_log_odds_keep_their_small_end() {
    for (form, y, exact) in [
        (Scalar::Bernoulli, 1.0, -50.0),
        (Scalar::Bernoulli, 0.0, -libm::log1p(libm::exp(-50.0))),
        (Scalar::Geometric, 1.0, -50.0),
    ] {
        let scope = Scope::new();
        let p = scope.param(0, &[]).inv_logit();
        let node = scope.node(form.log_density(Expr::lit(y), &[p]));
        let graph = scope.finish();
        let value = evaluate(&graph, &Bindings::default(), &[-50.0], &[node])[0][0];
        assert!(
            (value - exact).abs() <= 1e-14 * f64::abs(exact),
            "{form:?}: {value}"
        );
    }
}
