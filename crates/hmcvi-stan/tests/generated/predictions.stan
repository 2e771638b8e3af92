// data: {"N": 3, "K": 2, "x": [0.5, -1.0, 2.0], "y": [1, 0, 3], "new": [[1.0, 2.0], [3.0, -0.5]]}
functions {
  real spread_of(vector v) { return max(v) - min(v); }
  vector noisy_rng(vector mean, real scale) {
    vector[rows(mean)] found;
    for (i in 1 : rows(mean)) found[i] = normal_rng(mean[i], scale);
    return found;
  }
}
data {
  int<lower=1> N;
  int<lower=1> K;
  vector[N] x;
  array[N] int<lower=0> y;
  matrix[K, K] new;
}
parameters {
  real a;
  real b;
  real<lower=0> scale;
  simplex[K] share;
}
transformed parameters {
  vector[N] eta = a + b * x;
}
model {
  a ~ normal(0, 1);
  b ~ normal(0, 1);
  scale ~ exponential(1);
  y ~ poisson_log(eta);
}
generated quantities {
  vector[N] log_lik;
  array[N] int y_rep = poisson_log_rng(fmin(eta, rep_vector(10, N)));
  array[N] int<lower=1, upper=K> kind;
  matrix[K, K] scaled = scale * new;
  vector[N] around = noisy_rng(eta, scale);
  real width = spread_of(around);
  int above = 0;
  int tries = 0;
  for (n in 1 : N) {
    log_lik[n] = poisson_log_lpmf(y[n] | eta[n]);
    kind[n] = categorical_rng(share);
    if (y_rep[n] > y[n]) above += 1;
    else if (y_rep[n] == y[n]) continue;
  }
  while (tries < 20) {
    tries += 1;
    if (normal_rng(a, scale) > 0) break;
  }
  {
    array[K] int order = sort_indices_asc(share);
    matrix[K, K] factor = cholesky_decompose(add_diag(tcrossprod(scaled), 1));
    scaled = factor[order, order];
  }
}
