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

/// Presets that search the whole field, and how many starts several are where nothing else is said.
const GLOBAL: [&str; 2] = ["auto_global", "global"];
const STARTS: usize = 10;

/// How many starts: `n_starts`, `multistart`, or a preset of `workflow`, of which the global ones search the field.
pub(super) fn starts(document: &Document, args: &mut CurveFitArgs) -> Result<()> {
    // The flags come before the file.
    if args.multistart > 1 || args.global {
        return Ok(());
    }
    let (mut several, mut wide) = (false, false);
    for key in ["workflow", "fitting.workflow"] {
        let Some(preset) = document.text(key)? else {
            continue;
        };
        match preset.as_str() {
            "auto" | "standard" | "fast" | "default" => {}
            "multistart" => several = true,
            global if GLOBAL.contains(&global) => wide = true,
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
            let off = key.contains("multistart") && !several && !wide;
            args.multistart = if off { 1 } else { (n as usize).max(1) };
            (several, wide) = (false, false);
        }
    }
    if several {
        args.multistart = STARTS;
    }
    args.global = wide;
    Ok(())
}
