// data: {"N": 2, "y": [0.5, 1.5], "u": [[1, 2], [0.5, -1]]}
data {
  int N;
  real y[N];
  vector[2] u[N];
}
parameters {
  real mu; # an older comment
  real<lower=0> s[2];
}
transformed parameters {
  real z[N];
  for (n in 1:N) z[n] <- mu * u[n, 1] + u[n][2];
}
model {
  increment_log_prob(-0.5 * mu * mu);
  y ~ normal(z, s[1]);
  increment_log_prob(normal_log(mu, 0, s[2]));
  s ~ exponential(1);
}
