// data: {"N": 5, "y": [1, 2, 4, 3, 2], "x": [-1, 0.2, 1.4, 0.6, -0.3]}
data { int N; array[N] int y; vector[N] x; }
parameters { ordered[3] c; real b; }
model {
  c ~ normal(0, 2);
  b ~ normal(0, 1);
  for (n in 1:N) y[n] ~ ordered_probit(b * x[n], c);
  target += ordered_probit_lpmf(y[2] | 0.3, c) + ordered_logistic_lpmf(y | b * x, c);
}
