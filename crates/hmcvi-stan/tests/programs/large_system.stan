// data: {"N": 10}
data { int N; }
transformed data { matrix[N, N] K; for (i in 1:N) for (j in 1:N) K[i, j] = sin(i * 1.3 + j * j); }
parameters { vector[N] b; matrix[2, 2] s; real<lower=0> t; }
model {
  matrix[N, N] A = K + add_diag(t * K', 6);
  vector[N] x = A \ b;
  row_vector[N] r = b' / A;
  b ~ normal(0, 1);
  t ~ exponential(2);
  to_vector(s) ~ normal(0, 1);
  target += -dot_self(x) - 0.3 * r * x + mdivide_left(A, K)[2, 3] + inverse(A)[4, 1] + ((s + 3 * identity_matrix(2)) \ b[1:2])[2];
}
