// data: {"T": 4, "y": [0.3, -0.2, 1.1, 0.4], "K": 2}
data {
  int<lower=2> T;
  vector[T] y;
  int<lower=1> K;
}
parameters {
  array[K] simplex[K] move;
  ordered[K] mu;
  cholesky_factor_corr[K] L;
}
model {
  mu ~ normal(0, 1);
  L ~ lkj_corr_cholesky(2);
  y ~ normal(mu[1], 1);
}
generated quantities {
  array[T] int<lower=1, upper=K> best;
  matrix[K, K] correlations = multiply_lower_tri_self_transpose(L);
  array[2] vector[K] pairs = multi_normal_cholesky_rng({mu, mu + 1}, L);
  vector[K] odds = dirichlet_rng(rep_vector(2, K));
  real log_best;
  {
    array[T, K] int back;
    array[T, K] real score;
    for (k in 1 : K) score[1, k] = normal_lpdf(y[1] | mu[k], 1);
    for (t in 2 : T) {
      for (k in 1 : K) {
        score[t, k] = negative_infinity();
        for (j in 1 : K) {
          real own = score[t - 1, j] + log(move[j, k]) + normal_lpdf(y[t] | mu[k], 1);
          if (own > score[t, k]) {
            back[t, k] = j;
            score[t, k] = own;
          }
        }
      }
    }
    log_best = max(score[T]);
    for (k in 1 : K) if (score[T, k] == log_best) best[T] = k;
    for (t in 1 : T - 1) best[T - t] = back[T - t + 1, best[T - t + 1]];
  }
}
