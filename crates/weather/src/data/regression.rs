//! Ridge regressions: sums over observations, and the weights that follow from them.

/// Rows that are added to the sums at once, so that the sums are read less often.
const ROWS: usize = 8;

/// Sums of products of predictors, and of predictors and changes.
pub(super) struct Sums {
    /// Whose changes they are.
    pub(super) channels: Vec<usize>,
    p: usize,
    n: usize,
    normal: Vec<f64>,
    moments: Vec<f64>,
    rows: Vec<f64>,
    changes: Vec<f64>,
    waiting: usize,
    count: f64,
}

impl Sums {
    pub(super) fn new(p: usize, channels: Vec<usize>) -> Self {
        let n = channels.len();
        Sums {
            channels,
            p,
            n,
            normal: vec![0.0; p * p],
            moments: vec![0.0; p * n],
            rows: vec![0.0; ROWS * p],
            changes: vec![0.0; ROWS * n],
            waiting: 0,
            count: 0.0,
        }
    }

    /// The next observation, to be filled in: its predictors and its changes; and of which
    /// channels these are.
    pub(super) fn line(&mut self) -> (&mut [f64], &mut [f64], &[usize]) {
        if self.waiting == ROWS {
            self.add();
        }
        let k = self.waiting;
        self.waiting += 1;
        self.count += 1.0;
        let (p, n) = (self.p, self.n);
        let row = &mut self.rows[k * p..(k + 1) * p];
        let changes = &mut self.changes[k * n..(k + 1) * n];
        (row, changes, &self.channels)
    }

    pub(super) fn add(&mut self) {
        let (p, n) = (self.p, self.n);
        for k in self.waiting..ROWS {
            self.rows[k * p..(k + 1) * p].fill(0.0);
        }
        let rows: [&[f64]; ROWS] = std::array::from_fn(|k| &self.rows[k * p..(k + 1) * p]);
        for i in 0..p {
            let own = rows.map(|row| row[i]);
            let heads = rows.map(|row| &row[..=i]);
            let line = &mut self.normal[i * p..=i * p + i];
            for (j, to) in line.iter_mut().enumerate() {
                let mut sum = *to;
                for k in 0..ROWS {
                    sum += own[k] * heads[k][j];
                }
                *to = sum;
            }
            for k in 0..self.waiting {
                let changes = &self.changes[k * n..(k + 1) * n];
                let line = &mut self.moments[i * n..(i + 1) * n];
                line.iter_mut()
                    .zip(changes)
                    .for_each(|(to, d)| *to += own[k] * d);
            }
        }
        self.waiting = 0;
    }

    /// The weights, channel by channel.
    pub(super) fn solve(&self, ridge: f64) -> Vec<Vec<f64>> {
        let mut normal = self.normal.clone();
        for i in 0..self.p {
            normal[i * self.p + i] += ridge * self.count + 1e-9;
        }
        solve(&mut normal, &self.moments, self.p, self.n)
    }
}

/// Solves A X = B for a symmetric positive A, of which the lower half is given, by Cholesky;
/// column by column of X.
fn solve(a: &mut [f64], b: &[f64], p: usize, n: usize) -> Vec<Vec<f64>> {
    for i in 0..p {
        for j in 0..=i {
            let (head, tail) = a.split_at(i * p);
            let other = if i == j {
                &tail[..j]
            } else {
                &head[j * p..j * p + j]
            };
            let sum: f64 = tail[..j].iter().zip(other).map(|(x, y)| x * y).sum();
            let value = a[i * p + j] - sum;
            a[i * p + j] = if i == j {
                value.max(1e-300).sqrt()
            } else {
                value / a[j * p + j]
            };
        }
    }
    let column = |c: usize| {
        let mut x: Vec<f64> = (0..p).map(|i| b[i * n + c]).collect();
        for i in 0..p {
            let sum: f64 = (0..i).map(|j| a[i * p + j] * x[j]).sum();
            x[i] = (x[i] - sum) / a[i * p + i];
        }
        for i in (0..p).rev() {
            let sum: f64 = (i + 1..p).map(|j| a[j * p + i] * x[j]).sum();
            x[i] = (x[i] - sum) / a[i * p + i];
        }
        x
    };
    (0..n).map(column).collect()
}
