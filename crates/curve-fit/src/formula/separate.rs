//! Curves of two predictors as sums of products of a function of each: `a*exp(-(x²+y²)/s) + b` is
//! a·e^(−x²/s)·e^(−y²/s) + b·1·1. Where x and y form a grid, functions are then computed once for
//! every column and row of it in place of once for every point.

use fitzroy_device::cpu::{GridTerm, Separated};
use fitzroy_graph::{Binary, DimId, Graph, NodeId, Op, Unary};
use std::collections::HashMap;

/// Functions of one predictor, and terms of a column, at most.
const MOST_FUNCTIONS: usize = 6;
const MOST_TERMS: usize = 6;

/// The predictor or predictors that a node depends on, as bits.
const X: u8 = 1;
const Y: u8 = 2;
const OTHER: u8 = 4;

/// A number times functions of x times functions of y.
#[derive(Clone)]
struct Term {
    number: NodeId,
    /// Factors, sorted.
    x: Vec<NodeId>,
    y: Vec<NodeId>,
}

/// The curve and its partials; `None` where they are not sums of such products.
pub(super) fn separate(
    graph: &Graph,
    rows: DimId,
    (curve, partials): (NodeId, &[NodeId]),
) -> Option<Separated> {
    let mut s = Separator {
        graph: graph.clone(),
        of: HashMap::new(),
        terms: HashMap::new(),
    };
    if s.depends(curve) != X | Y {
        return None;
    }
    let columns = [&curve].into_iter().chain(partials);
    let columns: Option<Vec<Vec<Term>>> = columns.map(|&node| s.merged(node)).collect();
    let mut program = Functions::default();
    let columns: Vec<Vec<GridTerm>> = columns?
        .into_iter()
        .map(|terms| terms.into_iter().map(|t| program.term(t)).collect())
        .collect();
    if program.x.len() > MOST_FUNCTIONS || program.y.len() > MOST_FUNCTIONS {
        return None;
    }
    let x: Vec<NodeId> = program.x.iter().map(|f| s.function(f, rows)).collect();
    let y: Vec<NodeId> = program.y.iter().map(|f| s.function(f, rows)).collect();
    let mut columns = columns.into_iter();
    Some(Separated {
        n_free: partials.len(),
        x,
        y,
        numbers: program.numbers,
        curve: columns.next()?,
        partials: columns.collect(),
        graph: s.graph,
        rows,
    })
}

/// The distinct functions and numbers of all terms.
#[derive(Default)]
struct Functions {
    x: Vec<Vec<NodeId>>,
    y: Vec<Vec<NodeId>>,
    numbers: Vec<NodeId>,
}

impl Functions {
    fn term(&mut self, term: Term) -> GridTerm {
        fn place<T: PartialEq>(all: &mut Vec<T>, one: T) -> usize {
            all.iter()
                .position(|other| *other == one)
                .unwrap_or_else(|| {
                    all.push(one);
                    all.len() - 1
                })
        }
        GridTerm {
            number: place(&mut self.numbers, term.number),
            x: place(&mut self.x, term.x),
            y: place(&mut self.y, term.y),
        }
    }
}

struct Separator {
    graph: Graph,
    of: HashMap<NodeId, u8>,
    terms: HashMap<NodeId, Option<Vec<Term>>>,
}

impl Separator {
    fn two(&mut self, op: Binary, a: NodeId, b: NodeId) -> NodeId {
        let made = self.graph.binary(op, a, b);
        made.expect("numbers and rows combine")
    }

    /// Which predictors `node` depends on.
    fn depends(&mut self, node: NodeId) -> u8 {
        if let Some(&known) = self.of.get(&node) {
            return known;
        }
        let at = self.graph.node(node).clone();
        let own = match at.op {
            Op::Data(id) => match id.index() {
                0 => X,
                1 => Y,
                _ => OTHER,
            },
            _ => at.inputs.iter().fold(0, |all, &i| all | self.depends(i)),
        };
        self.of.insert(node, own);
        own
    }

    /// The product of `factors`, 1 where there are none.
    fn function(&mut self, factors: &[NodeId], rows: DimId) -> NodeId {
        let one = self.graph.lit(1.0);
        let one = self.graph.broadcast(one, &[rows]);
        factors
            .iter()
            .fold(one, |all, &f| self.two(Binary::Mul, all, f))
    }

