//! Correlations of what is particular to subjects: the statements of a model, and factors of known
//! matrices for the simulator.

use crate::config::{finite, only, wrong};
use crate::params::{Kind, Parameter};
use fitzroy::Result;
use fitzroy::draws::Trace;
use serde_json::Value;
use std::fmt::Write;

/// Positions of the parameters of a model in the order in which each is conditioned on those before:
/// what subjects say little about comes last.
///
/// The prior of the matrix is the same in any order. Effects that are well known are sampled in
/// coordinates that the data choose, given those before; they must not wait for what is hardly known.
fn order(kind: Kind) -> Vec<usize> {
    let all = kind.parameters();
    let mut places: Vec<usize> = (0..all.len()).collect();
    places.sort_by_key(|&k| all[k].weak);
    places
}

/// Whether a trace has correlations of the effects of subjects.
pub(crate) fn is_recorded(kind: Kind, trace: &Trace) -> bool {
    let all = kind.parameters();
    let names = pairs(kind)
        .into_iter()
        .map(|(i, j)| name_of(&all[i], &all[j]));
    let posterior = trace.group("posterior");
    posterior.is_some_and(|p| names.into_iter().any(|name| p.variable(&name).is_some()))
}

/// The effects of subjects, one conditioned on another.
///
/// With L the factor of the correlation matrix, and u independent and standard normal, the effect of
/// parameter k is sigma_k (Σ L\[k, j\] u_j + L\[k, k\] u_k), the sum over those before. So it is normal given
/// them, one by one, and has coordinates as it would have alone.
#[derive(Clone, Debug)]
pub(crate) struct Conditional {
    kind: Kind,
    /// Expressions of u of those before.
    before: Vec<String>,
    /// Parameters whose spread is a signed number.
    signed: Vec<&'static str>,
}

impl Conditional {
    /// The statements that come first: the matrix, LKJ(`eta`).
    pub(crate) fn new(out: &mut String, kind: Kind, eta: f64) -> Self {
        let n = kind.parameters().len();
        let _ = writeln!(
            out,
            "dim effect = {n}\n_correlation[effect, effect] ~ LKJCorr({eta})\n\
             let factor = cholesky(_correlation)\n"
        );
        Conditional {
            kind,
            before: Vec::new(),
            signed: Vec::new(),
        }
    }

    /// Parameters with what belongs to each, in the order in which they are to be stated.
    pub(crate) fn ordered<T: Copy>(kind: Kind, all: &[T]) -> Vec<T> {
        order(kind).into_iter().map(|k| all[k]).collect()
    }

    /// Mean and standard deviation of an effect given those before, `mean` and `spread` without them;
    /// `_given_NAME` is stated for the former.
    pub(crate) fn given(
        &self,
        out: &mut String,
        name: &str,
        mean: &str,
        spread: &str,
    ) -> [String; 2] {
        let k = self.before.len();
        if k == 0 {
            return [mean.into(), spread.into()];
        }
        let each = self.before.iter().enumerate();
        let each: Vec<String> = each
            .map(|(j, u)| format!("factor[{k}, {j}] * {u}"))
            .collect();
        let _ = writeln!(
            out,
            "let _given_{name} = {mean} + {spread} * ({})",
            each.join(" + ")
        );
        [
            format!("_given_{name}"),
            format!("{spread} * factor[{k}, {k}]"),
        ]
    }

    /// An effect is stated, and `u` is its independent part.
    pub(crate) fn push(&mut self, u: String) {
        self.before.push(u);
    }

    /// Likewise where `_signed_NAME` is the spread.
    pub(crate) fn push_signed(&mut self, name: &'static str, u: String) {
        self.push(u);
        self.signed.push(name);
    }

    /// The statements that come last: the correlations by name.
    pub(crate) fn record(&self, out: &mut String) {
        let places = order(self.kind);
        let at = |k: usize| places.iter().position(|p| *p == k).expect("all are there");
        let all = self.kind.parameters();
        for (i, j) in pairs(self.kind) {
            let (left, right) = (&all[i], &all[j]);
            // What is scaled by a signed number has the correlations of its size.
            let signed = [left, right]
                .into_iter()
                .filter(|p| self.signed.contains(&p.name));
            let signs = signed.map(|p| format!(" * where(_signed_{} < 0, -1, 1)", p.name));
            let signs: String = signs.collect();
            let name = name_of(left, right);
            let _ = writeln!(out, "{name} = _correlation[{}, {}]{signs}", at(i), at(j));
        }
        out.push('\n');
    }
}

