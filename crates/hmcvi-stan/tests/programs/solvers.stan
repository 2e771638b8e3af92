// data: {"c": [0.5, 1.5]}
functions {
  vector system(vector x, vector theta, real[] x_r, int[] x_i) {
    vector[2] z;
    z[1] = x[1] + theta[1] * x[2]^3 - 2;
    z[2] = exp(0.3 * x[2]) * theta[2] - x[1];
    return z;
  }
  real height(real x, real xc, real[] theta, real[] x_r, int[] x_i) {
    return exp(-theta[1] * x) * sqrt(x) / (1 + theta[2] * x);
  }
  real tail(real x, real xc, real[] theta, real[] x_r, int[] x_i) {
    return exp(-0.5 * square(x - theta[1]) / square(theta[2]));
  }
}
data { vector[2] c; }
transformed data { real x_r[0]; int x_i[0]; }
parameters { vector<lower=0>[2] theta; real<lower=0> b; }
model {
  vector[2] z = algebra_solver(system, c, theta, x_r, x_i, 1e-13, 1e-12, 500);
  target += z[1] * z[2] + z[2];
  target += integrate_1d(height, 0, b, {theta[1], theta[2]}, x_r, x_i, 1e-12);
  target += integrate_1d(height, 0, positive_infinity(), {theta[1] + 1, theta[2]}, x_r, x_i, 1e-12);
  target += integrate_1d(tail, negative_infinity(), positive_infinity(), {theta[1], theta[2]}, x_r, x_i, 1e-12);
  theta ~ normal(1, 1);
  b ~ normal(1, 1);
}
