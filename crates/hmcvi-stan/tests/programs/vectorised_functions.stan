// data: {"y": [0.4, 1.2, 2.5], "k": [2, 1, 3]}
data { vector[3] y; array[3] int k; }
parameters { vector<lower=0>[3] x; real z; row_vector[3] r; }
model {
  array[2, 1] vector[3] all = rep_array(x, 2, 1);
  array[1, 2, 1, 3] real deep = rep_array({{r[1], r[2], z}}, 1, 2);
  x ~ normal(0, 1);
  r ~ normal(0, 1);
  target += std_normal_lpdf(z | ) + std_normal_lupdf(r | );
  target += sum(log_sum_exp(x, r')) + sum(log_sum_exp(y, z)) + sum(log_sum_exp(0.5, r)) + sum(gamma_p(y, x)) + sum(gamma_q(y, x));
  target += sum(lmgamma(2, x + 1)) + sum(owens_t(y, 0.3)) * z + dot_product(rows_dot_product(x, r'), y) + sum(columns_dot_self(r));
  target += sum(all[2, 1]) + sum(to_array_1d(deep)) + multiply(r, z) * y + sum(multiply(2, x)) + sum(divide(x, 3)) + sum(add(x, 1)) + sum(subtract(1, r));
  target += std_normal_log_qf(-0.1 - x[1]) + std_normal_log_qf(-30 - x[2]) + sum(quantile(y, {0.2, 0.5})) * z + sum(falling_factorial(x + 4, k));
  target += sum(minus(x) .* y) + sum(elt_divide(x, y)) - x[1] * inc_beta(0.7, x[2], x[3]);
}
