//! Functions of matrices: values of NumPy, SciPy and PyMC, slopes, and what must not go wrong.

use super::{Tested, error};
use crate::rng::{Purpose, Rng};
use serde_json::Value;

/// Bound: NumPy and the engine round in another order; condition numbers are up to about 1e2.
const BOUND: f64 = 1e-12;

fn numbers(list: &Value) -> Vec<f64> {
    let list = list.as_array().expect("a list");
    list.iter().map(|x| x.as_f64().expect("a number")).collect()
}

/// Shape and values of each array, and the cases.
fn golden() -> (Vec<(String, Vec<usize>, Vec<f64>)>, Vec<Value>) {
    let text = include_str!("../../../../tests/golden/matrix/values.json");
    let table: Value = serde_json::from_str(text).expect("the golden file is JSON");
    let data = table["data"].as_object().expect("an object").iter();
    let data = data.map(|(name, array)| {
        let shape = numbers(&array["shape"]).into_iter();
        (
            name.clone(),
            shape.map(|n| n as usize).collect(),
            numbers(&array["values"]),
        )
    });
    (
        data.collect(),
        table["cases"].as_array().expect("a list").clone(),
    )
}

/// The same expression of data, which is computed while the graph is built, and of parameters, which
/// the engine computes. Parameters are 0 at the origin of the coordinates, and change `A` symmetrically.
const OF_DATA: &str = "data A[k, k], L[k, k], S[k, k], B[k, m], X[m, k], b[k], c[m]\n";
const OF_PARAMETERS: &str = "data A0[k, k], L0[k, k], S0[k, k], B0[k, m], X0[m, k], b0[k], c0[m]\n\
     dS[k, k] ~ Normal(0, 1)\ndB[k, m] ~ Normal(0, 1)\ndX[m, k] ~ Normal(0, 1)\n\
     db[k] ~ Normal(0, 1)\ndc[m] ~ Normal(0, 1)\n\
     let A[k, k] = A0 + 0.1 * (dS + transpose(dS))\nlet L[k, k] = tril(L0 + 0.1 * dS)\n\
     let S[k, k] = S0 + 0.1 * dS\nlet B[k, m] = B0 + 0.1 * dB\nlet X[m, k] = X0 + 0.1 * dX\n\
     let b[k] = b0 + 0.1 * db\nlet c[m] = c0 + 0.1 * dc\n";

/// Catches: rows and columns exchanged, the wrong triangle, a twin taken for its dim, a wrong
/// covariance function; and slopes of each, the engine's against differences of the reference.
#[test]
fn functions_of_matrices_have_the_values_of_numpy_and_their_slopes() {
    let (data, cases) = golden();
    for case in &cases {
        let (text, dims) = (&case["text"], &case["dims"]);
        let (text, dims) = (text.as_str().expect("text"), dims.as_str().expect("text"));
        let target = if dims.is_empty() {
            "out".to_owned()
        } else {
            format!("out[{dims}]")
        };
        for varying in [false, true] {
            let head = if varying { OF_PARAMETERS } else { OF_DATA };
            let more = "mu ~ Normal(0, 1)\ntarget += mu * sum(sin(out))";
            let model = format!("{head}{target} = {text}\n{more}");
            let named: Vec<(String, &[usize], &[f64])> = data
                .iter()
                .map(|(name, shape, values)| {
                    let name = format!("{name}{}", if varying { "0" } else { "" });
                    (name, &shape[..], &values[..])
                })
                .collect();
            let reals: Vec<_> = named.iter().map(|(n, s, v)| (n.as_str(), *s, *v)).collect();
            let tested = Tested::new(&model, &reals);
            let got = tested.recorded("out", &vec![0.0; tested.n_params]);
            let want = numbers(&case["values"]);
            assert_eq!(got.len(), want.len(), "{text}");
            for (got, want) in got.iter().zip(&want) {
                let error = (got - want).abs() / (1.0 + want.abs());
                assert!(error < BOUND, "{text}: {got}, not {want}");
            }
            tested.check_gradient();
        }
    }
}

