// data: {}
parameters { cov_matrix[3] S; vector[3] mu; }
model {
  S ~ inv_wishart(5, diag_matrix(rep_vector(1.3, 3)));
  mu ~ multi_normal(rep_vector(0, 3), S);
}
