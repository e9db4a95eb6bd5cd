//! A curve fitted to columns in memory, in one call.

use super::device::FitDevice;
use super::fitted::Fitted;
use crate::clock::Clock;
use crate::device::Request;
use crate::face::{Face, silent};
use crate::session::NEVER;
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_curve_fit::fit::{
    self, Correlated, Estimate, Plan, Quality, Resampling, fit_and_measure,
};
use fitzroy_curve_fit::method::{Next, Observer, Progress};
use fitzroy_curve_fit::pass::Table;
use fitzroy_curve_fit::report::Timing;
use fitzroy_curve_fit::{Data, Formula, Options, Sigma};
use fitzroy_device::choice::Choice;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Steps whose cost is kept for a report.
const MOST_COSTS: usize = 2000;

/// The smaller probability of contours: that of one standard deviation.
const ONE_SIGMA: f64 = 0.682_689_492_137;

/// Fits `formula` to `data`; nothing happens before [`Fitting::run`].
///
/// Names in the formula that are columns of the data are predictors; all others are parameters.
pub fn fit<'a>(formula: &'a Formula, data: &'a Data<'a>) -> Fitting<'a> {
    Fitting {
        formula,
        data,
        y: "y".into(),
        options: Options::default(),
        profiles: None,
        resampling: None,
        x_sigma: Vec::new(),
        sigma_matrix: None,
        time_limit_s: None,
        device: None,
        request: Request {
            // A fit of thousands of rows ends before a driver has answered.
            choice: Choice::Cpu,
            ..Request::default()
        },
        n_dropped: 0,
        face: silent(),
        stop: &NEVER,
        clock: Clock::start(),
    }
}

/// What [`fit()`] is asked for.
#[must_use = "nothing is fitted before `run`"]
pub struct Fitting<'a> {
    formula: &'a Formula,
    data: &'a Data<'a>,
    y: String,
    options: Options,
    /// Parameters whose profile-likelihood intervals are wanted; all of them if there is none.
    profiles: Option<Vec<String>>,
    resampling: Option<Resampling>,
    /// Standard deviations of predictors.
    x_sigma: Vec<(String, Sigma<'a>)>,
    /// The covariance matrix of the errors of the response, row by row.
    sigma_matrix: Option<Vec<f64>>,
    time_limit_s: Option<f64>,
    device: Option<FitDevice>,
    request: Request,
    n_dropped: usize,
    face: Arc<dyn Face>,
    stop: &'a AtomicBool,
    clock: Clock,
}

impl<'a> Fitting<'a> {
    /// All options of the fit.
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Starting values by name, of some parameters or of all.
    pub fn p0(mut self, p0: Vec<(String, f64)>) -> Self {
        self.options.p0 = p0;
        self
    }

    /// Bounds by name; infinite ends are open.
    pub fn bounds(mut self, bounds: Vec<(String, f64, f64)>) -> Self {
        self.options.bounds = bounds;
        self
    }

    /// Where to compute: on this processor unless something else is asked for.
    pub fn device(mut self, choice: Choice) -> Self {
        self.request.choice = choice;
        self
    }

    /// A device that was chosen before.
    pub fn chosen(mut self, device: FitDevice) -> Self {
        self.device = Some(device);
        self
    }

    /// Wants profile-likelihood intervals of these parameters, or of all if there are no names.
    pub fn profiles(mut self, names: Vec<String>) -> Self {
        self.profiles = Some(names);
        self
    }

