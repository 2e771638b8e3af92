//! The part of the Python package `hmcvi` that is written in Rust: glue between its objects and the library.
//!
//! Everything is computed by the library, and the interpreter is free while it works. What users see is in `python/hmcvi`.

mod arrays;
mod drawn;
mod failure;
mod fitted;
mod functions;
mod keep;
mod model;
mod network;
mod plots;
mod sampling;
mod tape;
mod trace;
mod value;
mod watch;

use pyo3::prelude::*;

#[pymodule]
fn _hmcvi(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("DISTRIBUTIONS", tape::NAMES)?;
    module.add_class::<value::Value>()?;
    module.add_class::<trace::Trace>()?;
    module.add_class::<model::BoundModel>()?;
    module.add_class::<model::StanProgram>()?;
    module.add_class::<fitted::Fitted>()?;
    module.add_class::<drawn::Drawn>()?;
    module.add_class::<sampling::Sampled>()?;
    module.add_class::<network::Rows>()?;
    module.add_class::<network::Network>()?;
    module.add_function(wrap_pyfunction!(functions::apply, module)?)?;
    module.add_function(wrap_pyfunction!(functions::apply_to_two, module)?)?;
    module.add_function(wrap_pyfunction!(functions::select, module)?)?;
    module.add_function(wrap_pyfunction!(functions::concatenate, module)?)?;
    module.add_function(wrap_pyfunction!(functions::log_prob, module)?)?;
    module.add_function(wrap_pyfunction!(functions::scale_rows, module)?)?;
    module.add_function(wrap_pyfunction!(model::builtin, module)?)?;
    module.add_function(wrap_pyfunction!(model::model_of, module)?)?;
    module.add_function(wrap_pyfunction!(model::method_of, module)?)?;
    module.add_function(wrap_pyfunction!(sampling::nuts, module)?)?;
    module.add_function(wrap_pyfunction!(sampling::check, module)?)?;
    module.add_function(wrap_pyfunction!(sampling::evidence, module)?)?;
    module.add_function(wrap_pyfunction!(network::train, module)?)?;
    module.add_function(wrap_pyfunction!(plots::lines, module)?)?;
    module.add_function(wrap_pyfunction!(plots::pairs, module)?)?;
    Ok(())
}
