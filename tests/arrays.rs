//! Look-ups by computed positions, arrays that are joined, and names for what has none, against
//! loops written by hand, over random lengths, positions and points.
#![allow(clippy::unwrap_used)]

mod support;

use fitzroy::data::Dataset;
use fitzroy::model::Model;
use fitzroy::model::joint::{Coordinates, Joint};
use fitzroy::rng::{Purpose, Rng};
use support::kernels::{Case, assert_same_bits};
use support::{Density, everywhere, joint, near};

const TRIALS: u32 = 200;

/// All that is asked for is linear in the parameters, so each term says which of them it takes.
const TEXT: &str = "
data nk, nl, cut, at[n], by[n], table[n, r], order[n]
data w_at[n], w_both[n], w_table[n, r], w_cell[n, r], w_row[n, l], w_long[p], w_tall[q, l], w_wide[k, u], w_part[h]
dim k = nk
dim l = nl
a[k]    ~ Normal(0, 1)
m[k, l] ~ Normal(0, 1)
s       ~ Normal(0, 1)
target += sum(w_at * a[at + 0])
let twice = 2 * table
target += sum(w_table * a[twice / 2])
target += sum(w_both * m[at + 0, 0 + by])
target += sum(w_cell * m[table - 0, -1])
target += sum(w_row * m[at + 0])
target += sum(w_at * a[at + 0][order + 0])
let long[p] = concat(a, 3 * s, a[cut:], 7)
target += sum(w_long * long) + sum(positions(p) * long)
let tall[q, l] = concat(m, s, m[:cut], axis=k)
target += sum(w_tall * tall)
let wide[k, u] = concat(m, a, m[:, 1:], axis=l)
target += sum(w_wide * wide)
let part[h] = a[:cut]
target += sum(w_part * part)
";

/// A trial: its sizes, its data, and for the target the weights of the parameters and a constant.
struct Trial {
    rng: Rng,
    data: Dataset,
    n_rows: usize,
    n_columns: usize,
    weights: Vec<f64>,
    constant: f64,
}

impl Trial {
    fn below(&mut self, n: usize) -> usize {
        ((self.rng.uniform() * n as f64) as usize).min(n - 1)
    }

    fn places(&mut self, name: &str, shape: &[usize], n: usize) -> Vec<usize> {
        let len = shape.iter().product();
        let places: Vec<usize> = (0..len).map(|_| self.below(n)).collect();
        let numbers = places.iter().map(|&x| x as f64).collect();
        self.data.insert_real(name, shape, numbers);
        places
    }

    fn numbers(&mut self, name: &str, shape: &[usize]) -> Vec<f64> {
        let len = shape.iter().product();
        let numbers: Vec<f64> = (0..len).map(|_| self.rng.normal()).collect();
        self.data.insert_real(name, shape, numbers.clone());
        numbers
    }

    fn a(&self, i: usize) -> usize {
        i
    }

    fn m(&self, i: usize, j: usize) -> usize {
        self.n_rows + i * self.n_columns + j
    }

    fn s(&self) -> usize {
        self.n_rows * (1 + self.n_columns)
    }

    fn add(&mut self, weight: f64, parameter: usize) {
        self.weights[parameter] += weight;
    }

    fn look_ups(&mut self) {
        let (k, l) = (self.n_rows, self.n_columns);
        let (n, r) = (1 + self.below(6), 1 + self.below(4));
        let (at, by) = (self.places("at", &[n], k), self.places("by", &[n], l));
        let table = self.places("table", &[n, r], k);
        let order = self.places("order", &[n], n);
        let w = self.numbers("w_at", &[n]);
        for i in 0..n {
            self.add(w[i], self.a(at[i]));
            self.add(w[i], self.a(at[order[i]]));
        }
        let w = self.numbers("w_both", &[n]);
        (0..n).for_each(|i| self.add(w[i], self.m(at[i], by[i])));
        let (w, v) = (
            self.numbers("w_table", &[n, r]),
            self.numbers("w_cell", &[n, r]),
        );
        for c in 0..n * r {
            self.add(w[c], self.a(table[c]));
            self.add(v[c], self.m(table[c], l - 1));
        }
        let w = self.numbers("w_row", &[n, l]);
        for c in 0..n * l {
            self.add(w[c], self.m(at[c / l], c % l));
        }
    }

