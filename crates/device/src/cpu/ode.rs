//! Differential equations: the pieces of a step as instructions, lane after lane.

use super::lower::Lower;
use super::program::{Arena, Loc, Motion, OdePlan, PiecePlan, SLACK, base};
use super::recurrence::{instructions, interpret};
use fitzroy_graph::NodeId;
use fitzroy_graph::ode::{Arrays, Course, Machine, Ode, Piece, Source, Strided};

/// The plan of node `id`, which is the equation `of`, or its adjoint.
pub(super) fn lower(lower: &mut Lower<'_>, id: NodeId, of: &Ode, is_adjoint: bool) -> OdePlan {
    let graph = lower.graph;
    let layout = of.layout(graph);
    let all = &graph.node(id).inputs;
    // The inputs of an adjoint are the solution and its adjoint, then those of the equation.
    let nodes = if is_adjoint { &all[2..] } else { &all[..] };
    let stored = |lower: &Lower<'_>, node: NodeId| (lower.storage(node), graph.len(node));
    let inputs: Vec<(Loc, usize)> = nodes.iter().map(|&n| stored(lower, n)).collect();
    let scratch = lower.reserve(layout.scratch() + SLACK);
    let place = |at: usize| Loc {
        arena: Arena::Work,
        motion: Motion::Stream,
        at: scratch + at,
    };
    let needed: &[Piece] = match is_adjoint {
        true => &[Piece::Adjoint, Piece::WholeAdjoint],
        false => &[Piece::Rate, Piece::Step, Piece::WholeStep],
    };
    let piece = |lower: &mut Lower<'_>, piece: Piece| {
        let straight = of.piece(graph, lower.bindings, piece);
        let results: Vec<NodeId> = straight.results.iter().map(|(node, _)| *node).collect();
        let leaf = |k: usize| match straight.sources[k] {
            Source::Scratch(at) => place(at),
            Source::Input {
                input,
                element,
                laned,
            } => {
                let (from, _) = inputs[input];
                let (apart, motion) = match laned && layout.lanes > 1 {
                    true => (layout.lanes, Motion::Along),
                    false => (1, Motion::Scalar),
                };
                Loc {
                    at: from.at + element * apart,
                    motion,
                    ..from
                }
            }
        };
        let code = instructions(
            lower,
            (&straight.graph, straight.rows, &results),
            leaf,
            |k| place(straight.results[k].1),
        );
        PiecePlan {
            piece,
            code,
            native: None,
        }
    };
    let pieces = needed.iter().map(|&p| piece(lower, p)).collect();
    let rows_of = |input: usize, s: usize, apart: usize| {
        let from = inputs[input].0;
        (0..of.elements(graph, s)).map(move |element| Loc {
            at: from.at + element * apart,
            ..from
        })
    };
    let laned = |input: usize, own: usize| (inputs[input].0, inputs[input].1 > own);
    let [from, times, kicks] = of.times_at();
    OdePlan {
        layout,
        method: of.method(),
        tolerance: of.tolerance(),
        pieces,
        scratch,
        times: [
            laned(from, 1),
            laned(times, layout.times),
            match of.kicks_at().is_empty() {
                // There are none, so any place will do.
                true => (inputs[from].0, false),
                false => laned(kicks, layout.kicks),
            },
        ],
        starts: (0..of.n_states())
            .flat_map(|s| rows_of(s, s, layout.lanes))
            .collect(),
        kicks: (of.kicks_at().enumerate())
            .flat_map(|(s, input)| rows_of(input, s, layout.kicks * layout.lanes))
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
