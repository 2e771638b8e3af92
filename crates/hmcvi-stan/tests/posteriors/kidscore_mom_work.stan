// Test scores of children by their mothers' work, of which there are four kinds.
data {
  int<lower=0> N;
  vector[N] kid_score;
  array[N] int<lower=1, upper=4> mom_work;
}
transformed data {
  matrix[N, 3] kind;
  for (n in 1 : N) {
    for (k in 2 : 4) {
      kind[n, k - 1] = mom_work[n] == k;
    }
  }
}
parameters {
  vector[4] beta;
  real<lower=0> sigma;
}
model {
  kid_score ~ normal(beta[1] + kind * beta[2 : 4], sigma);
}
