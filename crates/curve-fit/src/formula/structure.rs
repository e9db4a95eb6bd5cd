//! What a formula says about starting values: terms that share no parameters, places on a predictor, and
//! waves.

use super::derive::{Programs, depends, slope};
use super::inner::Inner;
use fitzroy_device::cpu::RowProgram;
use fitzroy_graph::{Binary, Graph, NodeId, Op, Unary, tangent};

/// The curve as Σ c_k φ_k(x; β) + φ₀(x): what is known of each part.
pub(crate) struct Structure {
    /// Outputs: φ_k of each linear parameter, then r at c = 0; all divided by σ.
    pub(crate) columns: RowProgram,
    /// Linear parameters, by position among the free.
    pub(crate) linear: Vec<usize>,
    /// Terms with parameters that are not linear.
    pub(crate) terms: Vec<Term>,
}

impl Structure {
    /// True where a term has places or waves, which are searched for.
    pub(crate) fn is_searched(&self) -> bool {
        self.has_waves() || self.terms.iter().any(|t| !t.places.is_empty())
    }

    /// True where a term is one of waves.
    pub(crate) fn has_waves(&self) -> bool {
        self.terms.iter().any(|t| t.waves.is_some())
    }
}

/// Columns that share parameters which are not linear; no other column has these.
pub(crate) struct Term {
    /// Columns, by position in [`Structure::linear`].
    pub(crate) columns: Vec<usize>,
    /// Parameters that are not linear, by position among the free.
    pub(crate) nonlinear: Vec<usize>,
    /// Places of a predictor.
    pub(crate) places: Vec<Place>,
    /// Waves, where every column is one.
    pub(crate) waves: Option<Waves>,
}

/// What `κ x + Σ c_k θ_k + …` is compared with, or a function of: x = Σ coefficient θ_k + `constant` there.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Place {
    /// The predictor, by its number.
    pub(crate) predictor: usize,
    /// Coefficients of free parameters: (parameter, coefficient).
    pub(crate) coefficients: Vec<(usize, f64)>,
    /// The rest.
    pub(crate) constant: f64,
    /// True where the curve jumps, or bends, there, and no slope tells where.
    pub(crate) jumps: bool,
}

/// Columns E_k(x) sin(ω_k x + φ_k), or of cosines.
pub(crate) struct Waves {
    /// The predictor.
    pub(crate) predictor: usize,
    /// The parameter that the frequencies are a power of.
    pub(crate) frequency: usize,
    /// Outputs, for each column: the argument, its slope along the predictor, and E.
    pub(crate) program: RowProgram,
    /// Of each column: true for a cosine, and the parameter that shifts its phase.
    pub(crate) columns: Vec<(bool, Option<usize>)>,
    /// A wave in E.
    pub(crate) inner: Option<Inner>,
}

/// A node as `x κ + Σ c θ + constant`, with numbers for κ and c.
#[derive(Clone)]
struct Affine {
    x: Vec<f64>,
    theta: Vec<f64>,
    constant: f64,
}

impl Affine {
    fn combined(&self, other: &Affine, factor: f64) -> Affine {
        let sum = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a + factor * b).collect();
        Affine {
            x: sum(&self.x, &other.x),
            theta: sum(&self.theta, &other.theta),
            constant: self.constant + factor * other.constant,
        }
    }

    fn number(&self) -> Option<f64> {
        let all = self.x.iter().chain(&self.theta);
        all.clone().all(|c| *c == 0.0).then_some(self.constant)
    }
}

impl Programs {
    /// The structure of the curve; none where it has no linear parameters, or a part without one depends on
    /// parameters.
    pub(crate) fn structure(&self) -> Option<&Structure> {
        self.structure
            .get_or_init(|| self.find_structure())
            .as_ref()
    }

