// data: {"N": 4, "idx": [1, 3, 3, 5], "X": [[1, 2, 3, 4], [0.5, 1, -1, 2], [0, 1, 0, 1]], "A": [[1, 2, 3], [0.4, 0.5, 0.6]]}
data { int N; array[N] int idx; matrix[3, 4] X; array[2, 3] real A; }
parameters { vector[5] v; matrix[3, 4] M; array[2] vector[3] B; }
model {
  vector[N] picked = v[idx];
  row_vector[4] r = M[2];
  vector[3] c = M[ : , 3];
  matrix[2, 2] block2 = M[2:3, {1, 4}];
  vector[3] part = v[2:4];
  matrix[3, 4] W = X;
  W[1] = r;
  W[2, 2:3] = M[1, 1:2];
  W[ : , 4] = v[1:3];
  v ~ normal(0, 1);
  to_vector(M) ~ normal(0, 1);
  target += -0.5 * dot_self(picked) + sum(r) * 0.1 - dot_self(c) + 0.3 * sum(block2) - part[2] * v[5];
  target += -0.1 * sum(W .* W) + A[2, 1] * B[1, 2] - 0.5 * dot_self(B[2][1:2]) - dot_self(B[1]) - B[2, 3]^2;
  target += sum(v[3:]) - 0.3 * sum(v[ : 2]) + sum(to_vector(A[ : , 2]) .* v[1:2]);
}
