//! Statement by statement, the joint density.

use super::discrete::{Discrete, LookUp};
use super::inverse::Given;
use super::recurrence::Lags;
use super::rewrite::{ConjugatePrior, Latent, NormalTerm, Observation, Positive, Rewrites};
use super::{
    Chosen, Coordinates, Drawn, Graphs, Joint, Parameter, Plate, Recorded, Term, TermKind,
};
use crate::Result;
use crate::dist::Real;
use crate::model::ast::{Computed, Keep, Span, Statement};
use crate::model::{Binding, Model, Role};
use fitzroy_graph::{DimId, Expr as Value, NodeId, Scope};
use std::collections::HashMap;

/// A joint density under construction.
pub(super) struct Build<'m, 'g> {
    pub(super) model: &'m Model,
    pub(super) binding: &'m Binding,
    pub(super) scope: &'g Scope,
    /// The graph's dim for each dim of the binding.
    pub(super) dims: Vec<DimId>,
    pub(super) names: HashMap<String, Value<'g>>,
    pub(super) lists: usize,
    pub(super) coordinates: &'m [Coordinates],
    pub(super) parameters: Vec<Parameter>,
    pub(super) plates: Vec<Plate>,
    pub(super) plate_nodes: Vec<(NodeId, NodeId)>,
    /// For each plate the sign of its coordinate, where the scale's has one.
    pub(super) plate_signs: Vec<Option<NodeId>>,
    /// Parameters that may have a sign, and those that are to have one.
    pub(super) positives: Vec<Positive<'g>>,
    pub(super) signed: Vec<usize>,
    /// Which parameters are integrated out; none as long as that is not known.
    pub(super) integrated: &'m [bool],
    pub(super) n_params: usize,
    /// Where each parameter starts among the coordinates; in the order of the model if empty.
    pub(super) layout: &'m [usize],
    /// Parameters with a normal prior, and normal likelihoods.
    pub(super) latents: Vec<Latent>,
    pub(super) normals: Vec<NormalTerm>,
    /// Parameters with a conjugate prior, and likelihoods that one may be conjugate to.
    pub(super) conjugates: Vec<ConjugatePrior>,
    pub(super) observations: Vec<Observation>,
    /// Elements of all predicted variables so far.
    pub(super) n_drawn: usize,
    /// Predicted variables: their dims and where they stand after the parameters.
    pub(super) later: HashMap<String, (Vec<DimId>, usize)>,
    /// The Cholesky factors of matrices that have been made from one.
    pub(super) factors: HashMap<NodeId, Value<'g>>,
    /// Arrays whose elements sum to 1 along one dim by construction.
    pub(super) unit_sums: Vec<NodeId>,
    /// The recurrence that is being worked out.
    pub(super) lags: Option<Lags<'g>>,
    /// See [`Graphs::volumes`].
    pub(super) volumes: Vec<NodeId>,
    pub(super) terms: Vec<Term>,
    pub(super) recorded: Vec<Recorded>,
    pub(super) computed: Vec<Recorded>,
    pub(super) predicted: Vec<Recorded>,
    pub(super) drawn: Vec<Drawn>,
    /// Discrete parameters, and the tables looked up by them.
    pub(super) discrete: Vec<Discrete>,
    pub(super) look_ups: Vec<LookUp>,
    /// Terms that depend on them, whose sums are those of the discrete parameters' own.
    pub(super) absorbed: Vec<usize>,
    /// See [`Graphs::discrete`].
    pub(super) summed_out: Vec<Drawn>,
    /// Variables that are given instead of made of coordinates; see [`Joint::inverse`].
    pub(super) given: Given,
}

impl Joint {
    /// All statements, in what is `chosen` (as-asked where that is nothing yet).
    pub(super) fn statements<'m, 'g>(
        &'m self,
        scope: &'g Scope,
        chosen: &'m Chosen,
    ) -> Result<Build<'m, 'g>> {
        self.statements_given(scope, chosen, Given::default())
    }