    fn joins(&mut self, cut: usize) {
        let (k, l) = (self.n_rows, self.n_columns);
        // A parameter and how often it is taken, or a number.
        let mut long: Vec<(Option<usize>, f64)> = (0..k).map(|i| (Some(self.a(i)), 1.0)).collect();
        long.push((Some(self.s()), 3.0));
        long.extend((cut..k).map(|i| (Some(self.a(i)), 1.0)));
        long.push((None, 7.0));
        let w = self.numbers("w_long", &[long.len()]);
        for (i, (parameter, times)) in long.into_iter().enumerate() {
            let weight = (w[i] + i as f64) * times;
            match parameter {
                Some(parameter) => self.add(weight, parameter),
                None => self.constant += weight,
            }
        }
        let rows: Vec<Option<usize>> = (0..k)
            .map(Some)
            .chain([None])
            .chain((0..cut).map(Some))
            .collect();
        let w = self.numbers("w_tall", &[rows.len(), l]);
        for c in 0..w.len() {
            let parameter = rows[c / l].map_or(self.s(), |i| self.m(i, c % l));
            self.add(w[c], parameter);
        }
        let columns: Vec<Option<usize>> = (0..l)
            .map(Some)
            .chain([None])
            .chain((1..l).map(Some))
            .collect();
        let w = self.numbers("w_wide", &[k, columns.len()]);
        for c in 0..w.len() {
            let i = c / columns.len();
            let parameter = columns[c % columns.len()].map_or(self.a(i), |j| self.m(i, j));
            self.add(w[c], parameter);
        }
        let w = self.numbers("w_part", &[cut]);
        (0..cut).for_each(|i| self.add(w[i], self.a(i)));
    }

    fn new(seed: u32) -> Trial {
        let mut trial = Trial {
            rng: Rng::new(11, seed, 0, 0, Purpose::Test),
            data: Dataset::new(),
            n_rows: 0,
            n_columns: 0,
            weights: Vec::new(),
            constant: 0.0,
        };
        // A slice of nothing is refused, so cut lies inside and there are two columns.
        trial.n_rows = 2 + trial.below(5);
        trial.n_columns = 2 + trial.below(4);
        let (k, l) = (trial.n_rows, trial.n_columns);
        let cut = 1 + trial.below(k - 1);
        for (name, n) in [("nk", k), ("nl", l), ("cut", cut)] {
            trial.data.insert_real(name, &[], vec![n as f64]);
        }
        trial.weights = vec![0.0; k * (1 + l) + 1];
        trial.look_ups();
        trial.joins(cut);
        trial
    }
}

/// Catches: positions that count along another axis, pieces in another order or place, a joined
/// axis that takes the name of another of the same length.
#[test]
fn look_ups_and_joins_are_those_of_loops() {
    for seed in 0..TRIALS {
        let mut trial = Trial::new(seed);
        let joint = joint(TEXT, &trial.data);
        let mut density = Density::new(&joint, &everywhere(&joint, &Coordinates::Centred));
        let x: Vec<f64> = trial.weights.iter().map(|_| trial.rng.normal()).collect();
        let prior = |x: &f64| -0.5 * x * x - 0.5 * (2.0 * std::f64::consts::PI).ln();
        let terms = x.iter().zip(&trial.weights);
        let wanted = trial.constant + terms.map(|(x, w)| prior(x) + w * x).sum::<f64>();
        let (value, gradient) = density.run(&x);
        let (slow, slopes) = density.reference(&x);
        near(
            value,
            wanted,
            1.0 + wanted.abs(),
            1e-12,
            format!("seed {seed}"),
        );
        near(
            slow,
            wanted,
            1.0 + wanted.abs(),
            1e-12,
            format!("seed {seed}"),
        );
        for (i, w) in trial.weights.iter().enumerate() {
            let wanted = w - x[i];
            near(
                gradient[i],
                wanted,
                1.0 + wanted.abs(),
                1e-12,
                format!("seed {seed}, {i}"),
            );
            near(
                slopes[i],
                wanted,
                1.0 + wanted.abs(),
                1e-12,
                format!("seed {seed}, {i}"),
            );
        }
    }
}

/// Catches: a kernel that reads past the rows of a look-up, or leaves out elements that no row looks at.
#[test]
fn kernels_of_look_ups_and_joins_have_the_bits_of_the_cpu() {
    let kernel = |seed| Case::centred(format!("seed {seed}"), &joint(TEXT, &Trial::new(seed).data));
    assert_same_bits(&(0..20).map(kernel).collect::<Vec<_>>(), true);
}

/// Look-ups of the first elements, the last, some alone, none of the first, each with rows of its own number.
#[test]
fn kernels_add_up_the_slopes_of_the_elements_that_rows_look_at_alone() {
    let places: [&[usize]; 9] = [
        &[0, 1, 2],
        &[0],
        &[4],
        &[2, 3, 4],
        &[0, 0, 1, 1],
        &[0, 1, 2, 0, 1, 2],
        &[0, 1, 2, 3, 4, 0, 1],
        &[1, 1, 3],
        &[4, 0, 2],
    ];
    let kernel = |places: &[usize]| {
        let mut data = Dataset::new();
        let places: Vec<f64> = places.iter().map(|&p| p as f64).collect();
        data.insert_real("at", &[places.len()], places.clone());
        let text = "dim k = 5\ndata at[n] in k\na[k] ~ Normal(0, 1)\nb[k] ~ Normal(0, 1)\n\
                    target += -sum((a[at] - exp(b[at]))^2) + sum(a * cos(b))\n";
        Case::centred(format!("{places:?}"), &joint(text, &data))
    };
    assert_same_bits(&places.map(kernel), true);
}

