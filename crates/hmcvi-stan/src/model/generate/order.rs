//! Name the numbers of a draw and put them in the order in which Stan writes them.

use crate::ast::StmtKind;
use crate::error::Result;
use crate::machine::Machine;
use crate::model::compile::random;
use crate::model::{Model, declared};

/// The block that a variable of a draw is declared in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Block {
    /// `parameters`
    Parameters,
    /// `transformed parameters`
    Transformed,
    /// `generated quantities`
    Generated,
}

/// A variable of a draw.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its size along each dimension; none for a number.
    pub sizes: Vec<usize>,
    /// Where it is declared.
    pub block: Block,
    pub(crate) slot: usize,
    /// Whether the last dimension has the two parts of complex numbers.
    complex: bool,
}

impl Variable {
    /// How many numbers it has.
    pub fn elements(&self) -> usize {
        self.sizes.iter().product()
    }

    /// Places of its numbers, counted row by row with the last dimension fastest, in the order in which Stan writes
    /// them: the first index varies fastest.
    pub fn order(&self) -> Vec<usize> {
        let elements = self.elements();
        // The parts of a complex number stay together.
        let parts = if self.complex { 2 } else { 1 };
        let outer = &self.sizes[..self.sizes.len() - usize::from(self.complex)];
        let place = |at: usize| {
            let (mut rest, mut place, mut step) = (at / parts, at % parts, elements);
            for size in outer {
                step /= size;
                place += rest % size * step;
                rest /= size;
            }
            place
        };
        (0..elements).map(place).collect()
    }

    /// Names of its numbers, `theta[1]` or `L[2,1]`, in Stan's order; parts of complex numbers are `z[1,real]` and
    /// `z[1,imag]`.
    pub fn names(&self) -> Vec<String> {
        let name = |place: usize| {
            if self.sizes.is_empty() {
                return self.name.clone();
            }
            let (mut rest, mut places) = (place, Vec::with_capacity(self.sizes.len()));
            for size in self.sizes.iter().rev() {
                places.push((rest % size + 1).to_string());
                rest /= size;
            }
            if let Some(part) = places.first_mut().filter(|_| self.complex) {
                *part = if place.is_multiple_of(2) { "real".into() } else { "imag".into() };
            }
            places.reverse();
            format!("{}[{}]", self.name, places.join(","))
        };
        self.order().into_iter().map(name).collect()
    }
}

/// All variables of a draw; generated ones have the sizes that they are declared with.
pub(crate) fn variables(model: &Model) -> Result<Vec<Variable>> {
    let blocks = model.program.blocks();
    let mut machine = Machine::new(blocks, true, Some(random(0, 2, 0)));
    let mut frame = (*model.frame).clone();
    let mut all = Vec::new();
    let parts = [
        (Block::Parameters, &blocks.parameters),
        (Block::Transformed, &blocks.transformed_parameters),
        (Block::Generated, &blocks.generated),
    ];
    for (block, statements) in parts {
        for statement in statements {
            let StmtKind::Declare { name, declared, slot, .. } = &statement.kind else { continue };
            let sizes = declared::sizes(&mut machine, declared, &mut frame)?;
            // Sizes may be asked for by `rows(x)` of earlier variables.
            frame[*slot] = machine
                .empty(declared.ty, &sizes)
                .map_err(|m| crate::error::Problem::at(statement.span, m))?;
            let complex = declared.ty.is_complex();
            all.push(Variable { name: name.clone(), sizes, block, slot: *slot, complex });
        }
    }
    Ok(all)
}
