//! From the instructions of a loop to one list of operations on registers, and what remains for
//! the block interpreter before and after it.

use super::tape::{self, Narrow, Node, Op, Recorder, Wide};
use crate::cpu::elementwise::apply_with;
use crate::cpu::program::{
    Arena, BLOCK, Code, Cut, Instr, Loc, LoopPlan, Motion, PARTIALS, Runs, SLACK,
};
use std::collections::HashMap;

/// Mean length of a run from which blocks that end with it are worth their last registers, which
/// are not full.
const WORTH_CUT: f64 = 24.0;
/// Look-ups and sums by the same runs from which that is so: every block costs the call of its own
/// code, every one of these a pass through memory. With one look-up and one sum, as a mean by group
/// has them, the calls cost more.
const WORTH_CALLS: usize = 4;

/// A loop in three parts.
pub(super) struct Split {
    /// The runs whose look-ups and sums are part of the code.
    pub(super) cut: Option<Cut>,
    /// Look-ups and products with a matrix, which read what earlier loops wrote.
    pub(super) before: Vec<Instr>,
    /// Everything element by element.
    pub(super) nodes: Vec<Node>,
    /// Sums by group and products with a transposed matrix.
    pub(super) after: Vec<Instr>,
}

/// Takes numbers of the workspace; the buffers of all loops are the same ones.
pub(super) struct Buffers<'a> {
    pub(super) all: &'a mut Vec<usize>,
    pub(super) reserve: &'a mut dyn FnMut(usize) -> usize,
}

struct Splitter<'a, 'b> {
    plan: &'a LoopPlan,
    buffers: Buffers<'b>,
    used: usize,
    /// The value at a place that this loop has written, and where it can be read as a block.
    at: HashMap<(Arena, usize), (u32, Option<Loc>)>,
    out: Split,
}

/// Splits a loop; `None` where it has something that cannot be compiled, or nothing to compile.
pub(super) fn split(plan: &LoopPlan, wide: bool, buffers: Buffers<'_>) -> Option<Split> {
    let splitter = Splitter {
        plan,
        buffers,
        used: 0,
        at: HashMap::new(),
        out: Split {
            cut: cut(plan),
            before: Vec::new(),
            nodes: Vec::new(),
            after: Vec::new(),
        },
    };
    let (split, tape) = tape::record(|| {
        if wide {
            splitter.split::<Wide>()
        } else {
            splitter.split::<Narrow>()
        }
    });
    let mut split = split?;
    split.nodes = live(&tape.nodes);
    (!split.nodes.is_empty()).then_some(split)
}

/// The runs that most look-ups and sums of a loop go by, where they are long enough.
fn cut(plan: &LoopPlan) -> Option<Cut> {
    let products = |i: &Instr| matches!(i.code, Code::MatVec(_) | Code::MatVecT(_));
    if plan.n <= PARTIALS || plan.code.iter().any(products) {
        return None;
    }
    let all: Vec<_> = plan.code.iter().filter_map(|i| runs(plan, i)).collect();
    let long = all.iter().filter(|(runs, _)| runs.mean_len() >= WORTH_CUT);
    let times = |by: &&(&Runs, bool)| all.iter().filter(|x| x == by).count();
    // The first of those that are met most often.
    let best = long
        .rev()
        .filter(|by| times(by) >= WORTH_CALLS)
        .max_by_key(times);
    best.map(|&(runs, rising)| Cut {
        runs: runs.clone(),
        rising,
        sums: Vec::new(),
    })
}

/// The runs that an instruction looks up or sums by, and whether they are rising.
fn runs<'p>(plan: &'p LoopPlan, instr: &Instr) -> Option<(&'p Runs, bool)> {
    match instr.code {
        Code::GatherRuns(t) => Some((&plan.runs[t], false)),
        Code::GatherRising(t) => Some((&plan.runs[t], true)),
        Code::SumRuns(g) => plan.groups[g].runs.as_ref().map(|runs| (runs, false)),
        Code::SumRising(g) => plan.groups[g].runs.as_ref().map(|runs| (runs, true)),
        _ => None,
    }
}

