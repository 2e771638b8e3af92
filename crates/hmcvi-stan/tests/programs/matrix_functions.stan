// data: {"A": [[1, 0.5, -0.2], [0.3, 2, 0.1], [0, 0.4, 1]], "b": [0.3, -1, 2]}
data { matrix[3, 3] A; vector[3] b; }
parameters { matrix[3, 3] M; vector[3] v; }
transformed parameters {
  matrix[3, 3] S = M * M' + diag_matrix(rep_vector(2, 3));
  matrix[3, 3] L = cholesky_decompose(S);
}
model {
  to_vector(M) ~ normal(0, 1);
  v ~ normal(0, 1);
  target += -0.1 * quad_form(S, v) - 0.1 * trace_quad_form(S, M) + trace(M) + 0.1 * log_determinant(S) + 0.01 * determinant(S);
  target += sum(mdivide_left_tri_low(L, v)) + sum(mdivide_right_tri_low(v', L)) + sum(mdivide_left_spd(S, b)) + sum(inverse_spd(S));
  target += 0.1 * sum(inverse(S)) + sum(S \ v) + sum(v' / S) + 0.1 * sum(crossprod(M)) + 0.1 * sum(tcrossprod(M));
  target += sum(diag_pre_multiply(v, A)) + sum(diag_post_multiply(A, v)) + 0.1 * sum(quad_form_diag(S, v)) + sum(diagonal(M));
  target += sum(columns_dot_product(M, A)) + sum(rows_dot_product(M, A)) + 0.1 * sum(columns_dot_self(M)) + sum(rows_dot_self(M)) * 0.1;
  target += 0.1 * sum(multiply_lower_tri_self_transpose(L)) + sum(A * v) + b' * v + sum(v * b') + sum(v' * A) + sum(A * M);
  target += distance(v, b) + squared_distance(v, b) * 0.1 + dot_product(v, b) + sum(M / 2) + sum(-M);
  target += sum(row(M, 2)) + sum(col(M, 3)) + sum(sub_row(M, 1, 2, 2)) + sum(block(M, 1, 2, 2, 2)) + sum(head(v, 2)) - sum(tail(v, 2)) + sum(segment(v, 2, 2));
}
