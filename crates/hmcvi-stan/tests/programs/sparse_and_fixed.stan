// data: {"n": 3, "E": 2, "node1": [1, 2], "node2": [2, 3], "y": [1, 0, 3], "off": [0.1, 0.2, -0.1], "w": [1, 2, 0.5, 1.5], "v": [1, 3, 2, 3], "u": [1, 3, 4, 5]}
data { int n; int E; array[E] int node1; array[E] int node2; array[n] int y; vector[n] off; vector[4] w; array[4] int v; array[4] int u; }
parameters { real b; vector[n] phi; real<lower=0, upper=1> rho; }
transformed parameters { vector[n] mixed = sqrt(rho) * phi + off; }
model {
  target += -0.5 * dot_self(phi[node1] - phi[node2]);
  sum(phi) ~ normal(0, 0.001 * n);
  y ~ poisson_log(b + mixed);
  b ~ normal(0, 1);
  rho ~ beta(0.5, 0.5);
  target += -0.1 * dot_self(csr_matrix_times_vector(3, n, w, v, u, phi));
}
