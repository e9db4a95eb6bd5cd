//! Regional weather: trainings, scores and forecasts of the session.

use crate::attend::attended;
use crate::errors::raised;
use crate::notebook::Notebook;
use fitzroy_cli::requests;
use fitzroy_session::face::Face;
use fitzroy_weather::train::Event;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What has happened since Python looked last: its kind, its numbers and its text.
type Happened = Vec<(&'static str, Vec<(&'static str, f64)>, String)>;

/// Notes as a training or a scoring tells them: kind and text.
type Notes = Vec<(&'static str, String)>;

/// How much is done of how much.
#[derive(Default)]
struct Done(Mutex<(usize, usize)>);

impl Done {
    fn set(&self, made: usize, all: usize) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = (made, all);
    }

    /// Tells Python, once it is known how much there is.
    fn tell(&self, py: Python<'_>, told: Option<&Py<PyAny>>) -> PyResult<()> {
        let (made, all) = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match told {
            Some(told) if all > 0 => told.call1(py, (made, all)).map(|_| ()),
            _ => Ok(()),
        }
    }
}

fn words_of(event: &Event<'_>) -> (&'static str, Vec<(&'static str, f64)>, String) {
    let none = String::new();
    match event {
        Event::Step {
            step,
            planned,
            epoch,
            loss,
            rate,
            norm,
            samples_per_s,
            eta_s,
            ..
        } => {
            let numbers = vec![
                ("step", *step as f64),
                ("planned", *planned as f64),
                ("epoch", *epoch as f64),
                ("loss", *loss),
                ("learning_rate", *rate),
                ("gradient_norm", *norm),
                ("samples_per_s", *samples_per_s),
                ("eta_s", *eta_s),
            ];
            ("step", numbers, none)
        }
        Event::Validation {
            step, loss, best, ..
        } => {
            let numbers = vec![
                ("step", *step as f64),
                ("loss", *loss),
                ("best", f64::from(u8::from(*best))),
            ];
            ("validation", numbers, none)
        }
        Event::Saved(path) => ("saved", Vec::new(), path.display().to_string()),
        Event::Note(text) => ("note", Vec::new(), text.to_string()),
    }
}

/// Trains by settings, as `name=value`; the document as JSON, and notes. `progress` is called with
/// what happens.
///
/// # Errors
/// What is wrong with settings or data.
#[pyfunction]
#[pyo3(signature = (words, progress=None))]
pub(crate) fn weather_train(
    py: Python<'_>,
    words: Vec<String>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(String, Notes)> {
    let (stop, face) = (AtomicBool::new(false), Arc::new(Notebook::new(false)));
    let shown: Arc<dyn Face> = face.clone();
    let happened = Mutex::new(Happened::new());
    let taken = || std::mem::take(&mut *happened.lock().unwrap_or_else(PoisonError::into_inner));
    let observer = |event: &Event<'_>| {
        let mut all = happened.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(words_of(event));
    };
    let tick = |py: Python<'_>| {
        let all = taken();
        let Some(told) = &progress else {
            return Ok(());
        };
        for (kind, numbers, text) in all {
            let what = PyDict::new(py);
            for (name, x) in numbers {
                what.set_item(name, x)?;
            }
            if !text.is_empty() {
                what.set_item("text", text)?;
            }
            told.call1(py, (kind, what))?;
        }
        Ok(())
    };
    let work = || requests::train(&words, &stop, &observer, &shown);
    let (trained, trouble) = attended(py, &stop, tick, work);
    let is_told = trouble.is_none();
    let document = trained.map_err(|error| trouble.unwrap_or_else(|| raised(error)))?;
    if is_told {
        tick(py)?;
    }
    Ok((document.to_string(), face.notes()))
}

/// Scores a checkpoint by settings; the document as JSON, its folder, whether it is ahead of its
/// rivals, and notes.
///
/// # Errors
/// What is wrong with settings or data; `KeyboardInterrupt`.
#[pyfunction]
#[pyo3(signature = (words, progress=None))]
pub(crate) fn weather_score(
    py: Python<'_>,
    words: Vec<String>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(String, PathBuf, bool, Notes)> {
    let (stop, face) = (AtomicBool::new(false), Arc::new(Notebook::new(false)));
    let shown: Arc<dyn Face> = face.clone();
    let done = Done::default();
    let tick = |py: Python<'_>| done.tell(py, progress.as_ref());
    let mut count = |made: usize, all: usize| {
        done.set(made, all);
        !stop.load(Ordering::Relaxed)
    };
    let work = || requests::score(&words, &shown, &mut count);
    let (scored, trouble) = attended(py, &stop, tick, work);
    if let Some(trouble) = trouble {
        return Err(trouble);
    }
    let scored = scored.map_err(raised)?;
    let scored = scored.expect("nothing ended it");
    let mut notes = face.notes();
    notes.extend(
        scored
            .evaluation
            .notes
            .iter()
            .map(|n| ("notice", n.to_string())),
    );
    Ok((
        scored.document.to_string(),
        scored.folder,
        scored.evaluation.passed(),
        notes,
    ))
}

/// Trains with every combination of settings: those with values that are tried, as `name=a,b`, the folder, and those that all
/// trials share; the document as JSON, and notes.
///
/// # Errors
/// What is wrong with settings or data; `KeyboardInterrupt`.
#[pyfunction]
#[pyo3(signature = (sweeps, out, words, progress=None))]
pub(crate) fn weather_tune(
    py: Python<'_>,
    sweeps: Vec<String>,
    out: PathBuf,
    words: Vec<String>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(String, Notes)> {
    let (stop, face) = (AtomicBool::new(false), Arc::new(Notebook::new(false)));
    let shown: Arc<dyn Face> = face.clone();
    let done = Done::default();
    let tick = |py: Python<'_>| done.tell(py, progress.as_ref());
    // One that begins is not done.
    let told = |number: usize, all: usize| done.set(number - 1, all);
    let work = || requests::tune(&sweeps, out, &words, &stop, &told, &shown);
    let (tuned, trouble) = attended(py, &stop, tick, work);
    if let Some(trouble) = trouble {
        return Err(trouble);
    }
    Ok((tuned.map_err(raised)?.to_string(), face.notes()))
}

/// Writes one step of a checkpoint as a model of ONNX by settings; the document as JSON, and notes.
///
/// # Errors
/// What is wrong with settings, data or the model.
#[pyfunction]
pub(crate) fn weather_export(py: Python<'_>, words: Vec<String>) -> PyResult<(String, Notes)> {
    let face = Notebook::new(false);
    let made = py.detach(|| requests::export(&words, &face));
    Ok((made.map_err(raised)?.to_string(), face.notes()))
}

/// Writes a forecast by settings; its file, its times, and notes.
///
/// # Errors
/// What is wrong with settings or data.
#[pyfunction]
pub(crate) fn weather_forecast(
    py: Python<'_>,
    words: Vec<String>,
) -> PyResult<(PathBuf, Vec<String>, Notes)> {
    let face = Notebook::new(false);
    let made = py.detach(|| requests::forecast(&words, &face));
    let (forecast, file) = made.map_err(raised)?;
    let times = forecast.times.iter().map(|t| t.iso()).collect();
    Ok((file, times, face.notes()))
}
