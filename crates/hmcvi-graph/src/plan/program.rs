//! Describe a program, and compile it for any device.

use std::sync::Arc;

use super::{For, Plan, Root, stages};
#[cfg(feature = "cuda")]
use super::{Step, rows_first};
use crate::error::CompileError;
use crate::expr::Expr;
use crate::graph::Graph;
#[cfg(feature = "cuda")]
use crate::graph::Node;
use crate::op::Op;

/// What a program computes, before it is compiled. Made by [`Graph::program`].
pub struct ProgramBuilder<'g> {
    graph: &'g Graph,
    outputs: Vec<(String, Expr<'g>)>,
    updates: Vec<(Expr<'g>, Expr<'g>)>,
    prefix: String,
    unrolled: bool,
}

impl Graph {
    /// Starts to describe a program: which expressions it returns and which parameters it updates.
    pub fn program(&self) -> ProgramBuilder<'_> {
        let (outputs, updates) = (Vec::new(), Vec::new());
        ProgramBuilder { graph: self, outputs, updates, prefix: String::new(), unrolled: false }
    }
}

impl<'g> ProgramBuilder<'g> {
    /// Returns the value of an expression under a name.
    #[must_use]
    pub fn output(mut self, name: &str, value: Expr<'g>) -> Self {
        self.outputs.push((name.into(), value));
        self
    }

    /// Sets a parameter to a new value at the end of each run. All updates see the old values.
    #[must_use]
    pub fn update(mut self, parameter: Expr<'g>, value: Expr<'g>) -> Self {
        self.updates.push((parameter, value));
        self
    }

    /// Takes every parameter from the tensor whose name is the prefix and then its own: the same expressions of other
    /// values.
    #[must_use]
    pub fn parameters_from(mut self, prefix: &str) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Writes loops out, step by step: a larger program that computes the same, and keeps the values of all steps instead
    /// of computing them again.
    #[must_use]
    pub fn unrolled(self) -> Self {
        ProgramBuilder { unrolled: true, ..self }
    }

    /// Compiles for any device.
    pub fn compile(self) -> Result<Program, CompileError> {
        let (mut nodes, constants) = self.graph.snapshot();
        for node in nodes.iter_mut().filter(|_| !self.prefix.is_empty()) {
            if let Op::Parameter(name) = &mut node.op {
                *name = format!("{}{name}", self.prefix).into();
            }
        }
        let mut roots = Vec::new();
        for (name, value) in self.outputs {
            let known = |r: &Root| matches!(r, Root::Output { name: n, .. } if *n == name);
            if roots.iter().any(known) {
                return Err(CompileError::DuplicateOutput(name));
            }
            if self.graph.body(value.id).is_some() {
                return Err(CompileError::InsideLoop(name));
            }
            roots.push(Root::Output { name, node: value.id });
        }
        for (target, value) in self.updates {
            let Op::Parameter(name) = target.node().op else {
                return Err(CompileError::NotAParameter(target.node().op.name()));
            };
            if value.shape() != target.shape() {
                let (name, expected, found) = (name.to_string(), target.shape(), value.shape());
                return Err(CompileError::UpdateShape { name, expected, found });
            }
            let known = |r: &Root| matches!(r, Root::Update { parameter, .. } if *parameter == target.id);
            if roots.iter().any(known) {
                return Err(CompileError::DuplicateUpdate(name.to_string()));
            }
            roots.push(Root::Update { parameter: target.id, node: value.id });
        }
        if roots.is_empty() {
            return Err(CompileError::Empty);
        }
        let target = if self.unrolled { For::ProcessorUnrolled } else { For::Processor };
        let plan = Arc::new(stages::plan(&nodes, &constants, &roots, target));
        Ok(Program {
            plan,
            #[cfg(feature = "cuda")]
            source: Arc::new((nodes, constants, roots)),
        })
    }
}

/// A compiled program: stages of steps with all memory planned, for any device and any precision.
///
/// Print it (`{program}`) for a listing; see also [`Program::graphviz`].
#[derive(Clone)]
pub struct Program {
    pub(crate) plan: Arc<Plan>,
    /// What it was made from, for plans of other devices.
    #[cfg(feature = "cuda")]
    source: Arc<Described>,
}

/// All nodes and constants of a graph, and what is wanted.
#[cfg(feature = "cuda")]
type Described = (Vec<Node>, Vec<Arc<[f64]>>, Vec<Root>);

#[cfg(feature = "cuda")]
impl Program {
    /// The plan for a GPU.
    pub(crate) fn for_gpu(&self) -> Arc<Plan> {
        let is_same = self.plan.is_for_all
            && self.plan.once.is_empty()
            && !self.plan.steps().any(|s| matches!(s, Step::Wide(_)))
            && !self.plan.has_loops()
            && !rows_first::applies(&self.plan.nodes);
        if is_same {
            return self.plan.clone();
        }
        let (nodes, constants, roots) = &*self.source;
        Arc::new(stages::plan(nodes, constants, roots, For::Gpu))
    }
}

impl Program {
    /// A program of a plan, for tests of passes.
    #[cfg(test)]
    pub(super) fn of(plan: Plan) -> Self {
        Program {
            plan: Arc::new(plan),
            #[cfg(feature = "cuda")]
            source: Arc::default(),
        }
    }

    /// Names of what it returns.
    pub fn output_names(&self) -> impl Iterator<Item = &str> {
        self.plan.outputs.iter().map(|o| &*o.name)
    }

    /// Expressions that it computes.
    pub fn expressions(&self) -> usize {
        self.plan.nodes.len()
    }

    /// Columns of a data set that it reads.
    pub fn data_cols(&self, name: &str) -> Option<usize> {
        self.plan.data.iter().find(|d| *d.name == *name).map(|d| d.cols)
    }
}
