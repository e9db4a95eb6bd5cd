//! Random fits within boxes: what is said to have converged fulfils the first-order conditions, by slopes that
//! this file takes itself, by differences of formulas of its own.
//!
//! `FITZROY_BOX_FITS=10000` tries as many fits, of which every seed is one; `FITZROY_BOX_FILE` names a file for
//! them, one to a line, for other programs.

use fitzroy_curve_fit::batch::{Groups, fit_many};
use fitzroy_curve_fit::fit::{Estimate, Method, Options};
use fitzroy_curve_fit::method::Status;
use fitzroy_curve_fit::{CurveFit, Data, Loss};
use serde_json::json;
use std::fmt::Write as _;
use std::sync::atomic::AtomicBool;

/// A curve: its formula, the same in Rust, and ranges that true values and starts come from.
struct Shape {
    formula: &'static str,
    value: fn(f64, &[f64]) -> f64,
    names: &'static [&'static str],
    ranges: &'static [[f64; 2]],
    x: [f64; 2],
}

const SHAPES: [Shape; 12] = [
    Shape {
        formula: "a*exp(-b*x)",
        value: |x, p| p[0] * (-p[1] * x).exp(),
        names: &["a", "b"],
        ranges: &[[0.5, 4.0], [0.2, 4.0]],
        x: [0.0, 2.0],
    },
    Shape {
        formula: "a*exp(-b*x)+c",
        value: |x, p| p[0] * (-p[1] * x).exp() + p[2],
        names: &["a", "b", "c"],
        ranges: &[[0.5, 4.0], [0.2, 4.0], [-1.0, 1.0]],
        x: [0.0, 3.0],
    },
    Shape {
        formula: "a*x+b",
        value: |x, p| p[0] * x + p[1],
        names: &["a", "b"],
        ranges: &[[-3.0, 3.0], [-5.0, 5.0]],
        x: [-1.0, 4.0],
    },
    Shape {
        formula: "a*exp(-(x-m)^2/(2*s^2))",
        value: |x, p| p[0] * (-(x - p[1]).powi(2) / (2.0 * p[2] * p[2])).exp(),
        names: &["a", "m", "s"],
        ranges: &[[1.0, 5.0], [-1.0, 1.0], [0.4, 2.0]],
        x: [-4.0, 4.0],
    },
    Shape {
        formula: "a*exp(-(x-m)^2/(2*s^2))+c+d*x",
        value: |x, p| p[0] * (-(x - p[1]).powi(2) / (2.0 * p[2] * p[2])).exp() + p[3] + p[4] * x,
        names: &["a", "m", "s", "c", "d"],
        ranges: &[
            [1.0, 5.0],
            [-1.0, 1.0],
            [0.4, 2.0],
            [-1.0, 1.0],
            [-0.3, 0.3],
        ],
        x: [-4.0, 4.0],
    },
    Shape {
        formula: "a/(1+((x-m)/g)^2)",
        value: |x, p| p[0] / (1.0 + ((x - p[1]) / p[2]).powi(2)),
        names: &["a", "m", "g"],
        ranges: &[[1.0, 5.0], [-1.0, 1.0], [0.4, 2.0]],
        x: [-4.0, 4.0],
    },
    Shape {
        formula: "a*x^b",
        value: |x, p| p[0] * x.powf(p[1]),
        names: &["a", "b"],
        ranges: &[[0.5, 3.0], [-1.5, 2.5]],
        x: [0.3, 4.0],
    },
    Shape {
        formula: "v*x/(k+x)",
        value: |x, p| p[0] * x / (p[1] + x),
        names: &["v", "k"],
        ranges: &[[1.0, 10.0], [0.2, 5.0]],
        x: [0.1, 10.0],
    },
    Shape {
        formula: "l/(1+exp(-k*(x-m)))+c",
        value: |x, p| p[0] / (1.0 + (-p[1] * (x - p[2])).exp()) + p[3],
        names: &["l", "k", "m", "c"],
        ranges: &[[1.0, 4.0], [0.5, 3.0], [-1.0, 1.0], [-0.5, 0.5]],
        x: [-5.0, 5.0],
    },
    Shape {
        formula: "a*sin(w*x+p)+c",
        value: |x, p| p[0] * (p[1] * x + p[2]).sin() + p[3],
        names: &["a", "w", "p", "c"],
        ranges: &[[0.5, 3.0], [0.8, 1.6], [-1.0, 1.0], [-1.0, 1.0]],
        x: [0.0, 8.0],
    },
    Shape {
        formula: "a*exp(-b*x)+c*exp(-d*x)",
        value: |x, p| p[0] * (-p[1] * x).exp() + p[2] * (-p[3] * x).exp(),
        names: &["a", "b", "c", "d"],
        ranges: &[[0.5, 4.0], [0.1, 0.8], [0.5, 4.0], [1.5, 6.0]],
        x: [0.0, 4.0],
    },
    Shape {
        formula: "d+(a-d)/(1+(x/c)^b)",
        value: |x, p| p[0] + (p[1] - p[0]) / (1.0 + (x / p[2]).powf(p[3])),
        names: &["d", "a", "c", "b"],
        ranges: &[[2.0, 5.0], [0.0, 1.0], [0.5, 3.0], [0.8, 3.0]],
        x: [0.1, 10.0],
    },
];

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    fn within(&mut self, [low, high]: [f64; 2]) -> f64 {
        low + (high - low) * self.next()
    }

    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.next()).sum::<f64>() - 6.0
    }
}

