// Sums over rows Σ ± aᵀb: stacked products of many terms, cut into shares that are added in order.

struct Term {
    int a, b;  // bases of the operands
    long long a_offset, b_offset;
    long long a_pitch, b_pitch;  // from tile to tile
    int a_stride, b_stride;  // from row to row
};
// Shares of one sum: blocks of TALL by BROAD results, each summed by `shares` blocks of threads.
struct Region {
    int first_block, first_term, terms, first_negative, rows, cols, across, shares;
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

// Results of a block of threads, rows of the batch that are multiplied at a time, and such pieces of the
// operands that are in shared memory or on their way.
constexpr int TALL = 128, BROAD = 112, DEPTH = 16, PIECES = 4;
constexpr int LEFT = TALL + 8, RIGHT = BROAD + 8, PIECE = DEPTH * (LEFT + RIGHT);

// Copies up to DEPTH rows of an operand to shared memory, zeros where there are none.
template <int WIDTH, int PITCH>
__device__ __forceinline__ void fetch(float* to, const float* p, int stride, int cols, int rows) {
    u32 at = (u32)__cvta_generic_to_shared(to);
    if ((reinterpret_cast<size_t>(p) & 15) == 0 && stride % 4 == 0) {
        constexpr int FOURS = DEPTH * WIDTH / 4;
#pragma unroll
        for (int i = 0; i < (FOURS + 255) / 256; ++i) {
            int four = threadIdx.x + i * 256, r = four / (WIDTH / 4), c = four % (WIDTH / 4) * 4;
            int bytes = r < rows ? max(0, min(16, (cols - c) * 4)) : 0;
            const float* q = bytes > 0 ? p + r * stride + c : p;
            if (FOURS % 256 == 0 || four < FOURS)
                asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at + (r * PITCH + c) * 4), "l"(q), "r"(bytes));
        }
    } else {
#pragma unroll 1
        for (int i = threadIdx.x; i < DEPTH * WIDTH; i += 256) {
            int r = i / WIDTH, c = i % WIDTH, bytes = r < rows && c < cols ? 4 : 0;
            const float* q = bytes > 0 ? p + r * stride + c : p;
            asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(at + (r * PITCH + c) * 4), "l"(q), "r"(bytes));
        }
    }
}

// As `operand`, without clearing the bits that tensor cores do not look at.
__device__ __forceinline__ float rounded(float x) {
#if EXACT
    return x;
#else
    u32 bits = __float_as_uint(x);
    if (fabsf(x) < __uint_as_float(0x7f800000u)) bits += 0x1000u;
    return __uint_as_float(bits);
#endif
}

// One share of one block of results, by 256 threads: each warp has 32 by 56 results.
__device__ __forceinline__ void accumulate(
    const Region& region, const Term* terms, u64 const* table, float* parts, int rows
) {
    extern __shared__ float4 memory[];
    float* pieces = reinterpret_cast<float*>(memory);
    // Shares of the same rows run at the same time, so that their operands are read once.
    int places = (region.rows + TALL - 1) / TALL * region.across;
    int local = blockIdx.x - region.first_block, share = local / places, place = local % places;
    int col = place % region.across * BROAD, row = place / region.across * TALL;
    // A process that has no rows of a small batch has sums of nothing.
    int chunks = max(1, (rows + DEPTH - 1) / DEPTH), all = region.terms * chunks;
    int begin = (int)((long long)all * share / region.shares), end = (int)((long long)all * (share + 1) / region.shares);
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
    int m = warp % 4 * 32, n = warp / 4 * 56;
    int term = region.first_term + begin / chunks, chunk = begin % chunks;
    auto load = [&](int at) {
        if (at < end) {
            const Term& of = terms[term];
            int first = chunk * DEPTH, inside = rows - first;
            const float* a = reinterpret_cast<const float*>(table[of.a]) + of.a_offset + first / ROWS * of.a_pitch;
            const float* b = reinterpret_cast<const float*>(table[of.b]) + of.b_offset + first / ROWS * of.b_pitch;
            float* to = pieces + (at - begin) % PIECES * PIECE;
            fetch<TALL, LEFT>(to, a + first % ROWS * of.a_stride + row, of.a_stride, region.rows - row, inside);
            fetch<BROAD, RIGHT>(to + DEPTH * LEFT, b + first % ROWS * of.b_stride + col, of.b_stride, region.cols - col, inside);
            if (++chunk == chunks) chunk = 0, ++term;
        }
        asm volatile("cp.async.commit_group;");
    };
    float total[2][7][4] = {};
    for (int i = 0; i < PIECES - 1; ++i) load(begin + i);
    // Terms of one sign come one after the other: sums change their sign where the others begin.
    int change = region.first_negative * chunks;
    float sign = begin < change ? 1.0f : -1.0f;
    for (int at = begin; at < end; ++at) {
        asm volatile("cp.async.wait_group %0;" ::"n"(PIECES - 2));
        __syncthreads();
        load(at + PIECES - 1);
        const float* x = pieces + (at - begin) % PIECES * PIECE;
        const float* y = x + DEPTH * LEFT;
        if (at == change && at > begin) {
            sign = -1.0f;
#pragma unroll
            for (int i = 0; i < 56; ++i) total[i / 28][i / 4 % 7][i % 4] *= -1.0f;
        }
#if EXACT
        // Tensor cores cut off what they add up; pieces are short and added with rounding.
        float c[2][7][4] = {};
#else
        float(&c)[2][7][4] = total;
#endif
#pragma unroll
        for (int k = 0; k < DEPTH; k += 8) {
            float a[2][4];
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                const float* p = x + (k + t) * LEFT + m + i * 16 + g;
                a[i][0] = rounded(p[0]), a[i][1] = rounded(p[8]);
                a[i][2] = rounded(p[4 * LEFT]), a[i][3] = rounded(p[4 * LEFT + 8]);
            }
#pragma unroll
            for (int j = 0; j < 7; ++j) {
                const float* q = y + (k + t) * RIGHT + n + j * 8 + g;
                float b0 = rounded(q[0]), b1 = rounded(q[4 * RIGHT]);
#pragma unroll
                for (int i = 0; i < 2; ++i) mma(c[i][j], a[i][0], a[i][1], a[i][2], a[i][3], b0, b1);
            }
        }
#if EXACT
#pragma unroll
        for (int i = 0; i < 56; ++i) total[i / 28][i / 4 % 7][i % 4] += c[i / 28][i / 4 % 7][i % 4];
#endif
    }
    float* out = parts + region.to + (size_t)share * region.rows * region.cols;
#pragma unroll
    for (int i = 0; i < 56; ++i) {
        int y = row + m + i / 28 * 16 + g + i % 4 / 2 * 8, z = col + n + i / 4 % 7 * 8 + 2 * t + i % 2;
        if (y < region.rows && z < region.cols) out[(size_t)y * region.cols + z] = sign * total[i / 28][i / 4 % 7][i % 4];
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

// Which block of a fixed step's work a block of threads does, and the rows of the batch of all processes.
struct Share {
    int block, all;
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
