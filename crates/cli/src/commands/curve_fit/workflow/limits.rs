//! When the fit of a workflow stops, and from how many starts it goes.

use super::super::CurveFitArgs;
use super::document::Document;
use fitzroy::{Error, Result};

/// When to stop: keys of `fitting`, or of `fitting.termination`.
pub(super) fn limits(document: &Document, args: &mut CurveFitArgs) -> Result<()> {
    for (name, to) in [
        ("gtol", &mut args.gtol),
        ("ftol", &mut args.ftol),
        ("xtol", &mut args.xtol),
    ] {
        for section in ["fitting", "fitting.termination"] {
            *to = document
                .number(&format!("{section}.{name}"))?
                .unwrap_or(*to);
        }
    }
    for key in [
        "fitting.termination.max_iterations",
        "fitting.max_nfev",
        "fitting.termination.max_nfev",
    ] {
        if let Some(most) = document.number(key)? {
            args.max_evals = most as usize;
        }
    }
    Ok(())
}

/// Presets that start more than once, and how often where nothing else is said.
const GLOBAL: [&str; 3] = ["auto_global", "global", "multistart"];
const STARTS: usize = 10;

/// How many starts: `n_starts`, `multistart`, or a preset of `workflow`.
pub(super) fn starts(document: &Document, args: &mut CurveFitArgs) -> Result<()> {
    // The flag comes before the file.
    if args.multistart > 1 {
        return Ok(());
    }
    let mut several = false;
    for key in ["workflow", "fitting.workflow"] {
        let Some(preset) = document.text(key)? else {
            continue;
        };
        match preset.as_str() {
            "auto" | "standard" | "fast" | "default" => {}
            global if GLOBAL.contains(&global) => several = true,
            other => {
                return Err(Error::usage(format!(
                    "{key}: {other}: use auto or auto_global; files larger than memory are read with \
                     --memory-limit 2GB, without a workflow"
                )));
            }
        }
    }
    for key in [
        "multistart",
        "fitting.multistart",
        "fitting.multistart.enabled",
    ] {
        if !document.is_map(key) {
            several |= document.truth(key, false)?;
        }
    }
    for key in [
        "n_starts",
        "fitting.n_starts",
        "fitting.multistart.n_starts",
    ] {
        if let Some(n) = document.number(key)? {
            let off = key.contains("multistart") && !several;
            args.multistart = if off { 1 } else { (n as usize).max(1) };
            several = false;
        }
    }
    if several {
        args.multistart = STARTS;
    }
    Ok(())
}
