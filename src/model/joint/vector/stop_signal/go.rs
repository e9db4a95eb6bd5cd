//! The go process of a stop-signal model: runners for the responses, of which the first one wins.

use super::super::super::build::Build;
use super::super::site::lit;
use super::trials::{Group, Trials};
use crate::dist::{ExGaussianTime, Race, Racer, Real, StopTime, rate_after};
use fitzroy_graph::Expr as Value;

/// That no go runner has finished, and its slopes.
pub(super) struct Running<'g> {
    pub(super) value: Value<'g>,
    pub(super) slopes: Vec<(Value<'g>, Value<'g>)>,
}

/// Repeats what there is for each element of a group over the nodes of an integral, or not.
pub(super) type Over<'a, 'g> = &'a dyn Fn(Value<'g>) -> Value<'g>;

/// Runners whose race gives the response. `stop` says that a trial has a stop signal.
pub(super) trait GoProcess<'g> {
    /// ln of the density that runner 0 (right) or 1 (wrong) wins at rt.
    fn won(&self, b: &Build<'_, 'g>, g: &Group, stop: bool, by: usize) -> Value<'g>;
    /// Seconds after the picture before which no runner can finish.
    fn earliest(&self, b: &Build<'_, 'g>, g: &Group) -> Value<'g>;
    /// Seconds after the picture at which the probability of running falls steeply.
    fn marks(&self, b: &Build<'_, 'g>, g: &Group) -> Vec<Value<'g>>;
    /// All runners at `since` seconds after [`GoProcess::earliest`], but for [`GoProcess::kept`].
    fn running(
        &self,
        b: &Build<'_, 'g>,
        g: &Group,
        stop: bool,
        since: Value<'g>,
        over: Over<'_, 'g>,
    ) -> Running<'g>;
    /// What [`GoProcess::running`] is to be divided by.
    fn kept(&self, b: &Build<'_, 'g>, g: &Group) -> Value<'g>;
}

/// Wald racers of one threshold, whose rates depend on the delay of the stop signal.
pub(super) struct Accumulators<'t, 'g> {
    pub(super) trials: &'t Trials<'g>,
}

// Places of their parameters.
const T0: usize = 0;
const B: usize = 1;
const RATES: [usize; 2] = [2, 3];
const V0: usize = 4;
const G: usize = 5;

impl<'g> Accumulators<'_, 'g> {
    fn rates(&self, b: &Build<'_, 'g>, g: &Group, stop: bool) -> [Value<'g>; 2] {
        let rates = RATES.map(|k| self.trials.arg(b, g, k));
        if !stop {
            return rates;
        }
        let [v0, speed] = [V0, G].map(|k| self.trials.arg(b, g, k));
        let ssd = self.trials.delay(b, g);
        rates.map(|v| rate_after(ssd, v, v0, speed))
    }
}

impl<'g> GoProcess<'g> for Accumulators<'_, 'g> {
    fn won(&self, b: &Build<'_, 'g>, g: &Group, stop: bool, by: usize) -> Value<'g> {
        let rates = self.rates(b, g, stop);
        let [t0, threshold] = [T0, B].map(|k| self.trials.arg(b, g, k));
        raced(
            self.trials.time(b, g),
            t0,
            threshold,
            rates[by],
            rates[1 - by],
        )
    }

    fn earliest(&self, b: &Build<'_, 'g>, g: &Group) -> Value<'g> {
        self.trials.arg(b, g, T0)
    }

    // Survivors change slowly beside the stop time.
    fn marks(&self, _: &Build<'_, 'g>, _: &Group) -> Vec<Value<'g>> {
        Vec::new()
    }

    fn running(
        &self,
        b: &Build<'_, 'g>,
        g: &Group,
        stop: bool,
        since: Value<'g>,
        over: Over<'_, 'g>,
    ) -> Running<'g> {
        let [t0, threshold] = [T0, B].map(|k| self.trials.arg(b, g, k));
        let rates = self.rates(b, g, stop);
        let [x, y] = rates.map(|v| Racer::at(since, over(v), over(threshold)));
        let (x_only, y_only) = (y.survivor, x.survivor);
        Running {
            value: x.survivor * y.survivor,
            slopes: vec![
                (t0, x_only * x.density + y_only * y.density),
                (threshold, x_only * x.by_threshold + y_only * y.by_threshold),
                (rates[0], x_only * x.by_drift),
                (rates[1], y_only * y.by_drift),
            ],
        }
    }

    fn kept(&self, _: &Build<'_, 'g>, _: &Group) -> Value<'g> {
        lit(1.0)
    }
}

