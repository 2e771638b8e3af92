//! Print a program: stages, fused groups, products with shapes, work and memory.

use std::fmt;

use super::{
    Base, Block, Group, Instruction, Pack, Plan, Program, RowStage, Sink, Source, Stage, Step, View, Wide,
    WideStep,
};
use crate::op::{Draw, Transpose, Unary};
use crate::shape::Shape;

/// Work and memory of a program, known before it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Floating-point operations of matrix products, per row of the batch.
    pub product_flop_per_row: u64,
    /// Element-wise operations per row of the batch, each function counted as one.
    pub element_ops_per_row: u64,
    /// Values kept between the steps of a row stage, per row of a tile.
    pub tile_values_per_row: u64,
    /// Values of sums over rows, per shard.
    pub accumulator_values: u64,
    /// Values kept by the fixed stages.
    pub fixed_values: u64,
    /// Values of packed operands.
    pub packed_values: u64,
    /// Steps of all stages.
    pub steps: u64,
}

/// A matrix product of row stages: `[N, rows]·[rows, cols]` for a batch of `N` rows, or a sum over rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchProduct {
    /// Whether it is `[N, rows]ᵀ·[N, cols]`.
    pub is_sum: bool,
    /// Rows of the right operand, or of the sum.
    pub rows: usize,
    /// Columns of the result.
    pub cols: usize,
    /// Products that are added up, whose operands might stand on top of one another.
    pub terms: usize,
}

impl Program {
    /// Matrix products of all row stages in order, those of loops in every step, without those of wide values, which are computed block by block.
    pub fn products(&self) -> Vec<BatchProduct> {
        let stages = self.plan.stages.iter().filter_map(|stage| match stage {
            Stage::Rows(rows) => Some(rows),
            Stage::Fixed { .. } => None,
        });
        let of_step = |packs: &[Pack], step: &Step| match step {
            Step::Product { pack, .. } => {
                let Pack { depth: rows, cols, .. } = packs[*pack];
                Some(BatchProduct { is_sum: false, rows, cols, terms: 1 })
            }
            Step::Accumulate { into, cols, terms } => {
                Some(BatchProduct { is_sum: true, rows: into.rows, cols: *cols, terms: terms.len() })
            }
            _ => None,
        };
        let of_stage = |rows: &RowStage| {
            let steps = rows.steps.iter().enumerate();
            let products = steps.filter_map(|(i, step)| Some((of_step(&rows.packs, step)?, rows.times(i))));
            products.flat_map(|(product, times)| vec![product; times]).collect::<Vec<_>>()
        };
        stages.flat_map(of_stage).collect()
    }

    /// Work and memory, known before the first run.
    pub fn cost(&self) -> Cost {
        let mut cost = Cost {
            accumulator_values: self.plan.accumulator_len as u64,
            fixed_values: self.plan.fixed_len as u64,
            ..Cost::default()
        };
        for stage in &self.plan.stages {
            match stage {
                Stage::Fixed { waves } => cost.steps += waves.iter().flatten().count() as u64,
                Stage::Rows(rows) => {
                    cost.steps += rows.steps.len() as u64;
                    cost.tile_values_per_row = cost.tile_values_per_row.max(rows.width as u64);
                    cost.packed_values += rows.packs.iter().map(|p| (p.depth * p.cols) as u64).sum::<u64>();
                    for (i, step) in rows.steps.iter().enumerate() {
                        let (flop, elements) = work(step, &rows.packs);
                        cost.product_flop_per_row += flop * rows.times(i) as u64;
                        cost.element_ops_per_row += elements * rows.times(i) as u64;
                    }
                }
            }
        }
        cost
    }
}

/// Floating-point operations of products and element-wise operations of a step, per row.
fn work(step: &Step, packs: &[Pack]) -> (u64, u64) {
    match step {
        Step::Product { pack, .. } => (2 * (packs[*pack].depth * packs[*pack].cols) as u64, 0),
        Step::Accumulate { into, cols, terms } => (2 * (into.rows * cols * terms.len()) as u64, 0),
        Step::Group(group) => (0, ops(group) as u64),
        Step::Rowwise(step) => (0, step.op.operations(step.args[0].1) as u64),
        Step::Wide(wide) => (wide_flop(wide, packs), wide_ops(wide)),
        Step::FixedProduct { .. } => (0, 0),
    }
}

/// Element-wise operations per row: instructions and reductions over all columns.
fn ops(group: &Group) -> usize {
    let reductions = group.sinks.iter().filter(|s| !matches!(s, Sink::Store(..))).count();
    (group.instructions.len() + reductions) * group.shape.cols
}

/// Floating-point operations of the products of all blocks.
fn wide_flop(wide: &Wide, packs: &[Pack]) -> u64 {
    let of = |step: &WideStep| match step {
        WideStep::Spread { pack, .. } | WideStep::Collect { pack, .. } => {
            2 * (packs[*pack].depth * packs[*pack].cols) as u64
        }
        _ => 0,
    };
    wide.whole.iter().map(of).sum()
}

