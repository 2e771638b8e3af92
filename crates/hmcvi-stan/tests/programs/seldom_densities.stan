// data: {"y": [0.4, -1.1, 2.9], "k": [2, 0, 1], "Y": [[0.4, 1.2], [-0.3, 0.8]], "W": [[2.0, 0.4], [0.4, 1.0]]}
data { vector[3] y; array[3] int k; matrix[2, 2] Y; matrix[2, 2] W; }
parameters { real m; real<lower=0> s; vector<lower=0>[2] w; cov_matrix[2] S; }
model {
  y ~ von_mises(m, s);
  target += von_mises_lpdf(0.3 | y, s) + von_mises_lpdf(m | 0.1, 2.0);
  target += multi_gp_lpdf(Y | S, w);
  Y ~ multi_gp_cholesky(cholesky_decompose(S), w);
  1 ~ hypergeometric(3, 4, 5);
  target += hypergeometric_lpmf(2 | 3, 4, 5);
}
