// data: {"y": [0.4, 1.3, 2.2], "u": [0.2, 0.6, 0.85], "r": [-1.2, 0.3, 2.6]}
data { array[3] real y; array[3] real u; array[3] real r; }
// Derivatives by the shape of gamma distributions are held against differences elsewhere: Stan has four digits of them.
parameters { real<lower=0> a; real<lower=0> b; real m; real<lower=0> s; }
model {
  target += gamma_lcdf(y | 2.5, b) + gamma_lccdf(y | 0.7, s);
  target += inv_gamma_lcdf(y | 2.5, b) + inv_gamma_lccdf(y | 0.7, s);
  target += beta_lcdf(u | a, b) + beta_lccdf(u | a, b);
  target += chi_square_lcdf(s | 3) + inv_chi_square_lcdf(b | 4);
  target += scaled_inv_chi_square_lccdf(y | 3, s);
  target += student_t_lcdf(r | a, m, s) + student_t_lccdf(r | a, m, s);
  target += student_t_lccdf(0 | 3, m, s) + log(gamma_cdf(s, 2.5, b));
  target += exp_mod_normal_lcdf(r | m, s, b) + skew_normal_lccdf(r | m, s, a);
}
