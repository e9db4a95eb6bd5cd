//! Functions of the language, by name.

use super::build::Build;
use crate::Result;
use crate::dist::{
    Real, ln_beta, ln_beta_shares, ln_choose, ln_gamma_shares, ln_hyp2f1, ln_ive, positive,
};
use crate::model::ast::{Call, Expr, ExprKind, Span};
use crate::model::functions::{self, Shape};
use fitzroy_graph::{Binary, DimId, Expr as Value, composed, covariance};

fn lit<'g>(x: f64) -> Value<'g> {
    Value::lit(x)
}

/// The value of a call; its arguments have been checked by name and number.
pub(super) fn call<'g>(b: &mut Build<'_, 'g>, call: &Call) -> Result<Value<'g>> {
    let name = call.name.text.as_str();
    let axis = call
        .arguments
        .iter()
        .find(|a| a.name.as_ref().is_some_and(|n| n.text == "axis"));
    let given = arguments(call);
    let function = functions::function(name).expect("checked before");
    match function.shape {
        Shape::Size => return size(b, given[0], given[1]),
        Shape::Matrix | Shape::OfDim => return b.matrix_function(call, &given),
        Shape::Lag => return b.lag(call.span, [given[0], given[1]], axis.map(|a| &a.value)),
        Shape::Ode => unreachable!("it stands alone in a definition"),
        Shape::Join => return b.concat(&given, axis.map(|a| &a.value), call.span),
        Shape::Elementwise | Shape::Reduction | Shape::Along | Shape::Dot => {}
    }
    let mut x = Vec::new();
    for argument in &given {
        x.push(b.value(argument)?);
    }
    if x.len() > 1 && function.shape != Shape::Dot {
        b.spread_to_all(&mut x, &given);
    }
    if x.len() > 1 && function.shape == Shape::Elementwise && name != "where" {
        for k in 1..x.len() {
            (x[0], x[k]) = b.fit_lists(x[0], x[k]);
        }
        let first = Ok(x[0]);
        let all = x[1..].iter();
        let all = all.fold(first, |sum, next| sum?.try_binary(Binary::Add, *next));
        all.map_err(|e| b.model.error(call.span, e))?;
    }
    if let Some(out) = elementwise(name, &x) {
        return Ok(out);
    }
    match name {
        "pow" => pairwise(b, Binary::Pow, &x, call.span),
        "clip" => {
            let low = pairwise(b, Binary::Max, &[x[0], x[1]], call.span)?;
            pairwise(b, Binary::Min, &[low, x[2]], call.span)
        }
        "where" => choice(b, &x, call.span),
        "dot" => b.product((x[0], given[0]), (x[1], given[1]), call.span),
        "min" if x.len() > 1 => pairwise(b, Binary::Min, &x, call.span),
        "max" if x.len() > 1 => pairwise(b, Binary::Max, &x, call.span),
        "log_sum_exp" if x.len() > 1 => pairwise(b, Binary::LogAddExp, &x, call.span),
        _ => {
            let over = match axis {
                Some(axis) => vec![axis_dim(b, x[0], &axis.value)?],
                None => x[0].dims(),
            };
            let out = reduction(b, name, x[0], &over, call.span)?;
            Ok(b.adopted(&x[0].dims(), out))
        }
    }
}

/// The arguments in the order of the function's parameters, `axis` left out except for `size`.
fn arguments(call: &Call) -> Vec<&Expr> {
    let function = functions::function(&call.name.text).expect("checked before");
    let mut slots: Vec<Option<&Expr>> = vec![None; function.parameters.len()];
    let mut more = Vec::new();
    for (k, argument) in call.arguments.iter().enumerate() {
        match function.slot(k, argument) {
            Some(slot) => slots[slot] = Some(&argument.value),
            None if argument.name.is_none() => more.push(&argument.value),
            None => {}
        }
    }
    slots.into_iter().flatten().chain(more).collect()
}

