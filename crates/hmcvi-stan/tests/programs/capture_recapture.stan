// data: {"M": 4, "T": 3, "y": [[1, 0, 1], [0, 0, 0], [0, 1, 0], [0, 0, 0]], "s": [2, 0, 1, 0], "C": 2}
data { int M; int T; array[M, T] int y; array[M] int s; int C; }
parameters { real<lower=0, upper=1> omega; vector<lower=0, upper=1>[T] p; real<lower=0> sigma; vector[M] eps_raw; }
transformed parameters {
  vector[M] eps = sigma * eps_raw;
  matrix[M, T] logit_p;
  for (j in 1:T) logit_p[, j] = logit(p[j]) + eps;
}
model {
  eps_raw ~ normal(0, 1);
  for (i in 1:M) {
    if (s[i] > 0) {
      target += bernoulli_lpmf(1 | omega) + bernoulli_logit_lpmf(y[i] | logit_p[i]);
    } else {
      target += log_sum_exp(bernoulli_lpmf(1 | omega) + bernoulli_logit_lpmf(y[i] | logit_p[i]), bernoulli_lpmf(0 | omega));
    }
  }
}
