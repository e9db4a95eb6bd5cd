//! A synthetic atmosphere, cut out of a larger periodic one, so that weather flows in and out.

mod fft;
mod flow;
mod levels;
mod loops;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

pub use flow::{Flow, Look, Physics};
pub use levels::{LEVELS_HPA, choose};

use crate::files::{GridFile, GridHeader, GridVariable};
use crate::time::Time;
use fitzroy::{Error, ErrorKind, Result};
use levels::{CORIOLIS, Point, Profile, variables};
use std::path::Path;

/// Earth's radius, m.
const EARTH_M: f64 = 6.371e6;
/// Centre of the domain in degrees.
const CENTRE: (f64, f64) = (45.0, 0.0);

/// What to generate.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Points along each side of the periodic domain of 10,240 km: a power of two, 16 to 512.
    pub grid: usize,
    /// Days written.
    pub days: f64,
    /// Days run before the first record.
    pub spinup_days: f64,
    /// Hours between records.
    pub step_hours: f64,
    /// Number of pressure levels, 2 to 11.
    pub levels: usize,
    /// South and north of the window, degrees.
    pub lat: (f64, f64),
    /// West and east of the window, degrees.
    pub lon: (f64, f64),
    /// Spacing of the written grid, degrees.
    pub resolution: f64,
    /// Seconds of a step of the flow; `None`: as large as is stable.
    pub dt_s: Option<f64>,
    /// Seed of the first disturbance.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            grid: 64,
            days: 300.0,
            spinup_days: 120.0,
            step_hours: 6.0,
            levels: 2,
            lat: (24.0, 66.0),
            lon: (-24.0, 24.0),
            resolution: 1.5,
            dt_s: None,
            seed: 42,
        }
    }
}

/// What was generated.
#[derive(Clone, Debug)]
pub struct Generated {
    /// Records written.
    pub n_times: usize,
    /// Points of the window, south to north and west to east.
    pub window: (usize, usize),
    /// Levels written, hPa.
    pub levels: Vec<f64>,
    /// Largest wind · wave number · dt at any record; 0.72 is the limit.
    pub courant: f64,
}

/// Whole steps from `from` to `to` in `step`, ends included.
fn axis(name: &str, (from, to): (f64, f64), step: f64) -> Result<Vec<f64>> {
    let n = ((to - from) / step + 1e-6).floor();
    if !(from.is_finite() && to.is_finite() && step > 0.0 && (2.0..=2000.0).contains(&n)) {
        let message = format!(
            "{name} from {from} to {to} in steps of {step} degrees: needs 3 to 2001 points"
        );
        return Err(Error::usage(message));
    }
    Ok((0..=n as usize).map(|k| from + step * k as f64).collect())
}

impl Settings {
    /// Steps of the flow in one record, and their length in seconds.
    fn steps(&self) -> Result<(usize, f64)> {
        let wanted = self.dt_s.unwrap_or(600.0 * 64.0 / self.grid as f64);
        let record = self.step_hours * 3600.0;
        let whole = record.fract() == 0.0 && record >= 600.0;
        if !whole || !(wanted > 0.0) {
            let message = format!(
                "⟨step_hours {}⟩ and ⟨dt {wanted}⟩: a record takes at least 600 whole seconds, \
                 and a step more than none",
                self.step_hours
            );
            return Err(Error::usage(message));
        }
        let n = (record / wanted - 1e-9).ceil().max(1.0);
        Ok((n as usize, record / n))
    }

    fn check(&self) -> Result<(Vec<f64>, Vec<f64>)> {
        if !self.grid.is_power_of_two() || !(16..=512).contains(&self.grid) {
            let message = format!("⟨grid {}⟩: needs a power of two from 16 to 512", self.grid);
            return Err(Error::usage(message));
        }
        if !(2..=LEVELS_HPA.len()).contains(&self.levels) {
            return Err(Error::usage(format!(
                "⟨levels {}⟩: needs 2 to 11",
                self.levels
            )));
        }
        let days_fit = self.days > 0.0 && self.days <= 1e5;
        if !days_fit || !(0.0..=1e5).contains(&self.spinup_days) {
            let message = format!(
                "⟨days {}⟩ and ⟨spinup {}⟩: needs more than 0, and at least 0 days",
                self.days, self.spinup_days
            );
            return Err(Error::usage(message));
        }
        let lat = axis("latitude", self.lat, self.resolution)?;
        let lon = axis("longitude", self.lon, self.resolution)?;
        for (name, values, centre, metres) in [
            ("latitude", &lat, CENTRE.0, degree_m().1),
            ("longitude", &lon, CENTRE.1, degree_m().0),
        ] {
            let reach = 0.45 * flow::SIDE_M / metres;
            let (low, high) = (centre - reach, centre + reach);
            let ends = (values[0], values[values.len() - 1]);
            if ends.0 < low || ends.1 > high {
                return Err(Error::usage(format!(
                    "{name} from {} to {} leaves the domain, which reaches from {low:.1} to \
                     {high:.1} degrees",
                    ends.0, ends.1
                )));
            }
        }
        Ok((lat, lon))
    }
}

