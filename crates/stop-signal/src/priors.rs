//! Priors: medians, their uncertainty, and the spread between subjects.

use crate::config::{finite, only, parse, wrong};
use crate::params::Kind;
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

/// Those of a model.
pub fn defaults(kind: Kind) -> Vec<Prior> {
    kind.parameters().iter().map(|p| p.prior).collect()
}

/// The defaults of a model with what a file (`[B]` with `m`, `s`, `h`) says instead.
///
/// # Errors
/// The file is no TOML or JSON, or names what there is not, or a number out of range.
pub fn read(kind: Kind, text: &str) -> Result<Vec<Prior>> {
    let all = parse(text)?;
    if !kind.stops() {
        return Err(wrong("the priors of the Wald baseline are its own".into()));
    }
    only(&all, "the priors", &kind.parameter_names())?;
    let mut priors = defaults(kind);
    for (parameter, p) in kind.parameters().iter().zip(&mut priors) {
        let name = parameter.name;
        let Some(table) = all.get(name) else { continue };
        only(table, &format!("[{name}]"), &["m", "s", "h"])?;
        for (key, slot) in [("m", &mut p.m), ("s", &mut p.s), ("h", &mut p.h)] {
            if let Some(value) = table.get(key) {
                *slot = finite(value, &format!("{name}.{key}"))?;
            }
            let probit = key == "m" && parameter.probability;
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
        let read = |text: &str| read(Kind::Rdex, text);
        let changed = read("[B]\nm = 2.0\n[pgf]\nm = -2.5\n").expect("fine");
        assert_eq!((changed[0].m, changed[0].s, changed[9].m), (2.0, 0.4, -2.5));
        assert_eq!(changed[1..9], defaults(Kind::Rdex)[1..9]);
        let message = |text: &str| read(text).expect_err("refused").to_string();
        assert!(message("[b]\nm = 1").contains("has no `b`"));
        assert!(message("[B]\nmean = 1").contains("has no `mean`"));
        assert!(super::read(Kind::WaldRace, "[B]\nm = 1").is_err());
        assert!(super::read(Kind::ExGaussian, "[go_mu]\nm = 1").is_ok());
        assert!(message("[B]\ns = 0").contains("B.s is 0"));
    }
}
