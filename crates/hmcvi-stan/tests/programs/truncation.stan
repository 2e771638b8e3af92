// data: {"y": [0.3, 1.2, 2.2], "k": [2, 3]}
data { array[3] real y; array[2] int k; }
parameters { real mu; real<lower=0> s; real<lower=0> r; }
model {
  for (i in 1:3) y[i] ~ normal(mu, s) T[0, ];
  for (i in 1:3) y[i] ~ normal(mu, s) T[, 4];
  for (i in 1:3) y[i] ~ normal(mu, s) T[-1, 3];
  s ~ cauchy(0, 2) T[0, ];
  mu ~ student_t(3, 0, 1);
  k[1] ~ poisson(r) T[1, ];
  k[2] ~ poisson(r) T[1, 6];
  r ~ exponential(1) T[, 5];
}
