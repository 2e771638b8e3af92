// Functions that all generated kernels share: mathematics, random draws, tensor-core products.
// Generated before this text: EXACT, THREADS, ROW_TILES, CLUSTER.

typedef unsigned int u32;
typedef unsigned long long u64;

constexpr int WARPS = THREADS / 32;
constexpr int ROWS = 16 * ROW_TILES;

// What changes from run to run. Pointers to data sets, pointers to indices and small inputs follow it.
// `rows` are those of this process, of the `all` that the batch has.
struct Run {
    u64 seed, step, row_offset;
    int rows, slot, all, unused;
};

struct Words {
    u64 word[RUN_WORDS];
};

// Parameters of a kernel arrive with its launch, so queueing a run waits for nothing.
extern "C" __global__ void set_run(u64* to, const Words from) {
    for (int i = threadIdx.x; i < RUN_WORDS; i += blockDim.x) to[i] = from.word[i];
}

// ---- element-wise functions, with the meaning of the CPU's ----

// With products in TF32 the hardware's approximations (errors near 1e-6) lose nothing.
#if EXACT
__device__ __forceinline__ float f_exp(float x) { return expf(x); }
__device__ __forceinline__ float f_log(float x) { return logf(x); }
__device__ __forceinline__ float f_ratio(float a, float b) { return a / b; }
#else
__device__ __forceinline__ float f_exp(float x) { return __expf(x); }
__device__ __forceinline__ float f_log(float x) { return logf(x); }
__device__ __forceinline__ float f_ratio(float a, float b) { return __fdividef(a, b); }
#endif
__device__ __forceinline__ float f_neg(float x) { return -x; }
__device__ __forceinline__ float f_abs(float x) { return fabsf(x); }
__device__ __forceinline__ float f_sqrt(float x) { return sqrtf(x); }
__device__ __forceinline__ float f_log1p(float x) { return log1pf(x); }
__device__ __forceinline__ float f_tanh(float x) { return tanhf(x); }
__device__ __forceinline__ float f_broadcast(float x) { return x; }
__device__ __forceinline__ float f_sigmoid(float x) {
    float e = f_exp(-fabsf(x)), r = f_ratio(1.0f, 1.0f + e);
    return x < 0.0f ? e * r : r;
}
__device__ __forceinline__ float f_softplus(float x) {
    float e = f_exp(-fabsf(x));
#if EXACT
    float y = log1pf(e);
#else
    // log(1 + e) with the rounding error of 1 + e corrected to first order.
    float u = 1.0f + e, y = __logf(u) + __fdividef(e - (u - 1.0f), u);
#endif
    return (x > 0.0f ? x : 0.0f) + (x != x ? x : y);
}
__device__ __forceinline__ float f_add(float a, float b) { return a + b; }
__device__ __forceinline__ float f_sub(float a, float b) { return a - b; }
__device__ __forceinline__ float f_mul(float a, float b) { return a * b; }
__device__ __forceinline__ float f_div(float a, float b) { return a / b; }
__device__ __forceinline__ float f_min(float a, float b) { return (a < b) | (a != a) ? a : b; }
__device__ __forceinline__ float f_max(float a, float b) { return (a > b) | (a != a) ? a : b; }
__device__ __forceinline__ float f_less(float a, float b) { return a < b ? 1.0f : 0.0f; }
__device__ __forceinline__ float f_less_equal(float a, float b) { return a <= b ? 1.0f : 0.0f; }
__device__ __forceinline__ float f_equal(float a, float b) { return a == b ? 1.0f : 0.0f; }

// ---- random draws: Philox 4x32-10 with the CPU's counters ----

