//! The clock of a run, which the library below does not read.

use fitzroy_device::probe::processor_seconds;
use serde_json::{Value, json};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Seconds since the program began to work.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Instant);

impl Clock {
    /// A clock that starts now.
    pub fn start() -> Self {
        Clock(Instant::now())
    }

    /// Seconds since the start.
    pub fn seconds(&self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }

    /// When it started, in seconds since 1970.
    pub fn started(&self) -> f64 {
        unix_seconds() - self.seconds()
    }
}

/// Seconds of the stages of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stages(Vec<(&'static str, f64, Option<f64>)>);

impl Stages {
    /// The stage `name` ends now, and with it everything before that has no stage.
    pub(crate) fn end(&mut self, name: &'static str, clock: &Clock) {
        self.0.push((name, clock.seconds(), processor_seconds()));
    }

    /// By name, in their order: seconds by the clock, and those of all processors together, which
    /// other programs on the machine change less.
    pub(crate) fn document(&self) -> Value {
        let (mut since, mut since_processor) = (0.0, Some(0.0));
        let one = |&(name, now, processor): &(&'static str, f64, Option<f64>)| {
            let taken = processor
                .zip(since_processor)
                .map(|(now, since)| now - since);
            let document = json!({"s": now - since, "processor_s": taken});
            (since, since_processor) = (now, processor);
            (name.to_string(), document)
        };
        Value::Object(self.0.iter().map(one).collect())
    }
}

/// Seconds since 1970.
pub fn unix_seconds() -> f64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0.0, |d| d.as_secs_f64())
}

/// Date and time of now in ISO 8601, UTC: `2025-06-01T12:34:56+00:00`.
pub fn timestamp() -> String {
    iso(unix_seconds() as u64)
}

/// Seconds since 1970 as a date and a time. The calendar counts years from March, so that the
/// leap day is the last of its year.
fn iso(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let shifted = days + 719_468; // Days since 1 March of year 0.
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let months = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * months + 2) / 5 + 1;
    let month = if months < 10 { months + 3 } else { months - 9 };
    let year = 400 * era + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}+00:00")
}

#[cfg(test)]
mod tests {
    use super::iso;

    /// From `date -u -d @SECONDS --iso-8601=seconds`.
    #[test]
    fn seconds_become_dates() {
        assert_eq!(iso(0), "1970-01-01T00:00:00+00:00");
        assert_eq!(iso(951_782_399), "2000-02-28T23:59:59+00:00");
        assert_eq!(iso(951_782_400), "2000-02-29T00:00:00+00:00");
        assert_eq!(iso(1_735_689_599), "2024-12-31T23:59:59+00:00");
        assert_eq!(iso(4_107_542_400), "2100-03-01T00:00:00+00:00");
    }
}
