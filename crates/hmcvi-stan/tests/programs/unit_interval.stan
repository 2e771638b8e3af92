// data: {"y": [0.3, 0.12, 0.82]}
data { vector[3] y; }
parameters { real<lower=0, upper=1> p; real<lower=0> a; real<lower=0> b; real<lower=-2, upper=3> u; }
model {
  p ~ beta(2, 3.5);
  y ~ beta(a, b);
  y ~ beta(2, b);
  y ~ beta_proportion(p, a);
  target += beta_lpdf(y | a, 1.5) + beta_proportion_lpdf(y | p, 3);
  u ~ uniform(-2, 3);
  target += uniform_lpdf(p | -1, 4);
  a ~ exponential(1);
  b ~ exponential(1);
}
