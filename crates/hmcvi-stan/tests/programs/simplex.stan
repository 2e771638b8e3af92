// data: {"alpha": [1.5, 2, 0.7, 3], "k": [1, 4, 2]}
data { vector[4] alpha; array[3] int k; }
parameters {
  simplex[4] p;
  array[2] simplex[3] q;
}
model {
  p ~ dirichlet(alpha);
  k ~ categorical(p);
  for (i in 1:2) q[i] ~ dirichlet(rep_vector(1.5, 3));
  target += log(q[1, 2]) - q[2][3];
}
