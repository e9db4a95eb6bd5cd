//! Curves that were compared, as text, CSV and JSON.

use super::json::number;
use super::significant;
use crate::fit::Selection;
use fitzroy::report::csv_field;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Longest formula that is shown whole.
const WIDTH: usize = 48;

pub(super) fn shortened(model: &str) -> String {
    let model = model.split_whitespace().collect::<Vec<_>>().join(" ");
    match model.chars().count() {
        0..=WIDTH => model,
        _ => model.chars().take(WIDTH - 1).chain(['…']).collect(),
    }
}

fn known(x: f64, digits: usize) -> String {
    match x.is_nan() {
        true => "-".into(),
        false => format!("{x:.digits$}"),
    }
}

/// A table, and a line for each pair of curves of which one is within the other.
pub fn selection_text(selection: &Selection) -> String {
    let mut out = format!(
        "{:WIDTH$} {:>4} {:>12} {:>10} {:>10} {:>10} {:>10} {:>7} {:>7} {:>7}\n",
        "curve", "p", "chi2", "AIC", "AICc", "BIC", "LOO", "w AICc", "w BIC", "w LOO"
    );
    for r in &selection.ranked {
        let note = if r.converged { "" } else { "  not converged" };
        let _ = writeln!(
            out,
            "{:WIDTH$} {:>4} {:>12} {:>10.2} {:>10.2} {:>10.2} {:>10} {:>7.3} {:>7.3} {:>7}{note}",
            shortened(&r.model),
            r.n_parameters,
            significant(r.chi2, 6),
            r.aic,
            r.aicc,
            r.bic,
            known(r.loo, 2),
            r.weight,
            r.weight_bic,
            known(r.weight_loo, 3)
        );
    }
    for n in &selection.nested {
        let name = |k: usize| shortened(&selection.ranked[k].model);
        let better = if n.p < 0.05 {
            "fits better than chance explains"
        } else {
            "fits no better than chance explains"
        };
        let dof = if n.dof.1.is_finite() {
            format!("{}, {}", n.dof.0, n.dof.1)
        } else {
            n.dof.0.to_string()
        };
        let _ = writeln!(
            out,
            "{} {better} than its special case {}: F({dof}) = {}, p = {}",
            name(n.outer),
            name(n.inner),
            significant(n.f, 4),
            significant(n.p, 3)
        );
    }
    out
}

/// A row for each curve.
pub fn selection_csv(selection: &Selection) -> String {
    let mut out = String::from(
        "model,n_parameters,chi2,aic,aicc,bic,loo,weight,weight_bic,weight_loo,converged\n",
    );
    for r in &selection.ranked {
        let model = csv_field(&r.model);
        let (p, chi2, aic, aicc, bic) = (r.n_parameters, r.chi2, r.aic, r.aicc, r.bic);
        let _ = writeln!(
            out,
            "{model},{p},{chi2},{aic},{aicc},{bic},{},{},{},{},{}",
            r.loo, r.weight, r.weight_bic, r.weight_loo, r.converged
        );
    }
    out
}

/// All of it.
pub fn selection_json(selection: &Selection) -> Value {
    let ranked = selection.ranked.iter().map(|r| {
        json!({
            "model": r.model, "n_parameters": r.n_parameters, "chi2": number(r.chi2), "aic": number(r.aic),
            "aicc": number(r.aicc), "bic": number(r.bic), "loo": number(r.loo), "weight": number(r.weight),
            "weight_bic": number(r.weight_bic), "weight_loo": number(r.weight_loo), "converged": r.converged,
        })
    });
    let nested = selection.nested.iter().map(|n| {
        json!({
            "inner": selection.ranked[n.inner].model, "outer": selection.ranked[n.outer].model,
            "f": number(n.f), "dof": [number(n.dof.0), number(n.dof.1)], "p": number(n.p),
        })
    });
    json!({"ranked": ranked.collect::<Vec<_>>(), "nested": nested.collect::<Vec<_>>()})
}
