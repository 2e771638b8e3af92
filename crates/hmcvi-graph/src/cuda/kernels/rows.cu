// A row stage: every cluster of blocks takes a tile of rows through all steps.

// Addresses of a step, all of them in global memory: values behind a base. Lists that fit shared memory are turned
// into pointers once; entries with NUMBERS are pairs of numbers.
#define NUMBERS 0x80000000u
#define FAR_ADDRESS(i) in_global(base[arguments[i].y] + arguments[i].x)
#define NEAR_ADDRESS(i) in_global(*reinterpret_cast<float* const*>(arguments + i))
#define FIRST(i) ((int)arguments[i].x)
#define SECOND(i) ((int)(arguments[i].y & ~NUMBERS))
__device__ __forceinline__ float* in_global(float* p) {
    __builtin_assume(__isGlobal(p));
    return p;
}

// When a step began to wait and when it began, by the first block's clock.
#if TRACE
#define TIME(area, at) \
    if (blockIdx.x == 0 && threadIdx.x == 0) reinterpret_cast<long long*>(base[area])[at] = clock64()
#else
#define TIME(area, at)
#endif

// Where a block is: its tile's first row, and its share of every step's columns.
struct Tile {
    const Run* run;
    float* stage;  // left operands of products
    float* result;  // what a product leaves for the steps behind it
    float* scratch;  // partial sums
    int rows, all, first, index, rank;
};

__device__ __forceinline__ void cluster_sync() {
#if CLUSTER > 1
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
#else
    __syncthreads();
#endif
}

// Columns are shared out in tiles of 8; this is the first column of a block's share.
__device__ __forceinline__ int cut(int cols, int rank) {
    if (CLUSTER == 1) return rank == 0 ? 0 : cols;
    int tiles = (cols + 7) / 8, at = tiles * rank / CLUSTER * 8;
    return at < cols ? at : cols;
}

// Bits of what a step waits for: its block, its cluster.
__device__ __forceinline__ void wait_for(int wait) {
    if (wait & 1) __syncthreads();
    if (wait & 2) cluster_sync();
}

// Rows of a lane's values: those of the tile, and those that are given, of which there may be fewer.
#define ROW(h) (m * 16 + g + (h) * 8)
#define GIVEN(h) min(ROW(h), x.rows - 1 - x.first)

// Two neighbouring columns of two rows.
__device__ __forceinline__ void read_two(float (&v)[4], const float* p, int below) {
    float2 a = *reinterpret_cast<const float2*>(p), b = *reinterpret_cast<const float2*>(p + below);
    v[0] = a.x, v[1] = a.y, v[2] = b.x, v[3] = b.y;
}
__device__ __forceinline__ void read_each(float (&v)[4], const float* p, int below, int beside) {
    v[0] = p[0], v[1] = p[beside], v[2] = p[below], v[3] = p[below + beside];
}
__device__ __forceinline__ void write_two(
    float* o, int stride, int row, int rows, int col, int cols, float a, float b, float c, float d
) {
    if (col >= cols) return;
    float* p = o + row * stride + col;
    if (row < rows) *reinterpret_cast<float2*>(p) = make_float2(a, b);
    if (row + 8 < rows) *reinterpret_cast<float2*>(p + 8 * stride) = make_float2(c, d);
}
__device__ __forceinline__ void write_each(
    float* o, int stride, int row, int rows, int col, int cols, float a, float b, float c, float d
) {
    float* p = o + row * stride + col;
    if (row < rows && col < cols) p[0] = a;
    if (row < rows && col + 1 < cols) p[1] = b;
    if (row + 8 < rows && col < cols) p[8 * stride] = c;
    if (row + 8 < rows && col + 1 < cols) p[8 * stride + 1] = d;
}