/// Metres of a degree of longitude and of latitude, at the centre.
fn degree_m() -> (f64, f64) {
    let degree = EARTH_M * std::f64::consts::PI / 180.0;
    (degree * libm::cos(CENTRE.0.to_radians()), degree)
}

/// Where the points of the window lie on the grid of the flow.
struct Window {
    /// Column and row, as fractions, of every point.
    at: Vec<(f64, f64)>,
    /// Metres north of the domain's centre.
    north_m: Vec<f64>,
}

impl Window {
    fn new(n: usize, lat: &[f64], lon: &[f64]) -> Self {
        let (east, north) = degree_m();
        let spacing = flow::SIDE_M / n as f64;
        let (mut at, mut north_m) = (Vec::new(), Vec::new());
        for &phi in lat {
            for &lambda in lon {
                let y = (phi - CENTRE.0) * north;
                let x = (lambda - CENTRE.1) * east + flow::SIDE_M / 2.0;
                at.push((x / spacing, (y + flow::SIDE_M / 2.0) / spacing));
                north_m.push(y);
            }
        }
        Window { at, north_m }
    }

    /// Values at the points: cubic (Catmull and Rom) for smooth fields.
    fn cubic(&self, field: &[f64]) -> Vec<f64> {
        let weights = |t: f64| {
            let (t2, t3) = (t * t, t * t * t);
            [
                0.5 * (2.0 * t2 - t - t3),
                0.5 * (2.0 - 5.0 * t2 + 3.0 * t3),
                0.5 * (t + 4.0 * t2 - 3.0 * t3),
                0.5 * (t3 - t2),
            ]
        };
        self.sample(field, -1, weights)
    }

    /// Values at the points: linear for fields that must not become negative.
    fn linear(&self, field: &[f64]) -> Vec<f64> {
        self.sample(field, 0, |t| [1.0 - t, t])
    }

    fn sample<const W: usize>(
        &self,
        field: &[f64],
        first: i64,
        weights: impl Fn(f64) -> [f64; W],
    ) -> Vec<f64> {
        let n = field.len().isqrt() as i64;
        let point = |&(x, y): &(f64, f64)| {
            let (column, row) = (x.floor(), y.floor());
            let (wx, wy) = (weights(x - column), weights(y - row));
            let mut sum = 0.0;
            for (j, wy) in wy.iter().enumerate() {
                let line = (row as i64 + first + j as i64).rem_euclid(n) * n;
                for (i, wx) in wx.iter().enumerate() {
                    let place = (column as i64 + first + i as i64).rem_euclid(n);
                    sum += wy * wx * field[(line + place) as usize];
                }
            }
            sum
        };
        self.at.iter().map(point).collect()
    }
}

/// The variables of a synthetic file: those of pressure levels, then precipitation.
fn header(lat: Vec<f64>, lon: Vec<f64>, levels: &[f64]) -> GridHeader {
    let variable = |name: &str, units: &str, long_name: &str| GridVariable {
        name: name.into(),
        units: units.into(),
        long_name: long_name.into(),
        has_levels: name != "precipitation",
    };
    GridHeader {
        title: "Synthetic two-layer quasi-geostrophic weather, not observations".into(),
        attributes: Vec::new(),
        times: Vec::new(),
        levels: levels.to_vec(),
        lat,
        lon,
        curved: None,
        variables: vec![
            variable("DPT", "K", "dew point temperature"),
            variable("TEM", "K", "temperature"),
            variable("GPH", "m", "geopotential height"),
            variable("U", "m s-1", "eastward wind"),
            variable("V", "m s-1", "northward wind"),
            variable(
                "precipitation",
                "mm",
                "precipitation since the record before",
            ),
        ],
        statics: Vec::new(),
        compression: 4,
    }
}