    /// The same with some variables `given`.
    pub(super) fn statements_given<'m, 'g>(
        &'m self,
        scope: &'g Scope,
        chosen: &'m Chosen,
        given: Given,
    ) -> Result<Build<'m, 'g>> {
        let dims = self.binding.dims.iter();
        let mut build = Build {
            model: &self.model,
            binding: &self.binding,
            scope,
            dims: dims.map(|d| scope.dim(&d.name, d.size)).collect(),
            names: HashMap::new(),
            lists: 0,
            coordinates: &chosen.plates,
            parameters: Vec::new(),
            plates: Vec::new(),
            plate_nodes: Vec::new(),
            plate_signs: Vec::new(),
            positives: Vec::new(),
            signed: chosen.signed.iter().map(|&k| self.scales[k]).collect(),
            integrated: &self.integrated,
            n_params: 0,
            layout: &self.layout,
            latents: Vec::new(),
            normals: Vec::new(),
            conjugates: Vec::new(),
            observations: Vec::new(),
            n_drawn: 0,
            later: HashMap::new(),
            factors: HashMap::new(),
            unit_sums: Vec::new(),
            lags: None,
            volumes: Vec::new(),
            terms: Vec::new(),
            recorded: Vec::new(),
            computed: Vec::new(),
            predicted: Vec::new(),
            drawn: Vec::new(),
            discrete: Vec::new(),
            look_ups: Vec::new(),
            absorbed: Vec::new(),
            summed_out: Vec::new(),
            given,
        };
        let statements = self.model.statements();
        for part in self.order()? {
            let all: Vec<&Statement> = part.iter().map(|&i| &statements[i]).collect();
            match self.model.recurrences().contains(&part) {
                true if build.is_system(&all) => build.system(&all)?,
                true => match build.chain_of(&all)? {
                    Some(s) => build.discrete_parameter(s, true)?,
                    None => build.recurrence(&all)?,
                },
                false => build.statement(all[0])?,
            }
        }
        build.sum_out(self.only_priors)?;
        Ok(build)
    }

    /// Which parameters `rewrites` integrate out, of those that `allowed` names.
    pub(super) fn would_integrate(
        &self,
        rewrites: Rewrites,
        allowed: &[bool],
    ) -> Result<Vec<bool>> {
        let scope = Scope::new();
        let start = Chosen::default();
        let mut build = self.statements(&scope, &start)?;
        build.recognise(rewrites, None);
        Ok(build.rewrite(rewrites, allowed, false).integrated)
    }

    /// Builds the graph for what is `chosen` (as-asked where that is nothing yet), without a gradient.
    pub(super) fn build(&mut self, chosen: &Chosen, rewrites: Rewrites) -> Result<Graphs> {
        let scope = Scope::new();
        let mut build = self.statements(&scope, chosen)?;
        let mut done = build.recognise(self.rewrites, self.recognised.as_deref());
        let allowed: &[bool] = match rewrites.collapse {
            true => &self.integrated,
            false => &[],
        };
        let outcome = build.rewrite(rewrites, allowed, true);
        done.retain(|r| !r.parameters.iter().any(|p| self.is_integrated_by_name(p)));
        done.extend(outcome.done);
        let skip = [&outcome.rewritten[..], &build.absorbed].concat();
        done.extend(build.count_rows(rewrites, &skip));
        done.extend(build.words_of_signs());
        let scales = match &chosen.signed[..] {
            [] => build.scales(),
            _ => self.scales.clone(),
        };
        let scale_nodes = scales.iter().map(|&s| build.scale_node(s)).collect();
        let n_observed = build.terms.iter().map(|t| build.n_observed(t)).sum();
        let density = scope.node(build.total());
        let Build {
            parameters,
            plates,
            n_params,
            n_drawn,
            terms,
            mut recorded,
            computed,
            predicted,
            drawn,
            summed_out: discrete,
            plate_nodes,
            plate_signs,
            volumes,
            ..
        } = build;
        recorded.extend(computed);
        // Names that begin with an underscore are means to an end.
        recorded.retain(|r| !r.name.starts_with('_'));
        let (graph, bindings) = scope.finish_bound();
        self.parameters = parameters;
        self.plates = plates;
        self.scales = scales;
        self.n_params = n_params;
        self.n_observed = n_observed;
        let potentials = terms.iter().filter(|t| t.kind == TermKind::Potential);
        self.n_potentials = potentials.count();
        Ok(Graphs {
            graph,
            bindings,
            density,
            gradient: Vec::new(),
            terms,
            recorded,
            drawn,
            discrete,
            predicted,
            n_params,
            n_extended: n_params + n_drawn,
            plates: plate_nodes,
            signs: plate_signs,
            volumes,
            scales: scale_nodes,
            conditional: outcome.conditional,
            restored: outcome.restored,
            conditionals: outcome.conditionals,
            done,
        })
    }
}

