// data: {"T": 4, "y": [[1.0, 0.3, -0.5, 0.2], [0.4, 0.1, 0.9, 1.3]], "G": [[0.9, 0.1], [0, 0.8]], "F": [[1, 0.5], [0.2, 1]]}
data { int T; matrix[2, T] y; matrix[2, 2] G; matrix[2, 2] F; }
parameters { vector<lower=0>[2] v; cov_matrix[2] W; vector[2] m; }
model {
  v ~ gamma(2, 1);
  W ~ wishart(4, identity_matrix(2));
  m ~ normal(0, 1);
  y ~ gaussian_dlm_obs(F, G, v, W, m, identity_matrix(2));
  y ~ gaussian_dlm_obs(F, G, add_diag(W, v), 0.5 * W, m, W);
  target += gaussian_dlm_obs_lpdf(y[1 : 1] | [[1.0], [0.0]], G, diag_matrix(v[1 : 1]), W, m, W);
}
