//! Which words are units of measurement, so that a line of them is known for what it is.

/// Units that take a prefix.
const WITH_PREFIX: &str = "s m g A K mol cd V Hz N Pa J W C Ω F T H S eV L l Wb lm lx Bq Gy Sv kat bar Ohm ohm \
    cal M Å u Da Torr torr sec px Jy b rad sr";
/// Units and words in their place that take none.
const ALONE: &str = "min h hr d day days wk week weeks yr year years a ° °C °F deg degree degrees degC degF % ‰ ppm \
    ppb ppt dB dBm atm psi mmHg in ft mi lb oz cps cpm rpm count counts cts arb arb. a.u. au AU arbitrary-units \
    OD pixel pixels norm. dimensionless seconds second minutes hours meter metre kelvin volt volts ampere amps \
    hertz newton pascal joule watt gram grams mol/l bpm";
const PREFIXES: &str = "y z a f p n u µ μ m c d h k M G T P E da";

/// True for a unit as people write one above a column: `s`, `(mV)`, `[m/s^2]`, `counts`.
pub(super) fn is_unit(text: &str) -> bool {
    let text = text.trim();
    let inside = |open: char, close: char| text.strip_prefix(open)?.strip_suffix(close);
    let bracketed = inside('(', ')').or(inside('[', ']')).or(inside('{', '}'));
    if let Some(inside) = bracketed {
        return !inside.trim().is_empty() && inside.trim().parse::<f64>().is_err();
    }
    if listed(ALONE, text) || text.eq_ignore_ascii_case("arb. units") {
        return true;
    }
    let power = |c: char| c.is_ascii_digit() || "^-+⁻¹²³".contains(c);
    let mut parts = text
        .split(['/', '*', '·', ' ', '.'])
        .map(|part| part.trim_matches(power))
        .filter(|part| !part.is_empty())
        .peekable();
    parts.peek().is_some() && parts.all(is_simple)
}

fn listed(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|known| known == word)
}

fn is_simple(part: &str) -> bool {
    let prefixed = |prefix: &str| {
        let rest = part.strip_prefix(prefix);
        rest.is_some_and(|rest| listed(WITH_PREFIX, rest))
    };
    listed(WITH_PREFIX, part) || listed(ALONE, part) || PREFIXES.split_whitespace().any(prefixed)
}

#[cfg(test)]
mod tests {
    use super::is_unit;

    #[test]
    fn units_are_told_from_words_and_codes() {
        for unit in [
            "s", "mV", "(s)", "[a.u.]", "m/s^2", "m s-2", "µm", "counts", "%", "°C", "kg", "W/m²",
            "keV", "1/cm", "cm-1",
        ] {
            assert!(is_unit(unit), "{unit}");
        }
        for other in [
            "", "-", "bad", "n/a", "NA", "none", "error", "left", "12", "(12)", "missing", "x", "?",
        ] {
            assert!(!is_unit(other), "{other}");
        }
    }
}