    /// The terms of `node`, those of the same functions as one; none for 0.
    fn merged(&mut self, node: NodeId) -> Option<Vec<Term>> {
        let mut merged: Vec<Term> = Vec::new();
        for term in self.terms(node)? {
            match merged.iter_mut().find(|t| t.x == term.x && t.y == term.y) {
                Some(t) => t.number = self.two(Binary::Add, t.number, term.number),
                None => merged.push(term),
            }
        }
        merged.retain(|t| self.graph.constant(t.number) != Some(0.0));
        (merged.len() <= MOST_TERMS).then_some(merged)
    }

    fn terms(&mut self, node: NodeId) -> Option<Vec<Term>> {
        if let Some(known) = self.terms.get(&node) {
            return known.clone();
        }
        let found = self.find(node);
        self.terms.insert(node, found.clone());
        found
    }

    fn find(&mut self, node: NodeId) -> Option<Vec<Term>> {
        let one = self.graph.lit(1.0);
        let at = self.graph.node(node).clone();
        if at.dims.is_empty() {
            return Some(vec![Term::number(node)]);
        }
        match (&at.op, &at.inputs[..]) {
            (Op::Broadcast, &[core]) => self.terms(core),
            (Op::Unary(Unary::Neg), &[a]) => self.scaled(a, -1.0),
            (Op::Binary(Binary::Mul), &[a, b]) => {
                let (a, b) = (self.terms(a)?, self.terms(b)?);
                // Products of sums are not multiplied out: what cancels in them would be lost.
                if a.len() > 1 && b.len() > 1 {
                    return self.alone(node);
                }
                let pairs = a.iter().flat_map(|s| b.iter().map(move |t| (s, t)));
                Some(pairs.map(|(s, t)| self.product(s, t)).collect())
            }
            (Op::Binary(Binary::Div), &[a, b]) if self.depends(b) == 0 => {
                let [divisor] = &self.terms(b)?[..] else {
                    return None;
                };
                let over = self.two(Binary::Div, one, divisor.number);
                let all = self.terms(a)?;
                Some(all.iter().map(|t| self.times(t, over)).collect())
            }
            _ if self.depends(node) != X | Y => self.alone(node),
            (Op::Binary(op @ (Binary::Add | Binary::Sub)), &[a, b]) => {
                let mut all = self.terms(a)?;
                let sign = if *op == Binary::Sub { -1.0 } else { 1.0 };
                all.extend(self.scaled(b, sign)?);
                Some(all)
            }
            (Op::Unary(Unary::Exp), &[a]) => self.exponential(a),
            _ => None,
        }
    }

    /// `node` as one function, where it is one of a single predictor.
    fn alone(&mut self, node: NodeId) -> Option<Vec<Term>> {
        let mut term = Term::number(self.graph.lit(1.0));
        match self.depends(node) {
            X => term.x.push(node),
            Y => term.y.push(node),
            _ => return None,
        }
        Some(vec![term])
    }

    fn times(&mut self, term: &Term, number: NodeId) -> Term {
        Term {
            number: self.two(Binary::Mul, term.number, number),
            ..term.clone()
        }
    }

    fn scaled(&mut self, node: NodeId, by: f64) -> Option<Vec<Term>> {
        let by = self.graph.lit(by);
        let all = self.terms(node)?;
        Some(all.iter().map(|t| self.times(t, by)).collect())
    }

    fn product(&mut self, a: &Term, b: &Term) -> Term {
        let both = |a: &[NodeId], b: &[NodeId]| {
            let mut all = [a, b].concat();
            all.sort_unstable();
            all
        };
        Term {
            number: self.two(Binary::Mul, a.number, b.number),
            x: both(&a.x, &b.x),
            y: both(&a.y, &b.y),
        }
    }

    /// e^(u + v) = e^u · e^v, u of x alone and v of y alone.
    fn exponential(&mut self, of: NodeId) -> Option<Vec<Term>> {
        let mut sums: [Option<NodeId>; 3] = [None; 3];
        for term in self.terms(of)? {
            let (which, factors) = match (&term.x[..], &term.y[..]) {
                ([], []) => (0, &[][..]),
                (x, []) => (1, x),
                ([], y) => (2, y),
                _ => return None,
            };
            let product = factors
                .iter()
                .fold(term.number, |all, &f| self.two(Binary::Mul, all, f));
            sums[which] = Some(match sums[which] {
                Some(sum) => self.two(Binary::Add, sum, product),
                None => product,
            });
        }
        let [number, x, y] = sums.map(|sum| sum.map(|s| self.graph.unary(Unary::Exp, s)));
        Some(vec![Term {
            number: number.unwrap_or_else(|| self.graph.lit(1.0)),
            x: x.into_iter().collect(),
            y: y.into_iter().collect(),
        }])
    }
}

