//! Log densities beside those of Stan, at points that tests/python/posteriordb_stan.py has chosen.
//!
//! Stan's are densities of the parameters themselves, ours of coordinates: the volume between
//! them is taken from differences of the map from coordinates to parameters. Constants that do
//! not depend on parameters are left out, so differences between points are compared.

use super::database::{Database, Posterior, bound, renamed};
use super::support::{Density, everywhere};
use fitzroy::model::joint::{Chosen, Coordinates, Inverse, Joint, Placed};
use fitzroy_device::cpu::{Function, Workspace};
use fitzroy_graph::NodeId;
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;

const VARIABLE: &str = "FITZROY_POSTERIORDB_STAN";

/// Largest difference of the differences between points: of rounding, which grows with the log
/// density, and of the slopes that make a volume, which are good to some 1e-10 each.
fn bound_of(size: f64, n_params: usize) -> f64 {
    1e-12 * size + 1e-9 * n_params as f64
}

/// Correlation matrices of ours, beside their Cholesky factors of Stan.
const SQUARED: [(&str, &str, &str); 3] = [
    ("dogs_nonhierarchical", "Omega_logit_ab", "L_logit_ab"),
    ("hier_2pl", "Omega", "L_Omega"),
    ("kronecker_gp", "Omega", "L"),
];

/// Models with differential equations, which both programs solve to some error, as a share of the
/// log density: Stan's asks for an absolute error of 1e-3 of hares and lynxes, which die out at
/// some of these points, and for 1e-6 of the others.
const SOLVED: [(&str, f64); 4] = [
    ("lotka_volterra", 1e-2),
    ("one_comp_mm_elim_abs", 1e-6),
    ("sir", 1e-4),
    ("soil_incubation", 1e-5),
];

type Values = HashMap<String, Vec<f64>>;

#[test]
#[allow(clippy::print_stderr)]
fn log_densities_are_those_of_stan_up_to_a_constant() {
    let name = "log densities of Stan";
    let Some(database) = Database::of_environment(name) else {
        return;
    };
    let Some(folder) = std::env::var_os(VARIABLE) else {
        eprintln!("skipped: {name}: {VARIABLE} names no folder of values");
        return;
    };
    let (mut good, mut absent, mut bad) = (0, Vec::new(), Vec::new());
    for posterior in database.posteriors() {
        let file = Path::new(&folder).join(format!("{}.json", posterior.name));
        let Ok(text) = std::fs::read(&file) else {
            absent.push(posterior.name);
            continue;
        };
        let Ok(joint) = bound(&database, &posterior) else {
            absent.push(posterior.name);
            continue;
        };
        let golden: Value = serde_json::from_slice(&text).unwrap();
        let (off, size) = compared(&joint, &posterior, &golden);
        eprintln!("    {}: {size:.1e}, off by {off:.1e}", posterior.name);
        let solved = SOLVED.iter().find(|s| s.0 == posterior.model);
        let bound = match solved {
            Some((_, share)) => share * size,
            None => bound_of(size, joint.n_params()),
        };
        match off <= bound {
            true => good += 1,
            false => bad.push(format!("{}: {size:e}, off by {off:e}", posterior.name)),
        }
    }
    eprintln!("{good} agree, {} are not compared", absent.len());
    assert!(bad.is_empty(), "{bad:#?}");
}

