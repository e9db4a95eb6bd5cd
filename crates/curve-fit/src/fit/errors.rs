//! Errors of the parameters at a minimum: rank, covariance, and what it is worth.

use super::doubt::Doubts;
use super::estimate::CovarianceStatus;
use super::options::{CovarianceKind, Options};
use super::plan::Plan;
use super::problem::Problem;
use super::solve::Solution;
use crate::formula::Loss;
use crate::method::Status;
use crate::method::dense::{Triangle, inverse};
use crate::method::statistics::{
    Rank, rank, rank_of_normal, sandwich, t_quantile, triangle_columns, triangle_inverse,
};
use fitzroy::Result;
use fitzroy_device::cpu::TILE_ROWS;

/// Condition of the scaled Jacobian up to which its normal matrix is inverted; beyond, QR.
const NORMAL_IS_FINE: f64 = 1e4;

/// A minimum, and what is known of the rows around it.
pub(super) struct Optimum<'a> {
    pub(super) plan: &'a Plan,
    pub(super) options: &'a Options,
    theta: Vec<f64>,
    /// How the fit ended, doubts considered.
    pub(super) status: Status,
    /// Whether its sums are finite.
    finite: bool,
    /// Rows, and rows less parameters.
    pub(super) n: usize,
    pub(super) dof: usize,
    /// The sum of squares, and JᵀJ, neither weighted by a robust loss.
    pub(super) chi2: f64,
    normal: Vec<f64>,
    pub(super) at_bound: Vec<bool>,
    /// Parameters that have errors.
    pub(super) inside: Vec<usize>,
    pub(super) doubts: Doubts,
    /// Whether parameters that rows do not determine are held, for the others to have errors.
    flat: bool,
}

/// The errors at a minimum.
pub(super) struct Errors {
    pub(super) ranked: Rank,
    pub(super) status: CovarianceStatus,
    pub(super) kind: &'static str,
    pub(super) pcov: Vec<f64>,
}

impl<'a> Optimum<'a> {
    /// That of `solution`.
    ///
    /// # Errors
    /// The data cannot be read.
    pub(super) fn new(
        plan: &'a Plan,
        options: &'a Options,
        solution: &Solution,
        problem: &mut Problem<'_>,
    ) -> Result<Self> {
        let theta = solution.minimum.theta.clone();
        let (p, moments) = (theta.len(), &solution.minimum.moments);
        let n = problem.reader.table.n_rows();
        let at_bound: Vec<bool> = (0..p).map(|k| plan.bounds.touches(k, theta[k])).collect();
        let boundless = options.covariance == CovarianceKind::Boundless;
        let mut found = Optimum {
            plan,
            options,
            status: solution.minimum.status,
            finite: moments.is_finite(),
            n,
            dof: n.saturating_sub(p),
            chi2: 2.0 * moments.cost,
            normal: moments.normal.clone(),
            inside: (0..p).filter(|&k| boundless || !at_bound[k]).collect(),
            at_bound,
            doubts: Doubts::default(),
            flat: false,
            theta,
        };
        if !found.finite {
            return Ok(found);
        }
        if plan.programs.loss().is_robust() {
            let sums = problem.sums_of(plan.programs.plain(), &found.theta)?;
            found.chi2 = *sums.last().expect("r²");
            found.normal = unpack(&sums, p);
        }
        let points = (&solution.start.theta[..], &found.theta[..]);
        let (table, s) = (problem.reader.table, found.s2().sqrt());
        found.doubts = Doubts::of(plan, table, points, &found.normal, &found.inside, s)?;
        found.status = found.doubts.status(found.status);
        // Of a step's place the sum of squares is a constant nearby: others have the errors with it held.
        found.flat = found.doubts.are_flat(&found.normal, p);
        let lost = &found.doubts.lost;
        found.inside.retain(|k| !(found.flat && lost.contains(k)));
        Ok(found)
    }

    /// Whether the errors of the response are known, and not only up to a factor.
    fn sigma_is_known(&self) -> bool {
        self.options.absolute_sigma || self.plan.programs.loss() == Loss::Poisson
    }

    /// The factor of the errors.
    fn s2(&self) -> f64 {
        match self.sigma_is_known() {
            true => 1.0,
            false => self.chi2 / self.dof.max(1) as f64,
        }
    }

