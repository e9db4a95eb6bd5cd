//! Curves as Rust code over values that record themselves, so that derivatives are exact.

use fitzroy::{Error, ErrorKind, Result};
use fitzroy_graph::Expr as Value;
use std::fmt;
use std::sync::Arc;

/// A curve as Rust code. Its value is computed with [`Value`]s, which note every operation: what
/// is done with them becomes a program with exact derivatives, compiled once. A branch on a number
/// is therefore written with `select` and not with `if`.
///
/// ```
/// use fitzroy_curve_fit::{Curve, CurveFit, Data, Expr, Options, Real, values};
/// struct Decay;
/// impl Curve for Decay {
///     fn parameters(&self) -> Vec<String> {
///         ["a", "b"].map(String::from).into()
///     }
///     fn value<'g>(&self, x: &[Expr<'g>], p: &[Expr<'g>]) -> Expr<'g> {
///         p[0] * (-p[1] * x[0]).exp()
///     }
/// }
/// let x: Vec<f64> = (0..50).map(|i| f64::from(i) * 0.1).collect();
/// let y: Vec<f64> = x.iter().map(|x| 2.0 * (-0.5 * x).exp()).collect();
/// let options = Options { p0: values([("b", 1.0)]), ..Options::default() };
/// let estimate = CurveFit::new(Decay)?.fit(&Data::new(&y).with("x", &x), &options)?;
/// assert!((estimate.popt[1] - 0.5).abs() < 1e-9);
/// # Ok::<(), fitzroy::Error>(())
/// ```
pub trait Curve: Send + Sync {
    /// Names of the parameters, in the order of `p`.
    fn parameters(&self) -> Vec<String>;

    /// The curve in a row: `x` are the columns of the data in their order, `p` the parameters.
    fn value<'g>(&self, x: &[Value<'g>], p: &[Value<'g>]) -> Value<'g>;
}

/// A curve with its names.
#[derive(Clone)]
pub(crate) struct Recorded {
    pub(crate) parameters: Vec<String>,
    pub(crate) curve: Arc<dyn Curve>,
}

impl fmt::Debug for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Recorded({})", self.parameters.join(", "))
    }
}

impl Recorded {
    pub(crate) fn new(curve: impl Curve + 'static) -> Result<Recorded> {
        let parameters = curve.parameters();
        let plain = |n: &String| {
            n.starts_with(|c: char| c.is_alphabetic() || c == '_')
                && n.chars().all(|c| c.is_alphanumeric() || c == '_')
        };
        let wrong = parameters.iter().find(|n| !plain(n));
        let twice = (1..parameters.len()).find(|&k| parameters[..k].contains(&parameters[k]));
        let message = match (wrong, twice) {
            _ if parameters.is_empty() => "a curve needs at least one parameter".to_string(),
            (Some(name), _) => format!("parameter `{name}`: a name is made of letters and digits"),
            (_, Some(k)) => format!("two parameters are called `{}`", parameters[k]),
            _ => {
                let curve = Arc::new(curve);
                return Ok(Recorded { parameters, curve });
            }
        };
        Err(Error::new(ErrorKind::Usage, message))
    }
}

/// A closure with names for its parameters.
pub(crate) struct Closure<F> {
    pub(crate) parameters: Vec<String>,
    pub(crate) value: F,
}

impl<F> Curve for Closure<F>
where
    F: for<'g> Fn(&[Value<'g>], &[Value<'g>]) -> Value<'g> + Send + Sync,
{
    fn parameters(&self) -> Vec<String> {
        self.parameters.clone()
    }

    fn value<'g>(&self, x: &[Value<'g>], p: &[Value<'g>]) -> Value<'g> {
        (self.value)(x, p)
    }
}
