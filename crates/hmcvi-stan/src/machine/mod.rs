//! Run a program: known numbers are computed at once, what depends on parameters is written down.

mod assign;
mod branch;
mod call;
mod eval;
mod exec;
mod index;
mod operate;
mod operators;

pub(crate) use call::{find_function, written_name};
pub(crate) use eval::joined;
pub(crate) use exec::plain_name;
pub(crate) use index::index_type;
pub(crate) use operate::square;
pub(crate) use operators::{binary_type, unary_type};

use hmcvi::dist::random::RandomSource;

use crate::ast::{Blocks, Function};
use crate::error::{Problem, Result, Span};
use crate::functions::density::Kernels;
use crate::model::uniform::Uniform;
use crate::tape::Tape;
use crate::types::Ty;
use crate::value::{Data, Value};

/// Steps that a run may take: some seconds.
const MOST_STEPS: u64 = 100_000_000;
/// Numbers that a run may keep in values that it makes.
const MOST_NUMBERS: usize = 100_000_000;
/// Calls of functions within calls.
const DEEPEST_CALL: usize = 60;

/// Variables of a frame, by their slots.
pub(crate) type Frame = Vec<Value>;

/// What comes after a statement.
#[derive(Clone, Debug)]
pub(crate) enum Flow {
    Next,
    Break,
    Continue,
    Return(Value),
}

/// A run of a program.
pub(crate) struct Machine<'p> {
    pub(crate) functions: &'p [Function],
    pub(crate) tape: Tape,
    /// Summands of the log density.
    pub(crate) target: Vec<Value>,
    pub(crate) random: Option<RandomSource>,
    /// Densities of known numbers.
    pub(crate) kernels: Kernels,
    /// Whether `~` keeps what does not depend on parameters.
    pub(crate) constants: bool,
    /// Place of the expression that is computed, and of the calls around it.
    site: u64,
    span: Span,
    calls: u64,
    depth: usize,
    steps: u64,
    numbers: usize,
    /// Conditions on parameters of which a side is run.
    branches: usize,
    /// Values that functions return under conditions that depend on parameters.
    pending: Vec<Vec<(Value, Value)>>,
    /// What uniform priors say.
    pub(crate) uniforms: Vec<Uniform>,
}

impl<'p> Machine<'p> {
    pub(crate) fn new(blocks: &'p Blocks, constants: bool, random: Option<RandomSource>) -> Self {
        Machine {
            functions: &blocks.functions,
            tape: Tape::default(),
            target: Vec::new(),
            random,
            kernels: Kernels::default(),
            constants,
            site: 0,
            span: Span::default(),
            calls: 0,
            depth: 0,
            steps: 0,
            numbers: 0,
            branches: 0,
            pending: Vec::new(),
            uniforms: Vec::new(),
        }
    }

    /// Begins another run, with these random numbers.
    pub(crate) fn begin(&mut self, random: Option<RandomSource>) {
        self.tape = Tape::default();
        self.target.clear();
        self.pending.clear();
        self.uniforms.clear();
        (self.random, self.steps, self.numbers) = (random, 0, 0);
        (self.depth, self.branches) = (0, 0);
    }

    /// Values before anything is assigned.
    pub(crate) fn frame(slots: usize) -> Frame {
        vec![Value::num(f64::NAN); slots]
    }

    fn step(&mut self, span: Span) -> Result<()> {
        self.steps += 1;
        if self.steps > MOST_STEPS {
            let message =
                format!("the program takes more than {MOST_STEPS} steps; loops go on for too long here");
            return Err(Problem::at(span, message));
        }
        Ok(())
    }

    /// Accounts for a value that is made.
    pub(crate) fn keep(&mut self, numbers: usize) -> std::result::Result<(), String> {
        self.numbers = self.numbers.saturating_add(numbers);
        match self.numbers > MOST_NUMBERS {
            true => {
                Err(format!("the program keeps more than {MOST_NUMBERS} numbers; sizes are too large here"))
            }
            false => Ok(()),
        }
    }

    /// A value of this type and these sizes that nothing was assigned to.
    pub(crate) fn empty(&mut self, ty: Ty, sizes: &[usize]) -> std::result::Result<Value, String> {
        let elements = sizes.iter().fold(1usize, |n, size| n.saturating_mul(*size));
        self.keep(elements)?;
        // Integers begin below all others, as in Stan.
        let fill = if ty.base == crate::types::Base::Int { f64::from(i32::MIN) } else { f64::NAN };
        if sizes.is_empty() {
            return Ok(Value { ty, ..Value::num(fill) });
        }
        Ok(Value::known_of(ty, sizes, vec![fill; elements]))
    }

    /// Adds a value to the log density.
    pub(crate) fn add_target(&mut self, value: Value) {
        if value.elements() > 0 {
            self.target.push(value);
        }
    }

    pub(crate) fn site(&self) -> u64 {
        self.site
    }
}

/// Whether two values are surely the same.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    a.ty == b.ty && a.sizes == b.sizes && a.data.same(&b.data)
}

pub(crate) fn data_of(value: &Value) -> (Data, u32) {
    (value.data.clone(), value.elements() as u32)
}
