//! What the dims of a file count: time, levels, latitudes, longitudes, or nothing that matters.

use super::pressure::not_pressures;
use super::source::{Array, Source};
use fitzroy::Result;
use std::collections::BTreeMap;

/// Names by which axes are known where their attributes do not tell.
#[derive(Clone, Debug, PartialEq)]
pub struct AxisNames {
    /// Of times; earlier ones are taken first.
    pub time: Vec<String>,
    /// Of pressure levels.
    pub level: Vec<String>,
    /// Of latitudes.
    pub lat: Vec<String>,
    /// Of longitudes.
    pub lon: Vec<String>,
}

impl Default for AxisNames {
    fn default() -> Self {
        let owned = |names: &[&str]| names.iter().map(|n| n.to_string()).collect();
        AxisNames {
            time: owned(&[
                "valid_time",
                "time",
                "forecast_reference_time",
                "Time",
                "Times",
            ]),
            level: owned(&[
                "level",
                "plev",
                "pressure_level",
                "isobaricInhPa",
                "lev",
                "pressure",
            ]),
            lat: owned(&["lat", "latitude", "nav_lat", "XLAT"]),
            lon: owned(&["lon", "longitude", "nav_lon", "XLONG"]),
        }
    }
}

/// What a dim counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Time,
    Level,
    Lat,
    Lon,
    /// Versions of the same field, of which each place has one: `expver` of ERA5 and ERA5T.
    Versions,
    /// One place, which says nothing.
    Single,
    /// Many places of something else.
    Other,
}

/// An array of a file, as far as its header tells.
#[derive(Clone, Debug)]
pub(super) struct Info {
    pub(super) name: String,
    pub(super) shape: Vec<usize>,
    pub(super) dims: Vec<String>,
    pub(super) units: Option<String>,
    pub(super) standard_name: Option<String>,
    pub(super) long_name: Option<String>,
    /// Names of further coordinates.
    pub(super) coordinates: Vec<String>,
    /// What its places are, if it is an axis.
    pub(super) role: Option<Role>,
    /// For levels that are no pressures: what they are.
    pub(super) no_pressure: Option<String>,
}

/// The arrays of a file and what its dims count.
pub(super) struct Layout {
    pub(super) arrays: Vec<Info>,
    /// The role of each dim, and the array that says where its places are.
    pub(super) dims: BTreeMap<String, (Role, Option<usize>)>,
    /// The dim of the times and the array of texts that tells them, where no array of numbers does.
    pub(super) stamps: Option<(String, String)>,
}

const LAT_UNITS: [&str; 6] = [
    "degrees_north",
    "degree_north",
    "degree_N",
    "degrees_N",
    "degreeN",
    "degreesN",
];
const LON_UNITS: [&str; 6] = [
    "degrees_east",
    "degree_east",
    "degree_E",
    "degrees_E",
    "degreeE",
    "degreesE",
];

fn role(array: &Array<'_>, name: &str, known: &AxisNames) -> Option<Role> {
    let text = |attribute: &str| array.text(attribute).unwrap_or_default();
    let (units, standard) = (text("units"), text("standard_name"));
    let named = |names: &[String]| names.iter().any(|n| n == name);
    if units.contains(" since ") {
        return Some(Role::Time);
    }
    let is = |names: &[String], standard_name: &str, all: &[&str]| {
        named(names) || standard == standard_name || all.contains(&units.as_str())
    };
    if is(&known.lat, "latitude", &LAT_UNITS) {
        Some(Role::Lat)
    } else if is(&known.lon, "longitude", &LON_UNITS) {
        Some(Role::Lon)
    } else if is(&known.level, "air_pressure", &[]) {
        Some(Role::Level)
    } else if named(&known.time) {
        Some(Role::Time)
    } else {
        None
    }
}

