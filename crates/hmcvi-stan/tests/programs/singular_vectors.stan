// data: {"B": [[1, 0.2, 0.4], [0.3, 2, -0.5]]}
data { matrix[2, 3] B; }
parameters { matrix[3, 2] A; }
model {
  matrix[3, 2] C = A + 2 * B';
  matrix[3, 2] U = svd_U(C);
  matrix[2, 2] V = svd_V(C);
  to_vector(A) ~ normal(0, 1);
  target += sum(singular_values(C)) - sum(square(U[ : , 1])) * U[1, 1]^2 + V[1, 2]^2 - (U[1, 1] * V[1, 1])^2 + U[2, 1] * V[1, 1];
  target += sum(svd_U(B)[1] .* svd_V(B)[2]);
  target += abs(qr_thin_Q(C)[2, 2]) + abs(qr_thin_R(C)[1, 2]) + sum(abs(svd_V(C')[ : , 2]));
}
