//! Draws inside a page, for figures that can be zoomed.

use crate::draw::base64;
use crate::figure::Series;
use serde_json::{Value, json};

/// Draws of one number, ready for a page.
#[derive(Clone, Debug, PartialEq)]
pub struct LiveSeries {
    label: String,
    n_chains: usize,
    /// Draws of each chain that are kept.
    n_draws: usize,
    /// One draw in so many is kept.
    step: usize,
    /// Draws as f32, chain after chain, in base64.
    packed: String,
}

/// Most draws kept of one number.
const DRAWS_MAX: usize = 20_000;

impl LiveSeries {
    /// Packs the draws of a series in single precision; above 20,000 one in so many.
    pub fn new(series: &Series) -> Self {
        let n = series.n_draws();
        let chains = series.chains.len();
        let step = (n * chains).div_ceil(DRAWS_MAX).max(1);
        let kept = series.chains.iter().flat_map(|c| c.iter().step_by(step));
        // Numbers beyond single precision are cut, so that they still lie inside an axis.
        let narrowed = kept.map(|&v| match v.is_finite() {
            true => v.clamp(f64::from(f32::MIN), f64::from(f32::MAX)) as f32,
            false => f32::NAN,
        });
        let mut bytes = Vec::with_capacity(4 * chains * n.div_ceil(step));
        narrowed.for_each(|v| bytes.extend_from_slice(&v.to_le_bytes()));
        LiveSeries {
            label: series.label.clone(),
            n_chains: chains,
            n_draws: n.div_ceil(step),
            step,
            packed: base64::encode(&bytes),
        }
    }
}

/// Everything a page can zoom into.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Live {
    /// The numbers; figures name them by their place.
    pub series: Vec<LiveSeries>,
}

impl Live {
    pub(super) fn json(&self) -> Value {
        let one = |s: &LiveSeries| {
            json!({"label": s.label, "chains": s.n_chains, "draws": s.n_draws, "step": s.step,
                   "f32": s.packed})
        };
        self.series.iter().map(one).collect()
    }
}

/// JSON that may stand inside `<script>`: no `<`, and no line separators.
pub(crate) fn json_text(value: &Value) -> String {
    let text = value.to_string();
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    // Nearly all of it are draws in base64, which hold none of these.
    while let Some(at) = rest
        .bytes()
        .position(|b| matches!(b, b'<' | b'>' | b'&' | 0xe2))
    {
        out.push_str(&rest[..at]);
        let c = rest[at..].chars().next().expect("a character begins here");
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            c => out.push(c),
        }
        rest = &rest[at + c.len_utf8()..];
    }
    out.push_str(rest);
    out
}
