//! The factor of a metric that is dense within blocks of coordinates and has nothing between them.

use super::dense::Lower;
use super::vector::Block;

/// A square matrix by rows, zeros left out.
#[derive(Clone, Debug, Default)]
struct Rows {
    /// The numbers of row i are those from `starts[i]` to `starts[i + 1]`.
    starts: Vec<u32>,
    columns: Vec<u32>,
    values: Vec<f64>,
}

impl Rows {
    fn new(rows: &[Vec<(u32, f64)>]) -> Self {
        let mut out = Rows {
            starts: vec![0],
            ..Rows::default()
        };
        for row in rows {
            out.columns.extend(row.iter().map(|x| x.0));
            out.values.extend(row.iter().map(|x| x.1));
            out.starts.push(out.columns.len() as u32);
        }
        out
    }

    /// Σⱼ row(i)ⱼ xⱼ in the order of the row, for every i in turn.
    #[inline]
    fn times<'a>(&'a self, x: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
        self.starts.windows(2).map(move |ends| {
            let range = ends[0] as usize..ends[1] as usize;
            let pairs = self.columns[range.clone()].iter().zip(&self.values[range]);
            pairs.fold(0.0, |sum, (&column, value)| {
                sum + value * x[column as usize]
            })
        })
    }

    fn words(&self) -> impl Iterator<Item = f64> + '_ {
        let places = self
            .starts
            .iter()
            .chain(&self.columns)
            .map(|&p| f64::from(p));
        places.chain(self.values.iter().copied())
    }
}

/// S, lower triangular within each block of coordinates.
#[derive(Clone, Debug)]
pub(crate) struct Blocks {
    /// Coordinates of each block, and the factor of M⁻¹ there.
    blocks: Vec<(Vec<u32>, Lower)>,
    rows: Rows,
    /// Sᵀ by rows.
    columns: Rows,
}

impl Blocks {
    /// S from its blocks, which have every one of `dim` coordinates once; `None` where they do not.
    pub(crate) fn new(dim: usize, blocks: Vec<(Vec<u32>, Lower)>) -> Option<Self> {
        let mut rows = vec![Vec::new(); dim];
        let mut columns = vec![Vec::new(); dim];
        for (places, factor) in &blocks {
            for (i, &row) in places.iter().enumerate() {
                if !rows.get(row as usize)?.is_empty() {
                    return None;
                }
                let numbers = &factor.row(i).as_flattened()[..=i];
                for (&column, &value) in places.iter().zip(numbers) {
                    rows[row as usize].push((column, value));
                    columns.get_mut(column as usize)?.push((row, value));
                }
            }
        }
        rows.iter().all(|row| !row.is_empty()).then(|| Blocks {
            blocks,
            rows: Rows::new(&rows),
            columns: Rows::new(&columns),
        })
    }

    /// y ← y + a S x.
    pub(crate) fn add_times(&self, a: f64, x: &[Block], y: &mut [Block]) {
        let y = y.as_flattened_mut().iter_mut();
        y.zip(self.rows.times(x.as_flattened()))
            .for_each(|(y, sum)| *y += a * sum);
    }

    /// y ← Sᵀ x, with zeros behind the last coordinate whatever stood there: a slope that is not
    /// finite makes NaN of them, and a chain would never move again.
    pub(crate) fn transpose_times(&self, x: &[Block], y: &mut [Block]) {
        let (y, rest) = y
            .as_flattened_mut()
            .split_at_mut(self.columns.starts.len() - 1);
        y.iter_mut()
            .zip(self.columns.times(x.as_flattened()))
            .for_each(|(y, sum)| *y = sum);
        rest.fill(0.0);
    }

    /// S diag(`factors`).
    pub(crate) fn times_diagonal(self, factors: &[f64]) -> Self {
        let dim = factors.len();
        let scaled = self.blocks.into_iter().map(|(places, factor)| {
            let numbers = (0..places.len()).flat_map(|i| {
                let row = &factor.row(i).as_flattened()[..=i];
                let scaled = row.iter().zip(&places);
                scaled
                    .map(|(x, &p)| x * factors[p as usize])
                    .collect::<Vec<_>>()
            });
            let numbers: Vec<f64> = numbers.collect();
            let factor = Lower::from_numbers(places.len(), &numbers);
            (places, factor.expect("as many numbers as before"))
        });
        Blocks::new(dim, scaled.collect()).expect("the blocks of before")
    }

    /// x ← S⁻¹ x.
    pub(crate) fn solve(&self, x: &mut [Block]) {
        let x = x.as_flattened_mut();
        for (places, factor) in &self.blocks {
            for (i, &place) in places.iter().enumerate() {
                let numbers = &factor.row(i).as_flattened()[..=i];
                let known = places[..i].iter().zip(numbers);
                let sum: f64 = known.map(|(&p, l)| l * x[p as usize]).sum();
                x[place as usize] = (x[place as usize] - sum) / numbers[i];
            }
        }
    }

