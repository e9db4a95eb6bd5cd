//! The generator against theory and its own past.

use super::*;
use std::f64::consts::TAU;

fn quiet() -> Physics {
    Physics {
        mean_wind: [0.0, 0.0],
        friction: 0.0,
        relaxation: 0.0,
        mountain: 0.0,
        filter: 0.0,
        ..Physics::default()
    }
}

#[test]
fn inversion_gives_back_the_waves_that_were_set() {
    let mut flow = Flow::new(32, 600.0, Physics::default());
    let (upper, lower) = ((3e5, -1e5), (-2e5, 4e4));
    flow.set_wave(3, 5, upper, lower);
    let found = flow.wave_of(3, 5);
    for (found, set) in found.iter().zip([upper, lower]) {
        assert!((found.0 - set.0).abs() < 1e-6 && (found.1 - set.1).abs() < 1e-6);
    }
}

/// One small wave in sheared flow: d/dt (ψ1, ψ2) = A (ψ1, ψ2) with a complex 2 × 2 matrix,
/// whose growing eigenvalue the flow must show within 1 %. Catches: a wrong sign or factor in
/// advection, stretching, β or friction.
#[test]
fn a_small_wave_grows_as_the_linear_theory_says() {
    check_growth(Physics::default().beta, (2, 0));
    check_growth(0.0, (1, 1));
}

fn check_growth(beta: f64, (kx, ky): (usize, usize)) {
    let physics = Physics {
        mountain: 0.0,
        filter: 0.0,
        beta,
        ..Physics::default()
    };
    let f = 1.0 / (2.0 * 8e5 * 8e5);
    let (k, ky_m) = (
        TAU / flow::SIDE_M * kx as f64,
        TAU / flow::SIDE_M * ky as f64,
    );
    let (k2, [u1, u2]) = (k * k + ky_m * ky_m, physics.mean_wind);
    // M ψ = q, and dq/dt = B ψ with B = i·imaginary + real.
    let m = [[-(k2 + f), f], [f, -(k2 + f)]];
    let planetary = [beta + f * (u1 - u2), beta + f * (u2 - u1)];
    let heat = f * physics.relaxation;
    let imaginary = [
        [-k * u1 * m[0][0] - k * planetary[0], -k * u1 * m[0][1]],
        [-k * u2 * m[1][0], -k * u2 * m[1][1] - k * planetary[1]],
    ];
    let real = [[heat, -heat], [-heat, heat + physics.friction * k2]];
    let det = m[0][0] * m[1][1] - m[0][1] * m[1][0];
    let inverse = [
        [m[1][1] / det, -m[0][1] / det],
        [-m[1][0] / det, m[0][0] / det],
    ];
    let product =
        |b: [[f64; 2]; 2], i: usize, j: usize| inverse[i][0] * b[0][j] + inverse[i][1] * b[1][j];
    let a = |i: usize, j: usize| (product(real, i, j), product(imaginary, i, j));
    // Power iteration of exp(A t) by many small Euler steps of (I + A dt), in complex numbers.
    let multiply = |x: (f64, f64), y: (f64, f64)| (x.0 * y.0 - x.1 * y.1, x.0 * y.1 + x.1 * y.0);
    let mut state = [(1.0, 0.0), (0.3, 0.5)];
    let (dt, mut growth) = (20.0, 0.0);
    for step in 0..200_000 {
        let mut next = state;
        for i in 0..2 {
            for j in 0..2 {
                let change = multiply(a(i, j), state[j]);
                next[i] = (next[i].0 + dt * change.0, next[i].1 + dt * change.1);
            }
        }
        let norm =
            |s: &[(f64, f64); 2]| s.iter().map(|z| z.0 * z.0 + z.1 * z.1).sum::<f64>().sqrt();
        growth = (norm(&next) / norm(&state)).ln() / dt;
        let scale = if step % 100 == 0 {
            1.0 / norm(&next)
        } else {
            1.0
        };
        state = next.map(|z| (z.0 * scale, z.1 * scale));
    }
    assert!(growth * 86_400.0 > 0.04, "no growing mode: {growth}");

    let mut flow = Flow::new(32, 600.0, physics);
    flow.set_wave(kx, ky, (state[0].0, state[0].1), (state[1].0, state[1].1));
    let size = |flow: &mut Flow| {
        let [(a, b), _] = flow.wave_of(kx, ky);
        libm::hypot(a, b)
    };
    for _ in 0..144 {
        flow.step();
    }
    let start = size(&mut flow);
    for _ in 0..432 {
        flow.step();
    }
    let found = (size(&mut flow) / start).ln() / (432.0 * 600.0);
    assert!((found / growth - 1.0).abs() < 0.01, "{found} and {growth}");
}