    /// The quantile behind intervals.
    pub(super) fn quantile(&self) -> f64 {
        let dof = match self.sigma_is_known() || self.dof == 0 {
            true => f64::INFINITY,
            false => self.dof as f64,
        };
        t_quantile(0.5 + self.options.confidence / 2.0, dof)
    }

    /// Rank, covariance and its status.
    ///
    /// # Errors
    /// The data cannot be read.
    pub(super) fn errors(&self, problem: &mut Problem<'_>) -> Result<Errors> {
        let (p, m) = (self.theta.len(), self.inside.len());
        let (ranked, bread) = self.rank(problem)?;
        let mut errors = Errors {
            status: self.covariance_status(&ranked),
            kind: self.covariance_kind(),
            pcov: vec![f64::NAN; p * p],
            ranked,
        };
        let shown = matches!(
            errors.status,
            CovarianceStatus::Ok | CovarianceStatus::AtBound | CovarianceStatus::Flat
        );
        let Some(bread) = bread.filter(|_| shown) else {
            return Ok(errors);
        };
        let inner = match errors.kind {
            "sandwich" => self.influence(problem)?,
            "hc0" => self.squares(problem, &bread, false)?,
            "hc3" => self.squares(problem, &bread, true)?,
            _ => Some(bread.iter().map(|x| x * self.s2()).collect()),
        };
        let Some(inner) = inner else {
            errors.status = CovarianceStatus::RankDeficient;
            return Ok(errors);
        };
        for (i, &a) in self.inside.iter().enumerate() {
            for (j, &b) in self.inside.iter().enumerate() {
                errors.pcov[a * p + b] = inner[i * m + j];
            }
        }
        Ok(errors)
    }

