//! The order in which a loop's operations are written: independent ones side by side.
//!
//! Recorded operations stand function by function, and most wait for the one before. Where
//! registers are too few for several rows at once, nothing else is there to do meanwhile: a
//! processor looks a hundred instructions ahead, a loop may have a thousand. This is list
//! scheduling (Gibbons and Muchnick 1986) with a bound on the values that are alive.

use super::tape::{Node, Op};
use crate::cpu::program::Arena;
use std::cmp::Reverse;
use std::collections::HashSet;

/// Operations that start in a cycle; times are counted in its parts.
const ABREAST: u32 = 2;
/// How far ahead of the first that is left an operation may be taken, so that loops of many
/// thousands are arranged at once, too.
const REACH: usize = 2048;

/// The numbers of the operations in an order in which those that need each other stand apart and at
/// most `most` values are alive, unless more are in the order given. Effects keep their order.
pub(super) fn side_by_side(nodes: &[Node], most: usize) -> Vec<u32> {
    let n = nodes.len();
    let mut order: Vec<u32> = (0..n as u32).collect();
    if reads_what_it_writes(nodes) {
        return order;
    }
    let mut items: Vec<Item> = Vec::with_capacity(n);
    for node in nodes {
        items.push(Item::new(node.op, node.args().iter().copied(), &items));
    }
    arranged(&items, most, &mut order);
    order
}

/// The same for some copies of a register of rows, as (operation, copy); what is `shared` is done for
/// the first alone. An effect is that of all copies, one after the other.
pub(super) fn copies_side_by_side(
    nodes: &[Node],
    shared: &[bool],
    copies: usize,
    most: usize,
) -> Vec<(usize, usize)> {
    let (mut items, mut which): (Vec<Item>, _) = (Vec::new(), Vec::new());
    let mut number = vec![0u32; nodes.len() * copies];
    for (k, node) in nodes.iter().enumerate() {
        let all = node.op.is_effect();
        let once = all || shared[k];
        for copy in 0..copies {
            if once && copy > 0 {
                number[k * copies + copy] = number[k * copies];
                continue;
            }
            let read = if all { 0..copies } else { copy..copy + 1 };
            let args = read.flat_map(|c| node.args().iter().map(move |&a| (a as usize, c)));
            let item = Item::new(node.op, args.map(|(a, c)| number[a * copies + c]), &items);
            number[k * copies + copy] = items.len() as u32;
            items.push(item);
            which.push((k, if all { 0..copies } else { copy..copy + 1 }));
        }
    }
    let mut order: Vec<u32> = (0..items.len() as u32).collect();
    arranged(&items, most, &mut order);
    let of = |k: u32| {
        let (node, copies) = which[k as usize].clone();
        copies.map(move |copy| (node, copy))
    };
    order.into_iter().flat_map(of).collect()
}

/// An operation, and the results of others that it reads, each once.
struct Item {
    op: Op,
    reads: Vec<u32>,
}

impl Item {
    /// The operation `op` of `args`, which are among the items `before` it.
    fn new(op: Op, args: impl Iterator<Item = u32>, before: &[Item]) -> Item {
        let mut reads = Vec::new();
        for a in args {
            if !in_memory(before[a as usize].op) && !reads.contains(&a) {
                reads.push(a);
            }
        }
        Item { op, reads }
    }
}

/// Puts `order`, in which operations stand one after the other, right.
fn arranged(items: &[Item], most: usize, order: &mut Vec<u32>) {
    // Operands in memory are read where they are needed, so they come first.
    order.retain(|&k| in_memory(items[k as usize].op));
    let mut list = List::new(items, most);
    while let Some(next) = list.next() {
        list.place(next);
        order.push(next as u32);
    }
}

/// The operations in this order, numbered afresh.
pub(super) fn in_order(nodes: &[Node], order: &[u32]) -> Vec<Node> {
    let mut number = vec![0; nodes.len()];
    for (new, &old) in order.iter().enumerate() {
        number[old as usize] = new as u32;
    }
    let renumbered = |&old: &u32| {
        let mut node = nodes[old as usize];
        let n = node.op.n_args();
        let args = node.args[..n].iter_mut();
        args.for_each(|a| *a = number[*a as usize]);
        node
    };
    order.iter().map(renumbered).collect()
}

fn in_memory(op: Op) -> bool {
    matches!(op, Op::Const(_) | Op::Load(_))
}

/// Whether a place is read and written.
fn reads_what_it_writes(nodes: &[Node]) -> bool {
    let written: HashSet<(Arena, usize)> = nodes
        .iter()
        .filter_map(|node| match node.op {
            Op::Store(to) => Some((to.arena, to.at)),
            _ => None,
        })
        .collect();
    let read = |node: &Node| match node.op {
        Op::Load(from) => written.contains(&(from.arena, from.at)),
        _ => false,
    };
    nodes.iter().any(read)
}

