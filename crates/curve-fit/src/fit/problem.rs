//! A curve over data as an objective: one pass gives cost, gradient and normal matrix.

use crate::formula::{Loss, Newton, Programs};
use crate::method::dense::Triangle;
use crate::method::{Moments, Objective, relax};
use crate::pass::{Columns, Reader, Stretches, Table};
use fitzroy::Result;
use fitzroy::rng::{Purpose, Rng};
use fitzroy_device::cpu::{RowProgram, TILE_ROWS};
use std::borrow::Cow;

/// Rows up to which a second pass for the acceleration of a step is cheap.
const CHEAP_ROWS: usize = 20_000;
/// Rows of the progressive start: one tile in each stratum, from it runs of a cache line, evenly.
pub(crate) const STRATA: usize = 256;
const RUNS_OF_TILE: usize = 8;
const ROWS_OF_RUN: usize = 8;

/// A curve over data.
pub(crate) struct Problem<'a> {
    pub(crate) programs: &'a Programs,
    pub(crate) reader: Reader<'a>,
    /// Scale C of the loss.
    pub(crate) scale: f64,
    params: Vec<f64>,
    sums: Vec<f64>,
    /// Passes over all rows of this table.
    pub(crate) reads: usize,
}

impl<'a> Problem<'a> {
    pub(crate) fn new(
        programs: &'a Programs,
        table: &'a dyn Table,
        threads: usize,
        scale: f64,
    ) -> Self {
        Problem {
            reader: Reader::with(table, threads, &programs.slots),
            scale,
            params: vec![0.0; 2 * programs.n_free() + 1],
            sums: vec![0.0; programs.pass.n_sums()],
            reads: 0,
            programs,
        }
    }

    /// Parameters of the programs.
    pub(crate) fn params(&self, theta: &[f64]) -> Vec<f64> {
        let mut params = vec![0.0; self.params.len()];
        params[..theta.len()].copy_from_slice(theta);
        *params.last_mut().expect("the scale") = self.scale;
        params
    }

    /// Sums of products of `program` at `theta`.
    pub(crate) fn sums_of(&mut self, program: &RowProgram, theta: &[f64]) -> Result<Vec<f64>> {
        let mut out = vec![0.0; program.n_sums()];
        let params = self.params(theta);
        // A program of the moment: its workspaces are not kept.
        Reader::new(self.reader.table, self.reader.threads).sums(program, &params, &mut out)?;
        self.reads += 1;
        Ok(out)
    }

    /// The triangle of the outputs of `program`, one of those of the plan, at `theta`, tile by tile.
    pub(crate) fn triangle_of(
        &mut self,
        program: &RowProgram,
        theta: &[f64],
        triangle: &mut Triangle,
    ) -> Result<()> {
        let params = self.params(theta);
        self.reads += 1;
        self.reader.rows_again(program, &params, &mut |_, columns| {
            triangle.add(columns);
            Ok(())
        })
    }

    /// Gets ready for a pass of `program`.
    fn prepare(&mut self, program: &RowProgram, theta: &[f64]) {
        let p = theta.len();
        self.params[..p].copy_from_slice(theta);
        self.params[2 * p] = self.scale;
        self.sums.resize(program.n_sums(), 0.0);
        self.reads += 1;
    }

    /// One pass of `program`, into `self.sums`.
    fn pass(&mut self, program: &RowProgram, theta: &[f64]) -> Result<()> {
        self.prepare(program, theta);
        self.reader.sums(program, &self.params, &mut self.sums)
    }

    /// As [`Objective::moments`], and Σ r ∂²r, which Newton's matrix has beside the normal one.
    pub(crate) fn newton(
        &mut self,
        newton: &Newton,
        theta: &[f64],
        out: &mut Moments,
        rest: &mut [f64],
    ) -> Result<()> {
        self.pass(&newton.program, theta)?;
        self.told(newton, out, rest);
        Ok(())
    }

    /// As [`Problem::newton`], and the same for `part`, which has `some` of the rows; false where a pass of
    /// its own would tell that.
    pub(crate) fn newton_and_part(
        &mut self,
        newton: &Newton,
        theta: &[f64],
        (out, rest): (&mut Moments, &mut [f64]),
        (part, some): (&mut Problem<'_>, &Stretches<'_>),
    ) -> Result<bool> {
        self.prepare(&newton.program, theta);
        part.prepare(&newton.program, theta);
        let sums = [&mut self.sums[..], &mut part.sums[..]];
        let both = self
            .reader
            .sums_and_some(&newton.program, &self.params, some, sums)?;
        self.told(newton, out, rest);
        Ok(both)
    }

    /// What the sums of Newton's pass tell.
    pub(crate) fn told(&self, newton: &Newton, out: &mut Moments, rest: &mut [f64]) {
        unpack(&self.sums, out);
        let p = rest.len().isqrt();
        out.cost = 0.5 * self.sums[p * (p + 3) / 2];
        newton.rest(&self.params, &self.sums, rest);
    }

