//! Stop-signal tasks: simulated, and fitted by the session.

use crate::errors::raised;
use crate::sampling::{Run, settings_of};
use fitzroy::model::Model;
use fitzroy::run::CoordinateChoice;
use fitzroy::{Error, ErrorKind, Named};
use fitzroy_session::stop_signal::StudyFit;
use fitzroy_stop_signal::config::{Config, default_of};
use fitzroy_stop_signal::data::{self, Options};
use fitzroy_stop_signal::model::Kind;
use fitzroy_stop_signal::simulate::simulate;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Trials of `n` subjects as CSV, and the true parameters as JSON; `config` as TOML or JSON, or that
/// which comes along for `model`.
///
/// # Errors
/// The configuration is wrong, or no model of stopping has that name.
#[pyfunction]
pub(crate) fn simulated(
    py: Python<'_>,
    config: Option<&str>,
    model: &str,
    n: usize,
    seed: u64,
) -> PyResult<(String, String)> {
    let named = Kind::named(model).filter(|kind| kind.stops());
    let kind = named.ok_or_else(|| {
        let known = Kind::OF_STOPPING.map(Kind::name).join(", ");
        let message = format!("⟨model {model}⟩: cannot be simulated; there are {known}");
        raised(Error::new(ErrorKind::Usage, message))
    })?;
    let config = Config::parse(config.unwrap_or(default_of(kind))).map_err(raised)?;
    Ok(py.detach(|| {
        let made = simulate(&config, n, seed);
        (made.csv(), made.truth(&config, seed).to_string())
    }))
}

/// Fits a study, the bytes of a CSV file called `source`; `words` are settings of the model and of
/// reading, `settings` those of a run. Its result has also `warnings` of the data and `text`, the
/// model.
///
/// # Errors
/// What is wrong with data or settings; `KeyboardInterrupt` before the first draw.
#[pyfunction]
#[pyo3(signature = (study, source, words, settings, progress=None))]
pub(crate) fn stop_signal_fit<'py>(
    py: Python<'py>,
    study: &[u8],
    source: &str,
    words: Vec<String>,
    settings: &Bound<'py, PyDict>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let asked = py.detach(|| {
        let read = |options: &Options| data::parse(study, source, options);
        fitzroy_cli::requests::stop_signal_fit(&words, read)
    });
    let (spec, study) = asked.map_err(raised)?;
    let text = spec.text();
    let model = Model::parse(&text).map_err(raised)?;
    let data = spec.data(&study);
    let given = settings_of(settings)?;
    let fit = StudyFit {
        spec: &spec,
        study: &study,
        n_chains: given.sampler.chains,
        as_written: given.coordinates == CoordinateChoice::AsWritten,
    };
    let run = Run::new(settings, progress)?;
    let given = fit.settings(given);
    let out = run.sampled(py, &model, &data, given, "stop-signal", |s| fit.run(s))?;
    out.set_item("warnings", &study.warnings)?;
    out.set_item("text", text)?;
    Ok(out)
}
