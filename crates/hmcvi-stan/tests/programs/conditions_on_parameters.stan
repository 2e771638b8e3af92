// data: {}
parameters { real x; vector[3] y; }
model {
  real z;
  vector[3] w = y;
  if (x > 0) { z = x^2; w[2] = 2 * y[2]; } else z = -0.5 * x;
  if (x > 0.3 && y[1] < 0) target += -x; else target += -2 * y[2]^2;
  target += -z - 0.5 * dot_self(w) - (y[3] > 0 ? y[3] : 3 * y[3]^2);
  x ~ normal(0, 1);
  for (i in 1:3) { if (y[i] > 0.1) { y[i] ~ normal(0, 2); } else { y[i] ~ normal(1, 1); } }
}
