//! Check names and types of a program before anything runs, and give every variable its slot.

mod expr;
mod stmt;

use std::collections::HashMap;

use crate::ast::{Blocks, Function, Stmt, StmtKind};
use crate::error::{Problem, Result, Span};
use crate::types::{Base, Ty};

/// Where a statement stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Debug)]
pub(super) enum Place {
    Function { draws: bool, adds: bool },
    Data,
    TransformedData,
    Parameters,
    TransformedParameters,
    Model,
    Generated,
}

/// A variable that can be seen.
#[derive(Clone, Copy)]
struct Known {
    slot: usize,
    ty: Ty,
    /// Where it can be assigned to; nowhere if it is an argument, data, a parameter or a loop's variable.
    writable: Option<Place>,
}

/// What is known while a program is walked through.
pub(super) struct Checker {
    /// Functions of the program, without their bodies.
    functions: Vec<Function>,
    scopes: Vec<HashMap<String, Known>>,
    slots: usize,
    place: Place,
    /// What the function gives that is looked at.
    result: Option<Ty>,
    loops: usize,
}

/// Checks a program.
pub(crate) fn check(blocks: &mut Blocks) -> Result<()> {
    let headers: Vec<Function> =
        blocks.functions.iter().map(|f| Function { body: Vec::new(), ..f.clone() }).collect();
    let mut checker = Checker {
        functions: headers,
        scopes: vec![HashMap::new()],
        slots: 0,
        place: Place::Data,
        result: None,
        loops: 0,
    };
    let mut functions = std::mem::take(&mut blocks.functions);
    for function in &mut functions {
        checker.function(function)?;
    }
    blocks.functions = functions;
    checker.slots = 0;
    checker.result = None;
    let all: [(Place, &mut Vec<Stmt>); 6] = [
        (Place::Data, &mut blocks.data),
        (Place::TransformedData, &mut blocks.transformed_data),
        (Place::Parameters, &mut blocks.parameters),
        (Place::TransformedParameters, &mut blocks.transformed_parameters),
        (Place::Model, &mut blocks.model),
        (Place::Generated, &mut blocks.generated),
    ];
    for (place, statements) in all {
        checker.place = place;
        let local = place == Place::Model;
        if local {
            checker.scopes.push(HashMap::new());
        }
        for statement in statements.iter_mut() {
            if matches!(place, Place::Data | Place::Parameters) {
                only_declared(place, statement)?;
            }
            checker.statement(statement)?;
        }
        if local {
            checker.scopes.pop();
        }
    }
    blocks.slots = checker.slots;
    Ok(())
}

fn only_declared(place: Place, statement: &Stmt) -> Result<()> {
    let block = if place == Place::Data { "data" } else { "parameters" };
    match &statement.kind {
        StmtKind::Declare { value: None, declared, name, .. } => {
            if place == Place::Parameters && declared.ty.base == Base::Int {
                let message = format!(
                    "`{name}` cannot be an integer: parameters are real; sum discrete ones out in the model"
                );
                return Err(Problem::at(statement.span, message));
            }
            if place == Place::Parameters && declared.ty.is_complex() {
                let message =
                    format!("`{name}` cannot be complex: parameters are real; declare its two parts");
                return Err(Problem::at(statement.span, message));
            }
            Ok(())
        }
        StmtKind::Declare { .. } => Err(Problem::at(
            statement.span,
            format!("variables of the block `{block}` get no values in the program"),
        )),
        StmtKind::Empty => Ok(()),
        _ => Err(Problem::at(statement.span, format!("the block `{block}` has declarations only"))),
    }
}

impl Checker {
    fn function(&mut self, function: &mut Function) -> Result<()> {
        let name = &function.name;
        let types: Vec<Ty> = function.arguments.iter().map(|(_, ty)| *ty).collect();
        let same = |other: &&Function| {
            other.name == *name && other.arguments.iter().map(|(_, ty)| *ty).eq(types.iter().copied())
        };
        if self.functions.iter().filter(same).count() > 1 {
            return Err(Problem::at(function.span, format!("`{name}` is defined twice for these arguments")));
        }
        self.slots = 0;
        self.scopes = vec![HashMap::new()];
        self.place = Place::Function {
            draws: name.ends_with("_rng"),
            adds: name.ends_with("_lp") || name.ends_with("_jacobian"),
        };
        self.result = Some(function.result);
        for (argument, ty) in &function.arguments {
            let slot = self.slot();
            self.scopes[0].insert(argument.clone(), Known { slot, ty: *ty, writable: None });
        }
        self.scopes.push(HashMap::new());
        self.statements(&mut function.body)?;
        self.scopes = vec![HashMap::new()];
        function.slots = self.slots;
        if function.result != Ty::VOID && !function.body.iter().any(may_return) {
            return Err(Problem::at(
                function.span,
                format!("`{}` gives a value, but nothing is returned", function.name),
            ));
        }
        Ok(())
    }

    fn slot(&mut self) -> usize {
        self.slots += 1;
        self.slots - 1
    }

    /// A new variable.
    fn declare(&mut self, name: &str, ty: Ty, writable: bool, span: Span) -> Result<usize> {
        if self.find(name).is_some() {
            return Err(Problem::at(
                span,
                format!("`{name}` is declared already; variables need names of their own"),
            ));
        }
        if self.functions.iter().any(|function| function.name == name) {
            return Err(Problem::at(span, format!("`{name}` is the name of a function")));
        }
        let slot = self.slot();
        let writable = writable.then_some(self.place);
        let known = Known { slot, ty, writable };
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.to_owned(), known);
        }
        Ok(slot)
    }

    fn find(&self, name: &str) -> Option<Known> {
        self.scopes.iter().rev().find_map(|scope| scope.get(name)).copied()
    }

    fn unknown(&self, name: &str, span: Span) -> Problem {
        let names = self.scopes.iter().flat_map(HashMap::keys);
        let close = names.filter(|known| known.eq_ignore_ascii_case(name)).min();
        let instead = close.map_or(String::new(), |close| format!("; did you mean `{close}`?"));
        Problem::at(span, format!("`{name}` is not declared here{instead}"))
    }
}

fn may_return(statement: &Stmt) -> bool {
    match &statement.kind {
        StmtKind::Return(_) | StmtKind::Reject(_) => true,
        StmtKind::Block(all) => all.iter().any(may_return),
        StmtKind::If { then, otherwise, .. } => {
            may_return(then) || otherwise.as_ref().is_some_and(|statement| may_return(statement))
        }
        StmtKind::For { body, .. } | StmtKind::ForEach { body, .. } | StmtKind::While { body, .. } => {
            may_return(body)
        }
        _ => false,
    }
}
