//! Traces of one run that was spread over several tasks, put together along `chain`.

use super::{Attribute, Column, Group, Labels, Trace, Variable};
use crate::{Error, ErrorKind, Result};
use serde_json::Value;

/// A trace, and where it came from for messages.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its file or task.
    pub origin: String,
    /// Its draws.
    pub trace: Trace,
}

/// Settings that may differ between the parts of a run.
const OF_A_PART: [&str; 2] = ["chains", "first_chain"];

/// Concatenates traces along `chain`, in the order of their chain numbers.
///
/// Model, data, version, seed and settings must agree, but for the range of chains; variables, dims and
/// labels too. With `partial`, traces of unequal length are cut to the shortest.
///
/// # Errors
/// There is nothing to merge, or two parts do not belong together; the message names both and what differs.
pub fn merge(parts: Vec<Part>, partial: bool) -> Result<Trace> {
    let mut parts = parts;
    let first_chain = |part: &Part| chains(&part.trace).first().copied().unwrap_or(0);
    parts.sort_by_key(first_chain);
    let Some(first) = parts.first().cloned() else {
        return Err(Error::new(ErrorKind::Data, "there is no trace to merge"));
    };
    for part in &parts[1..] {
        same_run(&first, part)?;
    }
    distinct_chains(&parts)?;
    let n_draws = common_length(&parts, partial)?;
    let mut merged = first.trace.clone();
    for group in &mut merged.groups {
        let of_part = |part: &Part| {
            let found = part.trace.group(&group.name).cloned();
            found.ok_or_else(|| differ(&first, part, &format!("group `{}`", group.name)))
        };
        let groups: Result<Vec<Group>> = parts.iter().map(of_part).collect();
        merge_group(group, &groups?, n_draws, &first, &parts)?;
    }
    let all = parts.iter().flat_map(|p| chains(&p.trace)).collect();
    merged.coords.insert("chain".into(), Labels::Integers(all));
    let draws = (0..n_draws as i64).collect();
    merged.coords.insert("draw".into(), Labels::Integers(draws));
    sum_attributes(&mut merged, &parts);
    Ok(merged)
}

/// The chain numbers of a trace.
fn chains(trace: &Trace) -> Vec<i64> {
    match trace.coords.get("chain") {
        Some(Labels::Integers(chains)) => chains.clone(),
        _ => Vec::new(),
    }
}

fn is_draws(variable: &Variable) -> bool {
    variable.dims.len() >= 2 && variable.dims[0] == "chain" && variable.dims[1] == "draw"
}

fn merge_group(
    group: &mut Group,
    parts: &[Group],
    n_draws: usize,
    first: &Part,
    all: &[Part],
) -> Result<()> {
    for variable in group.variables.iter_mut().filter(|v| is_draws(v)) {
        let mut of_parts = Vec::with_capacity(parts.len());
        for (part, from) in parts.iter().zip(all) {
            let what = format!("variable `{}` of group `{}`", variable.name, group.name);
            let found = part.variable(&variable.name);
            let same =
                |v: &&Variable| v.dims == variable.dims && v.shape[2..] == variable.shape[2..];
            let found = found
                .filter(same)
                .ok_or_else(|| differ(first, from, &what))?;
            of_parts.push(found);
        }
        variable.values = join(&of_parts, n_draws)
            .ok_or_else(|| differ(first, &all[0], &format!("type of `{}`", variable.name)))?;
        variable.shape[0] = of_parts.iter().map(|v| v.shape[0]).sum();
        variable.shape[1] = n_draws;
    }
    Ok(())
}

/// The first `n_draws` draws of every chain, one after the other; none when the types differ.
fn join(parts: &[&Variable], n_draws: usize) -> Option<Column> {
    fn all<T: Copy>(
        parts: &[&Variable],
        n_draws: usize,
        of: impl Fn(&Column) -> Option<&[T]>,
    ) -> Option<Vec<T>> {
        let mut out = Vec::new();
        for part in parts {
            let (chains, draws, stride) = (part.shape[0], part.shape[1], part.elements());
            let values = of(&part.values)?;
            for chain in 0..chains {
                let start = chain * draws * stride;
                out.extend_from_slice(&values[start..start + n_draws * stride]);
            }
        }
        Some(out)
    }
    let real = |c: &Column| match c {
        Column::Real(v) => Some(v.as_slice()),
        _ => None,
    };
    let whole = |c: &Column| match c {
        Column::Integer(v) => Some(v.as_slice()),
        _ => None,
    };
    let flag = |c: &Column| match c {
        Column::Flag(v) => Some(v.as_slice()),
        _ => None,
    };
    match parts.first()?.values {
        Column::Real(_) => all(parts, n_draws, real).map(Column::Real),
        Column::Integer(_) => all(parts, n_draws, whole).map(Column::Integer),
        Column::Flag(_) => all(parts, n_draws, flag).map(Column::Flag),
    }
}

