//! Hold the commands, one module each.

pub(crate) mod bench;
pub(crate) mod compare;
pub(crate) mod config;
pub(crate) mod data;
pub(crate) mod diagnose;
pub(crate) mod doctor;
pub(crate) mod encode;
pub(crate) mod eval;
pub(crate) mod figures;
pub(crate) mod fit;
pub(crate) mod generate;
pub(crate) mod hmc;
pub(crate) mod presets;
pub(crate) mod quickstart;
pub(crate) mod report;
pub(crate) mod reproduce;
pub(crate) mod resume;
pub(crate) mod rows;
pub(crate) mod sample;
pub(crate) mod sweep;
pub(crate) mod train;
