// data: {"y": [0.3, -1.2, 2.2, 0.9], "s": [1, 2, 0.5, 1.5]}
data { array[4] real y; vector[4] s; }
parameters { real mu; real<lower=0> tau; }
model {
  y ~ normal(mu, s);
  y ~ cauchy(mu, tau);
  y ~ student_t(3, mu, tau);
  y ~ double_exponential(mu, 1.5);
  y ~ logistic(mu, tau);
  y ~ gumbel(mu, 2);
  mu ~ normal(0.5, 2);
  tau ~ cauchy(0, 2.5);
}
