//! Correlation and covariance matrices: LKJCorr and LKJCholeskyCov.

use super::super::build::Build;
use super::super::drawing::Drawing;
use super::super::law::{Law, Of};
use super::super::sampled::{ends, transform, untransform};
use super::super::{Draw, TermKind};
use super::site::{Site, lit};
use crate::Result;
use crate::dist::{Real, ln_lkj_norm};
use fitzroy_graph::{DimId, Expr as Value};

/// A square matrix variable: its dims and size.
struct Square {
    rows: DimId,
    columns: DimId,
    k: usize,
}

fn square(b: &Build<'_, '_>, site: &Site<'_>) -> Result<Square> {
    let sizes: Vec<usize> = site
        .dims
        .iter()
        .map(|&d| b.scope.with(|g| g.size(d)))
        .collect();
    match (&site.dims[..], &sizes[..]) {
        (&[rows, columns], &[m, n]) if m == n && columns == b.scope.with(|g| g.twin(rows)) => {
            Ok(Square {
                rows,
                columns,
                k: n,
            })
        }
        _ => {
            let (name, of) = (&site.s.name, &site.s.distribution.name);
            let message = format!(
                "`{of}` gives one square matrix; declare it over one dim twice, as in `{name}[k, k]`"
            );
            Err(b.model.error(name.span, message))
        }
    }
}

/// What partial correlations make.
struct Factor<'g> {
    /// The Cholesky factor L of the correlation matrix.
    l: Value<'g>,
    /// The log density of their coordinates.
    density: Value<'g>,
    /// ln |dL/dv|, of the elements below the diagonal.
    log_jacobian: Value<'g>,
    /// ln L\[i\]\[i\] on the diagonal, 0 elsewhere.
    log_diagonal: Value<'g>,
}

/// The Cholesky factor of a correlation matrix from partial correlations tanh v, row by row below
/// the diagonal, and its log density over v.
///
/// Element (i, j) is tanh(v) e^(E/2), with E the sum of ln(1 − tanh² v) over the columns before;
/// on the diagonal e^(E/2). The density is that of LKJ(eta), Σ (k − i + 2 eta − 3) ln L\[i\]\[i\] less
/// its norm (rows i from 0), plus the logarithm of the Jacobian, Σ E/2 + ln(1 − tanh² v).
/// References: Lewandowski, Kurowicka and Joe, Journal of Multivariate Analysis 100 (2009); Stan
/// Reference Manual, "Cholesky factors of correlation matrices".
fn factor<'g>(
    b: &mut Build<'_, 'g>,
    site: &Site<'_>,
    m: &Square,
    v: Option<Value<'g>>,
    eta: Value<'g>,
) -> Factor<'g> {
    let k = m.k;
    let both = [m.rows, m.columns];
    let data = |what: &str, f: &dyn Fn(usize, usize) -> f64| {
        let values: Vec<f64> = (0..k * k).map(|c| f(c / k, c % k)).collect();
        b.scope.bound_data(&site.tag(what), &both, &values)
    };
    let unit = unit_matrix(b, site, m);
    let Some(v) = v else {
        return Factor {
            l: unit,
            density: -ln_lkj_norm(eta, k),
            log_jacobian: lit(0.0),
            log_diagonal: unit * lit(0.0),
        };
    };
    let below = below_diagonal(b, site, m);
    let v = spread(b, site, m, v);
    let two_v = lit(2.0) * v;
    let log_share = (two_v - lit(2.0) * two_v.softplus() + lit(4f64.ln())) * below;
    let node = b.scope.node(log_share);
    let running = b
        .scope
        .expr(b.scope.with(|g| g.cum_sum(node, m.columns, false)));
    let half_rest = lit(0.5) * (running - log_share);
    let l = (v.tanh() + unit) * half_rest.exp();
    let exponent = |i: usize| k as f64 - i as f64 - 3.0;
    let plain = data("exponents", &|i, j| {
        if i == j && i > 0 { exponent(i) } else { 0.0 }
    });
    let diagonal = data("diagonal", &|i, j| f64::from(i == j && i > 0));
    let lkj = (plain * half_rest).sum_all() + lit(2.0) * eta * (diagonal * half_rest).sum_all()
        - ln_lkj_norm(eta, k);
    let log_jacobian = (below * half_rest).sum_all() + log_share.sum_all();
    Factor {
        l,
        density: lkj + log_jacobian,
        log_jacobian,
        log_diagonal: unit * half_rest,
    }
}

/// Coordinates in their places below the diagonal, zeros elsewhere.
fn spread<'g>(b: &Build<'_, 'g>, site: &Site<'_>, m: &Square, v: Value<'g>) -> Value<'g> {
    let (k, n) = (m.k, m.k * (m.k - 1) / 2);
    let extended = b.scope.dim(&format!("{}: and 0", site.s.name), n + 1);
    let cells = b.scope.dim(&format!("{}: cells", site.s.name), k * k);
    let part = v.dims()[0];
    let node = b.scope.node(v);
    let longer = b.scope.with(|g| g.unslice(node, part, extended, 0));
    let at = |c: usize| {
        let (i, j) = (c / k, c % k);
        if j < i { i * (i - 1) / 2 + j } else { n }
    };
    let at: Vec<u32> = (0..k * k).map(|c| at(c) as u32).collect();
    let index = b
        .scope
        .bound_index(&site.tag("places"), cells, extended, &at);
    b.relabel(b.scope.expr(longer).gather(index), &[m.rows, m.columns])
}