/// Catches: a quotient of what is stored by another thread, before that has been stored.
#[test]
fn kernels_divide_what_was_found_of_an_array_when_it_is_there() {
    let text = "dim k = 5\na[k] ~ Normal(0, 1)\nlowest ~ Logistic(min(a), 1.08)\n\
                b ~ Logistic(max(a), 1.08)\ntarget += -(max(a) - b) / 3 + cumsum(a, axis=k)[2] / 7\n";
    let case = Case::centred("quotients".into(), &joint(text, &Dataset::new()));
    assert_same_bits(&[case], true);
}

fn error(text: &str, data: &[(&str, &[usize], &[f64])]) -> String {
    let mut set = Dataset::new();
    for (name, shape, values) in data {
        set.insert_real(name, shape, values.to_vec());
    }
    let model = match Model::parse(text) {
        Ok(model) => model,
        Err(e) => return e.to_string(),
    };
    let joint = model.bind(&set).and_then(|b| Joint::new(&model, b));
    joint.expect_err("it is wrong").to_string()
}

#[test]
fn what_is_no_position_says_so() {
    let text =
        "data y[n], k[n]\ndim g = 2\na[g] ~ Normal(0, 1)\nlet at = k - 1\ny ~ Normal(a[at], 1)";
    let message = |k: &[f64]| error(text, &[("y", &[3], &[0.0; 3]), ("k", &[3], k)]);
    let wanted = "`at` is 2 at its element 2, counted from 0, and is no position in dim `g` of `a`: \
                  whole numbers from 0 to 1";
    assert!(
        message(&[1.0, 2.0, 3.0]).contains(wanted),
        "{}",
        message(&[1.0, 2.0, 3.0])
    );
    assert!(message(&[1.0, 0.5, 2.0]).contains("is -0.5 at its element 1"));
    let text =
        "data y[n]\ndim g = 2\na[g] ~ Normal(0, 1)\nb[n] ~ Normal(0, 1)\ny ~ Normal(a[b + 0], 1)";
    let message = error(text, &[("y", &[3], &[0.0; 3])]);
    assert!(
        message.contains("depends on parameters and cannot be an index"),
        "{message}"
    );
}

#[test]
fn what_cannot_be_joined_says_why() {
    let head =
        "data y[n]\ndim k = 2\ndim l = 3\na[k, l] ~ Normal(0, 1)\nb[n, k, l] ~ Normal(0, 1)\n";
    let message = |expression: &str| {
        let text = format!("{head}y ~ Normal(sum({expression}), 1)");
        error(&text, &[("y", &[2], &[0.0; 2])])
    };
    let unnamed = message("concat(a, 1)");
    assert!(
        unnamed.contains("joined along one; name it: `concat(a, b, axis=dim)`"),
        "{unnamed}"
    );
    let deep = message("concat(a, b, axis=k)");
    assert!(
        deep.contains("beside [l=3] only one of them can be joined"),
        "{deep}"
    );
    let missing = message("concat(a, 1, axis=n)");
    assert!(missing.contains("no dim `n` here"), "{missing}");
}

/// A number of the data that is called as a dim is its size, whatever the largest position.
#[test]
fn a_number_called_as_a_dim_is_its_size() {
    let text = "data y[n], g[n] in groups from 1\na[groups] ~ Normal(0, 1)\ny ~ Normal(a[g], 1)";
    let mut data = Dataset::new();
    data.insert_real("y", &[2], vec![0.5, 1.0]);
    data.insert_real("g", &[2], vec![1.0, 3.0]);
    assert_eq!(joint(text, &data).n_params(), 3);
    data.insert_real("groups", &[], vec![5.0]);
    assert_eq!(joint(text, &data).n_params(), 5);
    let text = "data y[n], k[n]\ndim top = max(k) + 1\ndim all = sum(k)\ndim low = min(k)\n\
                a[top] ~ Normal(0, 1)\nb[all] ~ Normal(0, 1)\nc[low] ~ Normal(0, 1)\ny ~ Normal(a[0], 1)";
    data.insert_real("k", &[2], vec![2.0, 4.0]);
    assert_eq!(joint(text, &data).n_params(), 5 + 6 + 2);
}
