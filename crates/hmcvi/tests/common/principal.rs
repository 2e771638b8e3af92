//! Solve probabilistic principal component analysis exactly (Tipping and Bishop, 1999).

use hmcvi::potential::LinearGaussian;

/// Eigenvalues of a symmetric matrix, the largest first, each with its unit eigenvector: Jacobi's rotations.
pub(crate) fn eigen(mut a: Vec<Vec<f64>>) -> Vec<(f64, Vec<f64>)> {
    let n = a.len();
    // Rows become eigenvectors.
    let mut vectors: Vec<Vec<f64>> =
        (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    let size: f64 = a.iter().flatten().map(|x| x * x).sum();
    let rest = |a: &[Vec<f64>]| -> f64 { (0..n).flat_map(|i| (0..i).map(move |j| a[i][j].powi(2))).sum() };
    while rest(&a) > 1e-28 * size {
        for (p, q) in (0..n).flat_map(|q| (0..q).map(move |p| (p, q))) {
            if a[p][q] != 0.0 {
                let turn = 0.5 * (2.0 * a[p][q] / (a[q][q] - a[p][p])).atan();
                rotate(&mut a, p, q, turn);
                a.iter_mut().for_each(|row| (row[p], row[q]) = rotated(row[p], row[q], turn));
                rotate(&mut vectors, p, q, turn);
            }
        }
    }
    let mut found: Vec<_> = vectors.into_iter().enumerate().map(|(i, vector)| (a[i][i], vector)).collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found
}

fn rotated(x: f64, y: f64, turn: f64) -> (f64, f64) {
    let (sin, cos) = turn.sin_cos();
    (cos * x - sin * y, sin * x + cos * y)
}

/// Rotates two rows into each other.
fn rotate(a: &mut [Vec<f64>], p: usize, q: usize, turn: f64) {
    for k in 0..a[p].len() {
        (a[p][k], a[q][k]) = rotated(a[p][k], a[q][k], turn);
    }
}

/// The most likely model `x ~ N(zW, σ²I)`, `z ~ N(0, I)`, of rows with mean 0.
pub(crate) struct PrincipalComponents {
    pub(crate) eigen: Vec<(f64, Vec<f64>)>,
    latent: usize,
}

impl PrincipalComponents {
    pub(crate) fn new(rows: &[Vec<f64>], latent: usize) -> Self {
        let n = rows[0].len();
        let covariance =
            |i: usize, j: usize| rows.iter().map(|x| x[i] * x[j]).sum::<f64>() / rows.len() as f64;
        let matrix = (0..n).map(|i| (0..n).map(|j| covariance(i, j)).collect()).collect();
        PrincipalComponents { eigen: eigen(matrix), latent }
    }

    /// `σ²`, the mean of the eigenvalues that are left out.
    pub(crate) fn variance(&self) -> f64 {
        let left_out = &self.eigen[self.latent..];
        left_out.iter().map(|(value, _)| value).sum::<f64>() / left_out.len() as f64
    }

    /// The largest mean log likelihood of the rows, `-½ (d log 2π + Σ log λ + (d - latent) log σ² + d)`, with the sum over
    /// the eigenvalues that are not left out.
    pub(crate) fn maximum(&self) -> f64 {
        let d = self.eigen.len() as f64;
        let logs: f64 = self.eigen[..self.latent].iter().map(|(value, _)| value.ln()).sum();
        -0.5 * (d * (std::f64::consts::TAU.ln() + 1.0)
            + logs
            + (d - self.latent as f64) * self.variance().ln())
    }

    /// `W = R (Λ - σ²I)^½ U`, `[latent, observed]`: the likelihood is the same for all rotations `R`. This one turns each
    /// latent dimension with the next by 45 degrees where `turned`.
    pub(crate) fn weights(&self, turned: bool) -> Vec<f64> {
        let axis = |(value, vector): &(f64, Vec<f64>)| {
            vector.iter().map(|u| (value - self.variance()).sqrt() * u).collect::<Vec<f64>>()
        };
        let mut weights: Vec<Vec<f64>> = self.eigen[..self.latent].iter().map(axis).collect();
        if turned {
            (1..self.latent).for_each(|i| rotate(&mut weights, i - 1, i, std::f64::consts::FRAC_PI_4));
        }
        weights.concat()
    }

    /// The same as a model whose evidence and posteriors are known.
    pub(crate) fn model(&self, turned: bool) -> LinearGaussian {
        let (offset, noise) = (vec![0.0; self.eigen.len()], self.variance().sqrt());
        LinearGaussian::new(self.latent, &self.weights(turned), &offset, noise)
    }
}