/// Points that coincide: |d| has no slope at 0, and covariances have one of 0 there.
#[test]
fn covariances_of_points_that_coincide_have_finite_slopes() {
    for name in ["exp_quad", "matern12", "matern32", "matern52"] {
        let text = format!(
            "dim k = 3\nx[k] ~ Normal(0, 1)\nls ~ LogNormal(0, 1)\n\
             K[k, k] = {name}(x[k] - x[k'], ls)"
        );
        let tested = Tested::new(&format!("{text}\ntarget += sum(K)"), &[]);
        let (density, gradient) = tested.compiled(&[0.4, 0.4, -1.0, 0.3]);
        assert!(
            density.is_finite() && gradient.iter().all(|g| g.is_finite()),
            "{name}"
        );
        let near = tested.recorded("K", &[0.4, 0.4, -1.0, 0.3]);
        assert_eq!([near[0], near[1], near[4]], [1.0; 3], "{name}");
    }
    let text = "dim k = 3\ndim m = 2\nx[k, m] ~ Normal(0, 1)\n\
                target += sum(matern32(norm(x[k] - x[k'], axis=m), 0.5))";
    let (_, gradient) = Tested::new(text, &[]).compiled(&[0.3, 0.2, 0.3, 0.2, 1.0, 0.1]);
    assert!(gradient.iter().all(|g| g.is_finite()), "{gradient:?}");
}

/// A matrix that is positive definite at some parameters and not at others: NaN there, no panic.
#[test]
fn a_factor_that_does_not_exist_is_nan() {
    let text = "dim k = 3\nr ~ Normal(0, 1)\n\
                let A[k, k] = identity(k) + r * (1 - identity(k))\nx = log_det(A)\ntarget += x";
    let tested = Tested::new(text, &[]);
    let log_det = |r: f64| tested.recorded("x", &[r])[0];
    // det = (1 − r)² (1 + 2 r)
    assert!((log_det(0.3) - (0.49f64 * 1.6).ln()).abs() < 1e-14);
    assert!(log_det(-0.5).is_nan() && log_det(1.5).is_nan());
    assert!(tested.compiled(&[1.5]).0.is_nan());
}

/// The density of an observed Gaussian process and of a latent one, by the formulas over numbers.
#[test]
fn gaussian_processes_have_the_density_of_their_covariance() {
    use crate::dist::{Normal, Univariate, cholesky, mv_normal};
    let (x, y) = ([0.0, 0.7, 1.1, 2.9], [0.3, -0.2, 0.5, 1.4]);
    let data: &super::Reals<'_> = &[("x", &[4], &x), ("y", &[4], &y)];
    let head = "data x[obs], y[obs]\nls ~ Normal(0, 1)\n";
    let marginal = format!(
        "{head}y ~ MvNormal(0, cov=matern52(x[obs] - x[obs'], exp(ls)) + 0.01 * identity(obs))"
    );
    let latent = format!(
        "{head}z[obs] ~ Normal(0, 1)\n\
         f = cholesky(matern52(x[obs] - x[obs'], exp(ls)) + 1e-6 * identity(obs)) @ z\n\
         y ~ Normal(f, 0.1)"
    );
    let kernel = |ls: f64, jitter: f64| -> Vec<f64> {
        let element = |c: usize| {
            let s = 5f64.sqrt() * (x[c / 4] - x[c % 4]).abs() / ls.exp();
            let same = if c / 4 == c % 4 { jitter } else { 0.0 };
            (1.0 + s + s * s / 3.0) * (-s).exp() + same
        };
        (0..16).map(element).collect()
    };
    let standard = |z: &f64| Normal::log_density(*z, [0.0, 1.0]);
    let tested = Tested::new(&marginal, data);
    tested.check_gradient();
    for u in tested.points() {
        let want = standard(&u[0]) + mv_normal(&y, &[0.0; 4], &kernel(u[0], 0.01));
        super::assert_near(tested.density(&u), want);
    }
    let tested = Tested::new(&latent, data);
    tested.check_gradient();
    for u in tested.points() {
        let l = cholesky(&kernel(u[0], 1e-6), 4);
        let f = (0..4).map(|i| (0..=i).map(|j| l[i * 4 + j] * u[1 + j]).sum::<f64>());
        let of_y = f.zip(y).map(|(f, y)| Normal::log_density(y, [f, 0.1]));
        let want = u.iter().map(standard).sum::<f64>() + of_y.sum::<f64>();
        super::assert_near(tested.density(&u), want);
    }
}

