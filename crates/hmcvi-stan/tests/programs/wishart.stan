// data: {"S": [[1.5, 0.3], [0.3, 0.8]]}
data { matrix[2, 2] S; }
parameters { cov_matrix[2] W; cov_matrix[2] V; }
model {
  W ~ wishart(4, S);
  V ~ inv_wishart(3.5, W);
  target += wishart_lpdf(V | 5, S) + inv_wishart_lpdf(W | 4.2, S);
}
