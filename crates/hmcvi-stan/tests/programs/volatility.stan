// data: {"T": 6, "r": [0.1, 0.4, -0.2, 1.1, 0.7, 0.3], "sigma1": 0.5}
data { int<lower=2> T; array[T] real r; real<lower=0> sigma1; }
parameters {
  real mu;
  real<lower=0> alpha0;
  real<lower=0, upper=1> alpha1;
  real<lower=0, upper=(1 - alpha1)> beta1;
}
transformed parameters {
  array[T] real<lower=0> sigma;
  sigma[1] = sigma1;
  for (t in 2:T)
    sigma[t] = sqrt(alpha0 + alpha1 * square(r[t - 1] - mu) + beta1 * square(sigma[t - 1]));
}
model { r ~ normal(mu, sigma); }
