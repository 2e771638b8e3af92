// data: {"K": 2, "T": 7, "y": [0.1, 0.4, -0.2, 1.1, 0.7, 0.3, -0.6]}
data { int<lower=1> K; int<lower=1> T; array[T] real y; }
parameters { real alpha; array[K] real beta; real<lower=0> sigma; }
model {
  alpha ~ normal(0, 10);
  beta ~ normal(0, 10);
  sigma ~ cauchy(0, 2.5);
  for (t in (K + 1):T) {
    real mu;
    mu = alpha;
    for (k in 1:K) mu = mu + beta[k] * y[t - k];
    y[t] ~ normal(mu, sigma);
  }
}
