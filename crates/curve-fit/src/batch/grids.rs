//! Fits whose rows are the points of a grid: every x with every y, once.

use super::Groups;
use crate::fit::Plan;
use crate::pass::Columns;
use fitzroy_device::cpu::GridProgram;
use std::borrow::Cow;

/// The points of a grid.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Grid {
    pub(super) x: Vec<f64>,
    pub(super) y: Vec<f64>,
    /// The row of every point, x by x for the first y, then for the next; empty where this is the
    /// order of the rows.
    pub(super) rows: Vec<u32>,
}

impl Grid {
    /// The grid of rows with these numbers, where they are one of some points.
    fn of(x: &[f64], y: &[f64]) -> Option<Grid> {
        let n = x.len();
        let (at_x, own_x) = distinct(x)?;
        let (at_y, own_y) = distinct(y)?;
        let (nx, ny) = (own_x.len(), own_y.len());
        // Functions of a few points each are worth it.
        if nx * ny != n || n > GridProgram::MOST_POINTS || 2 * (nx + ny) > n {
            return None;
        }
        let mut rows = vec![u32::MAX; n];
        for (row, (&i, &j)) in at_x.iter().zip(&at_y).enumerate() {
            rows[j * nx + i] = row as u32;
        }
        if rows.contains(&u32::MAX) {
            return None;
        }
        if rows.is_sorted() {
            rows.clear();
        }
        Some(Grid {
            x: own_x,
            y: own_y,
            rows,
        })
    }

    /// Points along x and along y.
    pub(super) fn shape(&self) -> [usize; 2] {
        [self.x.len(), self.y.len()]
    }
}

/// Which of the distinct numbers each is, and these, in the order they first occur; `None` where they
/// are too many.
fn distinct(numbers: &[f64]) -> Option<(Vec<usize>, Vec<f64>)> {
    let mut own: Vec<f64> = Vec::new();
    let mut at = Vec::with_capacity(numbers.len());
    for &number in numbers {
        // Mostly the next one, or the first again.
        let next = at.last().map_or(0, |&last| last + 1);
        let is = |k: &usize| {
            own.get(*k)
                .is_some_and(|x: &f64| x.to_bits() == number.to_bits())
        };
        let known = Some(next)
            .filter(is)
            .or_else(|| (0..own.len()).find(|k| is(k)));
        if known.is_none() && own.len() == GridProgram::MOST_POINTS / 2 {
            return None;
        }
        at.push(known.unwrap_or(own.len()));
        if known.is_none() {
            own.push(number);
        }
    }
    Some((at, own))
}

/// The grid of every fit that has one.
#[derive(Default)]
pub(super) struct Grids {
    all: Vec<Grid>,
    /// Of every fit; beyond all where there is none, and for all fits where there are none at all.
    of: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl Grids {
    /// Of fits of `groups`, whose first two columns are x and y, where the plan's curve is a sum of
    /// products of a function of each.
    pub(super) fn find(plan: &Plan, table: &Columns<'_>, groups: &Groups) -> Grids {
        if plan.programs.separated().is_none() {
            return Grids::default();
        }
        let (x, y) = (table.column(0), table.column(1));
        let mut grids = Grids::default();
        // Rows of the last fit that was looked at, and what was found.
        let mut last: Option<(std::ops::Range<usize>, u32)> = None;
        for k in 0..groups.len() {
            let together = groups.together(k);
            if let (Some(own), Some((before, found))) = (&together, &last)
                && same(&x[before.clone()], &x[own.clone()])
                && same(&y[before.clone()], &y[own.clone()])
            {
                grids.of.push(*found);
                continue;
            }
            let found = match &together {
                Some(own) => Grid::of(&x[own.clone()], &y[own.clone()]),
                None => {
                    let rows = groups.rows(k).iter();
                    let [x, y] =
                        [x, y].map(|c| rows.clone().map(|&r| c[r as usize]).collect::<Vec<f64>>());
                    Grid::of(&x, &y)
                }
            };
            let place = match found {
                None => NONE,
                Some(grid) => match grids.all.last() {
                    Some(known) if *known == grid => grids.all.len() as u32 - 1,
                    _ => {
                        grids.all.push(grid);
                        grids.all.len() as u32 - 1
                    }
                },
            };
            grids.of.push(place);
            if let Some(own) = together {
                last = Some((own, place));
            }
        }
        grids
    }

    /// Which grid fit `k` has.
    pub(super) fn place(&self, k: usize) -> Option<usize> {
        let &place = self.of.get(k)?;
        (place != NONE).then_some(place as usize)
    }

    /// The rows of fit `k`, in the order of its grid where it has one.
    pub(super) fn rows<'g>(&self, k: usize, groups: &'g Groups) -> Cow<'g, [u32]> {
        let rows = groups.rows(k);
        match self.place(k).map(|place| &self.all[place].rows) {
            Some(order) if !order.is_empty() => order.iter().map(|&r| rows[r as usize]).collect(),
            _ => Cow::Borrowed(rows),
        }
    }

    pub(super) fn grid(&self, place: usize) -> &Grid {
        &self.all[place]
    }

    /// The points of the grid of fit `k` along x and along y; none where it has none.
    pub(super) fn shape(&self, k: usize) -> Option<[usize; 2]> {
        self.place(k).map(|place| self.all[place].shape())
    }
}

