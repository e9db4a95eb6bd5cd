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
