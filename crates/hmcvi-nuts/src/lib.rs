//! Sample the posterior of a Bayesian model with NUTS, the referee that fits are held against.
//!
//! A fit is fast and says how far it is from the posterior; chains of the no-U-turn sampler (Hoffman and Gelman 2014) are
//! slow, but converge to the posterior itself. Here the chains of the crate `nuts-rs` run on the log density and gradient
//! of any [`Bound`](hmcvi::bayes::Bound), compiled once.
//!
//! ```
//! use std::ops::ControlFlow;
//!
//! use hmcvi::bayes::{Data, Model, half_cauchy, normal};
//! use hmcvi_nuts::Nuts;
//!
//! let model = Model::new(|m| {
//!     let y = m.data("y");
//!     let mu = m.sample("mu", normal(0.0, 10.0));
//!     let sigma = m.sample("sigma", half_cauchy(5.0));
//!     m.observe("y", normal(mu, sigma), y);
//! });
//! let bound = model.bind(&Data::new().with("y", [3.1, 2.4, 3.8, 2.9, 3.3, 2.6]))?;
//! let nuts = Nuts { warm_up: 300, draws: 300, seed: 7, ..Nuts::default() };
//! let sampled = nuts.run(&bound, None, |_| ControlFlow::Continue(()))?;
//! for row in sampled.summary() {
//!     println!("{} {:.2} ± {:.2}, r_hat {:?}", row.name, row.mean, row.sd, row.r_hat);
//! }
//! let mu = &sampled.summary()[0];
//! assert!((mu.mean - 3.0).abs() < 0.5 && mu.r_hat.is_some_and(|r_hat| r_hat < 1.05));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Cold and warm
//!
//! Without more, chains begin where Stan's do, with real numbers between -2 and 2, and warm up for [`Nuts::warm_up`]
//! draws. With the mean and covariance of a fit, a [`Start`], they begin with draws of that Gaussian and move in its
//! coordinates, in which a good fit leaves nothing to learn but the step size: [`Nuts::warm_up_after_fit`] draws do.
//!
//! # A fit against the sampler
//!
//! [`check`] runs chains that begin with a fit, and others that do not if asked, and says of every number of the model
//! whether the fit agrees with them. What a wrong fit could do to such chains, and what is done about it: they begin
//! twice as far from its mean as its draws are; its coordinates are no more than a change of variables, in which the
//! warm-up learns masses and a step size of its own; and where chains do not agree with each other, or those from the
//! fit not with those from elsewhere, the check says that it cannot be trusted ([`Trust`]). A mode that no chain has
//! come near stays unknown; only chains that begin elsewhere can find it.
//!
//! # What is to be looked at
//!
//! [`Sampled::summary`] has rank-normalised split R-hat and effective sample sizes for every number of the model;
//! [`hmcvi::hmc::diagnostics`] says which are good. [`Sampled::divergences`] counts trajectories that failed: an invalid
//! density is one of them, never an error. Where there are many, draws miss a part of the posterior.
#![forbid(unsafe_code)]

mod chain;
mod check;
mod compare;
mod density;
mod error;
mod nuts;
mod sampled;
mod start;
mod summary;
mod trust;

pub use check::{Check, CheckSettings, check};
pub use compare::{Element, Limits, Offset, Verdict, compare};
pub use error::NutsError;
pub use nuts::{Nuts, Progress};
pub use sampled::{ChainDraws, Sampled};
pub use start::Start;
pub use summary::Row;
pub use trust::Trust;