    /// Numbers that are not zero.
    pub(crate) fn len(&self) -> usize {
        self.rows.values.len()
    }

    /// The diagonal of S Sᵀ.
    pub(crate) fn variances(&self) -> Vec<f64> {
        let row = |ends: &[u32]| {
            let numbers = &self.rows.values[ends[0] as usize..ends[1] as usize];
            numbers.iter().map(|x| x * x).sum()
        };
        self.rows.starts.windows(2).map(row).collect()
    }

    /// S, then Sᵀ: where each row starts, the places in it, its numbers.
    pub(crate) fn words(&self) -> Vec<f64> {
        self.rows.words().chain(self.columns.words()).collect()
    }

    /// For each block how many coordinates it has, which, and its factor.
    pub(crate) fn numbers(&self) -> Vec<f64> {
        let mut all = Vec::new();
        for (places, factor) in &self.blocks {
            all.push(places.len() as f64);
            all.extend(places.iter().map(|&p| f64::from(p)));
            all.extend(factor.numbers());
        }
        all
    }

    /// The matrix that [`Blocks::numbers`] were of; `None` when they are of no matrix.
    pub(crate) fn from_numbers(dim: usize, mut numbers: &[f64]) -> Option<Self> {
        let whole = |x: f64| (x >= 0.0 && x < dim as f64 + 1.0).then_some(x as usize);
        let mut blocks = Vec::new();
        while let Some((&len, rest)) = numbers.split_first() {
            let len = whole(len)?;
            let (places, rest) = rest.split_at_checked(len)?;
            let (factor, rest) = rest.split_at_checked(len * (len + 1) / 2)?;
            let places: Option<Vec<u32>> = places.iter().map(|&p| Some(whole(p)? as u32)).collect();
            blocks.push((places?, Lower::from_numbers(len, factor)?));
            numbers = rest;
        }
        Blocks::new(dim, blocks)
    }
}

#[cfg(test)]
mod tests {
    use super::super::vector;
    use super::*;

    fn example() -> Blocks {
        let one = Lower::from_numbers(1, &[3.0]).expect("one number");
        let two = Lower::from_numbers(2, &[2.0, -1.0, 0.5]).expect("three numbers");
        Blocks::new(3, vec![(vec![2, 0], two), (vec![1], one)]).expect("each once")
    }

    /// S has rows (0.5, 0, −1), (0, 3, 0) and (0, 0, 2).
    #[test]
    fn products_and_their_inverse_are_those_of_the_matrix() {
        let s = example();
        let mut x = vector::zeros(3);
        vector::load(&mut x, &[1.0, 10.0, 100.0]);
        let (mut y, mut z) = (vector::zeros(3), vector::zeros(3));
        vector::load(&mut y, &[1.0, 1.0, 1.0]);
        s.add_times(2.0, &x, &mut y);
        assert_eq!(y.as_flattened()[..3], [1.0 - 199.0, 61.0, 401.0]);
        s.transpose_times(&x, &mut z);
        assert_eq!(z.as_flattened()[..3], [0.5, 30.0, 199.0]);
        z.fill([f64::NAN; 8]);
        s.transpose_times(&x, &mut z);
        assert_eq!(
            z.as_flattened(),
            [0.5, 30.0, 199.0, 0.0, 0.0, 0.0, 0.0, 0.0]
        );
        z.fill([0.0; 8]);
        s.add_times(1.0, &x, &mut z);
        s.solve(&mut z);
        assert_eq!(z.as_flattened(), x.as_flattened());
        assert_eq!(s.variances(), [1.25, 9.0, 4.0]);
        assert_eq!(s.len(), 4);
        let scaled = s.times_diagonal(&[2.0, 3.0, 10.0]);
        assert_eq!(scaled.variances(), [101.0, 81.0, 400.0]);
    }

    #[test]
    fn numbers_come_back_and_wrong_ones_are_refused() {
        let numbers = example().numbers();
        let back = Blocks::from_numbers(3, &numbers).expect("its own");
        assert_eq!(back.words(), example().words());
        assert!(Blocks::from_numbers(4, &numbers).is_none());
        assert!(Blocks::from_numbers(2, &numbers).is_none());
        assert!(Blocks::from_numbers(3, &numbers[1..]).is_none());
        for wrong in [f64::NAN, -1.0, 2.0, 1e9] {
            let mut numbers = numbers.clone();
            numbers[2] = wrong;
            assert!(Blocks::from_numbers(3, &numbers).is_none(), "{wrong}");
        }
    }
}
