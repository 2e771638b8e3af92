//! Put operations of one place together, so that many small ones become one of vectors.

mod batch;
mod build;
mod density;
mod source;
mod sums;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use hmcvi::bayes::{Builder, Dims, Var};

use crate::error::{Problem, Result, Span};
use crate::functions::density::{DISTRIBUTIONS, Kind};
use crate::model::Parameter;
use crate::tape::{Node, Op, Tape, source as node_of};
use crate::value::{Cell, Data, Sizes, Value};
use source::{Homes, Source};

/// One operation on many lanes.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    op: Op,
    lanes: usize,
    arguments: Vec<Argument>,
    /// Results of each lane.
    length: usize,
    /// Where it stands in the program.
    span: Option<Span>,
}

/// An argument of a step.
#[derive(Clone, Debug)]
struct Argument {
    source: Source,
    /// Whether all lanes have the same.
    shared: bool,
    /// Numbers of each lane.
    length: usize,
}

/// What a program does, in an order in which it can be done.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    steps: Vec<Step>,
    sizes: Vec<Vec<Sizes>>,
    parameters: Arc<[Parameter]>,
    /// Summands of the log density.
    target: Vec<Source>,
    derived: Vec<(String, Dims, Source)>,
}

/// What operations of one step have in common.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    depth: u32,
    site: u64,
    op: Op,
    /// Lengths of the arguments, and whether they are known.
    arguments: Vec<(u32, bool)>,
    /// Arguments of a density that have to be the same for all.
    shared: u64,
    length: u32,
}

impl Plan {
    pub(crate) fn new(
        tape: Tape,
        target: &[Value],
        derived: &[(String, Dims, Value)],
        parameters: Arc<[Parameter]>,
    ) -> Result<Plan> {
        let mut nodes = tape.nodes;
        let wanted: Vec<Data> = target.iter().map(|value| value.data.clone()).collect();
        let lengths: Vec<usize> = target.iter().map(Value::elements).collect();
        let outputs: Vec<&Value> = derived.iter().map(|(_, _, value)| value).collect();
        sums::collapse(&mut nodes, &wanted, &outputs);
        let depths = depths(&nodes);
        let live = live(&nodes, &wanted, &lengths, &outputs);
        let groups = group(&nodes, &depths, &live);
        let mut homes = Homes::new(nodes.len());
        let mut steps = Vec::with_capacity(groups.len());
        for group in &groups {
            let span = tape.spans.get(&nodes[group[0] as usize].site).copied();
            let step = Step { span, ..batch::step(&nodes, group, &homes) };
            for (lane, &node) in group.iter().enumerate() {
                homes.set(node, steps.len(), lane * nodes[node as usize].length as usize);
            }
            steps.push(step);
        }
        let cells = wanted.iter().zip(&lengths).flat_map(|(data, &n)| (0..n).map(move |i| data.cell(i)));
        let target = homes.by_step(cells);
        let derived = derived
            .iter()
            .map(|(name, dims, value)| (name.clone(), *dims, homes.source(&value.cells())))
            .collect();
        Ok(Plan { steps, sizes: tape.sizes, parameters, target, derived })
    }

    /// Writes the model with a builder.
    pub(crate) fn build<'g>(&self, builder: &mut Builder<'g>) -> Result<()> {
        let zero = builder.known((), &[0.0]);
        let graph = zero.graph();
        let mut rows = build::Rows { graph, rows: Vec::with_capacity(self.steps.len()), sizes: &self.sizes };
        for step in &self.steps {
            let row = match step.op {
                Op::Param(number) if self.parameters[number as usize].is_fixed() => graph.constant(1.0),
                Op::Param(number) => {
                    let bounds = rows.variables(step);
                    self.parameters[number as usize].build(builder, &bounds).expr()
                }
                _ => rows.build(step),
            };
            if let Some(problem) = graph.take_problem() {
                return Err(Problem { span: step.span, message: problem });
            }
            rows.rows.push(row);
        }
        for (name, dims, source) in &self.derived {
            builder.deterministic(name, Var::from_expr(rows.row(source), *dims));
        }
        for source in &self.target {
            let row = rows.row(source);
            builder.add_log_density("target", Var::from_expr(row, row.cols()));
        }
        Ok(())
    }
}

