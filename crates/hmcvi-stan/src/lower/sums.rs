//! Turn sums that were added up one by one into products with known matrices and into sums whose summands do not wait
//! for each other.

use std::collections::HashMap;

use super::for_each_source;
use crate::functions::elementwise::{ADD, MUL, SUB};
use crate::tape::{Node, Op, source};
use crate::value::{Cell, Data, Value};

/// Shorter chains stay as they are: element by element they cost as little.
const SHORTEST: usize = 6;
/// Longer chains are always taken apart.
const LONG: usize = 64;
/// Tells products from the sums that they were made of.
const PRODUCT: u64 = 0x9e37_79b9_7f4a_7c15;

/// Rewrites additions of numbers whose first side is used nowhere else.
pub(super) fn collapse(nodes: &mut [Node], wanted: &[Data], outputs: &[&Value]) {
    let chains = Chains::of(nodes, wanted, outputs);
    for end in chains.ends() {
        multiply(nodes, &chains, end);
    }
    let chains = Chains::of(nodes, wanted, outputs);
    let mut lanes: HashMap<(u64, usize), usize> = HashMap::new();
    for end in chains.ends() {
        *lanes.entry((nodes[end].site, chains.length[end])).or_default() += 1;
    }
    for end in chains.ends() {
        add_up(nodes, &chains, end, lanes[&(nodes[end].site, chains.length[end])]);
    }
}

/// Additions, each of which has the one before as its first side.
struct Chains {
    uses: Vec<u32>,
    /// How many additions there are up to each operation.
    length: Vec<usize>,
    /// Whether another addition goes on.
    inner: Vec<bool>,
}

/// A summand, whether it is taken away, and the addition that adds it: none for the first.
struct Term {
    cell: Cell,
    minus: bool,
    at: Option<usize>,
}

impl Chains {
    fn of(nodes: &[Node], wanted: &[Data], outputs: &[&Value]) -> Self {
        let mut uses = vec![0u32; nodes.len()];
        for node in nodes {
            for_each_source(node, |source| uses[source as usize] += 1);
        }
        for data in wanted {
            match data {
                Data::Span { node, .. } => uses[*node as usize] += 1,
                Data::Cells(cells) => {
                    cells.iter().filter_map(|c| source(*c)).for_each(|n| uses[n as usize] += 1)
                }
                Data::Num(_) | Data::Known(_) => {}
            }
        }
        for value in outputs {
            value.cells().into_iter().filter_map(source).for_each(|node| uses[node as usize] += 1);
        }
        let mut chains = Chains { uses, length: vec![0; nodes.len()], inner: vec![false; nodes.len()] };
        for (i, node) in nodes.iter().enumerate() {
            let Some([first, _]) = sides(node, &[ADD, SUB]) else { continue };
            chains.length[i] = 1;
            if let Cell::Of { node, .. } = first {
                let before = node as usize;
                if chains.length[before] > 0 && chains.uses[before] == 1 {
                    chains.length[i] += chains.length[before];
                    chains.inner[before] = true;
                }
            }
        }
        chains
    }

    /// The last additions of chains that are worth while.
    fn ends(&self) -> impl Iterator<Item = usize> {
        (0..self.length.len()).filter(|&i| self.length[i] >= SHORTEST && !self.inner[i])
    }

    /// All summands in their order.
    fn terms(&self, nodes: &[Node], end: usize) -> Vec<Term> {
        let mut terms = Vec::with_capacity(self.length[end] + 1);
        let mut at = end;
        while let Some([first, second]) = sides(&nodes[at], &[ADD, SUB]) {
            terms.push(Term { cell: second, minus: nodes[at].op == Op::Map(SUB), at: Some(at) });
            match first {
                Cell::Of { node, .. } if self.inner[node as usize] && self.length[at] > 1 => {
                    at = node as usize
                }
                first => {
                    terms.push(Term { cell: first, minus: false, at: None });
                    break;
                }
            }
        }
        terms.reverse();
        terms
    }

    /// What a summand is a multiple of, if it is used nowhere else.
    fn multiple(&self, nodes: &[Node], term: &Term) -> Option<Multiple> {
        let sign = if term.minus { -1.0 } else { 1.0 };
        let (by, cell, at) = match self.by_known(nodes, term.cell) {
            Some(found) => found,
            None => return self.by_known_and_factor(nodes, term.cell, sign),
        };
        Some(Multiple { by: sign * by, cell, at, factor: None })
    }

    /// A number and a cell whose product this is, and where they are multiplied.
    fn by_known(&self, nodes: &[Node], cell: Cell) -> Option<(f64, Cell, usize)> {
        let at = source(cell)? as usize;
        let (by, cell) = match sides(&nodes[at], &[MUL])? {
            [Cell::Known(by), cell @ Cell::Of { .. }] | [cell @ Cell::Of { .. }, Cell::Known(by)] => {
                (by, cell)
            }
            _ => return None,
        };
        (self.uses[at] == 1).then_some((by, cell, at))
    }

