//! Scores of how fields lie in space: rain in its place, spectra, and where errors are.

use crate::train::Problem;
use std::f64::consts::TAU;

/// Thresholds of rain, mm.
pub const RAINS_MM: [f64; 3] = [1.0, 10.0, 25.0];
/// Sides of the squares in which rain is counted, in points.
pub const SIDES: [usize; 4] = [1, 3, 5, 9];
/// Hours ahead of the maps of errors, if so many are forecast.
const MAP_HOURS: f64 = 24.0;
/// Rows and initial times from which spectra are taken, at most.
const SPECTRA_MOST: (usize, usize) = (16, 24);
/// Points of a row that a spectrum needs.
const ROW_MIN: usize = 8;

/// Where the errors of a channel are, node by node of the grid; NaN where it is not scored.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ErrorMap {
    /// Root mean square error.
    pub rmse: Vec<f64>,
    /// Mean error.
    pub bias: Vec<f64>,
}

/// Variance along the rows of a channel at a lead, by wavelength.
#[derive(Clone, Debug, PartialEq)]
pub struct Spectrum {
    /// Number of the scored channel.
    pub channel: usize,
    /// Hours ahead.
    pub lead_hours: f64,
    /// From the longest to the shortest.
    pub wavelength_km: Vec<f64>,
    /// Of what happened.
    pub truth: Vec<f64>,
    /// Of methods, by name.
    pub methods: Vec<(&'static str, Vec<f64>)>,
}

/// What is found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spatial {
    /// Fractions skill score by method, lead, threshold of [`RAINS_MM`] and side of [`SIDES`]; empty
    /// without rain. None where neither has such rain, or the region is smaller than the square.
    pub fractions: Vec<Vec<[[Option<f64>; SIDES.len()]; RAINS_MM.len()]>>,
    /// Spectra at the first lead, after a day and at the last.
    pub spectra: Vec<Spectrum>,
    /// Hours ahead of the maps of errors.
    pub map_hours: f64,
    /// Errors of the model by scored channel.
    pub errors: Vec<ErrorMap>,
}

/// Σ (F−O)² and Σ F² + O² of fractions.
type Fractions = [[(f64, f64); SIDES.len()]; RAINS_MM.len()];

/// A rectangle of scored points.
#[derive(Clone, Copy, Debug)]
struct Window {
    row: usize,
    column: usize,
    rows: usize,
    columns: usize,
}

/// Sums over forecasts.
pub(super) struct SpatialSums {
    methods: Vec<&'static str>,
    step_hours: f64,
    /// Columns of the grid.
    width: usize,
    window: Option<Window>,
    /// Kilometres from column to column.
    spacing_km: f64,
    /// Every how many initial times spectra are taken.
    every: usize,
    n_starts: usize,
    /// Leads of spectra, and of the maps.
    leads: Vec<usize>,
    map_lead: usize,
    fractions: Vec<Vec<Fractions>>,
    /// (lead of spectra, channel): of the truth, then of the methods.
    spectra: Vec<Vec<Vec<Vec<f64>>>>,
    /// By channel and node: count, Σ e, Σ e².
    errors: Vec<Vec<[f64; 3]>>,
    has_rain: bool,
}