fn common_length(parts: &[Part], partial: bool) -> Result<usize> {
    let length = |part: &Part| {
        let groups = part
            .trace
            .groups
            .iter()
            .filter(|g| !g.name.starts_with("warmup"));
        let mut lengths = groups
            .flat_map(|g| &g.variables)
            .filter(|v| is_draws(v))
            .map(|v| v.shape[1]);
        lengths.next().unwrap_or(0)
    };
    let lengths: Vec<usize> = parts.iter().map(length).collect();
    let (least, most) = (lengths.iter().min(), lengths.iter().max());
    let (least, most) = (*least.unwrap_or(&0), *most.unwrap_or(&0));
    if least != most && !partial {
        let at = lengths.iter().position(|&n| n == least).unwrap_or(0);
        let message = format!(
            "{} has {least} draws and others have {most}: let it finish, or cut all to the \
             shortest with --partial",
            parts[at].origin
        );
        return Err(Error::new(ErrorKind::Data, message));
    }
    Ok(least)
}

fn distinct_chains(parts: &[Part]) -> Result<()> {
    let mut seen: Vec<(i64, &str)> = Vec::new();
    for part in parts {
        for chain in chains(&part.trace) {
            if let Some((_, other)) = seen.iter().find(|(c, _)| *c == chain) {
                let message = format!("chain {chain} is in {other} and in {}", part.origin);
                return Err(Error::new(ErrorKind::Data, message));
            }
            seen.push((chain, &part.origin));
        }
    }
    Ok(())
}

/// Model and data, version, seed, settings, and every coordinate but chains and draws.
fn same_run(first: &Part, part: &Part) -> Result<()> {
    for (key, what) in [
        ("fitzroy_hash", "model or data"),
        ("fitzroy_version", "version of fitzroy"),
        ("fitzroy_seed", "seed"),
        ("fitzroy_precision", "precision"),
    ] {
        if attribute(&first.trace, key) != attribute(&part.trace, key) {
            return Err(differ(first, part, what));
        }
    }
    let (ours, theirs) = (settings(&first.trace), settings(&part.trace));
    if let (Some(ours), Some(theirs)) = (ours.as_object(), theirs.as_object()) {
        let differs = |key: &&String| {
            !OF_A_PART.contains(&key.as_str()) && ours.get(*key) != theirs.get(*key)
        };
        if let Some(key) = ours.keys().chain(theirs.keys()).find(differs) {
            return Err(differ(first, part, &format!("setting `{key}`")));
        }
    }
    let own = |name: &&String| *name != "chain" && *name != "draw";
    for name in first.trace.coords.keys().filter(own) {
        if first.trace.coords.get(name) != part.trace.coords.get(name) {
            return Err(differ(first, part, &format!("labels of `{name}`")));
        }
    }
    Ok(())
}

fn attribute<'a>(trace: &'a Trace, key: &str) -> Option<&'a Attribute> {
    trace
        .attributes
        .iter()
        .find(|(k, _)| k == key)
        .map(|(_, value)| value)
}

fn settings(trace: &Trace) -> Value {
    match attribute(trace, "fitzroy_settings") {
        Some(Attribute::Text(text)) => serde_json::from_str(text).unwrap_or(Value::Null),
        _ => Value::Null,
    }
}

/// Gradients add up; settings tell of all chains.
fn sum_attributes(merged: &mut Trace, parts: &[Part]) {
    let n_chains: usize = parts.iter().map(|p| chains(&p.trace).len()).sum();
    let first = parts
        .iter()
        .flat_map(|p| chains(&p.trace))
        .min()
        .unwrap_or(0);
    for (key, value) in &mut merged.attributes {
        match (key.as_str(), &mut *value) {
            ("fitzroy_gradients", Attribute::Integer(sum)) => {
                let each = parts.iter().filter_map(|p| attribute(&p.trace, key));
                *sum = each
                    .map(|a| if let Attribute::Integer(n) = a { *n } else { 0 })
                    .sum();
            }
            ("fitzroy_settings", Attribute::Text(text)) => {
                if let Ok(mut settings) = serde_json::from_str::<Value>(text) {
                    settings["chains"] = n_chains.into();
                    settings["first_chain"] = first.into();
                    *text = settings.to_string();
                }
            }
            _ => {}
        }
    }
}

