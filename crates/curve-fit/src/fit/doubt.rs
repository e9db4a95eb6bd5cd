//! What a minimum cannot be trusted with: parameters that no row is sensitive to beyond noise and rounding, and
//! sums of squares that leave the range of numbers.

use super::plan::Plan;
use super::start;
use crate::method::Status;
use crate::pass::Table;
use fitzroy::Result;

/// Squares of sums beyond this, or below its inverse, have lost parts to the range of numbers.
const LARGEST: f64 = 1e270;
/// What a whole change of a parameter changes, in standard deviations of a row, below which its error says
/// nothing.
const UNSEEN: f64 = 1e-6;
/// The same, as a part of the largest term of the curve: what rounding leaves of a term that is 0.
const ROUNDED: f64 = 64.0 * f64::EPSILON;

/// Parameters, by number among the free ones, that are in doubt.
#[derive(Default)]
pub(super) struct Doubts {
    /// No row is sensitive to these.
    pub(super) lost: Vec<usize>,
    /// Sums of squares of these are too large or too small.
    pub(super) beyond: Vec<usize>,
    /// A predictor that begins far from 0, and where.
    far_off: Option<(String, f64)>,
}

impl Doubts {
    /// Those at `theta` with its normal matrix, a row having the standard deviation `spread`. Parameters
    /// at a bound are not looked at.
    pub(super) fn of(
        plan: &Plan,
        table: &dyn Table,
        (start, theta): (&[f64], &[f64]),
        normal: &[f64],
        inside: &[usize],
        spread: f64,
    ) -> Result<Doubts> {
        let p = theta.len();
        let own = |k: usize| normal[k * p + k];
        let mut out = Doubts::default();
        for &k in inside {
            let vanished = own(k) < 1.0 / LARGEST && (own(k) > 0.0 || theta[k].abs() > 1e100);
            if vanished || own(k) > LARGEST {
                out.beyond.push(k);
            }
        }
        if !out.beyond.is_empty() {
            out.far_off = start::far_off(plan, table)?;
            return Ok(out);
        }
        // Terms of the curve are about this long.
        let terms = (0..p).map(|k| own(k).sqrt() * theta[k].abs());
        let least = (UNSEEN * spread).max(ROUNDED * terms.fold(0.0, f64::max));
        let programs = &plan.programs;
        for &k in inside {
            // A factor may well be 0; what it multiplies is then lost.
            if programs.linear()[k] || programs.unused()[k] {
                continue;
            }
            let length = own(k).sqrt();
            let size = theta[k].abs().max(start[k].abs());
            // Only now, since it reads data.
            if length * size <= least && length * super::ranges::reach(plan, table, k)? <= least {
                out.lost.push(k);
            }
        }
        Ok(out)
    }

    /// Whether parameters are lost, and all of them because no partial by them is other than 0.
    pub(super) fn are_flat(&self, normal: &[f64], p: usize) -> bool {
        !self.lost.is_empty() && self.lost.iter().all(|&k| normal[k * p + k] == 0.0)
    }

    /// How a fit has ended, that said it ended by `status`.
    pub(super) fn status(&self, status: Status) -> Status {
        match status.converged() && !self.beyond.is_empty() {
            true => Status::NoProgress,
            false => status,
        }
    }

    /// What to do about numbers beyond the range.
    pub(super) fn beyond_words(&self, plan: &Plan, theta: &[f64]) -> Option<String> {
        let &k = self.beyond.first()?;
        Some(format!(
            "not converged: {} = {:.3e} is beyond what sums of squares can hold; {}",
            plan.name(k),
            theta[k],
            self.way_out()
        ))
    }

    fn way_out(&self) -> String {
        count_from(self.far_off.as_ref())
    }

    /// Which parameters are lost, in words.
    pub(super) fn lost_words(&self, plan: &Plan) -> Option<String> {
        let names: Vec<&str> = self.lost.iter().map(|&k| plan.name(k)).collect();
        Some(match names.split_last()? {
            (one, []) => format!(
                "{one} cannot be determined: no row is sensitive to it here; fix it with ⟨fix \
                 {one}=VALUE⟩"
            ),
            (last, rest) => format!(
                "{} and {last} cannot be determined: no row is sensitive to them here; fix them, or \
                 try other starting values (⟨p0⟩, ⟨multistart⟩)",
                rest.join(", ")
            ),
        })
    }
}

/// Advice for curves whose numbers become too large.
pub(super) fn count_from(far_off: Option<&(String, f64)>) -> String {
    match far_off {
        Some((name, at)) => {
            format!("`{name}` begins far from 0: write `{name} - {at:.0}` for it in the model")
        }
        None => "change the units of the data, or write the model in other parameters".into(),
    }
}
