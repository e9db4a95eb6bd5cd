//! The kernels as C++ on this processor against the network of the CPU.

use super::super::tests::{noise, parameters, run, spec, worst};
use super::super::{AdamW, Network, Number, Pool, Recompute, Spec, norm_squared};
use super::*;
use crate::gpu::host::HostLibrary;
use crate::gpu::host_work::HostWork;
use crate::gpu::work::List;

/// A machine, or none where there is no g++, which is said.
fn machine(n_threads: usize) -> Option<HostWork> {
    if HostLibrary::has_compiler() {
        return Some(HostWork::new(n_threads, 5));
    }
    assert!(
        std::env::var_os("FITZROY_REQUIRE_GXX").is_none(),
        "there is no g++"
    );
    None
}

fn bytes(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|x| x.to_le_bytes()).collect()
}

fn read(host: &mut HostWork, at: u64, n: usize) -> Vec<f32> {
    let mut bytes = vec![0; 4 * n];
    host.read(at, &mut bytes).unwrap();
    let words = bytes.as_chunks::<4>().0;
    words.iter().map(|b| f32::from_le_bytes(*b)).collect()
}

fn place(
    host: &mut HostWork,
    spec: &Spec,
    recompute: Recompute,
    (batch, averaged): (usize, bool),
    math: Math,
) -> OnDevice {
    let network = Network::new(spec, recompute).unwrap();
    host.load(&text(&network, math), &NAMES, math).unwrap();
    let theta: Vec<f32> = parameters(&network).iter().map(|&x| x as f32).collect();
    let n_grid = spec.nodes[0].n;
    let device = OnDevice::new(network, (batch, 1), math, averaged, 0, host).unwrap();
    host.write(device.state()[0], &[&bytes(&theta)]).unwrap();
    let numbers =
        |n: usize, seed| -> Vec<f32> { noise(n, seed).iter().map(|&x| x as f32).collect() };
    let input = numbers(batch * n_grid * 5, 3);
    host.write(device.input(0, 0), &[&bytes(&input)]).unwrap();
    let slope = numbers(batch * n_grid * spec.out_channels, 4);
    host.write(device.output_slope(), &[&bytes(&slope)])
        .unwrap();
    device
}

/// Everything of a step but the update.
fn learn(device: &OnDevice) -> Vec<Command> {
    let mut commands = Vec::new();
    device.forget(&mut commands);
    device.embed(&mut commands);
    device.forward(&mut commands, 0);
    device.begin_backward(&mut commands);
    device.backward(&mut commands, 0, true);
    device.end_backward(&mut commands);
    commands
}

/// Output, gradient and slope by the input, as `run` gives them for the CPU.
fn on_device(
    host: &mut HostWork,
    spec: &Spec,
    recompute: Recompute,
    batch: usize,
    math: Math,
) -> (Vec<f32>, Vec<f32>, Vec<f32>) {
    let device = place(host, spec, recompute, (batch, false), math);
    let commands = learn(&device);
    host.run(&List {
        number: 0,
        commands,
    })
    .unwrap();
    let n = batch * spec.nodes[0].n;
    let out = read(host, device.output(0), n * spec.out_channels);
    let gradient = read(host, device.gradient(), device.network().n_parameters());
    (out, gradient, read(host, device.input_slope(0), n * 5))
}

/// Differences by array, each relative to the largest number of its array.
fn apart(spec: &Spec, found: &[f32], expected: &[f64]) -> (String, f64) {
    let network = Network::new(spec, Recompute::None).unwrap();
    let arrays = network.parameters().iter().map(|p| {
        let range = p.offset..p.offset + p.n();
        let off = worst(&found[range.clone()], &expected[range]);
        (p.name.clone(), off)
    });
    arrays.max_by(|a, b| a.1.total_cmp(&b.1)).unwrap()
}

