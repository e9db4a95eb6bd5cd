//! Terms of one kind, and the columns that are tried for them.

use super::Search;
use super::trials::Values;
use super::waves::put;
use crate::fit::ranges::spread;
use fitzroy::Result;

/// Terms of one kind, with what was tried for them.
pub(super) struct Kind {
    pub(super) terms: Vec<usize>,
    pub(super) atoms: Vec<Atom>,
    pub(super) has_places: bool,
}

/// Values of the parameters of a term that are not linear, in its order, and the columns there.
pub(super) struct Atom {
    pub(super) beta: Vec<f64>,
    pub(super) columns: Vec<Vec<f64>>,
}

/// The cosine of columns above which two atoms lead to the same minimum, most likely.
const SAME: f64 = 0.9;

impl Atom {
    /// Whether every column of this is nearly a multiple of that of `other`.
    pub(super) fn resembles(&self, other: &Atom) -> bool {
        let cosine = |(a, b): (&Vec<f64>, &Vec<f64>)| {
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            dot(a, b).abs() / (dot(a, a) * dot(b, b)).sqrt()
        };
        let mut both = self.columns.iter().zip(&other.columns);
        both.all(|pair| cosine(pair) > SAME)
    }
}

impl Search<'_> {
    /// Terms by kind, with dictionaries.
    pub(super) fn kinds(&self, theta: &[f64]) -> Result<Vec<Kind>> {
        let mut kinds: Vec<Kind> = Vec::new();
        for (t, term) in self.structure.terms.iter().enumerate() {
            let mut same = None;
            for (at, kind) in kinds.iter().enumerate() {
                if self.alike(kind.terms[0], t, theta)? {
                    same = Some(at);
                    break;
                }
            }
            match same {
                Some(at) => kinds[at].terms.push(t),
                None => kinds.push(Kind {
                    terms: vec![t],
                    atoms: Vec::new(),
                    has_places: !term.places.is_empty() || term.waves.is_some(),
                }),
            }
        }
        for kind in &mut kinds {
            if self.structure.terms[kind.terms[0]].waves.is_none() {
                kind.atoms = self.atoms(&kind.terms, theta)?;
            }
        }
        Ok(kinds)
    }

    /// Whether two terms have the same columns at the same values, of the same range.
    fn alike(&self, a: usize, b: usize, theta: &[f64]) -> Result<bool> {
        let (one, other) = (&self.structure.terms[a], &self.structure.terms[b]);
        let both = || one.nonlinear.iter().zip(&other.nonlinear);
        let bounds = &self.plan.bounds;
        let shape = one.columns.len() == other.columns.len()
            && one.nonlinear.len() == other.nonlinear.len()
            && both().all(|(&j, &k)| !self.given[j] && !self.given[k])
            && both().all(|(&j, &k)| {
                bounds.lower[j] == bounds.lower[k] && bounds.upper[j] == bounds.upper[k]
            })
            && one.waves.is_some() == other.waves.is_some();
        if !shape {
            return Ok(false);
        }
        for u in [0.37, 0.61] {
            let mut at = theta.to_vec();
            for (&j, &k) in both() {
                let x = spread(self.ranges[j], u);
                (at[j], at[k]) = (x, x);
            }
            let (columns, _) = self.rows.columns(self.structure, &at)?;
            let pairs = one.columns.iter().zip(&other.columns);
            if pairs.into_iter().any(|(&j, &k)| columns[j] != columns[k]) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The dictionary of `terms`, which are of one kind: as many values at once as there are terms.
    fn atoms(&self, terms: &[usize], theta: &[f64]) -> Result<Vec<Atom>> {
        let first = &self.structure.terms[terms[0]];
        let trials = self.trials(first);
        let mut failed = Ok(());
        let mut width = |values: &Values| {
            let mut at = theta.to_vec();
            put(&mut at, values);
            match self.rows.columns(self.structure, &at) {
                Ok((columns, _)) => covered(&columns[first.columns[0]]),
                Err(e) => {
                    failed = Err(e);
                    1.0
                }
            }
        };
        let all = trials.all(&self.rows, &mut width);
        failed?;
        let mut atoms = Vec::with_capacity(all.len());
        for some in all.chunks(terms.len()) {
            let mut at = theta.to_vec();
            for (&t, values) in terms.iter().zip(some) {
                let own = &self.structure.terms[t].nonlinear;
                for (k, x) in values {
                    let place = first.nonlinear.iter().position(|f| f == k);
                    let k = own[place.expect("a parameter of the term")];
                    at[k] = self.plan.bounds.clip(k, *x);
                }
            }
            let (columns, _) = self.rows.columns(self.structure, &at)?;
            for (&t, _) in terms.iter().zip(some) {
                let term = &self.structure.terms[t];
                let own: Vec<Vec<f64>> = term.columns.iter().map(|&k| columns[k].clone()).collect();
                if own.iter().flatten().all(|x| x.is_finite()) {
                    atoms.push(Atom {
                        beta: term.nonlinear.iter().map(|&k| at[k]).collect(),
                        columns: own,
                    });
                }
            }
        }
        Ok(atoms)
    }
}

/// Which part of the rows a column covers: (Σφ²)²/(n Σφ⁴).
fn covered(column: &[f64]) -> f64 {
    let squares: f64 = column.iter().map(|x| x * x).sum();
    let fourths: f64 = column.iter().map(|x| x.powi(4)).sum();
    let part = squares * squares / (column.len() as f64 * fourths);
    if part.is_finite() {
        part
    } else {
        1.0 / column.len() as f64
    }
}
