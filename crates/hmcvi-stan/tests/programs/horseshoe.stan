// data: {"n": 3, "d": 2, "x": [[1, 0.5], [0.3, -1], [2, 0.1]], "y": [0, 1, 1], "scale_global": 0.5}
data { int n; int d; matrix[n, d] x; array[n] int y; real<lower=0> scale_global; }
parameters {
  real beta0;
  vector[d] z;
  real<lower=0> tau;
  vector<lower=0>[d] lambda;
  real<lower=0> caux;
}
transformed parameters {
  real<lower=0> c = 2.5 * sqrt(caux);
  vector<lower=0>[d] lambda_tilde = sqrt(c^2 * square(lambda) ./ (c^2 + tau^2 * square(lambda)));
  vector[d] beta = z .* lambda_tilde * tau;
  vector[n] f = beta0 + x * beta;
}
model {
  z ~ normal(0, 1);
  lambda ~ student_t(1, 0, 1);
  tau ~ student_t(1, 0, scale_global * 2);
  caux ~ inv_gamma(0.5 * 4, 0.5 * 4);
  beta0 ~ normal(0, 10);
  y ~ bernoulli_logit(f);
}