/// How far differences between points are from Stan's, and the largest log density.
fn compared(joint: &Joint, posterior: &Posterior, golden: &Value) -> (f64, f64) {
    let mut way = Way::new(joint);
    let mut density = Density::new(joint, &everywhere(joint, &Coordinates::Centred));
    let points = golden["points"].as_array().unwrap();
    assert!(
        points.len() > 1,
        "{}: one point says nothing",
        posterior.name
    );
    let mut pairs = Vec::new();
    for point in points {
        let values = named(&posterior.model, &golden["names"], &point["values"]);
        let u = way.coordinates(joint, &values);
        let ours = density.value(&u) - way.log_volume(joint, &u);
        pairs.push((ours, point["lp"].as_f64().unwrap()));
    }
    let size = pairs.iter().fold(1.0, |m: f64, p| m.max(p.1.abs()));
    let difference = |p: &(f64, f64)| p.0 - p.1;
    let first = difference(&pairs[0]);
    let off = pairs.iter().map(|p| (difference(p) - first).abs());
    (
        off.fold(0.0, |m: f64, x| if x.is_nan() { x } else { m.max(x) }),
        size,
    )
}

/// Stan's flat vector, whose first index is the fastest, as arrays whose last one is.
fn named(model: &str, names: &Value, values: &Value) -> Values {
    let flat: Vec<f64> = values
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v.as_f64().unwrap())
        .collect();
    let (mut at, mut out) = (0, Values::new());
    for entry in names.as_array().unwrap() {
        let name = entry[0].as_str().unwrap();
        let shape = entry[1].as_array().unwrap().iter();
        let shape: Vec<usize> = shape.map(|n| n.as_u64().unwrap() as usize).collect();
        let len: usize = shape.iter().product();
        let part = &flat[at..at + len];
        at += len;
        out.insert(renamed(model, name), rows_first(part, &shape));
    }
    for (_, ours, stans) in SQUARED.iter().filter(|s| s.0 == model) {
        let l = &out[*stans];
        let k = (l.len() as f64).sqrt() as usize;
        let product = |i: usize, j: usize| (0..k).map(|m| l[i * k + m] * l[j * k + m]).sum();
        let square = (0..k * k).map(|c| product(c / k, c % k)).collect();
        out.insert((*ours).into(), square);
    }
    out
}

fn rows_first(part: &[f64], shape: &[usize]) -> Vec<f64> {
    let mut out = vec![0.0; part.len()];
    for (k, &x) in part.iter().enumerate() {
        let (mut rest, mut place, mut step) = (k, 0, part.len());
        for &n in shape {
            step /= n;
            place += (rest % n) * step;
            rest /= n;
        }
        out[place] = x;
    }
    out
}

/// Between parameters and their coordinates.
struct Way {
    inverse: Inverse,
    back: (Function, Workspace),
    there: (Function, Workspace),
}

impl Way {
    fn new(joint: &Joint) -> Way {
        let names: Vec<&str> = joint.parameters().iter().map(|p| p.name.as_str()).collect();
        let plates = everywhere(joint, &Coordinates::Centred);
        let inverse = joint.inverse(&names, &Chosen::from(&plates[..])).unwrap();
        let all = |pick: &dyn Fn(&Placed) -> Vec<NodeId>| -> Vec<NodeId> {
            inverse.placed.iter().flat_map(pick).collect()
        };
        let compiled = |(graph, bindings): &(_, _), nodes: &[NodeId]| {
            let function = Function::compile(graph, bindings, nodes).unwrap();
            let workspace = function.workspace();
            (function, workspace)
        };
        Way {
            back: compiled(&inverse.back, &all(&|p| p.coordinates.clone())),
            there: compiled(&inverse.there, &all(&|p| vec![p.value])),
            inverse,
        }
    }

    fn coordinates(&mut self, joint: &Joint, values: &Values) -> Vec<f64> {
        let mut inputs = vec![0.0; self.inverse.n_inputs];
        for placed in &self.inverse.placed {
            let name = &joint.parameters()[placed.parameter].name;
            let given = values
                .get(name)
                .unwrap_or_else(|| panic!("Stan has no `{name}`"));
            assert_eq!(
                given.len(),
                placed.shape.iter().product::<usize>(),
                "{name}"
            );
            inputs[placed.input..placed.input + given.len()].copy_from_slice(given);
        }
        let (function, workspace) = &mut self.back;
        function.run(workspace, &inputs);
        let (mut u, mut output) = (vec![0.0; joint.n_params()], 0);
        for placed in &self.inverse.placed {
            let mut at = joint.parameters()[placed.parameter].offset;
            for _ in &placed.coordinates {
                let part = function.output(workspace, output);
                u[at..at + part.len()].copy_from_slice(part);
                at += part.len();
                output += 1;
            }
        }
        u
    }

