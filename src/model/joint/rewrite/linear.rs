//! A node as a sum of known numbers times smaller nodes.

use super::normal::uniform;
use fitzroy_graph::reference::flat_positions;
use fitzroy_graph::{Binary, DimId, Graph, IndexId, NodeId, Op, Scope, Unary};

/// Coefficients above this are not laid out.
const MOST_COEFFICIENTS: usize = 1 << 26;

/// Known numbers times the elements of one node.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Map {
    /// Row i is `by[i]` times element `at[i]`.
    Pick { at: Vec<u32>, by: Vec<f64> },
    /// Row i is Σ over elements k of `by[i·len + k]` times element k.
    Dense { by: Vec<f64>, len: usize },
}

/// One summand: a node, and how its elements enter each row.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) leaf: NodeId,
    pub(super) map: Map,
}

/// `fixed` + Σ pieces, row by row.
#[derive(Clone, Debug)]
pub(super) struct Linear {
    pub(super) fixed: Vec<f64>,
    pub(super) pieces: Vec<Piece>,
}

impl Map {
    fn rows(&self, positions: &[u32]) -> Map {
        let each = positions.iter().map(|&p| p as usize);
        match self {
            Map::Pick { at, by } => Map::Pick {
                at: each.clone().map(|p| at[p]).collect(),
                by: each.map(|p| by[p]).collect(),
            },
            Map::Dense { by, len } => Map::Dense {
                by: each
                    .flat_map(|p| by[p * len..(p + 1) * len].iter().copied())
                    .collect(),
                len: *len,
            },
        }
    }

    fn scaled(mut self, factor: impl Fn(usize) -> f64) -> Map {
        match &mut self {
            Map::Pick { by, .. } => by.iter_mut().enumerate().for_each(|(i, b)| *b *= factor(i)),
            Map::Dense { by, len } => {
                let rows = by.chunks_exact_mut(*len).enumerate();
                rows.for_each(|(i, row)| row.iter_mut().for_each(|b| *b *= factor(i)));
            }
        }
        self
    }

    /// Row-major coefficients, `len` for each row.
    pub(super) fn dense(&self, len: usize) -> Vec<f64> {
        match self {
            Map::Dense { by, .. } => by.clone(),
            Map::Pick { at, by } => {
                let mut out = vec![0.0; by.len() * len];
                for (i, (&k, &b)) in at.iter().zip(by).enumerate() {
                    out[i * len + k as usize] = b;
                }
                out
            }
        }
    }
}

impl Linear {
    fn rows(&self, positions: &[u32]) -> Linear {
        let map = |p: &Piece| Piece {
            leaf: p.leaf,
            map: p.map.rows(positions),
        };
        Linear {
            fixed: positions.iter().map(|&p| self.fixed[p as usize]).collect(),
            pieces: self.pieces.iter().map(map).collect(),
        }
    }

    fn scaled(mut self, factor: impl Fn(usize) -> f64 + Copy) -> Linear {
        let fixed = self.fixed.iter_mut().enumerate();
        fixed.for_each(|(i, f)| *f *= factor(i));
        let pieces = self.pieces.into_iter().map(|p| Piece {
            leaf: p.leaf,
            map: p.map.scaled(factor),
        });
        self.pieces = pieces.collect();
        self
    }

    /// The sum of both; pieces of the same node become one. None where that is too large.
    fn plus(mut self, other: Linear, graph: &Graph) -> Option<Linear> {
        for (a, b) in self.fixed.iter_mut().zip(&other.fixed) {
            *a += b;
        }
        for piece in other.pieces {
            let Some(own) = self.pieces.iter_mut().find(|p| p.leaf == piece.leaf) else {
                self.pieces.push(piece);
                continue;
            };
            if let (Map::Pick { at, by }, Map::Pick { at: at_2, by: by_2 }) =
                (&mut own.map, &piece.map)
                && at == at_2
            {
                by.iter_mut().zip(by_2).for_each(|(a, b)| *a += b);
                continue;
            }
            let len = graph.len(own.leaf);
            if len * self.fixed.len() > MOST_COEFFICIENTS {
                return None;
            }
            let (mut by, more) = (own.map.dense(len), piece.map.dense(len));
            by.iter_mut().zip(more).for_each(|(a, b)| *a += b);
            own.map = Map::Dense { by, len };
        }
        Some(self)
    }
}

/// Takes nodes apart.
pub(super) struct Decompose<'g> {
    pub(super) scope: &'g Scope,
}

