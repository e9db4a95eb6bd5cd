//! What a trace says besides the draws: data, labels, and where it came from.

use super::super::records::Told;
use super::super::report::rewrites_json;
use super::super::watch::Spent;
use super::{Collect, slices};
use crate::draws::{Attribute, Column, Group, Labels, Variable};
use crate::fit::sample::Run;
use crate::model::joint::TermKind;
use crate::model::{BoundArray, Content, ast};
use crate::run::Settings;
use crate::run::hash::fingerprint;
use fitzroy_graph::Named;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

impl Collect<'_> {
    /// Data that have a distribution, and data that have none.
    pub(super) fn data(&self) -> Vec<Group> {
        let binding = self.joint.binding();
        let graphs = &self.compiled.graphs;
        let observed: BTreeSet<&str> = graphs
            .terms
            .iter()
            .filter(|t| t.kind == TermKind::Likelihood)
            .map(|t| t.name.as_str())
            .collect();
        let variable = |array: &BoundArray| Variable {
            name: array.name.clone(),
            dims: array
                .dims
                .iter()
                .map(|&d| binding.dims[d].name.clone())
                .collect(),
            shape: array.dims.iter().map(|&d| binding.dims[d].size).collect(),
            values: match &array.content {
                Content::Positions { at, .. } => {
                    Column::Integer(at.iter().map(|&i| i64::from(i)).collect())
                }
                Content::Real(v) if self.whole(&array.name) => {
                    Column::Integer(v.iter().map(|&x| x as i64).collect())
                }
                Content::Real(v) => Column::Real(v.clone()),
            },
        };
        let pick = |has_law: bool| {
            let arrays = binding.arrays.iter();
            arrays
                .filter(|a| observed.contains(a.name.as_str()) == has_law)
                .map(variable)
                .collect::<Vec<_>>()
        };
        let (mut seen, mut constant) = (pick(true), pick(false));
        for part in self.observed_parts() {
            match seen.iter_mut().find(|v| v.name == part.name) {
                Some(whole) if whole.shape == part.shape => {}
                // The elements that have no distribution are data all the same.
                Some(whole) => constant.push(std::mem::replace(whole, part)),
                None => seen.push(part),
            }
        }
        let groups = [("observed_data", seen), ("constant_data", constant)];
        let groups = groups
            .into_iter()
            .filter(|(_, variables)| !variables.is_empty());
        groups
            .map(|(name, variables)| self.told.group(name, variables))
            .collect()
    }

    /// What is observed and is not a data array as it is: slices, and what is computed from data.
    fn observed_parts(&self) -> Vec<Variable> {
        let drawn = &self.compiled.graphs.drawn;
        let parts = drawn.iter().filter(|d| d.part.is_some());
        let names: BTreeSet<&str> = parts.map(|d| d.name.as_str()).collect();
        let one = |name: &str| {
            let own: Vec<_> = drawn.iter().filter(|d| d.name == name).collect();
            let mut variable = slices::observed(&own);
            if let (true, Column::Real(v)) = (self.whole(name), &variable.values) {
                variable.values = Column::Integer(v.iter().map(|&x| x as i64).collect());
            }
            variable
        };
        names.into_iter().map(one).collect()
    }

    /// Whether data were declared `: int`.
    fn whole(&self, name: &str) -> bool {
        self.joint.model().statements().iter().any(|s| match s {
            ast::Statement::Data(data) => data.whole && data.name.text == name,
            _ => false,
        })
    }

    /// Labels of every dim that occurs.
    pub(super) fn coords(
        &self,
        groups: &[Group],
        n_draws: usize,
        n_chains: usize,
    ) -> BTreeMap<String, Labels> {
        let variables = groups.iter().flat_map(|g| &g.variables);
        let used: BTreeSet<&str> = variables
            .flat_map(|v| v.dims.iter().map(String::as_str))
            .collect();
        let mut coords: BTreeMap<String, Labels> = BTreeMap::new();
        for dim in &self.joint.binding().dims {
            // The columns of a square matrix are called as its rows.
            for name in [dim.name.clone(), format!("{}'", dim.name)] {
                if used.contains(name.as_str()) {
                    coords.insert(name, dim.coordinates());
                }
            }
        }
        self.told.number_draws(&mut coords, n_draws, n_chains);
        coords
    }

    pub(super) fn attributes(
        &self,
        run: &Run,
        centring: &[(String, f64)],
    ) -> Vec<(String, Attribute)> {
        let text = |value: &str| Attribute::Text(value.into());
        let centring: serde_json::Map<String, serde_json::Value> = centring
            .iter()
            .map(|(name, c)| (name.clone(), json!(c)))
            .collect();
        let centring = serde_json::Value::Object(centring).to_string();
        let rewrites = rewrites_json(&self.compiled.graphs.done).to_string();
        let own = vec![
            ("fitzroy_model", text(self.joint.model().text())),
            ("fitzroy_hash", text(&fingerprint(self.joint))),
            ("fitzroy_engine", text(&self.compiled.engine())),
            ("fitzroy_centring", text(&centring)),
            ("fitzroy_rewrites", text(&rewrites)),
        ];
        self.told.attributes(run, own)
    }
}