/// Element-wise operations of all blocks.
fn wide_ops(wide: &Wide) -> u64 {
    let of = |step: &WideStep| match step {
        WideStep::Group(group) => ops(group) / group.shape.cols * wide.cols,
        WideStep::Gather { list, .. } | WideStep::Segment { list, .. } => list.len(),
        _ => 0,
    };
    wide.whole.iter().map(of).sum::<usize>() as u64
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plan = &*self.plan;
        let cost = self.cost();
        writeln!(
            f,
            "program: {} expressions, {} steps; per row {} FLOP in products, {} element-wise operations, {} values kept",
            plan.nodes.len(),
            cost.steps,
            cost.product_flop_per_row,
            cost.element_ops_per_row,
            cost.tile_values_per_row,
        )?;
        if !plan.once.is_empty() {
            writeln!(f, "once, from constants: {} waves", plan.once.len())?;
            plan.once.iter().flatten().try_for_each(|step| write_step(f, plan, step, &[]))?;
        }
        let (mut fixed, mut rows) = (0, 0);
        let last = plan.stages.len() - 1;
        for (i, stage) in plan.stages.iter().enumerate() {
            match stage {
                Stage::Fixed { waves } => {
                    let name = if i == 0 {
                        "prelude"
                    } else if i == last {
                        "finish"
                    } else {
                        "between"
                    };
                    writeln!(f, "{name} (fixed stage {fixed}): {} waves", waves.len())?;
                    fixed += 1;
                    for (w, wave) in waves.iter().enumerate() {
                        writeln!(f, "  wave {w}")?;
                        wave.iter().try_for_each(|step| write_step(f, plan, step, &[]))?;
                    }
                }
                Stage::Rows(stage) => {
                    writeln!(
                        f,
                        "row stage {rows}: {} steps, {} packed operands",
                        stage.steps.len(),
                        stage.packs.len()
                    )?;
                    rows += 1;
                    for (p, pack) in stage.packs.iter().enumerate() {
                        let transposed = if pack.transposed { "ᵀ" } else { "" };
                        let (view, depth, cols) = (name(plan, pack.view), pack.depth, pack.cols);
                        writeln!(f, "  pack {p}: {view}{transposed} as [{depth}, {cols}]")?;
                    }
                    let packs: Vec<[usize; 2]> = stage.packs.iter().map(|p| [p.depth, p.cols]).collect();
                    for (i, step) in stage.steps.iter().enumerate() {
                        let begins = stage.loops.iter().find(|l| l.range.start == i);
                        begins.map_or(Ok(()), |l| {
                            let last = l.steps - 1;
                            let (from, to) = if l.backward { (last, 0) } else { (0, last) };
                            writeln!(f, "  for t from {from} to {to}:")
                        })?;
                        write_step(f, plan, step, &packs)?;
                        if stage.loops.iter().any(|l| l.range.end == i + 1) {
                            writeln!(f, "  end of the loop")?;
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

fn name(plan: &Plan, view: View) -> String {
    let base = match view.base {
        Base::Input(i) => plan.inputs[i].name.to_string(),
        Base::Parameter(i) => plan.parameters[i].name.to_string(),
        Base::Output(i) => format!("output {}", plan.outputs[i].name),
        Base::Constant(i) => format!("constant {i}"),
        Base::Tile(i) => format!("t{i}"),
        Base::Fixed(i) => format!("f{i}"),
    };
    let offset = if view.offset == 0 { String::new() } else { format!("+{}", view.offset) };
    let step = if view.step == 0 { String::new() } else { format!("+{} t", view.step) };
    base + &offset + &step
}

fn target(plan: &Plan, block: Block) -> String {
    let cols = plan.targets[block.target].cols;
    let (row, end) = (block.row, block.row + block.rows);
    let equals = if block.first { "=" } else { "+=" };
    let step = if block.step == 0 { "" } else { " + t" };
    format!("sum {}[{row}..{end}{step}, {cols}] {equals}", block.target)
}

fn write_step(f: &mut fmt::Formatter<'_>, plan: &Plan, step: &Step, packs: &[[usize; 2]]) -> fmt::Result {
    match step {
        Step::Product { a, pack, out } => {
            let [depth, cols] = packs[*pack];
            let (out, a, flop) = (name(plan, *out), name(plan, *a), 2 * depth * cols);
            writeln!(f, "  {out} = {a} · pack {pack}   [N, {depth}]·[{depth}, {cols}], {flop} FLOP per row")
        }
        Step::FixedProduct { transpose, a, b, out } => {
            let (left, right) = (
                if *transpose == Transpose::Left { "ᵀ" } else { "" },
                if *transpose == Transpose::Right { "ᵀ" } else { "" },
            );
            let (out, na, nb) = (name(plan, *out), name(plan, a.0), name(plan, b.0));
            writeln!(f, "  {out} = {na}{left} · {nb}{right}   {:?}·{:?}", a.1, b.1)
        }
        Step::Accumulate { into, cols, terms } => {
            let products: Vec<String> = terms
                .iter()
                .map(|t| {
                    let sign = if t.negative { "-" } else { "" };
                    format!("{sign}{}ᵀ·{}", name(plan, t.a), name(plan, t.b))
                })
                .collect();
            let flop = 2 * into.rows * cols * terms.len();
            writeln!(f, "  {} {}   {flop} FLOP per row", target(plan, *into), products.join(" + "))
        }
        Step::Rowwise(step) => {
            let args: Vec<String> = step.args.iter().map(|(view, _)| name(plan, *view)).collect();
            let (out, cols) = (name(plan, step.out.0), step.out.1);
            writeln!(f, "  {out} = {}({})   [{}, {cols}]", step.op.name(), args.join(", "), step.rows)
        }
        Step::Group(group) => write_group(f, plan, group),
        Step::Wide(wide) => write_wide(f, plan, wide, packs),
    }
}

fn write_wide(f: &mut fmt::Formatter<'_>, plan: &Plan, wide: &Wide, packs: &[[usize; 2]]) -> fmt::Result {
    let Wide { cols, block, .. } = *wide;
    writeln!(f, "  pass over {cols} columns, {block} at a time")?;
    for step in &wide.whole {
        match step {
            WideStep::Spread { a, pack, out } => {
                let depth = packs[*pack][0];
                writeln!(
                    f,
                    "  {} = {} · pack {pack}   [N, {depth}]·[{depth}, {block}]",
                    name(plan, *out),
                    name(plan, *a)
                )?;
            }
            WideStep::Collect { a, pack, out } => {
                let cols = packs[*pack][1];
                writeln!(
                    f,
                    "  {} += {} · pack {pack}   [N, {block}]·[{block}, {cols}]",
                    name(plan, *out),
                    name(plan, *a)
                )?;
            }
            WideStep::Gather { from, out, .. } => {
                writeln!(f, "  {} = gather_cols({})", name(plan, *out), name(plan, from.0))?;
            }
            WideStep::Segment { a, out, .. } => {
                writeln!(f, "  {} += segment_sum_cols({})", name(plan, out.0), name(plan, *a))?;
            }
            WideStep::Group(group) => write_group(f, plan, group)?,
        }
    }
    writeln!(f, "  end of the pass")
}

fn write_group(f: &mut fmt::Formatter<'_>, plan: &Plan, group: &Group) -> fmt::Result {
    let Shape { rows, cols } = group.shape;
    let count = group.instructions.len();
    writeln!(f, "  group [{rows}, {cols}]: {count} instruction{}", if count == 1 { "" } else { "s" })?;
    let value = |v: usize| match group.sources.get(v) {
        None => format!("v{}", v - group.sources.len()),
        Some(Source::Full(view) | Source::Row(view) | Source::Column(view) | Source::One(view)) => {
            name(plan, *view)
        }
        Some(Source::Literal(x)) => format!("{x}"),
        Some(Source::BatchSize) => "N".into(),
        Some(Source::Gather { data, index }) => {
            format!("{}[{}]", plan.data[*data].name, plan.indices[*index])
        }
        Some(Source::Draw(Draw::Normal, stream)) => format!("normal({stream})"),
        Some(Source::Draw(Draw::Uniform, stream)) => format!("uniform({stream})"),
        Some(Source::StepDraw(Draw::Normal, stream, each)) => format!("normal({stream} + {each} t)"),
        Some(Source::StepDraw(Draw::Uniform, stream, each)) => format!("uniform({stream} + {each} t)"),
        Some(Source::Target(t)) => format!("sum {t}"),
    };
    for (i, instruction) in group.instructions.iter().enumerate() {
        let args: Vec<String> = instruction.args().map(value).collect();
        let op = match instruction {
            Instruction::Unary(Unary::Polygamma(order), _) => &format!("polygamma[{order}]"),
            Instruction::Unary(op, _) => op.name(),
            Instruction::Binary(op, ..) => op.name(),
            Instruction::Select(..) => "select",
        };
        writeln!(f, "    v{i} = {op}({})", args.join(", "))?;
    }
    for sink in &group.sinks {
        let v = value(sink.value());
        match *sink {
            Sink::Store(_, view) => writeln!(f, "    {} = {v}", name(plan, view))?,
            Sink::SumCols(_, view) => writeln!(f, "    {} = sum_cols({v})", name(plan, view))?,
            Sink::LogSumExp(_, view) => writeln!(f, "    {} = log_sum_exp({v})", name(plan, view))?,
            Sink::SumRows(_, view) => writeln!(f, "    {} = sum_rows({v})", name(plan, view))?,
            Sink::Accumulate { into, negative, .. } => {
                let sign = if negative { "-" } else { "" };
                writeln!(f, "    {} {sign}sum_rows({v})", target(plan, into))?;
            }
        }
    }
    Ok(())
}
