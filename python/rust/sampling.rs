//! Sampling of a model text.

use crate::arrays::{attributes, dataset, group, labels};
use crate::attend::attended;
use crate::devices::request;
use crate::errors::{named, raised, spelled};
use crate::notebook::Notebook;
use crate::traces::{Source as Given, words_of, worked};
use fitzroy::ErrorKind;
use fitzroy::data::Dataset;
use fitzroy::draws::Trace;
use fitzroy::fit::sample::Init;
use fitzroy::model::joint::Rewrites;
use fitzroy::model::{Model, Role};
use fitzroy::run::{Caller, CoordinateChoice, Settings, predict};
use fitzroy_session::device::Request;
use fitzroy_session::face::Face;
use fitzroy_session::{Fit, Sampling, Source, Text, memory_limit};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The model as the library writes it.
///
/// # Errors
/// What is wrong with the text, with its place.
#[pyfunction]
pub(crate) fn canonical(text: &str) -> PyResult<String> {
    Model::parse(text)
        .map(|model| model.to_string())
        .map_err(raised)
}

/// The data that `text` declares: of each its name, its dims, and the dim that it indexes; then all
/// dims.
///
/// # Errors
/// What is wrong with the text, with its place.
#[pyfunction]
pub(crate) fn declared(text: &str) -> PyResult<(Vec<Declared>, Vec<String>)> {
    let model = Model::parse(text).map_err(raised)?;
    let symbols = model.symbols().iter();
    let data = symbols.filter(|(_, symbol)| symbol.role == Role::Data);
    let data = data.map(|(name, s)| (name.clone(), s.dims.clone(), s.indexes.clone()));
    let dims = model.dims().iter().map(|dim| dim.text.clone());
    Ok((data.collect(), dims.collect()))
}

/// A name, its dims, and the dim that it indexes.
type Declared = (String, Vec<String>, Option<String>);

/// Samples `text` bound to `data`; `settings` are those of the run, by name.
///
/// # Errors
/// What is wrong with model, data or settings; `KeyboardInterrupt` before the first draw.
#[pyfunction]
#[pyo3(signature = (text, data, settings, progress=None))]
pub(crate) fn sample<'py>(
    py: Python<'py>,
    text: &str,
    data: &Bound<'py, PyDict>,
    settings: &Bound<'py, PyDict>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let model = Model::parse(text).map_err(raised)?;
    let data = dataset(data)?;
    let run_settings = settings_of(settings)?;
    let run = Run::new(settings, progress)?;
    run.sampled(py, &model, &data, run_settings, "model", |s| s.run())
}

/// What `text`, fitted with `draws`, predicts for `data`; parameters in `redraw` are drawn from their priors.
///
/// # Errors
/// What is wrong with model, draws or data.
#[pyfunction]
pub(crate) fn predicted<'py>(
    py: Python<'py>,
    text: &str,
    draws: &Bound<'py, PyAny>,
    data: &Bound<'py, PyDict>,
    redraw: Vec<String>,
    settings: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyDict>> {
    let model = Model::parse(text).map_err(raised)?;
    let data = dataset(data)?;
    let settings = settings_of(settings)?;
    let source = Given::new(draws)?;
    let made = worked(py, || {
        let redraw: Vec<&str> = redraw.iter().map(String::as_str).collect();
        predict(
            &model,
            &source.whole()?,
            &data,
            &redraw,
            &settings,
            &Caller::silent(),
        )
    })?;
    let out = PyDict::new(py);
    trace_of(py, &out, made)?;
    Ok(out)
}

/// A run as Python asks for it.
pub(crate) struct Run<'a, 'py> {
    settings: &'a Bound<'py, PyDict>,
    progress: Option<Py<PyAny>>,
    face: Arc<Notebook>,
    request: Request,
}

impl<'a, 'py> Run<'a, 'py> {
    /// By `settings`; `progress` is told how chains stand, and may raise to stop.
    pub(crate) fn new(
        settings: &'a Bound<'py, PyDict>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        Ok(Run {
            settings,
            face: Arc::new(Notebook::new(progress.is_some())),
            request: request(settings)?,
            progress,
        })
    }

    /// Has `work` sample a model; `name` stands for it in reports unless it is given one.
    pub(crate) fn sampled<'m>(
        self,
        py: Python<'py>,
        model: &'m Model,
        data: &'m Dataset,
        run_settings: Settings,
        name: &str,
        work: impl for<'r> FnOnce(Sampling<'r, Text<'m>>) -> fitzroy::Result<Fit> + Send,
    ) -> PyResult<Bound<'py, PyDict>> {
        let sampling = fitzroy_session::sample(model, data).settings(run_settings);
        self.ran(py, sampling.name(name), work)
    }

    /// Has `work` run what has its settings.
    ///
    /// # Errors
    /// Those of the session; `KeyboardInterrupt` before the first draw.
    pub(crate) fn ran<W: Source + Send>(
        self,
        py: Python<'py>,
        sampling: Sampling<'_, W>,
        work: impl for<'r> FnOnce(Sampling<'r, W>) -> fitzroy::Result<Fit> + Send,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (settings, face) = (self.settings, &self.face);
        let stop = AtomicBool::new(false);
        let shown: Arc<dyn Face> = face.clone();
        let mut sampling = sampling.request(self.request).face(shown).stop(&stop);
        if let Some(name) = given::<String>(settings, "name")? {
            sampling = sampling.name(name);
        }
        if let Some(folder) = given::<PathBuf>(settings, "out")? {
            sampling = sampling
                .folder(folder)
                .overwrite(given(settings, "overwrite")?.unwrap_or(false))
                .resume(given(settings, "resume")?.unwrap_or(false))
                .report(given(settings, "report")?.unwrap_or(true));
        }
        if let Some(seconds) = given(settings, "publish_every")? {
            sampling = sampling.publish_every(seconds);
        }
        let tick = |py: Python<'_>| match (&self.progress, face.counts()) {
            (Some(told), Some((done, divergences, total))) => {
                told.call1(py, (done, divergences, total)).map(|_| ())
            }
            _ => Ok(()),
        };
        let (ran, trouble) = attended(py, &stop, tick, || work(sampling));
        let mut fit = match (ran, trouble) {
            (Ok(fit), trouble) => {
                // How the chains ended, of runs that were shorter than a look. A finished run is not
                // lost because somebody does not like to hear of it.
                if trouble.is_none() {
                    let _ = tick(py);
                }
                fit
            }
            (Err(error), Some(trouble)) if error.kind() == ErrorKind::Interrupted => {
                return Err(trouble);
            }
            (Err(error), _) => return Err(raised(error)),
        };
        let out = PyDict::new(py);
        told(py, &out, &fit)?;
        out.set_item("diagnosis", words_of(&fit.diagnosis))?;
        out.set_item("notes", face.notes())?;
        trace_of(py, &out, std::mem::take(&mut fit.trace))?;
        Ok(out)
    }
}