/// Cycles until the result can be read, about.
fn latency(op: Op) -> u32 {
    match op {
        Op::Div => 13,
        Op::Sqrt => 18,
        Op::Round | Op::Floor => 8,
        Op::Add | Op::Sub | Op::Mul | Op::MulAdd | Op::MulSub | Op::SubMul => 4,
        Op::Lt | Op::Le | Op::Eq | Op::Lesser | Op::Greater => 4,
        Op::Scale | Op::Exponent | Op::Mantissa => 5,
        Op::Select => 2,
        _ => 1,
    }
}

/// Operations still to be placed.
struct List<'a> {
    items: &'a [Item],
    most: usize,
    /// What waits for each.
    after: Vec<Vec<u32>>,
    /// For how many each waits.
    waits: Vec<usize>,
    /// Operations that have still to read each.
    reads: Vec<usize>,
    /// From the start of each to the end of all that waits for it.
    height: Vec<u32>,
    /// When the operands of each are there.
    from: Vec<u32>,
    placed: Vec<bool>,
    /// Those that wait for none.
    ready: Vec<usize>,
    /// The first that is not placed; all before it are.
    first: usize,
    alive: usize,
    now: u32,
}

impl<'a> List<'a> {
    fn new(items: &'a [Item], most: usize) -> Self {
        let n = items.len();
        let mut list = List {
            items,
            most,
            after: vec![Vec::new(); n],
            waits: vec![0; n],
            reads: vec![0; n],
            height: vec![0; n],
            from: vec![0; n],
            placed: items.iter().map(|item| in_memory(item.op)).collect(),
            ready: Vec::new(),
            first: 0,
            alive: 0,
            now: 0,
        };
        let mut effect = None;
        for (k, item) in items.iter().enumerate() {
            for a in list.operands(k) {
                list.reads[a] += 1;
                list.wait(k, a);
            }
            if item.op.is_effect()
                && let Some(before) = effect.replace(k)
            {
                list.wait(k, before);
            }
        }
        for k in (0..n).rev() {
            let after = list.after[k].iter().map(|&k| list.height[k as usize]);
            list.height[k] = ABREAST * latency(items[k].op) + after.max().unwrap_or(0);
        }
        list.ready = (0..n)
            .filter(|&k| !list.placed[k] && list.waits[k] == 0)
            .collect();
        list
    }

    fn wait(&mut self, k: usize, before: usize) {
        self.after[before].push(k as u32);
        self.waits[k] += 1;
    }