impl Told<'_> {
    /// Numbers of chains and draws as labels.
    pub(in crate::run) fn number_draws(
        &self,
        coords: &mut BTreeMap<String, Labels>,
        n_draws: usize,
        n_chains: usize,
    ) {
        let first = i64::from(self.settings.sampler.first_chain);
        let chains = (0..n_chains as i64).map(|c| first + c).collect();
        coords.insert("chain".into(), Labels::Integers(chains));
        coords.insert(
            "draw".into(),
            Labels::Integers((0..n_draws as i64).collect()),
        );
    }

    /// A group with what ArviZ expects of its attributes.
    pub(in crate::run) fn group(&self, name: &str, variables: Vec<Variable>) -> Group {
        let text = |value: &str| Attribute::Text(value.into());
        let mut attributes = vec![
            ("inference_library".into(), text("fitzroy")),
            (
                "inference_library_version".into(),
                text(env!("CARGO_PKG_VERSION")),
            ),
            ("creation_library".into(), text("fitzroy")),
            (
                "creation_library_version".into(),
                text(env!("CARGO_PKG_VERSION")),
            ),
            (
                "sampling_time".into(),
                Attribute::Real(self.timing.sampling),
            ),
        ];
        if let Some(n) = self.warmup_transitions {
            attributes.push(("tuning_steps".into(), Attribute::Integer(n as i64)));
        }
        if !self.caller.created_at.is_empty() {
            attributes.push(("created_at".into(), text(self.caller.created_at)));
        }
        Group {
            name: name.into(),
            variables,
            attributes,
        }
    }

    /// What a whole trace says of its run; `own` is what tells the density from others.
    pub(in crate::run) fn attributes(
        &self,
        run: &Run,
        own: Vec<(&str, Attribute)>,
    ) -> Vec<(String, Attribute)> {
        let text = |value: &str| Attribute::Text(value.into());
        let metric = run.metrics.first().map_or("none", |m| m.name());
        let device = match self.settings.device.is_machine() {
            true => "cuda",
            false => "cpu",
        };
        let mut out = vec![("fitzroy_version", text(env!("CARGO_PKG_VERSION")))];
        out.extend(own);
        let interrupted = i64::from(run.interrupted);
        out.extend([
            (
                "fitzroy_seed",
                text(&self.settings.sampler.seed.to_string()),
            ),
            (
                "fitzroy_settings",
                text(&settings_json(self.settings).to_string()),
            ),
            ("fitzroy_device", text(device)),
            ("fitzroy_precision", text(self.precision.name())),
            ("fitzroy_metric", text(metric)),
            (
                "fitzroy_target_accept",
                Attribute::Real(run.stricter.unwrap_or(self.settings.sampler.target_accept)),
            ),
            (
                "fitzroy_gradients",
                Attribute::Integer(run.gradients as i64),
            ),
            ("fitzroy_interrupted", Attribute::Integer(interrupted)),
            (
                "fitzroy_warmup_transitions",
                Attribute::Integer(run.warmup_transitions as i64),
            ),
        ]);
        let mut out: Vec<(String, Attribute)> =
            out.into_iter().map(|(k, v)| (k.to_string(), v)).collect();
        out.extend(Spent::of(&self.timing).attributes());
        out
    }
}

/// What decides the draws, as one JSON object.
pub(in crate::run) fn settings_json(settings: &Settings) -> serde_json::Value {
    let s = &settings.sampler;
    let mut document = json!({
        "chains": s.chains,
        "tune": s.tune,
        "end_warmup_early": s.end_warmup_early,
        "draws": s.draws,
        "target_accept": s.target_accept,
        "max_treedepth": s.max_treedepth,
        "past_turn": s.past_turn.name(),
        "integrator": s.integrator.name(),
        "sampler": s.sampler.name(),
        "metric": s.metric.name(),
        "init": s.init.name(),
        "adapt": s.adapt.name(),
        "until_ess": s.until.and_then(|u| u.ess),
        "until_rhat": s.until.and_then(|u| u.rhat),
        "first_chain": s.first_chain,
        "stream": s.stream,
        "centring": settings.coordinates.setting(),
        "rewrites": settings.rewrites.name(),
        "precision": settings.precision.name(),
        "prior_only": settings.prior_only,
        "predictive": settings.predictive,
        "log_likelihood": settings.log_likelihood,
        "keep_warmup": s.keep_warmup,
    });
    if !settings.keep.is_empty() {
        document["keep"] = json!(settings.keep);
    }
    document
}
