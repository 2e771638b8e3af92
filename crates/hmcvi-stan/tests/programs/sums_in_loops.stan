// data: {"N": 9, "x": [0.1, 0.5, -0.3, 0.8, 1.2, -0.9, 0.4, 0.2, -0.1], "y": [0.3, 0.6, 0.1, 1.1, 1.5, -0.6, 0.7, 0.5, 0.2]}
data { int N; vector[N] x; vector[N] y; }
parameters { real a; real b; }
model {
  real lp = 0;
  real total = 0;
  vector[N] walk;
  for (n in 1:N) lp += -0.5 * square(y[n] - a - b * x[n]);
  for (n in 1:N) total = total + a * x[n] - b;
  walk[1] = a;
  for (n in 2:N) walk[n] = walk[n - 1] + b * x[n];
  target += lp - 0.01 * square(total) - 0.1 * dot_self(walk);
}
