//! Networks against a plain reference, central differences, and themselves.

use super::block::TILE;
use super::*;
use crate::lanes::Level;

/// Numbers without a pattern, in (−1, 1).
pub(super) fn noise(n: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    };
    (0..n).map(|_| next()).collect()
}

fn ring(name: &str, from: (usize, usize), to: (usize, usize), n_each: usize) -> EdgeSet {
    let mut pairs: Vec<(u32, u32)> = Vec::new();
    for receiver in 0..to.1 {
        for k in 0..n_each {
            let sender = (receiver * 7 + 3 * k + 1) % from.1;
            if from.0 != to.0 || sender != receiver {
                pairs.push((receiver as u32, sender as u32));
            }
        }
    }
    pairs.sort_unstable();
    pairs.dedup();
    EdgeSet {
        name: name.into(),
        from: from.0,
        to: to.0,
        receivers: pairs.iter().map(|p| p.0).collect(),
        senders: pairs.iter().map(|p| p.1).collect(),
        channels: 3,
        features: noise(pairs.len() * 3, 5),
    }
}

/// A network with everything: sets with and without samples, edges that last, uneven sizes.
pub(super) fn spec(latent: usize, hidden: usize, n_hidden: usize) -> Spec {
    let (grid, mesh) = (130, 37);
    let stage = Stage::new;
    Spec {
        latent,
        hidden,
        n_hidden,
        nodes: vec![
            NodeSet::samples("grid", grid, 5),
            NodeSet::fixed("mesh", 2, noise(mesh * 2, 9)),
        ],
        edges: vec![
            ring("up", (0, grid), (1, mesh), 9),
            ring("mesh", (1, mesh), (1, mesh), 6),
            ring("down", (1, mesh), (0, grid), 4),
        ],
        stages: vec![
            stage("encode", &[0], &[1, 0]),
            stage("layer0", &[1], &[1]),
            stage("layer1", &[1], &[1]),
            stage("decode", &[2], &[0]),
        ],
        output: 0,
        out_channels: 3,
    }
}

/// Parameters near those of a fresh network, but none special.
pub(super) fn parameters(network: &Network) -> Vec<f64> {
    let mut all = vec![0.0; network.n_parameters()];
    for (number, parameter) in network.parameters().iter().enumerate() {
        let values = noise(parameter.n(), 100 + number as u64);
        let (shift, scale) = match parameter.shape.as_slice() {
            [k, _] => (0.0, 1.0 / (*k as f64).sqrt()),
            _ if parameter.name.ends_with("gamma") => (1.0, 0.2),
            _ => (0.0, 0.2),
        };
        for (to, x) in all[parameter.offset..].iter_mut().zip(values) {
            *to = shift + scale * x;
        }
    }
    all
}