    /// Jᵀk as [`Objective::bend`], however many rows there are; false for other losses than the linear.
    pub(crate) fn bend_here(
        &mut self,
        theta: &[f64],
        direction: &[f64],
        out: &mut [f64],
    ) -> Result<bool> {
        if self.programs.loss() != Loss::Linear {
            return Ok(false);
        }
        let p = theta.len();
        self.params[..p].copy_from_slice(theta);
        self.params[p..2 * p].copy_from_slice(direction);
        let program = self.programs.second();
        self.reader.sums(program, &self.params, out)?;
        Ok(true)
    }

    /// About 16,384 rows spread over all, a function of the number of rows and the seed alone.
    pub(crate) fn subsample(&self, seed: u64) -> Result<Columns<'static>> {
        let table = self.reader.table;
        let n_tiles = table.n_rows() / TILE_ROWS;
        let strata = STRATA.min(n_tiles);
        let mut rng = Rng::new(seed, 0, 0, 0, Purpose::Data);
        let mut out: Vec<Vec<f64>> = Vec::new();
        for stratum in 0..strata {
            let (first, end) = (stratum * n_tiles / strata, (stratum + 1) * n_tiles / strata);
            let within = (rng.uniform() * (end - first) as f64) as usize;
            let tile = (first + within).min(end - 1);
            let rows = tile * TILE_ROWS..(tile + 1) * TILE_ROWS;
            table.visit(rows, &mut |_, columns| {
                out.resize(columns.len(), Vec::new());
                let first = (TILE_ROWS / RUNS_OF_TILE - ROWS_OF_RUN) / 2;
                for (to, from) in out.iter_mut().zip(columns) {
                    for run in from.chunks_exact(TILE_ROWS / RUNS_OF_TILE) {
                        to.extend_from_slice(&run[first..first + ROWS_OF_RUN]);
                    }
                }
                Ok(())
            })?;
        }
        Ok(Columns::new(out.into_iter().map(Cow::Owned).collect()))
    }
}

/// Normal matrix and gradient from sums of products of `[J…, r]`.
fn unpack(sums: &[f64], out: &mut Moments) {
    let p = out.gradient.len();
    let mut at = 0;
    for a in 0..p {
        for b in a..p {
            out.normal[a * p + b] = sums[at];
            out.normal[b * p + a] = sums[at];
            at += 1;
        }
        out.gradient[a] = sums[at];
        at += 1;
    }
}

