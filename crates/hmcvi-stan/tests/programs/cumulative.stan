// data: {"y": [0.3, 1.2, 2.2], "k": [2, 3, 1]}
data { array[3] real y; array[3] int k; }
parameters { real mu; real<lower=0> s; real<lower=0> r; real<lower=0, upper=1> p; }
model {
  target += normal_lcdf(y | mu, s) + normal_lccdf(y | mu, s) + lognormal_lcdf(y | mu, s) + logistic_lccdf(y | mu, s);
  target += exponential_lccdf(y | r) + weibull_lccdf(y | s, r) + weibull_lcdf(y | s, r) + cauchy_lcdf(y | mu, s);
  target += double_exponential_lcdf(y | mu, s) + gumbel_lcdf(y | mu, s) + poisson_lcdf(k | r) + binomial_lccdf(k | 6, p);
  target += log(normal_cdf(y[1], mu, s)) + normal_lcdf(mu | 0, 1) + poisson_lccdf(k | r) + neg_binomial_2_lcdf(k | r, s);
  target += -r - s;
}
