//! Measure what plain matrix products reach, to compare benchmarks with: included by them.

use std::time::Instant;

/// GFLOP/s of the `gemm` crate for the largest product of the step, one per thread.
pub fn plain_products(threads: usize) -> f64 {
    let (m, k, n) = (250, 200, 784);
    let work = || {
        let (a, b, mut c) = (vec![0.5f32; m * k], vec![0.25f32; k * n], vec![0f32; m * n]);
        let mut once = || {
            // SAFETY: the slices have the sizes and strides that are given.
            unsafe {
                gemm::gemm(
                    m,
                    n,
                    k,
                    c.as_mut_ptr(),
                    1,
                    n as isize,
                    false,
                    a.as_ptr(),
                    1,
                    k as isize,
                    b.as_ptr(),
                    1,
                    n as isize,
                    0.0,
                    1.0,
                    false,
                    false,
                    false,
                    gemm::Parallelism::None,
                );
            }
        };
        (0..20).for_each(|_| once());
        let (start, count) = (Instant::now(), 300);
        (0..count).for_each(|_| once());
        (2 * m * k * n * count) as f64 / start.elapsed().as_secs_f64() / 1e9
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|t| t.join().expect("a product does not panic")).sum()
    })
}