    fn find_structure(&self) -> Option<Structure> {
        let base = self.base?;
        let all = 0..self.n_free;
        let mut g = self.graph.clone();
        // Factors of 0 leave parameters in the graph, without effect.
        let moves = |g: &mut Graph, k: usize| {
            let d = slope(g, base, self.params[k]);
            !vanishes(g, d)
        };
        if all.clone().any(|k| moves(&mut g, k)) {
            return None;
        }
        let linear: Vec<usize> = all.clone().filter(|&k| self.linear[k]).collect();
        let columns: Vec<NodeId> = linear.iter().map(|&k| self.jacobian[k]).collect();
        let of_column = |&node: &NodeId| -> Vec<usize> {
            all.clone()
                .filter(|&k| depends(&self.graph, node, k))
                .collect()
        };
        let used: Vec<Vec<usize>> = columns.iter().map(of_column).collect();
        let terms = joined(&used);
        let terms = terms.into_iter().map(|(columns, nonlinear)| {
            let nodes: Vec<NodeId> = columns.iter().map(|&k| self.jacobian[linear[k]]).collect();
            Term {
                places: self.places(&nodes),
                waves: self.waves(&nodes, &nonlinear),
                columns,
                nonlinear,
            }
        });
        let terms = terms.collect();
        let outputs: Vec<NodeId> = columns.iter().copied().chain([base]).collect();
        let program = RowProgram::compile(&self.graph, self.rows, &outputs, &[]);
        Some(Structure {
            columns: program.with_engine(self.engine()),
            linear,
            terms,
        })
    }

    /// Nodes that are affine in predictors and parameters, with numbers for coefficients.
    fn affine(&self) -> Vec<Option<Affine>> {
        let g = &self.graph;
        let n_x = g.data_slots().len();
        let mut known: Vec<Option<Affine>> = Vec::with_capacity(g.nodes().len());
        for id in g.node_ids() {
            let node = g.node(id);
            let of = |k: usize| known[node.inputs[k].index()].as_ref();
            let blank = Affine {
                x: vec![0.0; n_x],
                theta: vec![0.0; self.n_free],
                constant: 0.0,
            };
            let made = match &node.op {
                Op::Const(bits) => Some(Affine {
                    constant: f64::from_bits(*bits),
                    ..blank
                }),
                Op::Param { offset } if *offset < self.n_free => {
                    let mut one = blank;
                    one.theta[*offset] = 1.0;
                    Some(one)
                }
                Op::Data(data) => {
                    let mut one = blank;
                    one.x[data.index()] = 1.0;
                    Some(one)
                }
                Op::Broadcast => of(0).cloned(),
                Op::Unary(Unary::Neg) => of(0).map(|a| blank.combined(a, -1.0)),
                Op::Binary(op) => two(*op, of(0), of(1), &blank),
                _ => None,
            };
            known.push(made);
        }
        known
    }

    /// Places that `nodes` compare a predictor with: nodes that are affine in both, and what uses them is
    /// not.
    fn places(&self, nodes: &[NodeId]) -> Vec<Place> {
        let (g, affine) = (&self.graph, self.affine());
        let needed = seen(g, nodes);
        let n_predictors = g.data_slots().len() - 1 - usize::from(self.weight.is_some());
        let mut found: Vec<Place> = Vec::new();
        for id in g.node_ids().filter(|id| needed[id.index()]) {
            let node = g.node(id);
            let compares = matches!(node.op, Op::Binary(Binary::Lt | Binary::Le));
            let bends = matches!(
                node.op,
                Op::Binary(Binary::Min | Binary::Max) | Op::Unary(Unary::Abs)
            );
            let whole = affine[id.index()].is_some();
            let inputs: Vec<&Affine> = node
                .inputs
                .iter()
                .filter_map(|i| affine[i.index()].as_ref())
                .collect();
            let differences: Vec<Affine> = match (&inputs[..], node.inputs.len()) {
                ([a, b], 2) if compares || bends => vec![a.combined(b, -1.0)],
                _ if whole => continue,
                (all, _) => all.iter().map(|&a| a.clone()).collect(),
            };
            for a in differences {
                let mut along = (0..n_predictors).filter(|&c| a.x[c] != 0.0);
                let (Some(predictor), None) = (along.next(), along.next()) else {
                    continue;
                };
                let k = -1.0 / a.x[predictor];
                let theta = a.theta.iter().enumerate().filter(|(_, c)| **c != 0.0);
                let coefficients: Vec<(usize, f64)> = theta.map(|(p, c)| (p, k * c)).collect();
                let place = Place {
                    predictor,
                    coefficients,
                    constant: k * a.constant,
                    jumps: compares || bends,
                };
                if place.coefficients.is_empty() {
                    continue;
                }
                let same = |other: &&mut Place| {
                    other.predictor == predictor && other.coefficients == place.coefficients
                };
                match found.iter_mut().find(same) {
                    Some(known) => known.jumps |= compares || bends,
                    None => found.push(place),
                }
            }
        }
        found
    }

