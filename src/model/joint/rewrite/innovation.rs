//! Values that are multiples of the elements of one array, element by element.

use super::normal::{lit, relabelled};
use fitzroy_graph::{Binary, DimId, Expr as Value, Node, NodeId, Op, Scope, Unary};

/// A value whose element i along an axis is `by` times element i + `offset` of u, for the i that it `holds`, plus
/// what does not depend on u.
pub(super) struct Innovation<'g> {
    pub(super) by: Value<'g>,
    /// None if it has one element without a dim.
    pub(super) axis: Option<DimId>,
    pub(super) offset: i64,
    pub(super) holds: std::ops::Range<usize>,
}

/// `node` as a multiple of u, element by element; none if it is no such thing. `u` comes with what depends on it.
pub(super) fn innovation<'g>(
    scope: &'g Scope,
    u: (NodeId, &[bool]),
    node: NodeId,
) -> Option<Innovation<'g>> {
    let n = scope.with(|g| g.node(node).clone());
    let over = |v: Value<'g>| v.broadcast(scope, &n.dims);
    if node == u.0 {
        let axis = *n.dims.last()?;
        let len = scope.with(|g| g.size(axis));
        return Some(Innovation {
            by: over(lit(1.0)),
            axis: Some(axis),
            offset: 0,
            holds: 0..len,
        });
    }
    let moves = |at: usize| u.1.get(n.inputs[at].index()) == Some(&true);
    let one = |at: usize| innovation(scope, u, n.inputs[at]);
    let times = |part: Innovation<'g>, by: Value<'g>| Innovation {
        by: over(part.by * by),
        ..part
    };
    match n.op {
        Op::Unary(Unary::Neg) => Some(times(one(0)?, lit(-1.0))),
        Op::Binary(op @ (Binary::Add | Binary::Sub)) => {
            let sign = lit(if op == Binary::Sub { -1.0 } else { 1.0 });
            match (moves(0), moves(1)) {
                (true, false) => one(0),
                (false, true) => Some(times(one(1)?, sign)),
                _ => joined(one(0)?, times(one(1)?, sign)),
            }
        }
        Op::Binary(Binary::Mul) if moves(0) != moves(1) => {
            let (factor, rest) = if moves(0) { (1, 0) } else { (0, 1) };
            Some(times(one(rest)?, scope.expr(n.inputs[factor])))
        }
        Op::Binary(Binary::Div) if !moves(1) => {
            let divisor = scope.expr(n.inputs[1]).unary(Unary::Recip);
            Some(times(one(0)?, divisor))
        }
        // A known condition, such as that of the first step.
        Op::Select if !moves(0) && !moves(1) => one(2)?.unless(scope, &n),
        Op::Broadcast | Op::Sum if scope.with(|g| g.len(node) != g.len(n.inputs[0])) => None,
        Op::Broadcast | Op::Sum | Op::Relabel | Op::Slice { .. } | Op::Unslice { .. } => {
            one(0)?.moved(scope, &n)
        }
        _ => None,
    }
}

impl<'g> Innovation<'g> {
    /// What a node makes of this by moving elements.
    fn moved(self, scope: &'g Scope, n: &Node) -> Option<Self> {
        let own = scope.with(|g| g.dims(n.inputs[0]).to_vec());
        let size = |d: &DimId| scope.with(|g| g.size(*d));
        let by = self.by.broadcast(scope, &own);
        let node = scope.node(by);
        match n.op {
            Op::Broadcast => Some(Innovation {
                by: by.broadcast(scope, &n.dims),
                ..self
            }),
            // Dims of one element go.
            Op::Sum => {
                let gone = own.into_iter().filter(|d| !n.dims.contains(d));
                let gone: Vec<DimId> = gone.collect();
                Some(Innovation {
                    by: by.sum_over(&gone),
                    axis: self.axis.filter(|a| !gone.contains(a)),
                    ..self
                })
            }
            Op::Relabel => {
                let place = |axis: DimId| own.iter().position(|d| *d == axis);
                let same = own.iter().map(size).eq(n.dims.iter().map(size));
                let axis = match self.axis {
                    Some(axis) => Some(n.dims[place(axis).filter(|_| same)?]),
                    None => None,
                };
                Some(Innovation {
                    by: relabelled(scope, by, &n.dims),
                    axis,
                    ..self
                })
            }
            Op::Slice { axis, start } => {
                let place = own.iter().position(|d| *d == axis)?;
                let len = size(&n.dims[place]);
                let cut = scope.with(|g| g.slice(node, axis, start, len)).ok()?;
                let clip = |i: usize| i.saturating_sub(start).min(len);
                (self.axis == Some(axis)).then(|| Innovation {
                    by: scope.expr(cut),
                    axis: Some(n.dims[place]),
                    offset: self.offset + start as i64,
                    holds: clip(self.holds.start)..clip(self.holds.end),
                })
            }
            Op::Unslice { axis, start } => {
                let place = n.dims.iter().position(|d| *d == axis)?;
                let placed = scope.with(|g| g.unslice(node, own[place], axis, start));
                (self.axis.is_none_or(|a| a == own[place])).then(|| Innovation {
                    by: scope.expr(placed),
                    axis: Some(axis),
                    offset: self.offset - start as i64,
                    holds: self.holds.start + start..self.holds.end + start,
                })
            }
            _ => None,
        }
    }

    /// The same, if the known condition of the choice `n` holds nowhere that this has elements of u.
    fn unless(self, scope: &'g Scope, n: &Node) -> Option<Self> {
        let size = |d: &DimId| scope.with(|g| g.size(*d));
        let place = n.dims.iter().position(|d| Some(*d) == self.axis)?;
        let inner: usize = n.dims[place + 1..].iter().map(size).product();
        let at = |i: usize| i / inner % size(&n.dims[place]);
        let condition = scope.expr(n.inputs[0]).broadcast(scope, &n.dims);
        let condition = scope.known(condition)?;
        let mut cells = condition.iter().enumerate();
        let is_free = cells.all(|(i, c)| *c == 0.0 || !self.holds.contains(&at(i)));
        is_free.then_some(self)
    }
}

/// The sum of two values that read the same elements, or those next to each other.
fn joined<'g>(a: Innovation<'g>, b: Innovation<'g>) -> Option<Innovation<'g>> {
    let beside = a.holds.end == b.holds.start || b.holds.end == a.holds.start;
    let fits = a.axis == b.axis && a.offset == b.offset && (a.holds == b.holds || beside);
    fits.then(|| Innovation {
        by: a.by + b.by,
        holds: a.holds.start.min(b.holds.start)..a.holds.end.max(b.holds.end),
        ..a
    })
}