impl Decompose<'_> {
    fn known(&self, node: NodeId) -> Vec<f64> {
        let known = self.scope.known(self.scope.expr(node));
        known.expect("it depends on no parameter")
    }

    fn positions(&self, from: &[DimId], to: &[DimId]) -> Vec<u32> {
        self.scope.with(|g| flat_positions(g, from, to))
    }

    /// `node` over `dims`, a superset of its own.
    pub(super) fn over(&self, node: NodeId, dims: &[DimId]) -> Option<Linear> {
        let own = self.scope.with(|g| g.dims(node).to_vec());
        let inner = self.linear(node)?;
        Some(match own == dims {
            true => inner,
            false => inner.rows(&self.positions(dims, &own)),
        })
    }

    /// What `node` is made of: known numbers times nodes that are not such sums themselves. None
    /// where that would be too large to lay out.
    pub(super) fn linear(&self, node: NodeId) -> Option<Linear> {
        let (n, rows, varies) = self
            .scope
            .with(|g| (g.node(node).clone(), g.len(node), g.varies(node)));
        if !varies {
            return Some(Linear {
                fixed: self.known(node),
                pieces: Vec::new(),
            });
        }
        let moves = |k: usize| self.scope.with(|g| g.varies(n.inputs[k]));
        let inner_dims = || self.scope.with(|g| g.dims(n.inputs[0]).to_vec());
        match &n.op {
            Op::Unary(Unary::Neg) => Some(self.linear(n.inputs[0])?.scaled(|_| -1.0)),
            Op::Binary(op @ (Binary::Add | Binary::Sub)) => {
                let (a, b) = (self.linear(n.inputs[0])?, self.linear(n.inputs[1])?);
                let b = if *op == Binary::Sub {
                    b.scaled(|_| -1.0)
                } else {
                    b
                };
                self.scope.with(|g| a.plus(b, g))
            }
            Op::Binary(Binary::Mul) if !moves(0) || !moves(1) => {
                let (factor, rest) = if moves(0) { (1, 0) } else { (0, 1) };
                let factor = self.known(n.inputs[factor]);
                Some(self.linear(n.inputs[rest])?.scaled(|i| factor[i]))
            }
            Op::Binary(Binary::Mul) => Some(self.by_number(node, &n.inputs)),
            Op::Binary(Binary::Div) if !moves(1) => {
                let divisor = self.known(n.inputs[1]);
                Some(self.linear(n.inputs[0])?.scaled(|i| 1.0 / divisor[i]))
            }
            Op::Broadcast => {
                let positions = self.positions(&n.dims, &inner_dims());
                Some(self.linear(n.inputs[0])?.rows(&positions))
            }
            Op::Gather(index) => {
                let positions = self.looked_up(*index, &n.dims, &inner_dims());
                Some(self.linear(n.inputs[0])?.rows(&positions))
            }
            Op::Slice { axis, start } => {
                let positions = self.sliced(&n.dims, &inner_dims(), *axis, *start);
                Some(self.linear(n.inputs[0])?.rows(&positions))
            }
            Op::Relabel => self.linear(n.inputs[0]),
            Op::Sum if self.scope.with(|g| g.len(n.inputs[0])) == rows => self.linear(n.inputs[0]),
            Op::Contract { over } if moves(0) != moves(1) => self.contracted(node, over),
            _ => Some(self.itself(node)),
        }
    }

    /// The node as one piece.
    fn itself(&self, node: NodeId) -> Linear {
        let rows = self.scope.with(|g| g.len(node));
        Linear {
            fixed: vec![0.0; rows],
            pieces: vec![Piece {
                leaf: node,
                map: Map::Pick {
                    at: (0..rows as u32).collect(),
                    by: vec![1.0; rows],
                },
            }],
        }
    }

    /// A product of two values of parameters. If one is a single number and the other a known matrix times
    /// something shorter, the number goes to what is shorter: graphs take it out of such products.
    fn by_number(&self, node: NodeId, factors: &[NodeId]) -> Linear {
        for (number, rest) in [(factors[0], factors[1]), (factors[1], factors[0])] {
            let number = uniform(self.scope, number);
            let (Some(number), Some(rest)) = (number, self.linear(rest)) else {
                continue;
            };
            let is_short = |p: &Piece| self.scope.with(|g| g.len(p.leaf)) < rest.fixed.len();
            let is_sum = rest.fixed.iter().all(|f| *f == 0.0) && rest.pieces.iter().all(is_short);
            let same_rows = self.scope.with(|g| g.len(node)) == rest.fixed.len();
            if !is_sum || !same_rows {
                continue;
            }
            let pieces = rest.pieces.into_iter().map(|piece| {
                let leaf = self.scope.expr(number) * self.scope.expr(piece.leaf);
                Piece {
                    leaf: self.scope.node(leaf),
                    map: piece.map,
                }
            });
            return Linear {
                fixed: rest.fixed,
                pieces: pieces.collect(),
            };
        }
        self.itself(node)
    }

    /// For each element over `to` its element before a lookup, over `from`.
    fn looked_up(&self, index: IndexId, to: &[DimId], from: &[DimId]) -> Vec<u32> {
        let slot = self.scope.with(|g| g.index_slots()[index.index()].clone());
        let axis = from
            .iter()
            .position(|&d| d == slot.target)
            .expect("a lookup reads its target");
        let rows = self.positions(to, &[slot.rows]);
        let mut others = from.to_vec();
        others.remove(axis);
        let stride = self.scope.with(|g| g.len_of(&from[axis + 1..])) as u32;
        let below = self.positions(to, &from[axis + 1..]);
        let above = self.positions(to, &from[..axis]);
        let size = self.scope.with(|g| g.size(slot.target)) as u32;
        let at = self.scope.index_positions(index);
        let one = |i: usize| (above[i] * size + at[rows[i] as usize]) * stride + below[i];
        (0..rows.len()).map(one).collect()
    }

    /// For each element over `to` its element before a slice, over `from`.
    fn sliced(&self, to: &[DimId], from: &[DimId], axis: DimId, start: usize) -> Vec<u32> {
        let place = from
            .iter()
            .position(|&d| d == axis)
            .expect("a slice cuts its axis");
        let len = |dims: &[DimId]| self.scope.with(|g| g.len_of(dims)) as u32;
        let (inner, part) = (len(&from[place + 1..]), len(&to[place..=place]));
        let size = len(&from[place..=place]);
        let one = |i: u32| {
            let (rest, below) = (i / inner, i % inner);
            ((rest / part) * size + start as u32 + rest % part) * inner + below
        };
        (0..len(to)).map(one).collect()
    }

    /// A known matrix times a vector.
    fn contracted(&self, node: NodeId, over: &[DimId]) -> Option<Linear> {
        let (n, rows) = self.scope.with(|g| (g.node(node).clone(), g.len(node)));
        let moving = usize::from(self.scope.with(|g| g.varies(n.inputs[1])));
        let (matrix, vector) = (n.inputs[1 - moving], n.inputs[moving]);
        let (matrix_dims, vector_dims) = self
            .scope
            .with(|g| (g.dims(matrix).to_vec(), g.dims(vector).to_vec()));
        let inner = self.linear(vector)?;
        let terms = self.scope.with(|g| g.len_of(over));
        let full: Vec<DimId> = n.dims.iter().chain(over).copied().collect();
        let of_matrix = self.positions(&full, &matrix_dims);
        let of_vector = self.positions(&full, &vector_dims);
        let values = self.known(matrix);
        // Σ over the terms of row i, of something for each element of the vector.
        let sum = |i: usize, f: &mut dyn FnMut(f64, usize)| {
            for t in i * terms..(i + 1) * terms {
                f(values[of_matrix[t] as usize], of_vector[t] as usize);
            }
        };
        let mut fixed = vec![0.0; rows];
        for (i, out) in fixed.iter_mut().enumerate() {
            sum(i, &mut |a, k| *out += a * inner.fixed[k]);
        }
        let mut pieces = Vec::new();
        for piece in inner.pieces {
            let len = self.scope.with(|g| g.len(piece.leaf));
            if len * rows > MOST_COEFFICIENTS {
                return None;
            }
            let mut by = vec![0.0; rows * len];
            for (i, row) in by.chunks_exact_mut(len).enumerate() {
                sum(i, &mut |a, k| match &piece.map {
                    Map::Pick { at, by } => row[at[k] as usize] += a * by[k],
                    Map::Dense { by, len } => {
                        let own = &by[k * len..(k + 1) * len];
                        row.iter_mut().zip(own).for_each(|(r, b)| *r += a * b);
                    }
                });
            }
            pieces.push(Piece {
                leaf: piece.leaf,
                map: Map::Dense { by, len },
            });
        }
        Some(Linear { fixed, pieces })
    }
}