impl Layout {
    pub(super) fn new(source: &Source, known: &AxisNames) -> Result<Self> {
        let mut arrays = Vec::new();
        let mut unnamed = Vec::new();
        let mut texts = Vec::new();
        let bounds = bounds(source)?;
        for name in source.names() {
            let array = source.array(&name)?;
            if bounds.contains(&name) {
                continue;
            }
            if !array.numeric() {
                let dim = array.dims().and_then(<[_]>::first);
                let dim = dim.filter(|_| array.textual()).cloned();
                texts.extend(dim.map(|dim| (dim, name)));
                continue;
            }
            let shape = array.shape();
            let role = role(&array, &name, known);
            let dims = match array.dims() {
                Some(dims) => dims.to_vec(),
                None if shape.is_empty() => Vec::new(),
                None if shape.len() == 1 && role.is_some() => vec![name.clone()],
                None => {
                    unnamed.push(arrays.len());
                    Vec::new()
                }
            };
            let words = array.text("coordinates").unwrap_or_default();
            arrays.push(Info {
                units: array.text("units"),
                standard_name: array.text("standard_name"),
                long_name: array.text("long_name"),
                coordinates: words.split_whitespace().map(str::to_string).collect(),
                no_pressure: match role {
                    Some(Role::Level) => not_pressures(&array, &name)?,
                    _ => None,
                },
                name,
                shape,
                dims,
                role,
            });
        }
        let mut layout = Layout {
            arrays,
            dims: BTreeMap::new(),
            stamps: None,
        };
        layout.guess(&unnamed);
        layout.assign(known);
        let place = |name: &String| known.time.iter().position(|k| k == name);
        let stamps = texts.into_iter().filter(|(_, name)| place(name).is_some());
        layout.stamps = stamps.min_by_key(|(_, name)| place(name));
        Ok(layout)
    }

    /// Dims of arrays of a file that does not tell them, by their sizes: in the usual order, or in
    /// the only other one that fits.
    fn guess(&mut self, unnamed: &[usize]) {
        let axis = |role: Role| {
            let own = |a: &&Info| a.role == Some(role) && a.dims.len() == 1 && a.dims[0] == a.name;
            let found = self.arrays.iter().find(own);
            found.map(|a| (a.name.clone(), a.shape[0]))
        };
        let all = [Role::Time, Role::Level, Role::Lat, Role::Lon].map(axis);
        for &k in unnamed {
            let shape = self.arrays[k].shape.clone();
            let layouts: [&[usize]; 3] = [&[0, 1, 2, 3], &[0, 2, 3], &[2, 3]];
            let found = layouts.iter().find_map(|layout| {
                let wanted: Option<Vec<_>> = layout.iter().map(|&k| all[k].clone()).collect();
                by_size(&shape, &wanted?)
            });
            let name = self.arrays[k].name.clone();
            let other = |axis: usize| format!("{name}_dim_{axis}");
            let dims = found.unwrap_or_else(|| (0..shape.len()).map(other).collect());
            self.arrays[k].dims = dims;
        }
    }

    /// The array that says where the places of a dim are.
    fn placed(&self, dim: &str, known: &AxisNames) -> Option<usize> {
        let along = |k: &usize| self.arrays[*k].dims == [dim];
        let axes = || (0..self.arrays.len()).filter(along);
        let of_role = |k: &usize| self.arrays[*k].role.is_some();
        let own = axes().find(|&k| self.arrays[k].name == dim).filter(of_role);
        // A forecast says beside the time at which it was made that for which it is.
        let before = |k: usize| {
            known
                .time
                .iter()
                .position(|name| *name == self.arrays[k].name)
        };
        let first = |own: usize| {
            let place = before(own).filter(|_| self.arrays[own].role == Some(Role::Time))?;
            axes().find(|&k| before(k).is_some_and(|other| other < place))
        };
        own.map(|own| first(own).unwrap_or(own))
            .or_else(|| axes().find(of_role))
    }

