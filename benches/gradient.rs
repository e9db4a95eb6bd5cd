//! Value and gradient of log densities on one thread: the answer first, then the time.
//!
//!     cargo bench --bench gradient [-- [--seconds 2] [--repeats 25] [--only mixture] [--spin SECONDS]
//!         [--engine auto|interpreter|emitter] [--level Avx2]]
//!
//! Prints one JSON object: microseconds of one evaluation, its result copied out, in wall time and
//! in time on the processor, which other programs on the machine disturb less. Problems and
//! answers are those of `benches/peers/gradient.py`. `--spin` only evaluates, for a profiler.
#![allow(clippy::print_stdout)]

#[path = "problems/logistic.rs"]
mod logistic;
#[path = "problems/mixture.rs"]
mod mixture;
#[path = "problems/random.rs"]
mod random;

use fitzroy::data::{Dataset, read_file};
use fitzroy::model::Model;
use fitzroy::model::joint::{Coordinates, Joint};
use fitzroy_device::cpu::{Engine, Function, Workspace};
use fitzroy_device::lanes::Level;
use fitzroy_graph::Op;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Relative error of the value, and of a gradient element in units of the gradient's norm.
const BOUND: f64 = 1e-9;

/// A problem: its name, its model file, and the entry of `reference.json` it must reproduce.
struct Problem {
    name: &'static str,
    model: &'static str,
    data: fn() -> Dataset,
    /// None where the reference has other coordinates: the value is then held by the test suite.
    reference: Option<&'static str>,
}

const PROBLEMS: [Problem; 6] = [
    Problem {
        name: "eight-schools",
        model: "models/eight-schools.fz",
        data: || table("models/eight-schools.csv"),
        reference: Some("eight-schools"),
    },
    Problem {
        name: "hierarchical-noncentred",
        model: "models/hierarchical-noncentred.fz",
        data: || table("models/hierarchical.csv"),
        reference: Some("hierarchical-noncentred"),
    },
    Problem {
        name: "hierarchical-centred",
        model: "models/hierarchical.fz",
        data: || table("models/hierarchical.csv"),
        reference: None,
    },
    Problem {
        name: "artists",
        model: "models/artists.fz",
        data: || table("models/artists.json"),
        reference: Some("artists"),
    },
    Problem {
        name: "logistic",
        model: "benches/problems/logistic.fz",
        data: binary,
        reference: Some("logistic"),
    },
    Problem {
        name: "mixture",
        model: "benches/problems/mixture.fz",
        data: trials,
        reference: Some("mixture"),
    },
];

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn table(path: &str) -> Dataset {
    let mut data = Dataset::new();
    let arrays = read_file(repository(path)).expect("part of the repository");
    arrays.into_iter().for_each(|array| data.insert(array));
    data
}

fn binary() -> Dataset {
    let (x, y) = logistic::rows();
    let mut data = Dataset::new();
    data.insert_real("x", &[logistic::N_ROWS, logistic::N_COLUMNS], x);
    data.insert_real("y", &[logistic::N_ROWS], y);
    data
}

fn trials() -> Dataset {
    let (subject, ticks) = mixture::ticks();
    assert_eq!(random::checksum(&ticks), mixture::CHECKSUM);
    assert_eq!(ticks.len(), mixture::N_TRIALS);
    assert!(subject.iter().all(|&s| s < mixture::N_SUBJECTS));
    let (n, mut data) = (ticks.len(), Dataset::new());
    data.insert_real("rt", &[n], ticks.iter().map(|&t| t as f64 / 1e5).collect());
    data.insert_real("subject", &[n], subject.iter().map(|&s| s as f64).collect());
    data
}

/// A log density that fills a gradient, as a sampler calls it.
struct Density {
    joint: Joint,
    function: Function,
    workspace: Workspace,
    offsets: Vec<usize>,
}

impl Density {
    fn new(problem: &Problem) -> Density {
        let text = std::fs::read_to_string(repository(problem.model)).expect("it is there");
        let model = Model::parse(&text).expect("it parses");
        let binding = model.bind(&(problem.data)()).expect("it binds");
        let joint = Joint::new(&model, binding).expect("it builds");
        let graphs = joint.graphs(&vec![Coordinates::Centred; joint.plates().len()]);
        let mut outputs = vec![graphs.density];
        outputs.extend(graphs.gradient.iter().map(|p| p.adjoint));
        let engine = match option("--engine", String::new()).as_str() {
            "interpreter" => Engine::Interpreter,
            "emitter" => Engine::Emitter,
            _ => Engine::Auto,
        };
        let (graph, bindings) = (&graphs.graph, &graphs.bindings);
        let function =
            Function::compile_for(level(), engine, graph, bindings, &outputs).expect("it compiles");
        let offset = |p: &fitzroy_graph::Partial| match graphs.graph.node(p.param).op {
            Op::Param { offset } => offset,
            _ => panic!("a gradient is with respect to a parameter"),
        };
        Density {
            offsets: graphs.gradient.iter().map(offset).collect(),
            workspace: function.workspace(),
            function,
            joint,
        }
    }

    fn value_and_gradient(&mut self, at: &[f64], gradient: &mut [f64]) -> f64 {
        self.function.run(&mut self.workspace, at);
        for (k, &offset) in self.offsets.iter().enumerate() {
            let part = self.function.output(&self.workspace, k + 1);
            gradient[offset..offset + part.len()].copy_from_slice(part);
        }
        self.function.output(&self.workspace, 0)[0]
    }

