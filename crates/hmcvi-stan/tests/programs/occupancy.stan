// data: {"J": 2, "K": 3, "n": 2, "X": [[0, 2], [1, 0]], "S": 4}
functions {
  real observed(int X, int K, real psi, real theta) { return log_inv_logit(psi) + binomial_logit_lpmf(X | K, theta); }
  real unobserved(int K, real psi, real theta) { return log_sum_exp(observed(0, K, psi, theta), log1m_inv_logit(psi)); }
  matrix covariance(vector sigma, real rho) {
    matrix[2, 2] S;
    S[1, 1] = square(sigma[1]);
    S[2, 2] = square(sigma[2]);
    S[1, 2] = sigma[1] * sigma[2] * rho;
    S[2, 1] = S[1, 2];
    return S;
  }
}
data { int J; int K; int n; array[n, J] int X; int S; }
parameters { real alpha; real<lower=0, upper=1> Omega; real<lower=-1, upper=1> rho; vector<lower=0>[2] sigma; vector[S] uv1; vector[S] uv2; }
transformed parameters {
  array[S] vector[2] uv;
  vector[S] psi;
  for (i in 1:S) { uv[i, 1] = uv1[i]; uv[i, 2] = uv2[i]; psi[i] = uv[i, 1] + alpha; }
}
model {
  alpha ~ cauchy(0, 2.5);
  sigma ~ cauchy(0, 2.5);
  (rho + 1) / 2 ~ beta(2, 2);
  target += multi_normal_lpdf(uv | rep_vector(0, 2), covariance(sigma, rho));
  for (i in 1:n) {
    1 ~ bernoulli(Omega);
    for (j in 1:J) {
      if (X[i, j] > 0) target += observed(X[i, j], K, psi[i], uv[i, 2]);
      else target += unobserved(K, psi[i], uv[i, 2]);
    }
  }
  for (i in (n + 1):S) target += log_sum_exp(bernoulli_lpmf(0 | Omega), bernoulli_lpmf(1 | Omega) + J * unobserved(K, psi[i], uv2[i]));
}
