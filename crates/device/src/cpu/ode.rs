//! Differential equations: the pieces of a step as instructions, lane after lane.

use super::lower::Lower;
use super::program::{Arena, Loc, Motion, OdePlan, PiecePlan, SLACK, base};
use super::recurrence::{instructions, interpret};
use fitzroy_graph::ode::{Arrays, Course, Layout, Machine, Ode, Piece, Source, Strided};
use fitzroy_graph::{Graph, NodeId};

/// Where the numbers of an equation stand.
struct Places<'o> {
    of: &'o Ode,
    layout: Layout,
    /// Each input and how many numbers it has.
    inputs: Vec<(Loc, usize)>,
    scratch: usize,
}

impl Places<'_> {
    /// A number of the scratch.
    fn scratch(&self, at: usize) -> Loc {
        Loc {
            arena: Arena::Work,
            motion: Motion::Stream,
            at: self.scratch + at,
        }
    }

    /// What a piece reads.
    fn source(&self, source: Source) -> Loc {
        let (input, element, laned) = match source {
            Source::Scratch(at) => return self.scratch(at),
            Source::Input {
                input,
                element,
                laned,
            } => (input, element, laned),
        };
        let (from, _) = self.inputs[input];
        let (apart, motion) = match laned && self.layout.lanes > 1 {
            true => (self.layout.lanes, Motion::Along),
            false => (1, Motion::Scalar),
        };
        Loc {
            at: from.at + element * apart,
            motion,
            ..from
        }
    }

    /// An input that may differ from lane to lane, and whether it does: it then has more numbers than
    /// the `own` of one lane.
    fn laned(&self, input: usize, own: usize) -> (Loc, bool) {
        (self.inputs[input].0, self.inputs[input].1 > own)
    }

    /// The elements of state `s` in an input, `apart` from one another.
    fn rows(&self, input: usize, s: usize, graph: &Graph, apart: usize) -> Vec<Loc> {
        let from = self.inputs[input].0;
        let row = |element: usize| Loc {
            at: from.at + element * apart,
            ..from
        };
        (0..self.of.elements(graph, s)).map(row).collect()
    }

    /// A piece of a step as instructions.
    fn piece(&self, lower: &mut Lower<'_>, piece: Piece) -> PiecePlan {
        let straight = self.of.piece(lower.graph, lower.bindings, piece);
        let results: Vec<NodeId> = straight.results.iter().map(|(node, _)| *node).collect();
        let code = instructions(
            lower,
            (&straight.graph, straight.rows, &results),
            |k| self.source(straight.sources[k]),
            |k| self.scratch(straight.results[k].1),
        );
        PiecePlan {
            piece,
            code,
            native: None,
        }
    }
}

/// The plan of node `id`, which is the equation `of`, or its adjoint.
pub(super) fn lower(lower: &mut Lower<'_>, id: NodeId, of: &Ode, is_adjoint: bool) -> OdePlan {
    let graph = lower.graph;
    let layout = of.layout(graph);
    let all = &graph.node(id).inputs;
    // The inputs of an adjoint are the solution and its adjoint, then those of the equation.
    let nodes = if is_adjoint { &all[2..] } else { &all[..] };
    let stored = |lower: &Lower<'_>, node: NodeId| (lower.storage(node), graph.len(node));
    let places = Places {
        of,
        layout,
        inputs: nodes.iter().map(|&n| stored(lower, n)).collect(),
        scratch: lower.reserve(layout.scratch() + SLACK),
    };
    let needed: &[Piece] = match is_adjoint {
        true => &[Piece::Adjoint, Piece::WholeAdjoint],
        false => &[Piece::Rate, Piece::Step, Piece::WholeStep],
    };
    let [from, times, kicks] = of.times_at();
    let kicks = match of.kicks_at().is_empty() {
        // There are none, so any place will do.
        true => (places.inputs[from].0, false),
        false => places.laned(kicks, layout.kicks),
    };
    OdePlan {
        layout,
        method: of.method(),
        tolerance: of.tolerance(),
        pieces: needed.iter().map(|&p| places.piece(lower, p)).collect(),
        scratch: places.scratch,
        times: [
            places.laned(from, 1),
            places.laned(times, layout.times),
            kicks,
        ],
        starts: (0..of.n_states())
            .flat_map(|s| places.rows(s, s, graph, layout.lanes))
            .collect(),
        kicks: (of.kicks_at().enumerate())
            .flat_map(|(s, input)| places.rows(input, s, graph, layout.kicks * layout.lanes))
            .collect(),
        adjoint_of: is_adjoint.then(|| [0, 1].map(|k| lower.storage(all[k]))),
        inputs: all.iter().map(|&n| stored(lower, n)).collect(),
        to: lower.storage(id).at,
        len: graph.len(id),
    }
}

