//! Posterior predictive checks: statistics of the data beside those of replicated data.

use crate::data::Study;
use crate::model::Spec;
use crate::params::{Kind, Params};
use crate::simulate::outcome;
use fitzroy::diagnose::quantile;
use fitzroy::draws::Trace;
use fitzroy::rng::{Purpose, Rng};
use fitzroy::{Error, ErrorKind, Result};

/// Quantiles of response times that are compared.
pub const QUANTILES: [f64; 5] = [0.1, 0.3, 0.5, 0.7, 0.9];

/// Delays at which all subjects together have fewer trials are left out.
const LEAST_TRIALS: usize = 20;

/// A posterior predictive statistic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Statistic {
    /// Share of right responses on go trials with a response.
    GoAccuracy,
    /// Share of go trials without a response.
    Omissions,
    /// A quantile of the times of right (true) or wrong responses on go trials, seconds.
    Quantile(bool, f64),
    /// Share of stop trials with a response at this delay.
    Respond(f64),
    /// Share of right ones among the responses at this delay.
    Accuracy(f64),
    /// Mean time of responses at this delay, seconds.
    Time(f64),
    /// Mean over subjects of mean go RT − mean signal-respond RT, seconds.
    Slower,
}

impl Statistic {
    /// Its name in tables.
    pub fn name(self) -> String {
        match self {
            Statistic::GoAccuracy => "go accuracy".into(),
            Statistic::Omissions => "go omissions".into(),
            Statistic::Quantile(true, q) => format!("go RT quantile {q}, right"),
            Statistic::Quantile(false, q) => format!("go RT quantile {q}, wrong"),
            Statistic::Respond(d) => format!("P(respond) at SSD {d:.3}"),
            Statistic::Accuracy(d) => format!("accuracy at SSD {d:.3}"),
            Statistic::Time(d) => format!("signal-respond RT at SSD {d:.3}"),
            Statistic::Slower => "go RT − signal-respond RT within subjects".into(),
        }
    }
}

/// A statistic of the data and of replicates.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// Which.
    pub statistic: Statistic,
    /// Of the data.
    pub observed: f64,
    /// Of each replicate.
    pub replicated: Vec<f64>,
}

impl Compared {
    /// Quantile `q` of the replicates.
    pub fn quantile(&self, q: f64) -> f64 {
        let finite: Vec<f64> = self
            .replicated
            .iter()
            .copied()
            .filter(|x| x.is_finite())
            .collect();
        match finite.is_empty() {
            true => f64::NAN,
            false => quantile(&finite, q),
        }
    }

    /// Share of replicates below the data, ties half.
    pub fn p(&self) -> f64 {
        let one = |x: &f64| match x.partial_cmp(&self.observed) {
            Some(std::cmp::Ordering::Less) => 1.0,
            Some(std::cmp::Ordering::Equal) => 0.5,
            _ => 0.0,
        };
        self.replicated.iter().map(one).sum::<f64>() / self.replicated.len().max(1) as f64
    }

    /// Whether the data lie outside of 99 % of the replicates.
    pub fn is_strange(&self) -> bool {
        !(0.005..=0.995).contains(&self.p()) && self.observed.is_finite()
    }
}

/// Outcome, time and delay of a trial; whose it is.
#[derive(Clone, Copy)]
struct Seen {
    subject: usize,
    outcome: u8,
    rt: f64,
    ssd: f64,
}

/// Names of the subjects that a trace has draws of, in its order.
pub fn subjects_of(trace: &Trace) -> Vec<String> {
    let labels = trace.coords.get("subject");
    labels.map_or(Vec::new(), |l| (0..l.len()).map(|i| l.text(i)).collect())
}

/// Parameters of every subject at some draws: `[draw][subject]`.
///
/// # Errors
/// The trace lacks a parameter or one of the subjects.
pub fn draws_of(
    trace: &Trace,
    kind: Kind,
    subjects: &[String],
    n: usize,
) -> Result<Vec<Vec<Params>>> {
    let fail = |message: String| Err(Error::new(ErrorKind::Data, message));
    let Some(group) = trace.group("posterior") else {
        return fail("the trace holds no posterior".into());
    };
    let drawn = subjects_of(trace);
    let mut place = Vec::new();
    for name in subjects {
        match drawn.iter().position(|d| d == name) {
            Some(at) => place.push(at),
            None => {
                return fail(format!(
                    "the trace knows no subject `{name}`: was it made from these data?"
                ));
            }
        }
    }
    let mut all: Vec<Vec<Params>> = Vec::new();
    let empty = Params {
        kind,
        values: vec![0.0; kind.parameters().len()],
    };
    for (k, name) in kind.parameter_names().into_iter().enumerate() {
        let Some(variable) = group.variable(name) else {
            return fail(format!(
                "the trace holds no `{name}`: it is not of this model"
            ));
        };
        let (chains, draws) = (variable.shape[0], variable.shape[1]);
        let total = chains * draws;
        let n = n.min(total);
        all.resize(n, vec![empty.clone(); subjects.len()]);
        for (s, &at) in place.iter().enumerate() {
            let pooled = variable.element(at).concat();
            for (d, row) in all.iter_mut().enumerate() {
                row[s].values[k] = pooled[d * total / n];
            }
        }
    }
    Ok(all)
}

