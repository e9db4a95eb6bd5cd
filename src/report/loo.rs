//! Cross-validation as JSON.

use super::json_number;
use crate::diagnose::{Compared, Comparison, Loo};
use serde_json::{Value, json};

/// One model, pointwise values included; its LOO-PIT where there are replicates.
pub fn loo_json(loo: &Loo, pit: Option<&[f64]>) -> Value {
    let list = |pick: &dyn Fn(usize) -> f64| -> Value {
        (0..loo.pointwise.len())
            .map(|i| json_number(pick(i)))
            .collect()
    };
    json!({
        "elpd": json_number(loo.elpd),
        "se": json_number(loo.se),
        "p": json_number(loo.p),
        "draws": loo.n_draws,
        "r_eff": json_number(loo.r_eff),
        "k_limit": json_number(loo.k_limit),
        "n_unreliable": loo.unreliable().len(),
        "elpd_i": list(&|i| loo.pointwise[i].elpd),
        "pareto_k": list(&|i| loo.pointwise[i].k),
        "loo_pit": pit.map(|pit| list(&|i| pit[i])),
    })
}

/// The ranking of models with what [`loo_json`] says of each; LOO-PIT where there are replicates.
pub fn comparison_json(
    found: &Comparison,
    loos: &[(String, Loo)],
    pits: &[Option<Vec<f64>>],
) -> Value {
    let row = |m: &Compared| {
        let mut row = json!({
            "name": m.name,
            "elpd_diff": json_number(m.elpd_diff),
            "dse": json_number(m.dse),
            "p_worse": json_number(m.p_worse),
            "weight": json_number(m.weight),
            "caution": m.caution,
        });
        let pit = pits.get(m.place).and_then(Option::as_deref);
        if let (Value::Object(to), Value::Object(from)) =
            (&mut row, loo_json(&loos[m.place].1, pit))
        {
            to.extend(from);
        }
        row
    };
    json!({
        "method": "psis-loo",
        "variable": loos[0].1.variable,
        "observations": found.n_observations,
        "caution": found.caution,
        "models": found.models.iter().map(row).collect::<Vec<_>>(),
    })
}