/// Outputs and all gradients in f32 against the CPU in f64; sums of f32 cost what they cost there.
/// Catches: an index, a sample, a term or a slope that is lost or counted twice.
#[test]
fn gradients_are_those_of_the_cpu() {
    let mut pool = Pool::new(2);
    for (latent, hidden, n_hidden) in [(16, 16, 1), (12, 20, 2), (33, 40, 1)] {
        let spec = spec(latent, hidden, n_hidden);
        let (out, gradient, slope) = run::<f64>(&spec, Recompute::None, &mut pool, 3);
        for recompute in [Recompute::None, Recompute::Mlp, Recompute::Layer] {
            let Some(mut host) = machine(1) else { return };
            let found = on_device(&mut host, &spec, recompute, 3, Math::F32);
            assert!(worst(&found.0, &out) < 2e-6, "{}", worst(&found.0, &out));
            let off = apart(&spec, &found.1, &gradient);
            assert!(off.1 < 2e-5, "{recompute:?}: {off:?}");
            assert!(worst(&found.2, &slope) < 2e-5);
        }
    }
}

/// Teams of 32 fibers in shuffled order, and products by the kernel: the same numbers as far as
/// the order of sums allows.
#[test]
fn a_warp_and_products_of_its_own_change_little() {
    let spec = spec(33, 40, 1);
    let mut pool = Pool::new(2);
    let (out, gradient, _) = run::<f64>(&spec, Recompute::None, &mut pool, 2);
    let Some(mut host) = machine(32) else { return };
    host.own_products = true;
    let found = on_device(&mut host, &spec, Recompute::None, 2, Math::F32);
    assert!(worst(&found.0, &out) < 2e-6);
    let off = apart(&spec, &found.1, &gradient);
    assert!(off.1 < 2e-5, "{off:?}");
    assert!(host.done.contains(&"product"));
    let again = on_device(
        &mut machine(32).unwrap(),
        &spec,
        Recompute::None,
        2,
        Math::F32,
    );
    let again: Vec<f64> = again.1.iter().map(|&x| f64::from(x)).collect();
    assert!(apart(&spec, &found.1, &again).1 < 1e-5);
}

/// Lower precisions: the bound is a few of their last places, 2⁻¹¹ and 2⁻⁹, after some ten layers.
#[test]
fn lower_precisions_are_as_close_as_they_can_be() {
    let mut pool = Pool::new(2);
    let length = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
    // Rows that are read number by number, and rows of packs.
    for spec in [spec(33, 40, 1), spec(16, 16, 2)] {
        let (out, gradient, _) = run::<f64>(&spec, Recompute::None, &mut pool, 2);
        for (math, bound) in [(Math::Tf32, 2e-3), (Math::Bf16, 2e-2)] {
            for (threads, own_products) in [(1, false), (1, true), (32, false)] {
                let Some(mut host) = machine(threads) else {
                    return;
                };
                host.own_products = own_products;
                let found = on_device(&mut host, &spec, Recompute::Mlp, 2, math);
                for (found, expected) in [(&found.0, &out), (&found.1, &gradient)] {
                    let pairs = found.iter().zip(expected);
                    let off: Vec<f64> = pairs.map(|(a, b)| f64::from(*a) - b).collect();
                    let off = length(&off) / length(expected);
                    assert!(off < bound, "{math:?}: {off}");
                    // What is rounded must show, or nothing was.
                    if !own_products || math == Math::Bf16 {
                        assert!(off > bound / 400.0, "{math:?}: {off}");
                    }
                }
            }
        }
    }
}

