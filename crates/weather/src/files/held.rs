//! The variables of a file that lie on its grid.

use super::pressure::pressures;
use super::roles::{Info, Layout, Role};
use super::source::Source;
use fitzroy::Result;

/// What a variable of a file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dims {
    /// (time, level, lat, lon).
    TimeLevel,
    /// (time, lat, lon).
    Time,
    /// (lat, lon).
    Fixed,
}

/// A variable that lies on the grid.
#[derive(Clone, Debug)]
pub struct Held {
    /// Its name.
    pub name: String,
    /// Its name in the CF table, where the file tells it.
    pub standard_name: Option<String>,
    /// What it is, where the file tells it.
    pub long_name: Option<String>,
    /// Its units, where the file tells them.
    pub units: Option<String>,
    /// Its axes.
    pub dims: Dims,
    /// Its pressure levels in hPa; none without.
    pub levels: Vec<f64>,
    /// Which axis of the array time, level, lat and lon are; all others have one place, but for
    /// versions of the same field.
    pub(super) axes: [Option<usize>; 4],
    pub(super) versions: Option<usize>,
}

/// The grid on which variables are looked for.
pub(super) struct Grid<'a> {
    pub(super) layout: &'a Layout,
    pub(super) time: Option<&'a str>,
    pub(super) n_times: usize,
    pub(super) lat: &'a str,
    pub(super) lon: &'a str,
}

impl Grid<'_> {
    /// The variables on the grid, and what else there is.
    pub(super) fn held(&self, source: &Source) -> Result<(Vec<Held>, Vec<String>)> {
        let (mut variables, mut others) = (Vec::new(), Vec::new());
        for info in &self.layout.arrays {
            let placed = [Some(Role::Lat), Some(Role::Lon)].contains(&info.role);
            if placed || info.role.is_some() && info.dims.len() < 3 || info.dims.is_empty() {
                continue;
            }
            // Axes, and labels of places that say nothing.
            if info.dims == [info.name.clone()]
                || info.dims.len() == 1 && self.layout.role(&info.dims[0]) != Role::Other
            {
                continue;
            }
            match self.variable(info, source)? {
                Some(held) => variables.push(held),
                None => {
                    let axes = info.dims.iter().zip(&info.shape);
                    let axes: Vec<String> = axes.map(|(d, n)| format!("{d} {n}")).collect();
                    let more = self.besides(info);
                    others.push(format!("`{}` of ({}){more}", info.name, axes.join(", ")));
                }
            }
        }
        Ok((variables, others))
    }

    /// What to do about a field that would lie on the grid but for dims that are no axes: members of
    /// an ensemble, steps of a forecast.
    fn besides(&self, info: &Info) -> String {
        let on_grid = [self.lat, self.lon]
            .iter()
            .all(|dim| info.dims.iter().any(|d| d == dim));
        let axes = info.dims.iter().zip(&info.shape);
        let more = axes.filter(|(dim, n)| {
            let known = [Some(self.lat), Some(self.lon), self.time].contains(&Some(dim.as_str()));
            **n > 1 && !known && self.layout.role(dim) == Role::Other
        });
        let names: Vec<&str> = more.map(|(dim, _)| dim.as_str()).collect();
        let mut levels = info
            .dims
            .iter()
            .filter_map(|dim| Some((dim, self.no_pressure(dim)?)));
        if let Some((dim, what)) = levels.next().filter(|_| on_grid) {
            return format!(
                ", whose `{dim}` holds no pressures ({what}): pick one place of it by xarray's \
                 isel, or interpolate to pressure levels, as by `cdo ml2pl`"
            );
        }
        match names.is_empty() || !on_grid {
            true => String::new(),
            false => format!(
                ", of which one place along {} must be picked first, as by xarray's isel",
                names.join(", ")
            ),
        }
    }

    /// What the levels of a dim are, if they are no pressures.
    fn no_pressure(&self, dim: &str) -> Option<&str> {
        let at = self.layout.dims.get(dim)?.1?;
        self.layout.arrays[at].no_pressure.as_deref()
    }

    fn variable(&self, info: &Info, source: &Source) -> Result<Option<Held>> {
        let mut axes = [None; 4];
        let (mut versions, mut level_dim) = (None, None);
        for (axis, dim) in info.dims.iter().enumerate() {
            let slot = match self.layout.role(dim) {
                _ if Some(dim.as_str()) == self.time => 0,
                _ if dim == self.lat => 2,
                _ if dim == self.lon => 3,
                // Depths and heights of one place say nothing.
                Role::Level if info.shape[axis] == 1 && self.no_pressure(dim).is_some() => continue,
                Role::Level if self.no_pressure(dim).is_some() => return Ok(None),
                Role::Level => {
                    level_dim = Some(dim);
                    1
                }
                Role::Versions => {
                    versions = Some(axis);
                    continue;
                }
                _ if info.shape[axis] == 1 => continue,
                _ => return Ok(None),
            };
            if axes[slot].replace(axis).is_some() {
                return Ok(None);
            }
        }
        if axes[2].is_none() || axes[3].is_none() {
            return Ok(None);
        }
        let placed = level_dim.and_then(|dim| self.layout.dims[dim].1);
        // A single level without an axis of its own.
        let beside = || {
            let arrays = &self.layout.arrays;
            arrays.iter().position(|a| {
                let named = info.coordinates.contains(&a.name);
                let pressure = a.role == Some(Role::Level) && a.no_pressure.is_none();
                named && pressure && a.dims.is_empty()
            })
        };
        let levels = match placed.or_else(beside) {
            None => Vec::new(),
            Some(at) => pressures(&source.array(&self.layout.arrays[at].name)?)?,
        };
        // A time without an axis of its own is that of all fields.
        let over_time = axes[0].is_some() || self.time.is_none() && self.n_times > 0;
        Ok(Some(Held {
            name: info.name.clone(),
            standard_name: info.standard_name.clone(),
            long_name: info.long_name.clone(),
            units: info.units.clone(),
            dims: match (over_time, levels.is_empty()) {
                (false, _) => Dims::Fixed,
                (true, true) => Dims::Time,
                (true, false) => Dims::TimeLevel,
            },
            levels,
            axes,
            versions,
        }))
    }
}
