//! Scores of parts of the region.

use super::seasons::Part;
use crate::files::Region;
use crate::train::Problem;
use fitzroy::{Error, Result};

/// A part of the region that is scored by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Area {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub region: Region,
}

/// Whether a place lies in a region, over Greenwich and the date line too.
fn holds(region: &Region, (lat, lon): (f64, f64)) -> bool {
    let east = |from: f64, to: f64| (to - from).rem_euclid(360.0);
    let whole = region.east - region.west >= 360.0;
    let across = east(region.west, lon) <= east(region.west, region.east);
    (region.south..=region.north).contains(&lat) && (whole || across)
}

/// Errors of parts of the region, summed up forecast by forecast.
pub(super) struct Areas {
    /// Name, and whether each scored place lies in it.
    all: Vec<(String, Vec<bool>)>,
    /// Area by area, method by method, lead by lead, channel by channel: sum of mean squares.
    squares: Vec<Vec<Vec<Vec<f64>>>>,
    /// The same: forecasts with a known truth.
    counts: Vec<Vec<Vec<Vec<f64>>>>,
}

impl Areas {
    /// For scored `places` among the outputs of a problem, and for methods, leads and channels.
    ///
    /// # Errors
    /// No scored place lies in an area.
    pub(super) fn new(
        problem: &Problem,
        areas: &[Area],
        places: &[usize],
        [methods, leads, channels]: [usize; 3],
    ) -> Result<Self> {
        let mut all = Vec::new();
        for area in areas {
            let inside = |place: &usize| {
                let node = problem.outputs()[*place] as usize;
                holds(&area.region, problem.archive.place(node))
            };
            let held: Vec<bool> = places.iter().map(inside).collect();
            if !held.contains(&true) {
                return Err(Error::usage(format!(
                    "⟨subregion {}⟩: no point inside of the boundary lies in it",
                    area.name
                )));
            }
            all.push((area.name.clone(), held));
        }
        let zeros = vec![vec![vec![vec![0.0; channels]; leads]; methods]; all.len()];
        Ok(Areas {
            squares: zeros.clone(),
            counts: zeros,
            all,
        })
    }

    /// Adds a forecast of a channel: squared errors and weights of all scored places, of which those
    /// of `places` are.
    pub(super) fn add(
        &mut self,
        [method, lead, channel]: [usize; 3],
        places: &[usize],
        (weights, squares): (&[f64], &[f64]),
    ) {
        let sums = self.squares.iter_mut().zip(&mut self.counts);
        for ((_, held), (sums, counts)) in self.all.iter().zip(sums) {
            let all = places.iter().zip(weights).zip(squares);
            let own = all.filter(|((place, _), _)| held[**place]);
            let sum = own.fold((0.0, 0.0), |(s, w), ((_, weight), square)| {
                (s + weight * square, w + weight)
            });
            if sum.1 > 0.0 {
                sums[method][lead][channel] += sum.0 / sum.1;
                counts[method][lead][channel] += 1.0;
            }
        }
    }

    /// Root mean square errors of each area.
    pub(super) fn finish(self) -> Vec<Part> {
        let roots = |sums: &[Vec<f64>], counts: &[Vec<f64>]| -> Vec<Vec<f64>> {
            let root = |(s, n): (&f64, &f64)| (s / n).sqrt();
            let lead = |(s, n): (&Vec<f64>, &Vec<f64>)| s.iter().zip(n).map(root).collect();
            sums.iter().zip(counts).map(lead).collect()
        };
        let sums = self.squares.iter().zip(&self.counts);
        let parts = self.all.into_iter().zip(sums);
        let part = |((name, held), (sums, counts)): ((String, Vec<bool>), _)| {
            let pair: (&Vec<_>, &Vec<_>) = (sums, counts);
            let methods = pair.0.iter().zip(pair.1);
            Part {
                name,
                count: held.iter().filter(|held| **held).count(),
                intervals: Vec::new(),
                ratios: Vec::new(),
                rmse: methods
                    .map(|(s, n): (&Vec<_>, &Vec<_>)| roots(s, n))
                    .collect(),
            }
        };
        parts.map(part).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_lie_in_regions_over_greenwich_too() {
        let region = |west: f64, east: f64| Region {
            south: 40.0,
            north: 50.0,
            west,
            east,
        };
        for (west, east, lon, inside) in [
            (350.0, 10.0, 5.0, true),
            (350.0, 10.0, -5.0, true),
            (350.0, 10.0, 355.0, true),
            (350.0, 10.0, 20.0, false),
            (-10.0, 10.0, 350.0, true),
            (-10.0, 10.0, 349.0, false),
            (0.0, 360.0, 77.0, true),
        ] {
            assert_eq!(
                holds(&region(west, east), (45.0, lon)),
                inside,
                "{west} {east} {lon}"
            );
            assert!(!holds(&region(west, east), (51.0, lon)));
        }
    }
}
