// data: {"N": 2}
data { int N; }
parameters { real<lower=0> a; vector<lower=0>[3] p; real b; }
model {
  {1, 0, 4} ~ poisson(a);
  { 2 + N, 1, 0 } ~ multinomial(p / sum(p));
  [b, 2 * b] ~ normal(0, a);
  {{1.5, b}, {b, a}}[1] ~ normal(0, 1);
  (a + 1) / 3 ~ gamma(2, 1);
  { real c = b; c ~ normal(1, 2); }
  p ~ exponential(1);
  target += a * quantile({3.0, 1.0, 2.0}, {0.1, 0.7})[2];
}
