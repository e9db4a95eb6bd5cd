//! Long series for few pixels.

/// Positions of the least and the greatest value of each of `columns` equal stretches, in their
/// order, together with the first and last position. Values that are not finite are passed over.
pub(crate) fn extremes(values: &[f64], columns: usize) -> Vec<usize> {
    let n = values.len();
    let mut out = vec![];
    for column in 0..columns {
        let (from, to) = (column * n / columns, (column + 1) * n / columns);
        let finite = || (from..to).filter(|&i| values[i].is_finite());
        let by = |a: &usize, b: &usize| values[*a].total_cmp(&values[*b]);
        if let (Some(least), Some(greatest)) = (finite().min_by(by), finite().max_by(by)) {
            out.push(least.min(greatest));
            if least != greatest {
                out.push(least.max(greatest));
            }
        }
    }
    out
}
