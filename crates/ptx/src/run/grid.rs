//! A launch: blocks come, take turns and go.

use super::block::Block;
pub use super::block::Order;
use super::dice::Dice;
use super::memory::Memory;
use super::module::Loaded;
use super::races::Races;
use super::shared::Shared;
use super::step::Execution;
use crate::code::Entry;
use crate::{Fault, Result};

/// What is launched, and how.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Blocks.
    pub blocks: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Whether all blocks run at the same time, as those of a cooperative launch.
    pub together: bool,
    /// Blocks that run at the same time else.
    pub resident: usize,
    /// Who goes on.
    pub order: Order,
    /// What the order is drawn with.
    pub seed: u64,
    /// Whether races are looked for.
    pub races: bool,
    /// Instructions of all warps after which a kernel is taken to be without an end.
    pub most: u64,
}

impl Default for Shape {
    fn default() -> Self {
        Shape {
            blocks: 1,
            threads: 32,
            together: false,
            resident: 2,
            order: Order::Lockstep,
            seed: 1,
            races: false,
            most: 20_000_000_000,
        }
    }
}

/// What a launch took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Instructions of warps.
    pub instructions: u64,
    /// Accesses in which races were looked for.
    pub accesses: u64,
}

/// Runs a kernel to its end.
///
/// # Errors
/// There is no such kernel, it is launched in a way it does not take, or it does what it must not.
pub fn launch(
    loaded: &Loaded,
    memory: &mut Memory,
    entry: &str,
    arguments: &[u8],
    shape: &Shape,
) -> Result<Counts> {
    let code = &loaded.code;
    let kernel = kernel(loaded, entry, arguments, shape)?;
    let n_threads = shape.blocks as usize * shape.threads as usize;
    let mut races = shape.races.then(|| Races::new(n_threads));
    let mut dice = Dice::new(shape.seed);
    let mut waiting: Vec<u32> = (0..shape.blocks).collect();
    for k in (1..waiting.len()).rev() {
        waiting.swap(k, dice.below(k + 1));
    }
    let most_resident = if shape.together {
        waiting.len()
    } else {
        shape.resident.max(1)
    };
    let mut blocks: Vec<Block> = Vec::new();
    let mut clock = 0;
    loop {
        while blocks.len() < most_resident && !waiting.is_empty() {
            let index = waiting.pop().expect("it is not empty");
            let sizes = (shape.blocks, shape.threads);
            blocks.push(Block::new(code, kernel.function, index, sizes));
        }
        if blocks.is_empty() {
            break;
        }
        round(
            &mut blocks,
            loaded,
            memory,
            arguments,
            shape,
            &mut races,
            &mut dice,
            &mut clock,
        )?;
        blocks.retain(|b| !b.is_done());
        if clock > shape.most {
            let lines = blocks
                .iter()
                .flat_map(|b| b.waits(code))
                .collect::<Vec<_>>();
            let text = format!("{entry} does not end: it is at lines {}", lines.join(", "));
            return Err(Fault::new(0, text));
        }
    }
    Ok(Counts {
        instructions: clock,
        accesses: races.map_or(0, |r| r.n_accesses),
    })
}

/// A kernel that can be launched so.
fn kernel<'l>(
    loaded: &'l Loaded,
    entry: &str,
    arguments: &[u8],
    shape: &Shape,
) -> Result<&'l Entry> {
    let found = loaded.code.entries.get(entry);
    let kernel = found.ok_or_else(|| Fault::new(0, format!("there is no kernel {entry}")))?;
    let most = kernel.most_threads.unwrap_or(1024).min(1024);
    if shape.threads == 0 || shape.threads > most || shape.blocks == 0 {
        let (blocks, threads) = (shape.blocks, shape.threads);
        let text = format!("{entry} takes blocks of {most} threads at most: {blocks} of {threads}");
        return Err(Fault::new(0, text));
    }
    let needed = kernel.arguments.last().map_or(0, |(at, n)| at + n) as usize;
    if arguments.len() < needed {
        let text = format!(
            "{entry} takes {needed} bytes of arguments, not {}",
            arguments.len()
        );
        return Err(Fault::new(0, text));
    }
    Ok(kernel)
}

/// Every block has a turn, or a few do in shuffled order.
fn round(
    blocks: &mut [Block],
    loaded: &Loaded,
    memory: &mut Memory,
    arguments: &[u8],
    shape: &Shape,
    races: &mut Option<Races>,
    dice: &mut Dice,
    clock: &mut u64,
) -> Result<()> {
    let mut moved = false;
    for _ in 0..blocks.len() {
        let k = dice.below(blocks.len());
        let block = &mut blocks[k];
        let n_warps = block.warps.len();
        let first = dice.below(n_warps);
        let n_turns = match shape.order {
            Order::Lockstep => n_warps,
            Order::Shuffled => 1,
        };
        for turn in 0..n_turns {
            let number = (first + turn) % n_warps;
            if block.warps[number].ready == 0 {
                continue;
            }
            moved = true;
            let execution = Execution {
                code: &loaded.code,
                memory: &mut *memory,
                shared: &mut Shared::new(0),
                arguments,
                races: races.as_mut(),
                block: 0,
                clock: &mut *clock,
                line: 0,
            };
            block.turn(number, (shape.order, &mut *dice), execution)?;
        }
        moved |= block.meet(&loaded.code, races.as_mut())?;
    }
    let stuck = |b: &Block| !b.is_ready() && !b.is_done();
    if !moved && blocks.iter().all(stuck) {
        let waits = blocks.iter().flat_map(|b| b.waits(&loaded.code));
        let mut lines: Vec<String> = waits.collect();
        lines.dedup();
        let text = format!(
            "no thread can go on: they wait at lines {}",
            lines.join(", ")
        );
        return Err(Fault::new(0, text));
    }
    Ok(())
}