    fn assign(&mut self, known: &AxisNames) {
        let mut sizes: BTreeMap<String, usize> = BTreeMap::new();
        for array in &self.arrays {
            for (dim, &size) in array.dims.iter().zip(&array.shape) {
                sizes.insert(dim.clone(), size);
            }
        }
        for (dim, size) in sizes {
            let placed = self.placed(&dim, known);
            let role_of = |k: usize| self.arrays[k].role;
            let role = match placed.and_then(role_of) {
                Some(role) => role,
                None if dim == "expver" => Role::Versions,
                None if size == 1 => Role::Single,
                None => Role::Other,
            };
            self.dims.insert(dim, (role, placed));
        }
    }

    /// Times of forecasts that have an axis of starts and one of steps, of which one has one place:
    /// the dim of the other, and the array.
    pub(super) fn of_two_dims(&self) -> Option<(Option<&str>, usize)> {
        let at = self.arrays.iter().position(|a| {
            let times = a.role == Some(Role::Time) && a.dims.len() == 2;
            times && a.shape.contains(&1)
        })?;
        let array = &self.arrays[at];
        let many = usize::from(array.shape[1] != 1);
        Some((Some(&array.dims[many]), at))
    }

    /// The role of a dim.
    pub(super) fn role(&self, dim: &str) -> Role {
        self.dims.get(dim).map_or(Role::Other, |(role, _)| *role)
    }

    /// The dim of a role that most arrays have, and the array with its places.
    pub(super) fn axis(&self, wanted: Role) -> Option<(&str, usize)> {
        let dims = self.dims.iter().filter_map(|(dim, (role, placed))| {
            (*role == wanted).then_some((dim.as_str(), (*placed)?))
        });
        let used = |dim: &str| {
            let arrays = self.arrays.iter().filter(|a| a.dims.len() > 1);
            arrays.filter(|a| a.dims.iter().any(|d| d == dim)).count()
        };
        // Of equals the first.
        dims.fold(None, |best: Option<(&str, usize)>, next| match best {
            Some(best) if used(best.0) >= used(next.0) => Some(best),
            _ => Some(next),
        })
    }

    /// An array of no axes by its role, in the order of `names`.
    pub(super) fn scalar(&self, wanted: Role, names: &[String]) -> Option<usize> {
        let place = |a: &Info| {
            names
                .iter()
                .position(|n| *n == a.name)
                .unwrap_or(names.len())
        };
        let single = |a: &Info| a.shape.iter().product::<usize>() == 1 && a.shape.len() < 2;
        let found = (0..self.arrays.len()).filter(|&k| {
            let array = &self.arrays[k];
            array.role == Some(wanted) && single(array)
        });
        found.min_by_key(|&k| place(&self.arrays[k]))
    }
}

/// Names of the arrays that hold the bounds of the places of others.
fn bounds(source: &Source) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for name in source.names() {
        let array = source.array(&name)?;
        found.extend(
            ["bounds", "climatology"]
                .iter()
                .filter_map(|what| array.text(what)),
        );
        let ends = ["_bnds", "_bounds", "_bnd"];
        if ends.iter().any(|end| name.ends_with(end)) {
            found.push(name);
        }
    }
    Ok(found)
}

/// Which dim each axis is of: in order, or where all sizes differ.
fn by_size(shape: &[usize], wanted: &[(String, usize)]) -> Option<Vec<String>> {
    let fits = shape.len() == wanted.len() && shape.iter().zip(wanted).all(|(n, w)| *n == w.1);
    if fits {
        return Some(wanted.iter().map(|w| w.0.clone()).collect());
    }
    let once = |n: usize| wanted.iter().filter(|w| w.1 == n).count() == 1;
    if shape.len() != wanted.len() || !wanted.iter().all(|w| once(w.1)) {
        return None;
    }
    let dim = |n: &usize| wanted.iter().find(|w| w.1 == *n).map(|w| w.0.clone());
    shape.iter().map(dim).collect()
}
