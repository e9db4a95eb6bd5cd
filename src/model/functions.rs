//! The functions an expression may call: one row each.

use super::ast::{Argument, Call};
use super::names::did_you_mean;
use super::source::error_at;
use crate::Result;

/// How a function treats its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Element by element; arguments broadcast over shared dims.
    Elementwise,
    /// One argument, reduced over `axis=dim` or over all dims; with several arguments, where the
    /// function allows them, element by element.
    Reduction,
    /// One argument, along `axis=dim` (which may be left out for a vector); dims stay.
    Along,
    /// The inner product of two vectors over their one dim.
    Dot,
    /// Of matrices and vectors as wholes.
    Matrix,
    /// Of a dim.
    OfDim,
    /// The length of axis `axis` (0-based) of its argument.
    Size,
    /// Arrays joined, along `axis=dim` where they have more than one dim.
    Join,
    /// One step before, along `axis=dim` (which may be left out if there is one dim).
    Lag,
    /// The solution of a differential equation at given times; it stands alone in a definition.
    Ode,
}

/// A function of the language.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// Its name.
    pub name: &'static str,
    /// Names of its arguments; `more` may follow when `variadic`.
    pub parameters: &'static [&'static str],
    /// Names of what may be given by name, and may be left out.
    pub options: &'static [&'static str],
    /// True when further arguments like the last may follow.
    pub variadic: bool,
    /// How it treats its arguments.
    pub shape: Shape,
    /// Its meaning, in a line.
    pub meaning: &'static str,
}

const fn f(
    name: &'static str,
    parameters: &'static [&'static str],
    meaning: &'static str,
) -> Function {
    Function {
        name,
        parameters,
        options: &[],
        variadic: false,
        shape: Shape::Elementwise,
        meaning,
    }
}

const AXIS: &[&str] = &["axis"];

/// What may be said about a differential equation beside its rate, start and times.
const OF_ODES: &[&str] = &["from", "add", "when", "rtol", "atol", "steps"];

const fn ode(name: &'static str, meaning: &'static str) -> Function {
    Function {
        options: OF_ODES,
        shape: Shape::Ode,
        ..f(name, &["rate", "start", "at"], meaning)
    }
}

const fn shaped(
    name: &'static str,
    shape: Shape,
    variadic: bool,
    meaning: &'static str,
) -> Function {
    Function {
        name,
        parameters: &["x"],
        options: AXIS,
        variadic,
        shape,
        meaning,
    }
}

const fn matrix(
    name: &'static str,
    parameters: &'static [&'static str],
    meaning: &'static str,
) -> Function {
    Function {
        shape: Shape::Matrix,
        ..f(name, parameters, meaning)
    }
}

