// data: {"N": 4, "K": 2, "x": [[1, 0.5], [0.3, -1], [2, 0.1], [-0.7, 0.4]], "y": [0.3, 1.2, 2.2, -0.5], "X": [[1, 0.5], [0.3, -1], [2, 0.1], [-0.7, 0.4]], "g": [1, 2, 2, 1]}
data { int N; int K; array[N] vector[K] x; array[N] real y; matrix[N, K] X; array[N] int g; }
parameters { vector[K] b; array[2] vector[K] B; matrix[2, K] C; real<lower=0> s; }
model {
  b ~ normal(0, 1);
  for (j in 1:2) B[j] ~ normal(0, 1);
  to_vector(C) ~ normal(0, 1);
  s ~ exponential(1);
  for (n in 1:N) y[n] ~ normal(x[n]' * b, s);
  for (n in 1:N) y[n] ~ normal(dot_product(x[n], B[g[n]]), s);
  for (n in 1:N) y[n] ~ normal(X[n] * b + C[g[n]] * x[n], s);
  for (n in 1:N) { vector[K] m = b .* x[n]; y[n] ~ normal(sum(m) + mean(B[g[n]]), s); }
  for (n in 1:N) target += -0.1 * sum(exp(0.1 * X[n] .* C[1]));
  for (n in 1:N) target += -0.1 * sum(C * x[n]);
}
