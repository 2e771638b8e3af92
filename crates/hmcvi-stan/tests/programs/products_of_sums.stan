// data: {"N": 14, "M": 2, "S": [0.21, 0.3, 0.18, 0.1, 0.06, 0.05, 0.03, 0.02, 0.02, 0.01, 0.01, 0.005, 0.003, 0.002], "f": [[0.001, 0.002], [0.004, 0.003], [0.01, 0.008], [0.02, 0.015], [0.03, 0.03], [0.028, 0.031], [0.02, 0.022], [0.015, 0.014], [0.009, 0.01], [0.006, 0.007], [0.004, 0.004], [0.002, 0.003], [0.001, 0.002], [0.001, 0.001]], "deaths": [[0, 0], [0, 0], [0, 1], [0, 0], [1, 0], [1, 2], [2, 1], [3, 2], [4, 4], [7, 5], [9, 6], [12, 9], [15, 12], [21, 14]], "w": [0.3, -0.2, 0.5, 0.1, -0.4, 0.7, 0.2, -0.1]}
// Sums in loops whose summands are known numbers times a parameter times a factor that all of them share.
data {
  int N;
  int M;
  array[N] real S;
  matrix[N, M] f;
  array[N, M] int deaths;
  vector[8] w;
}
parameters {
  vector<lower=0>[M] start;
  vector<lower=0>[M] rate;
  vector[M] noise;
  real<lower=0> phi;
  vector[8] b;
}
transformed parameters {
  matrix[N, M] cases = rep_matrix(0, N, M);
  matrix[N, M] expected = rep_matrix(0.01, N, M);
  for (m in 1:M) {
    cases[1, m] = start[m];
    for (i in 2:N) {
      real sum = 0;
      for (j in 1:(i - 1)) sum += cases[j, m] * S[i - j];
      cases[i, m] = rate[m] * sum;
    }
    for (i in 2:N) {
      for (j in 1:(i - 1)) expected[i, m] += cases[j, m] * f[i - j, m] * exp(noise[m]);
    }
  }
}
model {
  real sum = 0;
  real mixed = 0;
  for (i in 1:8) {
    // The shared factor in front, taken away now and then.
    if (i % 3 == 0) sum -= phi * (w[i] * b[i]);
    else sum += phi * (w[i] * b[i]);
    // Factors of which only some are shared.
    mixed += w[i] * b[i] * (i > 6 ? rate[1] : phi);
  }
  sum ~ normal(mixed, 1);
  for (m in 1:M) {
    if (!is_nan(expected[N, m]) && !is_inf(rate[m])) deaths[, m] ~ neg_binomial_2(expected[, m], phi);
    if (is_nan(noise[m]) || is_inf(-phi)) target += -1000;
  }
  start ~ normal(20, 5);
  rate ~ normal(1, 1);
  noise ~ normal(0, 0.5);
  phi ~ exponential(0.2);
  b ~ std_normal();
}