/// The network as its documentation writes it: concatenated inputs, one row at a time, in f64.
fn reference(
    spec: &Spec,
    network: &Network,
    theta: &[f64],
    input: &[f64],
    batch: usize,
) -> Vec<f64> {
    let parameter = |name: &str| {
        let found = network.parameters().iter().find(|p| p.name == name);
        found.map(|p| &theta[p.offset..p.offset + p.n()])
    };
    let mlp = |name: &str, x: &[f64]| -> Vec<f64> {
        let mut x = x.to_vec();
        for layer in 0..=spec.n_hidden {
            let w = parameter(&format!("{name}.w{layer}")).unwrap();
            let mut y = parameter(&format!("{name}.b{layer}")).unwrap().to_vec();
            let n = y.len();
            for (k, x) in x.iter().enumerate() {
                for (j, y) in y.iter_mut().enumerate() {
                    *y += x * w[k * n + j];
                }
            }
            if layer < spec.n_hidden {
                y.iter_mut().for_each(|y| *y /= 1.0 + (-*y).exp());
            }
            x = y;
        }
        if let Some(gamma) = parameter(&format!("{name}.gamma")) {
            let beta = parameter(&format!("{name}.beta")).unwrap();
            let n = x.len() as f64;
            let mean = x.iter().sum::<f64>() / n;
            let variance = x.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n;
            for (j, x) in x.iter_mut().enumerate() {
                *x = (*x - mean) / (variance + 1e-5).sqrt() * gamma[j] + beta[j];
            }
        }
        x
    };
    let mut out = Vec::new();
    let n_input = input.len() / batch;
    for sample in input.chunks(n_input) {
        let embed = |name: &str, values: &[f64], channels: usize| -> Vec<Vec<f64>> {
            values
                .chunks(channels)
                .map(|row| mlp(&format!("embed.{name}"), row))
                .collect()
        };
        let mut nodes: Vec<Vec<Vec<f64>>> = spec
            .nodes
            .iter()
            .map(|set| match &set.input {
                Input::Samples { channels } => {
                    embed(&format!("nodes.{}", set.name), sample, *channels)
                }
                Input::Fixed { channels, values } => {
                    embed(&format!("nodes.{}", set.name), values, *channels)
                }
            })
            .collect();
        let edge_states = spec.edges.iter();
        let mut edges: Vec<Vec<Vec<f64>>> = edge_states
            .map(|set| embed(&format!("edges.{}", set.name), &set.features, set.channels))
            .collect();
        for stage in &spec.stages {
            let before = nodes.clone();
            let mut sums = Vec::new();
            for &number in &stage.edges {
                let set = &spec.edges[number];
                let mut sum = vec![vec![0.0; spec.latent]; spec.nodes[set.to].n];
                for edge in 0..set.senders.len() {
                    let (s, r) = (set.senders[edge] as usize, set.receivers[edge] as usize);
                    let row = [
                        &edges[number][edge][..],
                        &before[set.from][s],
                        &before[set.to][r],
                    ];
                    let message = mlp(&format!("{}.edges.{}", stage.name, set.name), &row.concat());
                    for j in 0..spec.latent {
                        edges[number][edge][j] += message[j];
                        sum[r][j] += message[j];
                    }
                }
                sums.push((set.to, sum));
            }
            for &number in &stage.nodes {
                for node in 0..spec.nodes[number].n {
                    let mut row = before[number][node].clone();
                    for (_, sum) in sums.iter().filter(|(to, _)| *to == number) {
                        row.extend(&sum[node]);
                    }
                    let name = format!("{}.nodes.{}", stage.name, spec.nodes[number].name);
                    for (to, x) in nodes[number][node].iter_mut().zip(mlp(&name, &row)) {
                        *to += x;
                    }
                }
            }
        }
        for row in &nodes[spec.output] {
            out.extend(mlp("decode", row));
        }
    }
    out
}

/// Output and gradient of Σ w·out, and the slope by the input.
pub(super) fn run<E: Number>(
    spec: &Spec,
    recompute: Recompute,
    pool: &mut Pool,
    batch: usize,
) -> (Vec<E>, Vec<E>, Vec<E>) {
    let network = Network::new(spec, recompute).unwrap();
    let theta: Vec<E> = parameters(&network).into_iter().map(E::from_f64).collect();
    let mut workspace = network.workspace::<E>(batch, 1, pool);
    let input = network.input(&mut workspace, 0, 0);
    let values = noise(input.len(), 3);
    for (to, x) in input.iter_mut().zip(values) {
        *to = E::from_f64(x);
    }
    network.embed(&mut workspace, pool, &theta);
    network.forward(&mut workspace, pool, &theta, 0);
    let out = network.output(&mut workspace, 0).to_vec();
    let slope = network.output_slope(&mut workspace);
    let weights = noise(slope.len(), 4);
    for (to, x) in slope.iter_mut().zip(weights) {
        *to = E::from_f64(x);
    }
    let mut gradient = vec![E::default(); network.n_parameters()];
    network.begin_backward(&mut workspace, pool, &theta);
    network.backward(&mut workspace, pool, &theta, &mut gradient, 0, true);
    network.end_backward(&mut workspace, pool, &theta, &mut gradient);
    let input_slope = network.input_slope(&mut workspace, 0).to_vec();
    (out, gradient, input_slope)
}

pub(super) fn worst<E: Number>(a: &[E], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    let scale = b.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    let pairs = a.iter().zip(b);
    pairs.fold(0.0_f64, |m, (x, y)| m.max((x.to_f64() - y).abs())) / scale
}

#[test]
fn the_fast_form_is_the_network_as_written() {
    for (latent, hidden, n_hidden) in [(16, 16, 1), (12, 20, 2), (64, 33, 1)] {
        let spec = spec(latent, hidden, n_hidden);
        let mut pool = Pool::new(1);
        let network = Network::new(&spec, Recompute::None).unwrap();
        let theta = parameters(&network);
        let input = noise(2 * 130 * 5, 3);
        let expected = reference(&spec, &network, &theta, &input, 2);
        let (out, ..) = run::<f64>(&spec, Recompute::None, &mut pool, 2);
        assert!(
            worst(&out, &expected) < 1e-13,
            "{latent}: {}",
            worst(&out, &expected)
        );
        let (out, ..) = run::<f32>(&spec, Recompute::None, &mut pool, 2);
        assert!(
            worst(&out, &expected) < 1e-5,
            "{latent}: {}",
            worst(&out, &expected)
        );
    }
}

