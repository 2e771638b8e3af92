//! Hold expressions as nodes of an arena, each distinct expression once.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use crate::data::DataKind;
use crate::error::ShapeError;
use crate::expr::Expr;
use crate::op::{Draw, Loop, Op};
use crate::rowwise::Columns;
use crate::shape::{Rows, Shape};
use crate::simplify;

/// Place of a node in the arena. Arguments always come before the nodes that use them.
pub(crate) type NodeId = u32;

/// An operation with its arguments and the shape of its value.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Node {
    pub(crate) op: Op,
    pub(crate) args: Vec<NodeId>,
    pub(crate) shape: Shape,
}

/// An arena of expressions.
///
/// A graph only describes computations. Equal expressions are stored once, and simple algebra
/// (`x·1`, `x+0`, constants) is done while the graph is built. [`Graph::program`] compiles what is
/// wanted into a [`Program`](crate::Program).
#[derive(Default)]
pub struct Graph {
    inner: RefCell<Inner>,
}

#[derive(Default)]
struct Inner {
    nodes: Vec<Node>,
    known: HashMap<Node, NodeId>,
    constants: Vec<Arc<[f64]>>,
    names: HashMap<Arc<str>, NodeId>,
    /// The constants by a hash of what they are.
    known_constants: HashMap<u64, Vec<usize>>,
    /// Lists of columns, each once.
    lists: HashSet<Columns>,
    /// Random streams that were given out.
    streams: u16,
    /// What is wrong with an expression, by who noticed it first.
    problem: Option<String>,
    /// The number of the loop whose body a node belongs to, and 1; 0 for all others. Empty where there are no loops.
    bodies: Vec<u32>,
    loops: u32,
}

/// Random streams below this are for those who name theirs; the others are given out by [`Graph::new_streams`].
const FIRST_NEW_STREAM: u16 = 16;
/// Streams from this one on are left for random numbers outside of programs.
const LAST_NEW_STREAM: u16 = u16::MAX - 16;

impl Graph {
    /// An empty graph.
    pub fn new() -> Self {
        Self::default()
    }

