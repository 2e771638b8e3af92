// data: {"N": 5, "M": 2, "f": [[0.5, 1], [1, 1], [1, 0.2], [0, 1], [0.4, 1]], "deaths": [[0, 1], [0, 2], [1, 0], [2, 3], [1, 4]], "start": [2, 3]}
data { int N; int M; array[N] vector[M] f; array[N, M] int deaths; array[M] int start; }
parameters { array[M] real<lower=0> mu; array[M] real<lower=0> y; real<lower=0> phi; real<lower=0> tau; }
transformed parameters {
  matrix[N, M] prediction = rep_matrix(0, N, M);
  matrix[N, M] E = rep_matrix(0, N, M);
  {
    matrix[N, M] total = rep_matrix(0, N, M);
    for (m in 1:M) {
      prediction[1:2, m] = rep_vector(y[m], 2);
      total[2:2, m] = cumulative_sum(prediction[2:2, m]);
      for (i in 3:N) {
        real convolution = dot_product(sub_col(prediction, 1, m, i - 1), tail(col(rep_matrix(f[1], 1), 1), 1)[1] * rep_vector(0.1, i - 1));
        total[i, m] = total[i - 1, m] + prediction[i - 1, m];
        prediction[i, m] = (50 - total[i, m]) / 50 * mu[m] * convolution;
      }
      E[1, m] = 1e-15 * prediction[1, m];
      for (i in 2:N) E[i, m] = dot_product(sub_col(prediction, 1, m, i - 1), rep_vector(0.3, i - 1));
    }
  }
}
model {
  tau ~ exponential(0.03);
  for (m in 1:M) y[m] ~ exponential(1 / tau);
  mu ~ normal(3.28, 1);
  phi ~ normal(0, 5);
  for (m in 1:M) target += neg_binomial_2_lpmf(deaths[start[m]:N, m] | E[start[m]:N, m], phi);
}
