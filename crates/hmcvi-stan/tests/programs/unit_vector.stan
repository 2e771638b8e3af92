// data: {}
parameters { unit_vector[3] u; array[2] unit_vector[2] w; }
model { target += 1.2 * u[1] - u[2] * u[3] + w[1, 1] + 0.5 * w[2, 2]; }