impl Term {
    fn number(number: NodeId) -> Term {
        Term {
            number,
            x: Vec::new(),
            y: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Formula;
    use crate::fit::{Options, Plan};
    use fitzroy_device::cpu::{Engine, GridProgram};

    fn plan(text: &str, weighted: bool) -> Plan {
        let formula = Formula::parse(text).expect(text);
        let roles = formula.roles(&["x", "y"], &[]).expect(text);
        Plan::new(&formula, roles, weighted, &Options::default()).expect(text)
    }

    const SPOT: &str = "a*exp(-((x-x0)^2+(y-y0)^2)/(2*s^2))+c";

    #[test]
    fn sums_over_a_grid_are_those_of_the_pass() {
        let formulas = [
            SPOT,
            "a*exp(-(x-x0)^2/(2*s^2)-(y-y0)^2/(2*t^2))+c0+c1*x+c2*y",
            "a*sin(w*x+p)*exp(-b*y)",
            "(a+b*x)*(c+y)/(1+d^2)",
            "a*exp(k+b*x)*exp(-c*y)/s - x*y",
            "a/(1+(x-x0)^2)*log(y+b)",
        ];
        let (shape, n) = ([5, 6], 30);
        for text in formulas {
            let plan = plan(text, false);
            let programs = &plan.programs;
            let separated = programs.separated().expect(text);
            let p = programs.n_free();
            let grid = GridProgram::new(separated, shape, Engine::Interpreter);
            let mut workspace = grid.workspace();
            let mut columns = vec![vec![0.0; 8 * n]; 3];
            for lane in 0..8 {
                let lane_shift = 0.05 * lane as f64;
                for k in 0..n {
                    let (i, j) = (k % 5, k / 5);
                    let x = 0.4 * i as f64 + lane_shift;
                    let (y, z) = (0.3 * j as f64 - lane_shift, (k as f64).sin());
                    let numbers = [x, y, z];
                    for (column, number) in columns.iter_mut().zip(numbers) {
                        column[8 * k + lane] = number;
                    }
                    let points = workspace.points();
                    points[i][lane] = x;
                    points[5 + j][lane] = y;
                    points[11 + k][lane] = z;
                }
            }
            let mut params = vec![[0.0; 8]; 2 * p + 1];
            for (k, line) in params[..p].iter_mut().enumerate() {
                *line = std::array::from_fn(|lane| 1.1 + 0.1 * k as f64 + 0.03 * lane as f64);
            }
            workspace.params().copy_from_slice(&params[..p]);
            let n_sums = (p + 1) * (p + 2) / 2;
            let (mut got, mut want) = (vec![[0.0; 8]; n_sums], vec![[0.0; 8]; n_sums]);
            grid.accumulate(&mut workspace, &mut got);
            let views: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
            let mut pass = programs.pass.workspace();
            programs
                .pass
                .accumulate_eight(&mut pass, &params, &views, &[n; 8], &mut want);
            let at = |a: usize, b: usize| a * (p + 1) + b - a * (a + 1) / 2;
            for (a, b) in (0..=p).flat_map(|a| (a..=p).map(move |b| (a, b))) {
                for lane in 0..8 {
                    let size = (want[at(a, a)][lane] * want[at(b, b)][lane]).sqrt();
                    let error = (got[at(a, b)][lane] - want[at(a, b)][lane]).abs();
                    assert!(
                        error <= 1e-13 * size,
                        "{text}: sum {a} {b}: {error} of {size}"
                    );
                }
            }
        }
    }

    #[test]
    fn what_is_no_product_of_functions_of_one_predictor_is_left() {
        for text in [
            "a*exp(-x*y)",
            "a*sqrt(x^2+y^2)+b",
            "a*exp(-(x-x0)^2)+b",
            "(a+x+y)*(b+x+y)",
            "a*sin(x+b*y)",
        ] {
            assert!(plan(text, false).programs.separated().is_none(), "{text}");
        }
        assert!(
            plan(SPOT, true).programs.separated().is_none(),
            "with errors"
        );
    }
}
