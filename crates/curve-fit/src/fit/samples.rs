//! What some of the rows tell of a step on all of them, so that a whole read is saved.

use super::problem::Problem;
use crate::formula::Newton;
use crate::method::dense::inverse;
use crate::method::optimality::PROMISED;
use crate::method::{Minimum, Moments, Objective, Status};
use crate::pass::Stretches;
use fitzroy::Result;

/// Longest bend of a step, as a part of the step: beyond, the next read will tell.
const MOST_BENT: f64 = 0.25;
/// A step is the last one where its doubt is this part of a standard error, by a far smaller sample than
/// the one it rests on.
const SURE: f64 = 1e-3;
/// Times that the square of a step may be more than what is expected of it.
const FAR: f64 = 4.0;

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

/// Near the minimum of a sample: one step from where every so many of its rows led, `share`, which is
/// where those differ from all. None where the step is longer than that explains, or bends.
pub(super) fn near(few: &mut Problem<'_>, from: &[f64], share: usize) -> Result<Option<Minimum>> {
    let (p, n_rows) = (from.len(), few.reader.table.n_rows());
    let (mut here, none) = (Moments::new(p), vec![0.0; p * p]);
    few.moments(from, &mut here)?;
    let step = Step::new(&here, &none, n_rows, from).filter(|_| here.is_finite());
    // Standard errors that it is long, squared: as many as parameters, times the share.
    let usual = FAR * (share * p) as f64 * (2.0 * here.cost / n_rows as f64);
    let long = |step: &Step| {
        let slopes = here.gradient.iter().zip(&step.by);
        -slopes.map(|(g, s)| g * s).sum::<f64>()
    };
    let Some(mut step) = step.filter(|step| long(step) <= usual) else {
        return Ok(None);
    };
    step.bend(few, from)?;
    let mut theta = from.to_vec();
    step.take(&mut theta, &mut here);
    Ok(step.bent.then_some(Minimum {
        theta,
        moments: here,
        status: Status::SmallStep,
        evaluations: 1,
        last_fall: 0.0,
    }))
}

/// Some of the rows: what a step on all of them leaves is told by these, and a whole read is saved.
pub(super) struct Samples<'s, 'f, 'p> {
    /// The subsample.
    pub(super) few: &'f mut Problem<'s>,
    /// More rows, of large tables.
    pub(super) part: Option<Part<'p>>,
}

/// A part of the rows, in stretches of whole tiles.
pub(super) struct Part<'p> {
    pub(super) problem: Problem<'p>,
    pub(super) rows: &'p Stretches<'p>,
    /// Whether the pass over all rows has told the sums of these.
    pub(super) told: bool,
}

impl Samples<'_, '_, '_> {
    /// A step on a part of the rows: the next, on all of them, is then short.
    pub(super) fn approach(&mut self, theta: &mut [f64], here: &mut Moments) -> Result<()> {
        let Some(Part { problem, .. }) = &mut self.part else {
            return Ok(());
        };
        problem.moments(theta, here)?;
        let n_rows = problem.reader.table.n_rows();
        let none = vec![0.0; theta.len() * theta.len()];
        let step = Step::new(here, &none, n_rows, theta);
        if let Some(mut step) = step.filter(|_| here.is_finite()) {
            step.bend(self.few, theta)?;
            step.take(theta, here);
        }
        Ok(())
    }

    /// A pass over all rows, and over the part on the way.
    pub(super) fn all(
        &mut self,
        all: &mut Problem<'_>,
        newton: &Newton,
        theta: &[f64],
        (here, rest): (&mut Moments, &mut [f64]),
    ) -> Result<()> {
        let Some(part) = &mut self.part else {
            return all.newton(newton, theta, here, rest);
        };
        let both = (&mut part.problem, part.rows);
        part.told = all.newton_and_part(newton, theta, (here, rest), both)?;
        Ok(())
    }

    /// Where the cost of all rows is least, if that of a part of them differs from its quadratic model as
    /// that of all does: two Newton steps on that sum. After the first the part is read again; what the
    /// second sees beyond that is of third order, and the subsample tells it. `here` gets the sums there.
    /// None where the subsample, which is smaller, does not say nearly the same of the first.
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
        let mut by_part = Model::new(&mut part.problem, newton, theta, step, part.told)?;
        let mut by_few = Model::new(self.few, newton, theta, step, false)?;
        let (mut beyond, seen) = (by_part.beyond(&step.by)?, by_few.beyond(&step.by)?);
        let bend = times(&step.inverse, &beyond.gradient, -1.0);
        let other = times(&step.inverse, &seen.gradient, -1.0);
        let apart: Vec<f64> = bend.iter().zip(&other).map(|(a, b)| a - b).collect();
        step.add(&bend);
        // In units of the step a standard error is as long as the spread of the residuals.
        let spread = (2.0 * here.cost / step.n_rows as f64).sqrt();
        if !(step.long(&apart) <= SURE * spread) {
            return Ok(None);
        }
        add(&mut beyond, &by_few.beyond(&step.by)?, 1.0);
        add(&mut beyond, &seen, -1.0);
        let mut end = theta.to_vec();
        // What the step leaves of the gradient, and the cost there.
        let model = times(&step.matrix, &step.by, 1.0);
        let all = here.gradient.iter().zip(&model).zip(&beyond.gradient);
        let left: Vec<f64> = all.map(|((g, a), b)| g + a + b).collect();
        let rest = times(&step.inverse, &left, -1.0);
        // First-order conditions, as of any other fit; else all rows are read again.
        let promised: f64 = left.iter().zip(&rest).map(|(g, s)| -0.5 * g * s).sum();
        if !(promised <= PROMISED * here.cost) {
            return Ok(None);
        }
        step.take(&mut end, here);
        here.cost += beyond.cost;
        let normal = here.normal.iter_mut().zip(&beyond.normal);
        normal.for_each(|(to, more)| *to += more);
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

