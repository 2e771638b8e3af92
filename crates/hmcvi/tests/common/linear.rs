//! Solve leapfrog chains on linear-Gaussian models with a diagonal posterior.
