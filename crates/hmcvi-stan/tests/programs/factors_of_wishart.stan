// data: {"K": 3}
data { int K; }
transformed data { matrix[K, K] S = [[2, 0, 0], [0.3, 1, 0], [-0.5, 0.2, 1.5]]; }
parameters { cholesky_factor_cov[K] L; cholesky_factor_cov[K] M; real<lower=0> nu; }
model {
  L ~ wishart_cholesky(nu + 3, S);
  M ~ inv_wishart_cholesky(nu + 4, S);
  L ~ inv_wishart_cholesky(5, M);
  M ~ wishart_cholesky(6, S);
  nu ~ gamma(3, 1);
}
