//! Draw gamma variables, and the negative binomial ones that are made of them.

use super::RandomSource;

impl RandomSource {
    /// A gamma draw with this shape, above 0, and scale 1 (Marsaglia and Tsang, *A simple method for generating gamma
    /// variables*, 2000).
    pub fn gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            // The method needs a shape of at least 1; a power of a uniform draw makes up for it.
            return self.gamma(shape + 1.0) * (self.uniform().ln() / shape).exp();
        }
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let normal = self.normal();
            let v = (1.0 + c * normal).powi(3);
            let accepts = |u: f64| u.ln() < 0.5 * normal * normal + d * (1.0 - v + v.ln());
            if v > 0.0 && accepts(self.uniform()) {
                return d * v;
            }
        }
    }

    /// A negative binomial draw with variance `mean + mean²/dispersion`: a Poisson draw whose mean is a gamma draw.
    pub fn negative_binomial(&mut self, mean: f64, dispersion: f64) -> f64 {
        let rate = mean / dispersion * self.gamma(dispersion);
        self.poisson(rate)
    }
}