/// All functions, in the order of the reference.
pub const FUNCTIONS: [Function; 81] = [
    f("exp", &["x"], "eˣ"),
    f("log", &["x"], "natural logarithm"),
    f("log1p", &["x"], "log(1 + x), accurate near 0"),
    f("expm1", &["x"], "eˣ − 1, accurate near 0"),
    f("log2", &["x"], "logarithm to base 2"),
    f("log10", &["x"], "logarithm to base 10"),
    f("sqrt", &["x"], "square root"),
    f("square", &["x"], "x²"),
    f("abs", &["x"], "absolute value"),
    f("sin", &["x"], "sine of radians"),
    f("cos", &["x"], "cosine of radians"),
    f("tan", &["x"], "tangent of radians"),
    f("asin", &["x"], "inverse sine, in radians"),
    f("acos", &["x"], "inverse cosine, in radians"),
    f("atan", &["x"], "inverse tangent, in radians"),
    f("sinh", &["x"], "hyperbolic sine"),
    f("cosh", &["x"], "hyperbolic cosine"),
    f("tanh", &["x"], "hyperbolic tangent"),
    f("asinh", &["x"], "inverse hyperbolic sine"),
    f("acosh", &["x"], "inverse hyperbolic cosine, from 1 on"),
    f(
        "atanh",
        &["x"],
        "inverse hyperbolic tangent, between −1 and 1",
    ),
    f(
        "atan2",
        &["y", "x"],
        "angle of the point (x, y) in radians, from −π to π",
    ),
    f("cbrt", &["x"], "cube root, of negative numbers too"),
    f("sign", &["x"], "−1, 0 or 1"),
    f("floor", &["x"], "greatest whole number that is no more"),
    f("ceil", &["x"], "least whole number that is no less"),
    f(
        "round",
        &["x"],
        "nearest whole number, the even one of two as near",
    ),
    f("mod", &["x", "y"], "x − y ⌊x/y⌋, which has the sign of y"),
    f("erf", &["x"], "error function"),
    f("erfc", &["x"], "1 − erf(x), accurate for large x"),
    f("erfcx", &["x"], "exp(x²) erfc(x)"),
    f("erfinv", &["y"], "the x with erf(x) = y"),
    f("logit", &["p"], "log(p / (1 − p))"),
    f("inv_logit", &["x"], "1 / (1 + e⁻ˣ)"),
    f("softplus", &["x"], "log(1 + eˣ)"),
    f("lgamma", &["x"], "log |Γ(x)|"),
    f("digamma", &["x"], "derivative of lgamma"),
    f(
        "log_ndtr",
        &["x"],
        "log Φ(x), of the standard normal distribution function",
    ),
    f(
        "ndtr",
        &["x"],
        "Φ(x), the standard normal distribution function",
    ),
    f("probit", &["p"], "the x with Φ(x) = p"),
    f("i0", &["x"], "modified Bessel function I₀"),
    f("i0e", &["x"], "exp(−|x|) I₀(x)"),
    f("log1m_exp", &["x"], "log(1 − eˣ), for x < 0"),
    f("log_diff_exp", &["a", "b"], "log(eᵃ − eᵇ), for a > b"),
    f("pow", &["x", "y"], "xʸ, the same as `x ^ y`"),
    f(
        "clip",
        &["x", "lower", "upper"],
        "x, no less than lower and no more than upper",
    ),
    f(
        "where",
        &["condition", "a", "b"],
        "a where the condition is not 0, otherwise b",
    ),
    f("exp_quad", &["d", "ls"], "covariance exp(−½ (d/ls)²)"),
    f("matern12", &["d", "ls"], "covariance exp(−s), s = |d|/ls"),
    f(
        "matern32",
        &["d", "ls"],
        "covariance (1 + s) exp(−s), s = √3 |d|/ls",
    ),
    f(
        "matern52",
        &["d", "ls"],
        "covariance (1 + s + s²/3) exp(−s), s = √5 |d|/ls",
    ),
    f(
        "rat_quad",
        &["d", "alpha", "ls"],
        "covariance (1 + (d/ls)²/(2 alpha))^(−alpha)",
    ),
    f(
        "periodic",
        &["d", "period", "ls"],
        "covariance exp(−½ (sin(π d/period)/ls)²)",
    ),
    shaped(
        "log_sum_exp",
        Shape::Reduction,
        true,
        "log Σ eˣ, of one array or of several",
    ),
    shaped("sum", Shape::Reduction, false, "sum"),
    shaped("mean", Shape::Reduction, false, "arithmetic mean"),
    shaped(
        "sd",
        Shape::Reduction,
        false,
        "standard deviation, divisor n − 1",
    ),
    shaped("var", Shape::Reduction, false, "variance, divisor n − 1"),
    shaped(
        "norm",
        Shape::Reduction,
        false,
        "√Σ x², with the slope 0 where it is 0",
    ),
    shaped(
        "min",
        Shape::Reduction,
        true,
        "least element, or the least of several arguments",
    ),
    shaped(
        "max",
        Shape::Reduction,
        true,
        "greatest element, or the greatest of several arguments",
    ),
    shaped("cumsum", Shape::Along, false, "running sum"),
    shaped("softmax", Shape::Along, false, "eˣ / Σ eˣ"),
    Function {
        options: AXIS,
        shape: Shape::Lag,
        ..f(
            "lag",
            &["x", "start"],
            "x one step before, and start before the first step",
        )
    },
    ode(
        "solve",
        "the solution at given times of the equation with this rate",
    ),
    ode(
        "solve_stiff",
        "the same for stiff equations, whose parts move at very different speeds",
    ),
    Function {
        name: "dot",
        parameters: &["a", "b"],
        options: &[],
        variadic: false,
        shape: Shape::Dot,
        meaning: "Σ a·b over the dim of two vectors, the same as `a @ b`",
    },
    Function {
        name: "size",
        parameters: &["x", "axis"],
        options: &[],
        variadic: false,
        shape: Shape::Size,
        meaning: "length of an axis (0-based) of an array",
    },
    Function {
        shape: Shape::OfDim,
        ..f(
            "positions",
            &["dim"],
            "0, 1, 2, …: where each element of a dim stands",
        )
    },
    shaped(
        "concat",
        Shape::Join,
        true,
        "numbers and arrays one after the other",
    ),
    matrix("transpose", &["x"], "rows and columns exchanged"),
    matrix("diagonal", &["x"], "the diagonal of a square matrix"),
    matrix(
        "diag",
        &["x"],
        "the matrix with the vector x on its diagonal",
    ),
    Function {
        shape: Shape::OfDim,
        ..f("identity", &["dim"], "the identity matrix over a dim twice")
    },
    matrix(
        "tril",
        &["x"],
        "the elements on and below the diagonal, zeros above",
    ),
    matrix(
        "outer",
        &["a", "b"],
        "the products of every element of a with every one of b",
    ),
    matrix(
        "cholesky",
        &["x"],
        "lower L with L Lᵀ = x, of a positive definite matrix",
    ),
    matrix(
        "solve_lower",
        &["L", "b"],
        "the x with L x = b, for a lower triangular L",
    ),
    matrix(
        "solve_upper",
        &["U", "b"],
        "the x with U x = b, for an upper triangular U",
    ),
    matrix(
        "cho_solve",
        &["L", "b"],
        "the x with L Lᵀ x = b, for a lower triangular L",
    ),
    matrix(
        "log_det",
        &["x"],
        "logarithm of the determinant of a positive definite matrix",
    ),
];

