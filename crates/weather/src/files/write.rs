//! Writing CF NetCDF-4, one record at a time.

use crate::time::Time;
use fitzroy::{Error, ErrorKind, Result};
use rust_hdf5::{H5Dataset, H5File, H5Type, Hdf5Error};
use std::fs;
use std::path::{Path, PathBuf};

/// A variable on the grid.
#[derive(Clone, Debug)]
pub struct GridVariable {
    /// Its name in the file.
    pub name: String,
    /// CF units.
    pub units: String,
    /// What it is.
    pub long_name: String,
    /// True for dims (time, level, lat, lon), false for (time, lat, lon).
    pub has_levels: bool,
}

/// Axes and variables of a file.
#[derive(Clone, Debug)]
pub struct GridHeader {
    /// The global attribute `title`.
    pub title: String,
    /// Further global attributes.
    pub attributes: Vec<(String, String)>,
    /// Times of the records.
    pub times: Vec<Time>,
    /// Pressure levels, hPa.
    pub levels: Vec<f64>,
    /// Latitudes, degrees north.
    pub lat: Vec<f64>,
    /// Longitudes, degrees east.
    pub lon: Vec<f64>,
    /// Rows and columns of a projected or curvilinear grid; `lat` and `lon` are then those of all
    /// its points, row by row.
    pub curved: Option<(usize, usize)>,
    /// Variables over time.
    pub variables: Vec<GridVariable>,
    /// Variables (lat, lon) with their values.
    pub statics: Vec<(GridVariable, Vec<f32>)>,
    /// zlib level, 0 to 9.
    pub compression: u32,
}

/// A NetCDF-4 file that is being written; it takes its name when it is finished.
pub struct GridFile {
    path: PathBuf,
    temporary: PathBuf,
    file: Option<H5File>,
    datasets: Vec<H5Dataset>,
    header: GridHeader,
}

fn failed(error: Hdf5Error) -> Error {
    Error::new(ErrorKind::Io, error.to_string())
}

type Written<T> = std::result::Result<T, Hdf5Error>;

fn text(dataset: &H5Dataset, name: &str, value: &str) -> Written<()> {
    let attribute = dataset.new_attr::<i8>().shape(()).create(name)?;
    attribute.write_string(value)
}

impl GridFile {
    /// Starts the file, with its axes and static fields.
    ///
    /// # Errors
    /// The file cannot be made. The message begins with the path.
    pub fn create(path: &Path, header: GridHeader) -> Result<Self> {
        let place = || format!("writing {}", path.display());
        let mut temporary = path.as_os_str().to_owned();
        temporary.push(".tmp");
        let temporary = PathBuf::from(temporary);
        // Made here first, for the HDF5 crate hides why it could not.
        fs::File::create(&temporary)
            .map_err(|error| Error::new(ErrorKind::Io, error.to_string()).context(place()))?;
        let mut grid = GridFile {
            path: path.to_path_buf(),
            temporary,
            file: None,
            datasets: Vec::new(),
            header,
        };
        grid.begin()
            .map_err(|error| failed(error).context(place()))?;
        Ok(grid)
    }

    fn begin(&mut self) -> Written<()> {
        let header = &self.header;
        let options = H5File::options().track_order(true).no_locking();
        let file = options.create(&self.temporary)?;
        file.set_attr_string("Conventions", "CF-1.8")?;
        file.set_attr_string("title", &header.title)?;
        let history = format!("made by Fitzroy {}", env!("CARGO_PKG_VERSION"));
        file.set_attr_string("history", &history)?;
        for (name, value) in &header.attributes {
            file.set_attr_string(name, value)?;
        }
        let scales = axes(&file, header)?;
        let sizes: Vec<usize> = scales.iter().map(H5Dataset::shape).map(|s| s[0]).collect();
        let describe = |dataset: &H5Dataset, variable: &GridVariable, axes: &[usize]| {
            text(dataset, "units", &variable.units)?;
            text(dataset, "long_name", &variable.long_name)?;
            if header.curved.is_some() {
                text(dataset, "coordinates", "latitude longitude")?;
            }
            for (axis, &scale) in axes.iter().enumerate() {
                dataset.attach_scale(axis, &scales[scale])?;
            }
            Written::Ok(())
        };
        if header.curved.is_some() {
            places(&file, header, &scales[1..3])?;
        }
        for (variable, values) in &header.statics {
            let dataset = file.new_dataset::<f32>().shape([sizes[1], sizes[2]]);
            let dataset = dataset.create(&variable.name)?;
            dataset.write_raw(values)?;
            describe(&dataset, variable, &[1, 2])?;
        }
        for variable in &header.variables {
            let axes: &[usize] = if variable.has_levels {
                &[0, 3, 1, 2]
            } else {
                &[0, 1, 2]
            };
            let shape: Vec<usize> = axes.iter().map(|&k| sizes[k]).collect();
            let mut chunk = shape.clone();
            chunk[0] = 1;
            let mut builder = file.new_dataset::<f32>().shape(&shape).chunk(&chunk);
            if header.compression > 0 {
                builder = builder.shuffle_deflate(header.compression);
            }
            let dataset = builder.fill_value(f32::NAN).create(&variable.name)?;
            let fill = dataset.new_attr::<f32>().shape([1]).create("_FillValue")?;
            fill.write_array(&[f32::NAN])?;
            describe(&dataset, variable, axes)?;
            self.datasets.push(dataset);
        }
        self.file = Some(file);
        Ok(())
    }

