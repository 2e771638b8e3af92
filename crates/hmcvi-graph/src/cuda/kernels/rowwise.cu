// Functions of whole rows, a warp for each row. Programs that use none of them do without this text.

__device__ __forceinline__ void gather_cols(int lane, const float* x, const u32* from, int cols, float* to) {
    for (int j = lane; j < cols; j += 32) to[j] = x[__ldg(from + j)];
}

// Places of the summands of column k: those from starts[k] to starts[k + 1].
__device__ __forceinline__ void segment_sum_cols(
    int lane, const float* x, const u32* starts, const u32* places, int cols, float* to
) {
    for (int k = lane; k < cols; k += 32) {
        float sum = 0.0f;
        u32 end = __ldg(starts + k + 1);
        for (u32 i = __ldg(starts + k); i < end; ++i) sum += x[__ldg(places + i)];
        to[k] = sum;
    }
}

template <bool REVERSE>
__device__ __forceinline__ void cumsum_cols(int lane, const float* x, int cols, float* to) {
    float before = 0.0f;
    for (int first = 0; first < cols; first += 32) {
        int j = first + lane, at = REVERSE ? cols - 1 - j : j;
        float sum = j < cols ? x[at] : 0.0f;
#pragma unroll
        for (int d = 1; d < 32; d *= 2) {
            float left = __shfl_up_sync(0xffffffffu, sum, d);
            if (lane >= d) sum += left;
        }
        sum += before;
        if (j < cols) to[at] = sum;
        before = __shfl_sync(0xffffffffu, sum, 31);
    }
}

template <bool REVERSE>
__device__ __forceinline__ void cumsum_groups(int lane, const float* x, int group, int cols, float* to) {
    for (int first = 0; first < cols; first += group) cumsum_cols<REVERSE>(lane, x + first, group, to + first);
}

__device__ __forceinline__ void log_sum_exp_groups(int lane, const float* x, int group, int groups, float* to) {
    for (int g = lane; g < groups; g += 32) {
        const float* from = x + g * group;
        float most = -__uint_as_float(0x7f800000u), sum = 0.0f;
        for (int i = 0; i < group; ++i) most = f_max(most, from[i]);
        for (int i = 0; i < group; ++i) sum += expf(from[i] - most);
        to[g] = log_sum(most, sum);
    }
}

// Column by column: l[i, j] = (a[i, j] - sum of l[i, k] l[j, k] for k < j) / l[j, j].
__device__ __forceinline__ void cholesky(int lane, const float* a, int n, float* l) {
    for (int j = 0; j < n; ++j) {
        float sum = 0.0f;
        for (int k = lane; k < j; k += 32) sum = fmaf(l[j * n + k], l[j * n + k], sum);
        float diagonal = sqrtf(a[j * n + j] - warp_sum(sum));
        for (int i = lane; i < n; i += 32) {
            float value = i < j ? 0.0f : diagonal;
            if (i > j) {
                value = a[i * n + j];
                for (int k = 0; k < j; ++k) value = fmaf(-l[i * n + k], l[j * n + k], value);
                value /= diagonal;
            }
            l[i * n + j] = value;
        }
        __syncwarp();
    }
}

// Jacobi's rotations: lanes share the rows and columns that a rotation changes. The diagonal of the first half of the
// result gets the eigenvalues, ascending, the columns of the second half the eigenvectors.
__device__ __forceinline__ void symmetric_eigen(int lane, const float* x, int n, float* a) {
    float* v = a + n * n;
    for (int at = lane; at < n * n; at += 32) {
        a[at] = x[at];
        v[at] = at / n == at % n ? 1.0f : 0.0f;
    }
    __syncwarp();
    bool rotated = true;
    for (int sweep = 0; sweep < 30 && rotated; ++sweep) {
        rotated = false;
        for (int p = 0; p < n; ++p)
            for (int q = p + 1; q < n; ++q) {
                float first = a[p * n + p], second = a[q * n + q], off = a[p * n + q];
                __syncwarp();
                if (first + off == first && second + off == second) {
                    if (lane == 0) a[p * n + q] = a[q * n + p] = 0.0f;
                    __syncwarp();
                    continue;
                }
                rotated = true;
                float theta = (second - first) / (off + off);
                float size = 1.0f / (fabsf(theta) + sqrtf(theta * theta + 1.0f));
                float t = theta < 0.0f ? -size : size, c = 1.0f / sqrtf(t * t + 1.0f), s = t * c;
                for (int k = lane; k < n; k += 32) {
                    float y = a[k * n + p], z = a[k * n + q], w = v[k * n + p], u = v[k * n + q];
                    a[k * n + p] = c * y - s * z, a[k * n + q] = s * y + c * z;
                    v[k * n + p] = c * w - s * u, v[k * n + q] = s * w + c * u;
                }
                __syncwarp();
                for (int k = lane; k < n; k += 32) {
                    float y = a[p * n + k], z = a[q * n + k];
                    a[p * n + k] = c * y - s * z, a[q * n + k] = s * y + c * z;
                }
                __syncwarp();
            }
    }
    for (int i = 0; i < n; ++i) {
        int least = i;
        for (int j = i + 1; j < n; ++j)
            if (a[j * n + j] < a[least * n + least]) least = j;
        float low = a[least * n + least], here = a[i * n + i];
        __syncwarp();
        if (lane == 0) a[least * n + least] = here, a[i * n + i] = low;
        for (int k = lane; k < n; k += 32) {
            float y = v[k * n + i];
            v[k * n + i] = v[k * n + least], v[k * n + least] = y;
        }
        __syncwarp();
    }
    for (int at = lane; at < n * n; at += 32)
        if (at / n != at % n) a[at] = 0.0f;
    __syncwarp();
}

// Row i of the result needs those before it, or behind it where the triangle is read transposed. Lanes share the
// columns where there are many, else the sums.
template <bool TRANSPOSED>
__device__ __forceinline__ void triangular_solve(int lane, const float* l, const float* b, int n, int cols, float* to) {
    bool by_columns = cols >= 8;
    for (int step = 0; step < n; ++step) {
        int i = TRANSPOSED ? n - 1 - step : step;
        for (int c = by_columns ? lane : 0; c < cols; c += by_columns ? 32 : 1) {
            float sum = 0.0f;
            for (int k = by_columns ? 0 : lane; k < step; k += by_columns ? 1 : 32) {
                int p = TRANSPOSED ? n - 1 - k : k;
                sum = fmaf(l[TRANSPOSED ? p * n + i : i * n + p], to[p * cols + c], sum);
            }
            if (!by_columns) sum = warp_sum(sum);
            if (by_columns || lane == 0) to[i * cols + c] = (b[i * cols + c] - sum) / l[i * n + i];
        }
        __syncwarp();
    }
}

template <bool LEFT, bool RIGHT>
__device__ __forceinline__ void row_matmul(
    int lane, const float* a, const float* b, int rows, int depth, int cols, float* to
) {
    for (int at = lane; at < rows * cols; at += 32) {
        int i = at / cols, j = at % cols;
        float sum = 0.0f;
        for (int p = 0; p < depth; ++p)
            sum = fmaf(a[LEFT ? p * rows + i : i * depth + p], b[RIGHT ? j * depth + p : p * cols + j], sum);
        to[at] = sum;
    }
}
