//! What the simulator is told: a population and a task, as TOML (or JSON).

use crate::correlations::Known;
use crate::model::Spec;
use crate::params::Kind;
use fitzroy::{Error, ErrorKind, Named, Result};
use serde_json::Value;

/// The configuration of RDEX-ABCD that comes along, with comments.
pub const DEFAULT: &str = include_str!("../default.toml");

/// The configuration of a model of stopping that comes along, with comments.
pub fn default_of(kind: Kind) -> &'static str {
    match kind {
        Kind::ExGaussian => include_str!("../ex-gaussian.toml"),
        Kind::ExGaussianSingle => include_str!("../ex-gaussian-single.toml"),
        _ => DEFAULT,
    }
}

/// A population of subjects and the task they do.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The model.
    pub kind: Kind,
    /// Medians over subjects, in the order of [`Kind::parameters`].
    pub population: Vec<f64>,
    /// Standard deviations of logarithms; of probits for pgf and ptf.
    pub spread: Vec<f64>,
    /// Correlations between subjects' parameters, on the scale of logarithms or probits.
    pub correlations: Option<Known>,
    /// The task.
    pub task: Task,
}

/// A stop-signal task; times in seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// All trials.
    pub trials: usize,
    /// Stop trials among them.
    pub stop_trials: usize,
    /// First stop-signal delay.
    pub ssd_start: f64,
    /// Up after no response, down after a response.
    pub ssd_step: f64,
    /// Shortest delay.
    pub ssd_min: f64,
    /// Longest delay.
    pub ssd_max: f64,
    /// Lower end of the stop time; −∞ for none.
    pub stop_lb: f64,
    /// Lower end of the go times of an ex-Gaussian race.
    pub go_lb: f64,
    /// Responses later than this are not counted; ∞ for none.
    pub response_window: f64,
}

impl Config {
    /// Reads TOML, or JSON if the text starts with `{`.
    ///
    /// # Errors
    /// The text is neither; a key is missing, unknown, or out of range.
    pub fn parse(text: &str) -> Result<Config> {
        let all = parse(text)?;
        let known = ["model", "population", "spread", "correlations", "task"];
        only(&all, "the configuration", &known)?;
        let kind = match all.get("model") {
            None => Kind::Rdex,
            Some(model) => simulated(model)?,
        };
        let population = numbers(&all, kind, "population")?;
        let spread = numbers(&all, kind, "spread")?;
        for (p, (x, s)) in kind.parameters().iter().zip(population.iter().zip(&spread)) {
            let name = p.name;
            let fine = *x > 0.0 && !(p.probability && *x >= 1.0);
            if !(fine || name == "g" && *x == 0.0) {
                let most = if p.probability { " and below 1" } else { "" };
                return Err(wrong(format!(
                    "population.{name} is {x}; it must be above 0{most}"
                )));
            }
            if !(*s >= 0.0) {
                return Err(wrong(format!("spread.{name} is {s}; it must be 0 or more")));
            }
        }
        let correlations = all
            .get("correlations")
            .map(|table| Known::parse(kind, table));
        let empty = Value::Object(serde_json::Map::new());
        let task = Task::parse(all.get("task").unwrap_or(&empty))?;
        Ok(Config {
            kind,
            population,
            spread,
            correlations: correlations.transpose()?,
            task,
        })
    }
}

impl Config {
    /// The model that such data are fitted with.
    pub fn spec(&self) -> Spec {
        Spec {
            stop_lb: self.task.stop_lb,
            go_lb: self.task.go_lb,
            deadline: self.task.response_window,
            ..Spec::new(self.kind)
        }
    }
}

impl Task {
    fn parse(table: &Value) -> Result<Task> {
        let known = [
            "trials",
            "stop_trials",
            "ssd_start",
            "ssd_step",
            "ssd_min",
            "ssd_max",
            "stop_lb",
            "go_lb",
            "response_window",
        ];
        only(table, "[task]", &known)?;
        let number = |key: &str, default: f64| match table.get(key) {
            None | Some(Value::Null) => Ok(default),
            Some(value) => finite(value, &format!("task.{key}")),
        };
        let whole = |key: &str, default: f64| -> Result<usize> {
            let x = number(key, default)?;
            if x.fract() != 0.0 || !(0.0..=1e6).contains(&x) {
                return Err(wrong(format!(
                    "task.{key} is {x}; it must be a whole number"
                )));
            }
            Ok(x as usize)
        };
        let task = Task {
            trials: whole("trials", 360.0)?,
            stop_trials: whole("stop_trials", 60.0)?,
            ssd_start: number("ssd_start", 0.05)?,
            ssd_step: number("ssd_step", 0.05)?,
            ssd_min: number("ssd_min", 0.0)?,
            ssd_max: number("ssd_max", 0.9)?,
            stop_lb: number("stop_lb", 0.05)?,
            go_lb: number("go_lb", 0.05)?,
            response_window: number("response_window", f64::INFINITY)?,
        };
        let fine = task.stop_trials <= task.trials
            && task.trials > 0
            && 0.0 <= task.ssd_min
            && task.ssd_min <= task.ssd_start
            && task.ssd_start <= task.ssd_max
            && task.ssd_step >= 0.0
            && task.go_lb >= 0.0
            && task.response_window > 0.0;
        match fine {
            true => Ok(task),
            false => Err(wrong(
                "[task]: needs stop_trials ≤ trials, 0 ≤ ssd_min ≤ ssd_start ≤ ssd_max, ssd_step \
                 ≥ 0, go_lb ≥ 0 and response_window > 0"
                    .into(),
            )),
        }
    }
}

