//! Pick the columns of the arguments of element-wise operations instead of those of the result, where that costs less.
//!
//! Columns of constants are picked now and a single column repeats by itself, so that what is left often has nothing to
//! pick: it runs together with its neighbours, and so does its derivative.

use std::collections::HashMap;

use super::counts_from;
use crate::expr::Expr;
use crate::graph::NodeId;
use crate::op::{Op, Unary};
use crate::rowwise::{Columns, RowOp};
use crate::shape::Shape;

/// What operations cost for each column: cheap ones, dear ones, and columns that are picked, with the derivative.
const CHEAP: usize = 1;
const DEAR: usize = 8;
const PICKED: usize = 6;
/// Operations that are done again for other columns may cost so much; less where columns are still picked, since
/// recurrences would do their steps again and again.
const MOST: usize = 32;
const MOST_PICKED: usize = 6;

/// The columns of an element-wise value as operations on columns of what it is made of.
pub(super) fn inside<'g>(list: &Columns, x: Expr<'g>) -> Option<Expr<'g>> {
    let mut cone = Cone { list, of: x.shape(), ops: 0, before: 0, after: 0, known: HashMap::new() };
    if !x.shape().is_batch() || !cone.is_inner(x) || !cone.look(x) {
        return None;
    }
    let (to, from) = (list.len(), x.cols());
    let most = if cone.after > 0 { MOST_PICKED } else { MOST };
    let kept = PICKED * to + to.min(from) * (cone.ops + PICKED * cone.before);
    let pushed = to * (cone.ops + PICKED * cone.after);
    (cone.ops <= most && pushed < kept).then(|| cone.build(x))
}

/// The element-wise operations that a value is made by.
struct Cone<'l, 'g> {
    list: &'l Columns,
    of: Shape,
    ops: usize,
    /// Arguments whose columns are picked as it is, and those that would be.
    before: usize,
    after: usize,
    known: HashMap<NodeId, Option<Expr<'g>>>,
}

impl<'g> Cone<'_, 'g> {
    fn is_inner(&self, x: Expr<'g>) -> bool {
        let op = x.node().op;
        x.shape() == self.of
            && matches!(op, Op::Unary(_) | Op::Binary(_) | Op::Select)
            && op != Op::Unary(Unary::Broadcast)
    }

    /// Adds up what a value costs; false if that is too much.
    fn look(&mut self, x: Expr<'g>) -> bool {
        if self.known.insert(x.id, None).is_some() {
            return true;
        }
        let node = x.node();
        if !self.is_inner(x) {
            self.argument(x);
            return self.after <= MOST_PICKED;
        }
        self.ops += match node.op {
            Op::Unary(f) if f.is_expensive() => DEAR,
            Op::Binary(f) if f.is_expensive() => DEAR,
            _ => CHEAP,
        };
        self.ops <= MOST && (0..node.args.len()).all(|i| self.look(x.arg(i)))
    }

    /// Counts an argument whose columns have to be picked.
    fn argument(&mut self, x: Expr<'g>) {
        let alike = |list: &[u32]| list.iter().all(|place| *place == list[0]) || counts_from(list).is_some();
        match x.node().op {
            // They repeat by themselves, or are picked once for all rows.
            _ if x.cols() == 1 || !x.shape().is_batch() => {}
            Op::Unary(Unary::Broadcast) => {}
            Op::Rowwise(RowOp::Gather(inner)) => {
                self.before += 1;
                let both: Vec<u32> = self.list.iter().map(|place| inner[*place as usize]).collect();
                self.after += usize::from(!alike(&both));
            }
            _ => self.after += usize::from(!alike(self.list)),
        }
    }

    fn build(&mut self, x: Expr<'g>) -> Expr<'g> {
        if let Some(Some(built)) = self.known.get(&x.id) {
            return *built;
        }
        let built = if self.is_inner(x) {
            let node = x.node();
            let args: Vec<Expr<'g>> = (0..node.args.len()).map(|i| self.build(x.arg(i))).collect();
            x.graph.add(node.op, &args, Shape { cols: self.list.len(), ..self.of })
        } else if x.cols() == 1 {
            x
        } else {
            x.gather_list(self.list.clone())
        };
        self.known.insert(x.id, Some(built));
        built
    }
}
