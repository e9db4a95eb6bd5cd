//! A fixed training task to time, and to compare with other programs: a limited-area graph
//! network whose graph, parameters and data follow from one hash, so that any program can make
//! them again (`benches/peers/weather.py` does).

use fitzroy::{Error, ErrorKind, Result};
use fitzroy_device::nn::{
    AdamW, EdgeSet, Network, NodeSet, Pool, Recompute, Spec, Stage, Workspace, norm_squared,
};

use crate::train::Schedule;

/// Sizes of the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Width of states and hidden layers.
    pub latent: usize,
    /// Points along each side of the grid; even.
    pub side: usize,
    /// Message layers on the mesh.
    pub n_layers: usize,
    /// Samples of a batch.
    pub batch: usize,
    /// Numbers that go in and come out of a grid point.
    pub channels: (usize, usize),
}

impl Size {
    /// The published size: 1,600 grid and 400 mesh nodes, 6,400 + 3,200 + 6,400 edges, 4 layers,
    /// 40 numbers in and 17 out.
    pub fn published(latent: usize, batch: usize) -> Self {
        Size {
            latent,
            side: 40,
            n_layers: 4,
            batch,
            channels: (40, 17),
        }
    }

    /// A small one, for a test of a hundred steps.
    pub fn small() -> Self {
        Size {
            latent: 16,
            side: 12,
            n_layers: 2,
            batch: 2,
            channels: (5, 3),
        }
    }
}

/// Number `i` of stream `seed`, in (−1, 1): the upper 24 bits of splitmix64.
///
/// Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014.
fn hashed(seed: u64, i: u64) -> f64 {
    let mut z = (seed << 32 | i)
        .wrapping_add(1)
        .wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^= z >> 31;
    (z >> 40) as f64 / (1_u64 << 23) as f64 - 1.0
}

fn stream(seed: u64, n: usize) -> Vec<f64> {
    (0..n as u64).map(|i| hashed(seed, i)).collect()
}

/// Receiver and sender of each edge: from the grid to the mesh, within the mesh, and back.
fn neighbours(side: i64) -> [Vec<(u32, u32)>; 3] {
    let half = side / 2;
    let grid = |y: i64, x: i64| (y.rem_euclid(side) * side + x.rem_euclid(side)) as u32;
    let mesh = |y: i64, x: i64| (y.rem_euclid(half) * half + x.rem_euclid(half)) as u32;
    let square = |ends: std::ops::Range<i64>| {
        let rows = ends.clone();
        rows.flat_map(move |dy| ends.clone().map(move |dx| (dy, dx)))
    };
    let (mut up, mut within, mut down) = (Vec::new(), Vec::new(), Vec::new());
    for (y, x) in square(0..half) {
        up.extend(square(-1..3).map(|(dy, dx)| (mesh(y, x), grid(2 * y + dy, 2 * x + dx))));
        let around = square(-1..2).filter(|&step| step != (0, 0));
        within.extend(around.map(|(dy, dx)| (mesh(y, x), mesh(y + dy, x + dx))));
    }
    for (y, x) in square(0..side) {
        down.extend(square(0..2).map(|(dy, dx)| (grid(y, x), mesh(y / 2 + dy, x / 2 + dx))));
    }
    [up, within, down]
}

/// The network: mesh nodes stand on every second grid point, both grids are periodic.
pub fn spec(size: Size) -> Spec {
    let edges = |name: &str, (from, to), mut pairs: Vec<(u32, u32)>, seed| {
        pairs.sort_unstable();
        EdgeSet {
            name: String::from(name),
            from,
            to,
            features: stream(seed, pairs.len() * 3),
            receivers: pairs.iter().map(|p| p.0).collect(),
            senders: pairs.iter().map(|p| p.1).collect(),
            channels: 3,
        }
    };
    let mut stages = vec![Stage::new("encode", &[0], &[1, 0])];
    stages.extend(Stage::layers(size.n_layers, &[1], &[1]));
    stages.push(Stage::new("process_to_grid", &[2], &[0]));
    let n_mesh = (size.side / 2) * (size.side / 2);
    let [up, within, down] = neighbours(size.side as i64);
    Spec {
        latent: size.latent,
        hidden: size.latent,
        n_hidden: 1,
        nodes: vec![
            NodeSet::samples("grid", size.side * size.side, size.channels.0),
            NodeSet::fixed("mesh", 2, stream(11, n_mesh * 2)),
        ],
        edges: vec![
            edges("up", (0, 1), up, 12),
            edges("mesh", (1, 1), within, 13),
            edges("down", (1, 0), down, 14),
        ],
        stages,
        output: 0,
        out_channels: size.channels.1,
    }
}

/// The task under way: mean square error against fixed targets, AdamW with clipping at 1 and a
/// warm-up of 10 steps to 1e-3, decaying over 100.
pub struct Trial {
    network: Network,
    workspace: Workspace<f32>,
    pool: Pool,
    schedule: Schedule,
    parameters: Vec<f32>,
    m: Vec<f32>,
    v: Vec<f32>,
    gradient: Vec<f32>,
    targets: Vec<f32>,
    step: u64,
}

