// data: {"I": 2, "N": 6, "ii": [1, 1, 1, 2, 2, 2], "y": [0, 2, 1, 1, 3, 2]}
functions {
  real pcm(int y, real theta, vector beta) {
    vector[rows(beta) + 1] unsummed;
    vector[rows(beta) + 1] probs;
    unsummed = append_row(rep_vector(0, 1), theta - beta);
    probs = softmax(cumulative_sum(unsummed));
    return categorical_lpmf(y + 1 | probs);
  }
}
data { int I; int N; array[N] int ii; array[N] int y; }
transformed data {
  array[I] int m = rep_array(0, I);
  array[I] int pos;
  for (n in 1:N) if (y[n] > m[ii[n]]) m[ii[n]] = y[n];
  pos[1] = 1;
  for (i in 2:I) pos[i] = m[i - 1] + pos[i - 1];
}
parameters { vector[sum(m) - 1] beta_free; vector[N] theta; }
transformed parameters {
  vector[sum(m)] beta;
  beta[1:(sum(m) - 1)] = beta_free;
  beta[sum(m)] = -1 * sum(beta_free);
}
model {
  target += normal_lpdf(beta | 0, 3);
  theta ~ normal(0, 1);
  for (n in 1:N) target += pcm(y[n], theta[n], segment(beta, pos[ii[n]], m[ii[n]]));
}