__device__ __forceinline__ uint4 philox(const Run* run, u32 stream, int row, int col) {
    u32 c0 = 8 * (col / 32) + col % 8, c1 = (u32)(run->row_offset + row);
    u32 c2 = (u32)run->step, c3 = (stream << 16) | ((u32)(run->step >> 32) & 0xffffu);
    u32 k0 = (u32)run->seed, k1 = (u32)(run->seed >> 32);
#pragma unroll
    for (int i = 0; i < 10; ++i) {
        u32 h0 = __umulhi(c0, 0xD2511F53u), l0 = c0 * 0xD2511F53u;
        u32 h1 = __umulhi(c2, 0xCD9E8D57u), l1 = c2 * 0xCD9E8D57u;
        c0 = h1 ^ c1 ^ k0;
        c2 = h0 ^ c3 ^ k1;
        c1 = l1;
        c3 = l0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return make_uint4(c0, c1, c2, c3);
}
__device__ __forceinline__ float unit(u32 bits) { return (float)(int)(bits >> 8) * (1.0f / 16777216.0f); }
__device__ __forceinline__ float draw_uniform(const Run* run, u32 stream, int row, int col) {
    uint4 w = philox(run, stream, row, col);
    int i = (col / 8) % 4;
    return unit(i == 0 ? w.x : i == 1 ? w.y : i == 2 ? w.z : w.w);
}
__device__ __forceinline__ float draw_normal(const Run* run, u32 stream, int row, int col) {
    uint4 w = philox(run, stream, row, col);
    int i = (col / 8) % 4;
    u32 first = i < 2 ? w.x : w.z, second = i < 2 ? w.y : w.w;
    float open = ((float)(int)(first >> 1) + 0.5f) * (1.0f / 2147483648.0f);
    float radius = sqrtf(-2.0f * logf(open)), sine, cosine;
    sincospif(2.0f * unit(second), &sine, &cosine);
    return radius * (i % 2 == 0 ? cosine : sine);
}

// ---- reductions in a fixed order ----

__device__ __forceinline__ float warp_sum(float x) {
#pragma unroll
    for (int d = 16; d > 0; d /= 2) x += __shfl_xor_sync(0xffffffffu, x, d);
    return x;
}
__device__ __forceinline__ float warp_max(float x) {
#pragma unroll
    for (int d = 16; d > 0; d /= 2) x = f_max(x, __shfl_xor_sync(0xffffffffu, x, d));
    return x;
}
// log(total) + most, where infinite values stand for themselves.
__device__ __forceinline__ float log_sum(float most, float total) {
    return fabsf(most) == __int_as_float(0x7f800000) ? most : most + logf(total);
}

// ---- products on tensor cores ----

__device__ __forceinline__ float to_tf32(float x) {
    u32 y;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(y) : "f"(x));
    return __uint_as_float(y);
}
// Operands are kept rounded to TF32, or in full where products are exact.
__device__ __forceinline__ float operand(float x) { return EXACT ? x : to_tf32(x); }

__device__ __forceinline__ void mma_once(float (&c)[4], float a0, float a1, float a2, float a3, float b0, float b1) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(__float_as_uint(a0)), "r"(__float_as_uint(a1)), "r"(__float_as_uint(a2)), "r"(__float_as_uint(a3)),
          "r"(__float_as_uint(b0)), "r"(__float_as_uint(b1)));
}
// A value as the sum of two TF32 numbers: its leading bits, and the rest, of which tensor cores cut off what is
// beyond 2^-21. With the product of the rests left out, three products are exact to about 2^-20.
struct Halves {
    float high, low;
    __device__ __forceinline__ Halves(float x)
        : high(__uint_as_float(__float_as_uint(x) & 0xffffe000u)), low(x - high) {}
};
__device__ __forceinline__ void mma(float (&c)[4], float a0, float a1, float a2, float a3, float b0, float b1) {
#if EXACT
    Halves p(a0), q(a1), r(a2), s(a3), v(b0), w(b1);
    mma_once(c, p.low, q.low, r.low, s.low, v.high, w.high);
    mma_once(c, p.high, q.high, r.high, s.high, v.low, w.low);
    mma_once(c, p.high, q.high, r.high, s.high, v.high, w.high);
#else
    mma_once(c, a0, a1, a2, a3, b0, b1);
#endif
}
