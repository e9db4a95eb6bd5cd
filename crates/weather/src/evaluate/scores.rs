//! Scores of fields: errors, correlations, and rain above thresholds.

/// Thresholds of rain, mm.
const THRESHOLDS_MM: [f64; 3] = [1.0, 10.0, 25.0];

/// Sums over forecasts, from which scores follow.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Σ w (f−o)² of every forecast, in the order in which they were added.
    squares: Vec<f64>,
    absolute: f64,
    error: f64,
    acc: (f64, f64),
    correlation: (f64, f64),
    /// Hits, misses, false alarms of each threshold.
    events: [[f64; 3]; 3],
    /// Squared error and weight where the truth is in 0–10, 10–25, 25 mm and more.
    ranges: [(f64, f64); 3],
}

/// Scores of rain.
#[derive(Clone, Debug, PartialEq)]
pub struct Rain {
    /// Hits / (hits + misses + false alarms) at 1, 10 and 25 mm; none without events.
    pub csi: [Option<f64>; 3],
    /// (hits + false alarms) / (hits + misses).
    pub frequency_bias: [Option<f64>; 3],
    /// Mean square error where the truth is in 0–10, 10–25, 25 mm and more.
    pub mse: [Option<f64>; 3],
}

/// Scores of one variable, level and lead.
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    /// √(mean over times of Σ w (f−o)²), in the variable's units.
    pub rmse: f64,
    /// Mean of Σ w |f−o|.
    pub mae: f64,
    /// Mean of Σ w (f−o).
    pub bias: f64,
    /// Anomaly correlation, about the training climatology.
    pub acc: Option<f64>,
    /// Correlation of fields.
    pub correlation: Option<f64>,
    /// Scores of rain, for rain.
    pub rain: Option<Rain>,
}

/// Σ w f o / √(Σ w f² Σ w o²) of pairs, if both vary.
fn cosine(pairs: impl Iterator<Item = (f64, f64, f64)>) -> Option<f64> {
    let (mut fo, mut ff, mut oo) = (0.0, 0.0, 0.0);
    for (w, f, o) in pairs {
        fo += w * f * o;
        ff += w * f * f;
        oo += w * o * o;
    }
    (ff > 0.0 && oo > 0.0).then(|| fo / (ff * oo).sqrt())
}

impl Tally {
    /// Adds a forecast: forecast, truth and climatology, where it is known, of each place, with
    /// weights that sum to 1.
    pub fn add(
        &mut self,
        weights: &[f64],
        forecast: &[f64],
        truth: &[f64],
        usual: Option<&[f64]>,
        rain: bool,
    ) {
        let all = || {
            weights
                .iter()
                .zip(forecast)
                .zip(truth)
                .map(|((w, f), o)| (*w, *f, *o))
        };
        let mut squares = 0.0;
        for (w, f, o) in all() {
            let error = f - o;
            squares += w * error * error;
            self.absolute += w * error.abs();
            self.error += w * error;
        }
        self.squares.push(squares);
        let anomalies = |usual: &[f64]| {
            let places = all().zip(usual);
            cosine(places.map(|((w, f, o), c)| (w, f - c, o - c)))
        };
        if let Some(r) = usual.and_then(anomalies) {
            self.acc = (self.acc.0 + r, self.acc.1 + 1.0);
        }
        let mean_f: f64 = all().map(|(w, f, _)| w * f).sum();
        let mean_o: f64 = all().map(|(w, _, o)| w * o).sum();
        if let Some(r) = cosine(all().map(|(w, f, o)| (w, f - mean_f, o - mean_o))) {
            self.correlation = (self.correlation.0 + r, self.correlation.1 + 1.0);
        }
        if !rain {
            return;
        }
        for (_, f, o) in all() {
            for (events, threshold) in self.events.iter_mut().zip(THRESHOLDS_MM) {
                match (f >= threshold, o >= threshold) {
                    (true, true) => events[0] += 1.0,
                    (false, true) => events[1] += 1.0,
                    (true, false) => events[2] += 1.0,
                    (false, false) => {}
                }
            }
            let range = usize::from(o >= 10.0) + usize::from(o >= 25.0);
            self.ranges[range].0 += (f - o) * (f - o);
            self.ranges[range].1 += 1.0;
        }
    }

    /// Σ w (f−o)² of every forecast that was added, in their order.
    pub fn squares(&self) -> &[f64] {
        &self.squares
    }

    /// The scores; none without a forecast.
    pub fn score(&self, rain: bool) -> Option<Score> {
        if self.squares.is_empty() {
            return None;
        }
        let n = self.squares.len() as f64;
        let mean = |(sum, n): (f64, f64)| (n > 0.0).then(|| sum / n);
        let ratio = |a: f64, b: f64| (b > 0.0).then(|| a / b);
        Some(Score {
            rmse: (self.squares.iter().sum::<f64>() / n).sqrt(),
            mae: self.absolute / n,
            bias: self.error / n,
            acc: mean(self.acc),
            correlation: mean(self.correlation),
            rain: rain.then(|| Rain {
                csi: self.events.map(|[h, m, f]| ratio(h, h + m + f)),
                frequency_bias: self.events.map(|[h, m, f]| ratio(h + f, h + m)),
                mse: self.ranges.map(mean),
            }),
        })
    }
}