/// Areas on a ring of four: CAR by its precision D − αW, ICAR by the differences at borders.
#[test]
fn neighbours_have_the_density_of_their_precision() {
    use crate::dist::mv_normal;
    // On a ring the precision is circulant: eigenvalues 2 − 2α cos(π j/2), so its inverse is known.
    let covariance = |alpha: f64| -> Vec<f64> {
        let element = |c: usize| {
            let turns = std::f64::consts::FRAC_PI_2 * (c / 4).abs_diff(c % 4) as f64;
            let wave = |j: f64| {
                let eigenvalue = 2.0 - 2.0 * alpha * (std::f64::consts::FRAC_PI_2 * j).cos();
                (turns * j).cos() / eigenvalue
            };
            (wave(0.0) + wave(1.0) + wave(2.0) + wave(3.0)) / 4.0
        };
        (0..16).map(element).collect()
    };
    let ring = [
        0., 1., 0., 1., 1., 0., 1., 0., 0., 1., 0., 1., 1., 0., 1., 0.,
    ];
    let data: &super::Reals<'_> = &[("W", &[4, 4], &ring)];
    let head = "data W[k, k]\na ~ Normal(0, 1)\nlet alpha = inv_logit(a)\n\
                let Q[k, k] = diag(sum(W, axis=k')) - alpha * W\n";
    let by_factor = format!(
        "{head}z[k] ~ Normal(0, 1)\nphi[k] = solve_upper(transpose(cholesky(Q)), z)\n\
         volume = 0.5 * log_det(Q)\n"
    );
    let by_covariance =
        format!("{head}phi[k] ~ MvNormal(0, cov=cho_solve(cholesky(Q), identity(k))) @ centred\n");
    for text in [by_factor, by_covariance] {
        let tested = Tested::new(&text, data);
        tested.check_gradient();
        for u in tested.points() {
            let alpha = 1.0 / (1.0 + (-u[0]).exp());
            let phi = tested.recorded("phi", &u);
            let normal = -0.5 * (u[0] * u[0] + std::f64::consts::TAU.ln());
            // The density of z is that of phi times |dphi/dz|.
            let jacobian = match text.contains("volume") {
                true => -tested.recorded("volume", &u)[0],
                false => 0.0,
            };
            let want = normal + mv_normal(&phi, &[0.0; 4], &covariance(alpha)) + jacobian;
            super::assert_near(tested.density(&u), want);
        }
    }
    let edges: &super::Reals<'_> = &[
        ("one", &[4], &[0.0, 1.0, 2.0, 3.0]),
        ("other", &[4], &[1.0, 2.0, 3.0, 0.0]),
        ("W", &[4, 4], &ring),
    ];
    let text = "data one[edges] in k, other[edges] in k, W[k, k]\nphi[k] ~ Normal(0, 1)\n\
                borders = sum((phi[one] - phi[other])^2)\n\
                form = phi @ (diag(sum(W, axis=k')) - W) @ phi\n";
    let tested = Tested::new(text, edges);
    for u in tested.points() {
        super::assert_near(
            tested.recorded("borders", &u)[0],
            tested.recorded("form", &u)[0],
        );
    }
}

/// Bound: at a width of 0.2 what the ends at ±1.5 reflect is below exp(−½ (1/0.2)²) = 4e-6, and what 20
/// functions leave out is of frequencies above 20.9, with e^(−½ (0.2 · 20.9)²) = 2e-4 of the density.
#[test]
fn basis_functions_have_the_covariance_of_their_process() {
    let x: Vec<f64> = (0..7).map(|i| -1.0 + i as f64 / 3.0).collect();
    let j: Vec<f64> = (1..=20).map(f64::from).collect();
    let data: &super::Reals<'_> = &[("x", &[7], &x), ("j", &[20], &j)];
    let text = "data x[obs], j[basis]\nls ~ Normal(0, 1)\nlet width = exp(ls)\n\
                let half = 1.5 * max(abs(x))\nlet w[basis] = pi * j / (2 * half)\n\
                let root[basis] = sqrt(sqrt(2 * pi) * width) * exp(-0.25 * (width * w)^2)\n\
                let phi[obs, basis] = root * sin(w[basis] * (x[obs] + half)) / sqrt(half)\n\
                near[obs, obs] = phi @ transpose(phi)\n\
                exact[obs, obs] = exp_quad(x[obs] - x[obs'], width)\ntarget += sum(near)";
    let tested = Tested::new(text, data);
    tested.check_gradient();
    let u = [0.2f64.ln()];
    let exact = tested.recorded("exact", &u);
    for (near, exact) in tested.recorded("near", &u).iter().zip(exact) {
        assert!((near - exact).abs() < 1e-3, "{near}, not {exact}");
    }
}

#[test]
fn an_axis_of_a_product_that_is_ambiguous_is_refused() {
    let head = "data A[k, m, n], B[n, m]\nmu ~ Normal(0, 1)\n";
    let data: &super::Reals<'_> = &[("A", &[2, 2, 2], &[1.0; 8]), ("B", &[2, 2], &[1.0; 4])];
    let message = error(&format!("{head}x = mu * sum(B @ A)\n"), data);
    assert!(
        message.contains("the last dim of the first must be the first dim"),
        "{message}"
    );
}

