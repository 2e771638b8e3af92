//! Variational inference with Hamiltonian Monte Carlo.
#![forbid(unsafe_code)]

pub mod bayes;
pub mod config;
pub mod data;
pub mod device;
pub mod dist;
pub mod eval;
pub mod family;
pub mod figure;
pub mod hmc;
mod linalg;
mod memory;
pub mod model;
pub mod nn;
pub mod potential;
mod problem;
pub mod run;
pub mod train;

pub use problem::{Problem, Subject};

/// The library example of the README.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
pub struct Readme;