/// Names other languages use, and ours.
const ELSEWHERE: [(&str, &str); 63] = [
    ("ode_rk45", "solve"),
    ("ode_bdf", "solve_stiff"),
    ("integrate_ode_rk45", "solve"),
    ("integrate_ode_bdf", "solve_stiff"),
    ("odeint", "solve"),
    ("solve_ivp", "solve"),
    ("ln", "log"),
    ("sigmoid", "inv_logit"),
    ("expit", "inv_logit"),
    ("invlogit", "inv_logit"),
    ("arcsin", "asin"),
    ("arccos", "acos"),
    ("arctan", "atan"),
    ("gammaln", "lgamma"),
    ("loggamma", "lgamma"),
    ("logsumexp", "log_sum_exp"),
    ("logaddexp", "log_sum_exp"),
    ("log1p_exp", "softplus"),
    ("fabs", "abs"),
    ("absolute", "abs"),
    ("power", "pow"),
    ("maximum", "max"),
    ("minimum", "min"),
    ("std", "sd"),
    ("switch", "where"),
    ("ifelse", "where"),
    ("inner", "dot"),
    ("normcdf", "ndtr"),
    ("norm_cdf", "ndtr"),
    ("phi", "ndtr"),
    ("invprobit", "ndtr"),
    ("ndtri", "probit"),
    ("inv_phi", "probit"),
    ("arcsinh", "asinh"),
    ("arccosh", "acosh"),
    ("arctanh", "atanh"),
    ("arctan2", "atan2"),
    ("sgn", "sign"),
    ("shift", "lag"),
    ("scan", "lag"),
    ("chol", "cholesky"),
    ("cholesky_decompose", "cholesky"),
    ("solve_triangular", "solve_lower"),
    ("mdivide_left_tri_low", "solve_lower"),
    ("cholesky_solve", "cho_solve"),
    ("logdet", "log_det"),
    ("slogdet", "log_det"),
    ("log_determinant", "log_det"),
    ("eye", "identity"),
    ("identity_matrix", "identity"),
    ("diag_matrix", "diag"),
    ("matmul", "@"),
    ("mdot", "@"),
    ("rbf", "exp_quad"),
    ("squared_exponential", "exp_quad"),
    ("expquad", "exp_quad"),
    ("euclidean_norm", "norm"),
    ("concatenate", "concat"),
    ("append_row", "concat"),
    ("append_col", "concat"),
    ("stack", "concat"),
    ("arange", "positions"),
    ("linspaced_vector", "positions"),
];

/// The function called `name`.
pub fn function(name: &str) -> Option<&'static Function> {
    FUNCTIONS.iter().find(|f| f.name == name)
}