impl Objective for Problem<'_> {
    fn moments(&mut self, theta: &[f64], out: &mut Moments) -> Result<()> {
        self.pass(&self.programs.pass, theta)?;
        unpack(&self.sums, out);
        let at = theta.len() * (theta.len() + 3) / 2;
        out.cost = match self.programs.loss() {
            Loss::Linear => 0.5 * self.sums[at],
            Loss::Poisson => self.sums[at + 1],
            _ => 0.5 * self.scale * self.scale * self.sums[at + 1],
        };
        Ok(())
    }

    fn bend(&mut self, theta: &[f64], direction: &[f64], out: &mut [f64]) -> Result<bool> {
        let cheap = self.reader.table.n_rows() <= CHEAP_ROWS;
        Ok(cheap && self.bend_here(theta, direction, out)?)
    }

    fn solve_linear(&mut self, theta: &mut [f64], here: &mut Moments) {
        let programs = self.programs;
        if programs.loss() == Loss::Linear
            && let Some(multiples) = programs.multiples()
        {
            relax(programs.linear(), multiples, theta, here);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::{Options, Plan};
    use crate::formula::Formula;

    /// What linear parameters are solved for gives the sums of a pass there, and no gradient along them;
    /// where that cannot be told, nothing moves.
    #[test]
    #[allow(clippy::unwrap_used)]
    fn linear_parameters_are_solved_for_without_a_pass() {
        let n = 2 * TILE_ROWS + 77;
        let x: Vec<f64> = (0..n).map(|i| 0.1 + 4.0 * i as f64 / n as f64).collect();
        let noise = |i: usize| ((i * 7919) % 1009) as f64 / 1009.0 - 0.5;
        let rows = x.iter().enumerate();
        let y: Vec<f64> = rows
            .map(|(i, x)| 1.3 * (-0.4 * x).exp() + noise(i))
            .collect();
        for (text, theta, told) in [
            ("a*exp(-b*x)+c", &[1.1, 0.7, 0.3][..], true),
            ("a*exp(-b*x)*sin(w*x+p)+c", &[0.4, 0.7, 1.7, 0.4, 0.3], true),
            ("a*exp(-b*x)+c*exp(-d*x)", &[0.9, 0.3, 0.2, 1.9], true),
            ("a*exp(-b*x)+c*x*exp(-b*x)", &[1.1, 0.7, 0.2], false),
            ("a*x+b", &[1.1, 0.7], true),
            ("a*a*x+b*x^c", &[0.3, 0.7, 0.2], true),
        ] {
            let formula = Formula::parse(text).unwrap();
            let roles = formula.roles(&["x"], &[]).unwrap();
            let plan = Plan::new(&formula, roles, false, &Options::default()).unwrap();
            let table = Columns::new(vec![Cow::Borrowed(&x[..]), Cow::Borrowed(&y[..])]);
            let mut problem = Problem::new(&plan.programs, &table, 1, 1.0);
            let (mut at, p) = (theta.to_vec(), theta.len());
            let (mut here, mut there) = (Moments::new(p), Moments::new(p));
            problem.moments(&at, &mut here).unwrap();
            let before = here.clone();
            problem.solve_linear(&mut at, &mut here);
            assert_eq!(at != theta, told, "{text}");
            assert_eq!(here != before, told, "{text}");
            problem.moments(&at, &mut there).unwrap();
            assert!(here.cost <= before.cost);
            assert!(
                (here.cost - there.cost).abs() < 1e-12 * there.cost,
                "{text}"
            );
            for a in 0..p {
                let size = |k: usize| there.normal[k * p + k].sqrt();
                let left = there.gradient[a] / (size(a) * (2.0 * there.cost).sqrt());
                let off = (here.gradient[a] - there.gradient[a]) / size(a);
                assert!(off.abs() < 1e-11 * there.cost.sqrt(), "{text} {a}: {off}");
                assert!(!told || !plan.programs.linear()[a] || left.abs() < 1e-11);
                for b in 0..p {
                    let off = (here.normal[a * p + b] - there.normal[a * p + b]).abs();
                    assert!(off < 1e-11 * size(a) * size(b), "{text} {a} {b}: {off}");
                }
            }
        }
    }

    /// Newton's matrix against differences of the gradient, and how many sums it takes: second
    /// derivatives that are a product of parameters and something that is summed anyway take none.
    #[test]
    #[allow(clippy::unwrap_used)]
    fn newtons_matrix_is_the_slope_of_the_gradient() {
        let n = 3 * TILE_ROWS + 77;
        let x: Vec<f64> = (0..n).map(|i| 0.1 + 4.0 * i as f64 / n as f64).collect();
        let y: Vec<f64> = x.iter().map(|x| 1.3 * (-0.4 * x).exp() + 0.2).collect();
        for (text, theta, n_sums) in [
            ("a*exp(-b*x)+c", &[1.1, 0.7, 0.3][..], 10 + 1),
            (
                "a*exp(-b*x)*sin(w*x+p)+c",
                &[1.1, 0.7, 1.7, 0.4, 0.3],
                21 + 2,
            ),
            ("a*exp(-(x-m)^2/(2*s^2))+c", &[1.1, 0.7, 0.9, 0.3], 15 + 3),
            ("a*x/(k+x)", &[1.4, 0.8], 6 + 2),
        ] {
            let formula = Formula::parse(text).unwrap();
            let roles = formula.roles(&["x"], &[]).unwrap();
            let plan = Plan::new(&formula, roles, false, &Options::default()).unwrap();
            let table = Columns::new(vec![Cow::Borrowed(&x[..]), Cow::Borrowed(&y[..])]);
            let mut problem = Problem::new(&plan.programs, &table, 1, 1.0);
            let newton = plan.programs.newton().unwrap();
            assert_eq!(newton.program.n_sums(), n_sums, "{text}");
            let p = theta.len();
            let (mut here, mut rest) = (Moments::new(p), vec![0.0; p * p]);
            problem.newton(newton, theta, &mut here, &mut rest).unwrap();
            for b in 0..p {
                let mut at = |by: f64| {
                    let mut theta = theta.to_vec();
                    theta[b] += by;
                    let mut there = Moments::new(p);
                    problem.moments(&theta, &mut there).unwrap();
                    there.gradient
                };
                let (above, below) = (at(1e-5), at(-1e-5));
                for a in 0..p {
                    let slope = (above[a] - below[a]) / 2e-5;
                    let own = here.normal[a * p + b] + rest[a * p + b];
                    let size = (here.normal[a * p + a] * here.normal[b * p + b]).sqrt();
                    assert!(
                        (slope - own).abs() < 1e-7 * size,
                        "{text} {a} {b}: {own} {slope}"
                    );
                }
            }
        }
        // Where what is divided by vanishes, nothing is no number.
        let formula = Formula::parse("a*exp(-b*x)+c").unwrap();
        let roles = formula.roles(&["x"], &[]).unwrap();
        let plan = Plan::new(&formula, roles, false, &Options::default()).unwrap();
        let table = Columns::new(vec![Cow::Borrowed(&x[..]), Cow::Borrowed(&y[..])]);
        let mut problem = Problem::new(&plan.programs, &table, 1, 1.0);
        let (mut here, mut rest) = (Moments::new(3), vec![0.0; 9]);
        let newton = plan.programs.newton().unwrap();
        problem
            .newton(newton, &[0.0, 0.5, 0.1], &mut here, &mut rest)
            .unwrap();
        assert!(rest.iter().all(|x| x.is_finite()), "{rest:?}");
    }
}
