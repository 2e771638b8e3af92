// data: {"x": [0.4, 2.5, 7.0]}
data { vector[3] x; }
parameters { real<lower=0> a; real<lower=0> b; }
model {
  a ~ normal(0, 2);
  b ~ normal(0, 2);
  target += bessel_first_kind(0, a) + bessel_first_kind(2, 3 * b) + modified_bessel_second_kind(1, a) * 0.1;
  target += 0.3 * modified_bessel_second_kind(2, a + b) + modified_bessel_first_kind(1, b) * 0.01 + lambert_wm1(-0.3 * exp(-a));
  target += a * sum(bessel_first_kind(1, x)) + b * sum(bessel_second_kind(0, x)) + a * b * modified_bessel_second_kind(0, x[1]) + ldexp(a, 2);
}
