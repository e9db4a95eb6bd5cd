//! Scores of fields: errors, correlations, and rain above thresholds.

/// Thresholds of rain, mm.
const THRESHOLDS_MM: [f64; 3] = [1.0, 10.0, 25.0];

/// Numbers of every forecast, in the order in which they were added.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Σ w (f−o)².
    pub squares: Vec<f64>,
    /// Σ w |f−o|.
    pub absolute: Vec<f64>,
    /// Σ w (f−o).
    pub errors: Vec<f64>,
    /// Anomaly correlation; NaN where one of the fields has no anomaly.
    pub acc: Vec<f64>,
    /// Σ w CRPS of an ensemble; of a single forecast that is its absolute error.
    pub crps: Vec<f64>,
    /// Σ w s² of an ensemble, s² being the variance of its members; empty of a single forecast.
    pub variances: Vec<f64>,
    /// Numbers of those forecasts for which no truth is known, ascending: all of the above is 0
    /// there, and means leave them out.
    pub missing: Vec<usize>,
}

impl Series {
    /// Forecasts with a truth.
    pub fn n_known(&self) -> usize {
        self.squares.len() - self.missing.len()
    }

    /// Whether a forecast has none.
    pub fn is_missing(&self, number: usize) -> bool {
        self.missing.binary_search(&number).is_ok()
    }
}

/// Sums over forecasts, from which scores follow.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    series: Series,
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
    /// Continuous ranked probability score; of a single forecast its MAE.
    pub crps: f64,
    /// Of an ensemble √(mean of Σ w s² · (M+1)/M): what the RMSE of the mean of M members is where
    /// they are as uncertain as they say.
    pub spread: Option<f64>,
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
        let mut sums = [0.0; 3];
        for (w, f, o) in all() {
            let error = f - o;
            sums[0] += w * error * error;
            sums[1] += w * error.abs();
            sums[2] += w * error;
        }
        let series = &mut self.series;
        series.squares.push(sums[0]);
        series.absolute.push(sums[1]);
        series.errors.push(sums[2]);
        series.crps.push(sums[1]);
        let anomalies = |usual: &[f64]| {
            let places = all().zip(usual);
            cosine(places.map(|((w, f, o), c)| (w, f - c, o - c)))
        };
        let acc = usual.and_then(anomalies);
        self.series.acc.push(acc.unwrap_or(f64::NAN));
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

    /// Counts a forecast of `members` members of which no truth is known.
    pub fn leave_out(&mut self, members: usize) {
        let s = &mut self.series;
        s.missing.push(s.squares.len());
        for list in [&mut s.squares, &mut s.absolute, &mut s.errors, &mut s.acc] {
            list.push(0.0);
        }
        s.crps.push(0.0);
        if members > 1 {
            s.variances.push(0.0);
        }
    }

    /// Adds an ensemble: the same of each member, scored by their mean, by CRPS = mean |xᵢ−o| −
    /// ½ mean |xᵢ−xⱼ| over all pairs, and by their spread.
    pub fn add_ensemble(
        &mut self,
        weights: &[f64],
        members: &[Vec<f64>],
        truth: &[f64],
        usual: Option<&[f64]>,
        rain: bool,
    ) {
        let m = members.len() as f64;
        let at = |place: usize| members.iter().map(move |member| member[place]);
        let mean: Vec<f64> = (0..truth.len()).map(|p| at(p).sum::<f64>() / m).collect();
        self.add(weights, &mean, truth, usual, rain);
        let (mut crps, mut variance) = (0.0, 0.0);
        for (place, &w) in weights.iter().enumerate() {
            let off: f64 = at(place).map(|x| (x - truth[place]).abs()).sum();
            let apart: f64 = at(place)
                .map(|x| at(place).map(|y| (x - y).abs()).sum::<f64>())
                .sum();
            crps += w * (off / m - 0.5 * apart / (m * m));
            let squares: f64 = at(place).map(|x| (x - mean[place]).powi(2)).sum();
            variance += w * squares / (m - 1.0).max(1.0);
        }
        let series = &mut self.series;
        series.variances.push(variance);
        series.crps.pop();
        series.crps.push(crps);
    }

    /// Numbers of every forecast.
    pub fn series(&self) -> &Series {
        &self.series
    }

    /// The scores; none without a forecast. `members` is the size of an ensemble.
    pub fn score(&self, rain: bool, members: usize) -> Option<Score> {
        let series = &self.series;
        if series.n_known() == 0 {
            return None;
        }
        let n = series.n_known() as f64;
        let mean = |(sum, n): (f64, f64)| (n > 0.0).then(|| sum / n);
        let over = |all: &[f64]| all.iter().sum::<f64>() / n;
        let known = series.acc.iter().enumerate();
        let known = known.filter(|(k, acc)| acc.is_finite() && !series.is_missing(*k));
        let acc = known.fold((0.0, 0.0), |(sum, n), (_, acc)| (sum + acc, n + 1.0));
        let wider = (members as f64 + 1.0) / members as f64;
        let spread =
            (!series.variances.is_empty()).then(|| (over(&series.variances) * wider).sqrt());
        let ratio = |a: f64, b: f64| (b > 0.0).then(|| a / b);
        Some(Score {
            rmse: over(&series.squares).sqrt(),
            mae: over(&series.absolute),
            bias: over(&series.errors),
            acc: mean(acc),
            crps: over(&series.crps),
            spread,
            correlation: mean(self.correlation),
            rain: rain.then(|| Rain {
                csi: self.events.map(|[h, m, f]| ratio(h, h + m + f)),
                frequency_bias: self.events.map(|[h, m, f]| ratio(h + f, h + m)),
                mse: self.ranges.map(mean),
            }),
        })
    }
}
