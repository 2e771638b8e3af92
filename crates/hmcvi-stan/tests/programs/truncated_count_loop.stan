// data: {"N": 4, "k": [2, 5, 7, 1]}
data { int N; array[N] int k; }
parameters { real<lower=0, upper=1> p; vector<lower=0>[N] w; }
model {
  p ~ beta(1, 1);
  w ~ gamma(2, 1);
  for (n in 1:N) { k[n] ~ binomial(10, p); w[n] ~ normal(p * k[n], 2) T[0, ]; }
}
