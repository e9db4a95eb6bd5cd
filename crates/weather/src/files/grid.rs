//! Where the points of a file lie: on latitudes and longitudes, or each on its own.

use super::longitudes::{NEAR, eastward, outside, whole, within};
use super::read::Region;
use super::roles::{AxisNames, Info, Layout, Role};
use super::source::Source;
use super::walk::Unpack;
use fitzroy::{Error, Result};

/// Points of a file, and which of its rows and columns they are.
pub(super) struct Found {
    /// The dims along which latitudes and longitudes mostly change.
    pub(super) dims: (String, String),
    pub(super) lat: Vec<f64>,
    pub(super) lon: Vec<f64>,
    pub(super) curved: Option<(usize, usize)>,
    pub(super) rows: Vec<usize>,
    pub(super) columns: Vec<usize>,
    pub(super) note: Option<String>,
}

/// A grid of latitudes and longitudes, or the part of it in a region.
///
/// # Errors
/// An axis is missing, not in order, or has a hole; nothing lies in the region.
pub(super) fn regular(
    source: &Source,
    layout: &Layout,
    known: &AxisNames,
    region: Option<&Region>,
) -> Result<Found> {
    let places = |what: &str, role: Role, names: &[String]| {
        let axis = layout.axis(role);
        let (dim, at) = axis.ok_or_else(|| no_axis(what, names, layout))?;
        let values = source.array(&layout.arrays[at].name)?.values()?;
        Ok::<_, Error>((dim.to_string(), values))
    };
    let (lat_dim, mut lat) = places("latitude", Role::Lat, &known.lat)?;
    let (lon_dim, given) = places("longitude", Role::Lon, &known.lon)?;
    let falls = lat.len() > 1 && lat[0] > lat[lat.len() - 1];
    let mut rows: Vec<usize> = (0..lat.len()).collect();
    if falls {
        lat.reverse();
        rows.reverse();
    }
    if lat.is_empty() || !lat.windows(2).all(|pair| pair[0] < pair[1]) {
        return Err(Error::data("latitude must be in order, without repeats"));
    }
    let (lon, columns, note) = match region {
        None => eastward(&given)?,
        Some(region) => {
            let (lon, columns) = within(&given, region)?;
            let (low, high) = (region.south - NEAR, region.north + NEAR);
            let inside = |k: &usize| (low..=high).contains(&lat[*k]);
            let kept: Vec<usize> = (0..lat.len()).filter(inside).collect();
            if kept.is_empty() {
                return Err(outside("latitudes", lat[0], lat[lat.len() - 1]));
            }
            rows = kept.iter().map(|&k| rows[k]).collect();
            lat = kept.iter().map(|&k| lat[k]).collect();
            (lon, columns, None)
        }
    };
    whole("latitude", &lat)?;
    Ok(Found {
        dims: (lat_dim, lon_dim),
        lat,
        lon,
        curved: None,
        rows,
        columns,
        note,
    })
}

/// A projected or curvilinear grid: latitudes and longitudes of two dims each, where no dim has
/// either alone. Where they have more dims (WRF writes them for each time) the first of each is
/// taken.
///
/// # Errors
/// They differ in size, or one is missing.
pub(super) fn curved(source: &Source, layout: &Layout) -> Result<Option<Found>> {
    if layout.axis(Role::Lat).is_some() && layout.axis(Role::Lon).is_some() {
        return Ok(None);
    }
    let Some((lat, lon)) = pair(layout)? else {
        return Ok(None);
    };
    let n = lat.dims.len();
    let (rows, columns) = (lat.shape[n - 2], lat.shape[n - 1]);
    let field = |name: &str| {
        let mut counts = vec![1; n];
        (counts[n - 2], counts[n - 1]) = (rows, columns);
        let array = source.array(name)?;
        let unpack = Unpack::of(&array);
        let stored = array.slice(&vec![0; n], &counts)?;
        Ok::<_, Error>(
            stored
                .into_iter()
                .map(|x| unpack.value(x))
                .collect::<Vec<f64>>(),
        )
    };
    let (phi, mut lambda) = (field(&lat.name)?, field(&lon.name)?);
    if rows < 2 || columns < 2 || !phi.iter().chain(&lambda).all(|x| x.abs() <= 720.0) {
        return Err(Error::data(format!(
            "`{}` and `{}` of {rows} x {columns} points must have two rows and columns at least, \
             and a number at each point",
            lat.name, lon.name
        )));
    }
    // All within half a turn of the middle, so that no seam lies in the grid.
    let middle = lambda[(rows / 2) * columns + columns / 2];
    for x in &mut lambda {
        *x -= 360.0 * ((*x - middle) / 360.0).round();
    }
    Ok(Some(Found {
        dims: (lat.dims[n - 2].clone(), lat.dims[n - 1].clone()),
        note: Some(format!(
            "`{}` and `{}` say where each of {rows} x {columns} points lies: a projected or \
             curvilinear grid",
            lat.name, lon.name
        )),
        lat: phi,
        lon: lambda,
        curved: Some((rows, columns)),
        rows: (0..rows).collect(),
        columns: (0..columns).collect(),
    }))
}