// Puts values of a tile of 8 columns into a slot, in the order in which tensor cores take them; see `stage`.
// Columns that do not exist are zero, up to whole blocks of 16.
template <bool TO_ALL>
__device__ __forceinline__ void hand_on(
    const Tile x, int slot, int blocks, int cols, int m, int tile, float a, float b, float c, float d
) {
    int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4, col = tile * 8 + 2 * t, last = (cols + 7) / 8 - 1;
    float4 v = make_float4(operand(a), operand(c), operand(b), operand(d));
    if (col >= cols) v.x = v.y = 0.0f;
    if (col + 1 >= cols) v.z = v.w = 0.0f;
    float* to = x.stage + slot + m * blocks * 256 + g * 16;
    auto put = [&](int tile, float4 v) {
        float* p = to + tile / 2 * 256 + (tile % 2 * 2 + t / 2) * 4 + t % 2 * 128;
        if (!TO_ALL) {
            *reinterpret_cast<float4*>(p) = v;
            return;
        }
        u32 here = (u32)__cvta_generic_to_shared(p);
#pragma unroll
        for (int i = 0; i < CLUSTER; ++i) {
            u32 there;
            int rank = x.rank + i < CLUSTER ? x.rank + i : x.rank + i - CLUSTER;
            asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(rank));
            asm volatile("st.shared::cluster.v4.f32 [%0], {%1,%2,%3,%4};" ::"r"(there), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w) : "memory");
        }
    };
    put(tile, v);
    if (tile == last && last % 2 == 0) put(tile + 1, make_float4(0.0f, 0.0f, 0.0f, 0.0f));
}

// Adds up what lanes with the same columns have.
__device__ __forceinline__ float column_sum(float v) {
#pragma unroll
    for (int d = 4; d < 32; d *= 2) v += __shfl_xor_sync(0xffffffffu, v, d);
    return v;
}

// Weights are read once by each block: they must not push the tile's values out of the first-level cache.
// What is not read stays as it is; a branch around the read would wait for it at once.
__device__ __forceinline__ void stream_if(bool on, float4& v, const float4* p) {
    asm volatile(
        "{\n.reg .pred q;\nsetp.ne.u32 q, %5, 0;\n@q ld.global.nc.L1::no_allocate.v4.f32 {%0,%1,%2,%3}, [%4];\n}"
        : "+f"(v.x), "+f"(v.y), "+f"(v.z), "+f"(v.w) : "l"(p), "r"((u32)on));
}

// Copies the tile's rows of `a`, depth columns padded with zeros to whole blocks of 16, in the order in which
// tensor cores take them: for each 16 rows, block, half of a block and lane four values.
// A warp takes two rows, 8 apart.
template <int WIDTH>
__device__ __forceinline__ void stage(
    const Tile x, float* slot, const float* a, int a_stride, int depth, int blocks, bool given
) {
    constexpr int PAIRS = ROWS / 2, BESIDE = WARPS > PAIRS ? WARPS / PAIRS : 1, TOGETHER = 2;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, fours = blocks * 4;
#pragma unroll 1
    for (int pair = warp % PAIRS; pair < PAIRS; pair += WARPS) {
        int m = pair / 8, g = pair % 8, row = m * 16 + g;
        // Rows beyond the batch: those of what is given do not exist, and their results are not used.
        int most = given ? x.rows - 1 - x.first : ROWS;
        const float* from[2] = {a + min(row, most) * a_stride, a + min(row + 8, most) * a_stride};
        float* to = slot + m * blocks * 256 + g * 16;
#pragma unroll 1
        for (int base = lane + warp / PAIRS * 32; base < fours; base += 32 * BESIDE * TOGETHER) {
            float4 v[TOGETHER][2];
#pragma unroll
            for (int i = 0; i < TOGETHER; ++i) {
                int col = (base + i * 32 * BESIDE) * 4;
#pragma unroll
                for (int h = 0; h < 2; ++h) {
                    const float* p = from[h] + col;
                    v[i][h] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
                    if (WIDTH == 4) {
                        if (col < depth) v[i][h] = *reinterpret_cast<const float4*>(p);
                    } else {
                        if (col < depth) v[i][h].x = p[0];
                        if (col + 1 < depth) v[i][h].y = p[1];
                        if (col + 2 < depth) v[i][h].z = p[2];
                        if (col + 3 < depth) v[i][h].w = p[3];
                    }
                }
            }
#pragma unroll
            for (int i = 0; i < TOGETHER; ++i) {
                int four = base + i * 32 * BESIDE;
                if (four >= fours) break;
                float4 p = v[i][0], q = v[i][1];
                float4* o = reinterpret_cast<float4*>(to + four / 4 * 256 + four % 4 * 4);
                o[0] = make_float4(operand(p.x), operand(q.x), operand(p.y), operand(q.y));
                o[32] = make_float4(operand(p.z), operand(q.z), operand(p.w), operand(q.w));
            }
        }
    }
}

