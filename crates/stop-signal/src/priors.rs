//! Priors: medians, their uncertainty, and the spread between subjects.

use crate::config::{finite, only, parse, wrong};
use crate::params::{N_POSITIVE, NAMES};
use fitzroy::Result;

/// log mu_X ~ Normal(log m, s), sigma_X ~ HalfNormal(h); for pgf and ptf m is a probit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prior {
    /// Median over populations.
    pub m: f64,
    /// Standard deviation of its logarithm, or probit.
    pub s: f64,
    /// Scale of the standard deviation between subjects.
    pub h: f64,
}

const fn prior(m: f64, s: f64, h: f64) -> Prior {
    Prior { m, s, h }
}

/// Ours, wide around what fits of children report.
pub const DEFAULT: [Prior; 11] = [
    prior(1.2, 0.4, 0.3),
    prior(0.15, 0.4, 0.3),
    prior(3.0, 0.4, 0.3),
    prior(0.5, 1.0, 0.8),
    prior(2.5, 0.4, 0.3),
    prior(2.8, 0.6, 0.3),
    prior(0.23, 0.3, 0.3),
    prior(0.05, 0.7, 0.8),
    prior(0.03, 0.8, 0.8),
    prior(-1.8, 0.7, 0.6),
    prior(-1.8, 0.7, 0.6),
];

/// The defaults with what a file (`[B]` with `m`, `s`, `h`) says instead.
///
/// # Errors
/// The file is no TOML or JSON, or names what there is not, or a number out of range.
pub fn read(text: &str) -> Result<[Prior; 11]> {
    let all = parse(text)?;
    only(&all, "the priors", &NAMES)?;
    let mut priors = DEFAULT;
    for (k, name) in NAMES.iter().enumerate() {
        let Some(table) = all.get(name) else { continue };
        only(table, &format!("[{name}]"), &["m", "s", "h"])?;
        let p = &mut priors[k];
        for (key, slot) in [("m", &mut p.m), ("s", &mut p.s), ("h", &mut p.h)] {
            if let Some(value) = table.get(key) {
                *slot = finite(value, &format!("{name}.{key}"))?;
            }
            let probit = key == "m" && k >= N_POSITIVE;
            if !(probit || *slot > 0.0) {
                return Err(wrong(format!("{name}.{key} is {slot}; it must be above 0")));
            }
        }
    }
    Ok(priors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_changes_what_it_names_and_nothing_else() {
        let changed = read("[B]\nm = 2.0\n[pgf]\nm = -2.5\n").expect("fine");
        assert_eq!((changed[0].m, changed[0].s, changed[9].m), (2.0, 0.4, -2.5));
        assert_eq!(changed[1..9], DEFAULT[1..9]);
        let message = |text: &str| read(text).expect_err("refused").to_string();
        assert!(message("[b]\nm = 1").contains("has no `b`"));
        assert!(message("[B]\nmean = 1").contains("has no `mean`"));
        assert!(message("[B]\ns = 0").contains("B.s is 0"));
    }
}
