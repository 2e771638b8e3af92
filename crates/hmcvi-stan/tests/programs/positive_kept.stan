// data: {"y": [0.3, 1.2, 2.2]}
data { vector[3] y; }
parameters { real<lower=0> a; real<lower=0> b; }
model {
  target += gamma_lpdf(y | a, b) + inv_gamma_lpdf(y | a, b) + weibull_lpdf(y | a, b) + lognormal_lpdf(y | a, b);
  target += exponential_lpdf(y | a) + frechet_lpdf(y | a, b) + chi_square_lpdf(y | a) + inv_chi_square_lpdf(y | b);
  target += scaled_inv_chi_square_lpdf(y | a, b) + rayleigh_lpdf(y | a) + pareto_type_2_lpdf(y | 0.1, a, b);
  target += pareto_lpdf(y | 0.2, a);
}
