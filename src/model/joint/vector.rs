//! Distributions of vectors and matrices, and those made of other distributions.

use super::build::Build;
use crate::model::ast::Sampled;
use crate::{Error, Result};
use fitzroy_graph::{DimId, Expr as Value};

/// A parameter that is a vector or a matrix.
pub(super) fn parameter(b: &mut Build<'_, '_>, s: &Sampled, _dims: &[DimId]) -> Result<()> {
    Err(missing(b, s))
}

/// Observed vectors.
pub(super) fn likelihood<'g>(
    b: &mut Build<'_, 'g>,
    s: &Sampled,
    _y: Value<'g>,
    _dims: &[DimId],
) -> Result<()> {
    Err(missing(b, s))
}

/// Predicted vectors.
pub(super) fn prediction(b: &mut Build<'_, '_>, s: &Sampled, _dims: &[DimId]) -> Result<()> {
    Err(missing(b, s))
}

fn missing(b: &Build<'_, '_>, s: &Sampled) -> Error {
    let message = format!("`{}` is not available here", s.distribution.name);
    b.model.error(s.distribution.span, message)
}
