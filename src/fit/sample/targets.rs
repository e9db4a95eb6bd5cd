//! Targets with known moments, for tests: each can say which independent standardised numbers a
//! position stands for.

use super::{Plates, Posterior, Target};

/// A density of tests, its own posterior.
#[derive(Clone, Debug)]
pub(crate) enum Known {
    /// A normal with the given standard deviations, reflected by the vector `mirror` (of length
    /// one): q = H diag(sd) z with H = I − 2 m mᵀ.
    Normal { sd: Vec<f64>, mirror: Vec<f64> },
    /// A standard normal but for `count` waves at right angles, along which its sd is `sd`.
    Waves { dim: usize, count: usize, sd: f64 },
    /// Standard normal numbers, of which i and i + dim/2 have the correlation `most` (1 − (i mod 3)/50).
    Pairs { dim: usize, most: f64 },
    /// Independent Student-t numbers with 4 degrees of freedom.
    StudentT { dim: usize },
    /// v ~ N(0, 1), the others with sd exp(v/4): Neal's funnel, much milder (he has v ~ N(0, 9)
    /// and exp(v/2), whose neck no fixed step size can follow).
    Funnel { dim: usize },
    /// A standard normal that is NaN where the first coordinate exceeds 1.
    Cliff { dim: usize },
    /// Not finite anywhere.
    Nowhere,
}

impl Known {
    /// A normal whose condition number is `condition`, with sd from 1 to its root, log-spaced;
    /// mirrored if `rotated`.
    pub(crate) fn normal(dim: usize, condition: f64, rotated: bool) -> Self {
        let power = |i: usize| i as f64 / (dim.max(2) - 1) as f64;
        let weights: Vec<f64> = (0..dim).map(|i| 1.0 + (i * i % 7) as f64).collect();
        let length = weights.iter().map(|w| w * w).sum::<f64>().sqrt();
        let mirror = weights
            .iter()
            .map(|w| if rotated { w / length } else { 0.0 });
        Known::Normal {
            sd: (0..dim).map(|i| condition.sqrt().powf(power(i))).collect(),
            mirror: mirror.collect(),
        }
    }

    /// Independent numbers with mean 0 and variance 1 that the position stands for.
    pub(crate) fn standardise(&self, q: &[f64]) -> Vec<f64> {
        match self {
            Known::Normal { sd, mirror } => {
                let mut z = q.to_vec();
                reflect(mirror, &mut z);
                z.iter().zip(sd).map(|(z, s)| z / s).collect()
            }
            Known::Waves { dim, count, sd } => {
                let mut z = q.to_vec();
                stretch(&mut z, *count, 1.0 / sd);
                debug_assert_eq!(z.len(), *dim);
                z
            }
            Known::Pairs { dim, most } => {
                let half = dim / 2;
                let mut z = q.to_vec();
                for i in 0..half {
                    let r = correlation(*most, i);
                    z[i + half] = (q[i + half] - r * q[i]) / (1.0 - r * r).sqrt();
                }
                z
            }
            // The distribution function is uniform: variance 1/12.
            Known::StudentT { .. } => {
                let uniform = |x: &f64| {
                    let w = 1.0 + x * x / 4.0;
                    0.375 * x / w.sqrt() * (1.0 - x * x / (12.0 * w))
                };
                q.iter().map(|x| 12f64.sqrt() * uniform(x)).collect()
            }
            Known::Funnel { .. } => {
                let scale = (q[0] / 4.0).exp();
                let rest = q[1..].iter().map(|x| x / scale);
                std::iter::once(q[0]).chain(rest).collect()
            }
            Known::Cliff { .. } | Known::Nowhere => q.to_vec(),
        }
    }

    /// The position that stands for independent numbers; of the normals only.
    pub(crate) fn colour(&self, z: &[f64]) -> Vec<f64> {
        let mut q = z.to_vec();
        match self {
            Known::Normal { sd, mirror } => {
                q.iter_mut().zip(sd).for_each(|(q, s)| *q *= s);
                reflect(mirror, &mut q);
            }
            Known::Waves { count, sd, .. } => stretch(&mut q, *count, *sd),
            Known::Pairs { dim, most } => {
                let half = dim / 2;
                for i in 0..half {
                    let r = correlation(*most, i);
                    q[i + half] = r * z[i] + (1.0 - r * r).sqrt() * z[i + half];
                }
            }
            _ => unreachable!("only normals are drawn from"),
        }
        q
    }

