//! Call functions of the program.

use std::borrow::Cow;

use super::{DEEPEST_CALL, Flow, Frame, Machine};
use crate::ast::{Expr, Function};
use crate::error::{Problem, Result, Span};
use crate::types::Ty;
use crate::value::Value;

impl<'p> Machine<'p> {
    /// The function of the program with this name for these arguments.
    pub(crate) fn user_function(&self, name: &str, arguments: &[Value]) -> Option<&'p Function> {
        let types: Vec<Ty> = arguments.iter().map(|value| value.ty).collect();
        find_function(self.functions, name, &types)
    }

    pub(crate) fn call_user(
        &mut self,
        function: &'p Function,
        arguments: Vec<Value>,
        span: Span,
    ) -> Result<Value> {
        if self.depth >= DEEPEST_CALL {
            let message =
                format!("more than {DEEPEST_CALL} calls within calls; `{}` does not end", function.name);
            return Err(Problem::at(span, message));
        }
        let mut frame = Machine::frame(function.slots);
        for ((slot, value), (_, ty)) in frame.iter_mut().zip(arguments).zip(&function.arguments) {
            *slot = value.typed(*ty);
        }
        self.depth += 1;
        self.pending.push(Vec::new());
        let flow = self.exec_all(&function.body, &mut frame);
        let pending = self.pending.pop().unwrap_or_default();
        self.depth -= 1;
        let mut value = match flow? {
            Flow::Return(value) => value,
            _ if function.result == Ty::VOID => return Ok(Value::void()),
            _ => {
                let message = format!("`{}` ends here without `return`", function.name);
                return Err(Problem::at(function.span, message));
            }
        };
        for (condition, earlier) in pending.into_iter().rev() {
            value = self.select(&condition, &earlier, &value).map_err(|m| Problem::at(span, m))?;
        }
        Ok(value.typed(function.result))
    }
}

impl<'p> Machine<'p> {
    /// A call from a place of the program.
    pub(crate) fn call_at(
        &mut self,
        e: &Expr,
        function: &'p Function,
        arguments: Vec<Value>,
    ) -> Result<Value> {
        self.at(e);
        let before = std::mem::replace(&mut self.calls, self.site);
        let found = self.call_user(function, arguments, e.span);
        self.calls = before;
        found
    }

    pub(crate) fn eval_each(&mut self, all: &[Expr], frame: &mut Frame) -> Result<Vec<Value>> {
        self.eval_all(all, frame)
    }
}

/// The name under which a function of the program is written: it is the same with constants and without.
pub(crate) fn written_name(name: &str) -> Cow<'_, str> {
    let kept = [("_lupdf", "_lpdf"), ("_lupmf", "_lpmf")];
    let own = kept.iter().find_map(|(ending, kept)| Some(format!("{}{kept}", name.strip_suffix(ending)?)));
    own.map_or(Cow::Borrowed(name), Cow::Owned)
}

/// The function that takes arguments of these types; one that takes them as they are goes first.
pub(crate) fn find_function<'p>(functions: &'p [Function], name: &str, types: &[Ty]) -> Option<&'p Function> {
    let name = &*written_name(name);
    let fits = |function: &&Function, takes: fn(Ty, Ty) -> bool| {
        function.arguments.len() == types.len()
            && function.arguments.iter().zip(types).all(|((_, ty), own)| takes(*ty, *own))
    };
    let mut named = functions.iter().filter(|function| function.name == name);
    let exact = named.clone().find(|function| fits(function, |a, b| a == b));
    exact.or_else(|| named.find(|function| fits(function, Ty::takes)))
}
