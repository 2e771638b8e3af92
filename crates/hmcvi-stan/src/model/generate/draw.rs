//! Run a program on the values of one draw.

use hmcvi::bayes::Dims;

use super::order::Block;
use crate::ast::{Special, Stmt, StmtKind};
use crate::error::{Problem, Result};
use crate::machine::{Frame, Machine};
use crate::model::compile::{random, run};
use crate::model::{Kind, Model, declared};
use crate::value::Value;

/// Random streams of generated quantities; transformed data have another.
const STREAM: u16 = 2;

/// Runs a program on draws, one after the other.
pub(super) struct Drawer<'m> {
    model: &'m Model,
    machine: Machine<'m>,
    /// Data, and parameters without elements.
    start: Frame,
}

/// All quantities of one draw.
pub(crate) fn one(model: &Model, row: &[f64], seed: u64, draw: u32) -> Result<Vec<f64>> {
    let mut values = Vec::new();
    match Drawer::new(model).draw(row, seed, draw, &mut values)? {
        Some(problem) => Err(problem),
        None => Ok(values),
    }
}

impl<'m> Drawer<'m> {
    pub(super) fn new(model: &'m Model) -> Self {
        // Threads that count the same owners of numbers would wait for each other.
        let mut start: Frame = model.frame.iter().map(Value::copied).collect();
        for (parameter, _) in model.of_block(Block::Parameters).filter(|(v, _)| v.elements() == 0) {
            if let Some(ty) = declared_type(&model.program.blocks().parameters, parameter.slot) {
                start[parameter.slot] = Value::known_of(ty, &parameter.sizes, Vec::new());
            }
        }
        let machine = Machine::new(model.program.blocks(), true, None);
        Drawer { model, machine, start }
    }

    /// Adds the values of a draw; gives back what went wrong with what the program computes.
    pub(super) fn draw(
        &mut self,
        row: &[f64],
        seed: u64,
        draw: u32,
        values: &mut Vec<f64>,
    ) -> Result<Option<Problem>> {
        let mut frame = self.start.clone();
        let rest = self.set_parameters(row, &mut frame)?;
        let is_set = self.set_transformed(rest, &mut frame);
        self.machine.begin(Some(random(seed, STREAM, draw)));
        let blocks = self.model.program.blocks();
        self.write(Block::Parameters, Some(&frame), values)?;
        let (mut problem, mut broken) = (None, false);
        let parts =
            [(Block::Transformed, &blocks.transformed_parameters), (Block::Generated, &blocks.generated)];
        for (block, statements) in parts {
            if !broken {
                let outside = match block {
                    Block::Transformed if is_set => self.check(statements, &mut frame),
                    _ => self.run(statements, &mut frame),
                };
                broken = outside.is_err();
                problem = problem.or(outside.unwrap_or_else(Some));
            }
            self.write(block, (!broken).then_some(&frame), values)?;
        }
        Ok(problem)
    }

    /// Runs a block; gives back what of it is outside of its bounds.
    fn run(&mut self, statements: &'m [Stmt], frame: &mut Frame) -> Result<Option<Problem>> {
        run(&mut self.machine, statements, frame)?;
        self.check(statements, frame)
    }

    /// What of a block is outside of its bounds.
    fn check(&mut self, statements: &'m [Stmt], frame: &mut Frame) -> Result<Option<Problem>> {
        for statement in statements {
            let StmtKind::Declare { name, declared, slot, .. } = &statement.kind else { continue };
            let value = frame[*slot].clone();
            let checked = declared::check(&mut self.machine, name, declared, &value, frame);
            if let Err(problem) = checked {
                return Ok(Some(problem.or_at(statement.span)));
            }
        }
        Ok(None)
    }

    /// Gives back what of the row is left.
    fn set_parameters<'r>(&self, row: &'r [f64], frame: &mut Frame) -> Result<&'r [f64]> {
        let mut used = 0;
        for parameter in self.model.parameters.iter() {
            let elements: usize = parameter.sizes.iter().product();
            let values = if parameter.is_fixed() {
                let zero = matches!(parameter.kind, Kind::Named(Special::SumToZero));
                vec![if zero { 0.0 } else { 1.0 }; elements]
            } else {
                let Some(values) = row.get(used..used + elements) else {
                    return Err(format!("a draw has {} values, more are needed", row.len()).into());
                };
                used += elements;
                values.to_vec()
            };
            frame[parameter.slot] = Value::known_of(parameter.ty, &parameter.sizes, values);
        }
        Ok(&row[used..])
    }

    /// Takes transformed parameters from the rest of a row, where the model has computed them; returns whether these
    /// are all.
    fn set_transformed(&self, mut rest: &[f64], frame: &mut Frame) -> bool {
        for statement in &self.model.program.blocks().transformed_parameters {
            let StmtKind::Declare { declared, slot, .. } = &statement.kind else { continue };
            let Some((variable, _)) = self.model.of_block(Block::Transformed).find(|(v, _)| v.slot == *slot)
            else {
                return false;
            };
            // The model has no values without elements, and none with so many dimensions.
            let elements = variable.elements();
            if Dims::new(&variable.sizes).is_none() || rest.len() < elements {
                return false;
            }
            let (own, others) = rest.split_at(elements);
            frame[*slot] = Value::known_of(declared.ty, &variable.sizes, own.to_vec());
            rest = others;
        }
        rest.is_empty()
    }

    /// Adds the values of a block in Stan's order; without a frame there are none.
    fn write(&self, block: Block, frame: Option<&Frame>, values: &mut Vec<f64>) -> Result<()> {
        for (variable, order) in self.model.of_block(block) {
            let Some(frame) = frame else {
                values.extend(order.iter().map(|_| f64::NAN));
                continue;
            };
            match frame[variable.slot].known() {
                Some(known) if known.len() == order.len() => {
                    values.extend(order.iter().map(|&place| known[place]));
                }
                _ => return Err(format!("`{}` is not known after a draw", variable.name).into()),
            }
        }
        Ok(())
    }
}

fn declared_type(statements: &[Stmt], wanted: usize) -> Option<crate::types::Ty> {
    statements.iter().find_map(|statement| match &statement.kind {
        StmtKind::Declare { declared, slot, .. } if *slot == wanted => Some(declared.ty),
        _ => None,
    })
}