/// One lane, whose numbers stand in the work arena.
struct Lane<'p> {
    plan: &'p OdePlan,
    work: *mut f64,
    fixed: *const f64,
    lane: usize,
}

/// Solves all lanes, or takes their adjoints.
///
/// # Safety
/// The arrays of the plan lie inside the arenas.
pub(super) unsafe fn run(plan: &OdePlan, work: *mut f64, fixed: *const f64) {
    let layout = plan.layout;
    // SAFETY: the caller vouches for the arenas; what is read and written are different arrays.
    unsafe {
        let array = |loc: Loc, len: usize| std::slice::from_raw_parts(base(loc, work, fixed), len);
        let out = std::slice::from_raw_parts_mut(work.add(plan.to), plan.len);
        for lane in 0..layout.lanes {
            let mut machine = Lane {
                plan,
                work,
                fixed,
                lane,
            };
            let times = |k: usize, own: usize| {
                let (loc, is_laned) = plan.times[k];
                let len = if is_laned { own * layout.lanes } else { own };
                Strided::of_lane(array(loc, len), is_laned, lane, layout.lanes)
            };
            let course = Course {
                layout,
                method: plan.method,
                tolerance: plan.tolerance,
                lane,
                arrays: Arrays {
                    from: times(0, 1).at(0),
                    times: times(1, layout.times),
                    kicks: times(2, layout.kicks),
                },
            };
            match plan.adjoint_of {
                None => {
                    for (k, &start) in plan.starts.iter().enumerate() {
                        machine.scratch()[k] = *base(start, work, fixed).add(lane);
                    }
                    let (asked, records) = out.split_at_mut(layout.asked());
                    let record = &mut records[lane * layout.record()..][..layout.record()];
                    course.solve(&mut machine, asked, record);
                }
                Some([solution, d]) => {
                    let record = layout.asked() + lane * layout.record();
                    let solution = array(solution, layout.result());
                    let d = array(d, layout.asked());
                    let record = &solution[record..record + layout.record()];
                    course.adjoint(&mut machine, record, d, out);
                }
            }
        }
    }
}

impl Machine for Lane<'_> {
    fn run(&mut self, piece: Piece) {
        let mut pieces = self.plan.pieces.iter();
        let piece = pieces.find(|p| p.piece == piece);
        let piece = piece.expect("what is asked for was compiled");
        // SAFETY: see `run`.
        unsafe {
            match piece.native {
                Some(entry) => entry(self.work, self.fixed, 0, 1, 8 * self.lane),
                None => interpret(&piece.code, self.work, self.fixed, 0, self.lane),
            }
        }
    }

    fn scratch(&mut self) -> &mut [f64] {
        let len = self.plan.layout.scratch();
        // SAFETY: see `run`; nothing else is a slice of these numbers.
        unsafe { std::slice::from_raw_parts_mut(self.work.add(self.plan.scratch), len) }
    }

    fn kick(&self, number: usize, kick: usize) -> f64 {
        let at = kick * self.plan.layout.lanes + self.lane;
        // SAFETY: see `run`.
        unsafe { *base(self.plan.kicks[number], self.work, self.fixed).add(at) }
    }
}
