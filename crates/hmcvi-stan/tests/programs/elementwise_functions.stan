// data: {}
parameters { real<lower=0.1, upper=0.9> x; vector<lower=0.2, upper=0.8>[2] v; real y; }
model {
  target += exp(y) * -0.1 + log(x) + sqrt(x) + cbrt(x) + inv(x) * 0.1 + inv_sqrt(x) + inv_square(x) * 0.01 + square(y) * -0.2;
  target += logit(x) + inv_logit(y) + log1p(x) + log1m(x) + log1p_exp(y) + log1m_exp(-x) + log_inv_logit(y) + log1m_inv_logit(y);
  target += sin(y) + cos(y) + tan(x) + asin(x) + acos(x) + atan(y) + sinh(x) + cosh(x) + tanh(y) + asinh(y) + atanh(x) + acosh(1 + x);
  target += Phi(y) + Phi_approx(y) + erf(y) + erfc(y) + lgamma(x) + tgamma(x) + digamma(x) + lbeta(x, 2) + lchoose(5.5, x);
  target += expm1(x) + exp2(x) + log2(x) + log10(x) + inv_cloglog(y) + fabs(y) + fmin(x, y) + fmax(x, 0.3) + fdim(x, y);
  target += hypot(x, y) + atan2(x, 1.5) + fma(x, y, 2) + pow(x, 1.7) + x^3 + y^2 + (-x)^3 + log_sum_exp(x, y) + log_diff_exp(1, x);
  target += sum(exp(v)) + sum(log(v)) + sum(sqrt(v)) + sum(v .* v) + sum(v ./ (1 + v)) + multiply_log(x, 2.0) + log_mix(x, y, 0.5);
  target += sum(inv_logit(v)) + prod(v) + mean(v) + sd(v) + variance(v) + max(v) + min(v) + trigamma(x) * 0.1 + binary_log_loss(1, x);
  target += log_falling_factorial(3.5, x) + rising_factorial(x, 2) + modified_bessel_first_kind(2, 3 * x) + step(y);
}
