//! How the rows of a likelihood read an array: each row a multiple of one of its elements.

use super::normal::relabelled;
use crate::dist::Real;
use fitzroy_graph::{Binary, DimId, Expr as Value, IndexId, NodeId, Op, Scope, Unary};

/// One step from the dims of an array to those of the rows.
#[derive(Clone, Debug, PartialEq)]
enum Move {
    Gather(IndexId),
    Slice {
        axis: DimId,
        start: usize,
    },
    /// To more dims, or to an order of their own.
    Broadcast,
    Relabel,
}

/// How rows read an array.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    /// Moves, each with the dims before it; the last leads to the dims of the rows.
    moves: Vec<(Move, Vec<DimId>)>,
    rows: Vec<DimId>,
    /// The factor of each row.
    pub(super) by: NodeId,
}

/// A value that is `by` times elements of the array, plus what does not depend on it.
struct Part<'g> {
    moves: Vec<(Move, Vec<DimId>)>,
    by: Value<'g>,
}

/// How the `mean` over `rows` reads `x`, which comes with what depends on anything behind it: none if the mean
/// depends on that in any other way.
pub(super) fn read(
    scope: &Scope,
    x: (NodeId, &[bool]),
    (mean, rows): (NodeId, &[DimId]),
) -> Option<Reading> {
    let part = part(scope, x, mean)?;
    let own = scope.with(|g| g.dims(mean).to_vec());
    let part = moved(scope, part, Move::Broadcast, &own, rows);
    Some(Reading {
        by: scope.node(part.by.broadcast(scope, rows)),
        moves: part.moves,
        rows: rows.to_vec(),
    })
}

fn moved<'g>(
    scope: &'g Scope,
    part: Part<'g>,
    how: Move,
    from: &[DimId],
    to: &[DimId],
) -> Part<'g> {
    if how == Move::Broadcast && from == to {
        return part;
    }
    let by = forward(scope, part.by.broadcast(scope, from), &how, to, &[]);
    let mut moves = part.moves;
    moves.push((how, from.to_vec()));
    Part { moves, by }
}

fn part<'g>(scope: &'g Scope, x: (NodeId, &[bool]), node: NodeId) -> Option<Part<'g>> {
    let n = scope.with(|g| g.node(node).clone());
    if node == x.0 {
        return Some(Part {
            moves: Vec::new(),
            by: Value::lit(1.0).broadcast(scope, &n.dims),
        });
    }
    // Nodes that are newer do not depend on it.
    let on = |at: usize| x.1.get(n.inputs[at].index()) == Some(&true);
    let one = |at: usize| part(scope, x, n.inputs[at]);
    let own = || scope.with(|g| g.dims(n.inputs[0]).to_vec());
    let times = |part: Part<'g>, by: Value<'g>| Part {
        by: (part.by * by).broadcast(scope, &n.dims),
        moves: part.moves,
    };
    match n.op {
        Op::Unary(Unary::Neg) => Some(times(one(0)?, Value::lit(-1.0))),
        Op::Binary(op @ (Binary::Add | Binary::Sub)) => {
            let sign = Value::lit(if op == Binary::Sub { -1.0 } else { 1.0 });
            match (on(0), on(1)) {
                (true, false) => one(0),
                (false, true) => Some(times(one(1)?, sign)),
                _ => {
                    let (a, b) = (one(0)?, times(one(1)?, sign));
                    (a.moves == b.moves).then(|| Part {
                        by: a.by + b.by,
                        moves: a.moves,
                    })
                }
            }
        }
        Op::Binary(Binary::Mul) if on(0) != on(1) => {
            let (factor, rest) = if on(0) { (1, 0) } else { (0, 1) };
            Some(times(one(rest)?, scope.expr(n.inputs[factor])))
        }
        Op::Binary(Binary::Div) if !on(1) => {
            let divisor = scope.expr(n.inputs[1]).unary(Unary::Recip);
            Some(times(one(0)?, divisor))
        }
        Op::Gather(index) => Some(moved(scope, one(0)?, Move::Gather(index), &own(), &n.dims)),
        Op::Slice { axis, start } => {
            let how = Move::Slice { axis, start };
            Some(moved(scope, one(0)?, how, &own(), &n.dims))
        }
        Op::Broadcast => Some(moved(scope, one(0)?, Move::Broadcast, &own(), &n.dims)),
        Op::Relabel => Some(moved(scope, one(0)?, Move::Relabel, &own(), &n.dims)),
        // Dims of one element go.
        Op::Sum if scope.with(|g| g.len(node) == g.len(n.inputs[0])) => {
            Some(moved(scope, one(0)?, Move::Relabel, &own(), &n.dims))
        }
        _ => None,
    }
}

/// A value moved to dims `to`; the dims `more` come last and stay.
fn forward<'g>(
    scope: &'g Scope,
    value: Value<'g>,
    how: &Move,
    to: &[DimId],
    more: &[DimId],
) -> Value<'g> {
    let all = [to, more].concat();
    match how {
        Move::Gather(index) => value.gather(*index).broadcast(scope, &all),
        Move::Slice { axis, start } => {
            let dims = value.dims();
            let place = dims.iter().position(|d| d == axis).expect("it is sliced");
            let node = scope.node(value);
            let len = scope.with(|g| g.size(all[place]));
            let cut = scope.with(|g| g.slice(node, *axis, *start, len));
            scope
                .expr(cut.expect("it was cut before"))
                .broadcast(scope, &all)
        }
        Move::Broadcast => value.broadcast(scope, &all),
        Move::Relabel => relabelled(scope, value, &all),
    }
}

impl Reading {
    /// Whether no element is read by two rows.
    pub(super) fn is_one_to_one(&self) -> bool {
        let same = |how: &Move| matches!(how, Move::Slice { .. } | Move::Relabel);
        self.moves.iter().all(|(how, _)| same(how))
    }

    /// The element that each row reads, of an array with dims `more` behind those of x.
    pub(super) fn rows<'g>(&self, scope: &'g Scope, x: Value<'g>, more: &[DimId]) -> Value<'g> {
        let mut value = x;
        for (k, (how, from)) in self.moves.iter().enumerate() {
            let to = self.moves.get(k + 1).map_or(&self.rows, |m| &m.1);
            let from = [from, more].concat();
            value = forward(scope, value.broadcast(scope, &from), how, to, more);
        }
        value
    }

    /// For each element of x the sum over the rows that read it, of an array with dims `more` behind those of the
    /// rows.
    pub(super) fn sums<'g>(&self, scope: &'g Scope, rows: Value<'g>, more: &[DimId]) -> Value<'g> {
        let mut value = rows.broadcast(scope, &[&self.rows[..], more].concat());
        for (k, (how, from)) in self.moves.iter().enumerate().rev() {
            let to = self.moves.get(k + 1).map_or(&self.rows, |m| &m.1);
            let dims = [from, more].concat();
            value = match how {
                Move::Gather(index) => {
                    let node = scope.node(value);
                    scope.expr(scope.with(|g| g.segment_sum(node, *index)))
                }
                Move::Slice { axis, start } => {
                    let place = from.iter().position(|d| d == axis).expect("it was cut");
                    let node = scope.node(value);
                    scope.expr(scope.with(|g| g.unslice(node, to[place], *axis, *start)))
                }
                Move::Broadcast => {
                    let gone: Vec<DimId> =
                        to.iter().copied().filter(|d| !from.contains(d)).collect();
                    value.sum_over(&gone)
                }
                Move::Relabel => relabelled(scope, value, &dims),
            };
            value = value.broadcast(scope, &dims);
        }
        value
    }
}