/// The coordinates v of a given factor L with rows of length 1: artanh of its elements below the
/// diagonal over what the columns before leave of their rows; none if there are no such elements.
fn partial_correlations<'g>(
    b: &Build<'_, 'g>,
    site: &Site<'_>,
    m: &Square,
    l: Value<'g>,
) -> Option<Value<'g>> {
    let below = below_dim(b, site, m.k)?;
    let l = l.broadcast(b.scope, &[m.rows, m.columns]);
    let square = l * l;
    let node = b.scope.node(square);
    let running = b.scope.with(|g| g.cum_sum(node, m.columns, false));
    let left = lit(1.0) - (b.scope.expr(running) - square);
    let r = l / left.sqrt();
    let v = lit(0.5) * ((lit(1.0) + r).ln() - (lit(1.0) - r).ln());
    let cells = b.scope.dim(&format!("{}: cells", site.s.name), m.k * m.k);
    let at = (0..m.k).flat_map(|i| (0..i).map(move |j| (i * m.k + j) as u32));
    let at: Vec<u32> = at.collect();
    let index = b.scope.bound_index(&site.tag("below"), below, cells, &at);
    Some(b.relabel(v, &[cells]).gather(index))
}

/// L Lᵀ of rows of length 1, its diagonal exactly 1.
fn product<'g>(b: &Build<'_, 'g>, site: &Site<'_>, m: &Square, l: Value<'g>) -> Result<Value<'g>> {
    let inner = b.scope.dim(&format!("{}: inner", site.s.name), m.k);
    let left = b.scope.node(b.relabel(l, &[m.rows, inner]));
    let right = b.scope.node(b.relabel(l, &[m.columns, inner]));
    let all = b.scope.with(|g| g.contract(left, right, &[inner]))?;
    let unit = unit_matrix(b, site, m);
    Ok(unit.select(unit, b.scope.expr(all)))
}

fn unit_matrix<'g>(b: &Build<'_, 'g>, site: &Site<'_>, m: &Square) -> Value<'g> {
    let both = [m.rows, m.columns];
    let values = (0..m.k * m.k).map(|c| f64::from(c / m.k == c % m.k));
    let values: Vec<f64> = values.collect();
    b.scope.bound_data(&site.tag("unit matrix"), &both, &values)
}

/// A number for each row, on the diagonal.
fn weights<'g>(
    b: &Build<'_, 'g>,
    site: &Site<'_>,
    m: &Square,
    what: &str,
    of_row: impl Fn(usize) -> f64,
) -> Value<'g> {
    let cells = (0..m.k * m.k).map(|c| (c / m.k, c % m.k));
    let cells = cells.map(|(i, j)| if i == j { of_row(i) } else { 0.0 });
    let cells: Vec<f64> = cells.collect();
    let both = [m.rows, m.columns];
    b.scope.bound_data(&site.tag(what), &both, &cells)
}

/// 1 below the diagonal, 0 elsewhere.
fn below_diagonal<'g>(b: &Build<'_, 'g>, site: &Site<'_>, m: &Square) -> Value<'g> {
    let cells = (0..m.k * m.k).map(|c| f64::from(c % m.k < c / m.k));
    let cells: Vec<f64> = cells.collect();
    let both = [m.rows, m.columns];
    b.scope
        .bound_data(&site.tag("below the diagonal"), &both, &cells)
}

/// The dim of the elements below the diagonal; `None` if there are none.
fn below_dim(b: &Build<'_, '_>, site: &Site<'_>, k: usize) -> Option<DimId> {
    let n = k * (k - 1) / 2;
    (n > 0).then(|| b.scope.dim(&format!("{}: below", site.s.name), n))
}

/// A correlation matrix.
pub(super) fn correlation_parameter(b: &mut Build<'_, '_>, site: &Site<'_>) -> Result<()> {
    let m = square(b, site)?;
    let eta = b.given(site, 0, &[], &[])?;
    let v = match below_dim(b, site, m.k) {
        Some(part) => {
            let len = b.scope.with(|g| g.size(part));
            Some(b.coordinates_over(site.s, &site.dims, &[part], len))
        }
        None => None,
    };
    let Factor {
        l,
        density,
        log_jacobian,
        log_diagonal,
    } = factor(b, site, &m, v, eta);
    let matrix = product(b, site, &m, l)?;
    // From L to the correlations r, and to 2 artanh r, which lies on the whole line.
    let weights = weights(b, site, &m, "of correlations", |i| (m.k - 1 - i) as f64);
    let below = below_diagonal(b, site, &m);
    let line = (lit(0.5) * (lit(1.0) - below * matrix * matrix)).ln() * below;
    b.volume(log_jacobian + (weights * log_diagonal).sum_all() - line.sum_all());
    b.factors.insert(b.scope.node(matrix), l);
    let matrix = b.or_given(site.s, matrix, |b, matrix| {
        let node = b.scope.node(matrix);
        let l = b.scope.expr(b.scope.with(|g| g.cholesky(node)));
        partial_correlations(b, site, &m, l).into_iter().collect()
    });
    b.define(site.s, matrix, density, &[]);
    Ok(())
}

