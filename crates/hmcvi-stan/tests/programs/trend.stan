// data: {"T": 4, "S": 2, "t": [0, 0.3, 0.6, 1], "change": [0.25, 0.7], "y": [0.2, 0.5, 0.4, 0.9], "X": [[1, 0], [0, 1], [1, 1], [0, 0]], "s_a": [1, 0], "s_m": [0, 1]}
functions {
  matrix changes(vector t, vector change, int T, int S) {
    matrix[T, S] A = rep_matrix(0, T, S);
    row_vector[S] a = rep_row_vector(0, S);
    int next = 1;
    for (i in 1:T) {
      while (next <= S && t[i] >= change[next]) { a[next] = 1; next = next + 1; }
      A[i] = a;
    }
    return A;
  }
  vector offsets(real k, real m, vector delta, vector change, int S) {
    vector[S] gamma;
    vector[S + 1] ks = append_row(k, k + cumulative_sum(delta));
    real m_pr = m;
    for (i in 1:S) { gamma[i] = (change[i] - m_pr) * (1 - ks[i] / ks[i + 1]); m_pr = m_pr + gamma[i]; }
    return gamma;
  }
}
data { int T; int S; vector[T] t; vector[S] change; vector[T] y; matrix[T, 2] X; vector[2] s_a; vector[2] s_m; }
transformed data { matrix[T, S] A = changes(t, change, T, S); }
parameters { real k; real m; vector[S] delta; real<lower=0> s; vector[2] beta; }
model {
  k ~ normal(0, 5);
  m ~ normal(0, 5);
  delta ~ double_exponential(0, 0.3);
  s ~ normal(0, 0.5);
  beta ~ normal(0, [1, 2]');
  y ~ normal(((k + A * delta) .* t + (m + A * (-change .* delta))) .* (1 + X * (beta .* s_m)) + X * (beta .* s_a), s);
  y ~ normal(1.5 * inv_logit((k + A * delta) .* (t - (m + A * offsets(k, m, delta, change, S)))), s);
}