/// Central differences of the reference in f64, at parameters of every array. Bound: the
/// rounding of differences with h = 1e-5, near 1e-9. Catches: any missing or doubled term.
#[test]
fn gradients_are_central_differences() {
    let spec = spec(12, 20, 2);
    let mut pool = Pool::new(2);
    let network = Network::new(&spec, Recompute::None).unwrap();
    let (_, gradient, input_slope) = run::<f64>(&spec, Recompute::None, &mut pool, 2);
    let mut theta = parameters(&network);
    let mut input = noise(2 * 130 * 5, 3);
    let weights = noise(2 * 130 * 3, 4);
    let value = |theta: &[f64], input: &[f64]| -> f64 {
        let out = reference(&spec, &network, theta, input, 2);
        out.iter().zip(&weights).map(|(a, b)| a * b).sum()
    };
    let h = 1e-5;
    let scale = gradient.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    for parameter in network.parameters() {
        let at = parameter.offset + parameter.n() / 2;
        let kept = theta[at];
        theta[at] = kept + h;
        let above = value(&theta, &input);
        theta[at] = kept - h;
        let slope = (above - value(&theta, &input)) / (2.0 * h);
        theta[at] = kept;
        let error = (gradient[at] - slope).abs() / scale;
        assert!(
            error < 1e-7,
            "{}: {} and {slope}",
            parameter.name,
            gradient[at]
        );
    }
    for at in [0, 333, 1299] {
        let kept = input[at];
        input[at] = kept + h;
        let above = value(&theta, &input);
        input[at] = kept - h;
        let slope = (above - value(&theta, &input)) / (2.0 * h);
        input[at] = kept;
        assert!(
            (input_slope[at] - slope).abs() < 1e-6 * slope.abs().max(1.0),
            "input {at}"
        );
    }
}

#[test]
fn single_precision_agrees_with_double() {
    let spec = spec(64, 64, 1);
    let mut pool = Pool::new(2);
    let (_, expected, _) = run::<f64>(&spec, Recompute::None, &mut pool, 3);
    let (_, gradient, _) = run::<f32>(&spec, Recompute::None, &mut pool, 3);
    assert!(
        worst(&gradient, &expected) < 1e-4,
        "{}",
        worst(&gradient, &expected)
    );
}

#[test]
fn threads_levels_and_recomputation_change_no_bit() {
    let spec = spec(48, 40, 2);
    for batch in [1, 3, 9] {
        let first = run::<f32>(&spec, Recompute::None, &mut Pool::new(1), batch);
        for n_threads in [2, 3] {
            let other = run::<f32>(&spec, Recompute::None, &mut Pool::new(n_threads), batch);
            assert!(first == other, "{n_threads} threads, batch {batch}");
        }
        for level in Level::available() {
            let mut pool = Pool::at_level(2, level);
            let other = run::<f32>(&spec, Recompute::None, &mut pool, batch);
            assert!(first == other, "{level:?}, batch {batch}");
        }
        for recompute in [Recompute::Mlp, Recompute::Layer] {
            let other = run::<f32>(&spec, recompute, &mut Pool::new(2), batch);
            assert!(first == other, "{recompute:?}, batch {batch}");
        }
    }
}

/// Seven equal stages are groups of 3, 3 and 1: fewer states are kept, and not a bit changes.
#[test]
fn states_between_layers_need_not_be_kept() {
    let mut spec = spec(32, 24, 1);
    let layer = spec.stages[1].clone();
    let more = (2..7).map(|k| Stage {
        name: format!("layer{k}"),
        ..layer.clone()
    });
    spec.stages.splice(3..3, more);
    let first = run::<f32>(&spec, Recompute::None, &mut Pool::new(1), 2);
    let bytes = |recompute| {
        let network = Network::new(&spec, recompute).unwrap();
        network.workspace_bytes::<f32>(8, 4, 1)
    };
    let (none, mlp, layer) = (
        bytes(Recompute::None),
        bytes(Recompute::Mlp),
        bytes(Recompute::Layer),
    );
    assert!(layer < mlp && mlp < none, "{layer} {mlp} {none}");
    for threads in [1, 2] {
        let other = run::<f32>(&spec, Recompute::Layer, &mut Pool::new(threads), 2);
        assert!(first == other, "{threads} threads");
    }
}

