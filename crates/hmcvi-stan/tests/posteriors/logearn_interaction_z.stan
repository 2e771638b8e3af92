// Logarithms of earnings by standardised height and sex, which interact.
data {
  int<lower=0> N;
  vector[N] earn;
  vector[N] height;
  vector[N] male;
}
transformed data {
  vector[N] log_earn = log(earn);
  vector[N] z = (height - mean(height)) / sd(height);
  vector[N] both = z .* male;
}
parameters {
  vector[4] beta;
  real<lower=0> sigma;
}
model {
  log_earn ~ normal(beta[1] + beta[2] * z + beta[3] * male + beta[4] * both, sigma);
}