/// What there is to say of a run besides its draws.
fn told(py: Python<'_>, out: &Bound<'_, PyDict>, fit: &Fit) -> PyResult<()> {
    out.set_item("interrupted", fit.interrupted)?;
    let group = fit
        .trace
        .groups
        .iter()
        .find(|g| ["posterior", "prior"].contains(&&*g.name));
    let first = group.and_then(|g| g.variables.first());
    let n_draws = match &fit.outcome {
        Some(outcome) => outcome.n_draws(),
        None => first.and_then(|v| v.shape.get(1).copied()).unwrap_or(0),
    };
    out.set_item("n_draws", n_draws)?;
    let times = PyDict::new(py);
    for name in ["compile", "warmup", "sampling", "collecting"] {
        let seconds = fit.document["timing_s"][name].as_f64();
        times.set_item(name, seconds.unwrap_or(0.0))?;
    }
    out.set_item("timing", times)?;
    out.set_item("folder", fit.folder.as_ref())?;
    let found = &fit.diagnosis;
    out.set_item("verdict", found.verdict().word().to_lowercase())?;
    let findings = found.findings.iter();
    let findings = findings.map(|f| (format!("{:?}", f.weight).to_lowercase(), spelled(&f.fact)));
    out.set_item("findings", findings.collect::<Vec<_>>())
}

/// Groups, coordinates and attributes.
pub(crate) fn trace_of(py: Python<'_>, out: &Bound<'_, PyDict>, trace: Trace) -> PyResult<()> {
    let groups = PyDict::new(py);
    let of_groups = PyDict::new(py);
    for mut one in trace.groups {
        let name = one.name.clone();
        of_groups.set_item(&name, attributes(py, std::mem::take(&mut one.attributes))?)?;
        groups.set_item(&name, group(py, one)?)?;
    }
    out.set_item("groups", groups)?;
    out.set_item("group_attributes", of_groups)?;
    let coords = PyDict::new(py);
    for (name, values) in trace.coords {
        coords.set_item(name, labels(py, values)?)?;
    }
    out.set_item("coords", coords)?;
    out.set_item("attributes", attributes(py, trace.attributes)?)
}

/// A setting, if it is given.
pub(crate) fn given<'py, T>(settings: &Bound<'py, PyDict>, name: &str) -> PyResult<Option<T>>
where
    T: for<'a> FromPyObject<'a, 'py, Error: Into<PyErr>>,
{
    match settings.get_item(name)? {
        Some(value) if !value.is_none() => Ok(Some(value.extract().map_err(Into::into)?)),
        _ => Ok(None),
    }
}

/// Settings of a run from their names.
pub(crate) fn settings_of(given_settings: &Bound<'_, PyDict>) -> PyResult<Settings> {
    let mut settings = Settings {
        memory_limit_bytes: memory_limit(),
        ..Settings::default()
    };
    let sampler = &mut settings.sampler;
    macro_rules! take {
        ($($name:ident)*) => {
            $(if let Some(value) = given(given_settings, stringify!($name))? {
                sampler.$name = value;
            })*
        };
    }
    take!(chains tune draws target_accept max_treedepth threads seed keep_warmup);
    macro_rules! choose {
        ($($name:ident)*) => {
            $(if let Some(name) = given::<String>(given_settings, stringify!($name))? {
                sampler.$name = named(stringify!($name), &name)?;
            })*
        };
    }
    choose!(sampler metric adapt past_turn integrator);
    if given(given_settings, "pathfinder")?.unwrap_or(false) {
        sampler.init = Init::Pathfinder;
    }
    if let Some(sets) = given::<Vec<Bound<'_, PyDict>>>(given_settings, "initvals")? {
        settings.initvals = sets.iter().map(dataset).collect::<PyResult<_>>()?;
    }
    settings.predictive = given(given_settings, "predictive")?.unwrap_or(false);
    settings.log_likelihood = given(given_settings, "log_likelihood")?.unwrap_or(false);
    settings.prior_only = given(given_settings, "prior_only")?.unwrap_or(false);
    if given(given_settings, "as_written")?.unwrap_or(false) {
        settings.coordinates = CoordinateChoice::AsWritten;
        settings.rewrites = Rewrites::NONE;
    }
    Ok(settings)
}
