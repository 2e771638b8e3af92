// data: {"N": 5, "y": [-1.2, 0.3, 2.5, 0.8, -0.4]}
data { int<lower=0> N; vector[N] y; }
parameters { ordered[2] mu; array[2] real<lower=0> sigma; real<lower=0, upper=1> theta; simplex[3] w; }
model {
  sigma ~ normal(0, 2);
  mu ~ normal(0, 2);
  theta ~ beta(5, 5);
  for (n in 1:N)
    target += log_mix(theta, normal_lpdf(y[n] | mu[1], sigma[1]), normal_lpdf(y[n] | mu[2], sigma[2]));
  for (n in 1:N) {
    vector[3] lp = log(w);
    for (k in 1:3) lp[k] += normal_lpdf(y[n] | k - 2, 1);
    target += log_sum_exp(lp);
  }
}
