// data: {"y": [0.3, -1.2, 2.2, 0.9], "s": [1, 2, 0.5, 1.5]}
data { array[4] real y; vector[4] s; }
parameters { real mu; real<lower=0> tau; real<lower=1> nu; }
model {
  target += normal_lpdf(y | mu, s) + cauchy_lpdf(y | mu, tau) + student_t_lpdf(y | nu, mu, tau);
  target += double_exponential_lpdf(y | mu, tau) + logistic_lpdf(y | mu, tau) + gumbel_lpdf(y | mu, tau);
  target += skew_normal_lpdf(y | mu, tau, 1.5) + exp_mod_normal_lpdf(y | mu, tau, nu) + std_normal_lpdf(mu);
}
