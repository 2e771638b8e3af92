// data: {"y": [2, 0, 5]}
data { array[3] int y; }
parameters { simplex[3] p; vector[2] e; }
model {
  y ~ multinomial(p);
  target += multinomial_lpmf(y | softmax(append_row(e, 0)));
  e ~ normal(0, 1);
}
