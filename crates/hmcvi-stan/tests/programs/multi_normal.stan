// data: {"y": [[0.2, -1], [1.5, 0.3], [0, 0.8]], "S": [[1.5, 0.3], [0.3, 0.8]]}
data { array[3] vector[2] y; matrix[2, 2] S; }
parameters { vector[2] mu; cholesky_factor_cov[2] L; real<lower=2> nu; array[3] vector[2] m; }
model {
  y ~ multi_normal(mu, S);
  y ~ multi_normal_cholesky(mu, L);
  y ~ multi_normal_prec(mu, L * L');
  y ~ multi_student_t(nu, mu, L * L');
  m ~ multi_normal(rep_vector(0, 2), S);
  for (i in 1:3) y[i] ~ multi_normal(m[i], L * L');
  target += multi_normal_lpdf(y | mu, S) + multi_normal_cholesky_lpdf(y[2] | m[1], L);
  L[2, 1] ~ normal(0, 1);
}
