//! Simulated subjects: parameters from a population, trials by racing.

use crate::config::{Config, Task};
use crate::correlations::name_of;
use crate::params::{Kind, Parameter, Params};
use fitzroy::rng::{Purpose, Rng};
use serde_json::{Value, json};

/// One trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// 0 left, 1 right.
    pub stimulus: u8,
    /// 0 none, 1 left, 2 right.
    pub response: u8,
    /// Seconds; NaN without a response.
    pub rt: f64,
    /// Seconds; ∞ on go trials.
    pub ssd: f64,
}

/// Simulated subjects.
#[derive(Clone, Debug)]
pub struct Simulated {
    /// Parameters of each.
    pub params: Vec<Params>,
    /// Trials of each.
    pub trials: Vec<Vec<Trial>>,
}

/// Draws `n` subjects. Subject k depends on the seed and on k alone.
pub fn simulate(config: &Config, n: usize, seed: u64) -> Simulated {
    let mut made = Simulated {
        params: Vec::new(),
        trials: Vec::new(),
    };
    for subject in 0..n as u32 {
        let params = person(config, &mut Rng::new(seed, 0, subject, 0, Purpose::Data));
        let mut rng = Rng::new(seed, 0, subject, 1, Purpose::Data);
        made.trials.push(session(&params, &config.task, &mut rng));
        made.params.push(params);
    }
    made
}

/// X = median · e^(spread · z); probabilities likewise in probits.
fn person(config: &Config, rng: &mut Rng) -> Params {
    let all = config.kind.parameters();
    let mut z: Vec<f64> = all.iter().map(|_| rng.normal()).collect();
    if let Some(known) = &config.correlations {
        z = known.apply(&z);
    }
    let one = |(k, p): (usize, &Parameter)| {
        let (m, shift) = (config.population[k], config.spread[k] * z[k]);
        match p.probability {
            true => ndtr(ndtri(m) + shift),
            false => m * libm::exp(shift),
        }
    };
    Params {
        kind: config.kind,
        values: all.iter().enumerate().map(one).collect(),
    }
}

pub(crate) use fitzroy_graph::special::{ndtr, ndtri};

/// The trials of a subject, the stop trials at random places, delays by a staircase.
fn session(p: &Params, task: &Task, rng: &mut Rng) -> Vec<Trial> {
    let mut stop: Vec<bool> = (0..task.trials).map(|i| i < task.stop_trials).collect();
    for i in (1..stop.len()).rev() {
        stop.swap(i, (rng.uniform() * (i + 1) as f64) as usize);
    }
    let micro = |x: f64| (x * 1e6).round() / 1e6;
    let mut ssd = task.ssd_start;
    let trial = |is_stop: bool| {
        let delay = if is_stop { ssd } else { f64::INFINITY };
        let stimulus = u8::from(rng.coin());
        let (choice, rt) = outcome(
            p,
            delay,
            [task.stop_lb, task.go_lb],
            task.response_window,
            rng,
        );
        if is_stop {
            let way = if choice == 0 {
                task.ssd_step
            } else {
                -task.ssd_step
            };
            ssd = micro((ssd + way).clamp(task.ssd_min, task.ssd_max));
        }
        let response = match choice {
            0 => 0,
            1 => stimulus + 1,
            _ => 2 - stimulus,
        };
        Trial {
            stimulus,
            response,
            rt: micro(rt),
            ssd: delay,
        }
    };
    stop.into_iter().map(trial).collect()
}

/// One trial at a delay (∞: go): 0 none, 1 match, 2 mismatch, and the response time. `ends` are the
/// lower ends of stop times and of ex-Gaussian go times.
pub fn outcome(p: &Params, ssd: f64, ends: [f64; 2], window: f64, rng: &mut Rng) -> (u8, f64) {
    let [pgf, ptf] = ["pgf", "ptf"].map(|name| p.get(name));
    // All numbers are drawn on every trial, so that one change moves no later trial's numbers.
    let (fails, misses) = (rng.uniform() < pgf, rng.uniform() < ptf);
    let [stop_lb, go_lb] = ends;
    let [plus, minus] = match p.kind {
        Kind::Rdex => raced(p, ssd, rng),
        _ => ex_gaussian_times(p, go_lb, rng),
    };
    let rt = plus.min(minus);
    let stop = match ssd.is_finite() && !misses {
        true => ssd + ex_gaussian(times(p, "stop"), stop_lb, rng),
        false => f64::INFINITY,
    };
    match fails || stop <= rt || rt > window {
        true => (0, f64::NAN),
        false => (1 + u8::from(minus < plus), rt),
    }
}

