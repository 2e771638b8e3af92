// data: {"id": 2, "n": 4, "T": 3, "cohort": [1, 2, 2, 1], "ti": [1, 2, 3, 3], "t": [0.5, 1, 2], "premium": [1.5, 2], "loss": [0.4, 1.1, 1.3, 0.9]}
functions {
  real weibull_growth(real t, real omega, real theta) { return 1 - exp(-(t / theta)^omega); }
  real logistic_growth(real t, real omega, real theta) { real p = t^omega; return p / (p + theta^omega); }
}
data { int id; int n; int T; array[n] int cohort; array[n] int ti; vector<lower=0>[T] t; vector[2] premium; vector[n] loss; }
parameters { real<lower=0> omega; real<lower=0> theta; vector<lower=0>[2] LR; real<lower=0> s; }
transformed parameters {
  vector[T] gf;
  vector[n] lm;
  for (i in 1:T) gf[i] = id == 1 ? weibull_growth(t[i], omega, theta) : logistic_growth(t[i], omega, theta);
  for (i in 1:n) lm[i] = LR[cohort[i]] * premium[cohort[i]] * gf[ti[i]];
}
model {
  LR ~ lognormal(0, 0.5);
  omega ~ lognormal(0, 0.5);
  theta ~ lognormal(0, 0.5);
  s ~ lognormal(0, 0.7);
  loss ~ normal(lm, (s * premium)[cohort]);
}
