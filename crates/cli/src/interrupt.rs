//! Ctrl-C: the first asks the work to stop and save, the second ends the program at once. So do
//! the signals by which schedulers announce the end of a job (SIGTERM, SIGUSR1).

use crate::{exit, terminal};
use fitzroy::{Error, ErrorKind, Result};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// Catches Ctrl-C (and termination by a scheduler) from now on. The flag turns true on the first.
///
/// # Errors
/// The system refuses a handler.
pub(crate) fn catch() -> Result<Arc<AtomicBool>> {
    catch_with("stopping: the draws so far will be saved")
}

/// The flag of this process, which has one handler.
static STOP: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// As [`catch`], saying `what` happens now. Once caught, the same flag is handed out again.
///
/// # Errors
/// The system refuses a handler.
pub(crate) fn catch_with(what: &'static str) -> Result<Arc<AtomicBool>> {
    if let Some(stop) = STOP.get() {
        return Ok(Arc::clone(stop));
    }
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    // A scheduler may send SIGUSR1 and then SIGTERM; only a second call of this ends at once.
    let called = AtomicBool::new(false);
    ctrlc::set_handler(move || {
        flag.store(true, Ordering::Relaxed);
        if called.swap(true, Ordering::Relaxed) {
            std::process::exit(i32::from(exit::INTERRUPTED));
        }
        terminal::note(format_args!("{what}; Ctrl-C again ends at once"));
    })
    .map_err(|error| {
        let message = format!("Ctrl-C cannot be caught on this system: {error}");
        Error::new(ErrorKind::Device, message)
    })?;
    #[cfg(unix)]
    {
        use signal_hook::consts::{SIGUSR1, SIGXFSZ};
        watch("SIGUSR1", SIGUSR1, &stop)?;
        // Else a limit on the size of files would end the program before it can say so.
        watch("SIGXFSZ", SIGXFSZ, &Arc::default())?;
    }
    Ok(Arc::clone(STOP.get_or_init(|| stop)))
}

/// Raises `flag` at a signal, instead of ending the program.
#[cfg(unix)]
fn watch(name: &str, signal: i32, flag: &Arc<AtomicBool>) -> Result<()> {
    let caught = signal_hook::flag::register(signal, Arc::clone(flag));
    caught.map(|_| ()).map_err(|error| {
        let message = format!("{name} cannot be caught on this system: {error}");
        Error::new(ErrorKind::Device, message)
    })
}