fn differ(first: &Part, part: &Part, what: &str) -> Error {
    let message = format!(
        "{} and {} are not parts of one run: they differ in the {what}",
        first.origin, part.origin
    );
    Error::new(ErrorKind::Data, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Two draws of a vector of two and a count, for the chains given.
    fn part(chains: &[i64], n_draws: usize) -> Part {
        let dims = |more: &[&str]| {
            let names = ["chain", "draw"].iter().chain(more);
            names.map(|n| (*n).to_owned()).collect::<Vec<_>>()
        };
        let c = chains.len();
        let number = |chain: &i64, i: usize| *chain as f64 * 100.0 + i as f64;
        let theta = chains
            .iter()
            .flat_map(|c| (0..2 * n_draws).map(move |i| number(c, i)));
        let steps = chains
            .iter()
            .flat_map(|&c| (0..n_draws as i64).map(move |i| 10 * c + i));
        let posterior = Group {
            name: "posterior".into(),
            variables: vec![
                Variable {
                    name: "theta".into(),
                    dims: dims(&["school"]),
                    shape: vec![c, n_draws, 2],
                    values: Column::Real(theta.collect()),
                },
                Variable {
                    name: "n_steps".into(),
                    dims: dims(&[]),
                    shape: vec![c, n_draws],
                    values: Column::Integer(steps.collect()),
                },
            ],
            attributes: Vec::new(),
        };
        let text = |t: &str| Attribute::Text(t.into());
        let settings = format!(
            "{{\"chains\":{c},\"first_chain\":{},\"tune\":5}}",
            chains[0]
        );
        let coords = BTreeMap::from([
            ("chain".to_owned(), Labels::Integers(chains.to_vec())),
            (
                "draw".to_owned(),
                Labels::Integers((0..n_draws as i64).collect()),
            ),
        ]);
        let attributes = vec![
            ("fitzroy_hash".into(), text("abc")),
            ("fitzroy_settings".into(), text(&settings)),
            ("fitzroy_gradients".into(), Attribute::Integer(7)),
        ];
        let trace = Trace {
            groups: vec![posterior],
            coords,
            attributes,
        };
        Part {
            origin: format!("task of chain {}", chains[0]),
            trace,
        }
    }

    #[test]
    fn parts_in_any_order_are_the_whole() {
        let whole = part(&[0, 1, 2], 3).trace;
        let merged = merge(vec![part(&[2], 3), part(&[0, 1], 3)], false).unwrap();
        assert_eq!(merged.groups, whole.groups);
        assert_eq!(merged.coords, whole.coords);
        let gradients = attribute(&merged, "fitzroy_gradients");
        assert_eq!(gradients, Some(&Attribute::Integer(14)));
        assert_eq!(settings(&merged)["chains"], 3);
    }

    #[test]
    fn parts_of_unequal_length_are_cut_when_asked_for() {
        let parts = || vec![part(&[0], 3), part(&[1], 2)];
        let message = merge(parts(), false).unwrap_err().to_string();
        assert!(message.contains("task of chain 1 has 2 draws"), "{message}");
        let merged = merge(parts(), true).unwrap();
        let steps = merged.groups[0].variable("n_steps").unwrap();
        assert_eq!(steps.values, Column::Integer(vec![0, 1, 10, 11]));
        assert_eq!(steps.shape, [2, 2]);
    }

    #[test]
    fn what_does_not_belong_together_is_refused_and_named() {
        let check = |spoil: &dyn Fn(&mut Part), expected: &str| {
            let mut other = part(&[1], 3);
            spoil(&mut other);
            let message = merge(vec![part(&[0], 3), other], false)
                .unwrap_err()
                .to_string();
            assert!(message.contains(expected), "{message}");
        };
        let text = |t: &str| Attribute::Text(t.into());
        check(
            &|p| p.trace.attributes[0].1 = text("other"),
            "model or data",
        );
        check(
            &|p| p.trace.attributes[1].1 = text("{\"tune\":6}"),
            "setting `tune`",
        );
        check(&|p| drop(p.trace.groups.pop()), "group `posterior`");
        check(
            &|p| drop(p.trace.groups[0].variables.pop()),
            "variable `n_steps`",
        );
        let zero = Labels::Integers(vec![0]);
        check(
            &|p| drop(p.trace.coords.insert("chain".into(), zero.clone())),
            "chain 0 is in",
        );
        assert!(merge(Vec::new(), false).is_err());
    }
}