    /// Writes record `time` of variable `variable`: all its levels, south to north as in the
    /// header.
    ///
    /// # Errors
    /// The disk is full or gone.
    pub fn write(&mut self, time: usize, variable: usize, values: &[f32]) -> Result<()> {
        let dataset = &self.datasets[variable];
        let mut bytes = Vec::with_capacity(values.len() * f32::element_size());
        for value in values {
            bytes.extend_from_slice(&value.to_le_bytes());
        }
        // One record is one chunk; chunks count along the first axis.
        dataset
            .write_chunk(time, &bytes)
            .map_err(|error| failed(error).context(format!("writing {}", self.path.display())))
    }

    /// Completes the file and gives it its name.
    ///
    /// # Errors
    /// The disk is full or gone.
    pub fn finish(mut self) -> Result<()> {
        let place = format!("writing {}", self.path.display());
        self.datasets.clear();
        if let Some(file) = self.file.take() {
            file.close_no_sync()
                .map_err(|error| failed(error).context(&place))?;
        }
        let publish = || -> std::io::Result<()> {
            fs::OpenOptions::new()
                .write(true)
                .open(&self.temporary)?
                .sync_all()?;
            fs::rename(&self.temporary, &self.path)
        };
        publish().map_err(|error| Error::new(ErrorKind::Io, error.to_string()).context(place))
    }
}

impl Drop for GridFile {
    fn drop(&mut self) {
        self.datasets.clear();
        self.file.take();
        // Gone already when the file was finished.
        let _ = fs::remove_file(&self.temporary);
    }
}

/// Writes the axes: times, rows, columns, and levels where there are any.
fn axes(file: &H5File, header: &GridHeader) -> Written<Vec<H5Dataset>> {
    let hours: Vec<f64> = header.times.iter().map(|t| t.0 as f64 / 3600.0).collect();
    let mut scales = Vec::new();
    let count = |n: usize| (0..n).map(|k| k as f64).collect::<Vec<f64>>();
    let (rows, columns) = header
        .curved
        .map_or_else(Default::default, |(rows, columns)| {
            (count(rows), count(columns))
        });
    let of_grid = match header.curved {
        None => [
            ("lat", &header.lat, "degrees_north", "latitude"),
            ("lon", &header.lon, "degrees_east", "longitude"),
        ],
        Some(_) => [("y", &rows, "1", ""), ("x", &columns, "1", "")],
    };
    let [of_rows, of_columns] = of_grid;
    let of_levels = ("level", &header.levels, "hPa", "air_pressure");
    let has_levels = header.variables.iter().any(|v| v.has_levels);
    let all = [
        Some(("time", &hours, "hours since 1970-01-01 00:00:00", "time")),
        Some(of_rows),
        Some(of_columns),
        Some(of_levels).filter(|_| has_levels),
    ];
    for (name, values, units, standard) in all.into_iter().flatten() {
        let scale = file
            .new_dataset::<f64>()
            .shape([values.len()])
            .create(name)?;
        if !values.is_empty() {
            scale.write_raw(values)?;
        }
        scale.set_scale(Some(name))?;
        text(&scale, "units", units)?;
        match name {
            // Numbers of rows and columns, for which CF has no name.
            "y" => row_or_column(&scale, "row of the grid", "Y")?,
            "x" => row_or_column(&scale, "column of the grid", "X")?,
            _ => text(&scale, "standard_name", standard)?,
        }
        match name {
            "time" => text(&scale, "calendar", "standard")?,
            "level" => text(&scale, "positive", "down")?,
            _ => {}
        }
        scales.push(scale);
    }
    Ok(scales)
}

/// Says what numbers of rows or columns are.
fn row_or_column(scale: &H5Dataset, what: &str, axis: &str) -> Written<()> {
    text(scale, "long_name", what)?;
    text(scale, "axis", axis)
}

/// Writes where the points of a projected or curvilinear grid lie.
fn places(file: &H5File, header: &GridHeader, scales: &[H5Dataset]) -> Written<()> {
    for (name, values, units) in [
        ("latitude", &header.lat, "degrees_north"),
        ("longitude", &header.lon, "degrees_east"),
    ] {
        let dataset = file
            .new_dataset::<f64>()
            .shape([scales[0].shape()[0], scales[1].shape()[0]]);
        let dataset = dataset.create(name)?;
        dataset.write_raw(values)?;
        text(&dataset, "units", units)?;
        text(&dataset, "standard_name", name)?;
        for (axis, scale) in scales.iter().enumerate() {
            dataset.attach_scale(axis, scale)?;
        }
    }
    Ok(())
}