/// The latitudes and longitudes of two dims or more that are those of the most fields: models have
/// others for winds between the points.
fn pair(layout: &Layout) -> Result<Option<(&Info, &Info)>> {
    let of = |role: Role| {
        let wide = move |a: &&Info| a.role == Some(role) && (2..4).contains(&a.dims.len());
        layout.arrays.iter().filter(wide)
    };
    let pairs = of(Role::Lat).flat_map(|lat| of(Role::Lon).map(move |lon| (lat, lon)));
    let fit = |pair: &(&Info, &Info)| pair.0.dims == pair.1.dims && pair.0.shape == pair.1.shape;
    let fields = |lat: &Info| {
        let last = &lat.dims[lat.dims.len() - 2..];
        let on_it = |a: &&Info| a.role.is_none() && last.iter().all(|dim| a.dims.contains(dim));
        layout.arrays.iter().filter(on_it).count()
    };
    // Of equals the first.
    let all: Vec<(&Info, &Info)> = pairs.collect();
    let best = all
        .iter()
        .filter(|pair| fit(pair))
        .rev()
        .max_by_key(|pair| fields(pair.0));
    match (best, all.first()) {
        (Some(best), _) => Ok(Some(*best)),
        (None, None) => Ok(None),
        (None, Some((lat, lon))) => Err(Error::data(format!(
            "`{}` has the dims ({}) and `{}` has ({}); they must be the same",
            lat.name,
            lat.dims.join(", "),
            lon.name,
            lon.dims.join(", ")
        ))),
    }
}

/// Says that an axis is missing, and what to do where the grid is of a kind that is known.
fn no_axis(what: &str, names: &[String], layout: &Layout) -> Error {
    let has: Vec<&str> = layout.arrays.iter().map(|a| a.name.as_str()).collect();
    let along = |role: Role| {
        let one = |a: &&Info| a.role == Some(role) && a.dims.len() == 1;
        let mut found = layout.arrays.iter().filter(one).map(|a| a.dims[0].as_str());
        found.next()
    };
    let metres = |a: &&Info| {
        let name = a.standard_name.as_deref().unwrap_or_default();
        name == "projection_y_coordinate" || name == "grid_latitude"
    };
    let cells = along(Role::Lat).filter(|dim| Some(*dim) == along(Role::Lon));
    let cure = match (cells, layout.arrays.iter().find(metres)) {
        (Some(dim), _) => format!(
            "the points lie along `{dim}`, without rows and columns: bring them to a grid first, \
             as by `cdo remapnn,r360x180 OLD.nc NEW.nc`"
        ),
        (None, Some(axis)) => format!(
            "the grid is projected (`{}`): add the latitude and longitude of each point as \
             variables of its rows and columns, as pyproj makes them",
            axis.name
        ),
        _ => format!("there is no {what} axis ({})", names.join(", ")),
    };
    let has = match has.is_empty() {
        true => "no arrays of numbers".into(),
        false => has.join(", "),
    };
    Error::data(format!("{cure}; the file has {has}"))
}
