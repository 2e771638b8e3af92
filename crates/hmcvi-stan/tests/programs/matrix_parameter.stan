// data: {}
parameters { matrix[2, 3] A; array[2] matrix[2, 2] B; }
model {
  to_vector(A) ~ normal(0, 1);
  A[1, 3] ~ normal(2, 0.5);
  target += -0.5 * B[1, 1, 2]^2 + B[2, 2, 1] - exp(B[1][2, 2]) - 0.1 * sum(B[2] .* B[2]) - 0.2 * sum(square(B[1]));
}
