// data: {}
parameters {
  real<lower=1.5> a;
  real<upper=-0.5> b;
  real<lower=-1, upper=2> c;
  vector<lower=0>[3] v;
  row_vector<upper=1>[2] r;
  matrix<lower=-1, upper=1>[2, 3] m;
  array[2] real<lower=0> s;
}
model {
  a ~ normal(2, 1);
  b ~ normal(-1, 2);
  c ~ normal(0, 1);
  v ~ lognormal(0, 1);
  target += sum(r) + m[1, 2] * 2 - m[2, 1] + m[1, 3]^2;
  s ~ exponential(1.2);
}