/// Whether two columns have the same bits.
pub(super) fn same(a: &[f64], b: &[f64]) -> bool {
    let differ = |(a, b): (&f64, &f64)| a.to_bits() ^ b.to_bits();
    // The first number tells most that differ; the others are compared in registers.
    let first = a.iter().zip(b).take(1).all(|both| differ(both) == 0);
    first && a.len() == b.len() && a.iter().zip(b).map(differ).fold(0, |all, x| all | x) == 0
}

#[cfg(test)]
mod tests {
    use super::{Grid, same};

    #[test]
    fn columns_are_the_same_where_their_bits_are() {
        let column: Vec<f64> = (0..19).map(f64::from).chain([f64::NAN]).collect();
        assert!(same(&column, &column.clone()));
        for k in 0..column.len() {
            let mut other = column.clone();
            other[k] = -other[k];
            assert!(!same(&column, &other), "number {k}");
        }
        assert!(!same(&column, &column[..19]));
        assert!(same(&[], &[]));
    }

    fn points(nx: usize, ny: usize, order: impl Fn(usize) -> usize) -> [Vec<f64>; 2] {
        let n = nx * ny;
        let x = |k: usize| 100.5 + (order(k) % nx) as f64;
        let y = |k: usize| -3.0 * (order(k) / nx) as f64;
        [(0..n).map(x).collect(), (0..n).map(y).collect()]
    }

    #[test]
    fn grids_are_found_in_any_order_of_their_rows() {
        let [x, y] = points(7, 5, |k| k);
        let grid = Grid::of(&x, &y).expect("a grid");
        assert_eq!((grid.shape(), grid.rows.len()), ([7, 5], 0));
        let across = Grid::of(&y, &x).expect("the same the other way round");
        assert_eq!(across.shape(), [5, 7]);
        let mixed = |k: usize| k * 12 % 35;
        let [x, y] = points(7, 5, mixed);
        let grid = Grid::of(&x, &y).expect("the same in another order");
        for (at, &row) in grid.rows.iter().enumerate() {
            let row = row as usize;
            assert_eq!((x[row], y[row]), (grid.x[at % 7], grid.y[at / 7]));
        }
    }

    #[test]
    fn what_lacks_a_point_or_has_one_twice_is_no_grid() {
        let [mut x, mut y] = points(7, 7, |k| k);
        assert!(Grid::of(&x[..48], &y[..48]).is_none());
        (x[5], y[5]) = (x[20], y[20]);
        assert!(Grid::of(&x, &y).is_none());
        let line: Vec<f64> = (0..49).map(f64::from).collect();
        assert!(Grid::of(&line, &line).is_none());
        let [x, y] = points(2, 3, |k| k);
        assert!(Grid::of(&x, &y).is_none(), "too few to be worth it");
    }
}
