//! Flags of the form NAME=VALUE.

use fitzroy::{Error, Result};

/// NAME=TEXT, one per flag.
pub(in crate::commands) fn texts(flag: &str, given: &[String]) -> Result<Vec<(String, String)>> {
    let split = |text: &String| match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() && !value.trim().is_empty() => {
            Ok((name.trim().to_string(), value.trim().to_string()))
        }
        _ => Err(Error::usage(format!(
            "{flag} {text}: is written {flag} NAME=VALUE"
        ))),
    };
    given.iter().map(split).collect()
}

/// NAME=COLUMN of `--x`, one per flag.
pub(in crate::commands) fn columns(given: &[String]) -> Result<Vec<(String, String)>> {
    texts("--x", given).map_err(|_| {
        let wrong = given.iter().find(|text| texts("--x", &[(*text).clone()]).is_err());
        let text = wrong.map_or("", String::as_str);
        Error::usage(format!(
            "--x {text}: is written --x NAME=COLUMN: the name that stands in the formula, and the column that it is, as in \
             --x x=time; a column that has its own name in the formula needs no flag"
        ))
    })
}

/// NAME=NUMBER, several separated by commas.
pub(in crate::commands) fn values(flag: &str, given: &[String]) -> Result<Vec<(String, f64)>> {
    let parts: Vec<String> = given
        .iter()
        .flat_map(|g| g.split(',').map(str::to_string))
        .collect();
    let number = |(name, text): (String, String)| match text.parse() {
        Ok(x) => Ok((name, x)),
        Err(_) => Err(Error::usage(format!(
            "{flag} {name}={text}: `{text}` is not a number"
        ))),
    };
    texts(flag, &parts)?.into_iter().map(number).collect()
}

/// Numbers without names, several separated by commas and perhaps within brackets; none where there is a
/// name.
///
/// # Errors
/// Some have names and others do not.
pub(in crate::commands) fn numbers(flag: &str, given: &[String]) -> Result<Option<Vec<f64>>> {
    let inner = |text: &String| text.trim().trim_matches(['[', ']', '(', ')']).to_string();
    let parts: Vec<String> = given
        .iter()
        .map(inner)
        .flat_map(|g| {
            g.split(',')
                .map(|part| part.trim().to_string())
                .collect::<Vec<_>>()
        })
        .collect();
    let numbers: Vec<f64> = parts.iter().filter_map(|part| part.parse().ok()).collect();
    if numbers.is_empty() {
        return Ok(None);
    }
    match parts.iter().find(|part| part.parse::<f64>().is_err()) {
        Some(other) => Err(Error::usage(format!(
            "{flag} {}: `{other}` is no number; give a number for every parameter in their order, or \
             NAME=NUMBER for some",
            given.join(",")
        ))),
        None => Ok(Some(numbers)),
    }
}

/// NAME=LO:HI; an empty side is infinite.
fn intervals(flag: &str, given: &[String]) -> Result<Vec<(String, f64, f64)>> {
    let wrong = |name: &str, text: &str| {
        Error::usage(format!(
            "{flag} {name}={text}: is written {flag} NAME=LO:HI, such as b=0: or b=:5"
        ))
    };
    let interval = |(name, text): (String, String)| {
        let (low, high) = text.split_once(':').ok_or_else(|| wrong(&name, &text))?;
        let side = |part: &str, open: f64| match part.trim() {
            "" => Ok(open),
            part => part.parse::<f64>().map_err(|_| wrong(&name, &text)),
        };
        let (low, high) = (side(low, f64::NEG_INFINITY)?, side(high, f64::INFINITY)?);
        Ok((name, low, high))
    };
    texts(flag, given)?.into_iter().map(interval).collect()
}

/// NAME=LO:HI, several separated by commas.
pub(in crate::commands) fn bounds(flag: &str, given: &[String]) -> Result<Vec<(String, f64, f64)>> {
    let parts: Vec<String> = given
        .iter()
        .flat_map(|g| g.split(',').map(str::to_string))
        .collect();
    intervals(flag, &parts)
}

/// COLUMN=LO:HI.
pub(in crate::commands) fn ranges(flag: &str, given: &[String]) -> Result<Vec<(String, f64, f64)>> {
    intervals(flag, given)
}
