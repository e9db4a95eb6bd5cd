//! Distributions whose arguments lie over different dims: `y[g, h] ~ Gamma(k[g], s[h])` has the density
//! and the slopes of rows that look their arguments up.
#![allow(clippy::unwrap_used)]

mod support;

use fitzroy::data::Dataset;
use fitzroy::model::joint::Coordinates;
use fitzroy::rng::{Purpose, Rng};
use support::{Density, everywhere, joint, language, near};

const GROUPS: usize = 3;
const KINDS: usize = 4;
/// Places and sizes over one dim, scales and shares over the other.
const HEAD: &str = "dim g = 3\ndim h = 4\nmu[g] ~ Normal(0, 1)\ns[h] ~ HalfNormal(1)\nk[g] ~ LogNormal(0, 0.5)\np[h] ~ Beta(2, 3)\n";
const PARAMETERS: usize = 2 * GROUPS + 2 * KINDS;

/// `family` with a subscript behind each parameter that is used, not behind names of arguments.
fn subscripted(family: &str, of_groups: &str, of_kinds: &str) -> String {
    let mut out = String::new();
    let mut rest = family;
    while !rest.is_empty() {
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = rest.find(|c| !word(c)).unwrap_or(rest.len());
        if end == 0 {
            let c = rest.chars().next().unwrap();
            out.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        }
        let (name, after) = rest.split_at(end);
        out += name;
        let is_argument = after.starts_with('=');
        match name {
            "mu" | "k" if !is_argument => out += of_groups,
            "s" | "p" if !is_argument => out += of_kinds,
            _ => {}
        }
        rest = after;
    }
    out
}

/// The model over a table, and the same over rows.
fn both(family: &str, numbers: &[f64]) -> [(String, Dataset); 2] {
    let cells = GROUPS * KINDS;
    let y: Vec<f64> = (0..cells).map(|c| numbers[c % numbers.len()]).collect();
    let (mut table, mut rows) = (Dataset::new(), Dataset::new());
    table.insert_real("y", &[GROUPS, KINDS], y.clone());
    rows.insert_real("y", &[cells], y);
    let places = |f: fn(usize) -> usize| (0..cells).map(|c| f(c) as f64).collect();
    rows.insert_real("group", &[cells], places(|c| c / KINDS));
    rows.insert_real("kind", &[cells], places(|c| c % KINDS));
    let over_table = subscripted(family, "[g]", "[h]");
    let over_rows = subscripted(family, "[group]", "[kind]");
    [
        (
            format!("data y[g, h]\n{HEAD}y[g, h] ~ {over_table}\n"),
            table,
        ),
        (
            format!("data y[row], group[row] in g, kind[row] in h\n{HEAD}y ~ {over_rows}\n"),
            rows,
        ),
    ]
}

#[test]
fn arguments_over_different_dims_meet_as_those_of_rows_do() {
    let mut n = 0;
    for (family, numbers) in language::families() {
        let models = both(family, &numbers);
        let mut densities = models.map(|(text, data)| {
            let joint = joint(&text, &data);
            assert_eq!(joint.n_params(), PARAMETERS);
            Density::new(&joint, &everywhere(&joint, &Coordinates::Centred))
        });
        let mut rng = Rng::new(1, 0, n, 0, Purpose::Momentum);
        for _ in 0..4 {
            let x: Vec<f64> = (0..PARAMETERS).map(|_| 0.7 * rng.normal()).collect();
            let [table, rows] = densities.each_mut().map(|density| density.run(&x));
            near(table.0, rows.0, 1.0 + rows.0.abs(), 1e-11, family);
            for (a, b) in table.1.iter().zip(&rows.1) {
                near(*a, *b, 1.0 + b.abs(), 1e-10, family);
            }
        }
        n += 1;
    }
    assert!(n > 70, "{n}");
}

#[test]
fn limits_and_choices_over_different_dims_meet_as_well() {
    for family in [
        "Normal(mu, 1) truncated(-5 - k, 5 + s)",
        "Normal(mu, s) truncated(lower=-3 - s, upper=4 + k)",
        "Gamma(k, s) truncated(upper=30 + s)",
        "Normal(where(y < s, mu, p), s)",
        "Normal(clip(y, mu, mu + s), k + s)",
    ] {
        let named = family.replace('y', "Y");
        let [mut table, mut rows] = both(&named, &[0.4, 1.7, 0.9, 2.2, 0.1]);
        table.0 = table.0.replace('Y', "y[g, h]");
        rows.0 = rows.0.replace('Y', "y");
        let [table, rows] = [table, rows].map(|(text, data)| {
            let joint = joint(&text, &data);
            let mut density = Density::new(&joint, &everywhere(&joint, &Coordinates::Centred));
            let x: Vec<f64> = (0..PARAMETERS).map(|i| (1.3 * i as f64).sin()).collect();
            density.run(&x)
        });
        near(table.0, rows.0, 1.0 + rows.0.abs(), 1e-11, family);
        for (a, b) in table.1.iter().zip(&rows.1) {
            near(*a, *b, 1.0 + b.abs(), 1e-10, family);
        }
    }
}
