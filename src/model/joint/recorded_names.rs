//! That the names a trace will hold tell its variables and dims apart.

use super::{Graphs, Joint};
use crate::model::ast::{Name, Statement};
use crate::{Error, Result};
use std::collections::{BTreeMap, BTreeSet};

/// A variable that a group of the trace will hold.
struct Entry<'a> {
    name: &'a str,
    dims: &'a [String],
    shape: &'a [usize],
}

impl Joint {
    /// Checks the groups of the trace.
    ///
    /// # Errors
    /// Two variables of one name, a variable that is called as a dim, a dim of two sizes: names that
    /// were made up (`L_corr`, `x_dim_0`, `k'`) may be taken.
    pub(super) fn check_names(&self, graphs: &Graphs) -> Result<()> {
        let recorded = graphs.recorded.iter().map(|r| Entry {
            name: &r.name,
            dims: &r.dims,
            shape: &r.shape,
        });
        let predicted = graphs.predicted.iter().map(|r| Entry {
            name: &r.name,
            dims: &r.dims,
            shape: &r.shape,
        });
        let drawn = graphs.drawn.iter().filter(|d| d.part.is_none());
        let drawn = |observed: bool| {
            drawn
                .clone()
                .filter(move |d| d.observed == observed)
                .map(|d| Entry {
                    name: &d.name,
                    dims: &d.dims,
                    shape: &d.shape,
                })
        };
        // Predictions are kept apart from parameters, but draws of the prior hold both.
        self.check_group(recorded.chain(predicted).chain(drawn(false)))?;
        self.check_group(drawn(true))
    }

    fn check_group<'a>(&self, entries: impl Iterator<Item = Entry<'a>>) -> Result<()> {
        let entries: Vec<Entry<'a>> = entries.collect();
        let mut dims: BTreeMap<&str, (usize, &str)> = BTreeMap::new();
        for entry in &entries {
            for (dim, &size) in entry.dims.iter().zip(entry.shape) {
                let (first, of) = *dims.entry(dim).or_insert((size, entry.name));
                if first != size {
                    let message = format!(
                        "`{of}` and `{}` would both have a dim called `{dim}` in the trace, of sizes \
                         {first} and {size}; rename the one that the model declares",
                        entry.name
                    );
                    return Err(self.name_error(&[entry.name, of, dim], &message));
                }
            }
        }
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        for entry in &entries {
            if dims.contains_key(entry.name) {
                let message = format!(
                    "the trace has a dim called `{}` as well; choose another name",
                    entry.name
                );
                return Err(self.name_error(&[entry.name], &message));
            }
            if !seen.insert(entry.name) {
                let message = format!(
                    "the trace would hold two variables called `{}`: correlations and standard \
                     deviations of a covariance factor are recorded as NAME_corr and NAME_stds; \
                     choose another name",
                    entry.name
                );
                return Err(self.name_error(&[entry.name], &message));
            }
        }
        Ok(())
    }

    /// An error at the statement that defines the first of `names` that one does.
    fn name_error(&self, names: &[&str], message: &str) -> Error {
        let statements = self.model().statements();
        let defines = |name: &str| {
            let all = statements.iter().filter_map(Statement::name);
            all.into_iter().find(|n: &&Name| n.text == name)
        };
        match names.iter().find_map(|name| defines(name)) {
            Some(name) => self.model().error(name.span, message),
            None => Error::new(crate::ErrorKind::Model, message),
        }
    }
}
