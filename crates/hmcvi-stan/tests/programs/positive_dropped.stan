// data: {"y": [0.3, 1.2, 2.2]}
data { vector[3] y; }
parameters { real<lower=0> a; real<lower=0> b; real<lower=0> c; }
model {
  a ~ gamma(2, 1.5);
  b ~ inv_gamma(2, 1.5);
  c ~ weibull(1.5, 2);
  y ~ gamma(a, b);
  y ~ inv_gamma(a, 2);
  y ~ weibull(a, c);
  y ~ lognormal(log(b), 1.2);
  y ~ exponential(c);
  y ~ frechet(a, b);
  a ~ chi_square(3);
  b ~ inv_chi_square(4);
  c ~ scaled_inv_chi_square(4, 0.5);
  a ~ rayleigh(2);
  y ~ pareto(0.1, c);
  y ~ pareto_type_2(0.05, b, c);
}