    /// What `nodes` are as waves, if each is one.
    fn waves(&self, nodes: &[NodeId], nonlinear: &[usize]) -> Option<Waves> {
        let mut g = self.graph.clone();
        let mut outputs = Vec::new();
        let mut columns = Vec::new();
        let mut shared: Option<(usize, usize)> = None;
        let mut inner = None;
        for &node in nodes {
            let (wave, envelope, beats) = factors(&mut g, node, self.n_free)?;
            let (argument, cosine) = match (&g.node(wave).op, &g.node(wave).inputs[..]) {
                (Op::Unary(Unary::Sin), &[a]) => (a, false),
                (Op::Unary(Unary::Cos), &[a]) => (a, true),
                _ => return None,
            };
            let (predictor, data) = the_predictor(&g, argument)?;
            let one = g.lit(1.0);
            let one = g.broadcast(one, &[self.rows]);
            let rate = tangent(&mut g, argument, &[(data, one)]);
            if the_predictor(&g, rate).is_some() {
                return None;
            }
            let mut own = nonlinear.iter().copied().filter(|&k| depends(&g, rate, k));
            let (Some(frequency), None) = (own.next(), own.next()) else {
                return None;
            };
            if *shared.get_or_insert((predictor, frequency)) != (predictor, frequency) {
                return None;
            }
            let shifts = |k: usize| k != frequency && depends(&g, argument, k);
            let taken: Vec<usize> = columns.iter().filter_map(|(_, p): &(bool, _)| *p).collect();
            let mut phases = nonlinear.iter().copied().filter(|k| !taken.contains(k));
            let phase = phases.find(|&k| shifts(k)).filter(|&p| {
                // The phase is affine in it.
                let d = slope(&mut g, argument, self.params[p]);
                !depends(&g, d, p)
            });
            columns.push((cosine, phase));
            let own = self.inner(&mut g, envelope, (predictor, frequency), nonlinear);
            if beats && own.is_none() {
                return None;
            }
            inner = inner.or(own.map(|own| Inner {
                is_factor: beats,
                ..own
            }));
            let rate = g.broadcast(rate, &[self.rows]);
            outputs.extend([argument, rate, envelope]);
        }
        let (predictor, frequency) = shared?;
        let wide: Vec<NodeId> = outputs
            .iter()
            .map(|&o| g.broadcast(o, &[self.rows]))
            .collect();
        Some(Waves {
            predictor,
            frequency,
            program: RowProgram::compile(&g, self.rows, &wide, &[]),
            columns,
            inner,
        })
    }
}

/// What is compared or rounded in `node`: slopes do not tell what its parameters do there.
pub(super) fn steps(g: &Graph, node: NodeId) -> Vec<NodeId> {
    let needed = seen(g, &[node]);
    let steps = |op: &Op| match op {
        Op::Binary(op) => matches!(op, Binary::Lt | Binary::Le | Binary::Eq),
        op => *op == Op::Unary(Unary::Floor),
    };
    let ids = g.node_ids().filter(|id| needed[id.index()]);
    ids.filter(|&id| steps(&g.node(id).op)).collect()
}

/// What `nodes` are made of, but for the insides of functions that say their own slopes: these compare only to
/// choose among formulas of one smooth function.
fn seen(g: &Graph, nodes: &[NodeId]) -> Vec<bool> {
    let mut seen = vec![false; g.nodes().len()];
    let mut left: Vec<NodeId> = nodes.to_vec();
    while let Some(id) = left.pop() {
        if std::mem::replace(&mut seen[id.index()], true) {
            continue;
        }
        let node = g.node(id);
        match node.op {
            Op::WithSlopes => left.extend(node.inputs[1..].iter().step_by(2)),
            _ => left.extend(&node.inputs),
        }
    }
    seen
}

