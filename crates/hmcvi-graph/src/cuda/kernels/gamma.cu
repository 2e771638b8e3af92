// log Gamma and its derivatives, as the CPU computes them in f32. Programs that use none of them do without this text.

__device__ __forceinline__ float unless_negative(float x, float y) {
    return x >= 0.0f ? y : __int_as_float(0x7fc00000);
}

__device__ __forceinline__ float f_lgamma(float x) {
    // Below 4.5: log Gamma(2 + t) +- log a, with t in [-1/2, 1/2].
    float t = x < 0.5f ? x : x < 1.5f ? x - 1.0f : x < 2.5f ? x - 2.0f : x < 3.5f ? x - 3.0f : x - 4.0f;
    float a = x < 0.5f   ? x * (x + 1.0f)
              : x < 1.5f ? x
              : x < 2.5f ? 1.0f
              : x < 3.5f ? x - 1.0f
                         : (x - 1.0f) * (x - 2.0f);
    bool near = x < 4.5f;
    float log = f_log(near ? a : x);
    float q = 1.1347282e-4f;
    q = fmaf(q, t, -2.538171e-4f);
    q = fmaf(q, t, 5.065171e-4f);
    q = fmaf(q, t, -1.18586e-3f);
    q = fmaf(q, t, 2.8907952e-3f);
    q = fmaf(q, t, -7.386174e-3f);
    q = fmaf(q, t, 2.05808e-2f);
    q = fmaf(q, t, -6.735228e-2f);
    q = fmaf(q, t, 3.2246703e-1f);
    q = fmaf(q, t, 4.2278433e-1f);
    // Above: Stirling's series.
    float r = f_ratio(1.0f, x), w = r * r;
    float s = fmaf(fmaf(fmaf(-1.0f / 1680.0f, w, 1.0f / 1260.0f), w, -1.0f / 360.0f), w, 1.0f / 12.0f);
    float far = fmaf(r, s, (x - 0.5f) * (log - 1.0f) + 0.41893853f);
    return unless_negative(x, near ? fmaf(t, q, x < 1.5f ? -log : log) : far);
}

__device__ __forceinline__ float f_digamma(float x) {
    bool small = x < 4.0f;
    // x (x+1) (x+2) (x+3) and its derivative
    float product = x, derivative = 1.0f;
#pragma unroll
    for (int i = 1; i < 4; ++i) {
        derivative = fmaf(derivative, x + i, product);
        product *= x + i;
    }
    float z = small ? x + 4.0f : x, r = f_ratio(1.0f, z), w = r * r;
    float s = fmaf(fmaf(fmaf(-1.0f / 240.0f, w, 1.0f / 252.0f), w, -1.0f / 120.0f), w, 1.0f / 12.0f);
    float y = f_log(z) - fmaf(r, 0.5f, w * s);
    return unless_negative(x, y - (small ? f_ratio(derivative, product) : 0.0f));
}

// n! r^(n+1)
template <int N>
__device__ __forceinline__ float factorial_over_power(float r) {
    float y = r;
#pragma unroll
    for (int j = 1; j <= N; ++j) y *= r * j;
    return y;
}

// Binomial coefficient (n+m-1 over m).
__device__ constexpr double choose(int n, int m) { return m == 0 ? 1.0 : choose(n, m - 1) * (n + m - 1) / m; }

// Derivatives of digamma, from order 1 on.
template <int N>
__device__ __forceinline__ float f_polygamma(float x) {
    constexpr float c1 = choose(N, 2) / 6.0, c2 = -choose(N, 4) / 30.0;
    constexpr float c3 = choose(N, 6) / 42.0, c4 = -choose(N, 8) / 30.0;
    bool small = x < 4 + N;
    float shifted = 0.0f;
#pragma unroll
    for (int i = 0; i < 4 + N; ++i) shifted += factorial_over_power<N>(f_ratio(1.0f, x + i));
    float r = f_ratio(1.0f, small ? x + (4 + N) : x), w = r * r;
    float s = fmaf(fmaf(fmaf(c4, w, c3), w, c2), w, c1);
    float tail = fmaf(w, s, fmaf(r, 0.5f * N, 1.0f));
    float y = factorial_over_power<N - 1>(r) * tail + (small ? shifted : 0.0f);
    return unless_negative(x, N % 2 == 0 ? -y : y);
}
template <>
__device__ __forceinline__ float f_polygamma<0>(float x) {
    return f_digamma(x);
}
