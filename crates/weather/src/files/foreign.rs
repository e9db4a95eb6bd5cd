//! Files that are none of those that can be read, and how they become one.

/// What a file is that begins so, and what to do.
pub(super) fn foreign(start: &[u8]) -> &'static str {
    let kinds: [(&[u8], &str); 8] = [
        (
            b"GRIB",
            "this is a GRIB file; convert it: cdo -f nc4 copy OLD.grib NEW.nc, or with Python \
             xarray.open_dataset(\"OLD.grib\", engine=\"cfgrib\").to_netcdf(\"NEW.nc\")",
        ),
        (
            b"\x0e\x03\x13\x01",
            "this is an HDF4 file; convert it to NetCDF-4: h4toh5 OLD.hdf NEW.nc",
        ),
        (
            b"\x1f\x8b",
            "this file is packed by gzip; unpack it: gunzip FILE",
        ),
        (
            b"BZh",
            "this file is packed by bzip2; unpack it: bunzip2 FILE",
        ),
        (
            b"PAR1",
            "this is a Parquet table; make NetCDF of it with Python: \
             pandas.read_parquet(\"OLD\").set_index([\"time\", \"lat\", \"lon\"]).to_xarray()\
             .to_netcdf(\"NEW.nc\")",
        ),
        (b"II*\0", TIFF),
        (b"MM\0*", TIFF),
        (
            b"{",
            "this is a JSON file; if it holds references of kerchunk, copy the data with Python: \
             xarray.open_dataset(\"OLD.json\", engine=\"kerchunk\").to_zarr(\"NEW.zarr\")",
        ),
    ];
    let kind = kinds.iter().find(|(magic, _)| start.starts_with(magic));
    let is_text = |b: &u8| b.is_ascii_graphic() || b.is_ascii_whitespace();
    match kind {
        Some((_, message)) => message,
        None if !start.is_empty() && start.iter().all(is_text) => {
            "this is a text; fields are read from NetCDF or Zarr: make NetCDF of a table with \
             Python, pandas.read_csv(\"OLD\", parse_dates=[\"time\"]).set_index([\"time\", \"lat\", \
             \"lon\"]).to_xarray().to_netcdf(\"NEW.nc\")"
        }
        None => "this is neither a NetCDF file nor a Zarr store",
    }
}

const TIFF: &str = "this is a TIFF image; make NetCDF of it with Python: \
                    rioxarray.open_rasterio(\"OLD.tif\").to_netcdf(\"NEW.nc\"), with a time as an axis";