impl Trial {
    /// Sets the task up on `threads` threads.
    ///
    /// # Errors
    /// The side is odd or below 6.
    pub fn new(size: Size, threads: usize) -> Result<Self> {
        if !size.side.is_multiple_of(2) || size.side < 6 {
            let message = format!(
                "a side of {} points: needs an even number from 6",
                size.side
            );
            return Err(Error::new(ErrorKind::Usage, message));
        }
        let network = Network::new(&spec(size), Recompute::None)?;
        let pool = Pool::new(threads);
        let mut workspace = network.workspace(size.batch, 1, &pool);
        let n_grid = size.batch * size.side * size.side;
        let input = network.input(&mut workspace, 0, 0);
        let values = stream(15, n_grid * size.channels.0);
        input
            .iter_mut()
            .zip(values)
            .for_each(|(to, x)| *to = x as f32);
        let n = network.n_parameters();
        let mut parameters = vec![0.0_f32; n];
        for (number, array) in network.parameters().iter().enumerate() {
            let part = &mut parameters[array.offset..array.offset + array.n()];
            match array.shape.as_slice() {
                [k, _] => {
                    let scale = (3.0 / *k as f64).sqrt();
                    let values = stream(1000 + number as u64, part.len());
                    part.iter_mut()
                        .zip(values)
                        .for_each(|(to, x)| *to = (scale * x) as f32);
                }
                _ if array.name.ends_with("gamma") => part.fill(1.0),
                _ => {}
            }
        }
        Ok(Trial {
            workspace,
            pool,
            schedule: Schedule::new(1e-3, Some(10), Some(100), 100)?,
            parameters,
            m: vec![0.0; n],
            v: vec![0.0; n],
            gradient: vec![0.0; n],
            targets: stream(16, n_grid * size.channels.1)
                .iter()
                .map(|&x| x as f32)
                .collect(),
            step: 0,
            network,
        })
    }

    /// Multiply-adds of a training step, times two.
    pub fn flops(&self) -> u64 {
        6 * self.network.multiply_adds(self.workspace.batch())
    }

    /// Number of parameters.
    pub fn n_parameters(&self) -> usize {
        self.network.n_parameters()
    }

    /// One training step; the loss before it.
    pub fn step(&mut self) -> f64 {
        let (network, pool) = (&self.network, &mut self.pool);
        network.embed(&mut self.workspace, pool, &self.parameters);
        network.forward(&mut self.workspace, pool, &self.parameters, 0);
        let n = self.targets.len();
        let mut loss = 0.0;
        let out = network.output(&mut self.workspace, 0);
        let scale = 2.0 / n as f32;
        for (x, target) in out.iter_mut().zip(&self.targets) {
            let r = *x - target;
            loss += f64::from(r * r);
            *x = scale * r;
        }
        // The slope has the place of the output's numbers, in an array of its own.
        network.copy_output_to_slope(&mut self.workspace, 0);
        self.gradient.fill(0.0);
        network.begin_backward(&mut self.workspace, pool, &self.parameters);
        let (parameters, gradient) = (&self.parameters, &mut self.gradient);
        network.backward(&mut self.workspace, pool, parameters, gradient, 0, false);
        network.end_backward(&mut self.workspace, pool, parameters, gradient);
        let norm = norm_squared(&self.gradient).sqrt();
        let rate = self.schedule.rate(self.step);
        self.step += 1;
        let factor = (1.0 / norm).min(1.0);
        AdamW::default().step(
            pool,
            self.step,
            rate,
            factor,
            &mut self.parameters,
            &self.gradient,
            &mut self.m,
            &mut self.v,
        );
        loss / n as f64
    }
}

/// Losses of the small task in JAX, by `benches/peers/weather.py --golden`.
const TRAJECTORY: &str = include_str!("../tests/golden/trajectory.json");

/// How far the losses of a hundred steps of the small task lie from those of JAX, from the same
/// parameters and data: the largest relative difference. Sums of f32 in other orders cost less
/// than 1e-4; a wrong term anywhere in forward, backward, clipping, schedule or optimiser, more.
///
/// # Errors
/// Those of [`Trial::new`].
///
/// # Panics
/// If the trajectory that is part of the program is damaged.
pub fn apart_from_jax(threads: usize) -> Result<f64> {
    let golden: serde_json::Value =
        serde_json::from_str(TRAJECTORY).expect("the trajectory is JSON");
    let losses = golden["losses"].as_array();
    let losses = losses.expect("the trajectory holds losses");
    let mut trial = Trial::new(Size::small(), threads)?;
    let mut apart = 0.0_f64;
    for expected in losses {
        let expected = expected.as_f64().expect("losses are numbers");
        let off = (trial.step() / expected - 1.0).abs();
        // NaN is as far as can be.
        apart = if off >= 0.0 {
            apart.max(off)
        } else {
            f64::INFINITY
        };
    }
    Ok(apart)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundred_steps_follow_jax() {
        let golden: serde_json::Value = serde_json::from_str(TRAJECTORY).unwrap();
        let trial = Trial::new(Size::small(), 1).unwrap();
        assert_eq!(golden["parameters"], trial.n_parameters());
        assert_eq!(golden["losses"].as_array().unwrap().len(), 101);
        let apart = apart_from_jax(2).unwrap();
        assert!(apart < 1e-4, "{apart}");
    }

    #[test]
    fn the_published_task_has_the_published_size() {
        let spec = spec(Size::published(64, 4));
        let nodes: Vec<usize> = spec.nodes.iter().map(|set| set.n).collect();
        let edges: Vec<usize> = spec.edges.iter().map(|set| set.senders.len()).collect();
        assert_eq!((nodes, edges), (vec![1600, 400], vec![6400, 3200, 6400]));
        assert!(
            Trial::new(
                Size {
                    side: 7,
                    ..Size::small()
                },
                1
            )
            .is_err()
        );
    }
}
