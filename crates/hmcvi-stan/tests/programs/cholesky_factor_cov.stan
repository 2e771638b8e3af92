// data: {}
parameters { cholesky_factor_cov[3] L; cholesky_factor_cov[4, 2] W; vector[3] y; }
model {
  target += -0.5 * sum(L .* L) - 0.5 * sum(W .* W);
  y ~ multi_normal_cholesky(rep_vector(0.2, 3), L);
}