/// What the effects need, numbered afresh.
pub(super) fn live(nodes: &[Node]) -> Vec<Node> {
    let mut needed: Vec<bool> = nodes.iter().map(|n| n.op.is_effect()).collect();
    for k in (0..nodes.len()).rev() {
        if needed[k] {
            nodes[k]
                .args()
                .iter()
                .for_each(|&a| needed[a as usize] = true);
        }
    }
    let mut number = vec![0; nodes.len()];
    let mut out = Vec::new();
    for (k, node) in nodes.iter().enumerate().filter(|&(k, _)| needed[k]) {
        number[k] = out.len() as u32;
        let mut node = *node;
        let n = node.op.n_args();
        node.args[..n]
            .iter_mut()
            .for_each(|a| *a = number[*a as usize]);
        out.push(node);
    }
    out
}

fn key(loc: Loc) -> (Arena, usize) {
    (loc.arena, loc.at)
}

impl Splitter<'_, '_> {
    fn split<R: Recorder>(mut self) -> Option<Split> {
        let plan = self.plan;
        for instr in &plan.code {
            match instr.code {
                Code::Native => return None,
                _ if self.by_run(instr) => self.run::<R>(instr),
                Code::Sum(_) if self.out.cut.is_some() => self.after(instr),
                Code::GatherRuns(_) | Code::GatherRising(_) | Code::GatherAt(_) if plan.n == 1 => {
                    self.look_up(instr);
                }
                Code::GatherRuns(_)
                | Code::GatherRising(_)
                | Code::GatherAt(_)
                | Code::MatVec(_)
                    if plan.n > 1 =>
                {
                    self.before(instr);
                }
                Code::SumRuns(_) | Code::SumRising(_) | Code::SumAt(_) | Code::MatVecT(_)
                    if plan.n > 1 =>
                {
                    self.after(instr);
                }
                Code::SumRuns(g) | Code::SumRising(g) | Code::SumAt(g)
                    if plan.groups[g].len == 1 =>
                {
                    let sum = R::splat(0.0).add(self.value(instr, 0));
                    self.store_number(plan.groups[g].total, sum.id());
                }
                Code::Sum(s) => self.sum::<R>(instr, s),
                Code::MatVec(_)
                | Code::MatVecT(_)
                | Code::SumRuns(_)
                | Code::SumRising(_)
                | Code::SumAt(_)
                | Code::GatherRuns(_)
                | Code::GatherRising(_)
                | Code::GatherAt(_) => return None,
                _ => self.elementwise::<R>(instr),
            }
        }
        Some(self.out)
    }

    fn buffer(&mut self) -> Loc {
        if self.used == self.buffers.all.len() {
            let at = (self.buffers.reserve)(BLOCK + SLACK);
            self.buffers.all.push(at);
        }
        self.used += 1;
        Loc {
            arena: Arena::Work,
            motion: Motion::Buffer,
            at: self.buffers.all[self.used - 1],
        }
    }

    /// Operand `k`: what this loop computed, or a read.
    fn value<R: Recorder>(&self, instr: &Instr, k: usize) -> R {
        let loc = instr.from[k].expect("instructions have their operands");
        R::of(match self.at.get(&key(loc)) {
            Some(&(value, _)) => value,
            None => tape::push(Op::Load(loc), &[]),
        })
    }

    /// The result of an instruction: kept in a register, and written where others will look.
    fn define(&mut self, to: Option<Loc>, value: u32) {
        let to = to.expect("instructions have their results");
        let stored = to.motion != Motion::Buffer;
        if stored {
            tape::push(Op::Store(to), &[value]);
        }
        self.at.insert(key(to), (value, stored.then_some(to)));
    }

    fn store_number(&mut self, at: usize, value: u32) {
        let to = Loc {
            arena: Arena::Work,
            motion: Motion::Scalar,
            at,
        };
        tape::push(Op::Store(to), &[value]);
    }

    /// The only element of a look-up in a loop of one.
    fn look_up(&mut self, instr: &Instr) {
        let mut from = instr.from[0].expect("a look-up reads something");
        let position = match instr.code {
            Code::GatherAt(t) => self.plan.positions[t][0],
            Code::GatherRuns(t) | Code::GatherRising(t) => self.plan.runs[t].group[0],
            _ => 0,
        };
        from.at += position as usize;
        from.motion = Motion::Scalar;
        let value = tape::push(Op::Load(from), &[]);
        self.define(instr.to, value);
    }

