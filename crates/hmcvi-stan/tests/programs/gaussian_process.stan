// data: {"N": 4, "x": [0.1, 0.5, 1.2, 2], "z": [[0, 1], [0.5, 0.2], [1, 1], [2, 0.3]], "y": [0.3, -0.1, 0.8, 1.1]}
data { int N; array[N] real x; array[N] vector[2] z; vector[N] y; }
parameters { real<lower=0> rho; real<lower=0> alpha; real<lower=0> sigma; }
model {
  matrix[N, N] K = cov_exp_quad(x, alpha, rho) + diag_matrix(rep_vector(sigma, N));
  matrix[N, N] K2 = cov_exp_quad(z, alpha, rho);
  matrix[N, N] K3;
  rho ~ gamma(25, 4);
  alpha ~ normal(0, 2);
  sigma ~ normal(0, 1);
  y ~ multi_normal_cholesky(rep_vector(0, N), cholesky_decompose(K));
  for (n in 1:N) K2[n, n] = K2[n, n] + 0.1;
  for (i in 1:(N - 1)) {
    K3[i, i] = alpha^2 + sigma;
    for (j in (i + 1):N) { K3[i, j] = square(alpha) * exp(-0.5 * square((x[i] - x[j]) / rho)); K3[j, i] = K3[i, j]; }
  }
  K3[N, N] = alpha^2 + sigma;
  y ~ multi_normal(rep_vector(0.1, N), K2);
  y ~ multi_normal(rep_vector(0, N), K3);
}
