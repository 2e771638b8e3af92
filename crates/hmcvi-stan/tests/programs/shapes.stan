// data: {"k": [3, 1, 2]}
data { array[3] int k; }
parameters { vector[3] v; row_vector[2] r; }
model {
  vector[5] j = append_row(v, r');
  matrix[2, 3] m = append_col(rep_matrix(1, 2, 1), append_row(r, r * 2));
  matrix[3, 2] t = to_matrix(append_row(v, v), 3, 2);
  matrix[4, 2] stacked = append_row(t, r);
  v ~ normal(0, 1);
  r ~ normal(0, 1);
  target += dot_self(cumulative_sum(j)) * -0.1 + sum(m) - 0.1 * sum(stacked .* stacked) + sum(softmax(v) .* v) + sum(log_softmax(v));
  target += sum(to_vector(t)[2:4]) * 0.1 + sum(rep_vector(v[1], 3)) + num_elements(m) * v[2] * 0.1 + rows(t) * v[3] + cols(m) * 0.1 * v[1];
  target += size(k) * 0.1 * v[2] + sum(k) * 0.01 * v[1] + max(k) * 0.01 * v[2] + sort_asc(k)[1] * v[3] * 0.1 + sort_indices_desc(k)[1] * 0.1 * v[1];
  target += sum(to_array_1d(m)) * 0.01 + sum(to_row_vector(v)) * 0.1 + mean(to_vector(r)) + sum(rep_row_vector(r[1], 2)) + dims(m)[2] * 0.1 * r[2];
}
