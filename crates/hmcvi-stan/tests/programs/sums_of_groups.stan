// data: {"N": 5, "J": 3, "g": [1, 2, 3, 2, 1], "y": [1, 3, 2, 2, 1]}
functions {
  real steps_lpmf(int y, real theta, vector cuts) {
    vector[rows(cuts) + 1] sums = cumulative_sum(append_row(rep_vector(0, 1), theta - cuts));
    return categorical_lpmf(y | softmax(sums));
  }
}
data { int N; int J; array[N] int g; array[N] int y; }
parameters { vector[J] theta; array[J] vector[2] cuts; array[J] ordered[2] thresholds; array[J] simplex[4] p; }
model {
  theta ~ normal(0, 1);
  for (j in 1:J) p[j] ~ dirichlet(rep_vector(1.5, 4));
  // Groups have cut points of their own.
  for (n in 1:N) y[n] ~ steps(theta[g[n]], cuts[g[n]]);
  for (n in 1:N) y[n] ~ ordered_logistic(theta[g[n]], thresholds[g[n]]);
  for (n in 1:N) y[n] ~ categorical(p[g[n]]);
  for (j in 1:J) { cuts[j] ~ normal(0, 2); thresholds[j] ~ normal(0, 2); }
}