/// Generates weather and writes it as CF NetCDF-4 at `path`.
///
/// The same settings give the same bytes on every machine. `progress` hears how many of how many
/// days are done and may stop the work by returning false; then nothing is written.
///
/// # Errors
/// A setting is out of range, the flow becomes unstable (the message names the `dt` to use), or
/// the file cannot be written.
pub fn generate(
    settings: &Settings,
    path: &Path,
    progress: &mut dyn FnMut(f64, f64) -> bool,
) -> Result<Option<Generated>> {
    let (lat, lon) = settings.check()?;
    let (steps, dt) = settings.steps()?;
    let physics = Physics::default();
    let levels = levels::choose(settings.levels);
    let n_times = (settings.days * 24.0 / settings.step_hours)
        .round()
        .max(1.0) as usize;
    let start = Time::of(2000, 1, 1, 0);
    let record_s = (settings.step_hours * 3600.0) as i64;
    let window = Window::new(settings.grid, &lat, &lon);
    let mut header = header(lat, lon, &levels);
    header.times = (0..n_times)
        .map(|k| Time(start.0 + record_s * k as i64))
        .collect();
    header.statics = statics(&physics, &header.lat, &header.lon);
    let size = (header.lat.len(), header.lon.len());
    let mut file = GridFile::create(path, header)?;

    let mut flow = Flow::new(settings.grid, dt, physics);
    flow.disturb(settings.seed);
    let spin_records = (settings.spinup_days * 24.0 / settings.step_hours).round() as usize;
    let profiles: Vec<Profile> = levels.iter().map(|&p| Profile::at(p)).collect();
    let total_days = settings.days + settings.spinup_days;
    let mut worst = 0.0_f64;
    for record in 0..spin_records + n_times {
        for _ in 0..steps {
            flow.step();
        }
        let courant = flow.courant();
        if !courant.is_finite() || courant > 1.0 {
            return Err(unstable(settings, dt, courant, record));
        }
        let rain = flow.take_rain();
        if record >= spin_records {
            worst = worst.max(courant);
            write_record(
                &mut file,
                record - spin_records,
                &mut flow,
                &rain,
                &window,
                &profiles,
            )?;
        }
        let days = (record + 1) as f64 * settings.step_hours / 24.0;
        if !progress(days.min(total_days), total_days) {
            return Ok(None);
        }
    }
    file.finish()?;
    Ok(Some(Generated {
        n_times,
        window: size,
        levels,
        courant: worst,
    }))
}

fn unstable(settings: &Settings, dt: f64, courant: f64, record: usize) -> Error {
    let day = record as f64 * settings.step_hours / 24.0;
    let safe = if courant.is_finite() {
        dt * 0.7 / courant
    } else {
        dt / 2.0
    };
    let record_s = settings.step_hours * 3600.0;
    let safe = record_s / (record_s / safe).ceil();
    Error::new(
        ErrorKind::Numerics,
        format!(
            "the flow is not stable on day {day:.1}: wind x wave number x dt is {courant:.2}, it \
             must stay below 0.7; use ⟨dt {safe:.0}⟩"
        ),
    )
}

/// Topography in metres and the land mask on the window.
fn statics(physics: &Physics, lat: &[f64], lon: &[f64]) -> Vec<(GridVariable, Vec<f32>)> {
    let (east, north) = degree_m();
    let (mut height, mut mask) = (Vec::new(), Vec::new());
    for &phi in lat {
        for &lambda in lon {
            let x = (lambda - CENTRE.1) * east + flow::SIDE_M / 2.0;
            let y = (phi - CENTRE.0) * north + flow::SIDE_M / 2.0;
            height.push((flow::mountain(physics, x, y).0 * 5000.0 / CORIOLIS) as f32);
            mask.push(f32::from(flow::land(x, y)));
        }
    }
    let variable = |name: &str, units: &str, long_name: &str| GridVariable {
        name: name.into(),
        units: units.into(),
        long_name: long_name.into(),
        has_levels: false,
    };
    vec![
        (variable("topography", "m", "height of the ground"), height),
        (variable("land_mask", "1", "1 on land, 0 at sea"), mask),
    ]
}

/// Writes one record of all variables.
fn write_record(
    file: &mut GridFile,
    record: usize,
    flow: &mut Flow,
    rain: &[f64],
    window: &Window,
    profiles: &[Profile],
) -> Result<()> {
    let look = flow.look();
    let psi = look.psi.map(|field| window.cubic(&field));
    let u = look.u.map(|field| window.cubic(&field));
    let v = look.v.map(|field| window.cubic(&field));
    let moisture = window.linear(&look.moisture);
    let saturation = window.linear(&look.saturation);
    let mean = Physics::default().mean_wind;
    let n = window.at.len();
    let mut columns: [Vec<f32>; 5] = Default::default();
    for profile in profiles {
        for i in 0..n {
            let whole = |layer: usize| psi[layer][i] - mean[layer] * window.north_m[i];
            let point = Point {
                psi: [whole(0), whole(1)],
                u: [u[0][i], u[1][i]],
                v: [v[0][i], v[1][i]],
                wetness: (moisture[i] / saturation[i]).clamp(0.0, 1.0),
            };
            for (column, value) in columns.iter_mut().zip(variables(profile, &point)) {
                column.push(value as f32);
            }
        }
    }
    for (k, column) in columns.iter().enumerate() {
        file.write(record, k, column)?;
    }
    let rain: Vec<f32> = window.linear(rain).iter().map(|&x| x as f32).collect();
    file.write(record, columns.len(), &rain)
}
