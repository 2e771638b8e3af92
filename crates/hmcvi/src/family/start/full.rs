//! Add covariances to the encoder's Gaussian: `z = μ + σ∘(ε + Lε)` with a strictly lower triangular `L` of the data.

use super::{Around, Entropies};
use crate::dist::Gaussian;
use crate::family::hmc_chain::Start;
use crate::potential::Potential;

impl<'g> Around<'_, 'g> {
    /// A draw. The determinant is that of the diagonal, so that the entropy is the Gaussian's own.
    pub(super) fn full_covariance(&self, entropies: Entropies) -> Start<'g> {
        let (d, Gaussian { mean, log_variance }) = (self.dimension(), self.gaussian);
        let (noise, mut variables) = (self.noise(), Vec::new());
        let first = self.first(noise, entropies, &mut variables);
        let scale = (log_variance * 0.5).exp();
        // From a draw that is held, in units of the Gaussian, the way to `z` depends on the Gaussian too.
        let noise = if entropies == Entropies::Held { (first - mean) / scale } else { noise };
        let pairs: Vec<(usize, usize)> = (0..d).flat_map(|i| (0..i).map(move |j| (i, j))).collect();
        let mixed = if pairs.is_empty() {
            noise
        } else {
            let count = pairs.len();
            let factors = self.correction("covariance", self.target.context, count);
            // Each factor takes the noise of one dimension to another.
            let graph = noise.graph();
            let matrix = |rows, cols, one: &dyn Fn(usize) -> usize| {
                let mut all = vec![0.0; rows * cols];
                (0..count).for_each(|k| all[one(k)] = 1.0);
                graph.constant_matrix(rows, cols, &all)
            };
            let from = matrix(d, count, &|k| pairs[k].1 * count + k);
            let to = matrix(count, d, &|k| k * d + pairs[k].0);
            noise + (noise.matmul(from) * factors).matmul(to)
        };
        let z = mean + scale * mixed;
        let standard = Gaussian::standard(noise.graph(), d);
        let entropy = match entropies {
            Entropies::ClosedForm => self.gaussian.entropy(),
            Entropies::Held => entropies.of(&self.gaussian, first),
            Entropies::Sampled => log_variance.sum_cols() * 0.5 - standard.log_prob(noise),
        };
        Start { variables, ..self.start(z, entropy, Potential::gaussian(self.gaussian)) }
    }
}