impl<'g> Build<'_, 'g> {
    fn total(&self) -> Value<'g> {
        let sum = |term: &Term| self.scope.expr(term.sum);
        self.terms
            .iter()
            .map(sum)
            .fold(Value::lit(0.0), |a, b| a + b)
    }

    /// The scales of all plates, each once.
    fn scales(&self) -> Vec<usize> {
        let all = self.plates.iter().flat_map(|p| p.scales.clone());
        let mut scales: Vec<usize> = all.collect();
        scales.sort_unstable();
        scales.dedup();
        scales
    }

    /// The value of a parameter that is the scale of a plate.
    fn scale_node(&self, parameter: usize) -> NodeId {
        let mut all = self.positives.iter();
        let found = all.find(|p| p.parameter == parameter);
        found.expect("scales of plates are among them").node
    }

    /// How many values the distribution of a term is of, where it is one of data.
    fn n_observed(&self, term: &Term) -> usize {
        match (&term.part, term.kind) {
            (_, TermKind::Prior | TermKind::Potential) => 0,
            (Some(part), _) => part.at.len(),
            (None, _) => {
                let array = self.binding.array(&term.name);
                let dims = array.map_or(&[][..], |array| &array.dims);
                dims.iter().map(|&d| self.binding.dims[d].size).product()
            }
        }
    }

    fn statement(&mut self, statement: &Statement) -> Result<()> {
        match statement {
            Statement::Data(_) | Statement::Dim(_) => Ok(()),
            Statement::Computed(s) => {
                let value = self.definition(s)?;
                self.keep(s, value);
                Ok(())
            }
            Statement::Sampled(s) => {
                let role = self.model.symbols().get(&s.name.text).map(|s| s.role);
                match role {
                    _ if s.predicted => self.drawn_later(s),
                    Some(Role::Parameter) if self.is_discrete(s) => {
                        self.discrete_parameter(s, false)
                    }
                    Some(Role::Parameter) => self.continuous(s),
                    _ => self.likelihood(s),
                }
            }
            Statement::Target(e) => {
                let value = self.value(e)?;
                let line =
                    crate::model::source::line_number(self.model.text(), e.span.site().start());
                self.term(&format!("target (line {line})"), TermKind::Potential, value);
                Ok(())
            }
        }
    }

    /// Notes what the coordinates of a vector or matrix add to its log density; see
    /// [`Graphs::volumes`].
    pub(super) fn volume(&mut self, log_jacobian: Value<'g>) {
        let sum = self.scope.expr(self.scope.node(log_jacobian)).sum_all();
        self.volumes.push(self.scope.node(sum));
    }

    /// Adds a term of the log density.
    pub(super) fn term(&mut self, name: &str, kind: TermKind, value: Value<'g>) {
        let value = self.scope.expr(self.scope.node(value));
        self.term_of_sum(name, kind, value, value.sum_all());
    }

    /// As [`Build::term`], with another expression of the sum.
    pub(super) fn term_of_sum(
        &mut self,
        name: &str,
        kind: TermKind,
        value: Value<'g>,
        sum: Value<'g>,
    ) {
        let (node, sum) = (self.scope.node(value), self.scope.node(sum));
        let dims = self.dim_names(name, &value.dims()).0;
        self.terms.push(Term {
            name: name.into(),
            kind,
            node,
            sum,
            dims,
            part: None,
        });
    }

    pub(super) fn record(&self, name: &str, value: Value<'g>) -> Recorded {
        let (dims, shape) = self.dim_names(name, &value.dims());
        Recorded {
            name: name.into(),
            dims,
            shape,
            node: self.scope.node(value),
        }
    }

    /// The value of a definition, over its dims if they are written.
    pub(super) fn definition(&mut self, s: &Computed) -> Result<Value<'g>> {
        let value = self.value(&s.value)?;
        if s.dims.is_empty() {
            return Ok(value);
        }
        let dims = self.written_dims(s);
        self.spread(value, &dims, &s.name.text, s.value.span)
    }

    /// The dims that are written before a definition.
    pub(super) fn written_dims(&self, s: &Computed) -> Vec<DimId> {
        let dims: Vec<DimId> = s.dims.iter().map(|d| self.dim(&d.text)).collect();
        self.distinct(&dims)
    }

    /// Names the value of a definition, and records it if it is asked for.
    pub(super) fn keep(&mut self, s: &Computed, value: Value<'g>) {
        let name = &s.name.text;
        self.names.insert(name.clone(), value);
        match s.keep {
            Keep::Recorded => {
                let record = self.record(name, value);
                self.computed.push(record);
            }
            Keep::Predicted => {
                let record = self.record(name, value);
                self.predicted.push(record);
            }
            Keep::Local => {}
        }
    }

    /// What a name stands for.
    pub(super) fn named(&mut self, name: &str, span: Span) -> Result<Value<'g>> {
        if let Some(&value) = self.names.get(name) {
            return Ok(value);
        }
        if let Some(array) = self.binding.array(name) {
            let dims: Vec<DimId> = array.dims.iter().map(|&d| self.dims[d]).collect();
            let dims = self.distinct(&dims);
            let reals = array.reals();
            let value = match reals[..] {
                [x] if dims.is_empty() => Value::lit(x),
                _ => self.scope.bound_data(name, &dims, &reals),
            };
            self.names.insert(name.into(), value);
            return Ok(value);
        }
        if let Some((dims, offset)) = self.later.get(name) {
            return Ok(self.scope.param(*offset, dims));
        }
        if let Some(at) = self.binding.dim(name) {
            return Ok(Value::lit(self.binding.dims[at].size as f64));
        }
        if let Some(x) = crate::model::check::constant(name) {
            return Ok(Value::lit(x));
        }
        Err(self
            .model
            .error(span, format!("`{name}` is not defined here")))
    }
}