    /// Fourth moment of the standardised numbers.
    pub(crate) fn fourth_moment(&self) -> f64 {
        match self {
            Known::StudentT { .. } => 9.0 / 5.0,
            _ => 3.0,
        }
    }
}

fn correlation(most: f64, pair: usize) -> f64 {
    most * (1.0 - (pair % 3) as f64 / 50.0)
}

/// Multiplies the parts along `count` waves by `factor`.
fn stretch(q: &mut [f64], count: usize, factor: f64) {
    let n = q.len() as f64;
    for k in 1..=count {
        let wave = |i: usize| {
            let angle = std::f64::consts::TAU * k as f64 * (i as f64 + 0.3) / n;
            (2.0 / n).sqrt() * angle.cos()
        };
        let along: f64 = q.iter().enumerate().map(|(i, q)| q * wave(i)).sum();
        for (i, q) in q.iter_mut().enumerate() {
            *q += (factor - 1.0) * along * wave(i);
        }
    }
}

fn reflect(mirror: &[f64], z: &mut [f64]) {
    let along: f64 = mirror.iter().zip(z.iter()).map(|(m, z)| m * z).sum();
    for (z, m) in z.iter_mut().zip(mirror) {
        *z -= 2.0 * along * m;
    }
}

impl Target for Known {
    fn dim(&self) -> usize {
        match self {
            Known::Normal { sd, .. } => sd.len(),
            Known::StudentT { dim } | Known::Funnel { dim } | Known::Cliff { dim } => *dim,
            Known::Waves { dim, .. } | Known::Pairs { dim, .. } => *dim,
            Known::Nowhere => 3,
        }
    }

    fn value_and_gradient(&mut self, q: &[f64], g: &mut [f64]) -> f64 {
        match self {
            Known::Normal { sd, mirror } => {
                g.copy_from_slice(q);
                reflect(mirror, g);
                let mut value = 0.0;
                for (z, s) in g.iter_mut().zip(sd.iter()) {
                    value -= 0.5 * *z * *z / (s * s);
                    *z = -*z / (s * s);
                }
                reflect(mirror, g);
                value
            }
            Known::Waves { count, sd, .. } => {
                g.copy_from_slice(q);
                stretch(g, *count, 1.0 / (*sd * *sd));
                let value = -0.5 * g.iter().zip(q).map(|(g, q)| g * q).sum::<f64>();
                g.iter_mut().for_each(|g| *g = -*g);
                value
            }
            Known::Pairs { dim, most } => {
                let half = *dim / 2;
                let mut value = 0.0;
                for i in 0..half {
                    let (r, a, b) = (correlation(*most, i), q[i], q[i + half]);
                    let rest = 1.0 - r * r;
                    g[i] = -(a - r * b) / rest;
                    g[i + half] = -(b - r * a) / rest;
                    value += 0.5 * (a * g[i] + b * g[i + half]);
                }
                value
            }
            Known::StudentT { .. } => {
                let mut value = 0.0;
                for (g, x) in g.iter_mut().zip(q) {
                    value -= 2.5 * (x * x / 4.0).ln_1p();
                    *g = -5.0 * x / (4.0 + x * x);
                }
                value
            }
            Known::Funnel { dim } => {
                let (v, n) = (q[0], (*dim - 1) as f64);
                let precision = (-0.5 * v).exp();
                let sum: f64 = q[1..].iter().map(|x| x * x).sum();
                g[0] = -v - 0.25 * n + 0.25 * precision * sum;
                for (g, x) in g[1..].iter_mut().zip(&q[1..]) {
                    *g = -precision * x;
                }
                -0.5 * (v * v + 0.5 * n * v + precision * sum)
            }
            Known::Cliff { .. } => {
                for (g, x) in g.iter_mut().zip(q) {
                    *g = -x;
                }
                if q[0] > 1.0 {
                    f64::NAN
                } else {
                    -0.5 * q.iter().map(|x| x * x).sum::<f64>()
                }
            }
            Known::Nowhere => {
                g.fill(0.0);
                f64::NEG_INFINITY
            }
        }
    }
}

impl Posterior for Known {
    type Target = Known;
    fn dim(&self) -> usize {
        Target::dim(self)
    }
    fn target(&self) -> Known {
        self.clone()
    }
    fn plates(&self) -> Plates {
        match self {
            Known::Pairs { dim, .. } => {
                vec![(0..dim / 2).map(|i| vec![i, i + dim / 2]).collect()]
            }
            _ => Plates::new(),
        }
    }
}
