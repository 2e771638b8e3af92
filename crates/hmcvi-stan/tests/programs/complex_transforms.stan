// data: {"N": 5, "y": [0.3, -1.0, 2.0, 0.7, 0.1]}
data { int N; vector[N] y; }
parameters { vector[N] x; real<lower=0> s; }
model {
  complex_vector[N] f = fft(to_complex(x, 0.5 * y));
  complex_vector[N] g = inv_fft(f .* fft(to_complex(y, 0)));
  complex_matrix[2, 2] h = fft2(to_complex([[x[1], x[2]], [x[3], 1]], 0));
  target += -0.1 * sum(abs(f)) - 0.2 * dot_self(get_real(g)) + get_imag(g)[2] + get_real(inv_fft2(h)[1, 2]) + get_real(h[2, 1]);
  x ~ normal(y, s);
  s ~ exponential(1);
}
