//! Look-ups by an index of an index.

use super::{Reals, Tested, error};
use crate::rng::{Purpose, Rng};

const HEAD: &str = "data y[obs], school[obs] in schools, region[schools] in regions\n\
                    dim regions = 3\nb[regions] ~ Normal(0, 1)\nc[schools] ~ Normal(0, 1)\n";
/// Six rows in four schools in three regions, of which one has no row.
const DATA: &Reals<'_> = &[
    ("y", &[6], &[0.3, -1.0, 2.0, 0.5, 0.0, -0.7]),
    ("school", &[6], &[3.0, 0.0, 1.0, 1.0, 2.0, 0.0]),
    ("region", &[4], &[2.0, 0.0, 0.0, 2.0]),
];

/// The value of `m` at b = (1, 2, 3).
fn means(expression: &str) -> Vec<f64> {
    let text = format!("{HEAD}m[obs] = {expression}\ny[obs] ~ Normal(m, 1)");
    let tested = Tested::new(&text, DATA);
    tested.check_gradient();
    let u: Vec<f64> = (0..tested.n_params).map(|k| (k + 1) as f64).collect();
    tested.recorded("m", &u)
}

/// Catches: positions of the outer index taken for those of the inner one.
#[test]
fn a_row_finds_the_region_of_its_school() {
    let want = [3.0, 3.0, 1.0, 1.0, 1.0, 3.0];
    assert_eq!(means("b[region[school]]"), want);
    assert_eq!(means("b[region][school]"), want);
    // One school for all rows.
    assert_eq!(means("b[region[3]] + 0 * c[school]"), [3.0; 6]);
}

#[test]
fn an_index_of_an_index_that_does_not_fit_says_why() {
    let message = |expression: &str| {
        let text = format!("{HEAD}m[obs] = {expression}\ny[obs] ~ Normal(m, 1)");
        error(&text, DATA)
    };
    let wrong = message("c[region[school]]");
    assert!(
        wrong.contains("`region` holds positions in `regions`, but this axis of `c` is `schools`"),
        "{wrong}"
    );
    let text = format!(
        "{HEAD}t[regions, schools] ~ Normal(0, 1)\n\
         m[obs] = t[region[school], school]\ny[obs] ~ Normal(m, 1)"
    );
    let wrong = error(&text, DATA);
    assert!(
        wrong.contains("an index of an index stands alone"),
        "{wrong}"
    );
}

/// Columns over the same rows, over others, over cells of both, and beside slices and elements,
/// against plain loops.
#[test]
fn columns_over_different_rows_give_all_combinations() {
    const TABLE: &str = "data y[obs], school[obs] in schools, arm[obs] in arms\n\
                         data part[parts] in arms, both[obs, parts] in schools, day[parts] in days\n\
                         dim schools = 4\ndim arms = 3\ndim days = 2\n\
                         t[schools, arms] ~ Normal(0, 1)\nu[days, schools, arms] ~ Normal(0, 1)\n";
    let (school, arm) = ([3, 0, 1, 1, 2, 0], [2, 1, 0, 2, 1, 1]);
    let (part, day) = ([1, 2], [1, 0]);
    let both: [[usize; 2]; 6] = [[0, 1], [2, 3], [3, 3], [1, 0], [0, 2], [2, 1]];
    let real = |x: &[usize]| x.iter().map(|&x| x as f64).collect::<Vec<f64>>();
    let columns = [real(&school), real(&arm), real(&part), real(&day)];
    let cells = real(both.as_flattened());
    let data: &Reals<'_> = &[
        ("y", &[6], &[0.3, -1.0, 2.0, 0.5, 0.0, -0.7]),
        ("school", &[6], &columns[0]),
        ("arm", &[6], &columns[1]),
        ("part", &[2], &columns[2]),
        ("day", &[2], &columns[3]),
        ("both", &[6, 2], &cells),
    ];
    // The parameters are 1, 2, 3, ...: those of t, then those of u.
    let t = |s: usize, a: usize| (1 + 3 * s + a) as f64;
    let u = |d: usize, s: usize, a: usize| (13 + 12 * d + 3 * s + a) as f64;
    type Want<'a> = &'a dyn Fn(usize, usize) -> f64;
    let cases: [(&str, Want<'_>); 9] = [
        ("t[school, part]", &|i, k| t(school[i], part[k])),
        ("t[school, 1:]", &|i, k| t(school[i], 1 + k)),
        ("t[both, part]", &|i, k| t(both[i][k], part[k])),
        ("t[both, arm]", &|i, k| t(both[i][k], arm[i])),
        ("u[:, school, arm]", &|i, k| u(k, school[i], arm[i])),
        ("u[1, school, part]", &|i, k| u(1, school[i], part[k])),
        ("u[day, school, arm]", &|i, k| u(day[k], school[i], arm[i])),
        ("u[day, school, part]", &|i, k| {
            u(day[k], school[i], part[k])
        }),
        ("u[:, 0, arm]", &|i, k| u(k, 0, arm[i])),
    ];
    for (expression, want) in cases {
        let transposed = expression.starts_with("u[:") || expression.starts_with("u[day");
        let over = if expression.contains("day") || !expression.contains(':') {
            "obs, parts"
        } else if transposed {
            "obs, days"
        } else {
            "obs, last"
        };
        let text =
            format!("{TABLE}dim last = 2\nm[{over}] = {expression}\ny ~ Normal(sum(m[obs, 0]), 1)");
        let text = text.replace("sum(m[obs, 0])", "m[:, 0]");
        let tested = Tested::new(&text, data);
        tested.check_gradient();
        let point: Vec<f64> = (0..tested.n_params).map(|k| (k + 1) as f64).collect();
        let got = tested.recorded("m", &point);
        let want = (0..12).map(|c| want(c / 2, c % 2));
        assert_eq!(got, want.collect::<Vec<f64>>(), "{expression}");
    }
}

