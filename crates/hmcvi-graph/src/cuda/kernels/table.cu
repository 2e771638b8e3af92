// Data sets of values. Programs that gather none do without this text.

// All values, row by row; or, with the starts of rows, those that are not zero, in ascending columns.
struct Table {
    const float* values;
    const u64* starts;
    const u32* columns;
};

// All threads of a run have the same table, so they take the same branch.
__device__ __forceinline__ float table_value(const Table* table, u32 row, int cols, int col) {
    const float* values = table->values;
    const u64* starts = table->starts;
    if (starts == nullptr) return __ldg(values + (size_t)row * cols + col);
    const u32* columns = table->columns;
    u64 low = __ldg(starts + row), end = __ldg(starts + row + 1), high = end;
    while (low < high) {
        u64 middle = (low + high) / 2;
        if (__ldg(columns + middle) < (u32)col) low = middle + 1;
        else high = middle;
    }
    return low < end && __ldg(columns + low) == (u32)col ? __ldg(values + low) : 0.0f;
}
