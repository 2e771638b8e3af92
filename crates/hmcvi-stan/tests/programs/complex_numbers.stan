// data: {"N": 2, "a": [0.7, -1.2]}
data { int N; vector[N] a; }
transformed data { complex_vector[N] c = to_complex(a, [0.3, 0.9]'); complex i = 1i; }
parameters { vector[N] x; vector[N] y; }
model {
  complex_vector[N] z = to_complex(x, y);
  complex w = 2 * z[1] - z[2] + 0.5i;
  array[2] complex both = {w, conj(w) / c[1]};
  complex_matrix[2, 2] m = c * z';
  x ~ normal(0, 1);
  y ~ normal(0, 1);
  target += -abs(w) + 0.1 * norm(both[2]) - sum(abs(z .* c)) + get_real(exp(z[1]) * i) + get_imag(sqrt(w + 4));
  target += get_real(log(z[2] + 5)) + arg(w + 6) - get_real(sum(m * z)) + get_imag((z + 1)[2]) - norm(pow(to_complex(x[1] + 4, y[2]), 0.5i));
  w += z[1] * 3;
  m[1, 2] = w;
  target += -0.01 * norm(m[1, 2]) + get_real(sin(z[1]) + cos(z[2]) + tanh(c[1] * z[1])) + get_imag(tan(z[1]) + sinh(z[2]) + cosh(w) * 0.01);
  target += get_real(polar(1 + x[1]^2, y[1])) + (w == w) + get_real(asinh(z[1]) + atan(z[2] * 0.1) + log10(w + 9));
}
