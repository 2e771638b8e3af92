// data: {"K": 2, "V": 3, "M": 2, "N": 5, "w": [1, 3, 2, 2, 1], "doc": [1, 1, 2, 2, 2], "alpha": [0.8, 0.9], "beta": [0.5, 1, 1.5]}
data { int K; int V; int M; int N; array[N] int w; array[N] int doc; vector<lower=0>[K] alpha; vector<lower=0>[V] beta; }
parameters { array[M] simplex[K] theta; array[K] simplex[V] phi; }
model {
  for (m in 1:M) theta[m] ~ dirichlet(alpha);
  for (k in 1:K) phi[k] ~ dirichlet(beta);
  for (n in 1:N) {
    array[K] real gamma;
    for (k in 1:K) gamma[k] = log(theta[doc[n], k]) + log(phi[k, w[n]]);
    target += log_sum_exp(gamma);
  }
}