    fn covariance_kind(&self) -> &'static str {
        let robust = self.plan.programs.loss().is_robust();
        let counts = self.plan.programs.loss() == Loss::Poisson;
        match self.options.covariance {
            CovarianceKind::Auto if counts => "fisher",
            CovarianceKind::Auto | CovarianceKind::Sandwich if robust => "sandwich",
            CovarianceKind::Hc0 | CovarianceKind::Sandwich => "hc0",
            CovarianceKind::Hc3 => "hc3",
            CovarianceKind::Boundless => "boundless",
            _ => "classic",
        }
    }

    fn covariance_status(&self, ranked: &Rank) -> CovarianceStatus {
        let boundless = self.options.covariance == CovarianceKind::Boundless;
        let lost = !self.doubts.lost.is_empty() && !self.flat;
        if !self.status.converged() {
            CovarianceStatus::NotConverged
        } else if ranked.undetermined.is_some() || lost {
            CovarianceStatus::RankDeficient
        } else if self.dof == 0 && !self.sigma_is_known() {
            CovarianceStatus::ZeroDof
        } else if self.flat {
            CovarianceStatus::Flat
        } else if !boundless && self.at_bound.iter().any(|&b| b) {
            CovarianceStatus::AtBound
        } else {
            CovarianceStatus::Ok
        }
    }

    /// Rank, and (JᵀJ)⁻¹ of the parameters that have errors, where they have them.
    fn rank(&self, problem: &mut Problem<'_>) -> Result<(Rank, Option<Vec<f64>>)> {
        let (mut ranked, bread) = if self.finite && !self.inside.is_empty() {
            self.bread(problem)?
        } else {
            let nothing = Rank {
                rank: 0,
                condition: f64::NAN,
                undetermined: None,
            };
            (nothing, None)
        };
        if !self.doubts.lost.is_empty() {
            ranked.condition = f64::INFINITY;
            if !self.flat {
                let known = self.inside.len() - self.doubts.lost.len();
                ranked.rank = ranked.rank.min(known);
            }
        }
        Ok((ranked, bread))
    }

    /// Rank, and (JᵀJ)⁻¹ of the parameters inside their bounds: by the normal matrix where its
    /// condition allows, else by QR.
    fn bread(&self, problem: &mut Problem<'_>) -> Result<(Rank, Option<Vec<f64>>)> {
        let Optimum {
            plan,
            theta,
            normal,
            inside,
            n,
            ..
        } = self;
        let (p, m, n) = (theta.len(), inside.len(), *n);
        let counts = plan.programs.loss() == Loss::Poisson;
        let own = part(normal, p, inside);
        let quick = rank_of_normal(&own, m, n);
        if quick.condition < NORMAL_IS_FINE || counts {
            let inverse = inverse(&own, m);
            return Ok((quick, inverse));
        }
        let mut triangle = Triangle::new(p + 1, TILE_ROWS);
        problem.triangle_of(plan.programs.plain(), theta, &mut triangle)?;
        if m < p {
            // Columns of parameters at a bound leave: again, of the triangle's rows.
            let columns = triangle_columns(&triangle, p + 1);
            let kept: Vec<Vec<f64>> = inside.iter().map(|&k| columns[k].clone()).collect();
            triangle = Triangle::new(m, p + 1);
            triangle.add(&kept);
        }
        let ranked = rank(triangle_columns(&triangle, m), n);
        let full = ranked.rank == m;
        Ok((ranked, full.then(|| triangle_inverse(&triangle, m))))
    }

    /// n/(n−p) H⁻¹BH⁻¹ of a robust fit.
    fn influence(&self, problem: &mut Problem<'_>) -> Result<Option<Vec<f64>>> {
        let Optimum {
            plan,
            theta,
            normal,
            inside,
            ..
        } = self;
        let (p, n, dof) = (theta.len(), self.n as f64, self.dof);
        let sums = problem.sums_of(&plan.programs.influence(), theta)?;
        let mean = sums[p * (p + 1) / 2] / n;
        let c2 = problem.scale * problem.scale;
        let h: Vec<f64> = part(normal, p, inside)
            .iter()
            .map(|x| x * mean / c2)
            .collect();
        let mut full = vec![0.0; p * p];
        let mut at = 0;
        for a in 0..p {
            for b in a..p {
                (full[a * p + b], full[b * p + a]) = (sums[at] / c2, sums[at] / c2);
                at += 1;
            }
        }
        let v = sandwich(&h, &part(&full, p, inside), inside.len());
        Ok(v.map(|v| v.iter().map(|x| x * n / dof.max(1) as f64).collect()))
    }

    /// (JᵀJ)⁻¹ (Σ r²jjᵀ) (JᵀJ)⁻¹, with r/(1 − h) for r if `leverage`.
    fn squares(
        &self,
        problem: &mut Problem<'_>,
        bread: &[f64],
        leverage: bool,
    ) -> Result<Option<Vec<f64>>> {
        let Optimum {
            plan,
            theta,
            inside,
            ..
        } = self;
        let (p, m) = (theta.len(), inside.len());
        let params = problem.params(theta);
        let mut filling = vec![0.0; m * m];
        problem.reads += 1;
        problem
            .reader
            .rows(plan.programs.plain(), &params, &mut |_, out| {
                let mut j = vec![0.0; m];
                for i in 0..out[p].len() {
                    for (j, &k) in j.iter_mut().zip(inside) {
                        *j = out[k][i];
                    }
                    let mut r = out[p][i];
                    if leverage {
                        let mut h = 0.0;
                        for a in 0..m {
                            for b in 0..m {
                                h += j[a] * bread[a * m + b] * j[b];
                            }
                        }
                        r /= 1.0 - h;
                    }
                    for a in 0..m {
                        for b in 0..m {
                            filling[a * m + b] += r * r * j[a] * j[b];
                        }
                    }
                }
                Ok(())
            })?;
        let Some(normal) = inverse(bread, m) else {
            return Ok(None);
        };
        Ok(sandwich(&normal, &filling, m))
    }
}

/// The normal matrix from sums of products of `[J…, r]`.
fn unpack(sums: &[f64], p: usize) -> Vec<f64> {
    let mut normal = vec![0.0; p * p];
    let mut at = 0;
    for a in 0..p {
        for b in a..p {
            (normal[a * p + b], normal[b * p + a]) = (sums[at], sums[at]);
            at += 1;
        }
        at += 1;
    }
    normal
}

fn part(full: &[f64], p: usize, inside: &[usize]) -> Vec<f64> {
    inside
        .iter()
        .flat_map(|&a| inside.iter().map(move |&b| full[a * p + b]))
        .collect()
}
