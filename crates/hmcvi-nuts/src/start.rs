//! Begin with a fit: a Gaussian near the posterior, whose coordinates are easy for a sampler.

use hmcvi::bayes::fit::FullGaussian;

use crate::NutsError;

/// A Gaussian on the unconstrained scale.
#[derive(Clone, Debug, PartialEq)]
pub struct Start {
    mean: Vec<f64>,
    /// The lower factor `L` of the covariance `LLᵀ`, row by row.
    factor: Vec<f64>,
    /// How many times as far from the mean as draws of the Gaussian chains begin.
    pub(crate) spread: f64,
}

/// ```
/// use hmcvi::bayes::{Data, Fit, Model, normal};
/// use hmcvi_nuts::Start;
///
/// let model = Model::new(|m| {
///     let x = m.sample("x", normal(3.0, 2.0));
///     let y = m.data("y");
///     m.observe("y", normal(x, 1.0), y);
/// });
/// let bound = model.bind(&Data::new().with("y", [2.0, 2.5]))?;
/// let fitted = bound.fit(&Fit::default().without_chain())?;
/// let start = Start::try_from(&fitted.gaussian())?;
/// assert_eq!(start.dimension(), bound.dimension());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl TryFrom<&FullGaussian> for Start {
    type Error = NutsError;

    /// The Gaussian of a fit.
    fn try_from(fitted: &FullGaussian) -> Result<Self, NutsError> {
        Start::from_factor(&fitted.mean, &fitted.factor)
    }
}

impl Start {
    /// The Gaussian with this mean and covariance, given row by row.
    ///
    /// # Errors
    /// If the sizes do not fit or the covariance is not positive definite.
    pub fn new(mean: &[f64], covariance: &[f64]) -> Result<Self, NutsError> {
        check_size("covariance", mean, covariance)?;
        Start::from_factor(mean, &cholesky(covariance, mean.len())).map_err(|_| {
            NutsError::Start("mean and covariance must be finite, the latter positive definite".into())
        })
    }

    /// The Gaussian with this mean and lower factor `L` of the covariance `LLᵀ`, given row by row.
    ///
    /// # Errors
    /// If the sizes do not fit, or the diagonal of the factor is not positive.
    pub fn from_factor(mean: &[f64], factor: &[f64]) -> Result<Self, NutsError> {
        check_size("factor", mean, factor)?;
        let n = mean.len();
        let finite = mean.iter().chain(factor).all(|x| x.is_finite());
        if !finite || (0..n).any(|i| factor[i * n + i] <= 0.0) {
            let problem = "mean and factor must be finite, and the diagonal of the factor positive";
            return Err(NutsError::Start(problem.into()));
        }
        Ok(Start { mean: mean.into(), factor: factor.into(), spread: 1.0 })
    }

    /// The same Gaussian, but chains begin so many times as far from its mean as its draws are: if they agree
    /// nevertheless, they have forgotten where they began.
    #[must_use]
    pub fn spread(self, factor: f64) -> Self {
        Start { spread: factor, ..self }
    }

    /// Number of dimensions.
    pub fn dimension(&self) -> usize {
        self.mean.len()
    }

    /// `z = m + L u`
    pub(crate) fn place(&self, u: &[f64], z: &mut [f64]) {
        let n = self.dimension();
        for i in 0..n {
            let row = &self.factor[i * n..=i * n + i];
            z[i] = self.mean[i] + row.iter().zip(u).map(|(l, u)| l * u).sum::<f64>();
        }
    }

    /// `∂/∂u = Lᵀ ∂/∂z`
    pub(crate) fn pull_back(&self, by_z: &[f64], by_u: &mut [f64]) {
        let n = self.dimension();
        by_u.fill(0.0);
        for i in 0..n {
            let row = &self.factor[i * n..=i * n + i];
            by_u.iter_mut().zip(row).for_each(|(u, l)| *u += l * by_z[i]);
        }
    }
}

fn check_size(what: &str, mean: &[f64], matrix: &[f64]) -> Result<(), NutsError> {
    let n = mean.len();
    if n == 0 || matrix.len() != n * n {
        let found = matrix.len();
        let problem = format!("the mean has {n} elements and the {what} {found}; expected are n > 0 and n²");
        return Err(NutsError::Start(problem));
    }
    Ok(())
}

/// Lower factor of a positive definite matrix; not finite or not positive on its diagonal where the matrix is none.
fn cholesky(a: &[f64], n: usize) -> Vec<f64> {
    let mut l = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..=i {
            let dot: f64 = (0..j).map(|k| l[i * n + k] * l[j * n + k]).sum();
            let rest = a[i * n + j] - dot;
            l[i * n + j] = if i == j { rest.sqrt() } else { rest / l[j * n + j] };
        }
    }
    l
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gradients_follow_the_map() {
        let start = Start::new(&[1.0, -1.0], &[4.0, 2.0, 2.0, 10.0]).expect("a Gaussian");
        // L = [2 0; 1 3]
        let (mut z, mut gradient) = ([0.0; 2], [0.0; 2]);
        start.place(&[1.0, 2.0], &mut z);
        assert_eq!(z, [3.0, 6.0]);
        start.pull_back(&[1.0, 10.0], &mut gradient);
        assert_eq!(gradient, [12.0, 30.0]);
    }

    #[test]
    fn what_is_no_gaussian_is_refused() {
        for (mean, covariance) in [
            (vec![0.0, 0.0], vec![1.0, 2.0, 2.0, 1.0]),
            (vec![f64::NAN], vec![1.0]),
            (vec![0.0], vec![0.0]),
            (vec![0.0], vec![f64::INFINITY]),
            (vec![0.0, 0.0], vec![1.0, 1.0]),
            (vec![], vec![]),
        ] {
            assert!(matches!(Start::new(&mean, &covariance), Err(NutsError::Start(_))), "{covariance:?}");
        }
    }
}
