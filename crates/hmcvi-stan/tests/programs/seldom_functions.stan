// data: {"A": [[0.2, -0.5], [0.7, 0.1]], "v": [0.4, -1.1, 0.3, 2.0, -0.2]}
data { matrix[2, 2] A; vector[5] v; }
parameters { vector[5] x; real<lower=0, upper=1> p; real<lower=0> a; matrix[2, 2] M; }
model {
  matrix[2, 2] S = M + A;
  vector[5] w = sort_asc(x + v);
  target += dot_product(w, [1, 2, 4, 7, 11]') + sort_desc(x)[2] * x[1];
  target += sum(matrix_exp(S)) + matrix_exp(A * a)[1, 2] + sum(scale_matrix_exp_multiply(0.7, A, M));
  target += inv_Phi(p) + inv_Phi(p^6) + gamma_p(a, 1.7) + gamma_q(1.3, a) + inc_beta(a, 2.0, p);
  target += lmgamma(3, a + 2) + owens_t(x[1], x[2]);
  target += trace_gen_quad_form(M, A, S) + log_sum_exp(sort_asc(x));
}