/// Solutions, inverses and determinants of matrices that are not symmetric against Gaussian elimination
/// with pivots, up to conditions of 1e6, and their slopes.
#[test]
fn systems_of_any_matrix_are_those_of_elimination() {
    let head = "data A[k, k], B[k, m], c[k]\ns ~ Normal(0, 1)\n\
                let M[k, k] = A * exp(s)\n\
                x[k, m] = linear_solve(M, B)\nz[k] = linear_solve(M, c)\n\
                y[k, k] = inverse(M)\nd = log_abs_det(M)\n\
                target += sum(x^2) + sum(z) + sum(y) + d - s^2\n";
    let mut rng = Rng::new(41, 0, 0, 1, Purpose::Test);
    for (k, smallest) in [(1, 1.0), (2, 1e-3), (3, 1.0), (5, 1e-6), (8, 1e-4)] {
        // A product of random numbers and a diagonal from 1 to the smallest.
        let size = |i: usize| f64::powf(smallest, i as f64 / (k.max(2) - 1) as f64);
        let mut normals = |n: usize| (0..n).map(|_| rng.normal()).collect::<Vec<f64>>();
        let (left, right) = (orthogonal(normals(k * k), k), orthogonal(normals(k * k), k));
        let cell = |i: usize, j: usize| {
            (0..k)
                .map(|l| left[i * k + l] * size(l) * right[l * k + j])
                .sum::<f64>()
        };
        let a: Vec<f64> = (0..k * k).map(|c| cell(c / k, c % k)).collect();
        let (b, c) = (normals(2 * k), normals(k));
        let data: &super::Reals<'_> = &[("A", &[k, k], &a), ("B", &[k, 2], &b), ("c", &[k], &c)];
        let tested = Tested::new(head, data);
        tested.check_gradient();
        let scale = 0.3f64.exp();
        let scaled: Vec<f64> = a.iter().map(|x| x * scale).collect();
        let identity: Vec<f64> = (0..k * k).map(|c| f64::from(c / k == c % k)).collect();
        for (name, right, m) in [("x", &b, 2), ("z", &c, 1), ("y", &identity, k)] {
            let (want, _) = eliminated(scaled.clone(), right.to_vec(), k, m);
            let got = tested.recorded(name, &[0.3]);
            let most = want.iter().fold(0.0f64, |a, b| a.max(b.abs()));
            for (g, w) in got.iter().zip(&want) {
                // Elimination itself loses as many digits as the condition has.
                assert!(
                    (g - w).abs() < 1e-13 / smallest * most,
                    "{name} of {k}: {g} {w}"
                );
            }
        }
        let (_, log_det) = eliminated(scaled, identity, k, k);
        let got = tested.recorded("d", &[0.3])[0];
        assert!(
            (got - log_det).abs() < 1e-13 / smallest.powi(2),
            "{got} {log_det}"
        );
    }
    let singular: &super::Reals<'_> = &[("A", &[2, 2], &[1.0, 2.0, 2.0, 4.0])];
    assert_eq!(
        error("data A[k, k]\ns ~ Normal(log_abs_det(A), 1)", singular)
            .lines()
            .next(),
        Some("line 2, column 24: `A` is singular, or so nearly that `log_abs_det` has no meaning")
    );
}

/// Rows made orthonormal one after the other.
fn orthogonal(mut rows: Vec<f64>, k: usize) -> Vec<f64> {
    for i in 0..k {
        for j in 0..i {
            let dot: f64 = (0..k).map(|l| rows[i * k + l] * rows[j * k + l]).sum();
            (0..k).for_each(|l| rows[i * k + l] -= dot * rows[j * k + l]);
        }
        let norm = (0..k).map(|l| rows[i * k + l].powi(2)).sum::<f64>().sqrt();
        (0..k).for_each(|l| rows[i * k + l] /= norm);
    }
    rows
}

/// The solution of A X = B by elimination with pivots, and ln |det A|.
fn eliminated(mut a: Vec<f64>, mut b: Vec<f64>, k: usize, m: usize) -> (Vec<f64>, f64) {
    let mut log_det = 0.0;
    for c in 0..k {
        let pivot = (c..k).max_by(|&i, &j| a[i * k + c].abs().total_cmp(&a[j * k + c].abs()));
        let pivot = pivot.unwrap_or(c);
        (0..k).for_each(|j| a.swap(c * k + j, pivot * k + j));
        (0..m).for_each(|j| b.swap(c * m + j, pivot * m + j));
        log_det += a[c * k + c].abs().ln();
        for i in (0..k).filter(|&i| i != c) {
            let factor = a[i * k + c] / a[c * k + c];
            (0..k).for_each(|j| a[i * k + j] -= factor * a[c * k + j]);
            (0..m).for_each(|j| b[i * m + j] -= factor * b[c * m + j]);
        }
    }
    for c in 0..k {
        (0..m).for_each(|j| b[c * m + j] /= a[c * k + c]);
    }
    (b, log_det)
}
