//! Models that draw what the model they come from was fitted to: parameters from their priors, and
//! observed variables for other data.

use super::ast::{
    Computed, Dim, Expr, ExprKind, Extent, Keep, LimitKind, Limits, Name, Sampled, Statement,
    Subscript,
};
use super::check::{Use, uses};
use super::{Model, Role};
use crate::data::Dataset;
use crate::{Error, ErrorKind, Result};
use std::collections::{BTreeMap, BTreeSet};

impl Model {
    /// Names of data with a distribution.
    pub(crate) fn observed(&self) -> impl Iterator<Item = &str> {
        let is_drawn = |name: &str| {
            let mut all = self.statements.iter();
            all.any(|s| matches!(s, Statement::Sampled(s) if s.name.text == name))
        };
        let names = self.statements.iter().filter_map(|s| match s {
            Statement::Data(data) => Some(data.name.text.as_str()),
            _ => None,
        });
        names.filter(move |name| is_drawn(name))
    }

    /// The same model with every parameter drawn from its prior, in the order in which they depend
    /// on one another.
    ///
    /// `None` where such draws have not the joint prior: a `bounded` prior lacks the normalising
    /// term that may depend on other parameters; `ordered` elements, and those given the step before
    /// them, are not drawn one by one.
    pub(crate) fn with_parameters_drawn(&self) -> Option<Model> {
        let mut out = self.clone();
        for (i, statement) in out.statements.iter_mut().enumerate() {
            let Statement::Sampled(s) = statement else {
                continue;
            };
            if self.is_step(i) {
                return None;
            }
            let role = self.symbols().get(&s.name.text).map(|s| s.role);
            if role != Some(Role::Parameter) {
                continue;
            }
            if !is_whole(s) {
                return None;
            }
            s.predicted = true;
        }
        Some(out)
    }

    /// The same model with the data `outcomes` drawn instead of given, and the parameters `redraw`
    /// drawn from their priors, given all they depend on. What depends on these is a prediction, too.
    /// Dims that outcomes alone have are as long as the labels of that name in `data`.
    ///
    /// # Errors
    /// A dim of outcomes without labels; outcomes of which the model says more than one
    /// distribution; parameters in `redraw` that are not drawn in one step, see
    /// [`Model::with_parameters_drawn`]; other parameters and data that depend on what is drawn.
    pub(crate) fn for_prediction(
        &self,
        outcomes: &[&str],
        redraw: &[&str],
        data: &Dataset,
    ) -> Result<Model> {
        let mut drawn: BTreeSet<&str> = outcomes.iter().chain(redraw).copied().collect();
        let mut made: Vec<Option<Statement>> = self.statements.iter().cloned().map(Some).collect();
        for &i in self.order() {
            let statement = &self.statements[i];
            let mut on = None;
            uses(statement, &mut |Use { name, .. }| {
                on = on.or_else(|| drawn.get(name).copied());
            });
            made[i] = match statement {
                Statement::Data(data) if drawn.contains(&*data.name.text) => None,
                Statement::Sampled(s) if drawn.contains(&*s.name.text) => Some(Statement::Sampled(
                    match outcomes.contains(&&*s.name.text) {
                        true => self.predicted(s)?,
                        false => self.redrawn(i, s)?,
                    },
                )),
                Statement::Sampled(s) if on.is_some() && !s.predicted => {
                    return Err(self.kept_on_drawn(&s.name.text, on.unwrap_or_default()));
                }
                Statement::Computed(c) if on.is_some() => {
                    drawn.insert(&c.name.text);
                    Some(Statement::Computed(Computed {
                        keep: Keep::Predicted,
                        ..c.clone()
                    }))
                }
                // Part of the density, which predictions do not ask for.
                Statement::Target(_) if on.is_some() => None,
                other => Some(other.clone()),
            };
        }
        let is_outcome = |name: &Name| outcomes.contains(&name.text.as_str());
        let dims = self.dims_of_outcomes(&is_outcome).into_iter();
        let mut lines = Vec::new();
        for (_, (dim, outcome)) in dims {
            lines.push(sized(dim, outcome, data)?.to_string());
        }
        lines.extend(made.into_iter().flatten().map(|s| s.to_string()));
        Model::parse(&lines.join("\n"))
    }

    /// Whether statement `i` is given the step before of itself.
    fn is_step(&self, i: usize) -> bool {
        let mut all = self.recurrences().iter().flatten();
        all.any(|&member| member == i)
    }

    /// A parameter as a draw from its prior.
    fn redrawn(&self, i: usize, s: &Sampled) -> Result<Sampled> {
        if self.is_step(i) || !is_whole(s) {
            let name = &s.name.text;
            let message = format!("`{name}` cannot be drawn from its prior in one step");
            return Err(Error::new(ErrorKind::Usage, message));
        }
        Ok(Sampled {
            predicted: true,
            ..s.clone()
        })
    }

    /// That `name`, taken as it is, depends on what is drawn anew.
    fn kept_on_drawn(&self, name: &str, on: &str) -> Error {
        let is_data = self.symbols()[name].role == Role::Data;
        let advice = match is_data {
            true => format!("leave `{name}` out of the data"),
            false => format!("⟨redraw {name}⟩ draws it, too"),
        };
        let message = format!("`{name}` depends on `{on}`, which is drawn anew; {advice}");
        Error::new(ErrorKind::Usage, message)
    }