impl SpatialSums {
    /// For scored `places` among the outputs of a problem, methods and leads, and about so many
    /// initial times.
    pub(super) fn new(
        problem: &Problem,
        places: &[usize],
        methods: &[&'static str],
        (leads, n_starts): (usize, usize),
    ) -> Self {
        let archive = &problem.archive;
        let step_hours = archive.step_s as f64 / 3600.0;
        let day = (MAP_HOURS / step_hours).ceil() as usize;
        let map_lead = day.clamp(1, leads) - 1;
        let mut at = vec![0, map_lead, leads - 1];
        at.dedup();
        let channels = problem.target_channels();
        let width = archive.shape().1;
        let nodes = places.iter().map(|&p| problem.outputs()[p] as usize);
        let window = rectangle(nodes, width);
        let spacing_km = window.map_or(1.0, |w| {
            let row = (w.row + w.rows / 2) * width + w.column;
            let ends = [row, row + w.columns - 1].map(|node| archive.place(node));
            apart_km(ends) / (w.columns.max(2) - 1) as f64
        });
        SpatialSums {
            methods: methods.to_vec(),
            step_hours,
            width,
            window,
            spacing_km,
            every: n_starts.div_ceil(SPECTRA_MOST.1).max(1),
            n_starts: 0,
            fractions: vec![vec![Fractions::default(); leads]; methods.len()],
            spectra: vec![vec![vec![Vec::new(); methods.len() + 1]; channels.len()]; at.len()],
            leads: at,
            map_lead,
            errors: vec![vec![[0.0; 3]; archive.n_nodes()]; channels.len()],
            has_rain: channels.iter().any(|channel| channel.is_rain()),
        }
    }

    /// The next initial time begins.
    pub(super) fn begin(&mut self) {
        self.n_starts += 1;
    }

    /// Adds a forecast of a channel and what happened, at nodes where that is known.
    pub(super) fn add(
        &mut self,
        [method, lead, channel]: [usize; 3],
        nodes: &[usize],
        (forecast, truth): (&[f64], &[f64]),
        is_rain: bool,
    ) {
        if method == 0 && lead == self.map_lead {
            let sums = &mut self.errors[channel];
            for ((&node, f), o) in nodes.iter().zip(forecast).zip(truth) {
                let [n, errors, squares] = &mut sums[node];
                *n += 1.0;
                *errors += f - o;
                *squares += (f - o) * (f - o);
            }
        }
        let Some(window) = self.window else { return };
        let laid = |values: &[f64]| window.laid(nodes, values, self.width);
        if is_rain {
            let (forecast, truth) = (laid(forecast), laid(truth));
            add_fractions(
                &mut self.fractions[method][lead],
                window,
                (&forecast, &truth),
            );
        }
        let whole = nodes.len() == window.rows * window.columns;
        let Some(at) = self.leads.iter().position(|&l| l == lead) else {
            return;
        };
        if (self.n_starts - 1).is_multiple_of(self.every) && whole && window.columns >= ROW_MIN {
            let sums = &mut self.spectra[at][channel];
            add_spectrum(&mut sums[method + 1], window, &laid(forecast));
            if method == 0 {
                add_spectrum(&mut sums[0], window, &laid(truth));
            }
        }
    }

    /// The scores.
    pub(super) fn finish(self) -> Spatial {
        let score = |(apart, most): (f64, f64)| (most > 0.0).then(|| 1.0 - apart / most);
        let of_lead = |sums: &Fractions| sums.map(|sides| sides.map(score));
        let of_method = |leads: &Vec<Fractions>| leads.iter().map(of_lead).collect();
        let mut spectra = Vec::new();
        for (&lead, channels) in self.leads.iter().zip(&self.spectra) {
            for (channel, sums) in channels.iter().enumerate() {
                let (truth, methods) = (&sums[0], self.methods.iter().zip(&sums[1..]));
                if truth.is_empty() {
                    continue;
                }
                let points = self.window.map_or(0, |w| w.columns) as f64;
                let long = |k: usize| points * self.spacing_km / (k + 1) as f64;
                spectra.push(Spectrum {
                    channel,
                    lead_hours: (lead + 1) as f64 * self.step_hours,
                    wavelength_km: (0..truth.len()).map(long).collect(),
                    truth: truth.clone(),
                    methods: methods.map(|(name, sums)| (*name, sums.clone())).collect(),
                });
            }
        }
        let map = |sums: &Vec<[f64; 3]>| ErrorMap {
            rmse: sums
                .iter()
                .map(|[n, _, squares]| (squares / n).sqrt())
                .collect(),
            bias: sums.iter().map(|[n, errors, _]| errors / n).collect(),
        };
        Spatial {
            fractions: match self.has_rain {
                true => self.fractions.iter().map(of_method).collect(),
                false => Vec::new(),
            },
            spectra,
            map_hours: (self.map_lead + 1) as f64 * self.step_hours,
            errors: self.errors.iter().map(map).collect(),
        }
    }
}

/// The rectangle that nodes of a grid of `width` columns fill; none if they do not.
fn rectangle(nodes: impl Iterator<Item = usize>, width: usize) -> Option<Window> {
    let (mut n, mut low, mut high) = (0, [usize::MAX; 2], [0; 2]);
    for node in nodes {
        let at = [node / width, node % width];
        for k in 0..2 {
            low[k] = low[k].min(at[k]);
            high[k] = high[k].max(at[k]);
        }
        n += 1;
    }
    let window = (n > 0).then(|| Window {
        row: low[0],
        column: low[1],
        rows: high[0] + 1 - low[0],
        columns: high[1] + 1 - low[1],
    });
    window.filter(|window| window.rows * window.columns == n)
}

/// The distance between two places on the sphere.
fn apart_km([a, b]: [(f64, f64); 2]) -> f64 {
    let half = |x: f64, y: f64| libm::sin((x - y).to_radians() / 2.0).powi(2);
    let cosines = libm::cos(a.0.to_radians()) * libm::cos(b.0.to_radians());
    let h = half(a.0, b.0) + cosines * half(a.1, b.1);
    2.0 * 6371.0 * libm::asin(h.sqrt().min(1.0))
}

impl Window {
    /// Values at nodes of a grid of `width` columns, row by row; NaN where there is none.
    fn laid(&self, nodes: &[usize], values: &[f64], width: usize) -> Vec<f64> {
        let mut field = vec![f64::NAN; self.rows * self.columns];
        for (&node, &x) in nodes.iter().zip(values) {
            let (row, column) = (node / width - self.row, node % width - self.column);
            field[row * self.columns + column] = x;
        }
        field
    }

