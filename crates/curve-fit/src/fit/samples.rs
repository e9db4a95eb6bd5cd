//! What some of the rows tell of a step on all of them, so that a whole read is saved.

use super::problem::Problem;
use crate::formula::Newton;
use crate::method::dense::inverse;
use crate::method::{Moments, Objective};
use fitzroy::Result;

/// Longest bend of a step, as a part of the step: beyond, the next read will tell.
const MOST_BENT: f64 = 0.25;
/// A step is the last one where its doubt is this part of a standard error, by a far smaller sample than
/// the one it rests on.
const SURE: f64 = 1e-3;

/// A step of Gauss and Newton, or of Newton.
pub(super) struct Step {
    by: Vec<f64>,
    /// The matrix of the step, and its inverse.
    matrix: Vec<f64>,
    inverse: Vec<f64>,
    /// √A_kk: lengths are in these units.
    scale: Vec<f64>,
    /// Rows that the inverse is of.
    n_rows: usize,
    pub(super) length: f64,
    /// Length of the parameters themselves.
    pub(super) size: f64,
    /// True once a bend was added.
    bent: bool,
}

impl Step {
    /// The step from `theta`, of whose sums over `n_rows` rows `here` tells; `rest` is what Newton's
    /// matrix has beside the normal one. None where parameters cannot be told apart.
    pub(super) fn new(here: &Moments, rest: &[f64], n_rows: usize, theta: &[f64]) -> Option<Step> {
        let p = theta.len();
        let matrix: Vec<f64> = here.normal.iter().zip(rest).map(|(a, b)| a + b).collect();
        let inverse = inverse(&matrix, p)?;
        let mut step = Step {
            by: times(&inverse, &here.gradient, -1.0),
            matrix,
            scale: (0..p).map(|k| here.normal[k * p + k].sqrt()).collect(),
            inverse,
            n_rows,
            length: 0.0,
            size: 0.0,
            bent: false,
        };
        step.length = step.long(&step.by);
        step.size = step.long(theta);
        Some(step)
    }

    fn long(&self, v: &[f64]) -> f64 {
        let scaled = v.iter().zip(&self.scale).map(|(x, d)| (d * x) * (d * x));
        scaled.sum::<f64>().sqrt()
    }

    /// Adds half the second derivative along the step, by the rows of `sample`, where it is known, and
    /// short beside the step.
    fn bend(&mut self, sample: &mut Problem<'_>, theta: &[f64]) -> Result<()> {
        let mut bent = vec![0.0; theta.len()];
        if sample.bend_here(theta, &self.by, &mut bent)? {
            let half = times(&self.inverse, &bent, -0.5 * self.share(sample));
            if self.long(&half) < MOST_BENT * self.length {
                self.add(&half);
            }
        }
        Ok(())
    }

    fn add(&mut self, more: &[f64]) {
        self.by.iter_mut().zip(more).for_each(|(x, a)| *x += a);
        self.bent = true;
    }

    /// How many rows stand for one of `sample`.
    fn share(&self, sample: &Problem<'_>) -> f64 {
        self.n_rows as f64 / sample.reader.table.n_rows() as f64
    }

    /// Takes the step: `here` gets the cost that is expected there.
    pub(super) fn take(&self, theta: &mut [f64], here: &mut Moments) {
        let p = theta.len();
        let mut change = 0.0;
        for (k, s) in self.by.iter().enumerate() {
            let row = self.matrix[k * p..][..p].iter().zip(&self.by);
            let curved: f64 = row.map(|(a, s)| a * s).sum();
            change += s * (here.gradient[k] + 0.5 * curved);
        }
        here.cost = (here.cost + change).max(0.0);
        theta.iter_mut().zip(&self.by).for_each(|(x, s)| *x += s);
    }
}

/// Some of the rows: what a step on all of them leaves is told by these, and a whole read is saved.
pub(super) struct Samples<'s, 'f, 'p> {
    /// The subsample.
    pub(super) few: &'f mut Problem<'s>,
    /// More rows, of large tables.
    pub(super) part: Option<Problem<'p>>,
}