    /// Whether blocks end with the runs that this instruction looks up or sums by.
    fn by_run(&self, instr: &Instr) -> bool {
        let cut = self.out.cut.as_ref().map(|cut| (&cut.runs, cut.rising));
        let from_work = |loc: &Option<Loc>| loc.is_some_and(|l| l.arena == Arena::Work);
        let in_reach = instr.to.is_none() || from_work(&instr.from[0]);
        cut.is_some() && cut == runs(self.plan, instr) && in_reach
    }

    /// A look-up or a sum by these runs.
    fn run<R: Recorder>(&mut self, instr: &Instr) {
        match instr.code {
            Code::SumRuns(g) => {
                let plan = &self.plan.groups[g];
                let value: R = self.value(instr, 0);
                tape::push(Op::Sum(plan.carry), &[value.id()]);
                let cut = self.out.cut.as_mut().expect("it goes by its runs");
                cut.sums.push((plan.carry, plan.total));
            }
            Code::SumRising(g) => {
                let value: R = self.value(instr, 0);
                tape::push(Op::AddTo(self.plan.groups[g].total), &[value.id()]);
            }
            _ => {
                let mut from = instr.from[0].expect("a look-up reads something");
                from.motion = match instr.code {
                    Code::GatherRising(_) => Motion::Along,
                    _ => Motion::Run,
                };
                let value = tape::push(Op::Load(from), &[]);
                self.define(instr.to, value);
            }
        }
    }

    fn before(&mut self, instr: &Instr) {
        let mut instr = *instr;
        let to = instr.to.expect("instructions have their results");
        let new = if to.motion == Motion::Buffer {
            self.buffer()
        } else {
            to
        };
        instr.to = Some(new);
        self.out.before.push(instr);
        let value = tape::push(Op::Load(new), &[]);
        self.at.insert(key(to), (value, Some(new)));
    }

    fn after(&mut self, instr: &Instr) {
        let mut instr = *instr;
        for from in instr.from.iter_mut().flatten() {
            if let Some(&(value, stored)) = self.at.get(&key(*from)) {
                let at = stored.unwrap_or_else(|| {
                    let buffer = self.buffer();
                    tape::push(Op::Store(buffer), &[value]);
                    self.at.insert(key(*from), (value, Some(buffer)));
                    buffer
                });
                *from = at;
            }
        }
        self.out.after.push(instr);
    }

    fn sum<R: Recorder>(&mut self, instr: &Instr, s: usize) {
        let plan = self.plan.sums[s];
        let a: R = self.value(instr, 0);
        let b = instr.from[1].map(|_| self.value::<R>(instr, 1));
        if self.plan.n == 1 {
            // Added to a partial sum of zero, as in a longer loop.
            let zero = R::splat(0.0);
            let sum = b.map_or_else(|| zero.add(a), |b| a.fma(b, zero));
            return self.store_number(plan.total, sum.id());
        }
        match b {
            Some(b) => tape::push(Op::SumProduct(plan.partials), &[a.id(), b.id()]),
            None => tape::push(Op::Sum(plan.partials), &[a.id()]),
        };
    }

    fn elementwise<R: Recorder>(&mut self, instr: &Instr) {
        let (value, also) = elementwise::<R>(instr.code, |k| self.value(instr, k));
        self.define(instr.to, value.id());
        if let Some(also) = also {
            self.define(instr.also_to, also.id());
        }
    }
}

/// The results of an instruction that works element by element.
pub(super) fn elementwise<R: Recorder>(code: Code, arg: impl Fn(usize) -> R) -> (R, Option<R>) {
    apply_with(code, &arg, || {
        let op = match code {
            Code::MulAdd => Op::MulAdd,
            Code::SubMul => Op::SubMul,
            _ => Op::MulSub,
        };
        R::of(tape::push(op, &[arg(0), arg(1), arg(2)].map(R::id)))
    })
}
