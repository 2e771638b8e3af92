// data: {"y": [0, 2, 3, 1], "n": [4, 5, 3, 7]}
data { array[4] int y; array[4] int n; }
parameters { real<lower=0, upper=1> p; real<lower=0> a; real<lower=0> b; vector[4] eta; }
model {
  y ~ binomial(n, p);
  y ~ binomial_logit(n, eta);
  y ~ poisson(a);
  y ~ poisson_log(eta);
  y ~ neg_binomial(a, b);
  target += neg_binomial_2_lpmf(y | a, b);
  target += neg_binomial_2_log_lpmf(y | eta, b);
  target += beta_binomial_lpmf(y | n, a, b);
  eta ~ normal(0, 1);
}
