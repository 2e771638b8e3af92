//! Read values that are known before anything runs, for those who check them.

use crate::expr::Expr;
use crate::op::{Op, Unary};
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