    /// Standard deviations of predictors: the fit is by orthogonal distances.
    pub fn x_sigma(mut self, x_sigma: Vec<(String, Sigma<'a>)>) -> Self {
        self.x_sigma = x_sigma;
        self
    }

    /// The covariance matrix of the errors of the response, row by row, where these are correlated.
    pub fn sigma_matrix(mut self, matrix: Option<Vec<f64>>) -> Self {
        self.sigma_matrix = matrix;
        self
    }

    /// Wants errors from fits of parts of the rows.
    pub fn resampling(mut self, resampling: Option<Resampling>) -> Self {
        self.resampling = resampling;
        self
    }

    /// Ends the fit after so many seconds, with the best point so far.
    pub fn time_limit(mut self, seconds: f64) -> Self {
        self.time_limit_s = Some(seconds);
        self
    }

    /// What the response is called, for people.
    pub fn response(mut self, name: impl Into<String>) -> Self {
        self.y = name.into();
        self
    }

    /// Rows that were left out before, for the report.
    pub fn dropped(mut self, n_rows: usize) -> Self {
        self.n_dropped = n_rows;
        self
    }

    /// Who is told of what happens on the way.
    pub fn face(mut self, face: Arc<dyn Face>) -> Self {
        self.face = face;
        self
    }

    /// Ends the fit once true, with the best point so far.
    pub fn stop(mut self, stop: &'a AtomicBool) -> Self {
        self.stop = stop;
        self
    }

    /// The clock of the work that the fit is a part of.
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Fits.
    ///
    /// # Errors
    /// Something is wrong with data or options, or the device cannot be used. A fit that does not
    /// converge is no error.
    pub fn run(mut self) -> Result<Fitted<'a>> {
        let (clock, options, data) = (self.clock, self.options.clone(), self.data);
        let mut device = match self.device.take() {
            Some(device) => device,
            None => FitDevice::choose(&self.request, options.threads)?,
        };
        let mut timing = Timing {
            read: clock.seconds(),
            ..Timing::default()
        };
        let roles = self.formula.roles(&data.names(), &data.label_columns())?;
        let plan = Plan::new(self.formula, roles, data.has_sigma(), &options)?;
        fit::check_rows(&plan, data)?;
        let table = data.table(&plan.roles.predictors)?;
        timing.compile = clock.seconds() - timing.read;
        device.settle(&plan, &table, &options, &clock, &*self.face)?;
        let before = clock.seconds();
        let late = |now: f64| self.time_limit_s.is_some_and(|limit| now - before > limit);
        let mut costs = Vec::new();
        let remote = device.table(&table);
        let passes: &dyn Table = remote.as_ref().map_or(&table, |remote| remote);
        let observer = &mut |step: &Progress<'_>| {
            if costs.len() < MOST_COSTS {
                costs.push(step.cost);
            }
            if self.stop.load(Relaxed) {
                Next::Interrupt
            } else if late(clock.seconds()) {
                Next::OutOfTime
            } else {
                Next::Continue
            }
        };
        let (mut estimate, measured) = fit_and_measure(&plan, passes, &options, observer)?;
        device.tell_failed(&*self.face);
        let correlated = self.refine(&plan, &mut estimate, observer)?;
        timing.fit = clock.seconds() - before;
        timing.total = clock.seconds();
        estimate.n_dropped = self.n_dropped;
        // The measures of the residuals take another read, which many rows would feel.
        let plain = self.x_sigma.is_empty() && correlated.is_none();
        let measured = match measured.filter(|_| plain) {
            Some(quality) => quality,
            None => fit::quality(&plan, &table, &estimate)?,
        };
        let quality = self.judge(&mut estimate, measured, correlated.as_ref());
        let profiles = profiles(self.profiles, &plan, passes, &options, &estimate)?;
        let names: Vec<String> = profiles.iter().map(|(name, ..)| name.clone()).collect();
        let levels = [ONE_SIGMA, options.confidence];
        let regions = fit::regions(&plan, passes, &estimate, &names, &levels)?;
        let resampled = self.resampling;
        let resampled = resampled.map(|how| fit::resample(&plan, data, &options, &estimate, how));
        let resampled = resampled.transpose()?;
        drop(remote);
        Ok(Fitted {
            data: Some(data),
            y: self.y,
            timing,
            profiles,
            regions,
            resampled,
            whitened: correlated.map(|found| found.residuals),
            costs,
            ..Fitted::new(plan, table, &options, (estimate, quality), device)
        })
    }
}

impl Fitting<'_> {
    /// Goes on from an ordinary fit to errors of predictors, and to correlated errors of the response.
    fn refine(
        &self,
        plan: &Plan,
        estimate: &mut Estimate,
        observer: &mut Observer<'_>,
    ) -> Result<Option<Correlated>> {
        let (data, options) = (self.data, &self.options);
        if !self.x_sigma.is_empty() {
            let found = fit::orthogonal(plan, data, &self.x_sigma, options, estimate, observer)?;
            *estimate = found.estimate;
        }
        let Some(matrix) = &self.sigma_matrix else {
            return Ok(None);
        };
        let found = fit::correlated(plan, data, matrix, options, estimate, observer)?;
        *estimate = found.estimate.clone();
        Ok(Some(found))
    }

    /// What holds of the measures of residuals, and what these say of the estimate.
    fn judge(
        &self,
        estimate: &mut Estimate,
        measured: Quality,
        correlated: Option<&Correlated>,
    ) -> Quality {
        if !self.x_sigma.is_empty() {
            // Criteria and tests are of errors of the response alone.
            return Quality {
                aic: f64::NAN,
                bic: f64::NAN,
                chi2_p: f64::NAN,
                pattern: None,
                ..measured
            };
        }
        let quality = correlated.map_or(measured, |found| found.quality(&measured));
        estimate.weigh(&quality);
        quality
    }
}

/// Name, lower and upper end of each profile that is wanted.
fn profiles(
    names: Option<Vec<String>>,
    plan: &Plan,
    table: &dyn Table,
    options: &Options,
    estimate: &Estimate,
) -> Result<Vec<(String, f64, f64)>> {
    let wanted = match names {
        None => return Ok(Vec::new()),
        Some(names) if names.is_empty() => estimate.free.clone(),
        Some(names) => names,
    };
    let mut out = Vec::new();
    for name in wanted {
        if estimate.parameter(&name).is_none() {
            let message = format!(
                "⟨profile⟩: the model has no parameter `{name}`; its parameters are {}",
                estimate.free.join(", ")
            );
            return Err(Error::new(ErrorKind::Usage, message));
        }
        if let Some((low, high)) = fit::profile(plan, table, options, estimate, &name)? {
            out.push((name, low, high));
        }
    }
    Ok(out)
}