/// Every way to write three subscripts as all of an axis, an element, or a column over rows, over others
/// or over cells of both, with random positions, against plain loops.
#[test]
fn subscripts_of_all_kinds_combine() {
    const AXES: [(&str, usize); 3] = [("days", 2), ("schools", 4), ("arms", 3)];
    let (obs, parts) = (5, 2);
    let mut rng = Rng::new(43, 0, 0, 1, Purpose::Test);
    let mut pick = |n: usize, size: usize| -> Vec<f64> {
        let one = |_| (rng.uniform() * size as f64).floor();
        (0..n).map(one).collect()
    };
    let columns = AXES.map(|(_, size)| [obs, parts, obs * parts].map(|n| pick(n, size)));
    let mut text = String::from("data z[obs]\n");
    let z = vec![0.0; obs];
    let mut data: Vec<(String, Vec<usize>, &[f64])> = vec![("z".into(), vec![obs], &z)];
    for ((name, size), columns) in AXES.iter().zip(&columns) {
        let shapes = [vec![obs], vec![parts], vec![obs, parts]];
        let dims = ["obs", "parts", "obs, parts"];
        text += &format!("dim {name} = {size}\n");
        for (k, (shape, column)) in shapes.into_iter().zip(columns).enumerate() {
            text += &format!("data {name}{k}[{}] in {name}\n", dims[k]);
            data.push((format!("{name}{k}"), shape, column));
        }
    }
    text += "u[days, schools, arms] ~ Normal(0, 1)\n";
    let data: Vec<(&str, &[usize], &[f64])> = data
        .iter()
        .map(|(n, s, v)| (n.as_str(), &s[..], *v))
        .collect();
    for case in 0..5usize.pow(3) {
        let kinds = [case / 25, case / 5 % 5, case % 5];
        // All of an axis, its last element, and the three columns.
        let written = [0, 1, 2].map(|a| match kinds[a] {
            0 => ":".to_string(),
            1 => "-1".into(),
            k => format!("{}{}", AXES[a].0, k - 2),
        });
        let has = |k: usize| kinds.contains(&k) || kinds.contains(&4);
        let mut over: Vec<(&str, usize)> = vec![("obs", obs), ("parts", parts)];
        over.retain(|(name, _)| has(if *name == "obs" { 2 } else { 3 }));
        over.extend((0..3).filter(|&a| kinds[a] == 0).map(|a| AXES[a]));
        if over.is_empty() {
            continue;
        }
        let names: Vec<&str> = over.iter().map(|(name, _)| *name).collect();
        let model = format!(
            "{text}m[{}] = u[{}]\nz ~ Normal(sum(m), 1)",
            names.join(", "),
            written.join(", ")
        );
        let tested = Tested::new(&model, &data);
        let point: Vec<f64> = (0..tested.n_params).map(|k| k as f64).collect();
        let n: usize = over.iter().map(|(_, size)| size).product();
        let want = (0..n).map(|cell| {
            let mut rest = cell;
            let mut at = std::collections::BTreeMap::new();
            for &(name, size) in over.iter().rev() {
                at.insert(name, rest % size);
                rest /= size;
            }
            let place = [0, 1, 2].map(|a| match kinds[a] {
                0 => at[AXES[a].0],
                1 => AXES[a].1 - 1,
                2 => columns[a][0][at["obs"]] as usize,
                3 => columns[a][1][at["parts"]] as usize,
                _ => columns[a][2][at["obs"] * parts + at["parts"]] as usize,
            });
            ((place[0] * 4 + place[1]) * 3 + place[2]) as f64
        });
        let got = tested.recorded("m", &point);
        assert_eq!(got, want.collect::<Vec<f64>>(), "u[{}]", written.join(", "));
    }
}
