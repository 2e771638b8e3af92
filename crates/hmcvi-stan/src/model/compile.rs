//! Run a program once with its data, and make a model of what it wrote down.

use std::sync::{Arc, Mutex};

use hmcvi::bayes::{self, Bound, Data, Dims, ModelError};
use hmcvi::dist::random::RandomSource;
use hmcvi_graph::random::Key;

use super::uniform::{self, Bounds};
use super::{Model, Parameter, Program, Settings, data, declared, generate, parameter};
use crate::ast::{Blocks, Stmt, StmtKind};
use crate::error::{Problem, Result};
use crate::lower::{self, Plan};
use crate::machine::{Flow, Frame, Machine};
use crate::value::Value;

/// Random streams of draws: one for transformed data, one for generated quantities.
pub(super) fn random(seed: u64, stream: u16, draw: u32) -> RandomSource {
    RandomSource::new(Key { seed, stream, step: 0, row: draw })
}

pub(super) fn model(program: &Program, data: &Data, settings: &Settings) -> Result<Model> {
    let blocks = program.blocks();
    let mut frame = Machine::frame(blocks.slots);
    let mut machine = Machine::new(blocks, settings.constants, Some(random(settings.seed, 1, 0)));
    data::read(&mut machine, &blocks.data, data, &mut frame)?;
    run(&mut machine, &blocks.transformed_data, &mut frame)?;
    machine.random = None;
    let (mut parameters, mut derived) = written(&mut machine, blocks, frame.clone(), &Bounds::new())?;
    if settings.bounds_of_uniform {
        let narrower = uniform::bounds(&machine, &parameters);
        if !narrower.is_empty() {
            machine.begin(None);
            (parameters, derived) = written(&mut machine, blocks, frame.clone(), &narrower)?;
        }
    }
    let parameters: Arc<[Parameter]> = parameters.into();
    let improper = improper(&machine, blocks, &parameters);
    let plan = Plan::new(std::mem::take(&mut machine.tape), &machine.target, &derived, parameters.clone())?;
    let bound = bind(plan, &not_finite(blocks, data))?;
    let mut model = Model {
        program: program.clone(),
        bound,
        parameters,
        frame: Arc::new(frame),
        variables: Vec::new(),
        orders: Vec::new(),
        improper,
        names: Vec::new(),
    };
    model.variables = generate::variables(&model)?;
    model.orders = model.variables.iter().map(generate::Variable::order).collect();
    model.names = model.variables.iter().flat_map(generate::Variable::names).collect();
    Ok(model)
}

/// Transformed parameters by name.
type Derived = Vec<(String, Dims, Value)>;

/// Runs the program from its parameters on: these, and transformed parameters by name.
fn written<'p>(
    machine: &mut Machine<'p>,
    blocks: &'p Blocks,
    mut frame: Frame,
    narrower: &Bounds,
) -> Result<(Vec<Parameter>, Derived)> {
    let mut parameters = Vec::new();
    for statement in &blocks.parameters {
        parameter::declare(machine, statement, &mut parameters, narrower, &mut frame)?;
    }
    if parameters.is_empty() {
        return Err("the program has no parameters; there is nothing to infer".into());
    }
    run(machine, &blocks.transformed_parameters, &mut frame)?;
    let derived = transformed(machine, blocks, &mut frame)?;
    run(machine, &blocks.model, &mut frame)?;
    Ok((parameters, derived))
}

/// A parameter that the log density does not depend on, and whose support has no end.
fn improper(machine: &Machine<'_>, blocks: &Blocks, parameters: &[Parameter]) -> Option<Problem> {
    let needed = lower::parameters_of(&machine.tape, &machine.target);
    let idle = |(number, parameter): (u32, &Parameter)| !needed.contains(&number) && parameter.is_endless();
    let (_, found) = (0..).zip(parameters).find(|(number, parameter)| idle((*number, parameter)))?;
    let of =
        |statement: &&Stmt| matches!(&statement.kind, StmtKind::Declare { slot, .. } if *slot == found.slot);
    let span = blocks.parameters.iter().find(of)?.span;
    let message = format!(
        "nothing in the program says how likely values of `{}` are, and there is no end to them: its posterior is \
         improper. Give it a distribution, or `lower` and `upper`, or leave it out",
        found.name
    );
    Some(Problem::at(span, message))
}

/// Statements of a block.
pub(super) fn run<'p>(
    machine: &mut Machine<'p>,
    statements: &'p [crate::ast::Stmt],
    frame: &mut Frame,
) -> Result<()> {
    match machine.exec_all(statements, frame)? {
        Flow::Next => Ok(()),
        _ => Err("`return` stands in functions only".into()),
    }
}

/// Transformed parameters by name, those that are known left out.
fn transformed(machine: &mut Machine<'_>, blocks: &Blocks, frame: &mut Frame) -> Result<Derived> {
    let mut all = Vec::new();
    for statement in &blocks.transformed_parameters {
        let StmtKind::Declare { name, declared, slot, .. } = &statement.kind else { continue };
        let value = frame[*slot].clone();
        declared::check(machine, name, declared, &value, frame).map_err(|p| p.or_at(statement.span))?;
        if value.elements() == 0 {
            continue;
        }
        let Some(dims) = Dims::new(&value.sizes.to_vec()) else { continue };
        all.push((name.clone(), dims, value));
    }
    Ok(all)
}

/// Data of the program that have numbers that are none: a model without any density is asked for them.
fn not_finite(blocks: &Blocks, data: &Data) -> Data {
    let declared = blocks.data.iter().filter_map(|statement| match &statement.kind {
        StmtKind::Declare { name, .. } => data.get(name).map(|array| (name, array)),
        _ => None,
    });
    let odd = declared.filter(|(_, array)| array.values.iter().any(|x| !x.is_finite()));
    odd.fold(Data::new(), |all, (name, array)| all.with(name, array.clone()))
}

/// The model of a plan, with its data inside.
fn bind(plan: Plan, not_finite: &Data) -> Result<Bound> {
    let problem = Arc::new(Mutex::new(None));
    let noted = problem.clone();
    let model = bayes::Model::new(move |builder| {
        if let Err(found) = plan.build(builder)
            && let Ok(mut noted) = noted.lock()
        {
            noted.get_or_insert(found);
        }
    });
    let bound = model.bind(not_finite);
    if let Some(found) = problem.lock().ok().and_then(|mut found| found.take()) {
        return Err(found);
    }
    bound.map_err(|error| match error {
        ModelError::Variable { name, problem } => Problem::from(format!("`{name}`: {problem}")),
        other => Problem::from(other.to_string()),
    })
}
