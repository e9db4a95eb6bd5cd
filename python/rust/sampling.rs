//! Sampling of a model text.

use crate::arrays::{attributes, dataset, group, labels};
use crate::attend::attended;
use crate::errors::{raised, unknown};
use fitzroy::diagnose::SummaryOptions;
use fitzroy::draws::Trace;
use fitzroy::fit::sample::{Event, Init, Observer, Phase, Sampler};
use fitzroy::model::Model;
use fitzroy::model::joint::Rewrites;
use fitzroy::run::{Caller, CoordinateChoice, Outcome, Settings, bind, run};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

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

/// How far each chain is.
struct Board {
    tune: usize,
    done: Vec<AtomicUsize>,
    divergences: Vec<AtomicUsize>,
}

impl Observer for Board {
    fn event(&self, event: &Event<'_>) {
        let before = if event.phase == Phase::Warmup {
            0
        } else {
            self.tune
        };
        self.done[event.chain].store(before + event.done, Relaxed);
        self.divergences[event.chain].store(event.divergences, Relaxed);
    }
}

impl Board {
    fn new(tune: usize, chains: usize) -> Self {
        let zeros = || (0..chains).map(|_| AtomicUsize::new(0)).collect();
        Board {
            tune,
            done: zeros(),
            divergences: zeros(),
        }
    }

    /// Transitions and divergences of each chain.
    fn read(&self) -> (Vec<usize>, Vec<usize>) {
        let all = |counts: &[AtomicUsize]| counts.iter().map(|c| c.load(Relaxed)).collect();
        (all(&self.done), all(&self.divergences))
    }
}

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
    let created_at: String = given(settings, "created_at")?.unwrap_or_default();
    let settings = settings_of(settings)?;
    let stop = AtomicBool::new(false);
    let board = Board::new(settings.sampler.tune, settings.sampler.chains);
    let origin = Instant::now();
    let now = || origin.elapsed().as_secs_f64();
    let total = settings.sampler.tune + settings.sampler.draws;
    let tick = |py: Python<'_>| match &progress {
        None => Ok(()),
        Some(told) => {
            let (done, divergences) = board.read();
            told.call1(py, (done, divergences, total)).map(|_| ())
        }
    };
    let (ran, trouble) = attended(py, &stop, tick, || {
        let joint = bind(&model, &data, &settings)?;
        let caller = Caller {
            observer: &board,
            stop: &stop,
            now: &now,
            created_at: &created_at,
        };
        let mut outcome = run(&joint, &settings, &caller)?;
        let options = SummaryOptions {
            threads: settings.sampler.threads,
            ..SummaryOptions::default()
        };
        // A run that was stopped early may have too few draws to examine.
        let diagnosis = match outcome.n_draws() {
            0 => None,
            _ => outcome.diagnose(&options).ok(),
        };
        let trace = std::mem::take(&mut outcome.trace);
        Ok((outcome, diagnosis, trace))
    });
    let ran: fitzroy::Result<_> = ran;
    let (outcome, diagnosis, trace) = match (ran, trouble) {
        (Ok(ran), None) => ran,
        (Ok(ran), Some(_)) if ran.0.n_draws() > 0 => ran,
        (_, Some(trouble)) => return Err(trouble),
        (Err(error), None) => return Err(raised(error)),
    };
    let out = PyDict::new(py);
    told(py, &out, &outcome)?;
    if let Some(found) = diagnosis {
        out.set_item("verdict", found.verdict().word().to_lowercase())?;
        let findings = found.findings.iter();
        let findings = findings.map(|f| (format!("{:?}", f.weight).to_lowercase(), f.fact.clone()));
        out.set_item("findings", findings.collect::<Vec<_>>())?;
    }
    trace_of(py, &out, trace)?;
    Ok(out)
}

/// What there is to say of a run besides its draws.
fn told(py: Python<'_>, out: &Bound<'_, PyDict>, outcome: &Outcome) -> PyResult<()> {
    out.set_item("interrupted", outcome.run.interrupted)?;
    out.set_item("n_draws", outcome.n_draws())?;
    let times = PyDict::new(py);
    let t = outcome.timing;
    times.set_item("compile", t.compile)?;
    times.set_item("warmup", t.warmup)?;
    times.set_item("sampling", t.sampling)?;
    times.set_item("collecting", t.collecting)?;
    out.set_item("timing", times)
}

/// Groups, coordinates and attributes.
fn trace_of(py: Python<'_>, out: &Bound<'_, PyDict>, trace: Trace) -> PyResult<()> {
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
fn given<'py, T>(settings: &Bound<'py, PyDict>, name: &str) -> PyResult<Option<T>>
where
    T: for<'a> FromPyObject<'a, 'py, Error: Into<PyErr>>,
{
    match settings.get_item(name)? {
        Some(value) if !value.is_none() => Ok(Some(value.extract().map_err(Into::into)?)),
        _ => Ok(None),
    }
}

/// Settings of a run from their names.
fn settings_of(given_settings: &Bound<'_, PyDict>) -> PyResult<Settings> {
    let mut settings = Settings::default();
    let sampler = &mut settings.sampler;
    macro_rules! take {
        ($($name:ident)*) => {
            $(if let Some(value) = given(given_settings, stringify!($name))? {
                sampler.$name = value;
            })*
        };
    }
    take!(chains tune draws target_accept max_treedepth threads seed keep_warmup);
    if let Some(name) = given::<String>(given_settings, "sampler")? {
        const ALL: [Sampler; 5] = [
            Sampler::Nuts,
            Sampler::Walnuts,
            Sampler::Mams,
            Sampler::Chees,
            Sampler::Independence,
        ];
        let found = ALL.into_iter().find(|sampler| sampler.name() == name);
        sampler.sampler =
            found.ok_or_else(|| unknown("sampler", &name, &ALL.map(Sampler::name)))?;
    }
    if given(given_settings, "pathfinder")?.unwrap_or(false) {
        sampler.init = Init::Pathfinder;
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
