// data: {"y": [0.3, 1.2, 2.2]}
functions {
  real shifted_lpdf(real y, real mu, real s) { return normal_lpdf(y | mu + 1, s); }
  vector scaled(vector x, real s) { return s * x; }
  real total(array[] real x) {
    real sum_x = 0;
    for (v in x) sum_x += v;
    return sum_x;
  }
  void add_lp(real x) { target += -x^2; }
  int fib(int n);
  int fib(int n) {
    if (n <= 2) return 1;
    return fib(n - 1) + fib(n - 2);
  }
  real piece(real x) {
    if (x < 0) return -x;
    else if (x < 1) return x^2;
    return 2 * x - 1;
  }
}
data { vector[3] y; }
parameters { real mu; real<lower=0> s; array[3] real a; }
model {
  mu ~ shifted(0.5, s);
  for (n in 1:3) y[n] ~ shifted(mu, s);
  y ~ normal(scaled([1, 2, 3]', mu), s);
  target += -total(a)^2 - 0.1 * dot_self(to_vector(a));
  add_lp(mu * fib(6));
  for (i in 1:3) target += -piece(a[i] + 0.2 * i);
  target += -s;
}
