//! Numbers with a decimal comma, and digits in groups of three.

use std::str::FromStr;

/// The sign before the fraction of a number; the other one may part groups of three digits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DecimalMark {
    /// 1.5, and 1,234 is a thousand and more.
    #[default]
    Point,
    /// 1,5, and 1.234 is a thousand and more.
    Comma,
}

impl FromStr for DecimalMark {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "point" | "." => Ok(DecimalMark::Point),
            "comma" | "," => Ok(DecimalMark::Comma),
            _ => Err("use point or comma".into()),
        }
    }
}

/// What a cell says of the decimal mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Evidence {
    /// Reads the same with either mark.
    Neither,
    /// A number with this mark alone.
    Only(DecimalMark),
    /// 1,234 or 1.234: a fraction with the sign that stands in it, and a thousand with the other.
    Fraction(DecimalMark),
    /// No number.
    Text,
}

/// What `cell` says of the decimal mark.
pub(super) fn evidence(cell: &str) -> Evidence {
    let point = parse(cell, DecimalMark::Point);
    let comma = parse(cell, DecimalMark::Comma);
    match (point, comma) {
        (None, None) => Evidence::Text,
        (Some(_), None) => Evidence::Only(DecimalMark::Point),
        (None, Some(_)) => Evidence::Only(DecimalMark::Comma),
        (Some(_), Some(_)) if cell.contains(',') => Evidence::Fraction(DecimalMark::Comma),
        (Some(_), Some(_)) if cell.contains('.') => Evidence::Fraction(DecimalMark::Point),
        (Some(_), Some(_)) => Evidence::Neither,
    }
}

/// The number that `cell` is with this decimal mark.
pub(crate) fn parse(cell: &str, mark: DecimalMark) -> Option<f64> {
    if !cell.contains([',', '.']) {
        return cell.parse().ok();
    }
    let (decimal, group) = match mark {
        DecimalMark::Point => ('.', ','),
        DecimalMark::Comma => (',', '.'),
    };
    let (whole, fraction) = match cell.split_once(decimal) {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (cell, None),
    };
    if fraction.is_some_and(|f| f.contains(group)) {
        return None;
    }
    let mut text = ungrouped(whole, group)?;
    if let Some(fraction) = fraction {
        text.push('.');
        text += fraction;
    }
    text.parse().ok()
}

/// Digits without the signs between groups of three; none if the groups are not of three.
fn ungrouped(whole: &str, group: char) -> Option<String> {
    if !whole.contains(group) {
        return Some(whole.to_string());
    }
    let signed = whole.strip_prefix(['-', '+']).unwrap_or(whole);
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    let mut groups = signed.split(group);
    let first = groups.next()?;
    let begins = matches!(first.len(), 1..=3) && !first.starts_with('0') && digits(first);
    // An exponent ends the last group: no program writes thousands and powers of ten at once.
    let goes_on = groups.all(|part| part.len() == 3 && digits(part));
    (begins && goes_on).then(|| whole.replace(group, ""))
}

#[cfg(test)]
mod tests {
    use super::DecimalMark::{Comma, Point};
    use super::*;

    #[test]
    fn a_cell_says_which_mark_it_has_or_that_it_does_not() {
        let cases = [
            ("12", Evidence::Neither),
            ("-1e5", Evidence::Neither),
            ("1,5", Evidence::Only(Comma)),
            ("0,123", Evidence::Only(Comma)),
            ("-1,234e3", Evidence::Only(Comma)),
            ("1.234,5", Evidence::Only(Comma)),
            ("1.234.567", Evidence::Only(Comma)),
            (",5", Evidence::Only(Comma)),
            ("1.5", Evidence::Only(Point)),
            ("1,234.5", Evidence::Only(Point)),
            ("1,234,567", Evidence::Only(Point)),
            ("1,234", Evidence::Fraction(Comma)),
            ("-12.345", Evidence::Fraction(Point)),
            ("1,23,456", Evidence::Text),
            ("12.05.2024", Evidence::Text),
            ("1,2.3,4", Evidence::Text),
            ("a,5", Evidence::Text),
            ("1.5 mV", Evidence::Text),
        ];
        for (cell, want) in cases {
            assert_eq!(evidence(cell), want, "{cell}");
        }
        assert_eq!(parse("1,234", Comma), Some(1.234));
        assert_eq!(parse("1,234", Point), Some(1234.0));
        assert_eq!(parse("+1.234.567,25", Comma), Some(1_234_567.25));
        assert_eq!(parse("-2,5e-3", Comma), Some(-0.0025));
        assert_eq!(parse("1234.5", Comma), None);
    }
}
