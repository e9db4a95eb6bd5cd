//! The table of functions: one row each.

use super::{Function, Shape};

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

const fn along(name: &'static str, meaning: &'static str) -> Function {
    shaped(name, Shape::Along, false, meaning)
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
pub const FUNCTIONS: [Function; 112] = [
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
    f("trunc", &["x"], "the whole number towards 0"),
    f(
        "round",
        &["x"],
        "nearest whole number, the even one of two as near",
    ),
    f("mod", &["x", "y"], "x − y ⌊x/y⌋, which has the sign of y"),
    f(
        "hypot",
        &["x", "y"],
        "√(x² + y²), with the slope 0 where it is 0",
    ),
    f("erf", &["x"], "error function"),
    f("erfc", &["x"], "1 − erf(x), accurate for large x"),
    f("erfcx", &["x"], "exp(x²) erfc(x)"),
    f("erfinv", &["y"], "the x with erf(x) = y"),
    f("logit", &["p"], "log(p / (1 − p))"),
    f("inv_logit", &["x"], "1 / (1 + e⁻ˣ)"),
    f("softplus", &["x"], "log(1 + eˣ)"),
    f("gamma", &["x"], "gamma function Γ(x)"),
    f("lgamma", &["x"], "log |Γ(x)|"),
    f("digamma", &["x"], "derivative of lgamma"),
    f("log_beta", &["a", "b"], "log of the beta function B(a, b)"),
    f("log_choose", &["n", "k"], "log of “n over k”"),
    f(
        "gamma_inc",
        &["a", "x"],
        "regularised lower incomplete gamma function P(a, x)",
    ),
    f(
        "gamma_incc",
        &["a", "x"],
        "1 − P(a, x), accurate for large x",
    ),
    f(
        "beta_inc",
        &["a", "b", "x"],
        "regularised incomplete beta function Iₓ(a, b)",
    ),
    f(
        "hyp2f1",
        &["a", "b", "c", "z"],
        "Gauss's hypergeometric function ₂F₁(a, b; c; z), for 0 < a, b, the smaller below c, and z < 1",
    ),
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
    f("i1", &["x"], "modified Bessel function I₁"),
    f("i1e", &["x"], "exp(−|x|) I₁(x)"),
    f(
        "iv",
        &["v", "x"],
        "modified Bessel function Iᵥ, for v ≥ 0 or whole, and x ≥ 0",
    ),
    f("ive", &["v", "x"], "e⁻ˣ Iᵥ(x)"),
    f("j0", &["x"], "Bessel function J₀"),
    f("j1", &["x"], "Bessel function J₁"),
    f("y0", &["x"], "Bessel function Y₀, for x > 0"),
    f("y1", &["x"], "Bessel function Y₁, for x > 0"),
    f("k0", &["x"], "modified Bessel function K₀, for x > 0"),
    f("k1", &["x"], "modified Bessel function K₁, for x > 0"),
    f(
        "wofz_real",
        &["x", "y"],
        "real part of the Faddeeva function w(x + iy)",
    ),
    f(
        "wofz_imag",
        &["x", "y"],
        "imaginary part of the Faddeeva function w(x + iy)",
    ),
    f(
        "voigt_profile",
        &["x", "sigma", "gamma"],
        "normal density of scale sigma convolved with a Cauchy density of scale gamma",
    ),
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
    shaped("prod", Shape::Reduction, false, "product"),
    shaped("any", Shape::Reduction, false, "1 if any element is not 0"),
    shaped("all", Shape::Reduction, false, "1 if no element is 0"),
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
    along("cumsum", "running sum"),
    along("cumprod", "running product"),
    along("sort", "the elements in ascending order"),
    along("softmax", "eˣ / Σ eˣ"),
    along("log_softmax", "x − log Σ eˣ"),
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
        "linear_solve",
        &["A", "b"],
        "the x with A x = b, for any square matrix A that is not singular",
    ),
    matrix("inverse", &["A"], "the matrix B with A B = identity"),
    matrix(
        "log_abs_det",
        &["A"],
        "logarithm of the absolute determinant of any square matrix",
    ),
    matrix(
        "log_det",
        &["x"],
        "logarithm of the determinant of a positive definite matrix",
    ),
];