    /// The same where the product is multiplied by something else that depends on parameters.
    fn by_known_and_factor(&self, nodes: &[Node], cell: Cell, sign: f64) -> Option<Multiple> {
        let outer = source(cell)? as usize;
        let [a, b] = sides(&nodes[outer], &[MUL])?;
        let known = |inner, factor| self.by_known(nodes, inner).map(|found| (found, factor));
        let ((by, cell, at), factor) = known(a, b).or_else(|| known(b, a))?;
        let is_own = self.uses[outer] == 1 && source(factor).is_some();
        is_own.then_some(Multiple { by: sign * by, cell, at, factor: Some((factor, outer)) })
    }
}

/// A known number times a cell, and where they are multiplied.
struct Multiple {
    by: f64,
    cell: Cell,
    at: usize,
    /// What the product is multiplied by, and where.
    factor: Option<(Cell, usize)>,
}

impl Multiple {
    fn has_factor_of(&self, other: &Multiple) -> bool {
        match (self.factor, other.factor) {
            (Some((Cell::Of { node, at }, _)), Some((Cell::Of { node: other, at: place }, _))) => {
                (node, at) == (other, place)
            }
            (own, other) => own.is_none() && other.is_none(),
        }
    }
}

/// Makes one product of the summands that are multiples of other numbers by known ones, with the same factor besides.
fn multiply(nodes: &mut [Node], chains: &Chains, end: usize) {
    let terms = chains.terms(nodes, end);
    let mut multiples: Vec<Option<Multiple>> =
        terms.iter().map(|term| chains.multiple(nodes, term)).collect();
    if let Some(first) = multiples.iter().position(Option::is_some) {
        for i in first + 1..multiples.len() {
            let [Some(own), Some(other)] = [&multiples[first], &multiples[i]] else { continue };
            if !own.has_factor_of(other) {
                multiples[i] = None;
            }
        }
    }
    let count = multiples.iter().flatten().count();
    let Some(last) = multiples.iter().rposition(Option::is_some).filter(|_| count >= SHORTEST) else {
        return;
    };
    let (by, cells): (Vec<f64>, Vec<Cell>) =
        multiples.iter().flatten().map(|multiple| (multiple.by, multiple.cell)).unzip();
    // In the place of one of the multiplications, after all that it needs and before the sums that need it.
    let place = multiples.iter().flatten().map(|multiple| multiple.at).max().unwrap_or(end);
    let sizes = count as u32;
    nodes[place] = Node {
        op: Op::Product([1, sizes, 1]),
        site: nodes[end].site ^ PRODUCT,
        arguments: [(Data::Known(by.into()), sizes), (Data::of(cells, false), sizes)].into(),
        length: 1,
    };
    let mut product = Cell::Of { node: place as u32, at: 0 };
    let factors = multiples.iter().flatten().filter_map(|multiple| multiple.factor);
    if let Some((factor, at)) = factors.max_by_key(|(_, at)| *at) {
        write(&mut nodes[at], MUL, product, factor);
        product = Cell::Of { node: at as u32, at: 0 };
    }
    let mut sum: Option<Cell> = None;
    for (i, (term, multiple)) in terms.iter().zip(&multiples).enumerate() {
        let (cell, op) = match multiple {
            Some(_) if i == last => (product, ADD),
            Some(_) => continue,
            None => (term.cell, if term.minus { SUB } else { ADD }),
        };
        sum = Some(match (sum, term.at) {
            // The first summand is what all sums begin with.
            (None, _) if op == ADD => cell,
            (before, at) => {
                let at = at.unwrap_or(end);
                write(&mut nodes[at], op, before.unwrap_or(Cell::Known(0.0)), cell);
                Cell::Of { node: at as u32, at: 0 }
            }
        });
    }
    if let Some(sum) = sum.filter(|sum| source(*sum) != Some(end as u32)) {
        write(&mut nodes[end], ADD, sum, Cell::Known(0.0));
    }
}

fn write(node: &mut Node, op: u16, a: Cell, b: Cell) {
    let one = |cell| (Data::of(vec![cell], true), 1);
    (node.op, node.arguments) = (Op::Map(op), [one(a), one(b)].into());
}

/// Makes one sum of a chain. Where there are many chains side by side, they are as good as they are.
fn add_up(nodes: &mut [Node], chains: &Chains, end: usize, lanes: usize) {
    let mut terms = chains.terms(nodes, end);
    // Differences would need their summands negated; those chains are rare.
    if terms.iter().any(|term| term.minus) {
        return;
    }
    terms.retain(|term| !matches!(term.cell, Cell::Known(0.0)));
    let site = |term: &Term| source(term.cell).map(|node| nodes[node as usize].site);
    let alike = terms.windows(2).all(|pair| site(&pair[0]) == site(&pair[1]));
    if !alike && lanes > terms.len() && terms.len() <= LONG {
        return;
    }
    let cells: Vec<Cell> = terms.iter().map(|term| term.cell).collect();
    let length = cells.len() as u32;
    nodes[end].op = Op::Sum;
    nodes[end].arguments = [(Data::of(cells, false), length)].into();
}

/// Both sides of one of these operations of numbers.
fn sides(node: &Node, of: &[u16]) -> Option<[Cell; 2]> {
    match (&node.op, &*node.arguments) {
        (Op::Map(op), [(a, 1), (b, 1)]) if node.length == 1 && of.contains(op) => {
            Some([a.cell(0), b.cell(0)])
        }
        _ => None,
    }
}
