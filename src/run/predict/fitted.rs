//! The data that a model was fitted to, as far as its draws tell them.

use super::place::texts;
use super::wrong;
use crate::Result;
use crate::data::{Array, Dataset, Labels, Values};
use crate::draws::{Trace, Variable};
use crate::model::{Model, Role, Symbol};
use crate::run::compiled::{Compiled, Terms};
use crate::run::{Settings, bind};
use fitzroy_device::cpu::Engine;
use std::collections::{BTreeMap, BTreeSet};

/// A model and what its draws tell of the fit.
pub(super) struct Fitted<'a> {
    pub(super) model: &'a Model,
    pub(super) draws: &'a Trace,
}

impl Fitted<'_> {
    /// The numbers that the model takes over whole data, of those that were fitted.
    ///
    /// # Errors
    /// The draws do not hold these.
    pub(super) fn numbers(&self, settings: &Settings) -> Result<BTreeMap<String, f64>> {
        let texts = self.model.numbers_of_data();
        let Some(first) = texts.first() else {
            return Ok(BTreeMap::new());
        };
        let mut data = Dataset::new();
        for dim in self.model.dims() {
            if let Some(labels) = self.labels(&dim.text) {
                data.insert(labels);
            }
        }
        let symbols = self.model.symbols().iter();
        for (name, symbol) in symbols.filter(|(_, symbol)| symbol.role == Role::Data) {
            data.insert(self.array(name, symbol).ok_or_else(|| {
                wrong(format!(
                    "`{first}` is taken over the data that were fitted, and the draws do not hold \
                     `{name}`; declare it as data, a number, and give that"
                ))
            })?);
        }
        let joint = bind(&self.model.of_numbers(&texts)?, &data, settings)?;
        let compiled = Compiled::new(&joint, &joint.centred(), Terms::All, Engine::Interpreter)?;
        let node = |k: usize| {
            let name = format!("fitted_{k}");
            let mut all = compiled.graphs.recorded.iter();
            all.find(|r| r.name == name).map(|r| r.node)
        };
        let nodes: Option<Vec<_>> = (0..texts.len()).map(node).collect();
        let nodes = nodes.expect("each was asked to be recorded");
        let function = compiled.function(&nodes)?;
        let mut workspace = function.workspace();
        function.run(&mut workspace, &[]);
        let number = |(k, text): (usize, String)| (text, function.output(&workspace, k)[0]);
        let numbers = texts.into_iter().enumerate().map(number);
        Ok(numbers.filter(|(_, x)| x.is_finite()).collect())
    }

    /// `data` with what belongs to the groups that were fitted: labels of the dims of parameters that
    /// are not redrawn, and constants that have no other dims.
    pub(super) fn with_groups(&self, data: &Dataset, redraw: &[&str]) -> Dataset {
        let mut out = data.clone();
        let mut of_kept = BTreeSet::new();
        for (name, symbol) in self.model.symbols() {
            let is_kept = symbol.role == Role::Parameter && !redraw.contains(&name.as_str());
            let posterior = self.draws.group("posterior");
            if !is_kept || posterior.is_none_or(|group| group.variable(name).is_none()) {
                continue;
            }
            of_kept.extend(symbol.dims.iter().cloned());
            for dim in &symbol.dims {
                self.label(dim, data, &mut out);
            }
        }
        let data_symbols = self.model.symbols().iter();
        let constants = data_symbols.filter(|(name, symbol)| {
            let is_of_groups = symbol.dims.iter().all(|dim| of_kept.contains(dim));
            symbol.role == Role::Data && is_of_groups && data.get(name).is_none()
        });
        for (name, symbol) in constants {
            // Data that were observed are outcomes, which are predicted.
            let is_constant = self.variable("constant_data", name).is_some();
            if let Some(array) = self.array(name, symbol).filter(|_| is_constant) {
                if let Some(of) = &symbol.indexes {
                    self.label(of, data, &mut out);
                }
                out.insert(array);
            }
        }
        out
    }

    /// Gives a dim the labels of the fit, unless `data` tell others that they need.
    fn label(&self, dim: &str, data: &Dataset, out: &mut Dataset) {
        let Some(fitted) = self.labels(dim) else {
            return;
        };
        let Some(given) = data.get(dim) else {
            out.insert(fitted);
            return;
        };
        let symbols = self.model.symbols().iter();
        let mut along =
            symbols.filter(|(_, s)| s.role == Role::Data && s.dims.iter().any(|d| d == dim));
        let known = of_array(&fitted);
        let are_known = of_array(given).iter().all(|label| known.contains(label));
        if are_known && !along.any(|(name, _)| data.get(name).is_some()) {
            out.insert(fitted);
        }
    }

    /// Labels of a dim, as data; none of a dim that the model declares.
    fn labels(&self, dim: &str) -> Option<Array> {
        if self.model.symbols().contains_key(dim) {
            return None;
        }
        let array = match self.draws.coords.get(dim)? {
            Labels::Text(labels) => Array::text(dim, &[labels.len()], labels.clone(), "the draws"),
            Labels::Integers(labels) => {
                let numbers = labels.iter().map(|&l| l as f64).collect();
                Array::real(dim, &[labels.len()], numbers, "the draws")
            }
        };
        Some(array)
    }

    fn variable(&self, group: &str, name: &str) -> Option<&Variable> {
        self.draws.group(group)?.variable(name)
    }

    /// The data `name` of the fit; positions in a dim as its labels.
    fn array(&self, name: &str, symbol: &Symbol) -> Option<Array> {
        let of_group = |group| self.variable(group, name);
        let variable = of_group("constant_data").or_else(|| of_group("observed_data"))?;
        let n = variable.shape.iter().product();
        let values: Vec<f64> = (0..n).map(|i| variable.values.real(i)).collect();
        let labels = symbol
            .indexes
            .as_ref()
            .and_then(|of| self.draws.coords.get(of));
        let Some(labels) = labels.map(texts) else {
            return Some(Array::real(name, &variable.shape, values, "the draws"));
        };
        let label = |&v: &f64| labels.get(v as usize).cloned();
        let values: Option<Vec<String>> = values.iter().map(label).collect();
        Some(Array::text(name, &variable.shape, values?, "the draws"))
    }
}

fn of_array(array: &Array) -> Vec<String> {
    match &array.values {
        Values::Text(all) => all.clone(),
        Values::Real(all) => all.iter().map(f64::to_string).collect(),
    }
}