    /// The coordinate that `name`, `name[3]` or `log(name)` stands for.
    fn place(&self, name: &str) -> usize {
        let name = name
            .strip_prefix("log(")
            .map_or(name, |n| &n[..n.len() - 1]);
        let (name, index) = match name.split_once('[') {
            Some((name, rest)) => (name, rest.trim_end_matches(']').parse().expect("an index")),
            None => (name, 0),
        };
        let mut parameters = self.joint.parameters().iter();
        let parameter = parameters.find(|p| p.name == name);
        parameter.expect("a parameter of the model").offset + index
    }

    /// Asserts value and gradient against the reference; returns the point and the worst error.
    fn check(&mut self, reference: &Value) -> (Vec<f64>, f64) {
        let reals = |key: &str| -> Vec<f64> {
            let list = reference[key].as_array().expect("a list");
            list.iter().map(|v| v.as_f64().expect("a number")).collect()
        };
        let names = reference["names"].as_array().expect("a list");
        let name = |n: &Value| self.place(n.as_str().expect("a name"));
        let places: Vec<usize> = names.iter().map(name).collect();
        let mut at = vec![f64::NAN; self.joint.n_params()];
        for (&place, x) in places.iter().zip(reals("point")) {
            at[place] = x;
        }
        let mut gradient = vec![f64::NAN; at.len()];
        let value = self.value_and_gradient(&at, &mut gradient);
        let number = |key: &str| reference[key].as_f64().expect("a number");
        let mut worst = (value / number("value") - 1.0).abs();
        for (&place, g) in places.iter().zip(reals("gradient")) {
            let error = (gradient[place] - g).abs() / number("gradient_norm");
            worst = if error < worst { worst } else { error };
        }
        assert!(worst < BOUND, "error {worst}, at most {BOUND} is allowed");
        (at, worst)
    }
}

/// Seconds that this thread has been running on a processor; NaN where the system does not say.
fn thread_seconds() -> f64 {
    // The kernel brings its count up to date when a thread gives way.
    std::thread::yield_now();
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let first = text.split_whitespace().next();
    first
        .and_then(|t| t.parse().ok())
        .map_or(f64::NAN, |ns: f64| ns * 1e-9)
}

/// Wall and processor microseconds of one call, batch by batch.
fn time(mut call: impl FnMut(), seconds: f64, repeats: usize) -> (usize, Vec<f64>, Vec<f64>) {
    let (start, mut n) = (Instant::now(), 0);
    while start.elapsed() < Duration::from_secs_f64(0.1 * seconds) {
        call();
        n += 1;
    }
    let batch = (n * 10 / repeats).max(10);
    let (mut wall, mut cpu) = (Vec::new(), Vec::new());
    for _ in 0..repeats {
        let (begin, busy) = (Instant::now(), thread_seconds());
        (0..batch).for_each(|_| call());
        cpu.push((thread_seconds() - busy) / batch as f64 * 1e6);
        wall.push(begin.elapsed().as_secs_f64() / batch as f64 * 1e6);
    }
    (batch, wall, cpu)
}

fn summary(mut times: Vec<f64>) -> Value {
    times.sort_by(f64::total_cmp);
    let at = |q: f64| times[(q * (times.len() - 1) as f64).round() as usize];
    json!({"median": at(0.5), "min": at(0.0), "q25": at(0.25), "q75": at(0.75), "max": at(1.0)})
}

/// The value after a flag, or the default.
fn option<T: std::str::FromStr>(flag: &str, default: T) -> T {
    let mut arguments = std::env::args().skip_while(|a| a != flag).skip(1);
    arguments
        .next()
        .and_then(|v| v.parse().ok())
        .unwrap_or(default)
}

/// The level asked for with `--level`, or the widest of this machine.
fn level() -> Level {
    let asked = option("--level", String::new());
    let all = Level::available();
    let found = all.into_iter().find(|l| format!("{l:?}") == asked);
    found.unwrap_or_else(Level::detect)
}

fn measure(problem: &Problem, all: &Value) -> Value {
    let begin = Instant::now();
    let mut density = Density::new(problem);
    let compile_s = begin.elapsed().as_secs_f64();
    let (mut at, worst) = match problem.reference {
        Some(name) => density.check(&all[name]),
        None => (vec![0.1; density.joint.n_params()], 0.0),
    };
    let mut gradient = vec![0.0; at.len()];
    let mut sum = 0.0;
    // Each point depends on the gradient before, as in a sampler, and stays where it is.
    let call = || {
        sum += density.value_and_gradient(&at, &mut gradient);
        at[0] += 1e-300 * gradient[0];
    };
    let spin = option("--spin", 0.0);
    let seconds = if spin > 0.0 {
        spin
    } else {
        option("--seconds", 2.0)
    };
    let (batch, wall, cpu) = time(call, seconds, option("--repeats", 25));
    assert!(sum.is_finite());
    json!({
        "engine": density.function.engine().name(), "note": density.function.engine_note(),
        "parameters": at.len(), "prepare_s": compile_s, "worst_error": worst, "calls": batch,
        "repeats": wall.len(), "wall_us": summary(wall), "cpu_us": summary(cpu),
    })
}

fn main() {
    let text = std::fs::read_to_string(repository("benches/peers/reference.json"));
    let all: Value = serde_json::from_str(&text.expect("it is there")).expect("valid JSON");
    let only: String = option("--only", String::new());
    let mut out = Map::new();
    for problem in PROBLEMS
        .iter()
        .filter(|p| only.is_empty() || p.name == only)
    {
        out.insert(problem.name.into(), measure(problem, &all));
    }
    let level = format!("{:?}", level());
    out.insert("simd".into(), json!(level));
    println!("{}", Value::Object(out));
}
