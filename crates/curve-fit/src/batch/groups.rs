//! Which rows belong to which of many small fits.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::Hash;
use std::ops::Range;

/// Which rows belong to which fit.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    /// The label of each fit, in the order they first occur; none where these are the numbers 0, 1, 2, ...
    labels: Vec<String>,
    start: Vec<usize>,
    rows: Vec<u32>,
    /// All rows stand one after the other.
    in_order: bool,
}

impl Groups {
    /// One fit per distinct value of a column of labels.
    pub fn by_label(cells: &[String]) -> Groups {
        Self::by(cells, |cell| cell)
    }

    /// One fit per distinct value of a column of numbers.
    pub fn by_number(values: &[f64]) -> Groups {
        Self::by(values, |x| x.to_bits())
    }

    /// One fit per distinct `key`, labelled by the first value that has it.
    fn by<'v, T: ToString, K: Hash + Eq>(values: &'v [T], key: impl Fn(&'v T) -> K) -> Groups {
        let mut known: HashMap<K, usize> = HashMap::new();
        let mut labels = Vec::new();
        let place = |value| {
            *known.entry(key(value)).or_insert_with(|| {
                labels.push(value.to_string());
                labels.len() - 1
            })
        };
        let of: Vec<usize> = values.iter().map(place).collect();
        Self::of(labels, &of)
    }

    /// Fits of `n` rows each, one after the other, labelled 0, 1, 2, ...
    pub fn equal(n_fits: usize, n: usize) -> Groups {
        Self::following((0..=n_fits).map(|k| k * n).collect())
    }

    /// Fits of `sizes[0]`, `sizes[1]`, ... rows, one after the other, labelled 0, 1, 2, ...
    pub fn sized(sizes: &[usize]) -> Groups {
        let ends = sizes.iter().scan(0, |end, size| {
            *end += size;
            Some(*end)
        });
        Self::following(std::iter::once(0).chain(ends).collect())
    }

    /// Fits one after the other: fit k has the rows from `start[k]` to `start[k + 1]`.
    fn following(start: Vec<usize>) -> Groups {
        Groups {
            labels: Vec::new(),
            rows: (0..start.last().copied().unwrap_or(0) as u32).collect(),
            start,
            in_order: true,
        }
    }

    /// Rows sorted by fit, in their order within each.
    fn of(labels: Vec<String>, of: &[usize]) -> Groups {
        let mut start = vec![0; labels.len() + 1];
        for &k in of {
            start[k + 1] += 1;
        }
        for k in 0..labels.len() {
            start[k + 1] += start[k];
        }
        let mut next = start.clone();
        let mut rows = vec![0; of.len()];
        for (row, &k) in of.iter().enumerate() {
            rows[next[k]] = row as u32;
            next[k] += 1;
        }
        Groups {
            labels,
            start,
            in_order: rows.is_sorted(),
            rows,
        }
    }

    /// Some of the fits, by their places.
    #[must_use]
    pub fn part(&self, fits: Range<usize>) -> Groups {
        Groups {
            labels: self
                .labels()
                .skip(fits.start)
                .take(fits.len())
                .map(Cow::into_owned)
                .collect(),
            start: self.start[fits.start..=fits.end].to_vec(),
            rows: self.rows.clone(),
            in_order: self.in_order,
        }
    }

    /// Number of fits.
    pub fn len(&self) -> usize {
        self.start.len().saturating_sub(1)
    }

    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The labels of all fits.
    pub fn labels(&self) -> impl Iterator<Item = Cow<'_, str>> {
        (0..self.len()).map(|k| self.label(k))
    }

    /// The label of fit `k`.
    pub fn label(&self, k: usize) -> Cow<'_, str> {
        match self.labels.get(k) {
            Some(label) => Cow::Borrowed(label),
            None => Cow::Owned(k.to_string()),
        }
    }

    /// How many rows fit `k` has.
    pub fn n_rows(&self, k: usize) -> usize {
        self.start[k + 1] - self.start[k]
    }

    /// The rows of fit `k`, which rise, where they stand one after the other.
    pub fn together(&self, k: usize) -> Option<Range<usize>> {
        // Without a look at the rows, which for many fits come from far away.
        if self.in_order {
            return Some(self.start[k]..self.start[k + 1]);
        }
        let rows = self.rows(k);
        let (first, last) = (*rows.first()? as usize, *rows.last()? as usize);
        (last.wrapping_sub(first) == rows.len() - 1).then_some(first..last + 1)
    }

    /// The rows of fit `k`.
    pub fn rows(&self, k: usize) -> &[u32] {
        &self.rows[self.start[k]..self.start[k + 1]]
    }
}

#[cfg(test)]
mod tests {
    use super::Groups;

    #[test]
    fn sizes_are_those_asked_for_also_none() {
        let groups = Groups::sized(&[2, 0, 3]);
        let rows: Vec<&[u32]> = (0..groups.len()).map(|k| groups.rows(k)).collect();
        assert_eq!(rows, [&[0, 1][..], &[], &[2, 3, 4]]);
        assert_eq!(groups.together(1).map_or(0, |rows| rows.len()), 0);
        assert_eq!(groups.label(2), "2");
    }

    #[test]
    fn rows_that_stand_together_are_found_in_order_or_not() {
        let in_order = Groups::by_number(&[3.0, 3.0, 5.0, 7.0, 7.0]);
        let mixed = Groups::by_number(&[3.0, 5.0, 5.0, 3.0, 7.0, 7.0]);
        for groups in [&in_order, &mixed] {
            for k in 0..groups.len() {
                let rows: Vec<usize> = groups.rows(k).iter().map(|&r| r as usize).collect();
                assert_eq!(groups.n_rows(k), rows.len());
                match groups.together(k) {
                    Some(range) => assert_eq!(range.collect::<Vec<_>>(), rows),
                    None => assert_eq!(rows, [0, 3], "only these stand apart"),
                }
            }
        }
        assert_eq!(in_order.part(1..3).together(0), Some(2..3));
        assert!(mixed.together(0).is_none());
    }
}
