//! Normal vectors: MvNormal and ZeroSumNormal.

use super::super::build::Build;
use super::super::matrix::not_positive_definite;
use super::super::{Draw, observed::Observed};
use super::shares::SUM_TOLERANCE;
use super::site::{HALF_LN_TWO_PI, Site, Vector, lit};
use crate::Result;
use crate::dist::{Real, cholesky};
use crate::model::ast::Centring;
use fitzroy_graph::{DimId, Expr as Value};

/// Mean and Cholesky factor of the covariance, or location and that of the scale matrix.
pub(super) struct Moments<'g> {
    pub(super) mean: Value<'g>,
    pub(super) factor: Value<'g>,
}

/// The moments of a vector, its arguments `at` and the next.
pub(super) fn moments<'g>(
    b: &mut Build<'_, 'g>,
    site: &Site<'_>,
    v: &Vector,
    at: usize,
) -> Result<Moments<'g>> {
    let mean = b.given(site, at, &v.dims(), &[v.event])?;
    let matrix = b.matrix(site, at + 1, v)?;
    let name = site.resolved.form.args()[at + 1].name;
    let by_factor = name == "chol";
    if let Some(known) = b.scope.known(matrix) {
        let wrong = if by_factor {
            not_a_factor(&known, v.k)
        } else {
            let what = if name == "cov" { "covariance" } else { "scale" };
            not_positive_definite(&known, v.k).map(|why| format!("the {what} {why}"))
        };
        if let Some(wrong) = wrong {
            let e = site
                .given(at + 1)
                .expect("matrices were checked to be given");
            return Err(b.model.error(e.span, wrong));
        }
    }
    let node = b.scope.node(matrix);
    let factor = if by_factor {
        matrix
    } else if let Some(&factor) = b.factors.get(&node) {
        factor
    } else {
        b.scope.expr(b.scope.with(|g| g.cholesky(node)))
    };
    Ok(Moments { mean, factor })
}

/// What is wrong with a matrix as a Cholesky factor.
fn not_a_factor(m: &[f64], k: usize) -> Option<String> {
    let above = (0..k * k).any(|c| c % k > c / k && m[c] != 0.0);
    let diagonal = (0..k).all(|i| m[i * k + i] > 0.0);
    (above || !diagonal).then(|| {
        "a Cholesky factor has zeros above its diagonal and positive numbers on it; a covariance is given as `cov=`".into()
    })
}

/// Σ ln L\[i\]\[i\]
pub(super) fn log_diagonal<'g>(b: &Build<'_, 'g>, factor: Value<'g>) -> Value<'g> {
    let node = b.scope.node(factor);
    let diagonal = b.scope.expr(b.scope.with(|g| g.diagonal(node)));
    diagonal.ln().sum_all()
}

/// Σ ln L\[i\]\[i\] + (k/2) ln 2π
fn log_volume<'g>(b: &Build<'_, 'g>, factor: Value<'g>, v: &Vector) -> Value<'g> {
    log_diagonal(b, factor) + lit(v.k as f64 * HALF_LN_TWO_PI)
}

/// |L⁻¹ r|² for each vector r along the event dim.
pub(super) fn squares<'g>(
    b: &Build<'_, 'g>,
    factor: Value<'g>,
    r: Value<'g>,
    v: &Vector,
) -> Value<'g> {
    let z = solved(b, factor, r, v);
    let total = (z * z).sum_over(&[v.event]);
    if v.outer.len() > 1 {
        b.relabel(total, &v.outer)
    } else {
        total
    }
}