/// The quadratic model of the cost of some rows.
struct Model<'r, 'p> {
    rows: &'r mut Problem<'p>,
    theta: Vec<f64>,
    /// Rows that one of these stands for.
    share: f64,
    here: Moments,
    /// Newton's matrix.
    matrix: Vec<f64>,
}

impl<'r, 'p> Model<'r, 'p> {
    /// The model at `theta`; `told` where the last pass of `rows` was there.
    fn new(
        rows: &'r mut Problem<'p>,
        newton: &Newton,
        theta: &[f64],
        step: &Step,
        told: bool,
    ) -> Result<Self> {
        let p = theta.len();
        let (mut here, mut matrix) = (Moments::new(p), vec![0.0; p * p]);
        match told {
            true => rows.told(newton, &mut here, &mut matrix),
            false => rows.newton(newton, theta, &mut here, &mut matrix)?,
        }
        let normal = matrix.iter_mut().zip(&here.normal);
        normal.for_each(|(s, a)| *s += a);
        Ok(Model {
            share: step.share(rows),
            theta: theta.to_vec(),
            rows,
            here,
            matrix,
        })
    }

    /// What the sums of all rows have after `step` beside the model: cost and gradient, and what the
    /// normal matrix has changed by.
    fn beyond(&mut self, step: &[f64]) -> Result<Moments> {
        let there: Vec<f64> = self.theta.iter().zip(step).map(|(x, s)| x + s).collect();
        let mut new = Moments::new(step.len());
        self.rows.moments(&there, &mut new)?;
        let (model, old) = (times(&self.matrix, step, 1.0), &self.here);
        let slope = old.gradient.iter().zip(&model).map(|(g, a)| g + 0.5 * a);
        let fall: f64 = slope.zip(step).map(|(g, s)| g * s).sum();
        new.cost = self.share * (new.cost - old.cost - fall);
        let before = old.gradient.iter().zip(model);
        for (to, (old, model)) in new.gradient.iter_mut().zip(before) {
            *to = self.share * (*to - old - model);
        }
        for (to, old) in new.normal.iter_mut().zip(&old.normal) {
            *to = self.share * (*to - old);
        }
        Ok(new)
    }
}

/// Adds `f` times `more`.
fn add(to: &mut Moments, more: &Moments, f: f64) {
    to.cost += f * more.cost;
    let gradient = to.gradient.iter_mut().zip(&more.gradient);
    let normal = to.normal.iter_mut().zip(&more.normal);
    gradient
        .chain(normal)
        .for_each(|(to, more)| *to += f * more);
}

/// f A v.
fn times(a: &[f64], v: &[f64], f: f64) -> Vec<f64> {
    let row = |row: &[f64]| f * row.iter().zip(v).map(|(a, b)| a * b).sum::<f64>();
    a.chunks(v.len()).map(row).collect()
}