    /// Dims that only outcomes have, each with one of them.
    fn dims_of_outcomes(
        &self,
        is_outcome: &impl Fn(&Name) -> bool,
    ) -> BTreeMap<&str, (&Name, &str)> {
        let mut found = BTreeMap::new();
        let mut sized = Vec::new();
        for statement in &self.statements {
            match statement {
                Statement::Data(data) if is_outcome(&data.name) => {
                    let dims = data.dims.iter();
                    found.extend(dims.map(|dim| (&*dim.text, (dim, &*data.name.text))));
                }
                Statement::Data(data) => {
                    sized.extend(data.dims.iter().chain(&data.indexes).map(|dim| &*dim.text));
                }
                Statement::Dim(dim) => sized.push(&*dim.name.text),
                _ => {}
            }
        }
        found.retain(|dim, _| !sized.contains(dim));
        found
    }

    /// A likelihood term as a prediction of the whole of its data.
    fn predicted(&self, s: &Sampled) -> Result<Sampled> {
        let name = &s.name.text;
        let dims = &self.symbols()[name].dims;
        let is_whole = |(subscript, dim): (&Subscript, &String)| match subscript {
            Subscript::At(index) => index.kind == ExprKind::Name(dim.clone()),
            _ => false,
        };
        let subscripts = &s.subscripts;
        let fits = subscripts.is_empty() || subscripts.len() == dims.len();
        if !fits || !subscripts.iter().zip(dims).all(is_whole) {
            let message = format!(
                "`{name}` is not in the data, and cannot be predicted: the model has distributions of \
                 parts of it"
            );
            return Err(self.error(s.name.span, message));
        }
        let at = |dim: &String| {
            Subscript::At(Expr {
                kind: ExprKind::Name(dim.clone()),
                span: s.name.span,
            })
        };
        Ok(Sampled {
            subscripts: dims.iter().map(at).collect(),
            predicted: true,
            ..s.clone()
        })
    }
}

/// Whether the prior of a parameter is all that the model says of it.
fn is_whole(s: &Sampled) -> bool {
    let is_bounded = |l: &Limits| l.kind == LimitKind::Bounded;
    !s.ordered && !s.limits.as_ref().is_some_and(is_bounded)
}

/// The declaration of a dim that `outcome` alone has, as long as its labels.
fn sized(dim: &Name, outcome: &str, data: &Dataset) -> Result<Statement> {
    let labels = data.get(&dim.text).filter(|array| array.shape.len() == 1);
    let Some(labels) = labels else {
        let name = &dim.text;
        let message = format!(
            "nothing in the data says how long dim `{name}` of `{outcome}` is; give an array of \
             labels called `{name}`"
        );
        return Err(Error::new(ErrorKind::Data, message));
    };
    Ok(Statement::Dim(Dim {
        name: dim.clone(),
        extent: Extent::Size(Expr {
            kind: ExprKind::Number(labels.shape[0] as f64),
            span: dim.span,
        }),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Array;

    #[test]
    fn outcomes_become_predictions_and_their_dims_are_sized() {
        let text = "data y[obs, kind], x[obs]\nb ~ Normal(0, 1)\ny[obs, kind] ~ Normal(b * x, 1)";
        let model = Model::parse(text).unwrap();
        let mut data = Dataset::default();
        let error = model.for_prediction(&["y"], &[], &data).unwrap_err();
        assert!(
            error.to_string().contains("how long dim `kind` of `y` is"),
            "{error}"
        );
        data.insert(Array::real("kind", &[2], vec![4.0, 5.0], "a test"));
        let made = model.for_prediction(&["y"], &["b"], &data).unwrap();
        assert_eq!(
            made.to_string(),
            "dim kind = 2\ndata x[obs]\npredict b ~ Normal(0, 1)\n\
             predict y[obs, kind] ~ Normal(b * x, 1)\n"
        );
    }

    #[test]
    fn parts_of_data_and_ordered_parameters_are_refused() {
        let data = Dataset::default();
        let walk = Model::parse("data y[t]\ns ~ HalfNormal(1)\ny[1:] ~ Normal(y[:-1], s)").unwrap();
        let error = walk
            .for_prediction(&["y"], &[], &data)
            .unwrap_err()
            .to_string();
        assert!(error.contains("distributions of parts of it"), "{error}");
        let text = "data y[obs], n\ndim k = n\nc[k] ~ Normal(0, 1) ordered\ny ~ Normal(c[0], 1)";
        let ordered = Model::parse(text).unwrap();
        let error = ordered
            .for_prediction(&[], &["c"], &data)
            .unwrap_err()
            .to_string();
        assert!(error.contains("`c` cannot be drawn"), "{error}");
    }

    #[test]
    fn what_depends_on_a_draw_is_drawn_or_refused() {
        let text = "data y[obs], g[obs] in k\ntau ~ HalfNormal(1)\nu[k] ~ Normal(0, tau)\n\
                    let m[obs] = u[g]\ntarget += -u[0]\ny ~ Normal(m, 1)";
        let (model, data) = (Model::parse(text).unwrap(), Dataset::default());
        let made = model.for_prediction(&["y"], &["u"], &data).unwrap();
        assert_eq!(
            made.to_string(),
            "data g[obs] in k\ntau ~ HalfNormal(1)\npredict u[k] ~ Normal(0, tau)\n\
             predict m[obs] = u[g]\npredict y[obs] ~ Normal(m, 1)\n"
        );
        let refused = |outcomes: &[&str], redraw: &[&str]| {
            let error = model.for_prediction(outcomes, redraw, &data).unwrap_err();
            error.to_string()
        };
        let error = refused(&["y"], &["tau"]);
        assert!(
            error.contains("`u` depends on `tau`, which is drawn anew"),
            "{error}"
        );
        let error = refused(&[], &["u"]);
        assert!(error.contains("leave `y` out of the data"), "{error}");
    }
}
