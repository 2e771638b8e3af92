// Test scores of children by their mothers' education and IQ.
data {
  int<lower=0> N;
  vector[N] kid_score;
  vector[N] mom_hs;
  vector[N] mom_iq;
}
parameters {
  vector[3] beta;
  real<lower=0> sigma;
}
model {
  sigma ~ cauchy(0, 2.5);
  for (n in 1 : N) {
    kid_score[n] ~ normal(beta[1] + beta[2] * mom_hs[n] + beta[3] * mom_iq[n], sigma);
  }
}