/// TOML or JSON as one tree.
pub(crate) fn parse(text: &str) -> Result<Value> {
    if text.trim_start().starts_with('{') {
        return serde_json::from_str(text).map_err(|e| wrong(format!("not JSON: {e}")));
    }
    let table: toml::Table = text
        .parse()
        .map_err(|e: toml::de::Error| wrong(format!("not TOML: {}", e.to_string().trim_end())))?;
    Ok(json(toml::Value::Table(table)))
}

fn json(value: toml::Value) -> Value {
    use toml::Value as T;
    match value {
        T::Table(table) => Value::Object(table.into_iter().map(|(k, v)| (k, json(v))).collect()),
        T::Array(items) => Value::Array(items.into_iter().map(json).collect()),
        T::Float(x) => Value::from(x),
        T::Integer(x) => Value::from(x as f64),
        T::Boolean(x) => Value::from(x),
        T::String(x) => Value::from(x),
        T::Datetime(x) => Value::from(x.to_string()),
    }
}

/// A model that can be simulated, by name.
fn simulated(model: &Value) -> Result<Kind> {
    let named = model.as_str().and_then(Kind::named);
    named.filter(|kind| kind.stops()).ok_or_else(|| {
        let known = Kind::OF_STOPPING.map(|k| format!("\"{}\"", k.name()));
        wrong(format!(
            "model is {model}; the simulator knows {}",
            known.join(", ")
        ))
    })
}

fn numbers(all: &Value, kind: Kind, key: &str) -> Result<Vec<f64>> {
    let names = kind.parameter_names();
    let Some(table) = all.get(key) else {
        return Err(wrong(format!(
            "[{key}] is missing; it needs {}",
            names.join(", ")
        )));
    };
    only(table, &format!("[{key}]"), &names)?;
    let one = |name: &&str| match table.get(name) {
        Some(value) => finite(value, &format!("{key}.{name}")),
        None => Err(wrong(format!("{key}.{name} is missing"))),
    };
    names.iter().map(one).collect()
}

/// Refuses keys that nothing would be done with.
pub(crate) fn only(table: &Value, whole: &str, known: &[&str]) -> Result<()> {
    let Value::Object(map) = table else {
        return Err(wrong(format!(
            "{whole} must be a table of names and values"
        )));
    };
    match map.keys().find(|k| !known.contains(&k.as_str())) {
        Some(key) => Err(wrong(format!(
            "{whole} has no `{key}`; it has {}",
            known.join(", ")
        ))),
        None => Ok(()),
    }
}

pub(crate) fn finite(value: &Value, name: &str) -> Result<f64> {
    match value.as_f64().filter(|x| x.is_finite()) {
        Some(x) => Ok(x),
        None => Err(wrong(format!("{name} is {value}; it must be a number"))),
    }
}

pub(crate) fn wrong(message: String) -> Error {
    Error::new(ErrorKind::Data, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_read_and_what_is_wrong_is_named() {
        let default = Config::parse(DEFAULT).expect("it comes along");
        assert_eq!((default.task.trials, default.population[0]), (360, 1.25));
        for kind in Kind::OF_STOPPING {
            let own = Config::parse(default_of(kind)).expect("it comes along");
            assert_eq!(
                (own.kind, own.population.len()),
                (kind, kind.parameters().len())
            );
        }
        let other = format!("model = \"wald\"\n{DEFAULT}");
        let other = Config::parse(&other).expect_err("refused").to_string();
        assert!(
            other.contains("knows \"rdex-abcd\", \"ex-gaussian\""),
            "{other}"
        );
        let message = |from: &str, to: &str| {
            let text = DEFAULT.replace(from, to);
            assert_ne!(text, DEFAULT);
            Config::parse(&text).expect_err("refused").to_string()
        };
        assert!(message("t0 = 0.15", "t00 = 0.15").contains("has no `t00`"));
        assert!(message("t0 = 0.15", "").contains("population.t0 is missing"));
        assert!(message("pgf = 0.03", "pgf = 1.5").contains("population.pgf is 1.5"));
        assert!(message("trials = 360", "trials = 36.5").contains("whole number"));
        assert!(message("stop_trials = 60", "stop_trials = 600").contains("stop_trials ≤ trials"));
        assert!(message("[task]", "[task").contains("not TOML"));
        assert!(
            Config::parse("{\"task\": 3")
                .expect_err("refused")
                .to_string()
                .contains("JSON")
        );
    }
}
