//! Draws cut into parts and put together again.

use super::{Column, Group, Trace, Variable};
use std::ops::Range;

/// Whether the first dimensions of a variable are `chain` and `draw`.
pub(super) fn is_draws(variable: &Variable) -> bool {
    variable.dims.len() >= 2 && variable.dims[..2] == ["chain", "draw"]
}

/// The trace with those of its draws that are in `range` (perhaps none); data stay. Groups of the
/// warm-up are left out, for their draws have another count.
pub(crate) fn draws_from(trace: &Trace, range: Range<usize>) -> Trace {
    let kept = trace
        .groups
        .iter()
        .filter(|g| !g.name.starts_with("warmup_"));
    let cut = |variable: &Variable| match is_draws(variable) {
        false => variable.clone(),
        true => {
            let n = variable.shape[1];
            slice(variable, range.start.min(n)..range.end.min(n))
        }
    };
    let groups = kept.map(|group| Group {
        name: group.name.clone(),
        variables: group.variables.iter().map(cut).collect(),
        attributes: group.attributes.clone(),
    });
    let mut coords = trace.coords.clone();
    coords.remove("draw");
    Trace {
        groups: groups.collect(),
        coords,
        attributes: trace.attributes.clone(),
    }
}

/// Some draws of a variable.
pub(super) fn slice(variable: &Variable, draws: Range<usize>) -> Variable {
    let (n_chains, n, elements) = (variable.shape[0], variable.shape[1], variable.elements());
    let rows =
        (0..n_chains).map(|c| (c * n + draws.start) * elements..(c * n + draws.end) * elements);
    fn pick<T: Copy>(values: &[T], rows: impl Iterator<Item = Range<usize>>) -> Vec<T> {
        rows.flat_map(|row| values[row].iter().copied()).collect()
    }
    let mut shape = variable.shape.clone();
    shape[1] = draws.len();
    Variable {
        name: variable.name.clone(),
        dims: variable.dims.clone(),
        shape,
        values: match &variable.values {
            Column::Real(v) => Column::Real(pick(v, rows)),
            Column::Integer(v) => Column::Integer(pick(v, rows)),
            Column::Flag(v) => Column::Flag(pick(v, rows)),
        },
    }
}

/// Groups of draws one after the other; order, names and attributes are those of the last part.
/// Every part must have the variables of the last, in the same sizes.
pub(crate) fn join_draws(parts: &[&[Group]]) -> Vec<Group> {
    let Some((last, _)) = parts.split_last() else {
        return Vec::new();
    };
    let group = |model: &Group| {
        let variable = |model_variable: &Variable| {
            let own = parts.iter().map(|groups| {
                let group = groups.iter().find(|g| g.name == model.name);
                let found = group.and_then(|g| g.variable(&model_variable.name));
                found.expect("every part has the variables of the last")
            });
            join(&own.collect::<Vec<_>>(), Along::Draws)
        };
        Group {
            name: model.name.clone(),
            variables: model.variables.iter().map(variable).collect(),
            attributes: model.attributes.clone(),
        }
    };
    last.iter().map(group).collect()
}

/// What the parts of a variable are cut into.
#[derive(Clone, Copy)]
pub(super) enum Along {
    /// Some of the chains each.
    Chains,
    /// Some of the draws of every chain each.
    Draws,
}

/// Parts of one variable, which all have its type, one after the other.
pub(super) fn join(parts: &[&Variable], along: Along) -> Variable {
    let model = parts[parts.len() - 1];
    let (axis, n_blocks) = match along {
        Along::Chains => (0, 1),
        Along::Draws => (1, model.shape[0]),
    };
    let mut shape = model.shape.clone();
    shape[axis] = parts.iter().map(|v| v.shape[axis]).sum();
    /// Block by block what `pick` finds in each part.
    fn all<'a, T: Copy + 'a>(
        parts: &[&'a Variable],
        n_blocks: usize,
        pick: impl Fn(&'a Column) -> Option<&'a [T]>,
    ) -> Vec<T> {
        let mut out = Vec::new();
        for block in 0..n_blocks {
            for part in parts {
                let values = pick(&part.values).expect("a variable keeps its type");
                let n = values.len() / n_blocks;
                out.extend_from_slice(&values[block * n..(block + 1) * n]);
            }
        }
        out
    }
    let values = match &model.values {
        Column::Real(_) => Column::Real(all(parts, n_blocks, |c| match c {
            Column::Real(v) => Some(v.as_slice()),
            _ => None,
        })),
        Column::Integer(_) => Column::Integer(all(parts, n_blocks, |c| match c {
            Column::Integer(v) => Some(v.as_slice()),
            _ => None,
        })),
        Column::Flag(_) => Column::Flag(all(parts, n_blocks, |c| match c {
            Column::Flag(v) => Some(v.as_slice()),
            _ => None,
        })),
    };
    Variable {
        name: model.name.clone(),
        dims: model.dims.clone(),
        shape,
        values,
    }
}

impl Trace {
    /// Draws per chain of a group; 0 where there is none.
    pub fn n_draws(&self, group: &str) -> usize {
        let variables = self.group(group).map(|g| &g.variables);
        let first = variables.and_then(|v| v.iter().find(|v| is_draws(v)));
        first.map_or(0, |v| v.shape[1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_put_together_are_the_whole_again() {
        let variable = |name: &str, values: Column| Variable {
            name: name.into(),
            dims: ["chain", "draw", "k"].map(String::from).to_vec(),
            shape: vec![2, 5, 3],
            values,
        };
        let group = Group {
            name: "posterior".into(),
            variables: vec![
                variable("x", Column::Real((0..30).map(f64::from).collect())),
                variable("i", Column::Integer((0..30).collect())),
                variable("f", Column::Flag((0..30).map(|i| i % 7 == 0).collect())),
            ],
            attributes: Vec::new(),
        };
        let whole = Trace {
            groups: vec![group],
            ..Trace::default()
        };
        let tail = draws_from(&whole, 3..5);
        assert_eq!(tail.n_draws("posterior"), 2);
        let head = |v: &Variable| slice(v, 0..3);
        let head = Group {
            name: "posterior".into(),
            variables: whole.groups[0].variables.iter().map(head).collect(),
            attributes: Vec::new(),
        };
        assert_eq!(join_draws(&[&[head], &tail.groups]), whole.groups);
        assert_eq!(draws_from(&whole, 5..9).n_draws("posterior"), 0);
    }
}
