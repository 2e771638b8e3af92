// data: {"m": 2, "p": 2, "T": 5, "y": [[0.1, 0.4], [-0.3, 0.2], [0.5, 0.9], [0.2, -0.4], [0.7, 0.3]]}
functions {
  matrix root(matrix A) {
    matrix[rows(A), rows(A)] E = diag_post_multiply(eigenvectors_sym(A), sqrt(sqrt(eigenvalues_sym(A))));
    return tcrossprod(E);
  }
  array[] matrix turned(array[] matrix A) {
    array[size(A)] matrix[rows(A[1]), cols(A[1])] out;
    for (k in 1:size(A)) {
      matrix[rows(A[1]), rows(A[1])] B = tcrossprod(A[k]);
      for (i in 1:rows(B)) B[i, i] += 1;
      out[k] = mdivide_right_spd(mdivide_left_spd(root(B), A[k]), root(B));
      out[k][1, 2] -= out[k][2, 1] / 10;
    }
    return out;
  }
}
data { int m; int p; int T; array[T] vector[m] y; }
parameters { array[p] matrix[m, m] A; cov_matrix[m] S; }
transformed parameters {
  array[p] matrix[m, m] phi = turned(A);
  matrix[m * p, m * p] whole;
  for (i in 1:p) for (j in 1:p) {
    if (i <= j) whole[((i - 1) * m + 1) : (i * m), ((j - 1) * m + 1) : (j * m)] = phi[j - i + 1];
    else whole[((i - 1) * m + 1) : (i * m), ((j - 1) * m + 1) : (j * m)] = phi[i - j + 1]';
  }
}
model {
  array[T - p] vector[m] mu;
  for (t in (p + 1):T) {
    mu[t - p] = rep_vector(0, m);
    for (i in 1:p) mu[t - p] += phi[i] * y[t - i];
  }
  y[(p + 1):T] ~ multi_normal(mu, S);
  S ~ inv_wishart(m + 4, identity_matrix(m));
  for (k in 1:p) {
    diagonal(A[k]) ~ normal(0.5, 1);
    for (i in 1:m) for (j in 1:m) if (i != j) A[k, i, j] ~ normal(0, 0.5);
  }
  target += -0.1 * sum(square(whole));
}
