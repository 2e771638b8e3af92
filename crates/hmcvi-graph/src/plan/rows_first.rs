//! Sum over rows before columns where a value is summed over both.
//!
//! The derivative of a number that all rows share (a step size, say) is a sum over rows and columns. Column sums of every
//! row are steps of their own, for which a GPU has to wait; sums over rows are added up where the value is computed, and
//! what is left to be summed then is one row. Both orders are sums of the same numbers, but round differently: processors,
//! which wait for nothing, keep theirs.

use super::Root;
use crate::graph::{Node, NodeId};
use crate::op::{Binary, Op, Unary};
use crate::shape::Shape;

/// Most columns whose sums over rows cost less than the steps they save.
const MOST: usize = 64;

/// Whether a program has such sums.
pub(super) fn applies(nodes: &[Node]) -> bool {
    nodes.iter().any(|node| summed_over_both(nodes, node).is_some())
}

/// The value that a node sums over the columns and rows of the batch.
fn summed_over_both(nodes: &[Node], node: &Node) -> Option<NodeId> {
    let sum = &nodes[*node.args.first().filter(|_| node.op == Op::SumRows)? as usize];
    let of = *sum.args.first().filter(|_| sum.op == Op::SumCols)?;
    let shape = nodes[of as usize].shape;
    (shape.is_batch() && (2..=MOST).contains(&shape.cols)).then_some(of)
}

/// The same program with sums over rows first.
pub(super) fn rewrite(nodes: Vec<Node>, roots: Vec<Root>) -> (Vec<Node>, Vec<Root>) {
    if !applies(&nodes) {
        return (nodes, roots);
    }
    let mut uses = vec![0usize; nodes.len()];
    let ends = roots.iter().map(|root| match root {
        Root::Output { node, .. } | Root::Update { node, .. } => *node,
    });
    for id in nodes.iter().flat_map(|node| node.args.iter().copied()).chain(ends) {
        uses[id as usize] += 1;
    }
    let mut writer = Writer { new: Vec::with_capacity(nodes.len()), places: Vec::with_capacity(nodes.len()) };
    for node in &nodes {
        let place = match summed_over_both(&nodes, node) {
            Some(of) => {
                let (of, cols) = (writer.whole(of), nodes[of as usize].shape.cols);
                Place::Columns(writer.add(Op::SumRows, vec![of], Shape::fixed(1, cols)))
            }
            None => writer.combination(node, &uses).unwrap_or_else(|| {
                let args = node.args.iter().map(|arg| writer.whole(*arg)).collect();
                Place::Whole(writer.add(node.op.clone(), args, node.shape))
            }),
        };
        writer.places.push(place);
    }
    let mut whole = |id| writer.whole(id);
    let roots = roots.into_iter().map(|root| match root {
        Root::Output { name, node } => Root::Output { name, node: whole(node) },
        Root::Update { parameter, node } => Root::Update { parameter: whole(parameter), node: whole(node) },
    });
    let roots = roots.collect();
    (writer.new, roots)
}

/// Where a value is in the new program.
#[derive(Clone, Copy)]
enum Place {
    Whole(NodeId),
    /// It is the sum of the columns of this row.
    Columns(NodeId),
}

struct Writer {
    new: Vec<Node>,
    places: Vec<Place>,
}

impl Writer {
    fn add(&mut self, op: Op, args: Vec<NodeId>, shape: Shape) -> NodeId {
        self.new.push(Node { op, args, shape });
        self.new.len() as NodeId - 1
    }

    /// A value itself, which is summed up now if it was not yet.
    fn whole(&mut self, id: NodeId) -> NodeId {
        let whole = match self.places[id as usize] {
            Place::Whole(place) => place,
            Place::Columns(row) => self.add(Op::SumCols, vec![row], Shape::SCALAR),
        };
        self.places[id as usize] = Place::Whole(whole);
        whole
    }