/// A problem: data, box and start.
struct Case {
    shape: &'static Shape,
    x: Vec<f64>,
    y: Vec<f64>,
    lower: Vec<f64>,
    upper: Vec<f64>,
    start: Vec<f64>,
}

fn case(seed: u64, boxed: bool) -> Case {
    let mut random = Random(seed * 7919 + 13);
    let shape = &SHAPES[seed as usize % SHAPES.len()];
    let p = shape.names.len();
    let truth: Vec<f64> = shape.ranges.iter().map(|r| random.within(*r)).collect();
    let n = 2 * p + 5 + (30.0 * random.next()) as usize;
    let even = random.next() < 0.5;
    let place = |i: usize, random: &mut Random| match even {
        true => shape.x[0] + (shape.x[1] - shape.x[0]) * i as f64 / (n - 1) as f64,
        false => random.within(shape.x),
    };
    let x: Vec<f64> = (0..n).map(|i| place(i, &mut random)).collect();
    let noise = [0.0, 1e-3, 0.03, 0.3][(4.0 * random.next()) as usize];
    let y = x
        .iter()
        .map(|x| (shape.value)(*x, &truth) + noise * random.normal());
    let y = y.collect();
    let (mut lower, mut upper) = (vec![f64::NEG_INFINITY; p], vec![f64::INFINITY; p]);
    let mut start = Vec::new();
    for k in 0..p {
        let [low, high] = shape.ranges[k];
        let width = high - low;
        if boxed {
            // Half of the bounds cut the truth off.
            let kind = random.next();
            let beside = truth[k] + 0.5 * width * (random.next() - 0.5);
            let other = 0.1 * width + width * random.next();
            if kind < 0.2 {
                lower[k] = beside;
            } else if kind < 0.4 {
                upper[k] = beside;
            } else if kind < 0.8 {
                (lower[k], upper[k]) = (beside, beside + other);
            }
        }
        let from = random.within([low, high]);
        start.push(from.max(lower[k]).min(upper[k]));
    }
    Case {
        shape,
        x,
        y,
        lower,
        upper,
        start,
    }
}

impl Case {
    fn residuals(&self, theta: &[f64]) -> Vec<f64> {
        let both = self.x.iter().zip(&self.y);
        both.map(|(x, y)| (self.shape.value)(*x, theta) - y)
            .collect()
    }