/// L⁻¹ r of each vector r along the event dim, as columns: all outer dims are one.
pub(super) fn solved<'g>(
    b: &Build<'_, 'g>,
    factor: Value<'g>,
    r: Value<'g>,
    v: &Vector,
) -> Value<'g> {
    let r = r.broadcast(b.scope, &v.dims());
    let own: Vec<DimId> = [v.event]
        .into_iter()
        .chain(v.outer.iter().copied())
        .collect();
    let mut columns = r.broadcast(b.scope, &own);
    if v.outer.len() > 1 {
        let n = b.scope.with(|g| g.len_of(&v.outer));
        let flat = b.scope.dim(&format!("columns of {n}"), n);
        columns = b.relabel(columns, &[v.event, flat]);
    }
    let (l, x) = (b.scope.node(factor), b.scope.node(columns));
    b.scope.expr(b.scope.with(|g| g.tri_solve(l, x, false)))
}

/// A normal vector: x = mu + L z of independent standard normal z, or itself if `@ centred`.
pub(super) fn parameter(b: &mut Build<'_, '_>, site: &Site<'_>) -> Result<()> {
    let v = b.vector(site, 1)?;
    let Moments { mean, factor } = moments(b, site, &v, 0)?;
    let u = b.coordinates_of(site.s, &v.dims());
    if site.s.centring == Centring::Centred {
        let u = b.or_given(site.s, u, |_, x| vec![x]);
        let kernel = lit(-0.5) * squares(b, factor, u - mean, &v);
        b.define(site.s, u, kernel - log_volume(b, factor, &v), &v.outer);
        return Ok(());
    }
    let kernel = lit(-0.5) * (u * u).sum_over(&[v.event]);
    let density = kernel - lit(v.k as f64 * HALF_LN_TWO_PI);
    define_moved(b, site, &v, Moments { mean, factor }, (u, density))?;
    if site.s.centring == Centring::Auto {
        b.latent(u, lit(0.0), lit(1.0));
    }
    Ok(())
}

/// x = mu + L u of coordinates u, and their density.
pub(super) fn define_moved<'g>(
    b: &mut Build<'_, 'g>,
    site: &Site<'_>,
    v: &Vector,
    Moments { mean, factor }: Moments<'g>,
    (u, density): (Value<'g>, Value<'g>),
) -> Result<()> {
    let twin = b.scope.with(|g| g.twin(v.event));
    let z = b.relabel(u, &v.with(twin));
    let (l, z) = (b.scope.node(factor), b.scope.node(z));
    let moved = b.scope.with(|g| g.contract(l, z, &[twin]))?;
    let moved = b.scope.expr(moved).broadcast(b.scope, &v.dims());
    let n_vectors = b.scope.with(|g| g.len_of(&v.outer)) as f64;
    b.volume(lit(n_vectors) * log_diagonal(b, factor));
    let x = (mean + moved).broadcast(b.scope, &v.dims());
    let x = b.or_given(site.s, x, |b, x| {
        let z = solved(b, factor, x - mean, v);
        let own: Vec<DimId> = [v.event]
            .into_iter()
            .chain(v.outer.iter().copied())
            .collect();
        let z = if v.outer.len() > 1 {
            b.relabel(z, &own)
        } else {
            z
        };
        vec![z.broadcast(b.scope, &v.dims())]
    });
    b.define(site.s, x, density, &v.outer);
    Ok(())
}

/// That observed numbers are finite.
pub(super) fn check_finite(b: &Build<'_, '_>, observed: Observed<'_>) -> Result<()> {
    if let Some(i) = observed.values.iter().position(|x| !x.is_finite()) {
        let why = format!("{} is observed; it must be finite", observed.values[i]);
        return Err(b.wrong_value(observed, i, &why));
    }
    Ok(())
}

/// Observed normal vectors. Where all have the same mean, only their number, average and scatter
/// enter the density.
pub(super) fn observed<'g>(
    b: &mut Build<'_, 'g>,
    site: &Site<'_>,
    y: Value<'g>,
    observed: Observed<'_>,
) -> Result<()> {
    let v = b.vector(site, 1)?;
    check_finite(b, observed)?;
    let of = moments(b, site, &v, 0)?;
    let rows = rows_given(b, &v, y, &of);
    let Moments { mean, factor } = of;
    let volume = log_volume(b, factor, &v);
    let shared = mean.dims().iter().all(|d| *d == v.event);
    let sum = scatter(observed.values, v.k)
        .filter(|_| shared)
        .map(|scatter| shared_sum(b, site, &v, (mean, factor, volume), scatter));
    b.vector_term(observed, &v.outer, rows, sum);
    draw(b, site, true)
}

