//! From two layers and moisture to variables on pressure levels, on a latitude-longitude grid.
//!
//! Two vertical modes: Ψ(p) = (Ψ1+Ψ2)/2 + s(p)(Ψ1−Ψ2)/2 with s = −cos(πz), z = ln(1000/p)/ln 10.

use std::f64::consts::PI;

/// The levels a generator can write, hPa; N of them are chosen from this list.
pub const LEVELS_HPA: [f64; 11] = [
    100.0, 150.0, 200.0, 250.0, 300.0, 400.0, 500.0, 700.0, 850.0, 925.0, 1000.0,
];

/// Coriolis parameter at the centre, 1/s.
pub(super) const CORIOLIS: f64 = 1e-4;
/// Acceleration of gravity, m/s².
const GRAVITY: f64 = 9.80665;
/// Gas constant of dry air, J/(kg K).
const GAS: f64 = 287.05;

/// `n` of the levels, from the top down: 250 and 850 hPa for two, else spread over the list.
pub fn choose(n: usize) -> Vec<f64> {
    if n == 2 {
        return vec![250.0, 850.0];
    }
    let last = LEVELS_HPA.len() - 1;
    (0..n)
        .map(|k| LEVELS_HPA[(k * last + (n - 1) / 2) / (n - 1).max(1)])
        .collect()
}

/// Everything at one level that does not change.
#[derive(Clone, Copy, Debug)]
pub(super) struct Profile {
    /// s(p).
    mode: f64,
    /// Height of the standard atmosphere, m.
    height: f64,
    /// Its temperature, K.
    temperature: f64,
    /// K of temperature for a m²/s of (Ψ1−Ψ2)/2.
    thermal: f64,
    /// Relative humidity that the flow's moisture is scaled with.
    humidity: f64,
}

impl Profile {
    /// The profile at a pressure in hPa.
    pub(super) fn at(pressure: f64) -> Self {
        let z = libm::log(1000.0 / pressure) / std::f64::consts::LN_10;
        // A standard troposphere of 6.5 K/km below an isothermal stratosphere at 216.65 K.
        let (surface, lapse, top) = (288.15, 0.0065, 226.32);
        let exponent = GAS * lapse / GRAVITY;
        let (temperature, height) = if pressure >= top {
            let t = surface * libm::pow(pressure / 1013.25, exponent);
            (t, (surface - t) / lapse)
        } else {
            let t = 216.65;
            let tropopause = (surface - t) / lapse;
            (
                t,
                tropopause + GAS * t / GRAVITY * libm::log(top / pressure),
            )
        };
        Profile {
            mode: -libm::cos(PI * z),
            height,
            temperature,
            thermal: CORIOLIS / GAS * (PI / std::f64::consts::LN_10) * libm::sin(PI * z),
            humidity: 0.15 + 0.75 * libm::exp(-1.2 * z * z / 0.16),
        }
    }
}

/// One point of the flow; Ψ includes the mean wind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    /// Ψ1 and Ψ2, m²/s.
    pub(super) psi: [f64; 2],
    /// Eastward winds, m/s.
    pub(super) u: [f64; 2],
    /// Northward winds, m/s.
    pub(super) v: [f64; 2],
    /// min(m/qs, 1).
    pub(super) wetness: f64,
}

/// DPT, TEM, GPH, U, V at a level.
pub(super) fn variables(profile: &Profile, point: &Point) -> [f64; 5] {
    let blend =
        |pair: [f64; 2]| 0.5 * (pair[0] + pair[1]) + profile.mode * 0.5 * (pair[0] - pair[1]);
    let anomaly = 0.5 * (point.psi[0] - point.psi[1]);
    let temperature = profile.temperature + profile.thermal * anomaly;
    let height = profile.height + CORIOLIS * blend(point.psi) / GRAVITY;
    let dew_point = dew_point(temperature, (point.wetness * profile.humidity).max(0.01));
    [
        dew_point,
        temperature,
        height,
        blend(point.u),
        blend(point.v),
    ]
}

/// Dew point in K from a temperature in K and a relative humidity, by Bolton's formula.
///
/// Source: Bolton, "The computation of equivalent potential temperature", Monthly Weather Review
/// 108, 1980, equation 10.
fn dew_point(temperature: f64, humidity: f64) -> f64 {
    let celsius = temperature - 273.15;
    let exponent = 17.67 * celsius / (celsius + 243.5) + libm::log(humidity);
    273.15 + 243.5 * exponent / (17.67 - exponent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_spread_from_top_to_bottom() {
        assert_eq!(choose(2), [250.0, 850.0]);
        assert_eq!(choose(11), LEVELS_HPA);
        for n in 3..11 {
            let levels = choose(n);
            assert_eq!((levels[0], levels[n - 1]), (100.0, 1000.0));
            assert!(
                levels.windows(2).all(|pair| pair[0] < pair[1]),
                "{levels:?}"
            );
        }
    }

    #[test]
    fn the_modes_are_the_layers_at_their_ends() {
        let point = Point {
            psi: [3e7, 1e7],
            u: [30.0, -5.0],
            v: [2.0, 4.0],
            wetness: 1.0,
        };
        let top = variables(&Profile::at(100.0), &point);
        let bottom = variables(&Profile::at(1000.0), &point);
        assert!((top[3] - 30.0).abs() < 1e-9 && (top[4] - 2.0).abs() < 1e-9);
        assert!((bottom[3] + 5.0).abs() < 1e-9 && (bottom[4] - 4.0).abs() < 1e-9);
    }

    /// At saturation the dew point is the temperature; Bolton: 10 °C and 50 % give about 0 °C.
    #[test]
    fn dew_points_follow_bolton() {
        assert!((dew_point(283.15, 1.0) - 283.15).abs() < 1e-9);
        assert!((dew_point(283.15, 0.5) - 273.15).abs() < 0.1);
    }

    /// The US standard atmosphere: 500 hPa at 5,574 m and −21.2 °C, 200 hPa at 11,784 m.
    #[test]
    fn the_background_is_the_standard_atmosphere() {
        let middle = Profile::at(500.0);
        assert!((middle.height - 5574.0).abs() < 10.0 && (middle.temperature - 251.95).abs() < 0.5);
        assert!((Profile::at(200.0).height - 11_784.0).abs() < 20.0);
    }
}