/// What a correlation is called: `corr_B_t0`.
pub fn name_of(left: &Parameter, right: &Parameter) -> String {
    format!("corr_{}_{}", left.name, right.name)
}

/// Positions of all pairs of parameters, the first before the second.
pub fn pairs(kind: Kind) -> Vec<(usize, usize)> {
    let n = kind.parameters().len();
    (0..n)
        .flat_map(|i| (i + 1..n).map(move |j| (i, j)))
        .collect()
}

/// Known correlations, and the lower factor of their matrix, row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    /// Pairs that are correlated, by position, and how much.
    pub pairs: Vec<(usize, usize, f64)>,
    factor: Vec<Vec<f64>>,
}

impl Known {
    /// From a table of tables: `[correlations.B]` with `t0 = -0.5`.
    ///
    /// # Errors
    /// A name is no parameter, a pair stands there twice, a number is no correlation, or all together
    /// are those of no matrix.
    pub(crate) fn parse(kind: Kind, table: &Value) -> Result<Known> {
        let names = kind.parameter_names();
        only(table, "[correlations]", &names)?;
        let mut found = Vec::new();
        for (i, left) in names.iter().enumerate() {
            let Some(row) = table.get(left) else { continue };
            only(row, &format!("[correlations.{left}]"), &names)?;
            for (j, right) in names.iter().enumerate() {
                let Some(value) = row.get(right) else {
                    continue;
                };
                let what = format!("correlations.{left}.{right}");
                let r = finite(value, &what)?;
                if i == j || !(-1.0 < r && r < 1.0) {
                    return Err(wrong(format!(
                        "{what} is {r}; it must lie between -1 and 1, of two parameters"
                    )));
                }
                let pair = (i.min(j), i.max(j));
                if found.iter().any(|&(a, b, _)| (a, b) == pair) {
                    return Err(wrong(format!("{what} stands there twice, in both orders")));
                }
                found.push((pair.0, pair.1, r));
            }
        }
        let factor = factor(names.len(), &found).ok_or_else(|| {
            let message = "[correlations] are those of no matrix: no numbers correlate so";
            wrong(message.into())
        })?;
        Ok(Known {
            pairs: found,
            factor,
        })
    }

    /// Correlated numbers from independent ones.
    pub(crate) fn apply(&self, z: &[f64]) -> Vec<f64> {
        let row = |row: &Vec<f64>| row.iter().zip(z).map(|(l, z)| l * z).sum();
        self.factor.iter().map(row).collect()
    }
}

/// Cholesky's factor of the matrix with these correlations, if there is one.
fn factor(n: usize, pairs: &[(usize, usize, f64)]) -> Option<Vec<Vec<f64>>> {
    let at = |i: usize, j: usize| match i == j {
        true => 1.0,
        false => {
            let found = pairs.iter().find(|&&(a, b, _)| (a, b) == (j, i));
            found.map_or(0.0, |p| p.2)
        }
    };
    let mut l = vec![vec![0.0; n]; n];
    for i in 0..n {
        for j in 0..=i {
            let known: f64 = (0..j).map(|k| l[i][k] * l[j][k]).sum();
            let rest = at(i, j) - known;
            l[i][j] = match i == j {
                true if rest > 1e-12 => rest.sqrt(),
                true => return None,
                false => rest / l[j][j],
            };
        }
    }
    Some(l)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn known_correlations_are_a_factor_and_what_is_none_is_refused() {
        let of = |table: Value| Known::parse(Kind::Rdex, &table);
        let known = of(json!({"B": {"t0": -0.5, "v_plus": 0.3}})).unwrap();
        let l = &known.factor;
        let product = |i: usize, j: usize| (0..11).map(|k| l[i][k] * l[j][k]).sum::<f64>();
        assert!((product(0, 1) + 0.5).abs() < 1e-15 && (product(2, 0) - 0.3).abs() < 1e-15);
        assert!((product(1, 2)).abs() < 1e-15 && (product(2, 2) - 1.0).abs() < 1e-15);
        let message = |table: Value| of(table).unwrap_err().to_string();
        assert!(message(json!({"b": {}})).contains("has no `b`"));
        assert!(message(json!({"B": {"t0": 1.5}})).contains("correlations.B.t0 is 1.5"));
        assert!(message(json!({"B": {"t0": 0.1}, "t0": {"B": 0.1}})).contains("twice"));
        let three = json!({"B": {"t0": 0.9, "v_plus": 0.9}, "t0": {"v_plus": -0.9}});
        assert!(message(three).contains("no matrix"));
    }
}
