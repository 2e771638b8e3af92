//! Compute all quantities of a draw, and name them as Stan does.

use super::compile::{random, run};
use super::{Model, declared};
use crate::ast::{Stmt, StmtKind};
use crate::error::{Problem, Result};
use crate::machine::{Frame, Machine};
use crate::value::Value;

pub(super) struct Names {
    pub(super) all: Vec<String>,
    pub(super) parameters: usize,
    pub(super) transformed: usize,
}

/// Names of all quantities; generated ones have the sizes that they are declared with.
pub(super) fn names(model: &Model) -> Result<Names> {
    let blocks = model.program.blocks();
    let mut machine = Machine::new(blocks, true, Some(random(0, 2, 0)));
    let mut frame = (*model.frame).clone();
    let (mut all, mut counts) = (Vec::new(), Vec::new());
    for block in [&blocks.parameters, &blocks.transformed_parameters, &blocks.generated] {
        for statement in block {
            let StmtKind::Declare { name, declared, slot, .. } = &statement.kind else { continue };
            let sizes = declared::sizes(&mut machine, declared, &mut frame)?;
            machine.keep(sizes.iter().fold(1usize, |n, size| n.saturating_mul(*size)))?;
            // Sizes may be asked for by `rows(x)` of earlier variables.
            frame[*slot] = machine.empty(declared.ty, &sizes)?;
            let order = order(&sizes);
            all.extend(order.into_iter().map(|place| element_name(name, &sizes, place)));
        }
        counts.push(all.len());
    }
    Ok(Names { all, parameters: counts[0], transformed: counts[1] - counts[0] })
}

/// Places of the elements in the order in which Stan writes them: the first index varies fastest.
fn order(sizes: &[usize]) -> Vec<usize> {
    let elements: usize = sizes.iter().product();
    let place = |at: usize| {
        let (mut rest, mut place, mut step) = (at, 0, elements);
        for size in sizes {
            step /= size;
            place += rest % size * step;
            rest /= size;
        }
        place
    };
    (0..elements).map(place).collect()
}

fn element_name(name: &str, sizes: &[usize], place: usize) -> String {
    if sizes.is_empty() {
        return name.to_owned();
    }
    let (mut rest, mut places) = (place, Vec::with_capacity(sizes.len()));
    for size in sizes.iter().rev() {
        places.push((rest % size + 1).to_string());
        rest /= size;
    }
    places.reverse();
    format!("{name}[{}]", places.join(","))
}

pub(super) fn quantities(model: &Model, row: &[f64], seed: u64, draw: u32) -> Result<Vec<f64>> {
    let blocks = model.program.blocks();
    let mut machine = Machine::new(blocks, true, Some(random(seed, 2, draw)));
    let mut frame = (*model.frame).clone();
    let mut used = 0;
    for parameter in model.parameters.iter() {
        let elements: usize = parameter.sizes.iter().product();
        if parameter.is_fixed() {
            let fill = if matches!(parameter.kind, super::Kind::Named(crate::ast::Special::SumToZero)) {
                0.0
            } else {
                1.0
            };
            frame[parameter.slot] = Value::known_of(parameter.ty, &parameter.sizes, vec![fill; elements]);
            continue;
        }
        let Some(values) = row.get(used..used + elements) else {
            return Err(format!("a draw has {} values, more are needed", row.len()).into());
        };
        frame[parameter.slot] = Value::known_of(parameter.ty, &parameter.sizes, values.to_vec());
        used += elements;
    }
    empty_parameters(&mut machine, &blocks.parameters, &mut frame)?;
    run(&mut machine, &blocks.transformed_parameters, &mut frame)?;
    run(&mut machine, &blocks.generated, &mut frame)?;
    let mut all = Vec::with_capacity(model.names().len());
    for statement in blocks.parameters.iter().chain(&blocks.transformed_parameters).chain(&blocks.generated) {
        write(statement, &frame, &mut all)?;
    }
    Ok(all)
}

/// Parameters without elements, which have no values in a draw.
fn empty_parameters(machine: &mut Machine<'_>, block: &[Stmt], frame: &mut Frame) -> Result<()> {
    for statement in block {
        let StmtKind::Declare { declared, slot, .. } = &statement.kind else { continue };
        let sizes = declared::sizes(machine, declared, frame)?;
        if sizes.contains(&0) {
            frame[*slot] = Value::known_of(declared.ty, &sizes, Vec::new());
        }
    }
    Ok(())
}

fn write(statement: &Stmt, frame: &Frame, all: &mut Vec<f64>) -> Result<()> {
    let StmtKind::Declare { slot, name, .. } = &statement.kind else { return Ok(()) };
    let value = &frame[*slot];
    let Some(known) = value.known() else {
        return Err(Problem::at(statement.span, format!("`{name}` is not known after a draw")));
    };
    all.extend(order(&value.sizes.to_vec()).into_iter().map(|place| known[place]));
    Ok(())
}
