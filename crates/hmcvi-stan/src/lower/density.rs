//! Write log densities of many lanes as one where the distribution can describe them together.

use hmcvi::bayes::{Dims, Var};
use hmcvi_graph::Expr;

use super::build::{Row, by_lane, spread_to};
use crate::functions::density::{DISTRIBUTIONS, Dist, Kind, of};
use crate::tape::Part;
use crate::value::Sizes;

/// One number for each lane: the sum of the log densities of its elements.
pub(super) fn build<'g>(id: u16, part: Part, sizes: &[Sizes], all: &[Row<'g>], lanes: usize) -> Expr<'g> {
    let dist = &DISTRIBUTIONS[id as usize];
    match dist.kind {
        Kind::Numbers => numbers(dist, part, all, lanes),
        Kind::Together { rank, shared } => {
            let whole: Vec<usize> = (0..all.len()).filter(|i| !all[*i].shared).collect();
            let one = sizes[0].rank() == rank;
            let batched = lanes > 1 && one && whole.iter().all(|i| !shared.contains(i));
            if batched && !whole.is_empty() {
                return together(dist, part, sizes, all, lanes);
            }
            by_lane(lanes, |lane| {
                let vars: Vec<Var<'g>> = all
                    .iter()
                    .zip(sizes)
                    .map(|(row, sizes)| variable(row.lane(lane), &sizes.to_vec()))
                    .collect();
                ask(dist, part, &vars).sum_cols()
            })
        }
    }
}

fn variable<'g>(expr: Expr<'g>, sizes: &[usize]) -> Var<'g> {
    Var::from_expr(expr, Dims::new(sizes).unwrap_or(Dims::SCALAR))
}

/// What is asked, without summands that do not depend on parameters unless they are wanted.
fn ask<'g>(dist: &Dist, part: Part, vars: &[Var<'g>]) -> Expr<'g> {
    let (x, arguments) = (vars[0], &vars[1..]);
    if let Part::Density { .. } = part
        && let Err(problem) = (dist.make)(x, arguments).check_values(x)
    {
        x.graph().note_problem(|| problem);
    }
    match part {
        Part::Density { constants: false } => (dist.make)(x, arguments).log_prob_without_constants(x).expr(),
        _ => of(dist, part, x, arguments).expr(),
    }
}

/// Element by element, all lanes side by side.
fn numbers<'g>(dist: &Dist, part: Part, all: &[Row<'g>], lanes: usize) -> Expr<'g> {
    let length = all.iter().map(|row| row.length).max().unwrap_or(1);
    let vars: Vec<Var<'g>> = all
        .iter()
        .enumerate()
        .map(|(i, row)| {
            let expr = row.spread(lanes, length);
            // The value has all elements, so that bounds of each can be compared with it.
            let expr = if i == 0 { spread_to(expr, lanes * length) } else { expr };
            let dims = if expr.cols() == 1 { Dims::SCALAR } else { expr.cols().into() };
            Var::from_expr(expr, dims)
        })
        .collect();
    let found = spread_to(ask(dist, part, &vars), lanes * length);
    if lanes == 1 { found.sum_cols() } else { found.sum_groups(length) }
}

/// Values of all lanes as an array, with arguments that are the same for all or one for each.
fn together<'g>(dist: &Dist, part: Part, sizes: &[Sizes], all: &[Row<'g>], lanes: usize) -> Expr<'g> {
    let spread = |i: usize, shared: bool| {
        let own = sizes[i].to_vec();
        match shared {
            true => variable(all[i].expr, &own),
            false => {
                let dims = [&[lanes], own.as_slice()].concat();
                let places: Vec<usize> = (0..lanes * all[i].length).map(|at| at % all[i].length).collect();
                let expr = if all[i].shared { all[i].expr.gather_cols(&places) } else { all[i].expr };
                variable(expr, &dims)
            }
        }
    };
    // The value itself is always one for each lane.
    let vars: Vec<Var<'g>> = (0..all.len()).map(|i| spread(i, i > 0 && all[i].shared)).collect();
    let found = ask(dist, part, &vars);
    spread_to(found, lanes)
}
