// data: {"J": 3, "N": 6, "county": [1, 2, 2, 3, 1, 3], "floor_measure": [1, 0, 0, 1, 0, 1], "log_radon": [0.8, 1.1, 1.5, 0.2, 1, 0.4]}
data { int<lower=0> J; int N; array[N] int<lower=1, upper=J> county; vector[N] floor_measure; vector[N] log_radon; }
parameters { vector[J] alpha_raw; real beta; real mu_alpha; real<lower=0> sigma_alpha; real<lower=0> sigma_y; }
transformed parameters { vector[J] alpha = mu_alpha + sigma_alpha * alpha_raw; }
model {
  vector[N] mu;
  sigma_y ~ normal(0, 1);
  sigma_alpha ~ normal(0, 1);
  mu_alpha ~ normal(0, 10);
  beta ~ normal(0, 10);
  alpha_raw ~ normal(0, 1);
  for (n in 1:N) {
    mu[n] = alpha[county[n]] + floor_measure[n] * beta;
    target += normal_lpdf(log_radon[n] | mu[n], sigma_y);
  }
}
