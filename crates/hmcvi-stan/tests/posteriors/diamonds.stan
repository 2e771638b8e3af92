// Logarithms of prices: a linear regression on centred columns, after one of ones that is left out.
data {
  int<lower=1> N;
  vector[N] Y;
  int<lower=1> K;
  matrix[N, K] X;
}
transformed data {
  matrix[N, K - 1] centred;
  for (k in 2 : K) {
    centred[ : , k - 1] = X[ : , k] - mean(X[ : , k]);
  }
}
parameters {
  vector[K - 1] b;
  real Intercept;
  real<lower=0> sigma;
}
model {
  b ~ normal(0, 1);
  Intercept ~ student_t(3, 8, 10);
  sigma ~ student_t(3, 0, 10);
  target += -student_t_lccdf(0 | 3, 0, 10);
  Y ~ normal(Intercept + centred * b, sigma);
}
