// data: {"y": [0, 2, 3, 1], "n": [4, 5, 3, 7], "z": [0, 1, 1]}
data { array[4] int y; array[4] int n; array[3] int z; }
parameters { real<lower=0, upper=1> p; real<lower=0> a; real<lower=0> b; vector[4] eta; }
model {
  target += binomial_lpmf(y | n, p) + binomial_logit_lpmf(y | n, eta) + poisson_lpmf(y | a) + poisson_log_lpmf(y | eta);
  target += neg_binomial_lpmf(y | a, b) + neg_binomial_2_lpmf(y | a, b) + neg_binomial_2_log_lpmf(y | eta, b);
  target += beta_binomial_lpmf(y | n, a, b) + bernoulli_lpmf(z | p) + bernoulli_logit_lpmf(z | eta[2]);
}