    /// Values given with every run: `[N, cols]` for [`Rows::Batch`], or a fixed number of rows.
    #[track_caller]
    pub fn input(&self, name: &str, rows: Rows, cols: usize) -> Expr<'_> {
        self.named(name, Op::Input(name.into()), Shape { rows, cols })
    }

    /// A `[N, cols]` input, one row per data point.
    #[track_caller]
    pub fn batch_input(&self, name: &str, cols: usize) -> Expr<'_> {
        self.input(name, Rows::Batch, cols)
    }

    /// One number given with every run, such as a learning rate.
    #[track_caller]
    pub fn scalar_input(&self, name: &str) -> Expr<'_> {
        self.input(name, Rows::Fixed(1), 1)
    }

    /// A named tensor of a [`Store`](crate::Store), which programs may update.
    #[track_caller]
    pub fn parameter(&self, name: &str, rows: usize, cols: usize) -> Expr<'_> {
        self.named(name, Op::Parameter(name.into()), Shape::fixed(rows, cols))
    }

    /// Rows of a data set of bytes `[any, cols]`, picked by an index with one entry per batch row.
    /// Values are the bytes as numbers, 0 to 255.
    #[track_caller]
    pub fn gather(&self, data: &str, index: &str, cols: usize) -> Expr<'_> {
        self.gathered(data, index, cols, DataKind::Bytes)
    }

    /// Rows of a data set of f32 values `[any, cols]`, picked by an index with one entry per batch row. A run gives the
    /// data set with all of its values or, as [`SparseRows`](crate::SparseRows), with those that are not zero.
    #[track_caller]
    pub fn gather_values(&self, data: &str, index: &str, cols: usize) -> Expr<'_> {
        self.gathered(data, index, cols, DataKind::Values)
    }

    #[track_caller]
    fn gathered(&self, data: &str, index: &str, cols: usize, kind: DataKind) -> Expr<'_> {
        let op = Op::Gather { data: data.into(), index: index.into(), kind };
        self.named(data, op, Shape::batch(cols))
    }

    /// A number known now.
    pub fn constant(&self, value: f64) -> Expr<'_> {
        self.intern(Op::Scalar(value.to_bits()), Vec::new(), Shape::SCALAR)
    }

    /// A matrix known now, row by row. Equal ones are kept once.
    #[track_caller]
    pub fn constant_matrix(&self, rows: usize, cols: usize, values: &[f64]) -> Expr<'_> {
        let shape = Shape::fixed(rows, cols);
        if values.len() != rows * cols || values.is_empty() {
            let why = format!("{} values were given, the shape has {}", values.len(), rows * cols);
            ShapeError::new("constant_matrix", &[shape], why).raise();
        }
        let place = {
            let mut inner = self.inner.borrow_mut();
            let hash = hash_of(values);
            let same = |&place: &usize| same_bits(&inner.constants[place], values);
            let known = inner.known_constants.get(&hash).and_then(|places| places.iter().copied().find(same));
            known.unwrap_or_else(|| {
                let place = inner.constants.len();
                inner.constants.push(values.into());
                inner.known_constants.entry(hash).or_default().push(place);
                place
            })
        };
        self.intern(Op::Constant(place), Vec::new(), shape)
    }

    /// A list of columns, kept once.
    pub(crate) fn list(&self, list: Vec<u32>) -> Columns {
        let mut inner = self.inner.borrow_mut();
        if let Some(known) = inner.lists.get(&list[..]) {
            return known.clone();
        }
        let list: Columns = list.into();
        inner.lists.insert(list.clone());
        list
    }

    /// The number of rows of the batch, for means: `x.sum_rows() / graph.batch_size()`.
    pub fn batch_size(&self) -> Expr<'_> {
        self.intern(Op::BatchSize, Vec::new(), Shape::SCALAR)
    }

    /// Independent standard normal draws, `[N, cols]`. Each `stream` is its own random source;
    /// the same stream and shape is the same draw.
    pub fn normal(&self, stream: u16, cols: usize) -> Expr<'_> {
        self.intern(Op::Draw(Draw::Normal, stream), Vec::new(), Shape::batch(cols))
    }

    /// Independent uniform draws in `[0, 1)`, `[N, cols]`; see [`Graph::normal`] for streams.
    pub fn uniform(&self, stream: u16, cols: usize) -> Expr<'_> {
        self.intern(Op::Draw(Draw::Uniform, stream), Vec::new(), Shape::batch(cols))
    }

    /// So many random streams that nobody else was given in this graph, for draws that have to be independent of all
    /// others. They begin with stream 16; smaller ones are for those who name theirs.
    ///
    /// # Panics
    /// If there are no more streams: about 65,000 for each graph.
    #[track_caller]
    pub fn new_streams(&self, count: usize) -> Range<u16> {
        let mut inner = self.inner.borrow_mut();
        let left = usize::from(LAST_NEW_STREAM - FIRST_NEW_STREAM - inner.streams);
        assert!(count <= left, "{count} random streams were asked for, and {left} are left in this graph");
        let first = FIRST_NEW_STREAM + inner.streams;
        inner.streams += count as u16;
        first..first + count as u16
    }

    /// Notes what is wrong with an expression, for whoever builds it to report; the first problem is kept.
    pub fn note_problem(&self, problem: impl FnOnce() -> String) {
        let mut inner = self.inner.borrow_mut();
        if inner.problem.is_none() {
            inner.problem = Some(problem());
        }
    }

    /// The problem that was noted, once.
    pub fn take_problem(&self) -> Option<String> {
        self.inner.borrow_mut().problem.take()
    }

    /// Number of distinct expressions built so far.
    pub fn len(&self) -> usize {
        self.inner.borrow().nodes.len()
    }

    /// Whether nothing has been built yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A leaf whose name belongs to it alone.
    #[track_caller]
    fn named(&self, name: &str, op: Op, shape: Shape) -> Expr<'_> {
        if shape.elements() == 0 {
            ShapeError::new(op.name(), &[shape], format!("`{name}` has no elements")).raise();
        }
        let expr = self.intern(op, Vec::new(), shape);
        let mut inner = self.inner.borrow_mut();
        let known = *inner.names.entry(name.into()).or_insert(expr.id);
        if known != expr.id {
            let (operation, earlier) = (expr_name(&inner, expr.id), inner.nodes[known as usize].shape);
            let why = format!("the name `{name}` is already taken by another expression");
            ShapeError::new(operation, &[shape, earlier], why).raise();
        }
        drop(inner);
        expr
    }

    /// The expression for an operation, simplified where a rule applies.
    pub(crate) fn add<'g>(&'g self, op: Op, args: &[Expr<'g>], shape: Shape) -> Expr<'g> {
        if let Some(simpler) = simplify::rewrite(self, &op, args, shape) {
            debug_assert_eq!(simpler.shape(), shape, "a rewrite must keep the shape of {}", op.name());
            return simpler;
        }
        let mut ids: Vec<NodeId> = args.iter().map(|a| a.id).collect();
        if matches!(op, Op::Binary(f) if f.is_commutative()) {
            ids.sort_unstable();
        }
        self.intern(op, ids, shape)
    }

    fn intern(&self, op: Op, args: Vec<NodeId>, shape: Shape) -> Expr<'_> {
        let mut inner = self.inner.borrow_mut();
        let node = Node { op, args, shape };
        let id = match inner.known.get(&node) {
            Some(&id) => id,
            None => {
                let id = NodeId::try_from(inner.nodes.len()).expect("fewer than 2^32 expressions");
                if inner.loops > 0 {
                    let body = body_of(&node, &inner.bodies);
                    inner.bodies.push(body);
                }
                inner.nodes.push(node.clone());
                inner.known.insert(node, id);
                id
            }
        };
        Expr { graph: self, id }
    }

    pub(crate) fn node(&self, id: NodeId) -> Node {
        self.inner.borrow().nodes[id as usize].clone()
    }

    /// A new loop.
    pub(crate) fn new_loop(&self, steps: usize, backward: bool) -> Loop {
        let mut inner = self.inner.borrow_mut();
        let number = inner.loops;
        inner.loops += 1;
        let count = inner.nodes.len();
        inner.bodies.resize(count, 0);
        Loop { number, steps: u32::try_from(steps).expect("fewer than 2^32 steps"), backward }
    }

    /// The operation of a node that is the end of a loop.
    pub(crate) fn loop_end(&self, id: NodeId) -> Option<Op> {
        let inner = self.inner.borrow();
        let op = &inner.nodes[id as usize].op;
        matches!(op, Op::Repeat(_)).then(|| op.clone())
    }

    /// The number of the loop whose body a node belongs to.
    pub(crate) fn body(&self, id: NodeId) -> Option<u32> {
        self.inner.borrow().bodies.get(id as usize).and_then(|body| body.checked_sub(1))
    }

    /// What a node is columns of, if it is.
    pub(crate) fn sliced(&self, id: NodeId) -> Option<NodeId> {
        let inner = self.inner.borrow();
        let node = &inner.nodes[id as usize];
        matches!(node.op, Op::SliceCols(_)).then(|| node.args[0])
    }

    /// Looks at the arguments of a node without a copy of it.
    pub(crate) fn with_args<R>(&self, id: NodeId, look: impl FnOnce(&[NodeId]) -> R) -> R {
        look(&self.inner.borrow().nodes[id as usize].args)
    }

    pub(crate) fn shape(&self, id: NodeId) -> Shape {
        self.inner.borrow().nodes[id as usize].shape
    }

    /// Values of a matrix that is known now, by its place.
    pub(crate) fn constant_values(&self, place: usize) -> Arc<[f64]> {
        self.inner.borrow().constants[place].clone()
    }

    /// Copies of all nodes and constants, for a compiler that outlives the graph.
    pub(crate) fn snapshot(&self) -> (Vec<Node>, Vec<Arc<[f64]>>) {
        let inner = self.inner.borrow();
        (inner.nodes.clone(), inner.constants.clone())
    }
}

