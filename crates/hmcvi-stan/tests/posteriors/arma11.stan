// A series that depends on its last value and on its last surprise.
data {
  int<lower=1> T;
  vector[T] y;
}
parameters {
  real mu;
  real phi;
  real theta;
  real<lower=0> sigma;
}
model {
  vector[T] surprise;
  mu ~ normal(0, 10);
  phi ~ normal(0, 2);
  theta ~ normal(0, 2);
  sigma ~ cauchy(0, 2.5);
  surprise[1] = y[1] - (mu + phi * mu);
  for (t in 2 : T) {
    surprise[t] = y[t] - (mu + phi * y[t - 1] + theta * surprise[t - 1]);
  }
  surprise ~ normal(0, sigma);
}
