//! Look-ups by an index of an index.

use super::{Reals, Tested, error};

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