/// Five updates with clipping and an average, then one whose gradient is not finite, against the
/// CPU's optimiser in f32.
#[test]
fn parameters_after_updates_are_those_of_the_cpu() {
    let Some(mut host) = machine(1) else { return };
    let spec = spec(16, 16, 1);
    let device = place(&mut host, &spec, Recompute::None, (2, true), Math::F32);
    let n = device.network().n_parameters();
    let adamw = AdamW {
        weight_decay: 0.01,
        ..AdamW::default()
    };
    let mut theta: Vec<f32> = parameters(device.network())
        .iter()
        .map(|&x| x as f32)
        .collect();
    host.write(device.state()[3], &[&bytes(&theta)]).unwrap();
    let start = theta.clone();
    let (mut m, mut v, mut average) = (vec![0.0; n], vec![0.0; n], theta.clone());
    let mut commands = learn(&device);
    let update = Update {
        adamw,
        clip: 0.5,
        count: 1,
        past: 0.3,
    };
    device.update(&mut commands, &update);
    let list = List {
        number: 1,
        commands,
    };
    let mut pool = Pool::new(1);
    let cpu = Network::new(&spec, Recompute::None).unwrap();
    let mut workspace = cpu.workspace::<f32>(2, 1, &pool);
    let numbers =
        |n: usize, seed| -> Vec<f32> { noise(n, seed).iter().map(|&x| x as f32).collect() };
    let grid = 2 * 130;
    for step in 1..=5_u64 {
        let rate = 1e-3 * step as f64;
        let at = device.status() + 8 * status::RATE;
        host.write(at, &[&rate.to_le_bytes()]).unwrap();
        host.run(&list).unwrap();
        let input = cpu.input(&mut workspace, 0, 0);
        input.copy_from_slice(&numbers(grid * 5, 3));
        cpu.embed(&mut workspace, &mut pool, &theta);
        cpu.forward(&mut workspace, &mut pool, &theta, 0);
        let slope = cpu.output_slope(&mut workspace);
        slope.copy_from_slice(&numbers(grid * 3, 4));
        let mut gradient = vec![0.0; n];
        cpu.begin_backward(&mut workspace, &mut pool, &theta);
        cpu.backward(&mut workspace, &mut pool, &theta, &mut gradient, 0, true);
        cpu.end_backward(&mut workspace, &mut pool, &theta, &mut gradient);
        let norm = norm_squared(&gradient).sqrt();
        let found = device.read_status(&mut host).unwrap();
        assert!((found.last.1 / norm - 1.0).abs() < 1e-5, "{found:?}");
        let factor = (0.5 / norm).min(1.0);
        adamw.step(
            &mut pool, step, rate, factor, &mut theta, &gradient, &mut m, &mut v,
        );
        let t = step as f64;
        let past = f64::min(0.3, (1.0 + t) / (10.0 + t)) as f32;
        for (mean, x) in average.iter_mut().zip(&theta) {
            *mean = past * *mean + (1.0 - past) * *x;
        }
    }
    // Where a slope is all rounding, Adam takes a whole step in either direction; few such slopes
    // are there, so the way as a whole must agree.
    let away = |a: &[f32], b: &[f32]| {
        let pairs = a.iter().zip(b);
        let sum: f64 = pairs.map(|(a, b)| f64::from(a - b).powi(2)).sum();
        sum.sqrt()
    };
    let places = device.state();
    let way = away(&theta, &start);
    for (at, expected) in [(places[0], &theta), (places[3], &average)] {
        let off = away(&read(&mut host, at, n), expected) / way;
        assert!(off < 1e-3, "{off}");
    }
    let before = read(&mut host, places[0], n);
    host.write(device.input(0, 0), &[&bytes(&[f32::NAN])])
        .unwrap();
    for _ in 0..4 {
        host.run(&list).unwrap();
    }
    let found = device.read_status(&mut host).unwrap();
    assert_eq!(
        (found.updates, found.skipped, found.in_a_row),
        (5.0, 4.0, 4.0)
    );
    assert!(read(&mut host, places[0], n) == before);
}

#[test]
fn memory_is_told_before_it_is_taken() {
    let spec = spec(16, 16, 1);
    let of = |recompute, batch, math| -> u64 {
        let network = Network::new(&spec, recompute).unwrap();
        let parts = OnDevice::bytes(&network, (batch, 1), math, false, 100);
        parts.iter().map(|p| p.1).sum()
    };
    let whole = of(Recompute::None, 64, Math::F32);
    assert!(of(Recompute::None, 64, Math::Bf16) < whole);
    assert!(of(Recompute::Mlp, 64, Math::F32) < whole);
    assert!(of(Recompute::None, 32, Math::F32) < whole * 6 / 10);
    let _ = f32::from_f64(1.0);
}
