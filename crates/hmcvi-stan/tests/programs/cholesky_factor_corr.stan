// data: {}
parameters { cholesky_factor_corr[4] L; real<lower=0> eta; array[2] cholesky_factor_corr[3] M; }
model {
  eta ~ gamma(2, 1);
  L ~ lkj_corr_cholesky(eta);
  M[1] ~ lkj_corr_cholesky(1);
  target += lkj_corr_cholesky_lpdf(M[2] | 2.5);
}
