//! Traces of one run that was spread over several tasks, put together along `chain`.

use super::parts::{Along, is_draws, join, slice};
use super::{Attribute, Group, Labels, Trace, Variable};
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

/// What is done with parts that have not the same number of draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unequal {
    /// They are an error.
    Refused,
    /// All are cut to the shortest.
    Cut,
}

/// Concatenates traces along `chain`, in the order of their chain numbers.
///
/// Model, data, version, seed and settings must agree, but for the range of chains; variables, dims and
/// labels too. Gradients add up; times are those of the slowest part, for parts run side by side.
///
/// # Errors
/// There is nothing to merge, or two parts do not belong together; the message names both and what differs.
pub fn merge(parts: Vec<Part>, unequal: Unequal) -> Result<Trace> {
    let mut parts = parts;
    let first_chain = |part: &Part| chains(&part.trace).first().copied().unwrap_or(0);
    parts.sort_by_key(first_chain);
    let Some((first, others)) = parts.split_first() else {
        return Err(Error::new(ErrorKind::Data, "there is no trace to merge"));
    };
    for part in others {
        same_run(first, part)?;
    }
    distinct_chains(&parts)?;
    let mut groups = Vec::with_capacity(first.trace.groups.len());
    for group in &first.trace.groups {
        groups.push(merge_group(group, &parts, unequal)?);
    }
    let mut coords = first.trace.coords.clone();
    let all = parts.iter().flat_map(|p| chains(&p.trace)).collect();
    coords.insert("chain".into(), Labels::Integers(all));
    let mut merged = Trace {
        groups,
        coords,
        attributes: first.trace.attributes.clone(),
    };
    let n_draws = draws_group(&merged).map_or(0, |name| merged.n_draws(&name));
    let draws = (0..n_draws as i64).collect();
    merged.coords.insert("draw".into(), Labels::Integers(draws));
    join_attributes(&mut merged, &parts);
    Ok(merged)
}

/// The chain numbers of a trace.
fn chains(trace: &Trace) -> Vec<i64> {
    match trace.coords.get("chain") {
        Some(Labels::Integers(chains)) => chains.clone(),
        _ => Vec::new(),
    }
}

/// The first group of draws that are not of the warm-up.
fn draws_group(trace: &Trace) -> Option<String> {
    let is_one = |g: &&Group| !g.name.starts_with("warmup") && g.variables.iter().any(is_draws);
    trace.groups.iter().find(is_one).map(|g| g.name.clone())
}

/// The chains of all parts in one group; what is no draws is that of the first.
fn merge_group(group: &Group, parts: &[Part], unequal: Unequal) -> Result<Group> {
    let first = &parts[0];
    let mut of_parts = Vec::with_capacity(parts.len());
    for part in parts {
        let found = part.trace.group(&group.name);
        of_parts
            .push(found.ok_or_else(|| differ(first, part, &format!("group `{}`", group.name)))?);
    }
    let n_draws = common_length(group, parts, unequal)?;
    let mut merged = group.clone();
    for variable in merged.variables.iter_mut().filter(|v| is_draws(v)) {
        let mut cut = Vec::with_capacity(parts.len());
        for (group_of, part) in of_parts.iter().zip(parts) {
            let same = |v: &&Variable| {
                let kind = std::mem::discriminant(&v.values);
                v.dims == variable.dims
                    && v.shape[2..] == variable.shape[2..]
                    && kind == std::mem::discriminant(&variable.values)
            };
            let found = group_of.variable(&variable.name).filter(same);
            let what = format!("variable `{}` of group `{}`", variable.name, group.name);
            cut.push(slice(
                found.ok_or_else(|| differ(first, part, &what))?,
                0..n_draws,
            ));
        }
        *variable = join(&cut.iter().collect::<Vec<_>>(), Along::Chains);
    }
    Ok(merged)
}

/// Draws per chain that every part has.
fn common_length(group: &Group, parts: &[Part], unequal: Unequal) -> Result<usize> {
    let lengths = || parts.iter().map(|p| p.trace.n_draws(&group.name));
    let (least, most) = (lengths().min().unwrap_or(0), lengths().max().unwrap_or(0));
    if least != most && unequal == Unequal::Refused {
        let at = lengths().position(|n| n == least).unwrap_or(0);
        let message = format!(
            "{} has {least} draws and others have {most}: let it finish, or cut all to the shortest",
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

/// Gradients add up, times are the longest; settings tell of all chains.
fn join_attributes(merged: &mut Trace, parts: &[Part]) {
    let of_parts = |key: &str| {
        let each = parts.iter().filter_map(|p| attribute(&p.trace, key));
        each.cloned().collect::<Vec<_>>()
    };
    let n_chains: usize = parts.iter().map(|p| chains(&p.trace).len()).sum();
    let first = chains(merged).first().copied().unwrap_or(0);
    for (key, value) in &mut merged.attributes {
        match (key.as_str(), &mut *value) {
            ("fitzroy_gradients" | "fitzroy_interrupted", Attribute::Integer(all)) => {
                let number = |a: &Attribute| if let Attribute::Integer(n) = a { *n } else { 0 };
                let each = of_parts(key);
                *all = match key == "fitzroy_gradients" {
                    true => each.iter().map(number).sum(),
                    false => each.iter().map(number).max().unwrap_or(0),
                };
            }
            ("warmup_time" | "sampling_time" | "fitzroy_seconds", Attribute::Real(longest)) => {
                let seconds = |a: &Attribute| if let Attribute::Real(s) = a { *s } else { 0.0 };
                *longest = of_parts(key).iter().map(seconds).fold(0.0, f64::max);
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
    use super::super::Column;
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
        let merged = merge(vec![part(&[2], 3), part(&[0, 1], 3)], Unequal::Refused).unwrap();
        assert_eq!(merged.groups, whole.groups);
        assert_eq!(merged.coords, whole.coords);
        let gradients = attribute(&merged, "fitzroy_gradients");
        assert_eq!(gradients, Some(&Attribute::Integer(14)));
        assert_eq!(settings(&merged)["chains"], 3);
    }

    #[test]
    fn parts_of_unequal_length_are_cut_when_asked_for() {
        let parts = || vec![part(&[0], 3), part(&[1], 2)];
        let message = merge(parts(), Unequal::Refused).unwrap_err().to_string();
        assert!(message.contains("task of chain 1 has 2 draws"), "{message}");
        let merged = merge(parts(), Unequal::Cut).unwrap();
        let steps = merged.groups[0].variable("n_steps").unwrap();
        assert_eq!(steps.values, Column::Integer(vec![0, 1, 10, 11]));
        assert_eq!(steps.shape, [2, 2]);
    }

    #[test]
    fn what_does_not_belong_together_is_refused_and_named() {
        let check = |spoil: &dyn Fn(&mut Part), expected: &str| {
            let mut other = part(&[1], 3);
            spoil(&mut other);
            let message = merge(vec![part(&[0], 3), other], Unequal::Refused)
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
        assert!(merge(Vec::new(), Unequal::Refused).is_err());
    }
}