    /// Partial derivatives by parameter `k`, by differences of fourth order, whose own error is far below
    /// what is asked.
    fn slopes(&self, theta: &[f64], k: usize) -> Vec<f64> {
        let h = 1e-5 * theta[k].abs().max(1e-3);
        let shifted = |by: f64| {
            let mut theta = theta.to_vec();
            theta[k] += by;
            self.residuals(&theta)
        };
        let [a, b, c, d] = [-2.0 * h, -h, h, 2.0 * h].map(shifted);
        let slope = |i: usize| (a[i] - 8.0 * b[i] + 8.0 * c[i] - d[i]) / (12.0 * h);
        (0..self.x.len()).map(slope).collect()
    }

    /// Why first-order conditions of least squares do not hold at `theta`; none where they do.
    fn fault(&self, theta: &[f64]) -> Option<String> {
        self.fault_of(theta, |r, _| r)
    }

    /// As [`Case::fault`], of a cost whose derivative by a residual is `pull` of it and of the response.
    fn fault_of(&self, theta: &[f64], pull: impl Fn(f64, f64) -> f64) -> Option<String> {
        let both = self.residuals(theta);
        let both = both.into_iter().zip(&self.y);
        let r: Vec<f64> = both.map(|(r, y)| pull(r, *y)).collect();
        let norm = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
        let (root, most) = (norm(&r), norm(&self.y));
        // Of exact data rounding is left, whose slopes mean nothing.
        if root < 1e-9 * most {
            return None;
        }
        let columns: Vec<Vec<f64>> = (0..theta.len()).map(|k| self.slopes(theta, k)).collect();
        // Terms that cancel leave roundings of the longest, in the differences here most of all.
        let terms = columns.iter().zip(theta).map(|(c, t)| norm(c) * t.abs());
        let least = 1e-4 + 1e-13 * terms.fold(0.0, f64::max) / root;
        for k in 0..theta.len() {
            let column = &columns[k];
            let slope: f64 = column.iter().zip(&r).map(|(j, r)| j * r).sum();
            let length = norm(column);
            // A parameter on which nothing depends here has no slope.
            if length * theta[k].abs().max(0.1) < 1e-7 * root || length == 0.0 {
                continue;
            }
            let cosine = slope / (length * root);
            let held = theta[k] == self.lower[k] && cosine > -least
                || theta[k] == self.upper[k] && cosine < least;
            if !held && cosine.abs() > least {
                let name = self.shape.names[k];
                return Some(format!("{name} has the slope {cosine:.2e} at {theta:?}"));
            }
            let within = |bound: f64| {
                bound.is_finite()
                    && theta[k] != bound
                    && (theta[k] - bound).abs() < 1e-11 * bound.abs()
            };
            if within(self.lower[k]) || within(self.upper[k]) {
                return Some(format!("{} stops beside its bound", self.shape.names[k]));
            }
        }
        None
    }

    fn options(&self, method: Method) -> Options {
        let name = |k: usize| self.shape.names[k].to_string();
        let all = 0..self.start.len();
        let bounded = |k: &usize| self.lower[*k].is_finite() || self.upper[*k].is_finite();
        Options {
            p0: all.clone().map(|k| (name(k), self.start[k])).collect(),
            bounds: all
                .filter(bounded)
                .map(|k| (name(k), self.lower[k], self.upper[k]))
                .collect(),
            method,
            ..Options::default()
        }
    }

    fn fit(&self, method: Method) -> Estimate {
        let data = Data::new(&self.y).with("x", &self.x);
        let fitter = CurveFit::compile(self.shape.formula).expect("it parses");
        let found = fitter.fit(&data, &self.options(method));
        found.unwrap_or_else(|e| panic!("{}: {e}", self.shape.formula))
    }
}

/// Fits that are tried.
fn n_fits() -> u64 {
    let asked = std::env::var("FITZROY_BOX_FITS").ok();
    asked.map_or(360, |n| n.parse().expect("a number of fits"))
}

