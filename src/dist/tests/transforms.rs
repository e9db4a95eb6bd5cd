//! Transforms: round trips and Jacobians.

use crate::dist::*;

const STEP: f64 = 1e-5;

/// Bound: central differences at step 1e-5 of maps whose third derivatives are of order 1 are good
/// to about 1e-10; their logarithm is compared to 1e-8.
#[test]
fn scalar_transforms_have_their_slopes_and_inverses() {
    let maps = [
        Transform::Identity,
        Transform::Lower(-2.0),
        Transform::Upper(3.0),
        Transform::Interval(-1.0, 5.0),
        Transform::Circular,
    ];
    for map in maps {
        for u in [-2.5, -0.3, 0.0, 1.0, 3.0] {
            let slope = (map.constrain(u + STEP) - map.constrain(u - STEP)) / (2.0 * STEP);
            let error = slope.abs().ln() - map.log_jacobian(u);
            assert!(error.abs() < 1e-8, "{map:?} at {u}: {error}");
            let back = map.unconstrain(map.constrain(u));
            assert!((back - u).abs() < 1e-13, "{map:?} at {u} returns as {back}");
        }
    }
}

#[test]
fn scalar_transforms_stay_finite_far_out() {
    for u in [-700.0, -40.0, 40.0, 700.0] {
        let map = Transform::Interval(0.0, 1.0);
        assert!((0.0..=1.0).contains(&map.constrain(u)));
        assert!((map.log_jacobian(u) + f64::abs(u)).abs() < 1e-9);
    }
    let turned = Transform::Circular.constrain(1000.0f64);
    assert!((turned.sin() - 1000f64.sin()).abs() < 1e-12 && turned.abs() < 3.2);
}

#[test]
fn an_infinite_end_is_no_end() {
    let end = |x: f64| (x, Some(x));
    let of = |a, b| Transform::of_interval(end(a), end(b));
    assert_eq!(of(f64::NEG_INFINITY, f64::INFINITY), Transform::Identity);
    assert_eq!(of(1.0, f64::INFINITY), Transform::Lower(1.0));
    assert_eq!(of(f64::NEG_INFINITY, 1.0), Transform::Upper(1.0));
    assert_eq!(of(1.0, 2.0), Transform::Interval(1.0, 2.0));
}

const VECTORS: [VectorTransform; 5] = [
    VectorTransform::Simplex,
    VectorTransform::Ordered,
    VectorTransform::ZeroSum,
    VectorTransform::CorrelationCholesky,
    VectorTransform::CovarianceCholesky,
];

fn coordinates(map: VectorTransform, k: usize) -> Vec<f64> {
    (0..map.n_coordinates(k))
        .map(|i| 0.9 * libm::sin(1.0 + 2.3 * i as f64))
        .collect()
}

/// The places of the elements over which a map's Jacobian is taken.
fn free_places(map: VectorTransform, k: usize) -> Vec<usize> {
    let lower = |diagonal: usize| {
        (0..k)
            .flat_map(move |i| (0..i + diagonal).map(move |j| i * k + j))
            .collect()
    };
    match map {
        VectorTransform::Simplex => (0..k - 1).collect(),
        VectorTransform::Ordered | VectorTransform::ZeroSum => (0..k).collect(),
        VectorTransform::CorrelationCholesky => lower(0),
        VectorTransform::CovarianceCholesky => lower(1),
    }
}

/// dx/du by central differences, one row for each free element.
fn numerical_jacobian(map: VectorTransform, u: &[f64], k: usize) -> Vec<Vec<f64>> {
    let moved = |c: usize, h: f64| {
        let mut u = u.to_vec();
        u[c] += h;
        map.constrain(&u, k)
    };
    let columns: Vec<_> = (0..u.len())
        .map(|c| (moved(c, STEP), moved(c, -STEP)))
        .collect();
    let slope = |p: usize, c: usize| (columns[c].0[p] - columns[c].1[p]) / (2.0 * STEP);
    let row = |p: usize| (0..u.len()).map(|c| slope(p, c)).collect();
    free_places(map, k).into_iter().map(row).collect()
}

/// ½ ln det JᵀJ, by elimination.
fn log_volume(jacobian: &[Vec<f64>]) -> f64 {
    let n = jacobian[0].len();
    let dot = |a: usize, b: usize| jacobian.iter().map(|row| row[a] * row[b]).sum();
    let mut m: Vec<Vec<f64>> = (0..n)
        .map(|a| (0..n).map(|b| dot(a, b)).collect())
        .collect();
    let mut log_det = 0.0;
    for i in 0..n {
        log_det += m[i][i].ln();
        let pivot = m[i].clone();
        for row in m.iter_mut().skip(i + 1) {
            let factor = row[i] / pivot[i];
            (0..n).for_each(|c| row[c] -= factor * pivot[c]);
        }
    }
    0.5 * log_det
}

/// Bound as for scalars; six coordinates add up to 1e-7.
#[test]
fn vector_transforms_have_their_jacobians_and_inverses() {
    for map in VECTORS {
        for k in [2, 3, 4] {
            let u = coordinates(map, k);
            let x = map.constrain(&u, k);
            let error = log_volume(&numerical_jacobian(map, &u, k)) - map.log_jacobian(&u, k);
            assert!(error.abs() < 1e-7, "{map:?}, {k}: {error}");
            let back = map
                .unconstrain(&x, k)
                .expect("a constrained value is in the support");
            for (a, b) in back.iter().zip(&u) {
                assert!((a - b).abs() < 1e-12, "{map:?}, {k}: {b} returns as {a}");
            }
        }
    }
}

#[test]
fn zero_sums_keep_their_length_and_simplexes_their_sum() {
    let u = [0.3, -2.0, 1.1];
    let x = VectorTransform::ZeroSum.constrain(&u, 4);
    let squares = |v: &[f64]| v.iter().map(|a| a * a).sum::<f64>();
    assert!((squares(&x) - squares(&u)).abs() < 1e-14);
    assert!(x.iter().sum::<f64>().abs() < 1e-15);
    let shares = VectorTransform::Simplex.constrain(&[600.0, -600.0, 3.0], 4);
    assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-14);
}

#[test]
fn values_outside_the_support_are_refused_in_words() {
    let error = VectorTransform::Simplex
        .unconstrain(&[0.5, 0.6], 2)
        .expect_err("a sum of 1.1");
    assert_eq!(
        error.to_string(),
        "got [0.5, 0.6], which is not positive numbers with sum 1"
    );
    assert!(
        VectorTransform::Ordered
            .unconstrain(&[1.0, 1.0], 2)
            .is_err()
    );
    assert!(
        VectorTransform::ZeroSum
            .unconstrain(&[1.0, 1.0], 2)
            .is_err()
    );
    assert!(VectorTransform::Simplex.unconstrain(&[1.0], 2).is_err());
    let long = [1.0, 0.0, 0.9, 0.9];
    assert!(
        VectorTransform::CorrelationCholesky
            .unconstrain(&long, 2)
            .is_err()
    );
}
