//! Times of the proleptic Gregorian calendar, in whole seconds since 1970, UTC.

use fitzroy::{Error, ErrorKind, Result};

/// Seconds of a day.
pub const DAY_S: i64 = 86_400;

/// A moment: whole seconds since 1970-01-01T00:00 UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub i64);

/// Days since 1970 of a date. Years are counted from March, so that the leap day comes last.
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = 365 * year_of_era + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// Year, month and day of days since 1970.
fn date_of(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let months = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * months + 2) / 5 + 1;
    let month = if months < 10 { months + 3 } else { months - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

fn bad(text: &str) -> Error {
    let message =
        format!("`{text}` is no date; write 2020-06-01, 2020-06-01T12 or 2020-06-01T12:00");
    Error::new(ErrorKind::Usage, message)
}

impl Time {
    /// The moment of a date and a time of day.
    pub fn of(year: i64, month: i64, day: i64, seconds: i64) -> Self {
        Time(days_of(year, month, day) * DAY_S + seconds)
    }

    /// Reads `2020-06-01`, optionally followed by `T` or a space and `12`, `12:30` or `12:30:15`,
    /// and by `Z`, `UTC` or `+00:00`.
    ///
    /// # Errors
    /// The text is no such date.
    pub fn parse(text: &str) -> Result<Self> {
        let mut trimmed = text.trim();
        for zone in ["Z", "UTC", "+00:00", "+0:00"] {
            trimmed = trimmed.strip_suffix(zone).unwrap_or(trimmed).trim_end();
        }
        let (date, clock) = trimmed
            .split_once(['T', ' '])
            .map_or((trimmed, ""), |(d, c)| (d, c.trim()));
        let mut parts = date.splitn(3, '-').map(str::parse::<i64>);
        let (Some(Ok(year)), Some(Ok(month)), Some(Ok(day))) =
            (parts.next(), parts.next(), parts.next())
        else {
            return Err(bad(text));
        };
        let mut clock_parts = [0_i64; 3];
        if !clock.is_empty() {
            if clock.split(':').count() > 3 {
                return Err(bad(text));
            }
            for (slot, part) in clock_parts.iter_mut().zip(clock.split(':')) {
                let number: f64 = part.parse().map_err(|_| bad(text))?;
                *slot = number as i64;
            }
        }
        let [hour, minute, second] = clock_parts;
        let time = Time::of(year, month, day, hour * 3600 + minute * 60 + second);
        let in_range = (-9999..=9999).contains(&year)
            && (1..=12).contains(&month)
            && (1..=31).contains(&day)
            && date_of(time.0.div_euclid(DAY_S)).1 == month
            && (0..24).contains(&hour)
            && (0..60).contains(&minute)
            && (0..60).contains(&second);
        if in_range { Ok(time) } else { Err(bad(text)) }
    }

    /// `2020-06-01T12:00`, with seconds where there are any.
    pub fn iso(self) -> String {
        let (year, month, day) = date_of(self.0.div_euclid(DAY_S));
        let rest = self.0.rem_euclid(DAY_S);
        let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
        let mut text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}");
        if second != 0 {
            text.push_str(&format!(":{second:02}"));
        }
        text
    }

    /// Calendar year.
    pub fn year(self) -> i64 {
        date_of(self.0.div_euclid(DAY_S)).0
    }

    /// Month, 1 to 12.
    pub fn month(self) -> i64 {
        date_of(self.0.div_euclid(DAY_S)).1
    }

    /// Day of the year from 0, with its fraction.
    pub fn day_of_year(self) -> f64 {
        let start = Time::of(self.year(), 1, 1, 0);
        (self.0 - start.0) as f64 / DAY_S as f64
    }

    /// Hours since midnight UTC, with their fraction.
    pub fn hours(self) -> f64 {
        self.0.rem_euclid(DAY_S) as f64 / 3600.0
    }
}

/// Times from numbers in CF `units` ("hours since 1970-01-01") of a `calendar`.
///
/// # Errors
/// The units or the calendar are not understood, or a number is not finite.
pub fn from_cf(numbers: &[f64], units: &str, calendar: &str) -> Result<Vec<Time>> {
    let fail = |message: String| Err(Error::new(ErrorKind::Data, message));
    let known = ["", "standard", "gregorian", "proleptic_gregorian"];
    if !known.contains(&calendar.to_lowercase().as_str()) {
        return fail(format!(
            "calendar `{calendar}` is not supported; convert the times to the standard calendar"
        ));
    }
    let Some((unit, start)) = units.split_once(" since ") else {
        return fail(format!(
            "time units `{units}`; needed are CF units such as `hours since 1970-01-01`"
        ));
    };
    let unit_s = match unit.trim().to_lowercase().as_str() {
        "second" | "seconds" | "sec" | "secs" | "s" => 1.0,
        "minute" | "minutes" | "min" | "mins" => 60.0,
        "hour" | "hours" | "hr" | "hrs" | "h" => 3600.0,
        "day" | "days" | "d" => 86_400.0,
        other => {
            return fail(format!(
                "time unit `{other}`; needed is seconds, minutes, hours or days"
            ));
        }
    };
    let start = Time::parse(start).map_err(|e| e.context(format!("time units `{units}`")))?;
    let convert = |&n: &f64| {
        let seconds = n * unit_s;
        if seconds.abs() < 4e11 {
            Ok(Time(start.0 + seconds.round() as i64))
        } else {
            Err(Error::new(
                ErrorKind::Data,
                format!("time {n} is out of range"),
            ))
        }
    };
    numbers.iter().map(convert).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From `date -u -d ... +%s`.
    #[test]
    fn dates_are_seconds_since_1970() {
        for (text, seconds) in [
            ("1970-01-01", 0),
            ("2000-02-29T00:00", 951_782_400),
            ("2024-12-31 23:59:59", 1_735_689_599),
            ("1900-03-01T06", -2_203_869_600),
        ] {
            let time = Time::parse(text).unwrap();
            assert_eq!(time.0, seconds, "{text}");
            assert_eq!(Time::parse(&time.iso()).unwrap(), time);
        }
    }

    #[test]
    fn what_is_no_date_is_refused() {
        for text in [
            "",
            "2020",
            "2020-13-01",
            "2021-02-29",
            "2020-06-01T25",
            "x-y-z",
            "2020-06-01T1:2:3:4",
        ] {
            assert!(Time::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn cf_units_are_read_and_others_refused() {
        let times = from_cf(&[0.0, 1.5], "hours since 2000-01-01 00:00:00", "standard").unwrap();
        assert_eq!(times[1].iso(), "2000-01-01T01:30");
        assert!(from_cf(&[0.0], "hours since 2000-01-01", "360_day").is_err());
        assert!(from_cf(&[0.0], "months since 2000-01-01", "").is_err());
        assert!(from_cf(&[0.0], "hours", "").is_err());
        assert!(from_cf(&[f64::NAN], "days since 2000-01-01", "").is_err());
    }
}
