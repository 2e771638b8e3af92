// data: {"y": [0.4, 1.3, 2.2]}
data { array[3] real y; }
parameters { vector[3] m; real<lower=0> s; real<lower=0> a; }
model {
  for (n in 1:3) y[n] ~ student_t(a, m[n], s) T[0, ];
  for (n in 1:3) y[n] ~ gamma(2.5, s) T[0.1, 4];
  for (n in 1:3) y[n] ~ normal(m[n], s) T[0, 3];
  m ~ normal(0, 1);
}