impl Samples<'_, '_, '_> {
    /// A step on a part of the rows: the next, on all of them, is then short.
    pub(super) fn approach(&mut self, theta: &mut [f64], here: &mut Moments) -> Result<()> {
        let Some(part) = &mut self.part else {
            return Ok(());
        };
        part.moments(theta, here)?;
        let n_rows = part.reader.table.n_rows();
        let none = vec![0.0; theta.len() * theta.len()];
        let step = Step::new(here, &none, n_rows, theta);
        if let Some(mut step) = step.filter(|_| here.is_finite()) {
            step.bend(self.few, theta)?;
            step.take(theta, here);
        }
        Ok(())
    }

    /// Where the cost of all rows is least, if that of a part of them differs from its quadratic model as
    /// that of all does: two Newton steps on that sum, of which only the part is read again. `here` gets
    /// its sums there. None where the subsample, which is smaller, does not say nearly the same.
    pub(super) fn settle(
        &mut self,
        newton: &Newton,
        theta: &[f64],
        step: &mut Step,
        here: &mut Moments,
    ) -> Result<Option<Vec<f64>>> {
        let Some(part) = &mut self.part else {
            return Ok(None);
        };
        let mut by_part = Remainder::new(part, newton, theta, step)?;
        let mut by_few = Remainder::new(self.few, newton, theta, step)?;
        let bend = times(&step.inverse, by_part.gradient(&step.by)?, -1.0);
        let other = times(&step.inverse, by_few.gradient(&step.by)?, -1.0);
        let apart: Vec<f64> = bend.iter().zip(&other).map(|(a, b)| a - b).collect();
        step.add(&bend);
        // In units of the step a standard error is as long as the spread of the residuals.
        let spread = (2.0 * here.cost / step.n_rows as f64).sqrt();
        if !(step.long(&apart) <= SURE * spread) {
            return Ok(None);
        }
        let mut end = theta.to_vec();
        // What the step leaves of the gradient, and the cost there.
        let left: Vec<f64> = {
            let model = times(&step.matrix, &step.by, 1.0);
            let more = by_part.gradient(&step.by)?;
            let all = here.gradient.iter().zip(&model).zip(more);
            all.map(|((g, a), b)| g + a + b).collect()
        };
        step.take(&mut end, here);
        by_part.correct(&step.by, here);
        let rest = times(&step.inverse, &left, -1.0);
        end.iter_mut().zip(rest).for_each(|(x, s)| *x += s);
        Ok(Some(end))
    }

    /// Bends `step` unless that was done.
    pub(super) fn bend(&mut self, theta: &[f64], step: &mut Step) -> Result<()> {
        match step.bent {
            true => Ok(()),
            false => step.bend(self.few, theta),
        }
    }
}

/// What the sums of some rows have beside their quadratic model, times the rows that one stands for.
struct Remainder<'r, 'p> {
    rows: &'r mut Problem<'p>,
    theta: Vec<f64>,
    share: f64,
    old: Moments,
    new: Moments,
    /// Newton's matrix.
    matrix: Vec<f64>,
    left: Vec<f64>,
}

impl<'r, 'p> Remainder<'r, 'p> {
    /// The model at `theta`.
    fn new(rows: &'r mut Problem<'p>, newton: &Newton, theta: &[f64], step: &Step) -> Result<Self> {
        let p = theta.len();
        let (mut old, mut matrix) = (Moments::new(p), vec![0.0; p * p]);
        rows.newton(newton, theta, &mut old, &mut matrix)?;
        matrix
            .iter_mut()
            .zip(&old.normal)
            .for_each(|(s, a)| *s += a);
        Ok(Remainder {
            share: step.share(rows),
            theta: theta.to_vec(),
            new: Moments::new(p),
            left: vec![0.0; p],
            rows,
            old,
            matrix,
        })
    }

    /// What the gradient has beside the model after `step`.
    fn gradient(&mut self, step: &[f64]) -> Result<&[f64]> {
        let there: Vec<f64> = self.theta.iter().zip(step).map(|(x, s)| x + s).collect();
        self.rows.moments(&there, &mut self.new)?;
        let model = times(&self.matrix, step, 1.0);
        let gradients = self.new.gradient.iter().zip(&self.old.gradient);
        for ((to, (new, old)), model) in self.left.iter_mut().zip(gradients).zip(model) {
            *to = self.share * (new - old - model);
        }
        Ok(&self.left)
    }

    /// Adds to the sums of all rows where `step` began what these have changed, to the cost what they have
    /// beside the model; they were last looked at where the step ends.
    fn correct(&self, step: &[f64], here: &mut Moments) {
        let moved = self.new.normal.iter().zip(&self.old.normal);
        for (to, (new, old)) in here.normal.iter_mut().zip(moved) {
            *to += self.share * (new - old);
        }
        let curved = times(&self.matrix, step, 0.5);
        let slope = self.old.gradient.iter().zip(&curved).map(|(g, a)| g + a);
        let model: f64 = slope.zip(step).map(|(g, s)| g * s).sum();
        here.cost += self.share * (self.new.cost - self.old.cost - model);
    }
}

/// f A v.
fn times(a: &[f64], v: &[f64], f: f64) -> Vec<f64> {
    let row = |row: &[f64]| f * row.iter().zip(v).map(|(a, b)| a * b).sum::<f64>();
    a.chunks(v.len()).map(row).collect()
}
