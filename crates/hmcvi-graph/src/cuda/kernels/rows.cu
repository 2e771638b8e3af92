// A row stage: every cluster of blocks takes a tile of rows through all steps.

// An address of a step: values behind a base.
#define ARGUMENT(i) (base[arguments[i].y] + arguments[i].x)

// Where a block is: its tile's first row, and its share of every step's columns.
struct Tile {
    const Run* run;
    float* stage;  // left operands of products
    float* scratch;  // partial sums
    int rows, first, index, rank;
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

// Rows of the left operand in shared memory are this far apart, so that a quarter of a warp reads
// two rows from different banks.
__host__ __device__ constexpr int stage_stride(int blocks) { return (blocks * 16 - 16 + 31) / 32 * 32 + 16; }

// Weights are read once by each block: they must not push the tile's values out of the first-level cache.
__device__ __forceinline__ float4 stream(const float4* p) {
    float4 v;
    asm("ld.global.nc.L1::no_allocate.v4.f32 {%0,%1,%2,%3}, [%4];"
        : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(p));
    return v;
}

// Copies the tile's rows of `a`, depth columns padded with zeros to whole blocks of 16.
template <int BLOCKS, int WIDTH>
__device__ __forceinline__ void stage(const Tile x, const float* a, int a_stride, int depth, bool given) {
    constexpr int STRIDE = stage_stride(BLOCKS), COUNT = ROWS * BLOCKS * 16 / WIDTH;
    constexpr int EACH = (COUNT + THREADS - 1) / THREADS, TOGETHER = EACH < 8 ? EACH : 8;
    for (int base = 0; base < EACH; base += TOGETHER) {
        float v[TOGETHER][WIDTH];
#pragma unroll
        for (int i = 0; i < TOGETHER; ++i) {
            int at = ((base + i) * THREADS + threadIdx.x), row = at / (BLOCKS * 16 / WIDTH);
            int col = at % (BLOCKS * 16 / WIDTH) * WIDTH;
            // Rows beyond the batch: those of what is given do not exist, and their results are not used.
            if (given && x.first + row >= x.rows) row = x.rows - 1 - x.first;
#pragma unroll
            for (int j = 0; j < WIDTH; ++j) v[i][j] = 0.0f;
            if (at < COUNT && col < depth) {
                const float* p = a + row * a_stride + col;
                if (WIDTH == 4) {
                    float4 w = *reinterpret_cast<const float4*>(p);
                    v[i][0] = w.x, v[i][1 % WIDTH] = w.y, v[i][2 % WIDTH] = w.z, v[i][3 % WIDTH] = w.w;
                } else {
                    v[i][0] = *p;
                }
            }
        }
#pragma unroll
        for (int i = 0; i < TOGETHER; ++i) {
            int at = ((base + i) * THREADS + threadIdx.x), row = at / (BLOCKS * 16 / WIDTH);
            int col = at % (BLOCKS * 16 / WIDTH) * WIDTH;
            if (at >= COUNT) continue;
            float* to = x.stage + row * STRIDE + col;
#pragma unroll
            for (int j = 0; j < WIDTH; ++j) to[j] = operand(v[i][j]);
        }
    }
}

// out = a · w for the tile's rows, or out += a · w. BLOCKS blocks of 16 deep, TILES tiles of 8 columns.
// `w` is packed: tile by tile, block by block, four values for each lane.
template <int BLOCKS, int TILES, int WIDTH>
__device__ __forceinline__ void product(
    const Tile x, const float* a, int a_stride, int depth, bool given, const float4* w, float* out,
    int out_stride, int cols, bool add
) {
    constexpr int STRIDE = stage_stride(BLOCKS);
    constexpr int SHARE = (TILES + CLUSTER - 1) / CLUSTER;
    constexpr int MOST = 8 / ROW_TILES, EVEN = (SHARE + WARPS - 1) / WARPS;
    constexpr int WIDE = EVEN < MOST ? EVEN : MOST;
    constexpr int GROUPS = (SHARE + WIDE - 1) / WIDE;
    constexpr int FIT = GROUPS < WARPS ? WARPS / GROUPS : 1;
    constexpr int SPLITS = FIT < BLOCKS ? FIT : BLOCKS;
    constexpr int TOGETHER = WARPS / SPLITS;
    constexpr int AHEAD = WIDE >= 4 ? 2 : WIDE >= 2 ? 4 : 8;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int g = lane / 4, t = lane % 4;
    int from = TILES * x.rank / CLUSTER, to = TILES * (x.rank + 1) / CLUSTER;
    int split = warp % SPLITS, group = warp / SPLITS;
    int begin = BLOCKS * split / SPLITS, end = BLOCKS * (split + 1) / SPLITS;
    float4 b[AHEAD][WIDE];
    const float4* p = w;
    int tile = 0;
    auto load = [&](int d, int block) {
        if (block < end) {
#pragma unroll
            for (int j = 0; j < WIDE; ++j)
                if (tile + j < to) b[d][j] = stream(p + (j * BLOCKS + block) * 32);
        }
    };
    auto start = [&]() {
        tile = from + group * WIDE;
        p = w + (size_t)tile * BLOCKS * 32 + lane;
#pragma unroll
        for (int d = 0; d < AHEAD; ++d) load(d, begin + d);
    };
    // Weights do not depend on the steps before: their first values are on their way while `a` is staged.
    start();
    stage<BLOCKS, WIDTH>(x, a, a_stride, depth, given);
    __syncthreads();
    for (; group < GROUPS && warp < TOGETHER * SPLITS; group += TOGETHER) {
        float c[ROW_TILES][WIDE][4] = {};
        for (int block = begin; block < end; block += AHEAD) {
#pragma unroll
            for (int d = 0; d < AHEAD; ++d) {
                if (block + d >= end) break;
                const float* at = x.stage + g * STRIDE + (block + d) * 16 + 4 * t;
#pragma unroll
                for (int m = 0; m < ROW_TILES; ++m) {
                    float4 a0 = *reinterpret_cast<const float4*>(at + m * 16 * STRIDE);
                    float4 a1 = *reinterpret_cast<const float4*>(at + (m * 16 + 8) * STRIDE);
#pragma unroll
                    for (int j = 0; j < WIDE; ++j) {
                        mma(c[m][j], a0.x, a1.x, a0.y, a1.y, b[d][j].x, b[d][j].y);
                        mma(c[m][j], a0.z, a1.z, a0.w, a1.w, b[d][j].z, b[d][j].w);
                    }
                }
                load(d, block + d + AHEAD);
            }
        }
        if (SPLITS > 1) {
            constexpr int SIZE = ROW_TILES * WIDE * 4 * 32;
            float* part = x.scratch + (group * (SPLITS - 1) + split - 1) * SIZE + lane;
            if (split > 0) {
#pragma unroll
                for (int m = 0; m < ROW_TILES; ++m)
#pragma unroll
                    for (int j = 0; j < WIDE; ++j)
#pragma unroll
                        for (int i = 0; i < 4; ++i) part[((m * WIDE + j) * 4 + i) * 32] = c[m][j][i];
            }
            asm volatile("bar.sync 1, %0;" ::"n"(GROUPS * SPLITS * 32) : "memory");
            if (split > 0) continue;
            part += SIZE;
            for (int s = 1; s < SPLITS; ++s, part += SIZE)
#pragma unroll
                for (int m = 0; m < ROW_TILES; ++m)
#pragma unroll
                    for (int j = 0; j < WIDE; ++j)
#pragma unroll
                        for (int i = 0; i < 4; ++i) c[m][j][i] += part[((m * WIDE + j) * 4 + i) * 32];
        }
#pragma unroll
        for (int m = 0; m < ROW_TILES; ++m)
#pragma unroll
            for (int j = 0; j < WIDE; ++j) {
                if (tile + j >= to) continue;
                int col = (tile + j) * 8 + 2 * t;
                if (!add && out_stride % 2 == 0) {
                    if (col >= cols) continue;
#pragma unroll
                    for (int i = 0; i < 2; ++i)
                        *reinterpret_cast<float2*>(out + (m * 16 + g + i * 8) * out_stride + col) =
                            make_float2(c[m][j][2 * i], c[m][j][2 * i + 1]);
                    continue;
                }
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    if (col + i % 2 >= cols) continue;
                    float* o = out + (m * 16 + g + i / 2 * 8) * out_stride + col + i % 2;
                    *o = add ? *o + c[m][j][i] : c[m][j][i];
                }
            }
        group += TOGETHER;
        if (group < GROUPS) start();
        group -= TOGETHER;
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
