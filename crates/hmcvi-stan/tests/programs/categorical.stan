// data: {"y": [1, 3, 2, 3], "X": [[1, 0.5], [0.3, -1], [2, 0.1], [-0.7, 0.4]]}
data { array[4] int y; matrix[4, 2] X; }
parameters { matrix[2, 3] B; simplex[3] p; }
model {
  to_vector(B) ~ normal(0, 2);
  for (n in 1:4) y[n] ~ categorical_logit((X[n] * B)');
  for (n in 1:4) y[n] ~ categorical(softmax((X[n] * B)'));
  target += categorical_lpmf(y | p) + categorical_logit_lpmf(y | log(p));
}