    /// Σ over the square of this side around each point, as far as it lies inside.
    fn squares(&self, field: &[f64], side: usize) -> Vec<f64> {
        let half = side / 2;
        let across = |k: usize, n: usize| k.saturating_sub(half)..(k + half + 1).min(n);
        let mut rows = vec![0.0; field.len()];
        for (at, to) in rows.iter_mut().enumerate() {
            let (row, column) = (at / self.columns, at % self.columns);
            let line = &field[row * self.columns..][..self.columns];
            *to = line[across(column, self.columns)].iter().sum();
        }
        let sum = |at: usize| -> f64 {
            let (row, column) = (at / self.columns, at % self.columns);
            let lines = across(row, self.rows);
            lines.map(|k| rows[k * self.columns + column]).sum()
        };
        (0..field.len()).map(sum).collect()
    }
}

/// Adds a forecast of rain: shares of the known points of a square at which it rains so much.
fn add_fractions(sums: &mut Fractions, window: Window, (forecast, truth): (&[f64], &[f64])) {
    let known: Vec<f64> = truth.iter().map(|o| f64::from(!o.is_nan())).collect();
    for (s, &side) in SIDES.iter().enumerate() {
        if side > window.rows.min(window.columns) {
            continue;
        }
        let counts = window.squares(&known, side);
        for (sums, threshold) in sums.iter_mut().zip(RAINS_MM) {
            let share = |field: &[f64]| -> Vec<f64> {
                let rains = field.iter().map(|&x| f64::from(x >= threshold));
                let rains = window.squares(&rains.collect::<Vec<_>>(), side);
                rains.iter().zip(&counts).map(|(x, n)| x / n).collect()
            };
            let (forecast, truth) = (share(forecast), share(truth));
            for ((f, o), _) in (forecast.iter().zip(&truth).zip(&known)).filter(|x| *x.1 > 0.0) {
                sums[s].0 += (f - o) * (f - o);
                sums[s].1 += f * f + o * o;
            }
        }
    }
}

/// Adds the spectrum of a field along its rows: of each the mean and the trend are taken out, and
/// its ends are brought to 0 by half a wave of a cosine.
fn add_spectrum(sums: &mut Vec<f64>, window: Window, field: &[f64]) {
    let n = window.columns;
    sums.resize(n / 2, 0.0);
    let turn = |k: usize| TAU * k as f64 / n as f64;
    let waves: Vec<(f64, f64)> = (0..n).map(|k| libm::sincos(turn(k))).collect();
    let centre = (n as f64 - 1.0) / 2.0;
    let spread: f64 = (0..n).map(|k| (k as f64 - centre).powi(2)).sum();
    let every = window.rows.div_ceil(SPECTRA_MOST.0).max(1);
    for row in field.chunks_exact(n).step_by(every) {
        let mean = row.iter().sum::<f64>() / n as f64;
        let slope = row.iter().enumerate();
        let slope = slope
            .map(|(k, x)| (k as f64 - centre) * (x - mean))
            .sum::<f64>()
            / spread;
        let smooth = |(k, x): (usize, &f64)| {
            let taper = 0.5 - 0.5 * libm::cos(TAU * (k as f64 + 0.5) / n as f64);
            taper * (x - mean - slope * (k as f64 - centre))
        };
        let row: Vec<f64> = row.iter().enumerate().map(smooth).collect();
        for (wave, sum) in sums.iter_mut().enumerate() {
            let (mut a, mut b) = (0.0, 0.0);
            for (k, x) in row.iter().enumerate() {
                let (sin, cos) = waves[(wave + 1) * k % n];
                a += x * cos;
                b += x * sin;
            }
            *sum += a * a + b * b;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Window = Window {
        row: 0,
        column: 0,
        rows: 6,
        columns: 16,
    };

    /// Roberts and Lean: rain that is displaced by more than the square scores 0, by less something
    /// between, in its place 1; without rain there is no score. By hand: one wet point, displaced
    /// by one column, in squares of 3 × 3 shares 6 of its 9 squares.
    #[test]
    fn rain_beside_its_place_is_forgiven_within_the_square() {
        let wet = |column: usize| {
            let mut field = vec![0.0; 96];
            field[3 * 16 + column] = 5.0;
            field
        };
        let score = |column: usize| {
            let mut sums = Fractions::default();
            add_fractions(&mut sums, WINDOW, (&wet(column), &wet(7)));
            sums.map(|sides| sides.map(|(apart, most)| (most > 0.0).then(|| 1.0 - apart / most)))
        };
        assert_eq!(score(7)[0], [Some(1.0), Some(1.0), Some(1.0), None]);
        let beside = score(8);
        assert_eq!(beside[0][0], Some(0.0));
        assert!((beside[0][1].unwrap() - 6.0 / 9.0).abs() < 1e-12);
        assert!(beside[0][2] > beside[0][1] && beside[1] == [None; 4]);
        assert_eq!(score(12)[0][1], Some(0.0));
        // A point whose truth is not known counts for nothing, nor in the squares of others.
        let mut truth = wet(7);
        truth[3 * 16 + 8] = f64::NAN;
        let mut sums = Fractions::default();
        add_fractions(&mut sums, WINDOW, (&wet(7), &truth));
        assert!(sums[0][0] == (0.0, 2.0) && sums[0][1].0 == 0.0);
    }

    /// A wave of three turns along the rows has its variance there and, by the taper, beside it; an
    /// amplitude of half has a quarter; a trend has none.
    #[test]
    fn spectra_find_waves_where_they_are() {
        let wave = |size: f64, trend: f64| -> Vec<f64> {
            let x = |at: usize| (at % 16) as f64;
            let value = |at: usize| size * (TAU * 3.0 * x(at) / 16.0).sin() + trend * x(at) + 4.0;
            (0..96).map(value).collect()
        };
        let of = |field: &[f64]| {
            let mut sums = Vec::new();
            add_spectrum(&mut sums, WINDOW, field);
            sums
        };
        let (whole, half, trend) = (
            of(&wave(1.0, 0.0)),
            of(&wave(0.5, 0.0)),
            of(&wave(0.0, 2.0)),
        );
        assert_eq!(whole.len(), 8);
        let most = whole.iter().copied().fold(0.0, f64::max);
        assert_eq!(whole.iter().position(|x| *x == most), Some(2));
        assert!(whole[6] < 1e-3 * most && trend.iter().all(|x| *x < 1e-20));
        let pairs = whole.iter().zip(&half);
        assert!(
            pairs
                .clone()
                .all(|(a, b)| (b - a / 4.0).abs() < 1e-9 * most)
        );
    }

    #[test]
    fn scored_points_are_a_rectangle_or_none() {
        let nodes = [9, 10, 17, 18, 25, 26];
        let found = rectangle(nodes.into_iter(), 8).unwrap();
        assert_eq!(
            (found.row, found.column, found.rows, found.columns),
            (1, 1, 3, 2)
        );
        assert!(rectangle([9, 10, 17].into_iter(), 8).is_none());
        assert!((apart_km([(0.0, 0.0), (0.0, 1.0)]) - 111.195).abs() < 0.01);
        assert!((apart_km([(60.0, 179.5), (60.0, -179.5)]) - 55.6).abs() < 0.1);
    }
}
