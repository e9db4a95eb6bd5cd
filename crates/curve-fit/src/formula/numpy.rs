//! A formula as an expression of NumPy and `scipy.special`, for programs beside this one.

use super::Formula;
use fitzroy::model::ast::{BinaryOp, Call, Expr, ExprKind, Name, UnaryOp};
use fitzroy::{Error, Result};

/// Functions of another name there; `{0}`, `{1}`, ... are the arguments.
const ELSEWHERE: [(&str, &str); 26] = [
    ("abs", "np.abs({0})"),
    ("asin", "np.arcsin({0})"),
    ("acos", "np.arccos({0})"),
    ("atan", "np.arctan({0})"),
    ("asinh", "np.arcsinh({0})"),
    ("acosh", "np.arccosh({0})"),
    ("atanh", "np.arctanh({0})"),
    ("atan2", "np.arctan2({0}, {1})"),
    ("mod", "np.mod({0}, {1})"),
    ("round", "np.round({0})"),
    ("softplus", "np.logaddexp(0, {0})"),
    ("logit", "special.logit({0})"),
    ("inv_logit", "special.expit({0})"),
    ("lgamma", "special.gammaln({0})"),
    ("gamma", "special.gamma({0})"),
    ("digamma", "special.digamma({0})"),
    ("log_beta", "special.betaln({0}, {1})"),
    ("gamma_inc", "special.gammainc({0}, {1})"),
    ("gamma_incc", "special.gammaincc({0}, {1})"),
    ("beta_inc", "special.betainc({0}, {1}, {2})"),
    ("voigt_profile", "special.voigt_profile({0}, {1}, {2})"),
    ("pow", "({0})**({1})"),
    ("min", "np.minimum({0}, {1})"),
    ("max", "np.maximum({0}, {1})"),
    ("where", "np.where({0}, {1}, {2})"),
    ("clip", "np.clip({0}, {1}, {2})"),
];
/// Functions of NumPy, and of `scipy.special`, by the same name.
const NUMPY: [&str; 20] = [
    "exp", "log", "log1p", "expm1", "log2", "log10", "sqrt", "square", "sin", "cos", "tan", "sinh",
    "cosh", "tanh", "cbrt", "sign", "floor", "ceil", "trunc", "hypot",
];
const SPECIAL: [&str; 4] = ["erf", "erfc", "erfcx", "erfinv"];

impl Formula {
    /// The formula as statements and a value in Python: `np` is NumPy, `special` is `scipy.special`.
    ///
    /// # Errors
    /// Rust code, parameters with an index, and functions that have no counterpart there, by name.
    pub fn numpy(&self) -> Result<(Vec<(String, String)>, String)> {
        if self.is_code() {
            return Err(Error::usage("a curve that is Rust code has no text"));
        }
        let one = |(name, value): &(Name, Expr)| Ok((name.text.clone(), written(value)?));
        let lets = self.lets.iter().map(one).collect::<Result<_>>()?;
        Ok((lets, written(&self.value)?))
    }
}

fn written(e: &Expr) -> Result<String> {
    Ok(match &e.kind {
        ExprKind::Number(x) => format!("{x:?}"),
        ExprKind::Name(name) if name == "pi" => "np.pi".into(),
        ExprKind::Name(name) if name == "inf" => "np.inf".into(),
        ExprKind::Name(name) => name.clone(),
        ExprKind::Unary(UnaryOp::Neg, a) => format!("(-{})", written(a)?),
        ExprKind::Unary(UnaryOp::Not, a) => format!("({} == 0)", written(a)?),
        ExprKind::Binary(op, a, b) => {
            let sign = match op {
                BinaryOp::Pow => "**",
                BinaryOp::And => "&",
                BinaryOp::Or => "|",
                other => other.sign(),
            };
            format!("({} {sign} {})", written(a)?, written(b)?)
        }
        ExprKind::Call(call) => called(call)?,
        ExprKind::Index(..) | ExprKind::List(_) => {
            let message =
                "parameters with an index, as c[set], have no counterpart in a function of NumPy";
            return Err(Error::usage(message));
        }
    })
}

fn called(call: &Call) -> Result<String> {
    let name = call.name.text.as_str();
    let arguments = call.arguments.iter().map(|a| written(&a.value));
    let arguments: Vec<String> = arguments.collect::<Result<_>>()?;
    if let Some((_, text)) = ELSEWHERE.iter().find(|(known, _)| *known == name) {
        let fill = |text: String, (k, a): (usize, &String)| text.replace(&format!("{{{k}}}"), a);
        return Ok(arguments.iter().enumerate().fold((*text).into(), fill));
    }
    let module = match name {
        name if NUMPY.contains(&name) => "np",
        name if SPECIAL.contains(&name) => "special",
        _ => {
            return Err(Error::usage(format!(
                "`{name}` has no counterpart in NumPy or scipy.special that is known here"
            )));
        }
    };
    Ok(format!("{module}.{name}({})", arguments.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_written_with_the_names_of_numpy() {
        let written = |text: &str| Formula::parse(text).expect(text).numpy();
        let (lets, value) = written("let u = (x-m)/s; a*exp(-u^2/2) + atan(x)/pi").expect("known");
        assert_eq!(lets, [("u".to_string(), "((x - m) / s)".to_string())]);
        assert_eq!(
            value,
            "((a * np.exp(((-(u ** 2.0)) / 2.0))) + (np.arctan(x) / np.pi))"
        );
        let (_, value) = written("where(x < x0, a, b) + inv_logit(x)").expect("known");
        assert_eq!(value, "(np.where((x < x0), a, b) + special.expit(x))");
        let error = written("a*x + c[set]").expect_err("indexed").to_string();
        assert!(error.contains("index"), "{error}");
    }
}
