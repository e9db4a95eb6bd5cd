//! Why no chain could start: the first term of the density that is not finite, and its row.

use super::compiled::Compiled;
use super::scatter::scatter;
use crate::fit::sample::{ATTEMPTS, Settings, Stream, places};
use crate::model::joint::{Joint, Term, TermKind, not_positive_definite};
use crate::model::{Content, place};
use crate::{Error, ErrorKind};
use fitzroy_device::cpu::{Function, Workspace};
use fitzroy_graph::Op;

/// Puts the culprit in front of `error`, which says that no start was found.
pub(super) fn explain(
    error: Error,
    joint: &Joint,
    compiled: &Compiled,
    settings: &Settings,
) -> Error {
    if error.kind() != ErrorKind::Numerics {
        return error;
    }
    match culprit(joint, compiled, settings) {
        Some(found) => Error::new(ErrorKind::Numerics, format!("no starting point: {found}")),
        None => error,
    }
}

/// The first term that is not finite at the first point where one is not.
fn culprit(joint: &Joint, compiled: &Compiled, settings: &Settings) -> Option<String> {
    let nodes: Vec<_> = terms(compiled).map(|t| t.node).collect();
    let function = compiled.function(&nodes).ok()?;
    let mut workspace = function.workspace();
    let scatter = scatter(joint, compiled);
    let mut point = vec![0.0; compiled.full];
    let centre = scatter.iter().map(|s| s.centre);
    point.iter_mut().zip(centre).for_each(|(x, c)| *x = c);
    let centre = point.clone();
    // The centre, and the candidates of the first chain.
    for attempt in 0..=ATTEMPTS {
        if let Some(candidate) = attempt.checked_sub(1) {
            let stream = Stream {
                seed: settings.seed,
                stream: settings.stream,
                chain: settings.first_chain,
            };
            let numbers = point.iter_mut().zip(places(&scatter, stream, candidate));
            numbers.for_each(|(x, place)| *x = place);
        }
        let found = wrong_at(joint, compiled, (&function, &mut workspace), &point);
        if let Some(found) = found {
            return Some(format!(
                "the log density was not finite at {ATTEMPTS} points around the centre of the prior; {found}"
            ));
        }
    }
    slope(joint, compiled, &centre)
}

/// The terms that depend on coordinates alone.
fn terms(compiled: &Compiled) -> impl Iterator<Item = &Term> {
    let graphs = &compiled.graphs;
    let all = graphs.terms.iter();
    all.filter(|term| !graphs.reads_drawn(&[term.node]))
}

/// The first term that is not finite at `point`, where one is not: what, where and why.
pub(super) fn first_wrong(joint: &Joint, compiled: &Compiled, point: &[f64]) -> Option<String> {
    let nodes: Vec<_> = terms(compiled).map(|t| t.node).collect();
    let function = compiled.function(&nodes).ok()?;
    let mut workspace = function.workspace();
    wrong_at(joint, compiled, (&function, &mut workspace), point)
}

/// The same with the terms compiled.
fn wrong_at(
    joint: &Joint,
    compiled: &Compiled,
    (function, workspace): (&Function, &mut Workspace),
    point: &[f64],
) -> Option<String> {
    function.run(workspace, point);
    for (k, term) in terms(compiled).enumerate() {
        let values = function.output(workspace, k);
        if let Some(row) = values.iter().position(|v| !v.is_finite()) {
            let indefinite = indefinite(compiled, term, point);
            return Some(sentence(joint, term, row, values, indefinite.as_deref()));
        }
    }
    None
}

/// What is wrong with a matrix that `term` takes the Cholesky factor of, if it has none at `point`.
fn indefinite(compiled: &Compiled, term: &Term, point: &[f64]) -> Option<String> {
    let graph = &compiled.graphs.graph;
    let needed = graph.needed(&[term.node]);
    let factors = graph.node_ids().filter(|id| needed[id.index()]);
    let mut factors = factors.filter(|id| graph.node(*id).op == Op::Cholesky);
    factors.find_map(|id| {
        let matrix = graph.node(id).inputs[0];
        let function = compiled.function(&[matrix, id]).ok()?;
        let mut workspace = function.workspace();
        function.run(&mut workspace, point);
        let [matrix, factor] = [0, 1].map(|k| function.output(&workspace, k));
        let finite = |values: &[f64]| values.iter().all(|x| x.is_finite());
        let k = matrix.len().isqrt();
        let why =
            (finite(matrix) && !finite(factor)).then(|| not_positive_definite(matrix, k))??;
        Some(format!("its covariance there, a {k} by {k} matrix, {why}"))
    })
}

/// What is wrong with a term, where, and what to look at.
fn sentence(
    joint: &Joint,
    term: &Term,
    row: usize,
    values: &[f64],
    indefinite: Option<&str>,
) -> String {
    let value = values[row];
    // A part of an array is counted as the array is, where it has a number for each element.
    let part = term.part.as_ref().filter(|p| p.at.len() == values.len());
    let place = match (part, values.len()) {
        (Some(part), _) => place(&part.shape, part.at[row]),
        (None, 1) => String::new(),
        (None, _) => format!(", row {}", row + 1),
    };
    let name = &term.name;
    let array = joint.binding().array(name);
    let seen = array.and_then(|array| match (&array.content, part) {
        (_, Some(part)) => Some(part.values[row]),
        (Content::Real(v), None) if v.len() == values.len() => Some(v[row]),
        _ => None,
    });
    let seen = seen.map(|v| format!(" (value {v})"));
    let of = match term.kind {
        TermKind::Likelihood => format!(
            "the likelihood of `{name}`{place}{}",
            seen.unwrap_or_default()
        ),
        TermKind::Prior => format!("the prior of `{name}`{place}"),
        TermKind::Potential => format!("`{name}`{place}"),
    };
    let why = match (value.is_nan(), term.kind) {
        _ if indefinite.is_some() => indefinite.unwrap_or_default(),
        (true, TermKind::Potential) => "look for a log or a root of a negative number, or 0 / 0",
        (true, _) => {
            "an argument of its distribution is not valid there, such as a scale that is not \
             positive or a probability outside 0 to 1"
        }
        (false, TermKind::Likelihood) => {
            "the model cannot give this value: check the data against the support, or let the \
             parameters reach it"
        }
        (false, _) if value > 0.0 => "the density has no upper bound there; give it a proper prior",
        (false, _) => "the density is 0 there; check its support",
    };
    format!("{of} is the first term that is not finite ({value}): {why}")
}

/// The first parameter whose slope is not finite at the centre.
fn slope(joint: &Joint, compiled: &Compiled, centre: &[f64]) -> Option<String> {
    let nodes: Vec<_> = compiled.graphs.gradient.iter().map(|p| p.adjoint).collect();
    let function = compiled.function(&nodes).ok()?;
    let mut workspace = function.workspace();
    function.run(&mut workspace, centre);
    let bad = |k: usize| {
        function
            .output(&workspace, k)
            .iter()
            .any(|g| !g.is_finite())
    };
    let k = (0..nodes.len()).find(|&k| bad(k))?;
    let at = compiled.leaf_offset(k);
    let parameter = joint
        .parameters()
        .iter()
        .find(|p| (p.offset..p.offset + p.len).contains(&at))?;
    Some(format!(
        "the slope of the log density in `{}` was not finite at {ATTEMPTS} points around the \
         centre of the prior, though the log density is; look for a root or a power at 0",
        parameter.name
    ))
}
