// data: {}
parameters { corr_matrix[4] R; vector<lower=0>[4] s; vector[4] y; }
model {
  R ~ lkj_corr(2.5);
  s ~ lognormal(0, 1);
  y ~ multi_normal(rep_vector(0.3, 4), quad_form_diag(R, s));
}
