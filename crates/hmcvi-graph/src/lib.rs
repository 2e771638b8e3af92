//! Symbolic, row-parallel tensor programs.
mod cpu;
mod error;
mod expr;
mod grad;
mod graph;
mod op;
mod plan;
pub mod random;
mod real;
mod shape;
mod simplify;
mod store;

pub use cpu::{CpuOptions, Executable, Run};
pub use error::{CompileError, RunError, ShapeError};
pub use expr::{Expr, Operand};
pub use graph::Graph;
pub use plan::{Cost, Program, ProgramBuilder};
pub use real::Real;
pub use shape::{Rows, Shape};
pub use store::{Store, Tensor};
