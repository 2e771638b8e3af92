// data: {"A": [[1, 0, 2], [0, 0, 0.5], [0, 0, 0], [3, -1, 0]]}
data { matrix[4, 3] A; }
transformed data { vector[5] w = csr_extract_w(A); array[5] int v = csr_extract_v(A); array[5] int u = csr_extract_u(A); }
parameters { vector[3] b; vector[4] y; }
model {
  y ~ normal(csr_matrix_times_vector(4, 3, w, v, u, b), 1);
  b ~ normal(0, 1);
  target += divide(sum(b), 2.0) + divide(b, 3.0)[1] + plus(y[1]) + divide(7, 2) * y[2] + modulus(7, 4) * y[3];
}