/// Without forcing, friction and filter the energy is kept; the bound is that of the time step.
/// Catches: advection that does not conserve, a wrong AB3 weight.
#[test]
fn energy_is_kept_over_five_days() {
    let mut flow = Flow::new(64, 600.0, quiet());
    // Long waves with winds of a few m/s: without the filter stronger ones end in noise.
    flow.disturb(7);
    let scale = (6.0 / flow.energy()).sqrt();
    flow.scale_vorticity(scale);
    let before = flow.energy();
    for _ in 0..5 * 144 {
        flow.step();
    }
    let after = flow.energy();
    assert!((after / before - 1.0).abs() < 0.01, "{before} to {after}");
}

/// A short run on a coarse grid: winds develop, rain is of normal size from the first record on.
#[test]
fn weather_develops_and_the_first_rain_is_not_that_of_the_spinup() {
    let mut flow = Flow::new(32, 1200.0, Physics::default());
    flow.disturb(42);
    let (mut totals, mut winds) = (Vec::new(), Vec::new());
    for record in 0..4 * 160 {
        for _ in 0..18 {
            flow.step();
        }
        assert!(flow.courant() < 1.0, "record {record}: {}", flow.courant());
        let rain = flow.take_rain();
        if record >= 4 * 110 {
            totals.push(rain.iter().sum::<f64>() / rain.len() as f64);
            let v = &flow.look().v[0];
            winds.push((v.iter().map(|x| x * x).sum::<f64>() / v.len() as f64).sqrt());
        }
    }
    let mean = totals.iter().sum::<f64>() / totals.len() as f64;
    assert!(mean > 0.02 && mean < 5.0, "{mean} mm in 6 h");
    assert!(totals[0] < 10.0 * mean, "{} of {mean}", totals[0]);
    let wind = winds.iter().sum::<f64>() / winds.len() as f64;
    assert!((3.0..30.0).contains(&wind), "{wind} m/s");
}

#[test]
fn settings_out_of_range_say_what_is_needed() {
    let path = std::env::temp_dir().join("fitzroy-weather-never.nc");
    type Change = fn(&mut Settings);
    let cases: [(Change, &str); 6] = [
        (|s| s.grid = 48, "power of two"),
        (|s| s.levels = 1, "2 to 11"),
        (|s| s.days = 0.0, "⟨days "),
        (|s| s.lat = (10.0, 10.0), "latitude"),
        (|s| s.lon = (-80.0, 80.0), "leaves the domain"),
        (|s| s.step_hours = 0.0, "⟨step_hours "),
    ];
    for (change, part) in cases {
        let mut settings = Settings::default();
        change(&mut settings);
        let error = generate(&settings, &path, &mut |_, _| true).unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
        assert!(!path.exists());
    }
}

#[test]
fn too_long_steps_are_an_error_that_names_the_right_one() {
    let path = std::env::temp_dir().join("fitzroy-weather-unstable.nc");
    let settings = Settings {
        grid: 32,
        days: 1.0,
        spinup_days: 200.0,
        dt_s: Some(21_600.0),
        ..Settings::default()
    };
    let error = generate(&settings, &path, &mut |_, _| true).unwrap_err();
    assert!(error.to_string().contains("use ⟨dt "), "{error}");
    assert!(!path.exists());
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let folder = std::env::temp_dir();
    let bytes = |name: &str, seed: u64| {
        let path = folder.join(format!("fitzroy-weather-{name}-{}.nc", std::process::id()));
        let settings = Settings {
            grid: 16,
            days: 2.0,
            spinup_days: 3.0,
            seed,
            ..Settings::default()
        };
        generate(&settings, &path, &mut |_, _| true).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        bytes
    };
    let first = bytes("a", 1);
    assert!(first == bytes("b", 1));
    assert!(first != bytes("c", 2));
}