/// Compares the data with replicates at `draws`; every trial keeps its delay.
pub fn compare(study: &Study, draws: &[Vec<Params>], spec: &Spec, seed: u64) -> Vec<Compared> {
    let seen: Vec<Seen> = study
        .rows
        .iter()
        .map(|r| Seen {
            subject: r.subject,
            outcome: spec.outcome(r),
            rt: r.trial.rt,
            ssd: r.trial.ssd,
        })
        .collect();
    let asked = asked(&seen);
    let n = study.subjects.len();
    let observed = statistics(&seen, &asked, n);
    let mut found: Vec<Compared> = asked
        .iter()
        .zip(observed)
        .map(|(&statistic, observed)| Compared {
            statistic,
            observed,
            replicated: Vec::new(),
        })
        .collect();
    let ends = [spec.stop_lb, spec.go_lb];
    let mut copy = seen.clone();
    for (d, params) in draws.iter().enumerate() {
        let mut rng = Rng::new(seed, 1, d as u32, 0, Purpose::Predictive);
        for (new, old) in copy.iter_mut().zip(&seen) {
            let p = &params[old.subject];
            (new.outcome, new.rt) = outcome(p, old.ssd, ends, spec.deadline, &mut rng);
        }
        for (c, x) in found.iter_mut().zip(statistics(&copy, &asked, n)) {
            c.replicated.push(x);
        }
    }
    found
}

/// The statistics that the data have enough trials for.
fn asked(seen: &[Seen]) -> Vec<Statistic> {
    let mut delays: Vec<f64> = seen
        .iter()
        .map(|s| s.ssd)
        .filter(|d| d.is_finite())
        .collect();
    delays.sort_by(f64::total_cmp);
    let mut kept: Vec<(f64, usize)> = Vec::new();
    for d in delays {
        match kept.last_mut() {
            Some((last, n)) if (d - *last).abs() < 1e-6 => *n += 1,
            _ => kept.push((d, 1)),
        }
    }
    kept.retain(|k| k.1 >= LEAST_TRIALS);
    let mut out = vec![Statistic::GoAccuracy, Statistic::Omissions];
    for right in [true, false] {
        out.extend(QUANTILES.map(|q| Statistic::Quantile(right, q)));
    }
    out.extend(kept.iter().map(|k| Statistic::Respond(k.0)));
    out.extend(kept.iter().map(|k| Statistic::Accuracy(k.0)));
    out.extend(kept.iter().map(|k| Statistic::Time(k.0)));
    out.push(Statistic::Slower);
    out
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, n) = values.fold((0.0, 0.0), |(s, n), x| (s + x, n + 1.0));
    sum / n
}

fn statistics(seen: &[Seen], asked: &[Statistic], n_subjects: usize) -> Vec<f64> {
    let go: Vec<&Seen> = seen.iter().filter(|s| s.ssd.is_infinite()).collect();
    let times = |right: bool| -> Vec<f64> {
        let wanted = if right { 1 } else { 2 };
        go.iter()
            .filter(|s| s.outcome == wanted)
            .map(|s| s.rt)
            .collect()
    };
    let (right, wrong) = (times(true), times(false));
    let at = |d: f64| seen.iter().filter(move |s| (s.ssd - d).abs() < 1e-6);
    let yes = |b: bool| f64::from(u8::from(b));
    let one = |statistic: &Statistic| match *statistic {
        Statistic::GoAccuracy => mean(
            go.iter()
                .filter(|s| s.outcome > 0)
                .map(|s| yes(s.outcome == 1)),
        ),
        Statistic::Omissions => mean(go.iter().map(|s| yes(s.outcome == 0))),
        Statistic::Quantile(is_right, q) => {
            let of = if is_right { &right } else { &wrong };
            if of.is_empty() {
                f64::NAN
            } else {
                quantile(of, q)
            }
        }
        Statistic::Respond(d) => mean(at(d).map(|s| yes(s.outcome > 0))),
        Statistic::Accuracy(d) => {
            mean(at(d).filter(|s| s.outcome > 0).map(|s| yes(s.outcome == 1)))
        }
        Statistic::Time(d) => mean(at(d).filter(|s| s.outcome > 0).map(|s| s.rt)),
        Statistic::Slower => slower(seen, n_subjects),
    };
    asked.iter().map(one).collect()
}

fn slower(seen: &[Seen], n_subjects: usize) -> f64 {
    let mut sums = vec![[0.0; 4]; n_subjects];
    for s in seen.iter().filter(|s| s.outcome > 0) {
        let k = if s.ssd.is_infinite() { 0 } else { 2 };
        sums[s.subject][k] += s.rt;
        sums[s.subject][k + 1] += 1.0;
    }
    mean(
        sums.iter()
            .filter(|s| s[1] > 0.0 && s[3] > 0.0)
            .map(|s| s[0] / s[1] - s[2] / s[3]),
    )
}