/// The distribution of the standard deviations, over the rows.
fn deviations<'g>(b: &mut Build<'_, 'g>, site: &Site<'_>, m: &Square) -> Result<Law<'g>> {
    let e = site.given(1).expect("`sd_dist` was checked to be given");
    let dims = [m.rows];
    let of = Of {
        name: &site.s.name,
        dims: &dims,
    };
    let law = b.part(e, of)?;
    let known = law.ends().lower.and_then(|v| b.scope.known(v));
    let positive = known.is_some_and(|v| v.iter().all(|x| *x >= 0.0));
    if !positive {
        let message = format!(
            "standard deviations are positive, but `{}` is not",
            law.name()
        );
        return Err(b.model.error(e.span, message));
    }
    Ok(law)
}

/// The Cholesky factor of a covariance matrix: standard deviations from their own distribution,
/// correlations from LKJ(eta). Records `NAME_corr` and `NAME_stds` beside it.
pub(super) fn covariance_parameter(b: &mut Build<'_, '_>, site: &Site<'_>) -> Result<()> {
    let m = square(b, site)?;
    let eta = b.given(site, 0, &[], &[])?;
    let law = deviations(b, site, &m)?;
    let rows = [m.rows];
    let u = b.coordinates_over(site.s, &site.dims, &rows, m.k);
    let (sd, log_slope) = transform(ends(&law, None), u);
    let sd = sd.broadcast(b.scope, &rows);
    let density = b.prior_density(site.s, &law, sd, None)? + log_slope;
    let density = density.broadcast(b.scope, &rows).sum_all();
    let v = below_dim(b, site, m.k).map(|part| b.more_coordinates(&[part]));
    let Factor {
        l: unit_rows,
        density: of_correlations,
        log_jacobian,
        log_diagonal,
    } = factor(b, site, &m, v, eta);
    // From the rows of length 1 and the sds to the elements below the diagonal and the logarithms of
    // those on it: sdⁱ/R² for row i from 0, R being the element on the diagonal of the former.
    let numbers: Vec<f64> = (0..m.k).map(|i| i as f64).collect();
    let numbers = b.scope.bound_data(&site.tag("rows"), &rows, &numbers);
    let of_scales = (numbers * sd.ln() + log_slope - sd.ln()).broadcast(b.scope, &rows);
    b.volume(log_jacobian + of_scales.sum_all() - lit(2.0) * log_diagonal.sum_all());
    let l = (unit_rows * sd).broadcast(b.scope, &site.dims);
    let l = b.or_given(site.s, l, |b, l| {
        let sd = (l * l).sum_over(&[m.columns]).sqrt();
        let u = untransform(ends(&law, None), sd).broadcast(b.scope, &rows);
        let v = partial_correlations(b, site, &m, l / sd);
        [u].into_iter().chain(v).collect()
    });
    b.give(site.s, l);
    b.term(
        &site.s.name.text,
        TermKind::Prior,
        density + of_correlations,
    );
    let correlations = product(b, site, &m, unit_rows)?;
    for (suffix, value) in [("corr", correlations), ("stds", sd)] {
        let name = format!("{}_{suffix}", site.s.name);
        if b.model.symbols().contains_key(&name) {
            let message = format!(
                "`{name}` is recorded beside `{}`; rename the one of your own",
                site.s.name
            );
            return Err(b.model.error(site.s.name.span, message));
        }
        let record = b.record(&name, value);
        b.recorded.push(record);
    }
    Ok(())
}

fn draw_matrix<'g>(b: &mut Build<'_, 'g>, site: &Site<'_>, draw: Draw, arguments: Vec<Value<'g>>) {
    b.draw(
        site.s,
        Drawing {
            draw,
            arguments,
            outer: &[],
            event: &site.dims,
            observed: false,
        },
    );
}

pub(super) fn correlation_draw(b: &mut Build<'_, '_>, site: &Site<'_>) -> Result<()> {
    square(b, site)?;
    let eta = b.given(site, 0, &[], &[])?;
    draw_matrix(b, site, Draw::LkjCorr, vec![eta]);
    Ok(())
}

pub(super) fn covariance_draw(b: &mut Build<'_, '_>, site: &Site<'_>) -> Result<()> {
    let m = square(b, site)?;
    let eta = b.given(site, 0, &[], &[])?;
    let (draw, own) = deviations(b, site, &m)?.drawing();
    let own = own.into_iter().map(|x| x.broadcast(b.scope, &[m.rows]));
    let arguments: Vec<Value<'_>> = [eta].into_iter().chain(own).collect();
    draw_matrix(b, site, Draw::LkjCholeskyCov(Box::new(draw)), arguments);
    Ok(())
}