#[test]
fn every_block_is_seen_at_work() {
    let spec = spec(16, 16, 1);
    let network = Network::new(&spec, Recompute::Layer).unwrap();
    let mut pool = Pool::new(2);
    let mut workspace = network.workspace::<f32>(2, 1, &pool);
    let parameters = vec![0.1; network.n_parameters()];
    let mut gradient = parameters.clone();
    let ticks = std::sync::atomic::AtomicU64::new(0);
    let clock = move || ticks.fetch_add(1, std::sync::atomic::Ordering::Relaxed) as f64;
    workspace.observe(Some(std::sync::Arc::new(clock)));
    network.embed(&mut workspace, &mut pool, &parameters);
    network.forward(&mut workspace, &mut pool, &parameters, 0);
    network.begin_backward(&mut workspace, &mut pool, &parameters);
    network.backward(
        &mut workspace,
        &mut pool,
        &parameters,
        &mut gradient,
        0,
        false,
    );
    network.end_backward(&mut workspace, &mut pool, &parameters, &mut gradient);
    let spans = workspace.spans();
    for block in 0..network.blocks(2).len() {
        let of = |passes: &[Pass]| {
            let own = spans
                .iter()
                .filter(|s| s.block == block && passes.contains(&s.pass));
            own.count()
        };
        let forward = of(&[Pass::Embed, Pass::Forward]);
        assert_eq!((forward, of(&[Pass::Backward])), (1, 1), "block {block}");
    }
    // Two layers are one group: their four blocks ran forward twice.
    assert_eq!(spans.iter().filter(|s| s.pass == Pass::Again).count(), 4);
    assert!(spans.windows(2).all(|pair| pair[0].end_s < pair[1].start_s));
    workspace.observe(None);
    network.forward(&mut workspace, &mut pool, &parameters, 0);
    assert!(workspace.spans().is_empty());
}

#[test]
fn a_panic_on_one_thread_reaches_the_caller() {
    let mut pool = Pool::new(3);
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        pool.run(&|crew| crew.each(30, |job| assert!(job != 17, "job 17")));
    }));
    assert!(caught.is_err());
    let total = std::sync::atomic::AtomicUsize::new(0);
    pool.run(&|crew| {
        crew.each(30, |job| {
            total.fetch_add(job, std::sync::atomic::Ordering::Relaxed);
        });
    });
    assert_eq!(total.into_inner(), 435);
}

#[test]
fn wrong_graphs_are_refused_with_the_edge() {
    let change = |alter: fn(&mut Spec)| {
        let mut spec = spec(16, 16, 1);
        alter(&mut spec);
        Network::new(&spec, Recompute::None)
            .map(|_| ())
            .unwrap_err()
            .to_string()
    };
    assert!(change(|s| s.edges[2].senders[3] = 100).contains("100 of 37"));
    assert!(change(|s| s.edges[0].receivers.swap(0, 30)).contains("sort by receiver"));
    assert!(change(|s| s.edges[1].senders[0] = s.edges[1].receivers[0]).contains("ends where"));
    assert!(change(|s| s.stages[1].nodes.clear()).contains("nobody receives"));
    assert!(change(|s| s.edges[0].features.truncate(4)).contains("differ in number"));
    assert!(change(|s| s.latent = 0).contains("at least one"));
}

/// By the formulas, in f64, with numbers small enough to follow.
#[test]
fn adamw_follows_its_formulas() {
    let adamw = AdamW {
        weight_decay: 0.1,
        ..AdamW::default()
    };
    let mut pool = Pool::new(2);
    let (mut x, mut m, mut v) = (vec![1.0; 20], vec![0.0; 20], vec![0.0; 20]);
    let gradient = vec![2.0; 20];
    adamw.step(&mut pool, 1, 0.01, 0.5, &mut x, &gradient, &mut m, &mut v);
    // g = 1: m̂ = v̂ = 1, so x = 1 − 0.01 (1 + 0.1).
    assert!(x.iter().all(|x| (x - 0.989_f64).abs() < 1e-9), "{}", x[0]);
    assert!((m[19] - 0.1_f64).abs() < 1e-15 && (v[19] - 0.001_f64).abs() < 1e-15);
}

#[test]
fn tiles_end_where_rows_do() {
    assert_eq!(TILE % 6, 0, "whole groups of rows in the product");
}
