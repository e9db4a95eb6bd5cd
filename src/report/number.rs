//! Numbers as people read them: as many digits as the Monte Carlo error supports.

use crate::diagnose::{say, thousands};

/// Decimals that an error of this size supports: the most whose last place is not smaller than
/// the error. Negative where not even whole units are supported.
pub(crate) fn supported_decimals(error: f64) -> Option<i32> {
    if !(error > 0.0 && error.is_finite()) {
        return None;
    }
    // The slack keeps an error of .01 at two decimals in spite of rounding.
    Some((-error.log10() + 1e-9).floor() as i32)
}

/// `value` with the digits that `error` supports, but never coarser than the first digit of the
/// standard deviation `sd`; with three significant digits where there is no error to go by. Very
/// large and very small numbers are written with an exponent.
pub fn rounded(value: f64, error: f64, sd: f64) -> String {
    if !value.is_finite() {
        return not_finite(value);
    }
    let size = value.abs();
    let Some(decimals) = supported_decimals(error) else {
        return say(value);
    };
    let decimals = match sd.is_finite() && sd > 0.0 {
        true => decimals.max(-sd.log10().floor() as i32),
        false => decimals,
    };
    if decimals > 7 || size >= 1e9 {
        return scientific(value, decimals);
    }
    if decimals >= 0 {
        let text = format!("{value:.*}", decimals as usize);
        return thousands(without_minus_zero(&text));
    }
    let unit = 10f64.powi(-decimals);
    let text = format!("{:.0}", (value / unit).round() * unit);
    thousands(without_minus_zero(&text))
}

/// With an exponent, the mantissa as long as `decimals` of the number itself support.
fn scientific(value: f64, decimals: i32) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let magnitude = value.abs().log10().floor() as i32;
    let digits = (magnitude + decimals).clamp(0, 6) as usize;
    let text = format!("{value:.digits$e}");
    match text.strip_prefix('-') {
        Some(rest) => format!("−{rest}"),
        None => text,
    }
}

/// A whole number of draws, thousands set apart.
pub fn whole(value: f64) -> String {
    if value.is_finite() {
        thousands(&format!("{value:.0}"))
    } else {
        not_finite(value)
    }
}

/// R-hat with two decimals, or three where two would hide on which side of the limit it lies.
pub fn r_hat(value: f64) -> String {
    match value {
        v if !v.is_finite() => not_finite(v),
        v if v > 1.005 && v < 1.1 => format!("{v:.3}"),
        v if v < 1000.0 => format!("{v:.2}"),
        v => scientific(v, 0),
    }
}

fn not_finite(value: f64) -> String {
    if value.is_nan() {
        "–".into()
    } else if value > 0.0 {
        "∞".into()
    } else {
        "−∞".into()
    }
}

fn without_minus_zero(text: &str) -> &str {
    let zero = text.chars().all(|c| matches!(c, '-' | '0' | '.'));
    if zero {
        text.trim_start_matches('-')
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_shows_the_digits_its_error_supports() {
        for (value, error, sd, text) in [
            (49.2173, 0.0095, 0.92, "49.22"),
            (49.2173, 0.01, 1.0, "49.22"),
            (49.2173, 0.02, 2.0, "49.2"),
            (-0.0004, 0.01, 1.0, "0.00"),
            (-12.34, 0.6, 30.0, "−12"),
            (52.71, 2.6, 6.9, "53"),
            (123_456.7, 150.0, 9000.0, "123,000"),
            (123_456.7, 90.0, 9000.0, "123,500"),
            (0.5, f64::NAN, 1.0, "0.5"),
            (1.0, 0.0, 0.0, "1"),
            (0.0, 0.0, 0.0, "0"),
            (1.234e-9, 2e-11, 1e-9, "1.2e-9"),
            (3.21e12, 1e10, 1e12, "3.21e12"),
            (f64::NAN, 0.1, 1.0, "–"),
            (f64::NEG_INFINITY, f64::NAN, 1.0, "−∞"),
        ] {
            assert_eq!(rounded(value, error, sd), text, "{value} {error}");
        }
    }

    #[test]
    fn r_hat_shows_on_which_side_of_the_limit_it_lies() {
        assert_eq!(r_hat(1.0004), "1.00");
        assert_eq!(r_hat(1.0096), "1.010");
        assert_eq!(r_hat(1.3), "1.30");
        assert_eq!(r_hat(f64::INFINITY), "∞");
        assert_eq!(whole(12_345.6), "12,346");
    }
}