    /// The operands that are results of others, each once.
    fn operands(&self, k: usize) -> impl Iterator<Item = usize> + use<'a> {
        self.items[k].reads.iter().map(|&a| a as usize)
    }

    /// Values alive after `k` beyond those alive now.
    fn growth(&self, k: usize) -> isize {
        let ending = self.operands(k).filter(|&a| self.reads[a] == 1).count();
        isize::from(!self.items[k].op.is_effect()) - ending as isize
    }

    /// The one to place next: what can start soonest, of these what most is waiting for; the first
    /// one where none is in bounds.
    fn next(&mut self) -> Option<usize> {
        while *self.placed.get(self.first)? {
            self.first += 1;
        }
        let room = self.most as isize - self.alive as isize;
        let fits = |&&k: &&usize| k < self.first + REACH && self.growth(k) <= room.max(0);
        let start = |&&k: &&usize| (self.from[k].max(self.now), Reverse(self.height[k]), k);
        let best = self.ready.iter().filter(fits).min_by_key(start);
        Some(best.copied().unwrap_or(self.first))
    }

    fn place(&mut self, k: usize) {
        self.alive = self.alive.saturating_add_signed(self.growth(k));
        for a in self.operands(k) {
            self.reads[a] -= 1;
        }
        self.placed[k] = true;
        self.ready.retain(|&other| other != k);
        let start = self.now.max(self.from[k]);
        self.now = start + 1;
        let done = start + ABREAST * latency(self.items[k].op);
        for next in std::mem::take(&mut self.after[k]) {
            let next = next as usize;
            self.from[next] = self.from[next].max(done);
            self.waits[next] -= 1;
            if self.waits[next] == 0 {
                self.ready.push(next);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::body::live;
    use super::super::tape::{self, Narrow, Recorder, Wide};
    use super::*;
    use crate::cpu::program::{Loc, Motion};
    use crate::maths;
    use std::collections::hash_map::DefaultHasher;
    use std::hash::{Hash, Hasher};

    fn place(at: usize) -> Loc {
        Loc {
            arena: Arena::Work,
            motion: Motion::Stream,
            at,
        }
    }

    /// What the effects do, one after the other: the operations that lead to each.
    fn meaning(nodes: &[Node]) -> Vec<u64> {
        let mut of: Vec<u64> = Vec::new();
        for node in nodes {
            let mut hasher = DefaultHasher::new();
            node.op.hash(&mut hasher);
            // An operand that comes later is out of bounds here.
            let args = node.args().iter().map(|&a| of[a as usize]);
            args.for_each(|meaning| meaning.hash(&mut hasher));
            of.push(hasher.finish());
        }
        let effects = nodes.iter().zip(of).filter(|(node, _)| node.op.is_effect());
        effects.map(|(_, meaning)| meaning).collect()
    }

    fn most_alive(nodes: &[Node]) -> usize {
        super::super::registers::pressure(nodes)
    }

    fn check(nodes: &[Node]) {
        for most in [1, 4, 12, 32, 1000] {
            let order = side_by_side(nodes, most);
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert!(sorted.iter().copied().eq(0..nodes.len() as u32));
            let arranged = in_order(nodes, &order);
            assert_eq!(meaning(&arranged), meaning(nodes));
            let bound = most.max(most_alive(nodes)) + most;
            assert!(most_alive(&arranged) <= bound, "{most}");
        }
    }

    fn functions<R: Recorder>() -> Vec<Node> {
        let ((), tape) = tape::record(|| {
            for k in 0..6 {
                let x = R::of(tape::push(Op::Load(place(100 * k)), &[]));
                let (a, b) = maths::log_ndtr_with_slope(x);
                let (c, d) = maths::softplus_with_slope(a.add(b));
                let (e, f) = maths::lgamma_with_digamma(x.fma(x, c));
                tape::push(Op::Store(place(5000 + 100 * k)), &[e.id()]);
                tape::push(Op::Sum(9000), &[d.id()]);
                tape::push(Op::SumProduct(9100), &[f.id(), b.id()]);
            }
        });
        live(&tape.nodes)
    }

    #[test]
    fn recorded_functions_mean_the_same_in_another_order() {
        for nodes in [functions::<Narrow>(), functions::<Wide>()] {
            check(&nodes);
            let order = side_by_side(&nodes, 32);
            assert!(!order.is_sorted(), "nothing stands side by side");
        }
    }

    #[test]
    fn copies_side_by_side_are_all_there_and_stand_after_what_they_need() {
        let nodes = functions::<Narrow>();
        let shared: Vec<bool> = nodes.iter().map(|n| matches!(n.op, Op::Const(_))).collect();
        for (copies, most) in [(1, 20), (2, 1), (2, 20), (4, 1000)] {
            let order = copies_side_by_side(&nodes, &shared, copies, most);
            let mut done = HashSet::new();
            for (at, &(k, copy)) in order.iter().enumerate() {
                for &a in nodes[k].args() {
                    let from = if shared[a as usize] { 0 } else { copy };
                    assert!(done.contains(&(a as usize, from)), "{k} of {copy} too soon");
                }
                assert!(done.insert((k, copy)), "{k} of {copy} twice");
                if nodes[k].op.is_effect() && copy > 0 {
                    assert_eq!(order[at - 1], (k, copy - 1));
                }
            }
            let all = shared.iter().map(|&s| if s { 1 } else { copies });
            assert_eq!(order.len(), all.sum::<usize>());
        }
    }

    #[test]
    fn any_operations_mean_the_same_in_another_order() {
        let mut state = 1u64;
        let mut below = |n: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
            (state >> 33) as usize % n
        };
        for size in [1, 2, 30, 400] {
            let ops = [Op::Add, Op::Div, Op::MulAdd, Op::Sqrt, Op::Lt, Op::Select];
            let mut nodes: Vec<Node> = Vec::new();
            let mut values = Vec::new();
            for k in 0..size {
                let op = match below(8) {
                    _ if values.is_empty() => Op::Load(place(k)),
                    0 => Op::Load(place(k)),
                    1 => Op::Const(k as u64),
                    2 => Op::Sum(10_000 + below(3)),
                    3 => Op::AddTo(20_000 + below(3)),
                    _ => ops[below(ops.len())],
                };
                let mut args = [0; 3];
                for arg in &mut args[..op.n_args()] {
                    *arg = values[below(values.len())];
                }
                if !op.is_effect() {
                    values.push(k as u32);
                }
                nodes.push(Node { op, args });
            }
            check(&nodes);
            check(&live(&nodes));
        }
    }

    #[test]
    fn what_reads_a_place_that_is_written_stays_where_it_is() {
        let node = |op, arg| Node {
            op,
            args: [arg, 0, 0],
        };
        let nodes = [
            node(Op::Load(place(8)), 0),
            node(Op::Sqrt, 0),
            node(Op::Store(place(16)), 1),
            node(Op::Load(place(16)), 0),
            node(Op::Store(place(24)), 3),
        ];
        assert!(side_by_side(&nodes, 32).is_sorted());
    }
}
