//! The device that Python asks for, and the GPUs of fits, which stay in use between one fit and the next.

use crate::errors::{named, raised, spelled};
use crate::notebook::Notebook;
use crate::sampling::given;
use fitzroy::{Error, ErrorKind, Result};
use fitzroy_curve_fit::Options;
use fitzroy_curve_fit::fit::Plan;
use fitzroy_curve_fit::pass::{OnMachine, Seat, Table};
use fitzroy_device::choice::{Choice, MemoryCap};
use fitzroy_device::gpu::Gpu;
use fitzroy_session::clock::Clock;
use fitzroy_session::curves::device::{FitDevice, check_precision};
use fitzroy_session::device::{Request, places};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Points from which `auto` asks a driver what there is: fits of fewer end sooner on the processor than
/// the driver answers.
const MANY_POINTS: usize = 100_000;

/// The settings that say what something is computed on.
pub(crate) const OF_DEVICE: [&str; 3] = ["device", "precision", "device_memory"];

/// The device that is asked for by [`OF_DEVICE`].
pub(crate) fn request(settings: &Bound<'_, PyDict>) -> PyResult<Request> {
    let mut request = Request::default();
    if let Some(name) = given::<String>(settings, "device")? {
        request.choice = choice(&name)?;
    }
    let precision = given::<String>(settings, "precision")?.filter(|name| name != "auto");
    request.precision = precision
        .map(|name| named("precision", &name))
        .transpose()?;
    if let Some(most) = said(settings, "device_memory")? {
        let text = most.str()?.to_string();
        let wrong = |error: Error| raised(error.context("⟨device_memory⟩"));
        request.memory = Some(text.parse::<MemoryCap>().map_err(wrong)?);
    }
    Ok(request)
}

/// Looks at what is asked of a device, as options of a fit, without opening it.
///
/// # Errors
/// There is no such device, precision or amount of memory.
#[pyfunction]
pub(crate) fn check_device(options: &Bound<'_, PyDict>) -> PyResult<()> {
    let asked = request(options)?;
    check_precision(asked.precision).map_err(raised)
}

/// What is given for a setting, if something is.
fn said<'py>(settings: &Bound<'py, PyDict>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    Ok(settings.get_item(name)?.filter(|value| !value.is_none()))
}

fn choice(name: &str) -> PyResult<Choice> {
    let wrong = |error: Error| raised(error.context(format!("device='{name}'")));
    name.parse().map_err(wrong)
}

/// What a fit is computed on, if something was asked for.
pub(crate) struct Fitting {
    request: Option<Request>,
    device: Option<FitDevice>,
    face: Notebook,
    clock: Clock,
}

impl Fitting {
    /// By the options of a fit; nothing is opened yet.
    pub(crate) fn asked(options: &Bound<'_, PyDict>) -> PyResult<Fitting> {
        let mut any = false;
        for word in OF_DEVICE {
            any |= said(options, word)?.is_some();
        }
        let mut request = any.then(|| request(options)).transpose()?;
        if let Some(request) = &mut request
            && said(options, "device")?.is_none()
        {
            request.choice = Choice::Cpu;
        }
        Ok(Fitting {
            request,
            device: None,
            face: Notebook::new(false),
            clock: Clock::start(),
        })
    }

    /// Chooses, now that the work is known; `declines` says why no GPU could do it, if none can.
    pub(crate) fn settle(
        &mut self,
        plan: &Plan,
        table: &dyn Table,
        options: &Options,
        declines: Option<&str>,
    ) -> Result<()> {
        let chosen = self.choose(plan, table, options, declines);
        self.ended(chosen)
    }

    fn choose(
        &mut self,
        plan: &Plan,
        table: &dyn Table,
        options: &Options,
        declines: Option<&str>,
    ) -> Result<()> {
        let Some(request) = self.request.as_mut() else {
            return Ok(());
        };
        let few = table.n_rows() < MANY_POINTS;
        if let (Choice::Gpu(_) | Choice::Gpus(_), Some(why)) = (request.choice, declines) {
            let message = format!("⟨device cuda⟩: {why}; leave ⟨device⟩ out");
            return Err(Error::new(ErrorKind::Usage, message));
        }
        let auto = request.choice == Choice::Auto;
        if auto && few {
            request.choice = Choice::Cpu;
        }
        let mut device = FitDevice::choose(request, options.threads)?;
        match declines {
            Some(why) if auto => device.decline(&format!("auto: {why}"), &self.face),
            _ if auto && few => {
                let why = format!("auto: fewer than {MANY_POINTS} points");
                device.decline(&why, &self.face);
            }
            _ => device.settle(plan, table, options, &self.clock, &self.face)?,
        }
        hold(device.numbers());
        self.device = Some(device);
        Ok(())
    }

    /// `table` with its passes on GPUs; none where there is none.
    pub(crate) fn table<'t>(&self, table: &'t dyn Table) -> Option<OnMachine<'t>> {
        self.device.as_ref()?.table(table)
    }

    /// The GPUs.
    pub(crate) fn machines(&self) -> &[Seat] {
        self.device.as_ref().map_or(&[], FitDevice::machines)
    }

    /// Which device did it, why that one, and what is to be told.
    pub(crate) fn describe(&self, out: &Bound<'_, PyDict>) -> PyResult<()> {
        let Some(device) = &self.device else {
            return Ok(());
        };
        device.tell_failed(&self.face);
        out.set_item("device", device.kind())?;
        out.set_item("device_reason", spelled(device.reason()))?;
        out.set_item("notes", self.face.notes())
    }

    /// What came of the choice or of the fit: a GPU that went wrong is given back, for it may be of no more
    /// use.
    pub(crate) fn ended<T>(&self, result: Result<T>) -> Result<T> {
        let failed = self.machines().iter().any(|seat| seat.failed().is_some());
        let refused = |error: &Error| error.kind() == ErrorKind::Device;
        if failed || result.as_ref().is_err_and(refused) {
            release_devices();
        }
        result
    }
}

/// GPUs that are in use as long as the process: opening one takes longer than most fits.
static HELD: Mutex<Vec<Gpu>> = Mutex::new(Vec::new());

fn held() -> MutexGuard<'static, Vec<Gpu>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps the GPUs of these numbers in use. One that cannot be kept is opened again by the next fit.
fn hold(numbers: &[usize]) {
    for &number in numbers {
        let known = held().iter().any(|gpu| gpu.description.index == number);
        if !known && let Ok(gpu) = Gpu::open(&places(None), number) {
            held().push(gpu);
        }
    }
}

/// Gives back the GPUs that fits keep in use.
#[pyfunction]
pub(crate) fn release_devices() {
    held().clear();
}