#[test]
fn no_fit_within_a_box_converges_where_the_gradient_of_a_free_parameter_does_not_vanish() {
    let (mut faults, mut text) = (Vec::new(), String::new());
    for method in [Method::Auto, Method::Lm, Method::Trf] {
        let (mut converged, mut active) = (0, 0);
        for seed in 0..n_fits() {
            let case = case(seed, true);
            let found = case.fit(method);
            if method == Method::Auto {
                let side = |v: &[f64]| {
                    v.iter()
                        .map(|x| x.is_finite().then_some(*x))
                        .collect::<Vec<_>>()
                };
                let line = json!({"formula": case.shape.formula, "names": case.shape.names,
                    "x": case.x, "y": case.y, "lower": side(&case.lower), "upper": side(&case.upper),
                    "start": case.start, "theta": found.popt, "chi2": found.chi2,
                    "converged": found.converged(), "status": found.status.name()});
                let _ = writeln!(text, "{line}");
            }
            if !found.converged() {
                println!("seed {seed}, {method:?}: {}", found.status.name());
                continue;
            }
            assert_eq!(found.free, case.shape.names);
            converged += 1;
            active += usize::from(found.parameters.iter().any(|f| f.at_bound));
            if let Some(fault) = case.fault(&found.popt) {
                faults.push(format!(
                    "seed {seed}, {method:?}, {}, {}: {fault}",
                    case.shape.formula,
                    found.status.name()
                ));
            }
        }
        println!(
            "{method:?}: {converged} of {} converged, {active} at a bound",
            n_fits()
        );
        let most = if method == Method::Trf { 0.94 } else { 0.99 };
        assert!(
            converged as f64 > most * n_fits() as f64,
            "{method:?}: {converged}"
        );
        assert!(
            active as f64 > 0.3 * n_fits() as f64,
            "boxes that cut: {active}"
        );
    }
    if let Ok(path) = std::env::var("FITZROY_BOX_FILE") {
        std::fs::write(path, text).expect("the file can be written");
    }
    assert!(
        faults.is_empty(),
        "{} faults:\n{}",
        faults.len(),
        faults.join("\n")
    );
}

#[test]
fn robust_losses_and_counts_converge_where_their_own_gradient_vanishes() {
    type Pull = fn(f64, f64) -> f64;
    let losses: [(Loss, Pull); 5] = [
        (Loss::SoftL1, |r, _| r / (1.0 + r * r).sqrt()),
        (Loss::Huber, |r, _| r.clamp(-1.0, 1.0)),
        (Loss::Cauchy, |r, _| r / (1.0 + r * r)),
        (Loss::Arctan, |r, _| r / (1.0 + r.powi(4))),
        // The deviance of y at the mean f = y + r: 2 (f - y log f), by r half of that.
        (Loss::Poisson, |r, y| 1.0 - y / (y + r)),
    ];
    let (mut faults, mut converged, mut tried) = (Vec::new(), 0, 0_i32);
    for seed in 0..n_fits() / 2 {
        let (loss, pull) = losses[seed as usize % losses.len()];
        let mut case = case(seed, true);
        let mut random = Random(seed + 99);
        for y in &mut case.y {
            if loss == Loss::Poisson {
                // Shapes that stay positive, as counts.
                *y = (20.0 * y.abs() + 2.0 * random.normal()).abs().round();
            } else if random.next() < 0.1 {
                *y += 10.0 * random.normal();
            }
        }
        let options = Options {
            loss,
            ..case.options(Method::Auto)
        };
        let data = Data::new(&case.y).with("x", &case.x);
        let fitter = CurveFit::compile(case.shape.formula).expect("it parses");
        // Means of counts must be positive where a fit begins.
        let Ok(found) = fitter.fit(&data, &options) else {
            assert_eq!(loss, Loss::Poisson);
            continue;
        };
        tried += 1;
        converged += i32::from(found.converged());
        // The costs of residuals whose squares are lost beside 1 are 0.
        if found.converged()
            && found.status != Status::ExactFit
            && let Some(fault) = case.fault_of(&found.popt, pull)
        {
            let (formula, name) = (case.shape.formula, found.status.name());
            faults.push(format!("seed {seed}, {loss:?}, {formula}, {name}: {fault}"));
        }
    }
    println!("{converged} of {tried} converged");
    assert!(
        f64::from(converged) > 0.9 * f64::from(tried),
        "{converged} of {tried}"
    );
    assert!(
        faults.is_empty(),
        "{} faults:\n{}",
        faults.len(),
        faults.join("\n")
    );
}

