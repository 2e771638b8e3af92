// data: {"N": 3, "M": 2, "x": [0.1, 0.9, 2.3], "y": [0.4, 1.7], "p": [[0.1, 1.2], [0.7, -0.3], [1.5, 0.4]], "q": [[0.3, 0.2], [1.1, 0.9]]}
data { int N; int M; array[N] real x; array[M] real y; array[N] vector[2] p; array[M] vector[2] q; }
parameters { real<lower=0> s; array[2] real<lower=0> l; real<lower=0> period; }
model {
  target += sum(gp_periodic_cov(x, y, s, l[1], period)) + gp_periodic_cov(x, y, s, l[1], period)[1, 2];
  target += sum(gp_periodic_cov(p, q, s, l[1], period)) + sum(gp_periodic_cov(p, s, l[2], period));
  target += sum(gp_dot_prod_cov(x, y, s)) + gp_dot_prod_cov(p, q, s)[3, 1] + gp_dot_prod_cov(p, s)[2, 3];
  target += sum(gp_matern32_cov(p, q, s, l)) + sum(gp_matern52_cov(p, s, l[2])) + sum(gp_exponential_cov(x, y, s, l[1]));
  target += sum(gp_exp_quad_cov(p, q, s, l));
  s ~ normal(0, 1);
  l ~ inv_gamma(5, 5);
}
