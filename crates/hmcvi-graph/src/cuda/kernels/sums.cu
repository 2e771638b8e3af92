// Sums over rows Σ ± aᵀb: stacked products of many terms, cut into shares that are added in order.

struct Term {
    int a, b;  // bases of the operands
    long long a_offset, b_offset;
    long long a_pitch, b_pitch;  // from tile to tile
    int a_stride, b_stride;  // from row to row
    float sign;
};
// Shares of one sum: blocks of 64 by 64 results, each summed by `shares` blocks of threads.
struct Region {
    int first_block, first_term, terms, rows, cols, across, shares;
    long long to;
};
// A summand of a target: `shares` copies of rows of the target, or one for each tile.
struct Part {
    int row, rows, shares, stride;
    long long from;
};
struct Total {
    int first_block, rows, cols, first_part, parts;
    long long to;
};

constexpr int SIDE = 64, DEPTH = 32, PITCH = SIDE + 8;

// A thread's share of a DEPTH by SIDE piece of an operand.
struct Piece {
    float v[8];
    __device__ __forceinline__ void load(const float* p, long long pitch, int stride, int col, int cols, int row, int rows, float sign) {
        int c = threadIdx.x % 16 * 4, r = threadIdx.x / 16;
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            int y = row + r + i * 16;
            const float* q = p + y / ROWS * pitch + y % ROWS * stride + col + c;
            bool whole = y < rows && col + c + 3 < cols && (reinterpret_cast<size_t>(q) & 15) == 0;
            if (whole) {
                float4 w = *reinterpret_cast<const float4*>(q);
                v[4 * i] = w.x, v[4 * i + 1] = w.y, v[4 * i + 2] = w.z, v[4 * i + 3] = w.w;
            } else {
#pragma unroll
                for (int j = 0; j < 4; ++j) v[4 * i + j] = y < rows && col + c + j < cols ? q[j] : 0.0f;
            }
        }
#pragma unroll
        for (int i = 0; i < 8; ++i) v[i] = operand(sign * v[i]);
    }
    __device__ __forceinline__ void keep(float (*to)[PITCH]) {
        int c = threadIdx.x % 16 * 4, r = threadIdx.x / 16;
#pragma unroll
        for (int i = 0; i < 2; ++i)
            *reinterpret_cast<float4*>(&to[r + i * 16][c]) =
                make_float4(v[4 * i], v[4 * i + 1], v[4 * i + 2], v[4 * i + 3]);
    }
};

// One share of one block of results, by 256 threads.
__device__ __forceinline__ void accumulate(
    const Region& region, const Term* terms, u64 const* table, float* parts, int rows
) {
    __shared__ float left[2][DEPTH][PITCH], right[2][DEPTH][PITCH];
    int local = blockIdx.x - region.first_block, share = local % region.shares;
    int place = local / region.shares, col = place % region.across * SIDE, row = place / region.across * SIDE;
    int chunks = (rows + DEPTH - 1) / DEPTH, all = region.terms * chunks;
    int begin = (int)((long long)all * share / region.shares), end = (int)((long long)all * (share + 1) / region.shares);
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
    int m = warp % 4 * 16, n = warp / 4 * 32;
    float total[4][4] = {};
    Piece p, q;
    auto load = [&](int at) {
        const Term& term = terms[region.first_term + at / chunks];
        int from = at % chunks * DEPTH;
        const float* a = reinterpret_cast<const float*>(table[term.a]) + term.a_offset;
        const float* b = reinterpret_cast<const float*>(table[term.b]) + term.b_offset;
        p.load(a, term.a_pitch, term.a_stride, row, region.rows, from, rows, 1.0f);
        q.load(b, term.b_pitch, term.b_stride, col, region.cols, from, rows, term.sign);
    };
    if (begin < end) load(begin);
    for (int at = begin; at < end; ++at) {
        int side = (at - begin) % 2;
        p.keep(left[side]);
        q.keep(right[side]);
        __syncthreads();
        if (at + 1 < end) load(at + 1);
        // Tensor cores cut off what they add up; pieces are short and added with rounding.
        float c[4][4] = {};
#pragma unroll
        for (int k = 0; k < DEPTH; k += 8) {
            float(*x)[PITCH] = left[side], (*y)[PITCH] = right[side];
            float a0 = x[k + t][m + g], a1 = x[k + t][m + g + 8];
            float a2 = x[k + t + 4][m + g], a3 = x[k + t + 4][m + g + 8];
#pragma unroll
            for (int j = 0; j < 4; ++j) mma(c[j], a0, a1, a2, a3, y[k + t][n + j * 8 + g], y[k + t + 4][n + j * 8 + g]);
        }
#pragma unroll
        for (int j = 0; j < 4; ++j)
#pragma unroll
            for (int i = 0; i < 4; ++i) total[j][i] += c[j][i];
    }
    float* out = parts + region.to + (size_t)share * region.rows * region.cols;
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            int y = row + m + g + i / 2 * 8, z = col + n + j * 8 + 2 * t + i % 2;
            if (y < region.rows && z < region.cols) out[(size_t)y * region.cols + z] = total[j][i];
        }
}

// Values of a target: its summands added in order; what has none is zero.
__device__ __forceinline__ void total(const Total& total, const Part* part, const float* parts, float* sums, int tiles) {
    int at = (blockIdx.x - total.first_block) * blockDim.x + threadIdx.x;
    if (at >= total.rows * total.cols) return;
    int row = at / total.cols;
    float sum = 0.0f;
    for (int i = total.first_part; i < total.first_part + total.parts; ++i) {
        Part p = part[i];
        if (row < p.row || row >= p.row + p.rows) continue;
        const float* from = parts + p.from + at - p.row * total.cols;
        int shares = p.shares < 0 ? tiles : p.shares, s = 0;
        for (; s + 8 <= shares; s += 8) {
            float v[8];
#pragma unroll
            for (int j = 0; j < 8; ++j) v[j] = from[(size_t)(s + j) * p.stride];
#pragma unroll
            for (int j = 0; j < 8; ++j) sum += v[j];
        }
        for (; s < shares; ++s) sum += from[(size_t)s * p.stride];
    }
    sums[total.to + at] = sum;
}

// Which block of a fixed step's work a block of threads does, and the rows of the batch.
struct Share {
    int block, rows;
};

// A product of fixed matrices, a value for each thread: these are small or rare.
__device__ __noinline__ void fixed_product(
    int block, int rows, int depth, int cols, const float* a, int a_row, int a_col, const float* b, int b_row,
    int b_col, float* out, int out_stride
) {
    int at = block * blockDim.x + threadIdx.x;
    if (at >= rows * cols) return;
    int row = at / cols, col = at % cols;
    float sum = 0.0f;
#pragma unroll 4
    for (int k = 0; k < depth; ++k) sum = fmaf(a[(size_t)row * a_row + k * a_col], b[(size_t)k * b_row + col * b_col], sum);
    out[row * out_stride + col] = sum;
}