/// The fits of one shape as a batch, and what is wrong with those that converged.
fn faults_of_batch(shape: usize, boxed: bool) -> (usize, Vec<String>) {
    let step = SHAPES.len() as u64;
    let seeds: Vec<u64> = (0..n_fits()).filter(|s| s % step == shape as u64).collect();
    let cases: Vec<Case> = seeds.iter().map(|&s| case(s, boxed)).collect();
    let (mut x, mut y, mut which) = (Vec::new(), Vec::new(), Vec::new());
    for (k, case) in cases.iter().enumerate() {
        x.extend(&case.x);
        y.extend(&case.y);
        which.extend(vec![k as f64; case.x.len()]);
    }
    // One box and one start for all of them: those of the first.
    let first = case(seeds[0], boxed);
    let options = first.options(Method::Auto);
    let data = Data::new(&y).with("x", &x);
    let fitter = CurveFit::compile(first.shape.formula).expect("it parses");
    let plan = fitter.plan(&data, &options).expect("a plan");
    let table = data.table(&plan.roles.predictors).expect("a table");
    let groups = Groups::by_number(&which);
    let stop = AtomicBool::new(false);
    let batch = fit_many(&plan, &table, &groups, &options, &stop).expect("a batch");
    let (p, mut converged, mut faults) = (first.start.len(), 0, Vec::new());
    for (k, mut case) in cases.into_iter().enumerate() {
        if !batch.status[k].converged() {
            continue;
        }
        converged += 1;
        (case.lower, case.upper) = (first.lower.clone(), first.upper.clone());
        if let Some(fault) = case.fault(&batch.theta[k * p..(k + 1) * p]) {
            faults.push(format!("{} fit {k}: {fault}", case.shape.formula));
        }
    }
    (converged, faults)
}

#[test]
fn no_fit_of_a_batch_converges_where_the_gradient_does_not_vanish() {
    for boxed in [false, true] {
        let (mut converged, mut faults) = (0, Vec::new());
        for shape in 0..SHAPES.len() {
            let (n, found) = faults_of_batch(shape, boxed);
            converged += n;
            faults.extend(found);
        }
        println!("boxed {boxed}: {converged} of {} converged", n_fits());
        assert!(converged as f64 > 0.9 * n_fits() as f64, "{converged}");
        assert!(
            faults.is_empty(),
            "{} faults:\n{}",
            faults.len(),
            faults.join("\n")
        );
    }
}

#[test]
fn a_parameter_at_its_bound_is_on_it_and_the_others_find_their_minimum() {
    let x: Vec<f64> = (0..11).map(|i| f64::from(i) * 0.1).collect();
    let y: Vec<f64> = x.iter().map(|x| 2.0 * (-2.0 * x).exp()).collect();
    let fitter = CurveFit::compile("a*exp(-b*x)").expect("it parses");
    for method in [Method::Auto, Method::Lm, Method::Trf] {
        let options = Options {
            p0: vec![("a".into(), 1.442), ("b".into(), 1.236)],
            bounds: vec![("a".into(), 1.0, 1.5), ("b".into(), 0.0, 3.0)],
            method,
            ..Options::default()
        };
        let found = fitter
            .fit(&Data::new(&y).with("x", &x), &options)
            .expect("a fit");
        assert!(found.converged(), "{method:?}: {:?}", found.status);
        assert_eq!(found.popt[0], 1.5);
        assert!(found.parameters[0].at_bound && !found.parameters[1].at_bound);
        // SciPy 1.17's least_squares(method="trf").
        assert!(
            (found.popt[1] - 1.414).abs() < 5e-4,
            "{method:?}: {}",
            found.popt[1]
        );
        assert!(
            (found.chi2 - 0.4512).abs() < 5e-5,
            "{method:?}: {}",
            found.chi2
        );
    }
}
