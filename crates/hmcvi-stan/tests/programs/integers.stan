// data: {"N": 5, "k": [2, 0, 5, 1, 3]}
data { int N; array[N] int k; }
transformed data {
  int half_ = N / 2;
  int rest = N % 3;
  array[N] int twice;
  int big = max(k) > 4 ? 2 : 3;
  for (i in 1:N) twice[i] = 2 * k[i] - 1;
}
parameters { real x; }
model { target += -x^2 * half_ - rest * x + 0.1 * sum(twice) * x - big * exp(x) + (k[1] == 2) * x - (!k[2]) * x + (k[1] < 3 || k[2] > 3) * x; }
