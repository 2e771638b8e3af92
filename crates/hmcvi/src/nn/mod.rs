//! Build networks from named parameters, and draw their first values.

mod network;
mod parameters;

pub use network::{Activation, Network};
pub use parameters::{Initial, Parameters};
