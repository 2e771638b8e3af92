// data: {"A": 2, "B": 3, "n": [[1, 2, 3], [4, 5, 6]], "y": [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]], "M": [[[1, 0.5], [0.3, 2]], [[0.7, 0], [0.1, 1]]]}
data { int A; int B; array[A, B] int n; array[A, B] real y; array[A] matrix[2, 2] M; }
parameters { array[A, B] real m; array[A] row_vector[2] r; array[A, 2] vector[2] v; }
model {
  for (a in 1:A) {
    m[a] ~ normal(0, 1);
    y[a] ~ normal(m[a], 1.5);
    target += -0.1 * sum(r[a] * M[a] .* r[a]) - 0.5 * dot_self(r[a]);
    for (i in 1:2) v[a, i] ~ normal(M[a][i, 1], 1);
  }
  target += sum(m[ : , 2]) * 0.1 + m[2, 1] * n[2, 1] - dot_self(v[1, 2]) + v[2, 1, 2];
}
