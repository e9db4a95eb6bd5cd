//! Discrete parameters out of the density, and into the trace.

use super::super::build::Build;
use super::super::{Draw, Drawn, TermKind};
use super::coupling::{Piece, Split};
use super::weights::{Values, Weights};
use super::{Discrete, MOST_VALUES};
use crate::Result;
use crate::dist::Real;
use fitzroy_graph::{DimId, Expr as Value, NodeId};
use std::collections::HashMap;

/// Values up to which terms are computed one value after the other.
const FEW_VALUES: usize = 8;
/// The same where they cannot be computed for all values at once.
const SOME_VALUES: usize = 64;

/// Something that is added to the density and depends on discrete variables.
#[derive(Clone)]
pub(super) struct Factor {
    pub(super) node: NodeId,
    /// The term that it is; none for what is left of others.
    pub(super) term: Option<usize>,
    /// Combinations of values that have been summed over within each element.
    width: usize,
}

/// The part of a factor that depends on a variable, at all of the variable's values.
pub(super) struct Valued<'g> {
    pub(super) term: Option<usize>,
    pub(super) piece: Piece,
    pub(super) at_values: Weights<'g>,
    /// By elements of the variable.
    pub(super) sums: Weights<'g>,
}

impl<'g> Build<'_, 'g> {
    /// Sums all discrete parameters out of the density, and says how they are drawn. Where
    /// `only_priors`, data and potentials do not count.
    pub(in super::super) fn sum_out(&mut self, only_priors: bool) -> Result<()> {
        if self.discrete.is_empty() {
            return Ok(());
        }
        let mut factors = self.factors(only_priors);
        let mut left: Vec<usize> = (0..self.discrete.len()).collect();
        let mut draws = self.leaves(&mut left, &mut factors);
        while !left.is_empty() {
            let k = left.remove(self.next_of(&left));
            if let Some(why) = self.discrete[k].endless.clone() {
                return Err(why);
            }
            let depends = self.dependents_of(k);
            let prior = Some(self.discrete[k].term);
            let (mine, others): (Vec<Factor>, Vec<Factor>) = factors
                .into_iter()
                .partition(|f| depends[f.node.index()] || f.term == prior);
            factors = others;
            let (left_over, draw) = self.summed(k, mine)?;
            draws.push(draw);
            self.put_back(k, left_over, &mut factors);
        }
        self.place_draws(draws);
        Ok(())
    }

    pub(super) fn dependents_of(&self, k: usize) -> Vec<bool> {
        let holes: Vec<NodeId> = self.discrete[k].holes().collect();
        self.scope.with(|g| g.dependents(&holes))
    }

    /// Whatever is added to the density and depends on a discrete variable, taken out of its terms.
    fn factors(&mut self, only_priors: bool) -> Vec<Factor> {
        let holes = self.holes();
        let depends = self.scope.with(|g| g.dependents(&holes));
        let priors: Vec<usize> = self.discrete.iter().map(|d| d.term).collect();
        let nothing = self.scope.node(Value::lit(0.0));
        let mut factors = Vec::new();
        for (at, term) in self.terms.iter_mut().enumerate() {
            if !depends[term.node.index()] && !priors.contains(&at) {
                continue;
            }
            term.sum = nothing;
            self.absorbed.push(at);
            if only_priors && term.kind != TermKind::Prior {
                term.node = nothing;
                continue;
            }
            factors.push(Factor {
                node: term.node,
                term: Some(at),
                width: 1,
            });
        }
        let absorbed = &self.absorbed;
        self.normals.retain(|n| !absorbed.contains(&n.term));
        self.latents.retain(|l| !absorbed.contains(&l.term));
        factors
    }

    /// Which of the variables `left` is summed out next: the one with most elements, of those the
    /// last.
    fn next_of(&self, left: &[usize]) -> usize {
        let len = |k: usize| self.scope.with(|g| g.len_of(&self.discrete[k].dims));
        let best = (0..left.len()).max_by_key(|&at| len(left[at]));
        best.expect("some are left")
    }

    /// What is left of the factors of variable `k` after it has been summed out, and how it is drawn.
    fn summed(&mut self, k: usize, mine: Vec<Factor>) -> Result<(Vec<Factor>, Drawn)> {
        let z = self.discrete[k].clone();
        let (n, widest) = (
            self.scope.with(|g| g.len_of(&z.dims)),
            mine.iter().map(|f| f.width).max().unwrap_or(1),
        );
        let split: Option<Vec<Split>> = mine.iter().map(|f| self.split(&z, f.node)).collect();
        let combinations = u32::try_from(n).ok().and_then(|n| z.count.checked_pow(n));
        let (together, count) = match (&split, combinations) {
            (Some(_), _) => (false, z.count),
            (None, _) if z.before.is_some() => return Err(self.elements_meet(&z, &mine)),
            (None, Some(all)) if all.saturating_mul(widest) <= MOST_VALUES => (true, all),
            (None, _) => return Err(self.elements_meet(&z, &mine)),
        };
        let width = count.saturating_mul(widest);
        if width > MOST_VALUES {
            return Err(self.too_many_together(&z, count, widest));
        }
        let split = split.unwrap_or_else(|| mine.iter().map(|f| whole(f.node)).collect());
        let mut left_over = Vec::new();
        let mut pieces = Vec::new();
        for (factor, mut split) in mine.iter().zip(split) {
            // A prior of one value need not depend on it.
            if split.on.is_empty() {
                split = whole(factor.node);
            }
            let free = split.free.into_iter().map(|node| Factor {
                node,
                term: None,
                ..factor.clone()
            });
            left_over.extend(free);
            let alone = split.on.len() == 1;
            let term = factor.term.filter(|_| alone);
            pieces.extend(split.on.into_iter().map(|piece| (term, piece)));
        }
        if z.before.is_some() {
            let pieces: Vec<Piece> = pieces.into_iter().map(|(_, piece)| piece).collect();
            let (node, draw) = self.chain(k, &pieces)?;
            left_over.push(Factor {
                node,
                term: Some(z.term),
                width,
            });
            return Ok((left_over, draw));
        }
        let over = if together { &[][..] } else { &z.dims };
        let valued = self.valued(k, (pieces, over), together, count, width)?;
        let mut total = valued[0].sums.map(|x| x);
        for other in &valued[1..] {
            total = total.plus(&other.sums);
        }
        self.rows_of_terms(&z, over, &valued, &total);
        left_over.extend(valued.iter().filter_map(|one| {
            let node = self.scope.node(self.without_element(&z, one)?);
            let term = None;
            Some(Factor { node, term, width })
        }));
        left_over.push(Factor {
            node: self
                .scope
                .node(self.log_total(&total).broadcast(self.scope, over)),
            term: Some(z.term),
            width,
        });
        let draw = self.draw_of(&z, over, &total);
        Ok((left_over, draw))
    }

    /// `pieces` at all values of variable `k`.
    fn valued(
        &mut self,
        k: usize,
        (pieces, over): (Vec<(Option<usize>, Piece)>, &[DimId]),
        together: bool,
        count: usize,
        width: usize,
    ) -> Result<Vec<Valued<'g>>> {
        let z = self.discrete[k].clone();
        let dim = || {
            let what = if together { "combinations" } else { "values" };
            self.scope.dim(&format!("{what} of {}", z.name), count)
        };
        let nodes: Vec<NodeId> = pieces.iter().map(|(_, p)| p.node).collect();
        let first = match (together, width <= FEW_VALUES) {
            (true, _) => Values::Together(dim()),
            (false, true) => Values::Each,
            (false, false) => Values::Along(dim()),
        };
        let found = match self.at_values(k, &first, &nodes) {
            Ok(found) => found,
            Err(_) if !together && count <= SOME_VALUES => {
                let found = self.at_values(k, &Values::Each, &nodes);
                found.map_err(|node| self.cannot_widen(&z, node))?
            }
            Err(node) => return Err(self.cannot_widen(&z, node)),
        };
        let valued = pieces
            .into_iter()
            .zip(found)
            .map(|((term, piece), at_values)| Valued {
                sums: self.by_element(&z, &piece, over, &at_values),
                term,
                piece,
                at_values,
            });
        Ok(valued.collect())
    }

    /// Puts what is left after variable `k` was summed out to the factors or into the density.
    fn put_back(&mut self, k: usize, left_over: Vec<Factor>, factors: &mut Vec<Factor>) {
        let term = self.discrete[k].term;
        let holes = self.holes();
        let depends = self.scope.with(|g| g.dependents(&holes));
        let mut total = self.scope.expr(self.terms[term].sum);
        let nothing = self.scope.node(Value::lit(0.0));
        self.terms[term].node = nothing;
        for factor in left_over {
            if depends[factor.node.index()] {
                factors.push(Factor {
                    term: None,
                    ..factor
                });
                continue;
            }
            total = total + self.scope.expr(factor.node).sum_all();
            if factor.term == Some(term) {
                self.terms[term].node = factor.node;
            }
        }
        self.terms[term].sum = self.scope.node(total);
    }

    /// How variable `z` is drawn given its log weights.
    fn draw_of(&self, z: &Discrete, over: &[DimId], total: &Weights<'g>) -> Drawn {
        let name = z.name.text.clone();
        let (dims, shape) = self.dim_names(&name, &z.dims);
        let size = |d: DimId| self.scope.with(|g| g.size(d));
        let width = total.along.map_or(1, size);
        Drawn {
            name,
            dims,
            shape,
            observed: false,
            event_dims: z.dims.len() - over.len(),
            law: Draw::Weighted {
                low: z.low,
                count: z.count,
                arguments: total.parts.len(),
            },
            arguments: total.parts.iter().map(|&p| self.scope.node(p)).collect(),
            widths: vec![width; total.parts.len()],
            feeds: None,
            part: None,
        }
    }

    /// Gives each discrete variable its place behind all coordinates, and puts it where its values
    /// are read. `draws` are in the order in which the variables were summed out.
    fn place_draws(&mut self, draws: Vec<Drawn>) {
        let mut replaced = HashMap::new();
        let mut at = self.n_params + self.n_drawn;
        for mut draw in draws.into_iter().rev() {
            let z = self.discrete.iter().find(|d| d.name.text == draw.name);
            let z = z.expect("it is one of them").clone();
            let param = self.scope.node(self.scope.param(at, &z.dims));
            replaced.insert(z.hole, param);
            replaced.extend(self.values_before(&z, self.scope.expr(param)));
            draw.feeds = Some(at);
            at += self.scope.with(|g| g.len_of(&z.dims));
            self.summed_out.push(draw);
        }
        self.n_drawn = at - self.n_params;
        self.replace(&replaced);
    }

    fn elements_meet(&self, z: &Discrete, mine: &[Factor]) -> crate::Error {
        let meeting = mine.iter().find(|f| self.split(z, f.node).is_none());
        let term = meeting.and_then(|f| f.term).map(|t| &self.terms[t]);
        let place = match term {
            Some(term) if term.kind == TermKind::Potential => format!("`{}`", term.name),
            Some(term) => format!("the distribution of `{}`", term.name),
            None => "a term that is left when others are summed out".into(),
        };
        let name = &z.name;
        let advice = match z.is_chain {
            true => {
                format!("let every row depend on one step and the one before, as `x[{name}]` does")
            }
            false => format!(
                "let every row depend on one element (`x[{name}]`, or `{name}[group]`), or use so few \
                 elements that all of their combinations are no more than {MOST_VALUES}"
            ),
        };
        let message = format!(
            "the elements of the discrete `{name}` cannot be summed out one by one: several of them \
             meet in {place}; {advice}"
        );
        self.model.error(name.span, message)
    }

    fn too_many_together(&self, z: &Discrete, count: usize, others: usize) -> crate::Error {
        let name = &z.name;
        let message = format!(
            "the discrete `{name}` meets others in one term: its {count} values with {others} \
             combinations of the others are more than the {MOST_VALUES} that can be summed over; \
             give them fewer values"
        );
        self.model.error(name.span, message)
    }

    pub(super) fn cannot_widen(&self, z: &Discrete, node: NodeId) -> crate::Error {
        let op = self.scope.with(|g| format!("{:?}", g.node(node).op));
        let op = op
            .split(['(', ' ', '{'])
            .next()
            .unwrap_or_default()
            .to_lowercase();
        let name = &z.name;
        let message = format!(
            "the discrete `{name}` has {} values, but a {op} depends on it, which is computed for one \
             value after the other, and for {SOME_VALUES} at most; give `{name}` fewer values",
            z.count
        );
        self.model.error(name.span, message)
    }
}

/// A factor that depends on all elements.
fn whole(node: NodeId) -> Split {
    Split {
        on: vec![Piece {
            node,
            owner: super::coupling::Owner::Same,
        }],
        free: Vec::new(),
    }
}
