// data: {"N": 4, "y": [1, 0, 3, 2]}
functions {
  real part_lpmf(array[] int y, int from, int to, vector m, real s) { return neg_binomial_2_log_lupmf(y | m[from:to], s); }
  vector shard(vector phi, vector theta, data array[] real r, data array[] int k) { return [poisson_log_lpmf(k | phi[1] + theta[1] * r[1])]'; }
}
data { int N; array[N] int y; }
parameters { vector[N] m; real<lower=0> s; }
model {
  m ~ normal(0, 1);
  s ~ gamma(2, 1);
  target += reduce_sum(part_lupmf, y, 1, m, s);
  target += sum(map_rect(shard, m[1:2], {m[3:3], m[4:4]}, {{0.5}, {1.5}}, {{1, 2}, {0, 3}}));
}