    /// Sums and differences of such sums, which nothing else needs, are taken column by column: they become one sum.
    fn combination(&mut self, node: &Node, uses: &[usize]) -> Option<Place> {
        let adds = matches!(node.op, Op::Binary(Binary::Add | Binary::Sub) | Op::Unary(Unary::Neg));
        let columns = |arg: &NodeId| match self.places[*arg as usize] {
            Place::Columns(row) if uses[*arg as usize] == 1 => Some(row),
            _ => None,
        };
        let rows = node.args.iter().map(columns).collect::<Option<Vec<NodeId>>>().filter(|_| adds)?;
        let shape = self.new[*rows.first()? as usize].shape;
        let is_same = |row: &NodeId| self.new[*row as usize].shape == shape;
        let fits = node.shape == Shape::SCALAR && rows.iter().all(is_same);
        fits.then(|| Place::Columns(self.add(node.op.clone(), rows, shape)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::stages::{self, compact};
    use super::super::{For, Program, Stage, Step};
    use super::*;
    use crate::cpu::{CpuOptions, Run};
    use crate::graph::Graph;
    use crate::store::Store;

    /// A bound's derivative with respect to a number that all rows share, on several paths.
    fn described() -> (Vec<Node>, Vec<Root>) {
        let graph = Graph::new();
        let (x, e, w) = (graph.batch_input("x", 5), graph.parameter("e", 1, 1), graph.parameter("w", 1, 5));
        let y = x + e * (x * w).sin();
        let z = y - (e * 0.5) * y.exp();
        let loss = (z.square().sum_cols() + z.slice_cols(0, 3).exp().sum_cols()).sum_rows() + e.square();
        let [of_e, of_w] = graph.grad(loss, &[e, w])[..] else { unreachable!("two derivatives") };
        let names = [("loss", loss), ("e", of_e), ("w", of_w), ("both", of_e * of_e - loss)];
        let root =
            |(name, value): (&str, crate::expr::Expr<'_>)| Root::Output { name: name.into(), node: value.id };
        let roots: Vec<Root> = names.into_iter().map(root).collect();
        compact(&graph.snapshot().0, &roots)
    }

    fn run(nodes: &[Node], roots: &[Root]) -> (Vec<Vec<f64>>, usize) {
        let plan = stages::plan(nodes, &[], roots, For::Processor);
        let rows = plan.stages.iter().map(|stage| match stage {
            Stage::Rows(rows) => rows.steps.iter().filter(|step| matches!(step, Step::Group(_))).count(),
            Stage::Fixed { .. } => 0,
        });
        let groups = rows.sum();
        let mut executable = Program::of(plan).on_cpu::<f64>(CpuOptions::for_rows(7));
        let mut store = Store::new();
        store.insert("e", 1, 1, vec![0.3]).expect("it is new");
        store.insert("w", 1, 5, vec![0.1, -0.7, 1.3, 0.4, -0.2]).expect("it is new");
        let x: Vec<f64> = (0..35).map(|i| (1.7 * f64::from(i)).sin()).collect();
        let inputs: [(&str, &[f64]); 1] = [("x", &x)];
        executable.evaluate(&store, &Run { rows: 7, inputs: &inputs, ..Run::default() }).expect("it runs");
        let outputs = ["loss", "e", "w", "both"].map(|name| executable.output(name).expect("there").to_vec());
        (outputs.to_vec(), groups)
    }

    #[test]
    fn sums_over_rows_and_columns_are_the_same_in_either_order_and_take_fewer_steps() {
        let (nodes, roots) = described();
        assert!(applies(&nodes));
        let (before, steps_before) = run(&nodes, &roots);
        let (nodes, roots) = rewrite(nodes, roots);
        assert!(!applies(&nodes), "sums over columns of rows are left");
        let (after, steps_after) = run(&nodes, &roots);
        for (a, b) in before.iter().flatten().zip(after.iter().flatten()) {
            assert!((a - b).abs() <= 1e-13 * a.abs().max(1.0), "{a} and {b}");
        }
        assert!(steps_after < steps_before, "{steps_before} steps became {steps_after}");
    }
}
