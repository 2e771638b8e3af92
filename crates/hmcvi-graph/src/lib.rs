//! Symbolic, row-parallel tensor programs: expressions, exact derivatives of any order, compiled to
//! static programs for the CPU.
//!
//! A [`Graph`] holds expressions, written like mathematics. Values are matrices `[rows, cols]` whose
//! rows are the batch, one per data point, or fixed. Derivatives are expressions again.
//! [`Graph::program`] compiles what is wanted; [`Program::on_cpu`] prepares it, in f32 or f64; and
//! [`Executable::run`] runs it without allocating. Parameters and optimiser state live in a
//! [`Store`].
//!
//! Logistic regression, with its gradient and a Hessian-vector product:
//!
//! ```
//! use hmcvi_graph::{CpuOptions, Graph, Run, Store};
//!
//! let graph = Graph::new();
//! let (x, y) = (graph.batch_input("x", 2), graph.batch_input("y", 1));
//! let w = graph.parameter("w", 2, 1);
//! let logits = x.matmul(w);
//! let loss = (logits.softplus() - y * logits).mean_rows();
//!
//! let gradient = graph.grad(loss, &[w])[0];
//! let v = graph.parameter("v", 2, 1);
//! let hessian_times_v = graph.grad((gradient * v).sum(), &[w])[0];
//!
//! let program = graph
//!     .program()
//!     .output("gradient", gradient)
//!     .output("hessian_times_v", hessian_times_v)
//!     .update(w, w - 0.1 * gradient)
//!     .compile()?;
//!
//! let mut store = Store::<f64>::new();
//! store.insert("w", 2, 1, vec![0.0, 0.0])?;
//! store.insert("v", 2, 1, vec![1.0, 0.0])?;
//! let mut executable = program.on_cpu::<f64>(CpuOptions::for_rows(3));
//! let points = [1.0, 2.0, -1.0, 0.5, 3.0, -2.0];
//! let labels = [1.0, 0.0, 1.0];
//! let run = Run { rows: 3, inputs: &[("x", &points), ("y", &labels)], ..Run::default() };
//! executable.run(&mut store, &run)?;
//!
//! // At w = 0 every probability is ½: gradient = Xᵀ(½ - y) / 3, Hessian = XᵀX / (4·3).
//! let gradient = executable.output("gradient").ok_or("no such output")?;
//! assert!((gradient[0] - (-0.5 * 1.0 + 0.5 * -1.0 - 0.5 * 3.0) / 3.0).abs() < 1e-12);
//! let product = executable.output("hessian_times_v").ok_or("no such output")?;
//! assert!((product[0] - (1.0 + 1.0 + 9.0) / 12.0).abs() < 1e-12);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! How expressions become a program is described in `docs/engine.md` of the repository.
#![deny(unsafe_code)]

mod columns;
#[allow(
    unsafe_code,
    reason = "tiles and tables are reached through pointers by threads that share no part of them"
)]
mod cpu;
#[cfg(feature = "cuda")]
#[allow(unsafe_code, reason = "the driver is called through its C interface")]
pub mod cuda;
mod data;
mod double;
mod elementary;
mod error;
mod expr;
mod gamma;
mod grad;
mod graph;
mod half;
mod known;
mod matrices;
mod normal;
mod op;
mod plan;
pub mod random;
mod ranks;
mod real;
mod repeat;
mod repeat_grad;
mod rowwise;
mod safetensors;
mod shape;
mod simplify;
mod store;

pub use cpu::{CpuOptions, Executable, Instructions, Part, Run, Split, Sums, Times};
pub use data::{DataSet, SparseRows};
pub use error::{CompileError, RunError, ShapeError, SparseError};
pub use expr::{Expr, Operand};
pub use graph::Graph;
pub use plan::{BatchProduct, Cost, Program, ProgramBuilder};
pub use ranks::{Alone, Parcel, Ranks};
pub use real::Real;
pub use repeat::{Repeat, Repeated};
pub use shape::{Rows, Shape};
pub use store::{Store, Tensor};
