// data: {"A": [[2.0, 0.3, -0.4], [0.3, 1.0, 0.2], [-0.4, 0.2, 3.0]]}
data { matrix[3, 3] A; }
parameters { vector[3] x; real<lower=0> s; }
model {
  matrix[3, 3] S = A + s * x * x';
  vector[3] values = eigenvalues_sym(S);
  matrix[3, 3] vectors = eigenvectors_sym(S);
  target += sum(log(values)) + values[1] * values[3];
  // Squares do not depend on the signs of vectors.
  target += sum(square(vectors[1]) .* [1, 2, 5]) - 0.5 * vectors[2, 3]^2;
  x ~ normal(0, 1);
}
