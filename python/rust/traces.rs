//! Traces that are read, examined and compared: files and folders, or groups of arrays in memory.

use crate::arrays::trace;
use crate::attend::attended;
use crate::errors::{named, raised, spelled};
use crate::sampling::{given as setting, trace_of};
use fitzroy::diagnose::{
    Diagnosis, SummaryOptions, compare, diagnose, diagnose_stored, loo_opened,
};
use fitzroy::draws::{Opened, Trace, open_trace};
use fitzroy::report::{TextOptions, comparison_json, diagnosis_json, diagnosis_text, loo_json};
use fitzroy_report::draw::{Format, Scene, Theme, svg};
use fitzroy_report::figure::{Posterior, Style};
use fitzroy_report::report::{FigureOptions, RunFacts, figure_of};
use fitzroy_session::face::silent;
use fitzroy_session::report::{facts, page};
use fitzroy_session::traces::{IN_MEMORY_BYTES, thinned};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// A path, or groups of arrays.
pub(crate) enum Source {
    At(PathBuf),
    Here(Trace),
}

impl Source {
    pub(crate) fn new(given: &Bound<'_, PyAny>) -> PyResult<Source> {
        match given.cast::<PyDict>() {
            Ok(dict) => Ok(Source::Here(trace(dict)?)),
            Err(_) => Ok(Source::At(given.extract()?)),
        }
    }

    /// The draws, some of them where there are very many.
    pub(crate) fn whole(self) -> fitzroy::Result<Trace> {
        match self {
            Source::At(path) => thinned(&path, &*silent()),
            Source::Here(trace) => Ok(trace),
        }
    }

    fn open(self) -> fitzroy::Result<Opened> {
        match self {
            Source::At(path) => open_trace(path, IN_MEMORY_BYTES),
            Source::Here(trace) => Ok(Opened::Whole(trace)),
        }
    }
}

/// Looks for Ctrl-C meanwhile, which raises as soon as the work has ended: it takes seconds.
pub(crate) fn worked<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> fitzroy::Result<T> + Send,
) -> PyResult<T> {
    let (out, trouble) = attended(py, &AtomicBool::new(false), |_| Ok(()), work);
    match trouble {
        Some(trouble) => Err(trouble),
        None => out.map_err(raised),
    }
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The draws at a path, as a run returns them.
#[pyfunction]
pub(crate) fn read<'py>(py: Python<'py>, path: PathBuf) -> PyResult<Bound<'py, PyDict>> {
    let trace = worked(py, || thinned(&path, &*silent()))?;
    let out = PyDict::new(py);
    trace_of(py, &out, trace)?;
    Ok(out)
}

/// The diagnosis of a trace: its document as JSON, and its text.
#[pyfunction]
pub(crate) fn diagnosed(
    py: Python<'_>,
    given: &Bound<'_, PyAny>,
    variables: Vec<String>,
    ci_prob: f64,
) -> PyResult<(String, String)> {
    let source = Source::new(given)?;
    let found = worked(py, || {
        let opened = source.open()?;
        let mut options = SummaryOptions {
            variables,
            threads: threads(),
            ..SummaryOptions::default()
        };
        options.statistics.ci_prob = ci_prob;
        match &opened {
            Opened::Whole(trace) => {
                if trace.group("posterior").is_none() && trace.group("prior").is_some() {
                    options.group = "prior".into();
                }
                diagnose(trace, &options)
            }
            Opened::Stored(stored) => diagnose_stored(stored, &options),
        }
    })?;
    Ok(words_of(&found))
}

/// A diagnosis as JSON and as text, with settings as arguments.
pub(crate) fn words_of(found: &Diagnosis) -> (String, String) {
    let document = Value::Object(diagnosis_json(found)).to_string();
    let text = TextOptions {
        rest_in: ".rows".into(),
        ..TextOptions::default()
    };
    let text = diagnosis_text(found, &text);
    (spelled(&document), spelled(&text))
}

/// Cross-validation of a trace, as JSON with the names of the observations.
#[pyfunction]
pub(crate) fn loo(
    py: Python<'_>,
    given: &Bound<'_, PyAny>,
    variable: Option<String>,
) -> PyResult<String> {
    let source = Source::new(given)?;
    let found = worked(py, || {
        loo_opened(&source.open()?, variable.as_deref(), threads())
    })?;
    let mut document = loo_json(&found, None);
    document["variable"] = found.variable.into();
    document["names"] = found.names.into();
    Ok(document.to_string())
}

