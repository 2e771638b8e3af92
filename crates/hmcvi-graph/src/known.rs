//! Read values that are known before anything runs, for those who check them.

use std::collections::HashSet;

use crate::expr::Expr;
use crate::op::{Binary, Op, Unary};
use crate::rowwise::RowOp;
use crate::shape::Rows;

impl Expr<'_> {
    /// The values, row by row, of numbers and matrices known now and of columns picked from a single row of them.
    /// Nothing is computed: sums and functions of constants are not known.
    pub fn known(self) -> Option<Vec<f64>> {
        let node = self.node();
        let row = || self.arg(0).known().filter(|_| self.arg(0).shape().rows == Rows::Fixed(1));
        match node.op {
            Op::Scalar(bits) => Some(vec![f64::from_bits(bits)]),
            Op::Constant(place) => Some(self.graph.constant_values(place).to_vec()),
            Op::SliceCols(start) => Some(row()?[start..start + node.shape.cols].to_vec()),
            Op::Rowwise(RowOp::Gather(list)) => {
                let values = row()?;
                Some(list.iter().map(|place| values[*place as usize]).collect())
            }
            Op::Unary(Unary::Broadcast) if !node.shape.is_batch() => {
                let number = self.arg(0).as_constant()?;
                Some(vec![number; node.shape.elements()])
            }
            _ => None,
        }
    }
}

impl<'g> Expr<'g> {
    /// The value without those of its summands that are the same whatever is given to a run: numbers, matrices known now
    /// and functions of them. Differences and negative sums are looked into; the shape may become smaller, and 0 is what
    /// is left of a value without other summands.
    pub fn without_fixed_summands(self) -> Self {
        if self.is_fixed() {
            return self.graph.constant(0.0);
        }
        match self.node().op {
            Op::Binary(Binary::Add) => {
                self.arg(0).without_fixed_summands() + self.arg(1).without_fixed_summands()
            }
            Op::Binary(Binary::Sub) => {
                self.arg(0).without_fixed_summands() - self.arg(1).without_fixed_summands()
            }
            Op::Unary(Unary::Neg) => -self.arg(0).without_fixed_summands(),
            _ => self,
        }
    }

    /// Whether the value is the same in every run. Values with a row for each data point are taken to differ.
    fn is_fixed(self) -> bool {
        let (mut open, mut seen) = (vec![self], HashSet::new());
        while let Some(x) = open.pop() {
            let node = x.node();
            let is_number = matches!(node.op, Op::Scalar(_) | Op::Constant(_));
            if node.shape.is_batch() || (node.args.is_empty() && !is_number) {
                return false;
            }
            if seen.insert(x.id) {
                open.extend((0..node.args.len()).map(|i| x.arg(i)));
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use crate::{Graph, Shape};

    #[test]
    fn constants_and_columns_of_them_are_known() {
        let graph = Graph::new();
        let row = graph.constant_matrix(1, 3, &[1.0, 2.0, 3.0]);
        assert_eq!(row.known(), Some(vec![1.0, 2.0, 3.0]));
        assert_eq!(row.slice_cols(1, 2).known(), Some(vec![2.0, 3.0]));
        assert_eq!(row.gather_cols(&[2, 0, 2]).known(), Some(vec![3.0, 1.0, 3.0]));
        assert_eq!(graph.constant(4.0).broadcast_to(Shape::fixed(1, 2)).known(), Some(vec![4.0, 4.0]));
        assert_eq!(graph.batch_input("x", 1).known(), None);
        assert_eq!(graph.constant(4.0).broadcast_to(Shape::batch(2)).known(), None);
    }
}
