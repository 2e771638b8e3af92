// Functions of the normal distribution, of angles and of powers, with the meaning of the CPU's. Programs that use none
// of them do without this text.

__device__ __forceinline__ float f_expm1(float x) { return expm1f(x); }
// Beyond 1e15 neighbouring numbers are many turns apart.
__device__ __forceinline__ float an_angle(float x) { return fabsf(x) <= 1e15f ? x : __int_as_float(0x7fc00000); }
__device__ __forceinline__ float f_sin(float x) { return sinf(an_angle(x)); }
__device__ __forceinline__ float f_cos(float x) { return cosf(an_angle(x)); }
__device__ __forceinline__ float f_atan(float x) { return atanf(x); }
__device__ __forceinline__ float f_pow(float x, float y) {
    return x < 0.0f && y != 0.0f ? __int_as_float(0x7fc00000) : powf(fabsf(x), y);
}

__device__ __forceinline__ float f_erf(float x) { return erff(x); }
__device__ __forceinline__ float f_erfc(float x) { return erfcf(x); }
// The square of x is known exactly, which x times sqrt(1/2) is not: tails keep their relative accuracy.
__device__ __forceinline__ float half_scaled_erfc(float x) { return 0.5f * erfcxf(fabsf(x) * 0.70710678f); }
__device__ __forceinline__ float half_gauss(float x) {
    float a = fminf(fabsf(x), 15.0f), square = a * a, rest = fmaf(a, a, -square);
    return x != x ? x : expf(-0.5f * square) * (1.0f - 0.5f * rest);
}
__device__ __forceinline__ float f_log_normal_cdf(float x) {
    float scaled = half_scaled_erfc(x);
    return x < 0.0f ? fmaf(-0.5f * x, x, logf(scaled)) : log1pf(-half_gauss(x) * scaled);
}
__device__ __forceinline__ float f_inverse_mills(float x) {
    float scaled = half_scaled_erfc(x), gauss = half_gauss(x);
    return 0.39894228f * (x < 0.0f ? 1.0f : gauss) / (x < 0.0f ? scaled : 1.0f - gauss * scaled);
}
