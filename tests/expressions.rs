//! Expressions put together by chance, against an evaluator of this test that knows neither graphs
//! nor rewrites: the value of every one, its slopes, and the same bits on every level.
#![allow(clippy::unwrap_used)]

mod support;

use fitzroy::data::Dataset;
use fitzroy::model::joint::Joint;
use fitzroy::rng::{Purpose, Rng};
use fitzroy_device::lanes::Level;
use std::cell::Cell;
use support::kernels::{Case as Kernel, assert_same_bits};
use support::{Density, joint, near};

/// Models made by chance; each has its number as seed.
const MODELS: u32 = 300;
/// The first of them, whose kernels are compiled and run.
const KERNELS: u32 = 40;

/// Dims are named by numbers: 0 rows, 1 groups, 2 items, and 3, 4, 5 the same less their first.
const DIMS: [&str; 3] = ["obs", "groups", "items"];

/// An array with its dims, row-major.
#[derive(Clone, Debug)]
struct Array {
    dims: Vec<usize>,
    values: Vec<f64>,
}

enum E {
    Number(f64),
    Name(usize),
    /// A function of one argument by its text, `#` standing for the argument.
    Map(&'static str, fn(f64) -> f64, Box<E>),
    /// Of two, `#` and `@`.
    Two(&'static str, fn(f64, f64) -> f64, Box<E>, Box<E>),
    Where(Box<[E; 4]>),
    Reduce(&'static str, Box<E>, usize),
    Cumsum(Box<E>, usize),
    Softmax(Box<E>, usize),
    /// A name looked up by the columns of its dims.
    Look(usize),
    /// A name less its first element (true) or its last.
    Slice(usize, bool),
    Element(usize, usize),
    Product(usize, usize),
}

/// What names stand for, and how long dims are.
struct World {
    sizes: [usize; 3],
    group: Vec<usize>,
    item: Vec<usize>,
    names: Vec<String>,
    /// Set when something was computed whose last digits decide: a near tie, or a large number.
    delicate: Cell<bool>,
}

/// How near two numbers may be where the larger is asked for, and how large numbers may get.
const TIE: f64 = 1e-6;
const LARGE: f64 = 30.0;

impl World {
    fn look(&self, near_tie: bool) {
        if near_tie {
            self.delicate.set(true);
        }
    }

    fn tie(&self, x: &[f64]) {
        let mut sorted = x.to_vec();
        sorted.sort_by(f64::total_cmp);
        self.look(sorted.windows(2).any(|p| p[1] - p[0] < TIE));
    }

    fn size(&self, dim: usize) -> usize {
        if dim < 3 {
            self.sizes[dim]
        } else {
            self.sizes[dim - 3] - 1
        }
    }

    fn len(&self, dims: &[usize]) -> usize {
        dims.iter().map(|&d| self.size(d)).product()
    }

    /// Position in an array over `dims` of element `k` of one over `wide`.
    fn project(&self, wide: &[usize], dims: &[usize], mut k: usize) -> usize {
        let mut at = [0; 6];
        for &d in wide.iter().rev() {
            at[d] = k % self.size(d);
            k /= self.size(d);
        }
        dims.iter().fold(0, |p, &d| p * self.size(d) + at[d])
    }

    fn zip(&self, parts: &[Array], f: impl Fn(&[f64]) -> f64) -> Array {
        let widest = parts.iter().max_by_key(|a| a.dims.len()).unwrap();
        let first = parts.iter().find(|a| a.dims.len() == widest.dims.len());
        let dims = first.unwrap().dims.clone();
        let values = (0..self.len(&dims)).map(|k| {
            let own = parts
                .iter()
                .map(|a| a.values[self.project(&dims, &a.dims, k)]);
            f(&own.collect::<Vec<_>>())
        });
        Array {
            values: values.collect(),
            dims,
        }
    }

    /// Splits an array into the lines along `axis`: (elements of each line, dims that are left).
    fn lines(&self, a: &Array, axis: usize) -> (Vec<Vec<usize>>, Vec<usize>) {
        let rest: Vec<usize> = a.dims.iter().copied().filter(|&d| d != axis).collect();
        let mut lines = vec![Vec::new(); self.len(&rest)];
        for k in 0..a.values.len() {
            lines[self.project(&a.dims, &rest, k)].push(k);
        }
        (lines, rest)
    }

    fn along(&self, a: &Array, axis: usize, f: impl Fn(&[f64]) -> Vec<f64>) -> Array {
        let mut out = a.clone();
        for line in self.lines(a, axis).0 {
            let x: Vec<f64> = line.iter().map(|&k| a.values[k]).collect();
            line.iter().zip(f(&x)).for_each(|(&k, y)| out.values[k] = y);
        }
        out
    }

    fn eval(&self, e: &E, known: &[Array]) -> Array {
        let out = self.eval_one(e, known);
        self.look(out.values.iter().any(|v| v.is_nan() || v.abs() >= LARGE));
        out
    }

    fn eval_one(&self, e: &E, known: &[Array]) -> Array {
        let sub = |e: &E| self.eval(e, known);
        match e {
            E::Number(x) => Array {
                dims: vec![],
                values: vec![*x],
            },
            E::Name(k) => known[*k].clone(),
            E::Map(_, f, a) => self.zip(&[sub(a)], |x| f(x[0])),
            E::Two(form, f, a, b) => self.zip(&[sub(a), sub(b)], |x| {
                let compares = ["min", "max", "<", "="].iter().any(|c| form.contains(c));
                self.look(compares && (x[0] - x[1]).abs() < TIE);
                f(x[0], x[1])
            }),
            E::Where(parts) => {
                let parts: Vec<Array> = parts.iter().map(sub).collect();
                self.zip(&parts, |x| {
                    self.look((x[0] - x[1]).abs() < TIE);
                    if x[0] < x[1] { x[2] } else { x[3] }
                })
            }
            E::Reduce(name, a, axis) => {
                let a = sub(a);
                let (lines, dims) = self.lines(&a, *axis);
                let one = |line: &Vec<usize>| {
                    let x: Vec<f64> = line.iter().map(|&k| a.values[k]).collect();
                    let (n, sum) = (x.len() as f64, x.iter().sum::<f64>());
                    if ["min", "max"].contains(name) {
                        self.tie(&x);
                    }
                    let square = x.iter().map(|v| (v - sum / n) * (v - sum / n)).sum::<f64>();
                    match *name {
                        "sum" => sum,
                        "mean" => sum / n,
                        "var" => square / (n - 1.0),
                        "max" => x.iter().copied().fold(f64::NEG_INFINITY, f64::max),
                        "min" => x.iter().copied().fold(f64::INFINITY, f64::min),
                        _ => x.iter().map(|v| v.exp()).sum::<f64>().ln(),
                    }
                };
                Array {
                    values: lines.iter().map(one).collect(),
                    dims,
                }
            }
            E::Cumsum(a, axis) => self.along(&sub(a), *axis, |x| {
                x.iter()
                    .scan(0.0, |s, v| {
                        *s += v;
                        Some(*s)
                    })
                    .collect()
            }),
            E::Softmax(a, axis) => self.along(&sub(a), *axis, |x| {
                let sum: f64 = x.iter().map(|v| v.exp()).sum();
                x.iter().map(|v| v.exp() / sum).collect()
            }),
            E::Look(k) => {
                let a = &known[*k];
                let row = |r: usize| {
                    let at = a.dims.iter().fold(0, |p, &d| {
                        let codes = if d == 1 { &self.group } else { &self.item };
                        p * self.sizes[d] + codes[r]
                    });
                    a.values[at]
                };
                Array {
                    dims: vec![0],
                    values: (0..self.sizes[0]).map(row).collect(),
                }
            }
            E::Slice(k, tail) => {
                let a = &known[*k];
                let n = a.values.len();
                let range = if *tail { 1..n } else { 0..n - 1 };
                Array {
                    dims: vec![a.dims[0] + 3],
                    values: a.values[range].to_vec(),
                }
            }
            E::Element(k, at) => Array {
                dims: vec![],
                values: vec![known[*k].values[*at]],
            },
            E::Product(a, b) => {
                let (a, b) = (&known[*a], &known[*b]);
                let n = b.values.len();
                let row = |row: &[f64]| row.iter().zip(&b.values).map(|(x, y)| x * y).sum();
                Array {
                    dims: a.dims[..1].to_vec(),
                    values: a.values.chunks(n).map(row).collect(),
                }
            }
        }
    }

    fn text(&self, e: &E, known: &[Array]) -> String {
        let sub = |e: &E| self.text(e, known);
        let fill = |form: &str, a: String, b: String| {
            let parts: Vec<String> = form.split('#').map(|p| p.replace('@', &b)).collect();
            parts.join(&a)
        };
        match e {
            E::Number(x) if *x < 0.0 => format!("({x})"),
            E::Number(x) => format!("{x}"),
            E::Name(k) => self.names[*k].clone(),
            E::Map(form, _, a) => fill(form, sub(a), String::new()),
            E::Two(form, _, a, b) => fill(form, sub(a), sub(b)),
            E::Where(p) => {
                let p: Vec<String> = p.iter().map(sub).collect();
                format!("where({} < {}, {}, {})", p[0], p[1], p[2], p[3])
            }
            E::Reduce(name, a, axis) => format!("{name}({}, axis={})", sub(a), DIMS[axis % 3]),
            E::Cumsum(a, axis) => format!("cumsum({}, axis={})", sub(a), DIMS[*axis]),
            E::Softmax(a, axis) => format!("softmax({}, axis={})", sub(a), DIMS[*axis]),
            E::Look(k) => {
                let columns = known[*k].dims.iter();
                let columns: Vec<&str> = columns
                    .map(|&d| if d == 1 { "group" } else { "item" })
                    .collect();
                format!("{}[{}]", self.names[*k], columns.join(", "))
            }
            E::Slice(k, true) => format!("{}[1:]", self.names[*k]),
            E::Slice(k, false) => format!("{}[:-1]", self.names[*k]),
            E::Element(k, at) => format!("{}[{at}]", self.names[*k]),
            E::Product(a, b) => format!("({} @ {})", self.names[*a], self.names[*b]),
        }
    }
}

type Map = (&'static str, fn(f64) -> f64);
type Two = (&'static str, fn(f64, f64) -> f64);

fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// With forms that the graph rewrites on purpose.
const MAPS: [Map; 38] = [
    ("(-#)", |x| -x),
    ("(-(-#))", |x| x),
    ("exp(#)", f64::exp),
    ("exp(-#)", |x| (-x).exp()),
    ("(1 / exp(#))", |x| (-x).exp()),
    ("log(exp(#))", |x| x),
    ("log(square(#) + 0.1)", |x| (x * x + 0.1).ln()),
    ("log(1 / (1 + #^2))", |x| -(1.0 + x * x).ln()),
    ("log1p(square(#))", |x| (x * x).ln_1p()),
    ("log2(0.5 + abs(#))", |x| (0.5 + x.abs()).log2()),
    ("expm1(#)", f64::exp_m1),
    ("sqrt(square(#) + 0.2)", |x| (x * x + 0.2).sqrt()),
    ("((square(#) + 0.2)^0.5)", |x| (x * x + 0.2).sqrt()),
    ("((square(#) + 0.2)^1.7)", |x| (x * x + 0.2).powf(1.7)),
    ("((1 + #^2)^-1)", |x| 1.0 / (1.0 + x * x)),
    ("((1 + #^2)^-2)", |x| (1.0 + x * x).powi(-2)),
    ("(#^3)", |x| x * x * x),
    ("(2^#)", f64::exp2),
    ("inv_logit(#)", logistic),
    ("log(inv_logit(#))", |x| -(-x).exp().ln_1p()),
    ("log(1 - inv_logit(#))", |x| -x.exp().ln_1p()),
    ("log1p(-inv_logit(#))", |x| -x.exp().ln_1p()),
    ("logit(inv_logit(#))", |x| x),
    ("softplus(#)", |x| x.exp().ln_1p()),
    ("tanh(#)", f64::tanh),
    ("abs(#)", f64::abs),
    ("sin(#)", f64::sin),
    ("cos(2 * #)", |x| (2.0 * x).cos()),
    ("atan(#)", f64::atan),
    ("erf(#)", libm::erf),
    ("log_ndtr(#)", |x| (0.5 * libm::erfc(-x / 2f64.sqrt())).ln()),
    ("lgamma(0.5 + square(#))", |x| libm::lgamma(0.5 + x * x)),
    ("clip(#, -0.6, 0.9)", |x| x.clamp(-0.6, 0.9)),
    ("(0 - #)", |x| -x),
    ("asinh(#)", f64::asinh),
    ("ndtr(#)", |x| 0.5 * libm::erfc(-x / 2f64.sqrt())),
    ("probit(0.5 + 0.1 * tanh(#))", |x| {
        fitzroy_graph::special::ndtri(0.5 + 0.1 * x.tanh())
    }),
    ("log1m_exp(-0.1 - #^2)", |x| {
        (1.0 - (-0.1 - x * x).exp()).ln()
    }),
];

fn truth(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

const TWOS: [Two; 19] = [
    ("(# + @)", |a, b| a + b),
    ("(# - @)", |a, b| a - b),
    ("(# * @)", |a, b| a * b),
    ("(# * @)", |a, b| a * b),
    ("(# * @)", |a, b| a * b),
    ("(# / (0.7 + @^2))", |a, b| a / (0.7 + b * b)),
    ("(# / exp(@))", |a, b| a * (-b).exp()),
    ("(# - (-@))", |a, b| a + b),
    ("(# + -@)", |a, b| a - b),
    ("min(#, @)", f64::min),
    ("max(#, @)", f64::max),
    ("(exp(#)^@)", |a, b| (a * b).exp()),
    ("log_sum_exp(#, @)", |a, b| (a.exp() + b.exp()).ln()),
    ("atan2(#, 2 + @^2)", |a, b| a.atan2(2.0 + b * b)),
    ("log_diff_exp(1 + #^2, -@^2)", |a, b| {
        ((1.0 + a * a).exp() - (-b * b).exp()).ln()
    }),
    ("(# < @)", |a, b| truth(a < b)),
    ("(# >= @)", |a, b| truth(a >= b)),
    ("(# == @)", |a, b| truth(a == b)),
    ("(# * @ + @ * #)", |a, b| 2.0 * a * b),
];

struct Maker<'a> {
    chance: Rng,
    world: &'a World,
}

impl Maker<'_> {
    fn below(&mut self, n: usize) -> usize {
        (self.chance.uniform() * n as f64) as usize
    }

    fn named(&mut self, known: &[Array], fits: impl Fn(&Array) -> bool) -> Option<usize> {
        let all: Vec<usize> = (0..known.len()).filter(|&k| fits(&known[k])).collect();
        (!all.is_empty()).then(|| all[self.below(all.len())])
    }

    /// Whether every dim of one is a dim of the other.
    fn combine(a: &[usize], b: &[usize]) -> bool {
        a.iter().all(|d| b.contains(d)) || b.iter().all(|d| a.contains(d))
    }

    /// An expression at most `depth` deep.
    fn expression(&mut self, known: &[Array], depth: u32) -> E {
        if depth == 0 {
            return self.leaf(known);
        }
        match self.below(16) {
            0..=4 => {
                let (form, f) = MAPS[self.below(MAPS.len())];
                E::Map(form, f, Box::new(self.expression(known, depth - 1)))
            }
            5..=9 => {
                let (form, f) = TWOS[self.below(TWOS.len())];
                let a = self.expression(known, depth - 1);
                let b = self.partner(known, depth - 1, &[&a]);
                E::Two(form, f, Box::new(a), Box::new(b))
            }
            10 => {
                let a = self.expression(known, depth - 1);
                let b = self.partner(known, depth - 1, &[&a]);
                let c = self.partner(known, depth - 1, &[&a, &b]);
                let d = self.partner(known, depth - 1, &[&a, &b, &c]);
                E::Where(Box::new([a, b, c, d]))
            }
            11..=13 => {
                let a = self.expression(known, depth - 1);
                let dims = self.world.eval(&a, known).dims;
                if dims.is_empty() {
                    return a;
                }
                let axis = dims[self.below(dims.len())];
                let names = ["sum", "sum", "mean", "max", "min", "log_sum_exp", "var"];
                let n = if self.world.size(axis) > 1 { 7 } else { 6 };
                E::Reduce(names[self.below(n)], Box::new(a), axis)
            }
            14 => {
                let a = self.expression(known, depth - 1);
                let dims = self.world.eval(&a, known).dims;
                match dims.iter().find(|&&d| d < 3) {
                    None => a,
                    Some(&axis) if self.below(2) == 0 => E::Cumsum(Box::new(a), axis),
                    Some(&axis) => E::Softmax(Box::new(a), axis),
                }
            }
            _ => self.leaf(known),
        }
    }

    /// An expression that combines with all of `others`.
    fn partner(&mut self, known: &[Array], depth: u32, others: &[&E]) -> E {
        let dims: Vec<Vec<usize>> = others
            .iter()
            .map(|e| self.world.eval(e, known).dims)
            .collect();
        for _ in 0..20 {
            let e = self.expression(known, depth);
            let own = self.world.eval(&e, known).dims;
            if dims.iter().all(|d| Self::combine(d, &own)) {
                return e;
            }
        }
        E::Number(0.5)
    }

    fn leaf(&mut self, known: &[Array]) -> E {
        let lookable = |a: &Array| !a.dims.is_empty() && a.dims.iter().all(|d| [1, 2].contains(d));
        let long =
            |a: &Array, w: &World| a.dims.len() == 1 && a.dims[0] < 3 && w.size(a.dims[0]) > 1;
        let world = self.world;
        match self.below(14) {
            0 => E::Number([0.0, 1.0, -1.0, 2.0, 0.3, -0.7][self.below(6)]),
            1..=4 => match self.named(known, lookable) {
                Some(k) => E::Look(k),
                None => E::Number(1.0),
            },
            5 => match self.named(known, |a| long(a, world)) {
                Some(k) => E::Slice(k, self.below(2) == 0),
                None => E::Number(2.0),
            },
            6 => match self.named(known, |a| a.dims.len() == 1 && a.dims[0] < 3) {
                Some(k) => E::Element(k, self.below(known[k].values.len())),
                None => E::Number(2.0),
            },
            7 => {
                let matrix = self.named(known, |a| a.dims.len() == 2);
                let inner = matrix.map(|m| known[m].dims[1]);
                let vector = self.named(known, |a| a.dims.len() == 1 && Some(a.dims[0]) == inner);
                match (matrix, vector) {
                    (Some(m), Some(v)) => E::Product(m, v),
                    _ => E::Number(1.0),
                }
            }
            _ => E::Name(self.below(known.len())),
        }
    }
}

/// Natural values of the parameters of [`HEAD`] at a point, and the data, in the order of names.
fn known(world: &World, data: &[Array], u: &[f64]) -> Vec<Array> {
    let [_, groups, items] = world.sizes;
    let mut at = 0;
    let mut next = |dims: &[usize], f: fn(f64) -> f64| {
        let n = world.len(dims);
        let values = u[at..at + n].iter().map(|&x| f(x)).collect();
        at += n;
        Array {
            dims: dims.to_vec(),
            values,
        }
    };
    let mut all = vec![
        next(&[], |x| x),
        next(&[], f64::exp),
        next(&[], logistic),
        next(&[1], |x| x),
        next(&[2], |x| 3.0 * logistic(x) - 1.0),
        next(&[1, 2], |x| x),
    ];
    assert_eq!(at, 3 + groups + items + groups * items);
    all.extend_from_slice(data);
    all
}

const HEAD: &str =
    "data x[obs], w[groups], table[obs, items], group[obs] in groups, item[obs] in items
a ~ Normal(0, 1)
p ~ HalfNormal(1)
q ~ Beta(2, 2)
g[groups] ~ Normal(0, 1)
h[items] ~ Uniform(-1, 2)
m[groups, items] ~ Normal(0, 1)
";

const NAMES: [&str; 9] = ["a", "p", "q", "g", "h", "m", "x", "w", "table"];

/// Statements, and what their names come to at a point; the last is the scalar that is added.
struct Case {
    text: String,
    world: World,
    data: Vec<Array>,
    lets: Vec<E>,
    dataset: Dataset,
}

impl Case {
    fn target(&self, u: &[f64]) -> f64 {
        let mut known = known(&self.world, &self.data, u);
        for e in &self.lets {
            known.push(self.world.eval(e, &known));
        }
        known.last().unwrap().values[0]
    }
}

fn case(seed: u32) -> (Case, Vec<f64>) {
    let mut chance = Rng::new(7, 1, seed, 0, Purpose::Test);
    let mut below = |n: usize| (chance.uniform() * n as f64) as usize;
    let sizes = [[2, 3, 8, 17, 33][below(5)], 1 + below(5), 1 + below(3)];
    let codes = |n: usize, below: &mut dyn FnMut(usize) -> usize| -> Vec<usize> {
        (0..sizes[0]).map(|_| below(n)).collect()
    };
    let (group, item) = (codes(sizes[1], &mut below), codes(sizes[2], &mut below));
    let mut world = World {
        sizes,
        group,
        item,
        names: NAMES.map(String::from).to_vec(),
        delicate: Cell::new(false),
    };
    let mut data = Vec::new();
    let mut dataset = Dataset::new();
    for (name, dims) in [("x", vec![0]), ("w", vec![1]), ("table", vec![0, 2])] {
        let values: Vec<f64> = (0..world.len(&dims)).map(|_| chance.normal()).collect();
        let shape: Vec<usize> = dims.iter().map(|&d| sizes[d]).collect();
        dataset.insert_real(name, &shape, values.clone());
        data.push(Array { dims, values });
    }
    let reals = |codes: &[usize]| codes.iter().map(|&c| c as f64).collect();
    dataset.insert_real("group", &[sizes[0]], reals(&world.group));
    dataset.insert_real("item", &[sizes[0]], reals(&world.item));
    let n = 3 + sizes[1] + sizes[2] + sizes[1] * sizes[2];
    let u: Vec<f64> = (0..n).map(|_| 2.0 * chance.uniform() - 1.0).collect();
    let mut values = known(&world, &data, &u);
    let mut lets = Vec::new();
    let mut text = format!(
        "dim groups = {}\ndim items = {}\n{HEAD}",
        sizes[1], sizes[2]
    );
    while lets.len() < 6 {
        let (e, value) = {
            let mut maker = Maker {
                chance: chance.clone(),
                world: &world,
            };
            let e = maker.expression(&values, 3);
            chance = maker.chance;
            world.delicate.set(false);
            let value = world.eval(&e, &values);
            (e, value)
        };
        if world.delicate.get() {
            continue;
        }
        let name = format!("t{}", lets.len());
        text += &format!("let {name} = {}\n", world.text(&e, &values));
        world.names.push(name);
        values.push(value);
        lets.push(e);
    }
    // What is added uses every `let`, each reduced to a number.
    let mut sum = E::Number(0.0);
    for k in values.len() - 6..values.len() {
        let mut e = E::Map("square(#)", |x| x * x, Box::new(E::Name(k)));
        for &axis in &values[k].dims {
            e = E::Reduce("sum", Box::new(e), axis);
        }
        sum = E::Two("(# + @)", |a, b| a + b, Box::new(sum), Box::new(e));
    }
    text += &format!("target += {}\n", world.text(&sum, &values));
    lets.push(sum);
    let case = Case {
        text,
        world,
        data,
        lets,
        dataset,
    };
    (case, u)
}

/// The log density less that of the same priors alone.
fn added(joint: &Joint, level: Level, u: &[f64], prior: f64) -> (f64, Vec<f64>, f64) {
    let mut density = Density::at(level, joint, &[]);
    let (value, gradient) = density.run(u);
    (value - prior, gradient, value)
}

/// Bound: 1e-9 of the magnitudes of the sum, for the value; 1e-5 for a slope against a central
/// difference of this test's own evaluator.
fn check(seed: u32) {
    let (case, u) = case(seed);
    let what = format!("expression {seed}\n{}", case.text);
    let whole = joint(&case.text, &case.dataset);
    let head = case.text.split_inclusive('\n').take(9).collect::<String>();
    let priors = joint(&head, &case.dataset);
    let mut prior = Density::new(&priors, &[]);
    let (prior_value, prior_slope) = prior.run(&u);
    let wanted = case.target(&u);
    let mut first: Option<Vec<u64>> = None;
    for level in Level::available() {
        let (value, gradient, total) = added(&whole, level, &u, prior_value);
        let scale = 1.0 + wanted.abs() + total.abs();
        near(value, wanted, scale, 1e-9, &what);
        let size = 1.0 + gradient.iter().map(|g| g.abs()).sum::<f64>() + wanted.abs();
        for k in 0..u.len() {
            let at = |d: f64| {
                let mut u = u.clone();
                u[k] += d;
                case.target(&u)
            };
            let slope = (at(1e-5) - at(-1e-5)) / 2e-5 + prior_slope[k];
            near(
                gradient[k],
                slope,
                size,
                1e-5,
                format!("slope {k} of {what}"),
            );
        }
        let bits = gradient
            .iter()
            .map(|g| (g + 0.0).to_bits())
            .chain([total.to_bits()]);
        let bits: Vec<u64> = bits.collect();
        assert_eq!(*first.get_or_insert_with(|| bits.clone()), bits, "{what}");
    }
}

#[test]
fn expressions_made_by_chance_have_the_values_and_slopes_they_should() {
    (0..MODELS).for_each(check);
}

/// Catches: memory of a kernel that is read where nothing was written, sums of groups without rows, places that
/// are written in another order than on the CPU.
#[test]
fn kernels_of_expressions_made_by_chance_have_the_bits_of_the_cpu() {
    let kernel = |seed: u32| {
        let case = case(seed).0;
        Kernel::centred(
            format!("expression {seed}\n{}", case.text),
            &joint(&case.text, &case.dataset),
        )
    };
    assert_same_bits(&(0..KERNELS).map(kernel).collect::<Vec<_>>(), false);
}

/// Found by chance: a whole-array operation that reads a constant repeated over its dims.
#[test]
fn sums_of_sums_of_quotients_compile() {
    let text = "dim groups = 4\ndim items = 3\nt[groups] ~ Normal(0, 1)\n\
                m[groups, items] ~ Normal(0, 1)\n\
                target += sum(sum(square(m / exp(t)), axis=groups), axis=items)\n";
    let joint = joint(text, &Dataset::new());
    let mut density = Density::new(&joint, &[]);
    let u: Vec<f64> = (0..16).map(|k| 0.1 * f64::from(k)).collect();
    let ((value, gradient), (wanted, slopes)) = (density.run(&u), density.reference(&u));
    near(value, wanted, 1.0 + wanted.abs(), 1e-12, text);
    for (g, w) in gradient.iter().zip(&slopes) {
        near(*g, *w, 1.0 + w.abs(), 1e-12, text);
    }
}

/// Found by chance: a condition that is known beforehand dropped the dims of the other branch.
#[test]
fn a_choice_has_the_dims_of_both_branches_whatever_the_condition() {
    for condition in ["1 < 2", "2 < 1"] {
        let text = format!(
            "dim groups = 4\na ~ Normal(0, 1)\nm[groups] ~ Normal(0, 1)\n\
             t = where({condition}, a, m)\n"
        );
        let joint = joint(&text, &Dataset::new());
        let graphs = joint.graphs(&[]);
        let recorded = graphs.recorded.iter().find(|r| r.name == "t").unwrap();
        assert_eq!(recorded.dims, ["groups"], "{condition}");
    }
}
