// data: {}
parameters {
  real mu;
  real<lower=0> tau;
  real<offset=mu, multiplier=tau> x;
  vector<multiplier=tau>[3] y;
  vector<offset=1.5>[2] z;
}
model {
  mu ~ normal(0, 2);
  tau ~ normal(0, 1);
  x ~ normal(mu, tau);
  y ~ normal(0, tau);
  z ~ normal(1.5, 1);
}
