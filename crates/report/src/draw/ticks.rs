//! Where ticks stand and how they are labelled.

/// Ticks of an axis: places and labels, ascending.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ticks {
    /// Places in the unit of the data.
    pub at: Vec<f64>,
    /// One label for each.
    pub labels: Vec<String>,
}

impl Ticks {
    /// About `n` ticks between `low` and `high`, at 1, 2 or 5 times a power of ten.
    pub fn linear(low: f64, high: f64, n: usize) -> Ticks {
        let step = nice_step((high / n.max(1) as f64) - (low / n.max(1) as f64));
        if !(step > 0.0 && step.is_finite()) {
            return Ticks::default();
        }
        let first = (low / step).ceil();
        let last = (high / step * (1.0 + 1e-12)).floor();
        if last - first > 1000.0 {
            return Ticks::default(); // The range is below the resolution of the numbers.
        }
        let count = (last - first).max(-1.0) as i64;
        let at: Vec<f64> = (0..=count).map(|k| (first + k as f64) * step).collect();
        let decimals = (-(step * (1.0 + 1e-9)).log10().floor()).max(0.0) as usize;
        let size = low.abs().max(high.abs());
        let exponent = match size {
            s if !(1e-3..1e6).contains(&s) => (s * (1.0 + 1e-9)).log10().floor() as i32,
            _ => 0,
        };
        let label = |&v: &f64| match exponent {
            0 => shown(v, decimals),
            e => with_power(v, e, step),
        };
        Ticks {
            labels: at.iter().map(label).collect(),
            at,
        }
    }

    /// Powers of ten between `low` and `high`, both above 0, with 2 and 5 where there are few.
    pub fn log(low: f64, high: f64, n: usize) -> Ticks {
        let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
        let decades = ((high / low).log10().ceil() as usize).max(1);
        let factors: &[f64] = match decades {
            1..=2 if n >= 4 => &[1.0, 2.0, 5.0],
            _ => &[1.0],
        };
        let stride = decades.div_ceil(n.max(1)).max(1);
        let mut ticks = Ticks::default();
        for exponent in (first..=last).step_by(stride) {
            for factor in factors {
                let v = factor * 10f64.powi(exponent);
                if v >= low * (1.0 - 1e-9) && v <= high * (1.0 + 1e-9) {
                    ticks.at.push(v);
                    ticks.labels.push(power_label(*factor, exponent));
                }
            }
        }
        ticks
    }
}

/// 1, 2 or 5 times a power of ten, at or above `raw` up to rounding.
fn nice_step(raw: f64) -> f64 {
    let power = 10f64.powf(raw.abs().log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .find(|f| f * power >= raw * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * power
}

/// `value` with so many decimals, thousands set apart from 10,000 on, with a true minus sign.
pub fn shown(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return match value {
            v if v.is_nan() => "–".into(),
            v if v > 0.0 => "∞".into(),
            _ => "−∞".into(),
        };
    }
    let text = format!("{:.decimals$}", value.abs());
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut out = String::new();
    let zero = text.chars().all(|c| matches!(c, '0' | '.'));
    if value < 0.0 && !zero {
        out.push('−');
    }
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && whole.len() > 4 && (whole.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out + rest
}

/// `1.5×10⁷`, as many digits as `step` needs.
fn with_power(value: f64, exponent: i32, step: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    // In two steps, because ten to the −300th has no reciprocal.
    let half = exponent / 2;
    let scaled = |v: f64| v / 10f64.powi(half) / 10f64.powi(exponent - half);
    let decimals = (-(scaled(step) * (1.0 + 1e-9)).log10().floor()).clamp(0.0, 15.0);
    let mantissa = shown(scaled(value), decimals as usize);
    format!("{mantissa}×10{}", superscript(exponent))
}

fn power_label(factor: f64, exponent: i32) -> String {
    match exponent {
        -3..=5 => {
            let decimals = usize::try_from(-exponent).unwrap_or(0);
            shown(factor * 10f64.powi(exponent), decimals)
        }
        _ if factor == 1.0 => format!("10{}", superscript(exponent)),
        _ => format!("{factor}×10{}", superscript(exponent)),
    }
}

pub(crate) fn superscript(n: i32) -> String {
    let digit = |c: char| match c.to_digit(10) {
        Some(d) => ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'][d as usize],
        None => '⁻',
    };
    n.to_string().chars().map(digit).collect()
}
