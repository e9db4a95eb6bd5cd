//! The sampling benchmarks for nuts-rs: log densities and slopes written by hand, as its users do.
//!
//!     nuts-rs-peer MODEL DATA.json OUT.f64 CHAINS TUNE DRAWS TARGET SEED
//!
//! MODEL is groups, schools, artists or logistic. Writes the draws, chain by chain and row by row,
//! as little-endian f64, positive parameters as themselves; prints divergences after the warm-up,
//! and the seconds that sampling took.

mod models;

use models::{Density, read};
use nuts_rs::{CpuMath, DiagNutsSettings, sample_sequentially};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

struct Chain {
    draws: Vec<f64>,
    divergences: usize,
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [model, data, out, numbers @ ..] = words.as_slice() else {
        panic!("usage: nuts-rs-peer MODEL DATA.json OUT.f64 CHAINS TUNE DRAWS TARGET SEED");
    };
    let number = |k: usize| -> f64 { numbers[k].parse().expect("a number") };
    let (chains, tune, draws) = (number(0) as u64, number(1) as u64, number(2) as u64);
    let (target, seed) = (number(3), number(4) as u64);
    let density = read(model, data);
    let start = Instant::now();
    let done: Vec<Chain> = std::thread::scope(|scope| {
        let chain = |k: u64| {
            let density = Arc::clone(&density);
            scope.spawn(move || run(density, k, (tune, draws), target, seed))
        };
        let running: Vec<_> = (0..chains).map(chain).collect();
        let ends = running.into_iter().map(|r| r.join().expect("a chain ends"));
        ends.collect()
    });
    let seconds = start.elapsed().as_secs_f64();
    let mut file = std::io::BufWriter::new(std::fs::File::create(out).expect("a file"));
    for x in done.iter().flat_map(|c| &c.draws) {
        file.write_all(&x.to_le_bytes()).expect("room");
    }
    file.flush().expect("room");
    let divergences: usize = done.iter().map(|c| c.divergences).sum();
    println!("{{\"sampling_s\": {seconds}, \"divergences\": {divergences}}}");
}

fn run(
    density: Arc<dyn Density>,
    k: u64,
    (tune, draws): (u64, u64),
    target: f64,
    seed: u64,
) -> Chain {
    let mut settings = DiagNutsSettings::default();
    settings.num_tune = tune;
    settings.num_draws = draws;
    settings.adapt_options.step_size_settings.target_accept = target;
    let mut rng = SmallRng::seed_from_u64(seed.wrapping_mul(1000) + k);
    let positive = density.positive();
    let dim = positive.len();
    let start: Vec<f64> = (0..dim).map(|_| rng.random_range(-1.0..1.0)).collect();
    let math = CpuMath::new(models::Target(density));
    let all = sample_sequentially(math, settings, &start, tune + draws, k, &mut rng);
    let mut chain = Chain {
        draws: Vec::with_capacity(dim * draws as usize),
        divergences: 0,
    };
    for one in all.expect("a start").skip(tune as usize) {
        let (position, progress) = one.expect("a draw");
        chain.divergences += usize::from(progress.diverging);
        let natural = |(x, positive): (&f64, &bool)| if *positive { x.exp() } else { *x };
        chain.draws.extend(position.iter().zip(&positive).map(natural));
    }
    chain
}
