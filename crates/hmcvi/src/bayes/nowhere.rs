//! Name what makes a density that is finite nowhere: variables, observations, and data that are NaN or infinite.

use std::sync::Arc;

use hmcvi_graph::random::{self, Key};
use hmcvi_graph::{CpuOptions, Expr, Graph, Run, Shape, Store};

use super::builder::{Builder, Raw};
use super::{Bound, FitError};

/// Places that are looked at: the origin and random ones around it.
const PLACES: usize = 33;
/// Stream of random places, apart from those of programs and walks.
const STREAM: u16 = u16::MAX - 5;

impl Bound {
    /// What has no finite log density at any of some places near the origin, in words: "`y` is not finite there; `x` of the
    /// data is NaN at position 3 (from 0)". Empty where everything has one.
    ///
    /// # Errors
    /// If the model is not a well-formed program.
    pub fn without_density(&self) -> Result<String, FitError> {
        let lost = self.parts_without_density()?;
        let mut said = Vec::new();
        if !lost.is_empty() {
            let names: Vec<String> = lost.iter().map(|name| format!("`{name}`")).collect();
            let are = if lost.len() == 1 { "is" } else { "are" };
            said.push(format!("{} {are} not finite there", names.join(", ")));
            said.extend(self.data().names().filter_map(|name| self.datum_that_is_none(name)));
        }
        Ok(said.join("; "))
    }

    /// Names of variables and observations.
    fn parts_without_density(&self) -> Result<Vec<String>, FitError> {
        let (graph, d) = (Graph::new(), self.dimension());
        let mut builder =
            Builder::new(&graph, Arc::new(self.data().clone()), Raw::Columns(graph.batch_input("z", d)));
        self.describe(&mut builder);
        let observed = builder.log_likelihood.into_iter().map(|(name, value)| (name, value.sum().expr()));
        let parts: Vec<(String, Expr<'_>)> = builder.log_prior.into_iter().chain(observed).collect();
        let program = parts.iter().enumerate().fold(graph.program(), |program, (place, (_, part))| {
            program.output(&place.to_string(), part.broadcast_to(Shape::batch(1)))
        });
        let mut executable = program.compile()?.on_cpu::<f64>(CpuOptions::for_rows(PLACES));
        let mut z = vec![0.0; PLACES * d];
        random::uniform(Key { seed: 0, stream: STREAM, step: 0, row: 0 }, &mut z[d..]);
        z[d..].iter_mut().for_each(|z| *z = 2.0 * *z - 1.0);
        let run = Run { rows: PLACES, inputs: &[("z", &z)], ..Run::default() };
        executable.evaluate(&Store::new(), &run)?;
        let is_lost = |place: usize| {
            let found = executable.output(&place.to_string()).unwrap_or_default();
            !found.iter().any(|log_density| log_density.is_finite())
        };
        let mut lost: Vec<String> = Vec::new();
        for (place, (name, _)) in parts.iter().enumerate() {
            if is_lost(place) && !lost.contains(name) {
                lost.push(name.clone());
            }
        }
        Ok(lost)
    }

    /// The first number of an array of the data that is none.
    fn datum_that_is_none(&self, name: &str) -> Option<String> {
        let values = &self.data().get(name)?.values;
        let at = values.iter().position(|value| !value.is_finite())?;
        Some(format!("`{name}` of the data is {} at position {at} (from 0)", values[at]))
    }
}