fn two(op: Binary, a: Option<&Affine>, b: Option<&Affine>, blank: &Affine) -> Option<Affine> {
    let (a, b) = (a?, b?);
    match op {
        Binary::Add => Some(a.combined(b, 1.0)),
        Binary::Sub => Some(a.combined(b, -1.0)),
        Binary::Mul => match (a.number(), b.number()) {
            (Some(f), _) => Some(blank.combined(b, f)),
            (_, Some(f)) => Some(blank.combined(a, f)),
            _ => None,
        },
        Binary::Div => b.number().map(|f| blank.combined(a, 1.0 / f)),
        _ => None,
    }
}

/// Columns that share parameters: of each set its columns and its parameters.
fn joined(used: &[Vec<usize>]) -> Vec<(Vec<usize>, Vec<usize>)> {
    let mut sets: Vec<(Vec<usize>, Vec<usize>)> = Vec::new();
    for (k, own) in used.iter().enumerate().filter(|(_, own)| !own.is_empty()) {
        let (mut columns, mut parameters) = (vec![k], own.clone());
        let meets = |set: &(Vec<usize>, Vec<usize>)| set.1.iter().any(|p| own.contains(p));
        for set in sets.extract_if(.., |set| meets(set)) {
            columns.extend(set.0);
            parameters.extend(set.1);
        }
        columns.sort_unstable();
        parameters.sort_unstable();
        parameters.dedup();
        sets.push((columns, parameters));
    }
    sets.sort();
    sets
}

/// True where `node` is 0 whatever the parameters, as long as they give finite numbers: factors of 0 stay in
/// graphs.
fn vanishes(g: &Graph, node: NodeId) -> bool {
    let mut zero = vec![false; node.index() + 1];
    for id in g.node_ids().take(node.index() + 1) {
        let of = g.node(id);
        let input = |k: usize| zero[of.inputs[k].index()];
        zero[id.index()] = g.constant(id) == Some(0.0)
            || match of.op {
                Op::Binary(Binary::Mul | Binary::MulZ) => input(0) || input(1),
                Op::Binary(Binary::Add | Binary::Sub) => input(0) && input(1),
                Op::Binary(Binary::Div) | Op::Broadcast | Op::Unary(Unary::Neg) => input(0),
                Op::Select => input(1) && input(2),
                _ => false,
            };
    }
    zero[node.index()]
}

/// The one predictor that `node` depends on, with its node.
pub(super) fn the_predictor(g: &Graph, node: NodeId) -> Option<(usize, NodeId)> {
    let needed = g.needed(&[node]);
    let mut found = None;
    for id in g.node_ids().filter(|id| needed[id.index()]) {
        if let Op::Data(data) = g.node(id).op {
            if found.is_some() {
                return None;
            }
            found = Some((data.index(), id));
        }
    }
    found
}

/// A factor of `node` that is a sine or cosine of parameters, the product of the others, and whether one of these is
/// such a wave, too.
fn factors(g: &mut Graph, node: NodeId, n_free: usize) -> Option<(NodeId, NodeId, bool)> {
    let mut beats = 0;
    let (mut wave, mut others, mut left) = (None, Vec::new(), vec![(node, false)]);
    while let Some((at, below)) = left.pop() {
        let of = g.node(at).clone();
        match (&of.op, &of.inputs[..]) {
            (Op::Binary(Binary::Mul), &[a, b]) => left.extend([(a, below), (b, below)]),
            (Op::Binary(Binary::Div), &[a, b]) => left.extend([(a, below), (b, !below)]),
            (Op::Unary(Unary::Sin | Unary::Cos), _)
                if !below && (0..n_free).any(|k| depends(g, at, k)) =>
            {
                beats += 1;
                match wave {
                    None => wave = Some(at),
                    Some(_) => others.push((at, below)),
                }
            }
            _ => others.push((at, below)),
        }
    }
    let dims = g.dims(node).to_vec();
    let one = g.lit(1.0);
    let mut product = g.broadcast(one, &dims);
    for (factor, below) in others {
        let op = if below { Binary::Div } else { Binary::Mul };
        let factor = g.broadcast(factor, &dims);
        product = g.binary(op, product, factor).ok()?;
    }
    Some((wave?, product, beats > 1))
}