impl Function {
    /// How to call it: `clip(x, lower, upper)`.
    pub fn usage(&self) -> String {
        if self.shape == Shape::Join {
            return format!("{}(a, b, ..., axis=dim)", self.name);
        }
        let more = if self.variadic { ", ..." } else { "" };
        let option = |name: &&str| match *name {
            "axis" => ", axis=dim".into(),
            other => format!(", {other}="),
        };
        let options: String = self.options.iter().map(option).collect();
        format!(
            "{}({}{options}{more})",
            self.name,
            self.parameters.join(", ")
        )
    }

    /// The parameter that an argument is for, by its name or else by its position.
    pub fn slot(&self, position: usize, argument: &Argument) -> Option<usize> {
        match &argument.name {
            None => Some(position).filter(|p| *p < self.parameters.len()),
            Some(name) => self.parameters.iter().position(|p| *p == name.text),
        }
    }

    /// True when `axis=dim` may be given.
    pub fn takes_axis(&self) -> bool {
        self.options.contains(&"axis")
    }
}

/// The argument of a call, checked before, that is for the parameter or option `name`.
pub fn argument<'c>(call: &'c Call, name: &str) -> Option<&'c super::ast::Expr> {
    let slot = function(&call.name.text)?
        .parameters
        .iter()
        .position(|p| *p == name);
    let is = |(position, argument): &(usize, &Argument)| match &argument.name {
        Some(own) => own.text == name,
        None => slot == Some(*position),
    };
    let mut arguments = call.arguments.iter().enumerate();
    arguments.find(is).map(|(_, argument)| &argument.value)
}

/// What the function that other languages call `name` is called here.
pub fn known_elsewhere(name: &str) -> Option<&'static str> {
    let known = |(theirs, _): &&(&str, &str)| name.eq_ignore_ascii_case(theirs);
    ELSEWHERE.iter().find(known).map(|(_, ours)| *ours)
}

/// What to say about a function that does not exist.
pub fn unknown(name: &str) -> String {
    let advice = match known_elsewhere(name) {
        Some(ours) => format!("; it is called `{ours}` here"),
        None => did_you_mean(name, FUNCTIONS.iter().map(|f| f.name)),
    };
    format!("unknown function `{name}`{advice}")
}

/// Checks number and names of the arguments of `call`, a call of `function`.
///
/// # Errors
/// Names what is missing, given twice or unknown, and how the function is called.
pub fn check_arguments(text: &str, function: &Function, call: &Call) -> Result<()> {
    let usage = function.usage();
    let mut given = vec![false; function.parameters.len()];
    let mut extra = 0;
    for (position, argument) in call.arguments.iter().enumerate() {
        let slot = match (function.slot(position, argument), &argument.name) {
            (_, Some(name)) if function.options.contains(&name.text.as_str()) => {
                let (before, same) = (&call.arguments[..position], |a: &Argument| {
                    a.name.as_ref().is_some_and(|n| n.text == name.text)
                });
                if before.iter().any(same) {
                    let message = format!("argument `{}` is given twice", name.text);
                    return Err(error_at(text, name.span, message));
                }
                continue;
            }
            (Some(slot), _) => slot,
            (None, None) if function.variadic => {
                extra += 1;
                continue;
            }
            (None, None) => {
                let n = call.arguments.len();
                let message = format!(
                    "`{}` got {n} arguments; it is called as `{usage}`",
                    function.name
                );
                return Err(error_at(text, argument.value.span, message));
            }
            (None, Some(name)) => {
                let message = format!(
                    "`{}` has no argument `{}`; it is called as `{usage}`",
                    function.name, name.text
                );
                return Err(error_at(text, name.span, message));
            }
        };
        if std::mem::replace(&mut given[slot], true) {
            let message = format!("argument `{}` is given twice", function.parameters[slot]);
            return Err(error_at(text, argument.value.span, message));
        }
    }
    if let Some(missing) = given.iter().position(|g| !g) {
        let message = format!(
            "`{}` lacks its argument `{}`; it is called as `{usage}`",
            function.name, function.parameters[missing]
        );
        return Err(error_at(text, call.span, message));
    }
    let axis = call
        .arguments
        .iter()
        .find(|a| a.name.as_ref().is_some_and(|n| n.text == "axis"));
    match axis {
        Some(axis) if extra > 0 && function.shape == Shape::Reduction => {
            let message = format!("`{}` of several arguments takes no axis", function.name);
            Err(error_at(text, axis.value.span, message))
        }
        _ => Ok(()),
    }
}