/// How many operations come one after the other before each. Parameters keep their order.
fn depths(nodes: &[Node]) -> Vec<u32> {
    let mut depths: Vec<u32> = Vec::with_capacity(nodes.len());
    let mut last_parameter = 0;
    for node in nodes {
        let mut depth = 0;
        for_each_source(node, |source| depth = depth.max(depths[source as usize] + 1));
        if let Op::Param(_) = node.op {
            depth = depth.max(last_parameter);
            last_parameter = depth;
        }
        depths.push(depth);
    }
    depths
}

/// Operations that an operation needs.
fn for_each_source(node: &Node, mut f: impl FnMut(u32)) {
    for (data, length) in &node.arguments {
        match data {
            Data::Span { node, .. } if *length > 0 => f(*node),
            Data::Cells(cells) => cells.iter().filter_map(|cell| node_of(*cell)).for_each(&mut f),
            _ => {}
        }
    }
}

/// Whether something that is wanted needs an operation. Parameters are all wanted.
fn live(nodes: &[Node], wanted: &[Data], lengths: &[usize], outputs: &[&Value]) -> Vec<bool> {
    let parameters = nodes.iter().map(|node| matches!(node.op, Op::Param(_))).collect();
    needed(parameters, nodes, wanted, lengths, outputs)
}

/// Numbers of the parameters on which summands of the log density depend, directly or through bounds.
pub(crate) fn parameters_of(tape: &Tape, target: &[Value]) -> BTreeSet<u32> {
    let all: Vec<&Value> = target.iter().collect();
    let live = needed(vec![false; tape.nodes.len()], &tape.nodes, &[], &[], &all);
    let number = |(node, live): (&Node, bool)| match node.op {
        Op::Param(number) if live => Some(number),
        _ => None,
    };
    tape.nodes.iter().zip(live).filter_map(number).collect()
}

/// Marks the operations that are needed for those that are marked and for what is wanted.
fn needed(
    mut live: Vec<bool>,
    nodes: &[Node],
    wanted: &[Data],
    lengths: &[usize],
    outputs: &[&Value],
) -> Vec<bool> {
    let mut mark = |data: &Data, length: usize| {
        for i in 0..length {
            if let Cell::Of { node, .. } = data.cell(i) {
                live[node as usize] = true;
            }
        }
    };
    wanted.iter().zip(lengths).for_each(|(data, &n)| mark(data, n));
    outputs.iter().for_each(|value| mark(&value.data, value.elements()));
    for i in (0..nodes.len()).rev() {
        if live[i] {
            for_each_source(&nodes[i], |source| live[source as usize] = true);
        }
    }
    live
}

/// What stands for the arguments that all lanes of a density share.
fn shared(node: &Node) -> u64 {
    let Op::Density { id, .. } = node.op else { return 0 };
    let Kind::Together { shared, .. } = DISTRIBUTIONS[id as usize].kind else { return 0 };
    let all = shared.iter().filter_map(|i| node.arguments.get(*i));
    all.fold(0, |before, (data, length)| before.rotate_left(7) ^ data.fingerprint(*length as usize))
}

/// Operations that are done together, in an order in which they can be done.
fn group(nodes: &[Node], depths: &[u32], live: &[bool]) -> Vec<Vec<u32>> {
    let mut places: HashMap<Key, usize> = HashMap::new();
    let mut groups: Vec<Vec<u32>> = Vec::new();
    for (i, node) in nodes.iter().enumerate().filter(|(i, _)| live[*i]) {
        let known = |data: &Data| matches!(data, Data::Num(_) | Data::Known(_));
        let key = Key {
            depth: depths[i],
            // Parameters are never put together.
            site: if matches!(node.op, Op::Param(_)) { i as u64 } else { node.site },
            op: node.op,
            arguments: node.arguments.iter().map(|(data, length)| (*length, known(data))).collect(),
            shared: shared(node),
            length: node.length,
        };
        let place = *places.entry(key).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[place].push(i as u32);
    }
    let order: BTreeSet<(u32, u32, usize)> = groups
        .iter()
        .enumerate()
        .map(|(place, group)| (depths[group[0] as usize], group[0], place))
        .collect();
    order.into_iter().map(|(_, _, place)| std::mem::take(&mut groups[place])).collect()
}
