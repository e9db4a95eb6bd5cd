//! What is known beforehand: time of day and year, the sun, the ground.

use super::archive::Archive;
use crate::time::Time;
use std::f64::consts::{PI, TAU};

/// Numbers of a node that change with time: sin and cos of day and year, and the sun's height.
pub const FORCINGS: usize = 5;

/// Fills `out` (nodes × [`FORCINGS`]) for a time, with the places of an archive.
///
/// Cosine of the zenith angle: max(0, sin φ sin δ + cos φ cos δ cos h), δ = −23.44° cos(2π (day
/// + 10)/365.25), h = 2π hours/24 + λ − π.
pub fn forcings(time: Time, archive: &Archive, out: &mut [f32]) {
    let hour = TAU * time.hours() / 24.0;
    let year = TAU * time.day_of_year() / 365.25;
    let day = (time.day_of_year() + 10.0) / 365.25;
    let tilt = -23.44_f64.to_radians() * libm::cos(TAU * day);
    let common = [
        libm::sin(hour),
        libm::cos(hour),
        libm::sin(year),
        libm::cos(year),
    ];
    // Latitudes are mostly those of the point before.
    let (mut last, mut of_last) = (f64::NAN, (0.0, 0.0));
    for (k, node) in out.chunks_exact_mut(FORCINGS).enumerate() {
        let (phi, lambda) = archive.place(k);
        if phi != last {
            (last, of_last) = (phi, libm::sincos(phi.to_radians()));
        }
        let (sin, cos) = of_last;
        let angle = hour + lambda.to_radians() - PI;
        let sun = sin * libm::sin(tilt) + cos * libm::cos(tilt) * libm::cos(angle);
        for (to, x) in node.iter_mut().zip(common) {
            *to = x as f32;
        }
        node[4] = sun.max(0.0) as f32;
    }
}

/// Numbers of a node that never change: static fields brought to mean 0 and deviation 1, sin and
/// cos of latitude and longitude, and 1 on the forced boundary; and how many they are.
pub fn statics(archive: &Archive, boundary: &[bool]) -> (Vec<f32>, usize) {
    let n = archive.n_nodes();
    let mut columns: Vec<Vec<f32>> = Vec::new();
    for (_, field) in &archive.statics {
        let mean = field.iter().map(|&x| f64::from(x)).sum::<f64>() / n as f64;
        let variance = field
            .iter()
            .map(|&x| (f64::from(x) - mean).powi(2))
            .sum::<f64>()
            / n as f64;
        let sd = if variance > 0.0 { variance.sqrt() } else { 1.0 };
        columns.push(
            field
                .iter()
                .map(|&x| ((f64::from(x) - mean) / sd) as f32)
                .collect(),
        );
    }
    let place = |f: &dyn Fn(f64, f64) -> f64| {
        let mut column = Vec::with_capacity(n);
        for k in 0..n {
            let (phi, lambda) = archive.place(k);
            column.push(f(phi.to_radians(), lambda.to_radians()) as f32);
        }
        column
    };
    columns.push(place(&|phi, _| libm::sin(phi)));
    columns.push(place(&|phi, _| libm::cos(phi)));
    columns.push(place(&|_, lambda| libm::sin(lambda)));
    columns.push(place(&|_, lambda| libm::cos(lambda)));
    columns.push(boundary.iter().map(|&b| f32::from(b)).collect());
    let width = columns.len();
    let mut out = vec![0.0; n * width];
    for (k, column) in columns.iter().enumerate() {
        for (node, &x) in column.iter().enumerate() {
            out[node * width + k] = x;
        }
    }
    (out, width)
}
