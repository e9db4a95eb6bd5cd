//! Whether the axes of a figure are logarithmic: by what is asked for, else by the data.

use fitzroy::Named;

/// Share of the rows that stand in the first tenth of an axis, from which powers of ten are better.
const CROWDED: f64 = 0.5;
/// The same across, where rows are chosen by whoever measures.
const CROWDED_ACROSS: f64 = 0.4;
/// Ratio of the greatest and the least number of a logarithmic axis, at least.
const DECADES: f64 = 100.0;

/// Which axes of a figure have powers of ten equally far apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Axes {
    /// As the data suggest: above 0, over two decades and more, with most rows crowded at the low end; upwards
    /// only for curves that rise or fall all the way.
    #[default]
    Auto,
    /// None.
    Linear,
    /// The one across.
    LogX,
    /// The one upwards.
    LogY,
    /// Both.
    LogLog,
}

impl Named for Axes {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("auto", Axes::Auto),
        ("linear", Axes::Linear),
        ("log-x", Axes::LogX),
        ("log-y", Axes::LogY),
        ("log-log", Axes::LogLog),
    ];
}

impl Axes {
    /// Whether the axes across and upwards are logarithmic, for some rows of x, y and the curve.
    pub(super) fn log(self, x: &[f64], y: &[f64], curve: &[f64]) -> [bool; 2] {
        let has_positive = |v: &[f64]| v.iter().any(|v| *v > 0.0 && v.is_finite());
        match self {
            Axes::Linear => [false; 2],
            Axes::LogX => [has_positive(x), false],
            Axes::LogY => [false, has_positive(y)],
            Axes::LogLog => [has_positive(x), has_positive(y)],
            Axes::Auto => {
                let up = is_crowded(y, CROWDED) && ratio(curve) >= DECADES && is_monotone(x, curve);
                [is_crowded(x, CROWDED_ACROSS), up]
            }
        }
    }
}

/// Greatest number over the least; 0 if not all are above 0.
fn ratio(values: &[f64]) -> f64 {
    let ends = values
        .iter()
        .fold([f64::INFINITY, 0.0f64], |[a, b], &v| [a.min(v), b.max(v)]);
    match ends[0] > 0.0 && ends[1].is_finite() {
        true => ends[1] / ends[0],
        false => 0.0,
    }
}

fn is_crowded(values: &[f64], share: f64) -> bool {
    if values.len() < 5 || ratio(values) < DECADES {
        return false;
    }
    let most = values.iter().copied().fold(0.0, f64::max);
    let low = values.iter().filter(|v| **v <= 0.1 * most).count();
    low as f64 >= share * values.len() as f64
}

/// Whether the curve rises, or falls, from row to row along x.
fn is_monotone(x: &[f64], curve: &[f64]) -> bool {
    let mut order: Vec<usize> = (0..x.len()).collect();
    order.sort_by(|&a, &b| x[a].total_cmp(&x[b]));
    let size = curve.iter().fold(0.0f64, |most, v| most.max(v.abs()));
    let steps = || order.windows(2).map(|w| curve[w[1]] - curve[w[0]]);
    let rises = steps().all(|d| d >= -1e-9 * size);
    rises || steps().all(|d| d <= 1e-9 * size)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn along(n: usize, f: impl Fn(f64) -> f64) -> Vec<f64> {
        (0..n).map(|i| f(i as f64 / (n - 1) as f64)).collect()
    }

    #[test]
    fn axes_are_logarithmic_where_linear_ones_would_crowd_the_rows() {
        let even = along(50, |t| 0.1 + 10.0 * t);
        let powers = along(50, |t| 10f64.powf(4.0 * t - 2.0));
        let decay = along(50, |t| 1e4 * (-12.0 * t).exp());
        let peak = along(50, |t| 0.01 + 10.0 * (-((t - 0.5) / 0.05).powi(2)).exp());
        let auto = |x: &[f64], y: &[f64]| Axes::Auto.log(x, y, y);
        assert_eq!(auto(&even, &even), [false, false]);
        assert_eq!(auto(&powers, &even), [true, false], "doses");
        assert_eq!(auto(&even, &decay), [false, true], "a decay");
        assert_eq!(auto(&even, &peak), [false, false], "a peak has a shape");
        assert_eq!(auto(&powers, &powers), [true, true], "a power law");
        let below: Vec<f64> = decay.iter().map(|y| y - 1.0).collect();
        assert_eq!(auto(&even, &below), [false, false], "values below 0");
        assert_eq!(Axes::LogLog.log(&even, &below, &below), [true, true]);
        assert_eq!(
            Axes::LogY.log(&even, &[-1.0, 0.0], &[1.0, 1.0]),
            [false, false]
        );
    }
}
