//! Measure what plain matrix products reach on this machine: the `gemm` crate, to compare benchmarks with.

use std::time::Instant;

/// A right operand, `[depth, cols]` row by row, or its transpose `[cols, depth]`.
#[derive(Clone, Copy, Debug)]
pub struct Right<'a> {
    /// Values, row by row.
    pub values: &'a [f32],
    /// Whether they are those of the transpose.
    pub is_transposed: bool,
}

/// `result = left · right` for `[rows, depth]` and `[depth, cols]`, on this thread.
///
/// # Panics
/// Where a slice has not the length of its matrix.
pub fn multiply([rows, depth, cols]: [usize; 3], left: &[f32], right: Right<'_>, result: &mut [f32]) {
    assert_eq!(left.len(), rows * depth, "the left operand has {rows} rows and {depth} columns");
    assert_eq!(right.values.len(), depth * cols, "the right operand has {depth} rows and {cols} columns");
    assert_eq!(result.len(), rows * cols, "the result has {rows} rows and {cols} columns");
    let (right_col, right_row) = if right.is_transposed { (depth, 1) } else { (1, cols) };
    // SAFETY: the slices were found to have the sizes that strides and shapes say.
    unsafe {
        gemm::gemm(
            rows,
            cols,
            depth,
            result.as_mut_ptr(),
            1,
            cols as isize,
            false,
            left.as_ptr(),
            1,
            depth as isize,
            right.values.as_ptr(),
            right_col as isize,
            right_row as isize,
            0.0,
            1.0,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

/// GFLOP/s for the largest product of the paper's training step, one per thread.
///
/// # Panics
/// If a thread does.
pub fn plain_products(threads: usize) -> f64 {
    let shape @ [rows, depth, cols] = [250, 200, 784];
    let work = || {
        let (left, right) = (vec![0.5; rows * depth], vec![0.25; depth * cols]);
        let mut result = vec![0.0; rows * cols];
        let right = Right { values: &right, is_transposed: false };
        (0..20).for_each(|_| multiply(shape, &left, right, &mut result));
        let (start, count) = (Instant::now(), 300);
        (0..count).for_each(|_| multiply(shape, &left, right, &mut result));
        (2 * rows * depth * cols * count) as f64 / start.elapsed().as_secs_f64() / 1e9
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|t| t.join().expect("a product does not panic")).sum()
    })
}

#[cfg(test)]
mod tests {
    use super::{Right, multiply};

    #[test]
    fn a_transposed_operand_gives_the_same_product() {
        let left = [1.0, 2.0, 3.0, 4.0];
        let (right, transposed) = ([5.0, 6.0, 7.0, 8.0], [5.0, 7.0, 6.0, 8.0]);
        for (values, is_transposed) in [(&right, false), (&transposed, true)] {
            let mut result = [0.0; 4];
            multiply([2, 2, 2], &left, Right { values, is_transposed }, &mut result);
            // [1 2; 3 4]·[5 6; 7 8]
            assert_eq!(result, [19.0, 22.0, 43.0, 50.0]);
        }
    }
}