/// Number of rows, their average, and a square root of Σ (y − average)(y − average)ᵀ.
struct Scatter {
    n: f64,
    average: Vec<f64>,
    root: Vec<f64>,
}

/// `None` where there are too few rows, or nearly dependent columns.
fn scatter(values: &[f64], k: usize) -> Option<Scatter> {
    let n = values.len() / k;
    if n <= k {
        return None;
    }
    let mut average = vec![0.0; k];
    for row in values.chunks(k) {
        average.iter_mut().zip(row).for_each(|(a, x)| *a += x);
    }
    average.iter_mut().for_each(|a| *a /= n as f64);
    let mut sums = vec![0.0; k * k];
    for row in values.chunks(k) {
        for i in 0..k {
            for j in 0..k {
                sums[i * k + j] += (row[i] - average[i]) * (row[j] - average[j]);
            }
        }
    }
    let root = cholesky(&sums, k);
    let sound = (0..k).all(|i| root[i * k + i] > 1e-6 * sums[i * k + i].sqrt());
    sound.then_some(Scatter {
        n: n as f64,
        average,
        root,
    })
}

/// −½ (|L⁻¹ A|² + n |L⁻¹ (average − mu)|²) − n ln volume, with A Aᵀ the scatter.
fn shared_sum<'g>(
    b: &Build<'_, 'g>,
    site: &Site<'_>,
    v: &Vector,
    (mean, factor, volume): (Value<'g>, Value<'g>, Value<'g>),
    scatter: Scatter,
) -> Value<'g> {
    let column = b.scope.dim(&format!("{}: scatter", site.s.name), v.k);
    let root = b
        .scope
        .bound_data(&site.tag("scatter"), &[v.event, column], &scatter.root);
    let average = b
        .scope
        .bound_data(&site.tag("average"), &[v.event], &scatter.average);
    let n = lit(scatter.n);
    let off = average - mean;
    let square = |x: Value<'g>| {
        let (l, x) = (b.scope.node(factor), b.scope.node(x));
        let z = b.scope.expr(b.scope.with(|g| g.tri_solve(l, x, false)));
        (z * z).sum_all()
    };
    lit(-0.5) * (square(root) + n * square(off)) - n * volume
}

/// ln p of each vector of `y`.
fn rows_given<'g>(b: &Build<'_, 'g>, v: &Vector, y: Value<'g>, of: &Moments<'g>) -> Value<'g> {
    lit(-0.5) * squares(b, of.factor, y - of.mean, v) - log_volume(b, of.factor, v)
}

/// ln p of each vector of `y`.
pub(super) fn rows<'g>(
    b: &mut Build<'_, 'g>,
    site: &Site<'_>,
    v: &Vector,
    y: Value<'g>,
) -> Result<Value<'g>> {
    let of = moments(b, site, v, 0)?;
    Ok(rows_given(b, v, y, &of))
}

/// How one is drawn.
pub(super) fn drawing<'g>(
    b: &mut Build<'_, 'g>,
    site: &Site<'_>,
    v: &Vector,
) -> Result<(Draw, Vec<Value<'g>>)> {
    let Moments { mean, factor } = moments(b, site, v, 0)?;
    Ok((Draw::MvNormal, vec![of_vectors(b, mean, v), factor]))
}

pub(super) fn draw(b: &mut Build<'_, '_>, site: &Site<'_>, observed: bool) -> Result<()> {
    let v = b.vector(site, 1)?;
    let (draw, arguments) = drawing(b, site, &v)?;
    b.draw_vector(site, &v, draw, arguments, observed);
    Ok(())
}

