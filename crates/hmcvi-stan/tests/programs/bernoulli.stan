// data: {"y": [0, 1, 1, 0, 1], "x": [-1, 0.2, 1.4, 0.6, -0.3]}
data { array[5] int y; vector[5] x; }
parameters { real a; real b; real<lower=0, upper=1> p; }
model {
  y ~ bernoulli_logit(a + b * x);
  y ~ bernoulli(p);
  for (i in 1:5) y[i] ~ bernoulli(inv_logit(a + b * x[i]));
  for (i in 1:5) y[i] ~ bernoulli(Phi(a - b * x[i]));
}