/// The elementwise function called `name`, of arguments already checked; `None` when the
/// function is of another shape.
pub fn elementwise<'g>(name: &str, x: &[Value<'g>]) -> Option<Value<'g>> {
    let a = *x.first()?;
    Some(match name {
        "exp" => a.exp(),
        "log" => a.ln(),
        "log1p" => a.ln_1p(),
        "expm1" => a.exp_m1(),
        "log2" => a.ln() * lit(std::f64::consts::LOG2_E),
        "log10" => a.ln() * lit(std::f64::consts::LOG10_E),
        "sqrt" => a.sqrt(),
        "square" => a * a,
        "abs" => a.abs(),
        "sin" => a.sin(),
        "cos" => a.cos(),
        "tan" => a.tan(),
        "asin" => a.asin(),
        "acos" => a.acos(),
        "atan" => a.atan(),
        "sinh" => a.sinh(),
        "cosh" => a.cosh(),
        "tanh" => a.tanh(),
        "erf" => a.erf(),
        "erfc" => a.erfc(),
        "logit" => a.ln() - (-a).ln_1p(),
        "inv_logit" => a.inv_logit(),
        "softplus" => a.softplus(),
        "lgamma" => a.lgamma(),
        "digamma" => a.digamma(),
        "log_ndtr" => a.log_ndtr(),
        _ => {
            return match x {
                [a, b, c, z] if name == "hyp2f1" => Some(ln_hyp2f1(*a, *b, *c, *z).exp()),
                [a, b, x] if name == "beta_inc" => Some(beta_inc(*a, *b, *x)),
                [x, y] if by_integrals(name) => Some(of_pair(name, *x, *y)),
                [x, y] => composed::of_two(name, *x, *y).or_else(|| covariance(name, a, &[*y])),
                [x, y, z] if name == "voigt_profile" => composed::of_three(name, *x, *y, *z),
                [x, more @ ..] if !more.is_empty() => covariance(name, *x, more),
                _ => composed::of_one(name, a),
            };
        }
    })
}

/// Whether `name` is a function of [`of_pair`].
fn by_integrals(name: &str) -> bool {
    matches!(
        name,
        "gamma_inc" | "gamma_incc" | "log_beta" | "log_choose" | "iv" | "ive"
    )
}

/// Functions of two numbers by integrals of Euler.
fn of_pair<'g>(name: &str, a: Value<'g>, x: Value<'g>) -> Value<'g> {
    match name {
        "gamma_inc" => ln_gamma_shares(positive(a), x).0.exp(),
        "gamma_incc" => ln_gamma_shares(positive(a), x).1.exp(),
        "log_beta" => ln_beta(a, x),
        "log_choose" => ln_choose(a, x),
        "iv" => (ln_ive(order(a), x) + x).exp(),
        "ive" => ln_ive(order(a), x).exp(),
        other => panic!("function `{other}` is none of two numbers by an integral"),
    }
}

/// The order of I_v that stands for v: I₋ₙ = Iₙ of whole n.
fn order<'g>(v: Value<'g>) -> Value<'g> {
    v.floor().equals(v).select(v.abs(), v)
}

fn beta_inc<'g>(a: Value<'g>, b: Value<'g>, x: Value<'g>) -> Value<'g> {
    ln_beta_shares(positive(a), positive(b), x, lit(1.0) - x)
        .0
        .exp()
}

fn pairwise<'g>(b: &Build<'_, 'g>, op: Binary, x: &[Value<'g>], span: Span) -> Result<Value<'g>> {
    let mut out = x[0];
    for &next in &x[1..] {
        let next = b.fit_list(next, &out.dims());
        let first = b.fit_list(out, &next.dims());
        out = first
            .try_binary(op, next)
            .map_err(|e| b.model.error(span, e))?;
    }
    Ok(out)
}

/// `x[0]` decides between `x[1]` and `x[2]`; the dims are those of all three, decided or not.
fn choice<'g>(b: &Build<'_, 'g>, x: &[Value<'g>], span: Span) -> Result<Value<'g>> {
    let nodes = [0, 1, 2].map(|k| b.scope.node(x[k]));
    let dims = b.scope.with(|g| {
        let both = g.combined_dims(nodes[1], nodes[2])?;
        let wide = g.broadcast(nodes[1], &both);
        g.combined_dims(nodes[0], wide)
    });
    let dims = dims.map_err(|e| b.model.error(span, e))?;
    let out = x[0].try_select(x[1], x[2]);
    let out = out.map_err(|e| b.model.error(span, e))?;
    Ok(out.broadcast(b.scope, &dims))
}