/// The loop whose body a new node belongs to, as [`Inner::bodies`] has it.
fn body_of(node: &Node, bodies: &[u32]) -> u32 {
    let mut of_args = node.args.iter().map(|arg| bodies[*arg as usize]).filter(|body| *body > 0);
    let first = of_args.next().unwrap_or(0);
    if of_args.any(|other| other != first) {
        let why = "values of one loop were used in the body of another; only what a loop ends with, stacks or sums up has a \
                   value outside of it";
        ShapeError::new(node.op.name(), &[node.shape], why).raise();
    }
    match node.op.opens() {
        Some(of) if first == 0 => of.number + 1,
        Some(_) => {
            let why = "a loop picks from values outside of all loops";
            ShapeError::new(node.op.name(), &[node.shape], why).raise()
        }
        None if node.op.ends().is_some() || node.op.is_sum_over_rows() && !node.shape.is_batch() => 0,
        None => first,
    }
}

/// Data are looked up whenever a density is written, so this has to be about as fast as reading them.
fn hash_of(values: &[f64]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |hash: u64, value: &f64| (hash.rotate_left(5) ^ value.to_bits()).wrapping_mul(FACTOR);
    values.iter().fold(values.len() as u64, mix)
}

fn same_bits(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
}

fn expr_name(inner: &Inner, id: NodeId) -> &'static str {
    inner.nodes[id as usize].op.name()
}
