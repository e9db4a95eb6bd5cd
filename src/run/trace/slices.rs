//! Variables put together from statements that each speak of some of their elements.

use super::Column3;
use crate::draws::{Column, Variable};
use crate::model::joint::{Drawn, Observations, Recorded, Term};
use fitzroy_graph::Graph;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What one statement gives of a variable for every draw.
pub(super) struct Piece {
    column: Column3,
    /// Which elements it speaks of; none for the whole variable.
    part: Option<Arc<Observations>>,
}

impl Piece {
    /// Replicates of data, or a predicted quantity.
    pub(super) fn replicates(drawn: &Drawn) -> Self {
        Piece {
            column: Column3 {
                name: drawn.name.clone(),
                dims: drawn.dims.clone(),
                shape: drawn.shape.clone(),
            },
            part: drawn.part.clone(),
        }
    }

    /// A quantity that is computed.
    pub(super) fn computed(recorded: &Recorded) -> Self {
        Piece {
            column: Column3 {
                name: recorded.name.clone(),
                dims: recorded.dims.clone(),
                shape: recorded.shape.clone(),
            },
            part: None,
        }
    }

    /// The log likelihood of data: a number for each element, or for each vector.
    pub(super) fn likelihoods(term: &Term, graph: &Graph) -> Self {
        let shape = graph.dims(term.node).iter().map(|&d| graph.size(d));
        let shape: Vec<usize> = shape.collect();
        let dims = match term.dims.len() == shape.len() {
            true => term.dims.clone(),
            false => numbered(&term.name, shape.len()),
        };
        Piece {
            column: Column3 {
                name: term.name.clone(),
                dims,
                shape,
            },
            part: term.part.clone(),
        }
    }

    fn len(&self) -> usize {
        self.column.shape.iter().product()
    }
}

/// `NAME_dim_0`, `NAME_dim_1`, ...
fn numbered(name: &str, n: usize) -> Vec<String> {
    (0..n).map(|k| format!("{name}_dim_{k}")).collect()
}

/// Where the elements of each piece stand in the columns.
pub(super) struct Layout {
    pieces: Vec<Placed>,
    n_columns: usize,
}

struct Placed {
    column: usize,
    /// The place in the column of each element; none where the piece is the column.
    at: Option<Vec<usize>>,
    len: usize,
    /// Elements of the column.
    of: usize,
}

impl Layout {
    /// Elements of each piece.
    pub(super) fn lengths(&self) -> Vec<usize> {
        self.pieces.iter().map(|p| p.len).collect()
    }

    /// Columns from pieces, both `[chain][draw][element]`.
    pub(super) fn join(&self, arrays: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
        let mut columns = vec![Vec::new(); self.n_columns];
        for (piece, array) in self.pieces.iter().zip(arrays) {
            let column = &mut columns[piece.column];
            let Some(at) = &piece.at else {
                *column = array;
                continue;
            };
            let n_draws = array.len() / piece.len.max(1);
            column.resize(n_draws * piece.of, 0.0);
            for (from, to) in array.chunks(piece.len).zip(column.chunks_mut(piece.of)) {
                at.iter().zip(from).for_each(|(&i, &x)| to[i] = x);
            }
        }
        columns
    }
}

/// The columns that `pieces` make, and where each piece stands in them. Pieces of one name are one
/// column, which has
///
/// - the dims of the whole array, where the statements speak of all of it (log likelihoods of
///   vectors: its leading dims, where every vector lies along the same last ones);
/// - the dims of the slice, where one statement speaks of some elements;
/// - one dim, over the elements (or vectors) in the order of the array, else.
pub(super) fn columns(pieces: Vec<Piece>) -> (Vec<Column3>, Layout) {
    let mut order: Vec<&str> = Vec::new();
    let mut by_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (k, piece) in pieces.iter().enumerate() {
        let name = piece.column.name.as_str();
        let all = by_name.entry(name).or_default();
        if all.is_empty() {
            order.push(name);
        }
        all.push(k);
    }
    let mut placed: Vec<Option<Placed>> = pieces.iter().map(|_| None).collect();
    let mut columns = Vec::new();
    for (column, name) in order.iter().enumerate() {
        let members = &by_name[name];
        let own: Vec<&Piece> = members.iter().map(|&k| &pieces[k]).collect();
        let (joined, places) = together(&own);
        let of = joined.shape.iter().product();
        for ((&k, piece), at) in members.iter().zip(&own).zip(places) {
            let len = piece.len();
            placed[k] = Some(Placed {
                column,
                at,
                len,
                of,
            });
        }
        columns.push(joined);
    }
    let n_columns = columns.len();
    let pieces = placed.into_iter().flatten().collect();
    (columns, Layout { pieces, n_columns })
}

/// The column of pieces of one name, and the places of their elements in it.
fn together(pieces: &[&Piece]) -> (Column3, Vec<Option<Vec<usize>>>) {
    let first = pieces[0];
    let parts: Option<Vec<&Observations>> = pieces.iter().map(|p| p.part.as_deref()).collect();
    let Some(parts) = parts else {
        return (first.column.clone(), vec![None; pieces.len()]);
    };
    let shape = &parts[0].shape;
    // The first element of what each number of a piece is about.
    let firsts: Vec<Vec<usize>> = pieces
        .iter()
        .zip(&parts)
        .map(|(piece, part)| {
            let event = part.at.len() / piece.len().max(1);
            part.at.iter().copied().step_by(event.max(1)).collect()
        })
        .collect();
    let n: usize = firsts.iter().map(Vec::len).sum();
    let event = shape.iter().product::<usize>() / n.max(1);
    let axes = (0..=shape.len()).find(|&k| shape[k..].iter().product::<usize>() == event);
    let whole = n * event == shape.iter().product::<usize>()
        && pieces.iter().zip(&parts).all(|(piece, part)| {
            let blocks = part.at.chunks(event);
            piece.len() * event == part.at.len()
                && blocks
                    .into_iter()
                    .all(|b| b[0] % event == 0 && b[event - 1] - b[0] + 1 == event)
        });
    if let (true, Some(axes)) = (whole, axes) {
        let column = Column3 {
            name: first.column.name.clone(),
            dims: parts[0].dims[..axes].to_vec(),
            shape: shape[..axes].to_vec(),
        };
        let places = firsts
            .iter()
            .map(|f| Some(f.iter().map(|i| i / event).collect()));
        return (column, places.collect());
    }
    if pieces.len() == 1 {
        return (first.column.clone(), vec![None]);
    }
    let mut all: Vec<usize> = firsts.concat();
    all.sort_unstable();
    let place = |i: &usize| all.binary_search(i).expect("it is one of them");
    let column = Column3 {
        name: first.column.name.clone(),
        dims: numbered(&first.column.name, 1),
        shape: vec![n],
    };
    let places = firsts.iter().map(|f| Some(f.iter().map(place).collect()));
    (column, places.collect())
}

/// The observed values of a variable, in the layout of its replicates; `drawn` are all of one name,
/// and each knows what it observes.
pub(super) fn observed(drawn: &[&Drawn]) -> Variable {
    let pieces = drawn.iter().map(|d| Piece::replicates(d)).collect();
    let (mut columns, layout) = columns(pieces);
    let values = |d: &&Drawn| d.part.as_ref().map_or(Vec::new(), |p| p.values.clone());
    let mut values = layout.join(drawn.iter().map(values).collect());
    let column = columns.swap_remove(0);
    Variable {
        name: column.name,
        dims: column.dims,
        shape: column.shape,
        values: Column::Real(values.swap_remove(0)),
    }
}