/// Models ranked by cross-validation, as JSON.
#[pyfunction]
pub(crate) fn compared(
    py: Python<'_>,
    given: Vec<(String, Bound<'_, PyAny>)>,
    variable: Option<String>,
) -> PyResult<String> {
    let sources = given
        .iter()
        .map(|(name, given)| Ok((name.clone(), Source::new(given)?)));
    let sources = sources.collect::<PyResult<Vec<_>>>()?;
    let document = worked(py, || {
        let one = |(name, source): (String, Source)| {
            let found = source.open();
            let found = found.and_then(|o| loo_opened(&o, variable.as_deref(), threads()));
            let found = found.map_err(|error| error.context(&name))?;
            Ok((name, found))
        };
        let loos = sources
            .into_iter()
            .map(one)
            .collect::<fitzroy::Result<Vec<_>>>()?;
        Ok(comparison_json(&compare(&loos)?, &loos, &[]))
    })?;
    Ok(spelled(&document.to_string()))
}

/// The report of a trace as one page of HTML.
#[pyfunction]
pub(crate) fn report(py: Python<'_>, given: &Bound<'_, PyAny>, name: String) -> PyResult<String> {
    let source = Source::new(given)?;
    let page = worked(py, || {
        let facts = match &source {
            Source::At(path) => facts(path),
            Source::Here(_) => RunFacts {
                name,
                threads: threads(),
                ..RunFacts::default()
            },
        };
        page(source.open()?, &facts)
    })?;
    Ok(spelled(&page.html()))
}

/// A figure, drawn when it is shown or saved.
#[pyclass(frozen, module = "fitzroy._fitzroy")]
pub(crate) struct Figure {
    scene: Scene,
    theme: Theme,
}

#[pymethods]
impl Figure {
    /// As the text of an SVG file.
    fn svg(&self) -> String {
        spelled(&svg(&self.scene, self.theme))
    }

    /// As the bytes of a file called `path`.
    fn file<'py>(&self, py: Python<'py>, path: PathBuf) -> PyResult<Bound<'py, PyBytes>> {
        let made = py.detach(|| {
            let format = Format::of(&path).map_err(|error| error.context(path.display()))?;
            match format {
                Format::Svg => Ok(self.svg().into_bytes()),
                _ => format.bytes(&self.scene, self.theme),
            }
        });
        Ok(PyBytes::new(py, &made.map_err(raised)?))
    }
}

/// One figure of traces with their names; `options` are those of the figure, by name.
#[pyfunction]
pub(crate) fn figure(
    py: Python<'_>,
    given: Vec<(String, Bound<'_, PyAny>)>,
    kind: &str,
    options: &Bound<'_, PyDict>,
) -> PyResult<Figure> {
    let kind = named("kind", kind)?;
    let usual = Style::default();
    let wanted = FigureOptions {
        variables: setting(options, "var_names")?.unwrap_or_default(),
        compare: Posterior {
            reference: setting(options, "reference")?.unwrap_or_default(),
            rope: setting(options, "rope")?,
        },
        style: Style {
            width: setting(options, "width")?.unwrap_or(usual.width),
            ci_prob: setting(options, "ci_prob")?.unwrap_or(usual.ci_prob),
            ..usual
        },
        threads: threads(),
    };
    wanted.check().map_err(raised)?;
    let theme = match setting(options, "dark")?.unwrap_or(false) {
        true => Theme::Dark,
        false => Theme::Light,
    };
    let sources = given.iter().map(|(_, given)| Source::new(given));
    let sources = sources.collect::<PyResult<Vec<_>>>()?;
    let names: Vec<String> = given.iter().map(|(name, _)| name.clone()).collect();
    let scene = worked(py, || {
        let traces = sources.into_iter().map(Source::whole);
        let traces = traces.collect::<fitzroy::Result<Vec<Trace>>>()?;
        figure_of(&traces.iter().collect::<Vec<_>>(), &names, kind, &wanted)
    })?;
    Ok(Figure { scene, theme })
}
