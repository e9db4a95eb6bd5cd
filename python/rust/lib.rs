//! The extension module of the package `fitzroy`: arrays in, arrays out, the library between.

mod arrays;
mod attend;
mod callbacks;
mod curves;
mod density;
mod devices;
mod errors;
mod foreign;
mod language;
mod notebook;
mod program;
mod sampling;
mod stop_signal;
mod traces;
mod weather;

use pyo3::prelude::*;

#[pymodule]
fn _fitzroy(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add_class::<curves::Curve>()?;
    m.add_class::<traces::Figure>()?;
    m.add_function(wrap_pyfunction!(curves::t_quantile, m)?)?;
    m.add_function(wrap_pyfunction!(curves::doubts, m)?)?;
    m.add_function(wrap_pyfunction!(curves::curve_criteria, m)?)?;
    m.add_function(wrap_pyfunction!(curves::curve_weights, m)?)?;
    m.add_function(wrap_pyfunction!(curves::averaged, m)?)?;
    m.add_function(wrap_pyfunction!(arrays::is_finite, m)?)?;
    m.add_function(wrap_pyfunction!(callbacks::least_squares, m)?)?;
    m.add_function(wrap_pyfunction!(density::log_density, m)?)?;
    m.add_function(wrap_pyfunction!(devices::check_device, m)?)?;
    m.add_function(wrap_pyfunction!(devices::release_devices, m)?)?;
    m.add_function(wrap_pyfunction!(language::names, m)?)?;
    m.add_function(wrap_pyfunction!(language::usage, m)?)?;
    m.add_function(wrap_pyfunction!(program::main, m)?)?;
    m.add_function(wrap_pyfunction!(program::in_arguments, m)?)?;
    m.add_function(wrap_pyfunction!(program::verify, m)?)?;
    m.add_function(wrap_pyfunction!(program::devices, m)?)?;
    m.add_function(wrap_pyfunction!(sampling::canonical, m)?)?;
    m.add_function(wrap_pyfunction!(sampling::declared, m)?)?;
    m.add_function(wrap_pyfunction!(sampling::sample, m)?)?;
    m.add_function(wrap_pyfunction!(stop_signal::simulated, m)?)?;
    m.add_function(wrap_pyfunction!(stop_signal::stop_signal_fit, m)?)?;
    m.add_function(wrap_pyfunction!(traces::read, m)?)?;
    m.add_function(wrap_pyfunction!(traces::diagnosed, m)?)?;
    m.add_function(wrap_pyfunction!(traces::loo, m)?)?;
    m.add_function(wrap_pyfunction!(traces::compared, m)?)?;
    m.add_function(wrap_pyfunction!(sampling::predicted, m)?)?;
    m.add_function(wrap_pyfunction!(traces::report, m)?)?;
    m.add_function(wrap_pyfunction!(traces::figure, m)?)?;
    m.add_function(wrap_pyfunction!(weather::weather_train, m)?)?;
    m.add_function(wrap_pyfunction!(weather::weather_score, m)?)?;
    m.add_function(wrap_pyfunction!(weather::weather_tune, m)?)?;
    m.add_function(wrap_pyfunction!(weather::weather_export, m)?)?;
    m.add_function(wrap_pyfunction!(weather::weather_forecast, m)?)?;
    m.add_function(wrap_pyfunction!(foreign::sample_density, m)?)?;
    Ok(())
}
