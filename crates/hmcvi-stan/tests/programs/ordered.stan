// data: {"y": [1, 2, 4, 3, 2], "x": [-1, 0.2, 1.4, 0.6, -0.3]}
data { array[5] int y; vector[5] x; }
parameters {
  ordered[3] c;
  positive_ordered[2] d;
  real beta;
}
model {
  c ~ normal(0, 2);
  d ~ exponential(1);
  beta ~ std_normal();
  for (n in 1:5) y[n] ~ ordered_logistic(x[n] * beta, c);
}
