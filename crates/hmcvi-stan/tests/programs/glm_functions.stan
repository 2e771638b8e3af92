// data: {"N": 4, "K": 2, "X": [[1, 0.5], [0.3, -1], [2, 0.1], [-0.7, 0.4]], "y": [0, 1, 1, 0], "c": [2, 0, 5, 1], "z": [0.3, 1.2, 2.2, -0.5]}
data { int N; int K; matrix[N, K] X; array[N] int y; array[N] int c; vector[N] z; }
parameters { real a; vector[K] b; real<lower=0> s; }
model {
  a ~ normal(0, 1);
  b ~ normal(0, 1);
  s ~ exponential(1);
  target += bernoulli_logit_glm_lpmf(y | X, a, b);
  target += poisson_log_glm_lpmf(c | X, a, b);
  target += neg_binomial_2_log_glm_lpmf(c | X, a, b, s);
  target += normal_id_glm_lpdf(z | X, a, b, s);
  target += normal_id_glm_lpdf(z | X, a, b, s) + poisson_log_glm_lpmf(c | X, a, b);
}