#[cfg(test)]
mod tests {
    use crate::fit::{Options, Plan};
    use crate::formula::Formula;

    /// The terms of a formula: columns, parameters, places as (parameter, coefficient), and waves.
    #[test]
    #[allow(clippy::unwrap_used)]
    fn places_and_waves_are_found_in_formulas() {
        type Places<'p> = &'p [&'p [(usize, f64)]];
        let gaussian: Places<'_> = &[&[(1, 1.0)]];
        let doublet: Places<'_> = &[&[(1, 1.0), (2, -0.5)], &[(1, 1.0), (2, 0.5)]];
        for (text, searched, places, waves) in [
            ("a*exp(-(x-m)^2/(2*s^2))+c", true, gaussian, None),
            ("gaussian(x, a, m, s) + k*x", true, gaussian, None),
            ("let u = (2*x+m)/s; a/(1+u^2)", true, &[&[(0, -0.5)]], None),
            (
                "a/(1+(x-(p-d/2))^2)+b/(1+(x-(p+d/2))^2)",
                true,
                doublet,
                None,
            ),
            ("where(x < m, a, b)", true, &[&[(0, 1.0)]], None),
            ("b + c*max(x - m, 0)", true, &[&[(2, 1.0)]], None),
            ("a*sin(w*x+p)+c", true, &[], Some((1, vec![Some(2)]))),
            ("a*cos(2*pi*x/P)", true, &[], Some((1, vec![None]))),
            (
                "a*exp(-b*x)*sin(w*x+p)",
                true,
                &[],
                Some((2, vec![Some(3)])),
            ),
            (
                "a*cos(w*x)+b*sin(w*x)",
                true,
                &[],
                Some((1, vec![None, None])),
            ),
            ("a*exp(-b*x)+c", false, &[], None),
            ("a*sin(v*x)*sin(w*x)", true, &[], Some((2, vec![None]))),
            // No waves: not affine in x, of three frequencies, of a power.
            ("a*sin(w*x^2)", false, &[], None),
            ("a*sin(w*x)*sin(v*x)*sin(u*x)", false, &[], None),
            ("a*sin(w*x)^2", false, &[], None),
        ] {
            let formula = Formula::parse(text).unwrap();
            let roles = formula.roles(&["x"], &[]).unwrap();
            let plan = Plan::new(&formula, roles, false, &Options::default()).unwrap();
            let structure = plan.programs.structure().unwrap();
            assert_eq!(structure.is_searched(), searched, "{text}");
            let [term] = &structure.terms[..] else {
                panic!("one term: {text}");
            };
            let own: Vec<&[(usize, f64)]> =
                term.places.iter().map(|p| &p.coefficients[..]).collect();
            assert_eq!(own, places, "{text}");
            let found = term.waves.as_ref().map(|w| {
                let phases = w.columns.iter().map(|c| c.1).collect::<Vec<_>>();
                (w.frequency, phases)
            });
            assert_eq!(found, waves, "{text}");
        }
        // What decides a comparison is no linear parameter, and what has no term of its own no structure.
        let formula = Formula::parse("where(x < m, a, b)").unwrap();
        let roles = formula.roles(&["x"], &[]).unwrap();
        let plan = Plan::new(&formula, roles, false, &Options::default()).unwrap();
        assert_eq!(plan.programs.linear(), [false, true, true]);
        let formula = Formula::parse("sin(w*x) + a").unwrap();
        let roles = formula.roles(&["x"], &[]).unwrap();
        let plan = Plan::new(&formula, roles, false, &Options::default()).unwrap();
        assert!(plan.programs.structure().is_none());
    }
}
