//! Distributions of categories, vectors and matrices: which file knows what of them.

mod category;
mod counts;
mod levels;
mod lkj;
mod mixture;
mod normal;
mod ordered;
mod series;
mod shares;
mod site;
mod stop_signal;
mod student;

use super::build::Build;
use super::law::Law;
use super::observed::Observed;
use crate::Result;
use crate::dist::{Form, Structured};
use crate::model::ast::Sampled;
use crate::model::families::resolve;
use fitzroy_graph::{DimId, Expr as Value};
use site::Site;

/// A parameter whose elements increase along its last dim.
pub(super) fn ordered<'g>(
    b: &mut Build<'_, 'g>,
    s: &Sampled,
    dims: &[DimId],
    law: &Law<'g>,
) -> Result<()> {
    ordered::parameter(b, s, dims, law)
}

/// A parameter that is a vector or a matrix.
pub(super) fn parameter(b: &mut Build<'_, '_>, s: &Sampled, dims: &[DimId]) -> Result<()> {
    let (form, site) = site(b, s, dims)?;
    match form {
        Structured::Dirichlet => shares::dirichlet_parameter(b, &site),
        Structured::StickBreakingWeights => shares::sticks_parameter(b, &site),
        Structured::MvNormal | Structured::MvNormalCholesky => normal::parameter(b, &site),
        Structured::MvStudentT | Structured::MvStudentTCholesky => student::parameter(b, &site),
        Structured::ZeroSumNormal => normal::zero_sum_parameter(b, &site),
        Structured::LkjCholeskyCov => lkj::covariance_parameter(b, &site),
        Structured::LkjCorr => lkj::correlation_parameter(b, &site),
        Structured::GaussianRandomWalk => series::walk_parameter(b, &site),
        Structured::Ar => series::autoregressive_parameter(b, &site),
        Structured::Mixture => mixture::parameter(b, &site),
        _ => panic!("{form:?} is discrete or of single numbers, which was handled before"),
    }
}

/// Logarithms of the shares of a categorical parameter, and the dim of the categories.
pub(super) fn categories<'g>(
    b: &mut Build<'_, 'g>,
    s: &Sampled,
    dims: &[DimId],
) -> Result<(Value<'g>, DimId)> {
    let (form, site) = site(b, s, dims)?;
    category::log_shares_of(b, &site, dims, form)
}

/// Observed vectors or categories.
pub(super) fn likelihood<'g>(
    b: &mut Build<'_, 'g>,
    y: Value<'g>,
    observed: Observed<'_>,
) -> Result<()> {
    let (form, site) = site(b, observed.s, observed.dims)?;
    match form {
        Structured::Categorical | Structured::CategoricalLogit => {
            category::observed(b, &site, observed, form)
        }
        Structured::OrderedLogistic | Structured::OrderedProbit => {
            levels::observed(b, &site, observed, form)
        }
        Structured::Dirichlet => shares::dirichlet_observed(b, &site, y, observed),
        Structured::StickBreakingWeights => shares::sticks_observed(b, &site, y, observed),
        Structured::Multinomial => counts::multinomial_observed(b, &site, y, observed),
        Structured::DirichletMultinomial => counts::mixed_observed(b, &site, y, observed),
        Structured::MvNormal | Structured::MvNormalCholesky => {
            normal::observed(b, &site, y, observed)
        }
        Structured::MvStudentT | Structured::MvStudentTCholesky => {
            student::observed(b, &site, y, observed)
        }
        Structured::ZeroSumNormal => normal::zero_sum_observed(b, &site, y, observed),
        Structured::GaussianRandomWalk => series::walk_observed(b, &site, y, observed),
        Structured::Ar => series::autoregressive_observed(b, &site, y, observed),
        Structured::StopSignal | Structured::StopSignalExGaussian | Structured::WaldRace => {
            stop_signal::observed(b, &site, observed, form)
        }
        Structured::LkjCholeskyCov | Structured::LkjCorr => {
            let message = format!(
                "`{}` is a prior of matrices; observed matrices are not supported",
                form.name()
            );
            Err(b.model.error(observed.s.distribution.span, message))
        }
        Structured::Mixture => mixture::observed(b, &site, y, observed),
        Structured::Censored | Structured::Interval => {
            panic!("distributions of single numbers were handled before")
        }
    }
}

/// Predicted vectors or categories.
pub(super) fn prediction(b: &mut Build<'_, '_>, s: &Sampled, dims: &[DimId]) -> Result<()> {
    let (form, site) = site(b, s, dims)?;
    match form {
        Structured::Categorical | Structured::CategoricalLogit => {
            category::draw(b, &site, dims, form, false)
        }
        Structured::OrderedLogistic | Structured::OrderedProbit => {
            levels::draw(b, &site, dims, form, false)
        }
        Structured::Dirichlet => shares::dirichlet_draw(b, &site, false),
        Structured::StickBreakingWeights => shares::sticks_draw(b, &site, false),
        Structured::Multinomial => counts::multinomial_draw(b, &site, false),
        Structured::DirichletMultinomial => counts::mixed_draw(b, &site, false),
        Structured::MvNormal | Structured::MvNormalCholesky => normal::draw(b, &site, false),
        Structured::MvStudentT | Structured::MvStudentTCholesky => student::draw(b, &site, false),
        Structured::ZeroSumNormal => normal::zero_sum_draw(b, &site, false),
        Structured::LkjCholeskyCov => lkj::covariance_draw(b, &site),
        Structured::LkjCorr => lkj::correlation_draw(b, &site),
        Structured::GaussianRandomWalk => series::walk_draw(b, &site, false),
        Structured::Ar => series::autoregressive_draw(b, &site, false),
        Structured::StopSignal | Structured::StopSignalExGaussian | Structured::WaldRace => {
            let message = format!(
                "`{}` is for observed trials; `fitzroy stop-signal` simulates them",
                form.name()
            );
            Err(b.model.error(s.distribution.span, message))
        }
        Structured::Mixture => mixture::draw(b, &site, false),
        Structured::Censored | Structured::Interval => {
            panic!("distributions of single numbers were handled before")
        }
    }
}

/// The distribution and where it stands; limits are refused.
fn site<'a>(b: &Build<'_, '_>, s: &'a Sampled, dims: &[DimId]) -> Result<(Structured, Site<'a>)> {
    let resolved = resolve(b.model.text(), &s.distribution)?;
    let Form::Structured(form) = resolved.form else {
        panic!("scalar distributions were handled before")
    };
    if s.limits.is_some() {
        let message = format!("`{}` cannot be truncated or bounded", form.name());
        return Err(b.model.error(s.distribution.span, message));
    }
    if s.ordered {
        let message = format!(
            "`ordered` needs a distribution of single numbers, not `{}`",
            form.name()
        );
        return Err(b.model.error(s.distribution.span, message));
    }
    Ok((form, Site::new(s, resolved, dims)))
}
