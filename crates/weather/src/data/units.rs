//! Units of measurement and what one of them is in another.

/// Units of one kind: names, and what one of them is of the first, plus where its zero lies.
type Kind = &'static [(&'static [&'static str], f64, f64)];

const KINDS: &[Kind] = &[
    // Temperatures.
    &[
        (&["K", "kelvin", "Kelvin", "degK"], 1.0, 0.0),
        (
            &[
                "degC",
                "°C",
                "C",
                "celsius",
                "Celsius",
                "deg_C",
                "degree_Celsius",
                "degrees_Celsius",
                "degree_C",
                "degrees_C",
            ],
            1.0,
            273.15,
        ),
        (
            &["degF", "°F", "F", "Fahrenheit"],
            5.0 / 9.0,
            459.67 * 5.0 / 9.0,
        ),
    ],
    // Heights, and columns of water; geopotential by standard gravity.
    &[
        (
            &[
                "m",
                "gpm",
                "metre",
                "meter",
                "metres",
                "meters",
                "m of water equivalent",
            ],
            1.0,
            0.0,
        ),
        (&["km"], 1e3, 0.0),
        (&["dam", "gpdm"], 10.0, 0.0),
        (&["cm"], 1e-2, 0.0),
        (
            &["mm", "kg m-2", "kg/m2", "millimeter", "millimetre"],
            1e-3,
            0.0,
        ),
        (&["m2 s-2", "m2/s2", "m2s-2", "J kg-1"], 1.0 / 9.806_65, 0.0),
    ],
    // Speeds.
    &[
        (
            &["m s-1", "m/s", "m.s-1", "ms-1", "meter second-1"],
            1.0,
            0.0,
        ),
        (&["km h-1", "km/h"], 1.0 / 3.6, 0.0),
        (&["knots", "knot", "kt", "kts", "kn"], 1852.0 / 3600.0, 0.0),
    ],
    // Pressures, and their changes.
    &[
        (&["Pa", "pascal", "Pascal", "Pascals", "N m-2"], 1.0, 0.0),
        (&["hPa", "mbar", "mb", "millibar", "millibars"], 100.0, 0.0),
        (&["kPa"], 1000.0, 0.0),
    ],
    &[
        (&["Pa s-1", "Pa/s"], 1.0, 0.0),
        (&["hPa s-1", "hPa/s"], 100.0, 0.0),
    ],
    // Shares.
    &[
        (
            &[
                "1",
                "fraction",
                "(0 - 1)",
                "0-1",
                "kg kg-1",
                "kg/kg",
                "dimensionless",
            ],
            1.0,
            0.0,
        ),
        (&["%", "percent"], 1e-2, 0.0),
        (&["g kg-1", "g/kg"], 1e-3, 0.0),
    ],
];

/// A unit as the list has it: powers and blanks have many spellings.
fn plain(unit: &str) -> String {
    let unit = unit.replace("**", "").replace('^', "");
    unit.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn find(unit: &str) -> Option<(usize, f64, f64)> {
    let unit = plain(unit);
    KINDS.iter().enumerate().find_map(|(kind, rows)| {
        let row = rows.iter().find(|row| row.0.contains(&unit.as_str()));
        row.map(|row| (kind, row.1, row.2))
    })
}

/// What numbers of a unit must be multiplied by, and what must then be added, to be in another;
/// none where they measure different things, or one is not known.
pub(super) fn conversion(from: &str, to: &str) -> Option<(f64, f64)> {
    if plain(from) == plain(to) {
        return Some((1.0, 0.0));
    }
    let (from, to) = (find(from)?, find(to)?);
    let same = from.0 == to.0;
    same.then(|| match (from.1, from.2) == (to.1, to.2) {
        true => (1.0, 0.0),
        false => (from.1 / to.1, (from.2 - to.2) / to.1),
    })
}

/// Ends of rates, and seconds in which they give one of their unit.
const RATES: [(&str, f64); 12] = [
    ("s-1", 1.0),
    ("/s", 1.0),
    ("/sec", 1.0),
    ("h-1", 3600.0),
    ("hr-1", 3600.0),
    ("/h", 3600.0),
    ("/hr", 3600.0),
    ("/hour", 3600.0),
    ("day-1", 86_400.0),
    ("d-1", 86_400.0),
    ("/day", 86_400.0),
    ("/d", 86_400.0),
];

/// The unit that a rate counts, and in how many seconds: `kg m-2` and 1 of `kg m-2 s-1`.
pub(super) fn rate(units: &str) -> Option<(String, f64)> {
    let units = plain(units);
    RATES.iter().find_map(|(end, seconds)| {
        let whole = units.strip_suffix(end)?;
        Some((whole.trim_end().to_string(), *seconds))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand, from the definitions of the units.
    #[test]
    fn numbers_are_brought_from_unit_to_unit() {
        for (x, from, to, y) in [
            (20.0, "degC", "K", 293.15),
            (50.0, "degF", "K", 283.15),
            (273.15, "K", "°C", 0.0),
            (0.004, "m", "mm", 4.0),
            (3.0, "kg m**-2", "mm", 3.0),
            (9806.65, "m**2 s**-2", "m", 1000.0),
            (1013.25, "hPa", "Pa", 101_325.0),
            (36.0, "km/h", "m s-1", 10.0),
            (0.5, "(0 - 1)", "%", 50.0),
            (7.0, "g kg-1", "kg kg-1", 0.007),
        ] {
            let (scale, offset) = conversion(from, to).unwrap();
            let found = x * scale + offset;
            assert!(
                (found - y).abs() < 1e-9 * y.abs().max(1.0),
                "{x} {from}: {found}"
            );
        }
        for (from, to) in [("K", "m"), ("kg m-2 s-1", "mm"), ("furlong", "m")] {
            assert_eq!(conversion(from, to), None, "{from}");
        }
        assert_eq!(conversion("furlong", "furlong"), Some((1.0, 0.0)));
        assert_eq!(rate("kg m**-2 s**-1"), Some(("kg m-2".into(), 1.0)));
        assert_eq!(rate("mm/hr"), Some(("mm".into(), 3600.0)));
        assert_eq!(rate("mm day-1"), Some(("mm".into(), 86_400.0)));
        assert_eq!(rate("mm"), None);
    }
}
