//! Bayesian models of one's own: named variables, distributions, data.
//!
//! A [`Model`] is a description; [`Model::bind`] gives it data, checks that all fits and counts the real numbers that its
//! variables are made from. What comes of it is a [`Potential`](crate::potential::Potential) like any other, and
//! [`Bound::fit`] approximates its posterior.
//!
//! ```
//! use hmcvi::bayes::{Data, Fit, Model, half_cauchy, normal};
//!
//! let schools = Model::new(|m| {
//!     let (y, sd) = (m.data("y"), m.data("sigma"));
//!     let mu = m.sample("mu", normal(0.0, 5.0));
//!     let tau = m.sample("tau", half_cauchy(5.0));
//!     let raw = m.sample("raw", normal(0.0, 1.0).shape(8));
//!     let theta = m.deterministic("theta", mu + tau * raw);
//!     m.observe("y", normal(theta, sd), y);
//! });
//! let data = Data::new()
//!     .with("y", [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
//!     .with("sigma", [15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0]);
//! let bound = schools.bind(&data)?;
//! assert_eq!(bound.dimension(), 10);
//!
//! let draws = bound.fit(&Fit::default().without_chain())?.draws(1000, 1)?;
//! let tau = &draws.summary()[1];
//! assert!(tau.name == "tau" && tau.q05 > 0.0 && tau.mean < 10.0);
//! println!("log evidence at least {:.2}", draws.bound().0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod builder;
mod data;
mod dims;
pub mod distribution;
mod error;
mod evaluate;
pub mod examples;
pub mod fit;
mod model;
mod nowhere;
pub mod support;
mod var;

pub use builder::{Builder, Order, Variable};
pub use data::{Array, Data};
pub use dims::Dims;
pub use distribution::*;
pub use error::ModelError;
pub use evaluate::{Evaluated, LogLikelihood};
pub use fit::{Covariance, Draws, Fit, FitError, Fitted, SavedFitError};
pub use model::{Bound, Built, Model};
pub use support::Support;
pub use var::{Arg, Index, Var};
