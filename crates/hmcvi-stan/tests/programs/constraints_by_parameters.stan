// data: {"low": 0.5}
data { real low; }
parameters {
  real<lower=0> a;
  real<lower=0, upper=1 - inv_logit(a)> b;
  vector<lower=low>[2] v;
  vector<lower=a, upper=a + 3>[2] w;
}
model {
  a ~ normal(0, 1);
  b ~ beta(2, 3);
  v ~ normal(b, 1);
  w ~ normal(a, 2);
}
