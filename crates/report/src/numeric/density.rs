//! Densities of draws: a Gaussian kernel for real numbers, shares for whole ones.

use fitzroy::diagnose::{ascending, quantile_of_sorted, sd};

/// Points of a density.
const POINTS: usize = 512;
/// Whole numbers that span more than this many values get a curve instead of bars.
const BARS_MAX: f64 = 60.0;

/// A density as a curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Density {
    /// Places, equally far apart.
    pub x: Vec<f64>,
    /// Density there, per unit of x.
    pub y: Vec<f64>,
}

/// The density of `draws`, estimated with a Gaussian kernel of width
/// 0.9 · min(sd, IQR/1.34) · n^(−1/5) (Silverman, 1986) on 512 points.
///
/// Draws that are all above 0 and come within a kernel's width of it are taken to be bounded
/// there, and so are draws in (0, 1) at 1: the curve is mirrored at the bound instead of leaking over it.
/// None for draws that are constant, hold a number that is not finite, or are fewer than two.
pub fn density(draws: &[f64]) -> Option<Density> {
    estimate(draws, None)
}

/// [`density`] of a part of `all`, which say whether there is a bound: a chain that happens to stay
/// above 0 has none where others go below it.
pub fn density_among(draws: &[f64], all: &[f64]) -> Option<Density> {
    let least = all.iter().copied().fold(f64::INFINITY, f64::min);
    let most = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    estimate(draws, Some([least, most]))
}

fn estimate(draws: &[f64], all: Option<[f64; 2]>) -> Option<Density> {
    if draws.len() < 2 || !draws.iter().all(|v| v.is_finite()) {
        return None;
    }
    let sorted: Vec<f64> = ascending(draws).into_iter().map(|(v, _)| v).collect();
    let (low, high) = (sorted[0], sorted[sorted.len() - 1]);
    let middle = low / 2.0 + high / 2.0;
    let range = high - low;
    if !range.is_finite() || range <= 1e-14 * low.abs().max(high.abs()) {
        return None;
    }
    // Numbers as large as 1e300 have no square, so shares of the range are used.
    let scaled: Vec<f64> = sorted.iter().map(|v| (v - middle) / range).collect();
    let spread = quantile_of_sorted(&scaled, 0.75) - quantile_of_sorted(&scaled, 0.25);
    let width = match spread > 0.0 {
        true => sd(&scaled).min(spread / 1.34),
        false => sd(&scaled),
    };
    let width = (0.9 * width * (sorted.len() as f64).powf(-0.2)).max(1.0 / POINTS as f64);
    let [least, most] = all.unwrap_or([low, high]);
    let bounded_below = least > 0.0 && low / range < width;
    let bounded_above = least >= 0.0 && most < 1.0 && (1.0 - high) / range < width;
    let start = if bounded_below {
        -middle / range
    } else {
        -0.5 - 3.0 * width
    };
    let end = match bounded_above {
        true => (1.0 - middle) / range,
        false => 0.5 + 3.0 * width,
    };
    let step = (end - start) / (POINTS - 1) as f64;
    let mut bins = vec![0.0; POINTS];
    for v in &scaled {
        let place = (v - start) / step;
        let below = (place.floor() as usize).min(POINTS - 2);
        let share = place - below as f64;
        bins[below] += 1.0 - share;
        bins[below + 1] += share;
    }
    let smooth = convolve(&bins, width / step, bounded_below, bounded_above);
    let scale = 1.0 / (sorted.len() as f64 * step * range);
    Some(Density {
        x: (0..POINTS)
            .map(|i| middle + range * (start + step * i as f64))
            .collect(),
        y: smooth.iter().map(|v| v * scale).collect(),
    })
}

/// Bins smeared by a normal distribution of standard deviation `width` bins, mirrored at the ends
/// that are bounds.
fn convolve(bins: &[f64], width: f64, mirror_low: bool, mirror_high: bool) -> Vec<f64> {
    let n = bins.len() as isize;
    let reach = ((4.0 * width).ceil() as isize).min(n - 1);
    let kernel: Vec<f64> = (0..=reach)
        .map(|k| (-0.5 * (k as f64 / width).powi(2)).exp())
        .collect();
    let total = kernel[0] + 2.0 * kernel[1..].iter().sum::<f64>();
    let mut out = vec![0.0; bins.len()];
    // Both wings, so that what lies inside is one stretch.
    let wings: Vec<f64> = kernel[1..].iter().rev().chain(&kernel).copied().collect();
    for (i, &bin) in bins.iter().enumerate().filter(|(_, b)| **b > 0.0) {
        let i = i as isize;
        let mirrored = |out: &mut [f64], at: isize, k: isize| {
            if (0..n).contains(&at) {
                out[at as usize] += bin * kernel[k.unsigned_abs()] / total;
            }
        };
        if mirror_low {
            (-reach..-i).for_each(|k| mirrored(&mut out, -(i + k), k));
        }
        let (first, last) = ((i - reach).max(0), (i + reach).min(n - 1));
        let inside = &wings[(first - i + reach) as usize..=(last - i + reach) as usize];
        for (to, weight) in out[first as usize..=last as usize].iter_mut().zip(inside) {
            *to += bin * weight / total;
        }
        if mirror_high {
            (n - i..=reach).for_each(|k| mirrored(&mut out, 2 * (n - 1) - (i + k), k));
        }
    }
    // Half of the bin at a mirrored end lies outside, so its mass stands for twice the density.
    if mirror_low {
        out[0] *= 2.0;
    }
    if mirror_high {
        out[bins.len() - 1] *= 2.0;
    }
    out
}

/// True for draws that are all whole numbers over few values: they are shown as bars.
pub fn is_whole(draws: &[f64]) -> bool {
    let whole = |v: &f64| v.is_finite() && v.fract() == 0.0;
    if draws.is_empty() || !draws.iter().all(whole) {
        return false;
    }
    let low = draws.iter().copied().fold(f64::INFINITY, f64::min);
    let high = draws.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    low < high && high - low <= BARS_MAX
}

/// Whole numbers from the least to the greatest, with the share of draws at each.
pub fn counts(draws: &[f64]) -> Density {
    let low = draws.iter().copied().fold(f64::INFINITY, f64::min);
    let high = draws.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut y = vec![0.0; (high - low) as usize + 1];
    for v in draws {
        y[(v - low) as usize] += 1.0 / draws.len() as f64;
    }
    Density {
        x: (0..y.len()).map(|k| low + k as f64).collect(),
        y,
    }
}
