//! Sum the elements of vectors from left to right, many vectors in a row side by side.

use hmcvi_graph::Expr;

/// `Σ_{j≤k} xⱼ` within each vector: `[N, groups·size]` to the same.
pub(super) fn up_to<'g>(x: Expr<'g>, [groups, size]: [usize; 2]) -> Expr<'g> {
    debug_assert_eq!(x.cols(), groups * size);
    x.cumsum_groups(size)
}

/// `Σ_{j<k} xⱼ` within each vector, also for the place after the last: `[N, groups·size]` to `[N, groups·(size + 1)]`.
pub(super) fn before<'g>(x: Expr<'g>, [groups, size]: [usize; 2]) -> Expr<'g> {
    let place = |group: usize, k: usize| if k == 0 { None } else { Some(group * size + k - 1) };
    let places: Vec<Option<usize>> =
        (0..groups * (size + 1)).map(|at| place(at / (size + 1), at % (size + 1))).collect();
    pick(up_to(x, [groups, size]), &places)
}

/// Columns by their places; 0 where there is none.
pub(super) fn pick<'g>(x: Expr<'g>, places: &[Option<usize>]) -> Expr<'g> {
    let padded = Expr::concat_cols(&[x.graph().constant(0.0), x]);
    let places: Vec<usize> = places.iter().map(|place| place.map_or(0, |place| place + 1)).collect();
    padded.gather_cols(&places)
}
