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

/// How the days of a file are counted.
#[derive(Clone, Copy, PartialEq)]
enum Calendar {
    /// Julian dates before 15 October 1582.
    Mixed,
    Gregorian,
    /// Years of 365 days.
    NoLeap,
    /// Months of 30 days.
    Days360,
}

impl Calendar {
    fn of(name: &str) -> Result<Self> {
        Ok(match name.to_lowercase().as_str() {
            "" | "standard" | "gregorian" => Calendar::Mixed,
            "proleptic_gregorian" => Calendar::Gregorian,
            "noleap" | "365_day" => Calendar::NoLeap,
            "360_day" => Calendar::Days360,
            _ => {
                return Err(Error::data(format!(
                    "calendar `{name}` is not supported, which standard, proleptic_gregorian, noleap \
                     and 360_day are; convert the times to one of these"
                )));
            }
        })
    }

    /// The date that begins a text, and the seconds behind it.
    fn start(self, text: &str) -> Result<(i64, i64, i64, i64)> {
        let time = Time::parse(text);
        if let Ok(time) = time {
            let (year, month, day) = date_of(time.0.div_euclid(DAY_S));
            return Ok((year, month, day, time.0.rem_euclid(DAY_S)));
        }
        // 30 February is a date where months have 30 days.
        let date = text.split(['T', ' ']).next().unwrap_or_default();
        let parts: Vec<i64> = date.splitn(3, '-').flat_map(str::parse).collect();
        match (self, &parts[..]) {
            (Calendar::Days360, &[year, month @ 1..=12, day @ 1..=30]) => Ok((year, month, day, 0)),
            _ => time.map(|_| (0, 0, 0, 0)),
        }
    }

    /// Days from a fixed one to a date.
    fn days(self, (year, month, day): (i64, i64, i64)) -> i64 {
        match self {
            Calendar::Mixed if (year, month, day) < (1582, 10, 15) => julian_days(year, month, day),
            Calendar::Mixed | Calendar::Gregorian => days_of(year, month, day),
            Calendar::NoLeap => 365 * year + days_of(1970, month, day),
            Calendar::Days360 => 360 * year + 30 * (month - 1) + day - 1,
        }
    }

    /// The day since 1970 that stands for one counted by [`Calendar::days`]: that of the same date,
    /// or, where dates differ, the nearest in the course of the year.
    fn day_since_1970(self, days: i64) -> i64 {
        match self {
            Calendar::Mixed | Calendar::Gregorian => days,
            Calendar::NoLeap => {
                let (_, month, day) = date_of(days.rem_euclid(365));
                days_of(days.div_euclid(365), month, day)
            }
            Calendar::Days360 => {
                let (year, day) = (days.div_euclid(360), days.rem_euclid(360) + 1);
                let first = days_of(year, 1, 1);
                let (n, rest) = {
                    let scaled = (days_of(year + 1, 1, 1) - first) * day;
                    (scaled / 360, scaled % 360)
                };
                // A half goes to the even day.
                let up = rest > 180 || rest == 180 && n % 2 == 1;
                first + n + i64::from(up) - 1
            }
        }
    }
}

/// Days since 1970 of a date of the Julian calendar.
fn julian_days(year: i64, month: i64, day: i64) -> i64 {
    let shifted = year - i64::from(month <= 2);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    // 1 March of the year 0 is two days before that of the Gregorian calendar.
    365 * shifted + shifted.div_euclid(4) + day_of_year - 719_470
}

/// What is wrong with units of times that say no date to count from, and what to do.
fn no_start(units: &str, first: Option<&f64>) -> String {
    let first = first.map_or(String::new(), |x| format!(" (its first is {x})"));
    let cure = match units.contains("%Y") {
        true => "these are dates: make them relative first, cdo -r copy OLD.nc NEW.nc",
        false => {
            "needed are CF units such as `hours since 1970-01-01`: set them with the date that the \
             numbers are counted from, as by ncatted or xarray"
        }
    };
    format!("time units `{units}`{first}; {cure}")
}

/// Times from numbers in CF `units` ("hours since 1970-01-01") of a `calendar`.
///
/// Years of 365 days keep their dates. Days of years of 360 fall on the nearest in the course of the
/// year, as with `align_on="year"` in xarray.
///
/// # Errors
/// The units or the calendar are not understood, or a number is not finite.
pub fn from_cf(numbers: &[f64], units: &str, calendar: &str) -> Result<Vec<Time>> {
    let fail = |message: String| Err(Error::new(ErrorKind::Data, message));
    let calendar = Calendar::of(calendar)?;
    let Some((unit, start)) = units.split_once(" since ") else {
        return fail(no_start(units, numbers.first()));
    };
    let unit_s = match unit.trim().to_lowercase().as_str() {
        "nanosecond" | "nanoseconds" | "ns" => 1e-9,
        "microsecond" | "microseconds" | "us" | "µs" => 1e-6,
        "millisecond" | "milliseconds" | "msec" | "msecs" | "ms" => 1e-3,
        "second" | "seconds" | "sec" | "secs" | "s" => 1.0,
        "minute" | "minutes" | "min" | "mins" => 60.0,
        "hour" | "hours" | "hr" | "hrs" | "h" => 3600.0,
        "day" | "days" | "d" => 86_400.0,
        other => {
            return fail(format!(
                "time unit `{other}`; needed is seconds or parts of them, minutes, hours or days: \
                 months and years differ in length, so write days since a date"
            ));
        }
    };
    let start = calendar.start(start);
    let (year, month, day, seconds) =
        start.map_err(|e| e.context(format!("time units `{units}`")))?;
    let start_s = calendar.days((year, month, day)) * DAY_S + seconds;
    let convert = |&n: &f64| {
        let passed = n * unit_s;
        if !(passed.abs() < 4e11) {
            return Err(Error::data(format!("time {n} is out of range")));
        }
        let at = start_s + passed.round() as i64;
        let day = calendar.day_since_1970(at.div_euclid(DAY_S));
        Ok(Time(day * DAY_S + at.rem_euclid(DAY_S)))
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
        assert!(from_cf(&[0.0], "hours since 2000-01-01", "julian").is_err());
        assert!(from_cf(&[0.0], "months since 2000-01-01", "").is_err());
        assert!(from_cf(&[0.0], "hours", "").is_err());
        assert!(from_cf(&[f64::NAN], "days since 2000-01-01", "").is_err());
    }

    /// By cftime and, for days of 360, xarray's `convert_calendar(align_on="year")`.
    #[test]
    fn other_calendars_fall_on_dates_of_this_one() {
        for (number, units, calendar, expected) in [
            (59.0, "days since 2024-01-01", "noleap", "2024-03-01T00:00"),
            (
                364.25,
                "days since 1850-01-01",
                "noleap",
                "1850-12-31T06:00",
            ),
            (59.0, "days since 2023-01-01", "360_day", "2023-03-02T00:00"),
            (0.0, "days since 2023-02-30", "360_day", "2023-03-02T00:00"),
            (35.0, "days since 2023-01-01", "360_day", "2023-02-05T00:00"),
            (
                107.0,
                "days since 2023-01-01",
                "360_day",
                "2023-04-20T00:00",
            ),
            (
                17_522_904.0,
                "hours since 1-1-1 00:00:0.0",
                "",
                "2000-01-01T00:00",
            ),
            (
                1.7e18,
                "nanoseconds since 1970-01-01",
                "",
                "2023-11-14T22:13:20",
            ),
        ] {
            let found = from_cf(&[number], units, calendar).unwrap();
            assert_eq!(found[0].iso(), expected, "{number} {units} {calendar}");
        }
    }
}
