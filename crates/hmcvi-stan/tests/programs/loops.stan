// data: {"N": 5, "g": [1, 3, 2, 3, 1], "y": [0.3, 1.2, 2.2, -0.4, 0.9]}
data { int N; array[N] int g; array[N] real y; }
transformed data {
  array[3] int count = rep_array(0, 3);
  int total = 0;
  int i = 1;
  for (n in 1:N) count[g[n]] += 1;
  while (i <= N) { total = total + g[i]; i = i + 1; }
  for (n in 1:10) { if (n == 3) continue; if (n > 5) break; total += n; }
}
parameters { vector[3] a; real<lower=0> s; }
model {
  int pos = 1;
  a ~ normal(0, s);
  s ~ exponential(1);
  for (n in 1:N) y[n] ~ normal(a[g[n]], s);
  for (k in 1:3) { target += count[k] * a[k] * 0.1; pos += count[k]; }
  target += -0.01 * total * s - 0.1 * pos * s;
  for (v in y) target += -0.1 * square(v - a[1]);
  for (n in 3:1) target += 1000;
}