/// Times of right and wrong response by accumulators whose rates depend on the delay.
fn raced(p: &Params, ssd: f64, rng: &mut Rng) -> [f64; 2] {
    let names = ["B", "t0", "v_plus", "v_minus", "v0", "g"];
    let [b, t0, v_plus, v_minus, v0, g] = names.map(|name| p.get(name));
    let reach = g * ssd;
    let rate = |v: f64| match ssd.is_finite() {
        true => v0 + (v - v0).max(-reach).min(reach),
        false => v,
    };
    [v_plus, v_minus].map(|v| t0 + wald(b, rate(v), rng))
}

/// Times of right and wrong response, the latter ∞ where there is one go time.
fn ex_gaussian_times(p: &Params, lower: f64, rng: &mut Rng) -> [f64; 2] {
    let plus = ex_gaussian(times(p, "go"), lower, rng);
    let minus = match p.kind.is_single() {
        true => f64::INFINITY,
        false => ex_gaussian(times(p, "error"), lower, rng),
    };
    [plus, minus]
}

/// μ, σ and τ of a process.
fn times(p: &Params, of: &str) -> [f64; 3] {
    ["mu", "sigma", "tau"].map(|what| p.get(&format!("{of}_{what}")))
}

/// A Wald time of mean b/v and shape b² (Michael, Schucany and Haas, American Statistician 30
/// (1976), 88–90, in a form that does not cancel). ∞ for v = 0 is kept out by a least rate.
fn wald(b: f64, v: f64, rng: &mut Rng) -> f64 {
    let mean = b / v.max(1e-9);
    let y = rng.normal();
    let a = mean * y * y / (2.0 * b * b);
    let x = mean / (1.0 + a + (2.0 * a + a * a).sqrt());
    match rng.uniform() * (mean + x) <= mean {
        true => x,
        false => mean * mean / x,
    }
}

fn ex_gaussian([mu, sigma, tau]: [f64; 3], lower: f64, rng: &mut Rng) -> f64 {
    for _ in 0..100_000 {
        let x = mu + sigma * rng.normal() + tau * rng.exponential();
        if x > lower {
            return x;
        }
    }
    lower
}

/// A number of seconds as short as microseconds allow, empty where there is none.
fn shown(x: f64) -> String {
    match x.is_finite() {
        true => {
            let text = format!("{x:.6}");
            text.trim_end_matches('0').trim_end_matches('.').to_string()
        }
        false => String::new(),
    }
}

impl Simulated {
    /// Names of the subjects: s001, s002, ...
    pub fn names(&self) -> Vec<String> {
        (1..=self.params.len())
            .map(|k| format!("s{k:03}"))
            .collect()
    }

    /// `subject,stimulus,response,rt,ssd`
    pub fn csv(&self) -> String {
        let mut out = String::from("subject,stimulus,response,rt,ssd\n");
        for (name, trials) in self.names().iter().zip(&self.trials) {
            for t in trials {
                let (rt, ssd) = (shown(t.rt), shown(t.ssd));
                out += &format!("{name},{},{},{rt},{ssd}\n", t.stimulus, t.response);
            }
        }
        out
    }

    /// The true parameters, of every subject and of the population.
    pub fn truth(&self, config: &Config, seed: u64) -> Value {
        let mut params = serde_json::Map::new();
        let mut population = serde_json::Map::new();
        for (k, p) in config.kind.parameters().iter().enumerate() {
            let of: Vec<f64> = self.params.iter().map(|s| s.values[k]).collect();
            params.insert(p.name.into(), json!(of));
            let m = config.population[k];
            let (mu, m) = match p.probability {
                true => (p.centre_name(), ndtri(m)),
                false => (format!("mu_{}", p.name), m),
            };
            population.insert(mu, json!(m));
            population.insert(p.spread_name(), json!(config.spread[k]));
        }
        for &(i, j, r) in config.correlations.iter().flat_map(|known| &known.pairs) {
            let all = config.kind.parameters();
            population.insert(name_of(&all[i], &all[j]), json!(r));
        }
        let ssrt: Vec<f64> = self.params.iter().map(Params::ssrt).collect();
        params.insert("ssrt".into(), json!(ssrt));
        json!({"model": config.kind.name(), "seed": seed, "subjects": self.names(), "params": params,
               "population": population})
    }
}
