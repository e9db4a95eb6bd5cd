//! Columns that hold the errors of others, by their names.

/// What stands before the name of a column in that of its errors.
const BEFORE: [&str; 14] = [
    "sigma_", "sigma", "err_", "error_", "delta_", "unc_", "std_", "sd_", "se_", "s_", "u_", "d",
    "σ_", "σ",
];
/// What stands behind it.
const BEHIND: [&str; 20] = [
    "_err",
    "_error",
    "_errors",
    "_sigma",
    "_sd",
    "_se",
    "_sem",
    "_std",
    "_stderr",
    "_stddev",
    "_unc",
    "_uncertainty",
    "_delta",
    "_e",
    "err",
    "error",
    " err",
    " error",
    " sd",
    " uncertainty",
];
/// Names that are errors of the response, whatever it is called.
const ALONE: [&str; 18] = [
    "sigma",
    "err",
    "error",
    "errors",
    "yerr",
    "y_err",
    "yerror",
    "y_error",
    "dy",
    "sigma_y",
    "stderr",
    "std_err",
    "stddev",
    "uncertainty",
    "unc",
    "sem",
    "σ",
    "errorbar",
];

/// Whether `name` says that it holds the errors of column `of`.
fn is_error_of(name: &str, of: &str) -> bool {
    let (name, of) = (name.to_lowercase(), of.to_lowercase());
    let before = BEFORE.iter().any(|b| name.strip_prefix(b) == Some(&of));
    before || BEHIND.iter().any(|b| name.strip_suffix(b) == Some(&of))
}

/// Columns among `names` that hold the errors of the response `y` by their names: those that name
/// it, else those that are called as errors alone are.
pub(super) fn error_columns<'n>(y: &str, names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    let all: Vec<&str> = names.collect();
    let own = all.iter().copied().filter(|n| is_error_of(n, y));
    let own: Vec<&str> = own.collect();
    match own.is_empty() {
        true => all.into_iter().filter(|n| is_alone(n)).collect(),
        false => own,
    }
}

fn is_alone(name: &str) -> bool {
    ALONE.contains(&name.to_lowercase().as_str())
}

/// The one name among `names` that holds the errors of the response `y`; none if several do.
pub fn error_column<'n>(y: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    match error_columns(y, names)[..] {
        [one] => Some(one),
        _ => None,
    }
}

/// Names that are the errors of another of `names`, or of any response.
pub fn errors_of_others<'n>(names: &[&'n str]) -> Vec<&'n str> {
    let of_other = |n: &&str| names.iter().any(|of| of != n && is_error_of(n, of)) || is_alone(n);
    names.iter().copied().filter(of_other).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_known_by_the_name_of_their_column_or_by_their_own() {
        let found = |y: &str, names: &[&'static str]| error_columns(y, names.iter().copied());
        assert_eq!(found("y", &["x", "y_err", "x_err"]), ["y_err"]);
        assert_eq!(
            found("Counts", &["t", "sigma_counts", "err"]),
            ["sigma_counts"]
        );
        assert_eq!(
            found("flux", &["t", "flux_error", "e_flux"]),
            ["flux_error"]
        );
        assert_eq!(found("v", &["t", "dv", "dt"]), ["dv"]);
        assert_eq!(found("v", &["t", "sigma"]), ["sigma"]);
        assert_eq!(found("v", &["t", "yerr", "err"]), ["yerr", "err"]);
        assert!(found("y", &["x", "day", "dyad", "s", "se"]).is_empty());
        assert_eq!(error_column("v", ["t", "yerr", "err"].into_iter()), None);
        assert_eq!(
            errors_of_others(&["x", "y", "dy", "dx", "day"]),
            ["dy", "dx"]
        );
    }
}