// What a product does.
constexpr int OF_GIVEN = 1, ADDS = 2, COPIES = 4, NEAR = 8, KEEPS = 16, OWN = 32;

// out = a · w for the tile's rows, or out += a · w. `w` is packed: tile by tile of 8 columns, block by block
// of 16 deep, four values for each lane. A warp takes WIDE tiles at a time and has the values of AHEAD
// blocks on their way. Where there are far fewer tiles than warps, 2^split warps share the depth of one; those
// without a tile come along to the barrier. The left operand is in a slot, or is copied there. One text serves all
// shapes, so that it stays in the instruction cache.
template <int WIDE, int AHEAD, int WIDTH>
__device__ __forceinline__ void product(
    const Tile x, int wait, const float* a, int a_stride, int depth, int how, const float4* w, float* out,
    int out_stride, int cols, int log_splits, int slot, int result_stride
) {
    // Sums of single tiles go in two chains, which are added at the end.
    constexpr int CHAINS = WIDE == 1 ? 2 : 1;
    int blocks = (depth + 15) / 16, tiles = (cols + 7) / 8;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
    int from = how & OWN ? 0 : tiles * x.rank / CLUSTER, to = how & OWN ? tiles : tiles * (x.rank + 1) / CLUSTER;
    int share = to - from;
    int splits = WIDE == 1 ? 1 << log_splits : 1, group = WIDE == 1 ? warp >> log_splits : warp, split = warp & (splits - 1);
    int tile = from + share * group / WARPS, last = from + share * (group + 1) / WARPS;
    if (splits > 1) tile = from + group, last = min(tile + 1, to);
    int begin = blocks * split >> log_splits, end = tile < last ? blocks * (split + 1) >> log_splits : begin;
    float* operands = x.stage + slot;
    float4 b[AHEAD][WIDE] = {};
    const float4* p = w;
    auto load = [&](int d, int block) {
#pragma unroll
        for (int j = 0; j < WIDE; ++j)
            stream_if(block < end && tile + j < last, b[d][j], p + (j * blocks + block) * 32);
    };
    auto start = [&]() {
        p = w + (size_t)tile * blocks * 32 + lane;
#pragma unroll
        for (int d = 0; d < AHEAD; ++d) load(d, begin + d);
    };
    // Weights do not depend on the steps before: their first values are on their way while others are waited for.
    start();
    wait_for(wait);
    if (how & COPIES) {
        stage<WIDTH>(x, operands, a, a_stride, depth, blocks, how & OF_GIVEN);
        __syncthreads();
    }
#pragma unroll 1
    for (bool once = splits > 1; once || tile < last; tile += WIDE, once = false) {
        float c[CHAINS][ROW_TILES][WIDE][4] = {};
#pragma unroll 1
        for (int block = begin; block < end; block += AHEAD) {
#pragma unroll
            for (int d = 0; d < AHEAD; ++d) {
                // Beyond the end the weights are those of an earlier block or zero: skip them.
                if (block + d < end) {
                    const float4* at = reinterpret_cast<const float4*>(operands) + (block + d) * 64 + lane;
#pragma unroll
                    for (int m = 0; m < ROW_TILES; ++m) {
                        float4 p0 = at[m * blocks * 64], p1 = at[m * blocks * 64 + 32];
#pragma unroll
                        for (int j = 0; j < WIDE; ++j) {
                            mma(c[0][m][j], p0.x, p0.y, p0.z, p0.w, b[d][j].x, b[d][j].y);
                            mma(c[CHAINS - 1][m][j], p1.x, p1.y, p1.z, p1.w, b[d][j].z, b[d][j].w);
                        }
                    }
                }
                load(d, block + d + AHEAD);
            }
        }
        if (CHAINS > 1) {
#pragma unroll
            for (int m = 0; m < ROW_TILES; ++m)
#pragma unroll
                for (int i = 0; i < 4; ++i) c[0][m][0][i] += c[CHAINS - 1][m][0][i];
        }
        if (splits > 1) {
            constexpr int SIZE = ROW_TILES * 4 * 32;
            float* part = x.scratch + group * (splits - 1) * SIZE + lane;
            if (split > 0) {
#pragma unroll
                for (int m = 0; m < ROW_TILES; ++m)
#pragma unroll
                    for (int i = 0; i < 4; ++i) part[(split - 1) * SIZE + (m * 4 + i) * 32] = c[0][m][0][i];
            }
            __syncthreads();
            if (split > 0) break;
#pragma unroll 4
            for (int s = 1; s < splits; ++s, part += SIZE)
#pragma unroll
                for (int m = 0; m < ROW_TILES; ++m)
#pragma unroll
                    for (int i = 0; i < 4; ++i) c[0][m][0][i] += part[(m * 4 + i) * 32];
        }
#pragma unroll
        for (int m = 0; m < ROW_TILES; ++m)
#pragma unroll
            for (int j = 0; j < WIDE; ++j) {
                if (tile + j >= last) break;
                int col = (tile + j) * 8 + 2 * t;
                if (how & NEAR) {
                    float* r = x.result + (m * 16 + g) * result_stride + (tile + j - from) * 8 + 2 * t;
                    *reinterpret_cast<float2*>(r) = make_float2(c[0][m][j][0], c[0][m][j][1]);
                    *reinterpret_cast<float2*>(r + 8 * result_stride) = make_float2(c[0][m][j][2], c[0][m][j][3]);
                }
                if (!(how & KEEPS)) continue;
                float* o = out + (m * 16 + g) * out_stride + col;
                if (!(how & ADDS) && out_stride % 2 == 0) {
                    if (col >= cols) continue;
                    *reinterpret_cast<float2*>(o) = make_float2(c[0][m][j][0], c[0][m][j][1]);
                    *reinterpret_cast<float2*>(o + 8 * out_stride) = make_float2(c[0][m][j][2], c[0][m][j][3]);
                    continue;
                }
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    if (col + i % 2 >= cols) continue;
                    float* q = o + i / 2 * 8 * out_stride + i % 2;
                    *q = how & ADDS ? *q + c[0][m][j][i] : c[0][m][j][i];
                }
            }
        tile += WIDE;
        if (tile < last) start();
        tile -= WIDE;
    }
}

// Lays out a right operand for `product`: depth and cols as it is multiplied, padded with zeros.
struct Packing {
    int first_block, base;
    long long offset;
    int row, col, depth, cols, blocks, to, size;
};
__device__ __forceinline__ void pack(const Packing& p, const u64* table, float4* to) {
    int at = (blockIdx.x - p.first_block) * blockDim.x + threadIdx.x;
    if (at >= p.size) return;
    const float* from = reinterpret_cast<const float*>(table[p.base]) + p.offset;
    int lane = at % 32, block = at / 32 % p.blocks, tile = at / 32 / p.blocks;
    int n = tile * 8 + lane / 4, k = block * 16 + lane % 4 * 4;
    float v[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        bool inside = n < p.cols && k + i < p.depth;
        v[i] = inside ? operand(from[(size_t)(k + i) * p.row + (size_t)n * p.col]) : 0.0f;
    }
    to[p.to + at] = make_float4(v[0], v[1], v[2], v[3]);
}
