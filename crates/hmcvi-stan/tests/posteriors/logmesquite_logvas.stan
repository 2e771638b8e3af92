// Logarithms of weights of bushes by volume, area and shape of the canopy, and other measures.
data {
  int<lower=0> N;
  vector<lower=0>[N] weight;
  vector<lower=0>[N] diam1;
  vector<lower=0>[N] diam2;
  vector<lower=0>[N] canopy_height;
  vector<lower=0>[N] total_height;
  vector<lower=0>[N] density;
  vector[N] group;
}
transformed data {
  vector[N] log_weight = log(weight);
  matrix[N, 7] X;
  X[ : , 1] = rep_vector(1, N);
  X[ : , 2] = log(diam1 .* diam2 .* canopy_height);
  X[ : , 3] = log(diam1 .* diam2);
  X[ : , 4] = log(diam1 ./ diam2);
  X[ : , 5] = log(total_height);
  X[ : , 6] = log(density);
  X[ : , 7] = group;
}
parameters {
  vector[7] beta;
  real<lower=0> sigma;
}
model {
  log_weight ~ normal(X * beta, sigma);
}
