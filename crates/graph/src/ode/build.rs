//! From holes and a rate to the node of an equation.

use super::{Method, Ode, Tolerance};
use crate::graph::{DimId, Graph, NodeId};
use crate::op::Op;
use crate::recurrence::Carried;
use crate::{Error, ErrorKind, Result};
use std::sync::Arc;

/// An equation that is being made.
#[derive(Clone, Debug)]
pub struct Equation {
    /// Of each state the hole, the state at the start, and the rate as what is `after`.
    pub states: Vec<Carried>,
    /// The hole that stands for the time, a number.
    pub time: NodeId,
    /// The first time: a number, or one for each lane.
    pub from: NodeId,
    /// The times asked for, ascending, over their own dim, perhaps with lanes.
    pub at: NodeId,
    /// Their dim.
    pub times: DimId,
    /// Sudden changes of the states.
    pub kicks: Option<Kicks>,
    /// How a step is made.
    pub method: Method,
    /// How exact the solution is.
    pub tolerance: Tolerance,
}

/// Sudden changes: at each time in `at`, something is added to states.
#[derive(Clone, Debug)]
pub struct Kicks {
    /// The dim of the kicks.
    pub dim: DimId,
    /// Their times, ascending, over `dim`, perhaps with lanes.
    pub at: NodeId,
    /// What they add to each state: over `dim` and dims of the state.
    pub by: Vec<NodeId>,
}

impl Graph {
    /// Solves an equation. Each state comes over its own dims, then the times, then the lanes: dims in
    /// which the elements of all states know nothing of each other. Times that cannot be reached
    /// within the tolerance are NaN.
    ///
    /// Here y′ = −θ y from y(0) = 2, at the times 1 and 3:
    ///
    /// ```
    /// use fitzroy_graph::ode::{Equation, Method, Tolerance};
    /// use fitzroy_graph::{Binary, Bindings, Carried, Graph, Unary, evaluate};
    /// let mut g = Graph::new();
    /// let times = g.dim("times", 2);
    /// let at = g.data("times", &[times]);
    /// let theta = g.param(0, &[]);
    /// let (y, time) = (g.hole(&[]), g.hole(&[]));
    /// let product = g.binary(Binary::Mul, theta, y)?;
    /// let rate = g.unary(Unary::Neg, product);
    /// let (start, from) = (g.lit(2.0), g.lit(0.0));
    /// let states = vec![Carried { before: y, start, after: rate }];
    /// let (kicks, method, tolerance) = (None, Method::Explicit, Tolerance::default());
    /// let y = g.solve(Equation { states, time, from, at, times, kicks, method, tolerance })?;
    /// let bindings = Bindings { data: vec![vec![1.0, 3.0]], indices: vec![] };
    /// let found = evaluate(&g, &bindings, &[0.5], &[y[0]]);
    /// assert!((found[0][1] - 2.0 * (-1.5f64).exp()).abs() < 1e-6);
    /// # Ok::<(), fitzroy_graph::Error>(())
    /// ```
    ///
    /// # Errors
    /// When a rate holds what no step can (as in [`Graph::recur`]), when dims do not fit, and when
    /// times depend on parameters.
    pub fn solve(&mut self, equation: Equation) -> Result<Vec<NodeId>> {
        let states = &equation.states;
        // The rate stands for a single step.
        let running = self.dim("now", 1);
        let one = self.lit(1.0);
        let mut holes: Vec<NodeId> = states.iter().map(|s| s.before).collect();
        let mut rates = self.afters(states, "the rate")?;
        let n_states = holes.len();
        holes.push(equation.time);
        rates.push(one);
        let of = "the rate of a differential equation";
        let (rate, reads) = self.step((running, false), (&holes, n_states), &rates, of)?;
        let lanes = rate.lanes.clone();
        let mut inputs = Vec::new();
        for (s, state) in states.iter().enumerate() {
            let dims = [&rate.states[s][..], &lanes].concat();
            inputs.push(self.broadcast(state.start, &dims));
        }
        inputs.push(self.laned(equation.from, &[], &lanes)?);
        inputs.push(self.laned(equation.at, &[equation.times], &lanes)?);
        if let Some(kicks) = &equation.kicks {
            inputs.push(self.laned(kicks.at, &[kicks.dim], &lanes)?);
            for (s, &by) in kicks.by.iter().enumerate() {
                let dims = [&rate.states[s][..], &[kicks.dim], &lanes].concat();
                inputs.push(self.broadcast(by, &dims));
            }
        }
        inputs.extend(reads);
        let tolerance = equation.tolerance;
        let ode = Arc::new(Ode {
            rate,
            times: equation.times,
            kicks: equation.kicks.as_ref().map(|k| k.dim),
            method: equation.method,
            relative: tolerance.relative.to_bits(),
            absolute: tolerance.absolute.to_bits(),
            most_steps: tolerance.most_steps,
        });
        let layout = ode.layout(self);
        let flat = self.dim("solution*", layout.result());
        let all = self.push(Op::Ode(Arc::clone(&ode)), inputs, vec![flat]);
        let asked = self.slice(all, flat, 0, layout.asked())?;
        let flat = self.dims(asked)[0];
        let (mut out, mut start) = (Vec::new(), 0);
        for s in 0..n_states {
            let dims = [&ode.rate.states[s][..], &[equation.times], &lanes].concat();
            let len = self.len_of(&dims);
            let part = self.slice(asked, flat, start, len)?;
            out.push(self.relabel(part, &dims));
            start += len;
        }
        Ok(out)
    }

    /// The steps that the solution at `node` took in each lane (−1 where it was given up), and how many
    /// it may take; none if the node is no solution.
    pub fn steps_taken(&mut self, node: NodeId) -> Option<(NodeId, usize)> {
        let Op::Ode(ode) = self.node(node).op.clone() else {
            return None;
        };
        let layout = ode.layout(self);
        let lane = self.dim("lane", layout.lanes);
        let record = self.dim("record", layout.record());
        let (flat, len) = (self.dims(node)[0], layout.record() * layout.lanes);
        let records = self.slice(node, flat, layout.asked(), len);
        let records = self.relabel(records.expect("a part of it"), &[lane, record]);
        let first = self.slice(records, record, 0, 1).expect("each has a first");
        Some((self.relabel(first, &[lane]), layout.most_steps))
    }

    /// Times over their own dims, and over lanes if they differ between them.
    fn laned(&mut self, times: NodeId, own: &[DimId], lanes: &[DimId]) -> Result<NodeId> {
        let has = self.dims(times).to_vec();
        let fits = |d: &DimId| own.contains(d) || lanes.contains(d);
        if self.varies(times) || !has.iter().all(fits) {
            let text = match self.varies(times) {
                true => "times must be known before the parameters are".into(),
                false => format!(
                    "the times have dims {}, in which the states depend on each other",
                    self.describe_dims(&has)
                ),
            };
            return Err(Error::new(ErrorKind::Dims, text));
        }
        let mut dims = own.to_vec();
        if has.iter().any(|d| lanes.contains(d)) {
            dims.extend(lanes);
        }
        Ok(self.broadcast(times, &dims))
    }
}