/// The dim that `axis=...` names, which the argument must have.
pub(super) fn axis_dim<'g>(b: &mut Build<'_, 'g>, x: Value<'g>, axis: &Expr) -> Result<DimId> {
    let dims = x.dims();
    if let ExprKind::Name(name) = &axis.kind {
        let found = b
            .scope
            .with(|g| dims.iter().copied().find(|&d| g.dim_info(d).name == *name));
        if let Some(dim) = found {
            return Ok(dim);
        }
        let sliced = format!("{name}[:");
        let found = b.scope.with(|g| {
            dims.iter()
                .copied()
                .find(|&d| g.dim_info(d).name.starts_with(&sliced))
        });
        if let Some(dim) = found {
            return Ok(dim);
        }
        let has = b.scope.with(|g| g.describe_dims(&dims));
        return Err(b.model.error(
            axis.span,
            format!("no dim `{name}` here: the argument has {has}"),
        ));
    }
    let at = b.number(axis)?;
    let place = if at < 0.0 { at + dims.len() as f64 } else { at };
    match dims.get(place as usize) {
        Some(&dim) if place >= 0.0 && place.fract() == 0.0 => Ok(dim),
        _ => {
            let n = dims.len();
            Err(b.model.error(
                axis.span,
                format!("axis {at} is outside: the argument has {n} dims"),
            ))
        }
    }
}

/// Σ eˣ over `over`, in logarithms, safe from overflow.
pub(super) fn log_sum_exp<'g>(b: &Build<'_, 'g>, x: Value<'g>, over: &[DimId]) -> Value<'g> {
    let node = b.scope.node(x);
    let peak = b.scope.expr(b.scope.with(|g| g.max_over(node, over)));
    peak + (x - peak).exp().sum_over(over).ln()
}

fn reduction<'g>(
    b: &Build<'_, 'g>,
    name: &str,
    x: Value<'g>,
    over: &[DimId],
    span: Span,
) -> Result<Value<'g>> {
    let scope = b.scope;
    let x = scope.expr(scope.node(x));
    let count = scope.with(|g| g.len_of(over)) as f64;
    let largest = |x: Value<'g>| {
        let node = scope.node(x);
        scope.expr(scope.with(|g| g.max_over(node, over)))
    };
    let variance = || {
        let deviation = x - x.sum_over(over) * lit(1.0 / count);
        (deviation * deviation).sum_over(over) * lit(1.0 / (count - 1.0))
    };
    Ok(match name {
        "sum" => x.sum_over(over),
        "mean" => x.sum_over(over) * lit(1.0 / count),
        "var" => variance(),
        "sd" => variance().sqrt(),
        "norm" => {
            // Where it is 0, the root of another number is not taken.
            let squares = (x * x).sum_over(over);
            let zero = squares.equals(lit(0.0));
            let root = zero.select(lit(1.0), squares).sqrt();
            zero.select(lit(0.0), root)
        }
        "max" => largest(x),
        "min" => -largest(-x),
        "log_sum_exp" => log_sum_exp(b, x, over),
        "softmax" => (x - log_sum_exp(b, x, over)).exp(),
        "log_softmax" => x - log_sum_exp(b, x, over),
        "prod" => b.product_over(x, over),
        "any" => b.any_over(x, over),
        "all" => lit(1.0) - b.any_over(x.equals(lit(0.0)), over),
        "cumsum" => {
            let axis = one_axis(b, name, over, span)?;
            let node = scope.node(x);
            scope.expr(scope.with(|g| g.cum_sum(node, axis, false)))
        }
        "cumprod" => {
            let axis = one_axis(b, name, over, span)?;
            b.running_product(x, axis)
        }
        "sort" => {
            let axis = one_axis(b, name, over, span)?;
            b.sorted(x, axis, span)?
        }
        other => panic!("function `{other}` is in the table and has no meaning"),
    })
}

/// The one dim that a function goes along.
fn one_axis(b: &Build<'_, '_>, name: &str, over: &[DimId], span: Span) -> Result<DimId> {
    match over[..] {
        [axis] => Ok(axis),
        _ => {
            let message = format!("`{name}` goes along one dim; name it: `{name}(x, axis=dim)`");
            Err(b.model.error(span, message))
        }
    }
}

fn size<'g>(b: &mut Build<'_, 'g>, x: &Expr, axis: &Expr) -> Result<Value<'g>> {
    let value = b.value(x)?;
    let dim = axis_dim(b, value, axis)?;
    Ok(lit(b.scope.with(|g| g.size(dim)) as f64))
}
