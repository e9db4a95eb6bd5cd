//! Sums over the rows of a normal likelihood.
//!
//! With rows f_i = (D_i, y_i)/s_i, coefficients a_i/s_i of the group effects and A_j = Σ a²,
//! f̄_j = Σ a f/A_j over the rows of group j: Σ (f_i − a_i f̄_j)(f_i − a_i f̄_j)ᵀ within groups, and
//! A_j f̄_j f̄_jᵀ between them. The means go first, so that large offsets cost no digits.

use super::find::Block;

/// Groups that share their information A, which therefore share their shrinkage.
#[derive(Clone, Debug)]
pub(super) struct Class {
    /// A_j.
    pub(super) information: f64,
    /// How many groups.
    pub(super) count: f64,
    /// Σ A_j f̄_j f̄_jᵀ, row-major.
    pub(super) between: Vec<f64>,
}

/// What is known of each group.
#[derive(Clone, Debug, Default)]
pub(super) struct Groups {
    /// A_j.
    pub(super) information: Vec<f64>,
    /// f̄_j, row-major.
    pub(super) means: Vec<f64>,
}

/// The sums of one block.
#[derive(Clone, Debug)]
pub(super) struct Sums {
    /// Rows.
    pub(super) n: usize,
    /// Σ ln s_i.
    pub(super) log_spread: f64,
    /// What was subtracted from the coefficients of the columns: y stands for y − D shift.
    pub(super) shift: Vec<f64>,
    /// Columns and y.
    pub(super) width: usize,
    /// Σ within groups, row-major `width` × `width`.
    pub(super) within: Vec<f64>,
    /// By information where `alike`, else one for each group.
    pub(super) classes: Vec<Class>,
    pub(super) groups: Groups,
}

/// A column counts as a sum of others when less than this of it is left.
const DEPENDENT: f64 = 1e-9;

impl Sums {
    /// The sums of `block`. `alike`: all groups have the same prior spread.
    pub(super) fn new(block: &Block, alike: bool) -> Sums {
        let n = block.y.len();
        let (_, width) = block.widths();
        let mut columns: Vec<Vec<f64>> = Vec::new();
        let mut movable = Vec::new();
        for part in &block.columns {
            // Effects with a spread of their own stay near 0, whatever the data say.
            let moves = part.integrated.as_ref().is_none_or(|i| i.scale.is_none());
            for k in 0..part.len {
                let column = (0..n).map(|i| part.by[i * part.len + k] / block.spread[i]);
                columns.push(column.collect());
                movable.push(moves);
            }
        }
        let mut y: Vec<f64> = (0..n).map(|i| block.y[i] / block.spread[i]).collect();
        let shift = least_squares(&columns, &movable, &y);
        for (column, b) in columns.iter().zip(&shift) {
            y.iter_mut().zip(column).for_each(|(y, x)| *y -= b * x);
        }
        columns.push(y);
        let width = width + 1;
        let mut rows = vec![0.0; n * width];
        for (k, column) in columns.iter().enumerate() {
            (0..n).for_each(|i| rows[i * width + k] = column[i]);
        }
        let groups = match &block.group {
            Some(group) => {
                let by: Vec<f64> = (0..n).map(|i| group.by[i] / block.spread[i]).collect();
                centre(&mut rows, width, (&group.at, &by, group.len))
            }
            None => Groups::default(),
        };
        Sums {
            n,
            log_spread: block.spread.iter().map(|s| libm::log(*s)).sum(),
            shift,
            width,
            within: gram(&rows, width),
            classes: classes(&groups, width, alike),
            groups,
        }
    }
}

/// Σ f fᵀ over rows.
fn gram(rows: &[f64], width: usize) -> Vec<f64> {
    let mut out = vec![0.0; width * width];
    for row in rows.chunks_exact(width) {
        for (r, &a) in row.iter().enumerate() {
            let line = &mut out[r * width..(r + 1) * width];
            line.iter_mut().zip(row).for_each(|(o, b)| *o += a * b);
        }
    }
    out
}

/// Subtracts from each row its part of the mean of its group; returns the means.
fn centre(rows: &mut [f64], width: usize, (at, by, len): (&[u32], &[f64], usize)) -> Groups {
    let mut information = vec![0.0; len];
    let mut means = vec![0.0; len * width];
    for (row, (&j, &a)) in rows.chunks_exact(width).zip(at.iter().zip(by)) {
        let j = j as usize;
        information[j] += a * a;
        let mean = &mut means[j * width..(j + 1) * width];
        mean.iter_mut().zip(row).for_each(|(m, f)| *m += a * f);
    }
    for (mean, &a) in means.chunks_exact_mut(width).zip(&information) {
        // A group without rows says nothing.
        let over = if a > 0.0 { a } else { 1.0 };
        mean.iter_mut().for_each(|m| *m /= over);
    }
    for (row, (&j, &a)) in rows.chunks_exact_mut(width).zip(at.iter().zip(by)) {
        let mean = &means[j as usize * width..(j as usize + 1) * width];
        row.iter_mut().zip(mean).for_each(|(f, m)| *f -= a * m);
    }
    Groups { information, means }
}

/// Groups by their information, or each on its own.
fn classes(groups: &Groups, width: usize, alike: bool) -> Vec<Class> {
    let mut out: Vec<Class> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for (j, mean) in groups.means.chunks_exact(width).enumerate() {
        let information = groups.information[j];
        if alike && information == 0.0 {
            continue;
        }
        let key = match alike {
            true => information.to_bits(),
            false => j as u64,
        };
        let at = *places.entry(key).or_insert(out.len());
        if at == out.len() {
            out.push(Class {
                information,
                count: 0.0,
                between: vec![0.0; width * width],
            });
        }
        let class = &mut out[at];
        class.count += 1.0;
        for (r, &a) in mean.iter().enumerate() {
            let line = &mut class.between[r * width..(r + 1) * width];
            let products = mean.iter().map(|b| information * a * b);
            line.iter_mut().zip(products).for_each(|(o, x)| *o += x);
        }
    }
    out
}

/// Coefficients of the movable columns that bring y near 0, by orthogonalisation; those of columns
/// that others already span are 0.
fn least_squares(columns: &[Vec<f64>], movable: &[bool], y: &[f64]) -> Vec<f64> {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    let q = columns.len();
    // Orthonormal columns, each with its coefficients in the given ones.
    let mut basis: Vec<(Vec<f64>, Vec<f64>)> = Vec::new();
    for k in (0..q).filter(|&k| movable[k]) {
        let mut rest = columns[k].clone();
        let mut made = vec![0.0; q];
        made[k] = 1.0;
        let before = dot(&rest, &rest).sqrt();
        for _ in 0..2 {
            for (unit, of) in &basis {
                let along = dot(&rest, unit);
                rest.iter_mut().zip(unit).for_each(|(r, u)| *r -= along * u);
                made.iter_mut().zip(of).for_each(|(m, o)| *m -= along * o);
            }
        }
        let left = dot(&rest, &rest).sqrt();
        if left > DEPENDENT * before {
            rest.iter_mut().for_each(|r| *r /= left);
            made.iter_mut().for_each(|m| *m /= left);
            basis.push((rest, made));
        }
    }
    let mut out = vec![0.0; q];
    let mut rest = y.to_vec();
    for _ in 0..2 {
        for (unit, of) in &basis {
            let along = dot(&rest, unit);
            rest.iter_mut().zip(unit).for_each(|(r, u)| *r -= along * u);
            out.iter_mut().zip(of).for_each(|(o, c)| *o += along * c);
        }
    }
    out
}