    /// ln |d parameters / d coordinates|.
    fn log_volume(&mut self, joint: &Joint, u: &[f64]) -> f64 {
        let n = self.inverse.placed.len();
        (0..n).map(|k| self.log_volume_of(joint, u, k)).sum()
    }

    /// That of one parameter, row by row, or element by element.
    fn log_volume_of(&mut self, joint: &Joint, u: &[f64], k: usize) -> f64 {
        let placed = self.inverse.placed[k].clone();
        let parameter = &joint.parameters()[placed.parameter];
        let elements: usize = placed.shape.iter().product();
        let squared = placed.shape.len() == 2 && SQUARED.iter().any(|s| s.1 == parameter.name);
        let n_rows = match placed.shape.split_last() {
            _ if parameter.range.is_some() => elements,
            _ if squared => 1,
            Some((_, outer)) => outer.iter().product(),
            None => 1,
        };
        let (wide, own) = (elements / n_rows, parameter.len / n_rows);
        let mut slopes = vec![vec![0.0; own * own]; n_rows];
        for j in 0..own {
            let moved = |way: &mut Way, sign: f64| {
                let mut there = u.to_vec();
                let step = |x: f64| 1e-5 * (1.0 + x.abs()) * sign;
                for row in 0..n_rows {
                    let at = parameter.offset + row * own + j;
                    there[at] += step(u[at]);
                }
                let (function, workspace) = &mut way.there;
                function.run(workspace, &there);
                let values = function.output(workspace, k);
                if squared {
                    below_of_factor(values)
                } else {
                    values.to_vec()
                }
            };
            let (up, down) = (moved(self, 1.0), moved(self, -1.0));
            for (row, slopes) in slopes.iter_mut().enumerate() {
                let width = 2e-5 * (1.0 + u[parameter.offset + row * own + j].abs());
                let wide = if squared { own } else { wide };
                for i in 0..own {
                    let at = row * wide + i;
                    slopes[i * own + j] = (up[at] - down[at]) / width;
                }
            }
        }
        slopes.iter().map(|m| log_determinant(m.clone(), own)).sum()
    }
}

/// What stands below the diagonal of the Cholesky factor of a correlation matrix.
fn below_of_factor(m: &[f64]) -> Vec<f64> {
    let k = (m.len() as f64).sqrt() as usize;
    let mut l = vec![0.0; k * k];
    let mut below = Vec::new();
    for i in 0..k {
        for j in 0..=i {
            let dot: f64 = (0..j).map(|n| l[i * k + n] * l[j * k + n]).sum();
            let rest = m[i * k + j] - dot;
            l[i * k + j] = if i == j {
                rest.sqrt()
            } else {
                rest / l[j * k + j]
            };
            if i > j {
                below.push(l[i * k + j]);
            }
        }
    }
    below
}

/// ln |det| by elimination with pivots.
fn log_determinant(mut m: Vec<f64>, n: usize) -> f64 {
    let mut sum = 0.0;
    for k in 0..n {
        let size = |i: &usize| m[i * n + k].abs();
        let pivot = (k..n).max_by(|a, b| size(a).total_cmp(&size(b))).unwrap();
        (0..n).for_each(|j| m.swap(k * n + j, pivot * n + j));
        sum += m[k * n + k].abs().ln();
        for i in k + 1..n {
            let factor = m[i * n + k] / m[k * n + k];
            if factor != 0.0 {
                (k..n).for_each(|j| m[i * n + j] -= factor * m[k * n + j]);
            }
        }
    }
    sum
}