/// `x` with the event dim as its last.
pub(super) fn of_vectors<'g>(b: &Build<'_, 'g>, x: Value<'g>, v: &Vector) -> Value<'g> {
    let own = x.dims();
    if own.contains(&v.event) {
        return x;
    }
    let dims: Vec<DimId> = own.into_iter().chain([v.event]).collect();
    x.broadcast(b.scope, &dims)
}

/// Normals given that they sum to 0: sigma times an orthonormal basis of that plane, or the
/// basis alone if `@ centred`. With s = Σu the vector is u − s/(√K + K), and last −s/√K.
pub(super) fn zero_sum_parameter(b: &mut Build<'_, '_>, site: &Site<'_>) -> Result<()> {
    let v = b.vector(site, 2)?;
    let sigma = b.given(site, 0, &v.outer, &[])?;
    let part = b.all_but_one(&v);
    let len = b.scope.with(|g| g.len_of(&v.with(part)));
    let u = b.coordinates_over(site.s, &v.dims(), &v.with(part), len);
    let root = (v.k as f64).sqrt();
    let s = u.sum_over(&[part]);
    let first = u - s * lit(1.0 / (root + v.k as f64));
    let basis = b.place(&v, first, 0) + b.place_one(&v, s * lit(-1.0 / root), v.k - 1);
    let kernel = lit(-0.5) * (u * u).sum_over(&[part]);
    let n_free = (v.k - 1) as f64;
    let (x, density) = if site.s.centring == Centring::Centred {
        let volume = lit(n_free) * (sigma.ln() + lit(HALF_LN_TWO_PI));
        (basis, kernel / (sigma * sigma) - volume)
    } else {
        let volume = lit(n_free) * sigma.ln();
        b.volume(volume.broadcast(b.scope, &v.outer));
        (sigma * basis, kernel - lit(n_free * HALF_LN_TWO_PI))
    };
    let x = x.broadcast(b.scope, &v.dims());
    let x = b.or_given(site.s, x, |b, x| {
        let basis = match site.s.centring {
            Centring::Centred => x,
            _ => x / sigma,
        };
        // Its last element is −s/√K.
        let s = b.element(basis, v.event, v.k - 1) * lit(-root);
        let u = b.slice(basis, v.event, 0, v.k - 1) + s * lit(1.0 / (root + v.k as f64));
        vec![u.broadcast(b.scope, &v.with(part))]
    });
    b.define(site.s, x, density, &v.outer);
    Ok(())
}

/// Observed vectors that sum to 0: −½ |y|²/sigma² − (K − 1)(ln sigma + ½ ln 2π).
pub(super) fn zero_sum_observed<'g>(
    b: &mut Build<'_, 'g>,
    site: &Site<'_>,
    y: Value<'g>,
    observed: Observed<'_>,
) -> Result<()> {
    let v = b.vector(site, 2)?;
    for (i, row) in observed.values.chunks(v.k).enumerate() {
        let (total, size) = (
            row.iter().sum::<f64>(),
            row.iter().map(|x| x.abs()).sum::<f64>(),
        );
        if total.is_nan() || total.abs() > SUM_TOLERANCE * size.max(1.0) {
            let why = format!("these numbers sum to {total}, not to 0");
            return Err(b.wrong_row(observed, &v, i, &why));
        }
    }
    let sigma = b.given(site, 0, &v.outer, &[])?;
    let z = y / sigma;
    let n_free = lit((v.k - 1) as f64);
    let rows =
        lit(-0.5) * (z * z).sum_over(&[v.event]) - n_free * (sigma.ln() + lit(HALF_LN_TWO_PI));
    b.vector_term(observed, &v.outer, rows, None);
    zero_sum_draw(b, site, true)
}

pub(super) fn zero_sum_draw(b: &mut Build<'_, '_>, site: &Site<'_>, observed: bool) -> Result<()> {
    let v = b.vector(site, 2)?;
    let sigma = b.given(site, 0, &v.outer, &[])?;
    b.draw_vector(site, &v, Draw::ZeroSumNormal, vec![sigma], observed);
    Ok(())
}
