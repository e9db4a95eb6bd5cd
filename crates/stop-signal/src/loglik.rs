//! The log likelihood of single trials of one subject, and its slopes.

use crate::data::Row;
use fitzroy::model::Model;
use fitzroy::model::joint::{Joint, TermKind};
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_device::cpu::Function;
use fitzroy_graph::Op;
use std::fmt::Write;

use crate::model::{Kind, Spec};

/// What [`log_likelihood`] gives, in the order of the rows.
#[derive(Clone, Debug, PartialEq)]
pub struct LogLikelihood {
    /// ln p of each trial; −∞ where rt ≤ t0.
    pub values: Vec<f64>,
    /// By parameter in the order of [`Spec::names`], the slope of each trial's value.
    pub slopes: Vec<Vec<f64>>,
}

/// How an outcome is called.
pub fn outcome_name(row: &Row) -> &'static str {
    match (row.is_stop(), row.outcome()) {
        (false, 0) => "go_omission",
        (false, 1) => "go_match",
        (false, _) => "go_mismatch",
        (true, 0) => "stop_success",
        (true, 1) => "sr_match",
        (true, _) => "sr_mismatch",
    }
}

/// ln p(outcome, rt) of every row at `params`, which are in the order of [`Spec::names`].
///
/// # Errors
/// A row that the model is not about: a stop trial or an omission for the Wald baseline.
pub fn log_likelihood(spec: &Spec, rows: &[Row], params: &[f64]) -> Result<LogLikelihood> {
    if !spec.kind.stops()
        && let Some(row) = rows.iter().find(|r| r.is_stop() || r.outcome() == 0)
    {
        let message = format!(
            "row {}: the Wald baseline is about go trials with a response, not {}",
            row.row,
            outcome_name(row)
        );
        return Err(Error::new(ErrorKind::Data, message));
    }
    let names = spec.names();
    let model = Model::parse(&free(spec))?;
    let study = crate::data::Study {
        subjects: vec!["one".into()],
        rows: rows.to_vec(),
        ..crate::data::Study::default()
    };
    let joint = Joint::new(&model, model.bind(&spec.data(&study))?)?;
    let graphs = joint.graphs(&[]);
    let term = graphs.terms.iter().find(|t| t.kind == TermKind::Likelihood);
    let mut outputs = vec![term.expect("the model has a likelihood").node];
    outputs.extend(graphs.gradient.iter().map(|p| p.adjoint));
    let function = Function::compile(&graphs.graph, &graphs.bindings, &outputs)?;
    let mut workspace = function.workspace();
    let n = rows.len();
    let point: Vec<f64> = params.iter().flat_map(|&x| vec![x; n]).collect();
    function.run(&mut workspace, &point);
    let mut slopes = vec![vec![0.0; n]; names.len()];
    for (k, partial) in graphs.gradient.iter().enumerate() {
        if let Op::Param { offset } = graphs.graph.node(partial.param).op {
            slopes[offset / n].copy_from_slice(function.output(&workspace, k + 1));
        }
    }
    Ok(LogLikelihood {
        values: function.output(&workspace, 0).to_vec(),
        slopes,
    })
}

/// The model with parameters that are free for every trial.
fn free(spec: &Spec) -> String {
    let mut out = String::from("data who[trials] in subject\n");
    for name in spec.names() {
        let _ = writeln!(out, "{name}[trials] ~ Flat()");
    }
    out += &match spec.kind {
        Kind::Rdex | Kind::ExGaussian | Kind::ExGaussianSingle => format!(
            "data outcome[trials], rt[trials], ssd[trials]\n{}\n",
            spec.likelihood(str::to_owned)
        ),
        Kind::WaldRace => "data outcome[trials], rt[trials]\n\
                           outcome[trials] ~ WaldRace(rt, t0, B, v_true, v_false)\n"
            .into(),
        Kind::WaldSingle => "data right[trials], rt[trials]\n\
                             let v = where(right, v_true, v_false)\n\
                             rt[trials] ~ Wald(mu=B / v, lam=B^2, alpha=t0)\n"
            .into(),
    };
    out
}