/// ln f(winner) + ln S(loser) of two Wald racers.
pub(super) fn raced<'g>(
    rt: Value<'g>,
    t0: Value<'g>,
    threshold: Value<'g>,
    winner: Value<'g>,
    loser: Value<'g>,
) -> Value<'g> {
    let race = Race::at(rt - t0, winner, loser, threshold);
    race.log_density.with_slopes(&[
        (t0, -race.by_time),
        (threshold, race.by_threshold),
        (winner, race.by_winner),
        (loser, race.by_loser),
    ])
}

/// Ex-Gaussian times above `lower`.
pub(super) struct ExGaussians<'t, 'g> {
    pub(super) trials: &'t Trials<'g>,
    pub(super) lower: f64,
    /// Places of the parameters of each: of the right response, and of the wrong one if there is one.
    pub(super) runners: Vec<[usize; 3]>,
}

impl<'g> ExGaussians<'_, 'g> {
    fn each(&self, b: &Build<'_, 'g>, g: &Group) -> Vec<[Value<'g>; 3]> {
        let places = self.runners.iter();
        places
            .map(|at| at.map(|k| self.trials.arg(b, g, k)))
            .collect()
    }
}

/// The survivor of a Normal + Exponential time, with its slopes.
pub(super) fn survivor<'g>(x: Value<'g>, of: [Value<'g>; 3]) -> Value<'g> {
    let at = StopTime::at(x, of);
    let slopes: Vec<_> = of.into_iter().zip(at.survivor_by).collect();
    at.survivor().with_slopes(&slopes)
}

impl<'g> GoProcess<'g> for ExGaussians<'_, 'g> {
    fn won(&self, b: &Build<'_, 'g>, g: &Group, _: bool, by: usize) -> Value<'g> {
        let rt = self.trials.time(b, g);
        let part = |(k, of): (usize, [Value<'g>; 3])| {
            let at = ExGaussianTime::at(rt, of);
            let (value, slopes) = match k == by {
                true => (at.log_density, at.log_density_by),
                false => (at.log_survivor, at.log_survivor_by),
            };
            let slopes: Vec<_> = of.into_iter().zip(slopes).collect();
            value.with_slopes(&slopes)
        };
        let each = self.each(b, g).into_iter().enumerate().map(part);
        let sum = each.reduce(|x, y| x + y).expect("there is a runner");
        let inside = self.trials.data(b, g, "can be", |i| {
            f64::from(u8::from(self.trials.rt[i] > self.lower))
        });
        inside.select(sum - self.kept(b, g).ln(), lit(f64::NEG_INFINITY))
    }

    fn earliest(&self, b: &Build<'_, 'g>, g: &Group) -> Value<'g> {
        lit(self.lower).broadcast(b.scope, &[g.dim])
    }

    fn marks(&self, b: &Build<'_, 'g>, g: &Group) -> Vec<Value<'g>> {
        self.each(b, g).into_iter().map(|of| of[0]).collect()
    }

    fn running(
        &self,
        b: &Build<'_, 'g>,
        g: &Group,
        _: bool,
        since: Value<'g>,
        over: Over<'_, 'g>,
    ) -> Running<'g> {
        let each = self.each(b, g);
        let at = |of: &[Value<'g>; 3]| StopTime::at(lit(self.lower) + since, of.map(over));
        let at: Vec<_> = each.iter().map(at).collect();
        let survivors: Vec<_> = at.iter().map(StopTime::survivor).collect();
        let product = |skipped: Option<usize>| {
            let others = survivors.iter().enumerate();
            let others = others.filter(|(k, _)| Some(*k) != skipped).map(|(_, s)| *s);
            others.reduce(|x, y| x * y).unwrap_or(lit(1.0))
        };
        let slopes = each.iter().zip(&at).enumerate().flat_map(|(k, (of, at))| {
            let others = product(Some(k));
            let by = at.survivor_by.map(|s| others * s);
            of.iter().copied().zip(by)
        });
        Running {
            slopes: slopes.collect(),
            value: product(None),
        }
    }

    fn kept(&self, b: &Build<'_, 'g>, g: &Group) -> Value<'g> {
        let lower = lit(self.lower).broadcast(b.scope, &[g.dim]);
        let each = self.each(b, g).into_iter().map(|of| survivor(lower, of));
        each.reduce(|x, y| x * y).expect("there is a runner")
    }
}
