//! Distributions whose parameter goes without end to that of a simpler one: there is nothing but
//! the limit, and no rounding that would draw a chain to it.

use crate::dist::shares::{dirichlet_multinomial, multinomial};
use crate::dist::*;
use fitzroy_graph::{Bindings, Expr, Scope, evaluate, gradient};

/// From where the limit is reached to about 1e-6 to where it is the same number.
const LARGE: [f64; 8] = [1e8, 1e10, 1e13, 1e15, 1e18, 1e25, 1e60, 1e250];

/// Bound: the difference to the limit is about n²/size; the rest is the rounding of n ln size.
fn bound(size: f64) -> f64 {
    200.0 / size + 1e-12
}

/// Catches: differences of ln Γ, which at 1e18 are 0 or thousands of nats.
#[test]
fn a_beta_binomial_of_any_concentration_is_at_most_as_high_as_its_binomial() {
    for size in LARGE {
        for (p, y) in [(0.3, 0.0), (0.3, 5.0), (0.9, 12.0), (0.02, 1.0)] {
            let args = [size * p, size * (1.0 - p), 12.0];
            let got = BetaBinomial::log_density(y, args);
            let want = Binomial::log_density(y, [12.0, p]);
            assert!(
                (got - want).abs() < bound(size),
                "{size:e} {p} {y}: {got} {want}"
            );
        }
    }
}

#[test]
fn the_slope_of_a_beta_binomial_by_its_concentration_dies_out() {
    let scope = Scope::new();
    let size = scope.param(0, &[]);
    let args = [
        size * Expr::lit(0.3),
        size * Expr::lit(0.7),
        Expr::lit(12.0),
    ];
    let node = scope.node(BetaBinomial::log_density(Expr::lit(5.0), args));
    let mut graph = scope.finish();
    let slope = gradient(&mut graph, node)[0].adjoint;
    for at in LARGE {
        let got = evaluate(&graph, &Bindings::default(), &[at], &[slope])[0][0] * at;
        assert!(got.abs() < bound(at), "{at:e}: {got}");
    }
}

#[test]
fn a_dirichlet_multinomial_of_any_concentration_is_its_multinomial() {
    let (y, p) = ([3.0, 0.0, 7.0], [0.2, 0.1, 0.7]);
    for size in LARGE {
        let got = dirichlet_multinomial(&y, &p.map(|p| p * size));
        let want = multinomial(&y, &p);
        assert!((got - want).abs() < bound(size), "{size:e}: {got} {want}");
    }
}

#[test]
fn a_student_distribution_of_many_degrees_is_a_normal_one() {
    for nu in LARGE {
        let got = StudentT::log_density(1.7, [nu, 0.3, 2.0]);
        let want = Normal::log_density(1.7, [0.3, 2.0]);
        assert!((got - want).abs() < bound(nu), "{nu:e}: {got} {want}");
    }
}
