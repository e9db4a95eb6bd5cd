//! Where the time of some steps goes: a table, and a trace that browsers draw.

use fitzroy_device::nn::{Clock, Network, Pass, Span};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Steps that are looked at, after the first.
const STEPS: u64 = 20;

/// Something that took time.
#[derive(Clone, Debug, PartialEq)]
pub struct Timed {
    /// What: a block of the network, or a part of the loop.
    pub name: String,
    /// `step`, `embed`, `forward`, `again` or `backward`.
    pub pass: &'static str,
    /// When it began.
    pub start_s: f64,
    /// When it had ended.
    pub end_s: f64,
    /// Floating-point operations, where they are counted.
    pub flops: u64,
}

/// The steps that were looked at.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// All that took time, in order.
    pub parts: Vec<Timed>,
    /// Steps.
    pub steps: u64,
}

/// Collects a [`Profile`] while training goes on.
pub(super) struct Profiler {
    clock: Clock,
    profile: Profile,
    blocks: Vec<(String, u64)>,
}

impl Profiler {
    pub(super) fn new(clock: Clock, network: &Network, batch: usize) -> Self {
        Profiler {
            clock,
            profile: Profile::default(),
            blocks: network.blocks(batch),
        }
    }

    pub(super) fn now(&self) -> f64 {
        (self.clock)()
    }

    /// The clock for the network, while steps are wanted.
    pub(super) fn clock(&self, step: u64) -> Option<Clock> {
        self.wants(step).then(|| self.clock.clone())
    }

    /// The first step allocates, and is not looked at.
    pub(super) fn wants(&self, step: u64) -> bool {
        step > 0 && self.profile.steps < STEPS
    }

    /// Whether all steps have been looked at.
    pub(super) fn is_done(&self) -> bool {
        self.profile.steps >= STEPS
    }

    /// A part of the loop, from `start_s` to now.
    pub(super) fn add(&mut self, name: &str, start_s: f64) {
        let end_s = self.now();
        self.profile.parts.push(Timed {
            name: name.into(),
            pass: "step",
            start_s,
            end_s,
            flops: 0,
        });
    }

    /// The blocks of a step, which has ended.
    pub(super) fn end_step(&mut self, spans: &[Span]) {
        for span in spans {
            let Some((name, multiply_adds)) = self.blocks.get(span.block) else {
                continue;
            };
            let (pass, flops) = match span.pass {
                Pass::Embed => ("embed", 2 * multiply_adds),
                Pass::Forward => ("forward", 2 * multiply_adds),
                Pass::Again => ("again", 2 * multiply_adds),
                Pass::Backward => ("backward", 4 * multiply_adds),
            };
            self.profile.parts.push(Timed {
                name: name.clone(),
                pass,
                start_s: span.start_s,
                end_s: span.end_s,
                flops,
            });
        }
        self.profile.steps += 1;
    }

    pub(super) fn finish(self) -> Profile {
        self.profile
    }
}

impl Profile {
    /// A trace of events as `chrome://tracing` and Perfetto read it; times in microseconds.
    pub fn trace(&self) -> Value {
        let first = self.parts.iter().map(|p| p.start_s);
        let first = first.fold(f64::INFINITY, f64::min);
        let event = |p: &Timed| {
            json!({
                "name": p.name, "cat": p.pass, "ph": "X", "pid": 1, "tid": 1,
                "ts": 1e6 * (p.start_s - first), "dur": 1e6 * (p.end_s - p.start_s),
            })
        };
        json!({
            "displayTimeUnit": "ms",
            "traceEvents": self.parts.iter().map(event).collect::<Vec<Value>>(),
        })
    }

    /// Milliseconds a step by what took them, the longest first.
    pub fn table(&self) -> String {
        let mut sums: BTreeMap<(&str, &str), (f64, u64)> = BTreeMap::new();
        let (mut loop_s, mut inside_s) = (0.0, 0.0);
        for part in &self.parts {
            let seconds = part.end_s - part.start_s;
            if part.pass == "step" {
                loop_s += seconds;
            } else {
                inside_s += seconds;
            }
            // Forward and backward stands for its blocks, which are listed.
            if part.name != LEARN {
                let sum = sums.entry((&part.name, part.pass)).or_default();
                *sum = (sum.0 + seconds, sum.1 + part.flops);
            } else {
                sums.entry(("inputs, loss and its slope", "step"))
                    .or_default()
                    .0 += seconds;
            }
        }
        if let Some(rest) = sums.get_mut(&("inputs, loss and its slope", "step")) {
            rest.0 -= inside_s;
        }
        let mut rows: Vec<_> = sums.into_iter().collect();
        rows.sort_by(|a, b| b.1.0.total_cmp(&a.1.0));
        let per_step = 1e3 / self.steps.max(1) as f64;
        let mut out = format!(
            "{:.2} ms a step, over {} steps\n{:>9}{:>8}{:>9}  what\n",
            loop_s * per_step,
            self.steps,
            "ms",
            "share",
            "GFLOP/s"
        );
        for ((name, pass), (seconds, flops)) in rows {
            let rate = match flops {
                0 => "–".to_string(),
                n => format!("{:.1}", n as f64 / seconds / 1e9),
            };
            let pass = if pass == "step" { "" } else { pass };
            let _ = writeln!(
                out,
                "{:9.3}{:6.1} %{rate:>9}  {name} {pass}",
                seconds * per_step,
                100.0 * seconds / loop_s
            );
        }
        out
    }
}

/// The part of the loop that the network is at work in.
pub(super) const LEARN: &str = "forward and backward";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_took_longest_stands_first_and_the_rest_is_named() {
        let part = |name: &str, pass, start_s, end_s, flops| Timed {
            name: name.into(),
            pass,
            start_s,
            end_s,
            flops,
        };
        let profile = Profile {
            parts: vec![
                part("wait for data", "step", 5.0, 5.001, 0),
                part(LEARN, "step", 5.001, 5.009, 0),
                part("decode", "forward", 5.002, 5.004, 4_000_000),
                part("decode", "backward", 5.004, 5.008, 8_000_000),
            ],
            steps: 1,
        };
        let table = profile.table();
        let lines: Vec<&str> = table.lines().collect();
        assert!(lines[0].starts_with("9.00 ms a step"), "{table}");
        assert!(lines[2].ends_with("decode backward") && lines[2].contains("2.0"));
        assert!(lines[3].ends_with("decode forward"), "{table}");
        assert!(table.contains("2.000") && table.contains("inputs, loss"));
        let events = profile.trace();
        let first = &events["traceEvents"][0];
        assert_eq!(
            (first["ts"].as_f64(), first["ph"].as_str()),
            (Some(0.0), Some("X"))
        );
    }
}
