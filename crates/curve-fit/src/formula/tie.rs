//! Formulas of parameters alone, and of columns alone.

use super::build::{Recorder, Setting};
use super::{Formula, Roles};
use fitzroy::Result;
use fitzroy::{Error, ErrorKind};
use fitzroy_device::cpu::RowProgram;
use fitzroy_graph::{Bindings, Scope, evaluate, tangent};

/// Value of `tie` and its derivatives by the free parameters, at `theta`.
pub(crate) fn tie_value(
    tie: &Formula,
    roles: &Roles,
    settings: &[Setting],
    theta: &[f64],
) -> Result<(f64, Vec<f64>)> {
    let scope = Scope::new();
    let rows = scope.dim("rows", 1);
    let recorder = Recorder {
        scope: &scope,
        rows,
        roles,
        settings,
        free: (0..theta.len()).map(|k| scope.param(k, &[])).collect(),
    };
    let value = recorder.formula(tie)?;
    let value = scope.node(value);
    let mut graph = scope.finish();
    let mut outputs = vec![value];
    for k in 0..theta.len() {
        let (param, one) = (graph.param(k, &[]), graph.lit(1.0));
        outputs.push(tangent(&mut graph, value, &[(param, one)]));
    }
    let found = evaluate(&graph, &Bindings::default(), theta, &outputs);
    Ok((found[0][0], found[1..].iter().map(|v| v[0]).collect()))
}

/// The values of a formula of columns, row by row.
///
/// # Errors
/// A name that is no column.
pub fn computed_column(formula: &Formula, columns: &[(String, Vec<f64>)]) -> Result<Vec<f64>> {
    let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
    let roles = formula.names(&names, &[])?;
    if let Some(p) = roles.parameters.first() {
        let message = format!(
            "`{}` in `{}` is no column; the columns are {}",
            p.name,
            formula.text(),
            names.join(", ")
        );
        return Err(Error::new(ErrorKind::Data, message));
    }
    let scope = Scope::new();
    let rows = scope.dim("rows", 1);
    let recorder = Recorder {
        scope: &scope,
        rows,
        roles: &roles,
        settings: &[],
        free: vec![],
    };
    let value = recorder.formula(formula)?;
    let value = scope.node(value.broadcast(&scope, &[rows]));
    let graph = scope.finish();
    let program = RowProgram::compile(&graph, rows, &[value], &[]);
    let read: Vec<&[f64]> = graph
        .data_slots()
        .iter()
        .filter_map(|slot| columns.iter().find(|(n, _)| *n == slot.name))
        .map(|(_, values)| values.as_slice())
        .collect();
    let n = read
        .first()
        .or(columns.first().map(|c| c.1.as_slice()).as_ref())
        .map_or(0, |c| c.len());
    let mut workspace = program.workspace();
    program.set_parameters(&mut workspace, &[]);
    let mut out = [vec![0.0; n]];
    program.evaluate(&mut workspace, &read, &mut out);
    let [out] = out;
    Ok(out)
}
