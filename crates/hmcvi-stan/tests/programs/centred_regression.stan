// data: {"N": 5, "Y": [7.5, 8.1, 9.2, 8.8, 7.9], "K": 3, "X": [[1, 0.5, 2], [1, -0.3, 1], [1, 1.2, 0], [1, 0.1, -1], [1, -0.8, 0.4]], "prior_only": 0}
data { int<lower=1> N; vector[N] Y; int<lower=1> K; matrix[N, K] X; int prior_only; }
transformed data {
  int Kc = K - 1;
  matrix[N, K - 1] Xc;
  vector[K - 1] means_X;
  for (i in 2:K) {
    means_X[i - 1] = mean(X[, i]);
    Xc[, i - 1] = X[, i] - means_X[i - 1];
  }
}
parameters { vector[Kc] b; real Intercept; real<lower=0> sigma; }
model {
  target += normal_lpdf(b | 0, 1);
  target += student_t_lpdf(Intercept | 3, 8, 10);
  target += student_t_lpdf(sigma | 3, 0, 10) - 1 * log(0.5);
  if (!prior_only) target += normal_id_glm_lpdf(Y | Xc, Intercept, b, sigma);
}
generated quantities { real b_Intercept = Intercept - dot_product(means_X, b); }
