// data: {"N": 4, "Y": [0.5, -0.1, 1.2, 0.8], "Ks": 1, "Xs": [[1], [0.5], [-0.3], [0.2]], "Z": [[0.1, 0.2], [0.4, -0.3], [0.3, 0.7], [-0.5, 0.1]], "prior_only": 0}
data { int<lower=1> N; vector[N] Y; int Ks; matrix[N, Ks] Xs; matrix[N, 2] Z; int prior_only; }
parameters { real Intercept; vector[Ks] bs; vector[2] z; real<lower=0> sds; real Intercept_sigma; }
transformed parameters { vector[2] s = sds * z; }
model {
  vector[N] mu = Intercept + rep_vector(0, N) + Xs * bs + Z * s;
  vector[N] sigma = Intercept_sigma + rep_vector(0, N) + Z * s;
  for (n in 1:N) sigma[n] = exp(sigma[n]);
  target += student_t_lpdf(Intercept | 3, -1, 3);
  target += normal_lpdf(z | 0, 1);
  target += student_t_lpdf(sds | 3, 0, 3) - 1 * student_t_lccdf(0 | 3, 0, 3) - gamma_lccdf(1.2 | 2, 1.5) - beta_lcdf(0.3 | 2, 3);
  target += normal_lpdf(Intercept_sigma | 0, 1) + normal_lpdf(bs | 0, 2) - inv_gamma_lcdf(0.7 | 2, 1) - student_t_lcdf(-1.3 | 4, 0.2, 1.5);
  if (!prior_only) target += normal_lpdf(Y | mu, sigma);
}
