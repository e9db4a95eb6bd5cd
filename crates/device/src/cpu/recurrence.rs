//! Recurrences: a step as instructions over single numbers, and the loop over steps.

use super::elementwise::apply;
use super::lower::Lower;
use super::program::{Arena, BLOCK, Code, Instr, Loc, Motion, RecurrencePlan, SLACK, base};
use super::rowwise::{Place, straight};
use fitzroy_graph::{DimId, Graph, Leaf, NodeId, Recurrence};

/// Where the numbers of a recurrence stand.
struct Layout<'a> {
    of: &'a Recurrence,
    leaves: &'a [Leaf],
    /// The arrays of the inputs and their lengths.
    inputs: Vec<(Loc, usize)>,
    /// Where the states are written in the work arena.
    to: usize,
    steps: usize,
    lanes: usize,
}

impl Layout<'_> {
    /// A number of the states in a row of the result. The state after a step stands one row further
    /// on than the state before it; in reverse, one row before.
    fn row_of(&self, number: usize, row: usize) -> Loc {
        Loc {
            arena: Arena::Work,
            motion: Motion::Stream,
            at: self.to + (number * (self.steps + 1) + row) * self.lanes,
        }
    }

    /// The row of the result that holds the states before step 0.
    fn first(&self) -> usize {
        usize::from(self.of.reverse)
    }

    /// Where a step reads a number of its column.
    fn column(&self, number: usize) -> Loc {
        let leaf = self.leaves[number];
        if leaf.hole < self.of.states.len() {
            return self.row_of(number, self.first());
        }
        let from = self.inputs[leaf.hole].0;
        let (timed, laned) = self.of.strides(leaf.hole);
        let (apart, motion) = match (timed, laned && self.lanes > 1) {
            (true, _) => (self.steps * self.lanes, Motion::Stream),
            (false, true) => (self.lanes, Motion::Along),
            (false, false) => (1, Motion::Scalar),
        };
        Loc {
            at: from.at + leaf.element * apart,
            motion,
            ..from
        }
    }

    /// The arrays that hold the states at the start, with the places of the result that they go to.
    fn starts(&self, graph: &Graph) -> Vec<(Loc, usize)> {
        let row = if self.of.reverse { self.steps } else { 0 };
        let mut starts = Vec::new();
        for (s, &(from, _)) in self.inputs[..self.of.states.len()].iter().enumerate() {
            for element in 0..self.of.elements(graph, s) {
                let at = from.at + element * self.lanes;
                starts.push((Loc { at, ..from }, self.row_of(starts.len(), row).at));
            }
        }
        starts
    }
}

/// The plan of node `id`, which is the recurrence `of`.
pub(super) fn lower(lower: &mut Lower<'_>, id: NodeId, of: &Recurrence) -> RecurrencePlan {
    let graph = lower.graph;
    let unrolled = of.unroll(graph, lower.bindings).without_slopes();
    let layout = Layout {
        of,
        leaves: &unrolled.leaves,
        inputs: (graph.node(id).inputs.iter())
            .map(|&input| (lower.storage(input), graph.len(input)))
            .collect(),
        to: lower.storage(id).at,
        steps: graph.size(of.time),
        lanes: graph.len_of(&of.lanes),
    };
    let code = instructions(
        lower,
        (&unrolled.graph, unrolled.rows, &unrolled.next),
        |leaf| layout.column(leaf),
        |number| layout.row_of(number, 1 - layout.first()),
    );
    RecurrencePlan {
        code,
        steps: layout.steps,
        lanes: layout.lanes,
        reverse: of.reverse,
        starts: layout.starts(graph),
        to: layout.to,
        inputs: layout.inputs,
        len: graph.len(id),
        native: [None; 2],
    }
}

/// The instructions of a graph over single numbers; `leaf` and `result` say where these stand.
pub(super) fn instructions(
    lower: &mut Lower<'_>,
    (graph, rows, results): (&Graph, DimId, &[NodeId]),
    leaf: impl Fn(usize) -> Loc,
    result: impl Fn(usize) -> Loc,
) -> Vec<Instr> {
    let straight = straight(graph, rows, results);
    while lower.buffers.len() < straight.n_buffers {
        let at = lower.reserve(BLOCK + SLACK);
        lower.buffers.push(at);
    }
    let constants = lower.fix(&straight.scalars);
    let place = |place: Place| match place {
        Place::Column(k) => leaf(k),
        Place::Buffer(b) => Loc {
            arena: Arena::Work,
            motion: Motion::Buffer,
            at: lower.buffers[b],
        },
        Place::Scalar(k) => Loc {
            arena: Arena::Fixed,
            motion: Motion::Scalar,
            at: constants + k,
        },
    };
    let copies = straight
        .results
        .iter()
        .enumerate()
        .map(|(number, &b)| Instr {
            code: Code::Copy,
            to: Some(result(number)),
            also_to: None,
            from: [Some(place(Place::Buffer(b))), None, None],
        });
    let operations = straight.code.iter().map(|i| Instr {
        code: i.code,
        to: Some(place(i.to)),
        also_to: i.also_to.map(place),
        from: i.from.map(|from| from.map(place)),
    });
    operations.chain(copies).collect()
}

/// Runs all steps.
///
/// # Safety
/// The arrays of the plan lie inside the arenas.
pub(super) unsafe fn run(plan: &RecurrencePlan, work: *mut f64, fixed: *const f64) {
    // SAFETY: the caller vouches for the arenas; rows and lanes are inside the arrays.
    unsafe {
        for &(from, to) in &plan.starts {
            let from = base(from, work, fixed);
            std::ptr::copy_nonoverlapping(from, work.add(to), plan.lanes);
        }
        let mut lane = 0;
        let first = if plan.reverse {
            plan.steps.max(1) - 1
        } else {
            0
        };
        for steps in plan.native.into_iter().flatten() {
            while lane + steps.lanes <= plan.lanes {
                let row = first * plan.lanes + lane;
                (steps.entry)(work, fixed, 8 * row, plan.steps, 8 * lane);
                lane += steps.lanes;
            }
        }
        for lane in lane..plan.lanes {
            for k in 0..plan.steps {
                let step = if plan.reverse { first - k } else { k };
                interpret(&plan.code, work, fixed, step * plan.lanes + lane, lane);
            }
        }
    }
}

/// Instructions over single numbers, at a row and a lane.
///
/// # Safety
/// What the instructions name lies inside the arenas.
pub(super) unsafe fn interpret(
    code: &[Instr],
    work: *mut f64,
    fixed: *const f64,
    row: usize,
    lane: usize,
) {
    let place = |loc: Loc| {
        let moved = match loc.motion {
            Motion::Stream => row,
            Motion::Along => lane,
            _ => 0,
        };
        // SAFETY: see `run`.
        unsafe { base(loc, work, fixed).add(moved) }
    };
    for i in code {
        let read = |k: usize| {
            let from = i.from[k].expect("instructions have their operands");
            // SAFETY: see `run`.
            unsafe { *place(from) }
        };
        let (value, also) = apply(i.code, read);
        for (to, value) in [(i.to, Some(value)), (i.also_to, also)] {
            if let (Some(to), Some(value)) = (to, value) {
                // SAFETY: see `run`; results go to the workspace.
                unsafe { *place(to).cast_mut() = value };
            }
        }
    }
}
