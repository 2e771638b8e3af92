//! Compile a draw's bound into programs: one that trains, one that only looks.

use hmcvi_graph::{CompileError, Expr, Graph, Program, Shape};

use super::adam::{adam_updates, updates_so_far};
use super::sums::Ledger;
use crate::config::Adam;
use crate::family::{Draw, Measure};
use crate::nn::Parameters;

/// What training maximises: the mean bound, but for rows whose simulation went wrong.
pub struct Objective<'g> {
    graph: &'g Graph,
    parameters: Vec<(String, Expr<'g>)>,
    draw: Draw<'g>,
    /// Updates in which the family's held parameters stay what they are.
    hold: usize,
}

impl<'g> Objective<'g> {
    /// The bound of a draw as a function of all parameters that were asked for so far.
    pub fn new(parameters: &Parameters<'g>, draw: impl Into<Draw<'g>>) -> Self {
        Objective { graph: parameters.graph(), parameters: parameters.all(), draw: draw.into(), hold: 0 }
    }

    /// Learns some parameters only.
    #[must_use]
    pub fn learning(self, parameters: Vec<(String, Expr<'g>)>) -> Self {
        Objective { parameters, ..self }
    }

    /// Lets training leave the step size as it is for the first updates.
    #[must_use]
    pub fn holding_step_size(self, updates: usize) -> Self {
        Objective { hold: updates, ..self }
    }

    /// The parameters that are learnt, with their names.
    pub fn parameters(&self) -> &[(String, Expr<'g>)] {
        &self.parameters
    }

    /// What programs report, and what becomes of it.
    pub(super) fn ledger(&self) -> Ledger {
        Ledger::of(&self.draw)
    }

    /// Values that describe a batch, summed over its rows. `bound` and its terms are to be divided by `count`, the rows that
    /// have one; `dropped` is the number of the others, and `no_density` that of rows whose first draw has no density.
    fn sums(&self) -> Vec<(String, Expr<'g>)> {
        let draw = &self.draw;
        let counts = draw.counts();
        let bound = counts.select(draw.bound, 0.0);
        let first =
            [("count", counts), ("bound", bound), ("dropped", draw.dropped), ("no_density", draw.no_density)];
        let terms = draw.terms.iter().map(|(name, term)| (*name, counts.select(*term, 0.0)));
        let diverging = draw.diverging.map(|diverging| ("diverging", diverging));
        let all = first.into_iter().chain(terms).chain(diverging);
        let mut sums: Vec<_> = all.map(|(name, value)| (name.to_owned(), sum_rows(value))).collect();
        sums.extend(measured(&draw.measures));
        sums
    }

    /// One step of training. Inputs: `learning_rate`. A gradient that is not finite changes nothing and sets the output
    /// `skipped`.
    pub fn training_program(&self, adam: &Adam) -> Result<Program, CompileError> {
        let loss = self.draw.loss.unwrap_or(-self.draw.bound).sum_rows() / self.graph.batch_size();
        let wrt: Vec<Expr<'g>> = self.parameters.iter().map(|(_, p)| *p).collect();
        let gradients = self.graph.grad(loss, &wrt);
        let squares = gradients.iter().map(|g| g.square().sum()).reduce(|a, b| a + b);
        let square = squares.unwrap_or_else(|| self.graph.constant(0.0));
        let (proceed, norm) = (square.is_finite(), square.sqrt());
        let limit = adam.max_grad_norm;
        let gradients: Vec<Expr<'g>> = match limit > 0.0 {
            true => gradients.into_iter().map(|g| g * (limit / norm.max(limit))).collect(),
            false => gradients,
        };
        let rate = self.graph.scalar_input("learning_rate");
        let held = || updates_so_far(self.graph).less(self.graph.constant(self.hold as f64));
        let is_held = |name: &str| self.hold > 0 && self.draw.held.contains(&name);
        let rate = |name: &str| if is_held(name) { held().select(0.0, rate) } else { rate };
        let mut program = self.graph.program();
        program = program.output("skipped", 1.0 - proceed).output("gradient_norm", proceed.select(norm, 0.0));
        for (name, sum) in self.sums() {
            program = program.output(&name, sum);
        }
        for (old, new) in adam_updates(self.graph, adam, &self.parameters, &gradients, rate, proceed) {
            program = program.update(old, new);
        }
        program.compile()
    }

    /// The same values without training, and how the draws went, of parameters whose names have this before them.
    pub fn evaluation_program(&self, prefix: &str) -> Result<Program, CompileError> {
        let mut program = self.graph.program().parameters_from(prefix);
        for (name, sum) in self.sums().into_iter().chain(measured(&self.draw.details)) {
            program = program.output(&name, sum);
        }
        program.compile()
    }

    /// What the family looks at before training, row by row; `None` where it needs no look.
    pub fn first_look_program(&self) -> Result<Option<Program>, CompileError> {
        if self.draw.look.is_empty() {
            return Ok(None);
        }
        let look = self.draw.look.iter();
        look.fold(self.graph.program(), |program, (name, value)| program.output(name, *value))
            .compile()
            .map(Some)
    }
}

fn sum_rows(x: Expr<'_>) -> Expr<'_> {
    x.broadcast_to(Shape::batch(1)).sum_rows()
}

fn measured<'g>(measures: &[Measure<'g>]) -> impl Iterator<Item = (String, Expr<'g>)> {
    measures.iter().map(|measure| (measure.sum.to_string(), sum_rows(measure.value)))
}
