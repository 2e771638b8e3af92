//! Take bounds of parameters from their uniform priors: approximations with tails must not reach where there is no density.

use std::collections::HashMap;

use super::{Kind, Parameter};
use crate::machine::Machine;
use crate::tape::{Node, Op};
use crate::value::{Cell, Value};

/// Bounds further from 0 than this are left to the density: fits and chains begin in the middle between bounds, which would
/// be far from where they begin without.
const FAR: f64 = 10.0;

/// A number that is uniform between two others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Uniform {
    /// The operation that it comes from, and its place there.
    from: (u32, u32),
    bounds: [f64; 2],
}

/// Lower and upper bounds of each number of a parameter, by the place of the parameter.
pub(super) type Bounds = HashMap<usize, [Vec<f64>; 2]>;

/// What `x ~ uniform(low, high)` says, where both are known.
pub(crate) fn said<'a>(x: &'a Value, low: &Value, high: &Value) -> impl Iterator<Item = Uniform> + 'a {
    let known = low.known().zip(high.known()).map(|(low, high)| (low.into_owned(), high.into_owned()));
    let at = |all: &[f64], i: usize| all.get(if all.len() == 1 { 0 } else { i }).copied();
    (0..x.elements()).filter_map(move |i| {
        let (low, high) = known.as_ref()?;
        let Cell::Of { node, at: place } = x.cell(i) else { return None };
        Some(Uniform { from: (node, place), bounds: [at(low, i)?, at(high, i)?] })
    })
}

/// Bounds of the parameters of which every number has two that are known, where they are narrower than declared.
pub(super) fn bounds(machine: &Machine<'_>, parameters: &[Parameter]) -> Bounds {
    let mut all: HashMap<u32, (usize, [Vec<f64>; 2])> = HashMap::new();
    for Uniform { from: (node, place), bounds } in &machine.uniforms {
        let written = &machine.tape.nodes[*node as usize];
        let Op::Param(number) = written.op else { continue };
        let number = number as usize;
        let Some(declared) = declared(&parameters[number], written) else { continue };
        let (_, [low, high]) = all.entry(*node).or_insert((number, declared));
        let i = *place as usize;
        (low[i], high[i]) = (low[i].max(bounds[0]), high[i].min(bounds[1]));
    }
    let narrower = |(node, (number, found)): (u32, (usize, [Vec<f64>; 2]))| {
        let [low, high] = &found;
        let own = declared(&parameters[number], &machine.tape.nodes[node as usize])?;
        let near = low.iter().chain(high).all(|x| x.abs() <= FAR);
        let fine = near && low.iter().zip(high).all(|(low, high)| low < high);
        (fine && own != found).then_some((number, found))
    };
    all.into_iter().filter_map(narrower).collect()
}

/// Bounds as they are declared, unless they depend on parameters.
fn declared(parameter: &Parameter, written: &Node) -> Option<[Vec<f64>; 2]> {
    let Kind::Bounds { lower, upper } = parameter.kind else { return None };
    let length = written.length as usize;
    let mut given = written.arguments.iter();
    let mut next = |is_given: bool, endless: f64| -> Option<Vec<f64>> {
        if !is_given {
            return Some(vec![endless; length]);
        }
        let (data, own) = given.next()?;
        let number = |i: usize| match data.cell(if *own == 1 { 0 } else { i }) {
            Cell::Known(x) => Some(x),
            Cell::Of { .. } => None,
        };
        (0..length).map(number).collect()
    };
    Some([next(lower, f64::NEG_INFINITY)?, next(upper, f64::INFINITY)?])
}
