//! The extension module of the package `fitzroy`: arrays in, arrays out, the library between.

mod arrays;
mod attend;
mod callbacks;
mod curves;
mod density;
mod errors;
mod notebook;
mod sampling;

use pyo3::prelude::*;

#[pymodule]
fn _fitzroy(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add_class::<curves::Curve>()?;
    m.add_function(wrap_pyfunction!(curves::t_quantile, m)?)?;
    m.add_function(wrap_pyfunction!(callbacks::least_squares, m)?)?;
    m.add_function(wrap_pyfunction!(density::log_density, m)?)?;
    m.add_function(wrap_pyfunction!(sampling::canonical, m)?)?;
    m.add_function(wrap_pyfunction!(sampling::sample, m)?)?;
    Ok(())
}
