// data: {"N": 6, "y": [0, 3, 0, 1, 2, 0]}
data { int N; array[N] int y; }
parameters { real<lower=0, upper=1> theta; real<lower=0> lambda; }
model {
  for (n in 1:N) {
    if (y[n] == 0)
      target += log_sum_exp(bernoulli_lpmf(1 | theta), bernoulli_lpmf(0 | theta) + poisson_lpmf(y[n] | lambda));
    else
      target += bernoulli_lpmf(0 | theta) + poisson_lpmf(y[n] | lambda);
  }
}
