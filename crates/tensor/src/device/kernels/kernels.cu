// Kernels of Taper. `kernels.ptx` is what the compiler makes of this file; see `make`.

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

__device__ __forceinline__ u64 thread_index() {
    return (u64)blockIdx.x * blockDim.x + threadIdx.x;
}

__device__ __forceinline__ void quarter_round(u32 &a, u32 &b, u32 &c, u32 &d) {
    a += b; d ^= a; d = __funnelshift_l(d, d, 16);
    c += d; b ^= c; b = __funnelshift_l(b, b, 12);
    a += b; d ^= a; d = __funnelshift_l(d, d, 8);
    c += d; b ^= c; b = __funnelshift_l(b, b, 7);
}

// Draws n uniform values from [0, 1), and writes 1 for each that is at least p, else 0. They are words of
// ChaCha with 12 rounds, from word `offset` of this block on. A thread computes a block of 16 words.
extern "C" __global__ void keep_u8(u8 *out, u64 n, u64 block, u32 offset, u64 stream, float p, u32 k0, u32 k1,
                                   u32 k2, u32 k3, u32 k4, u32 k5, u32 k6, u32 k7) {
    u64 thread = thread_index();
    if (thread * 16 >= n + offset) return;
    block += thread;
    const u32 in[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574, k0, k1, k2, k3, k4, k5, k6, k7,
                        (u32)block, (u32)(block >> 32), (u32)stream, (u32)(stream >> 32)};
    u32 x[16];
#pragma unroll
    for (int i = 0; i < 16; i++) x[i] = in[i];
#pragma unroll 1
    for (int i = 0; i < 6; i++) {
        quarter_round(x[0], x[4], x[8], x[12]);
        quarter_round(x[1], x[5], x[9], x[13]);
        quarter_round(x[2], x[6], x[10], x[14]);
        quarter_round(x[3], x[7], x[11], x[15]);
        quarter_round(x[0], x[5], x[10], x[15]);
        quarter_round(x[1], x[6], x[11], x[12]);
        quarter_round(x[2], x[7], x[8], x[13]);
        quarter_round(x[3], x[4], x[9], x[14]);
    }
#pragma unroll
    for (int i = 0; i < 16; i++) {
        u64 at = thread * 16 + i - offset; // before the first, this wraps around to a huge value
        float unit = (float)((x[i] + in[i]) >> 8) * (1.0f / 16777216.0f);
        if (at < n) out[at] = unit >= p;
    }
}

// The windows that a convolution or pooling moves over planes of height × width.
#define WINDOWS                                                                                               \
    u32 planes, u32 height, u32 width, u32 rows, u32 columns, u32 out_height, u32 out_width, u32 down,        \
        u32 right, u32 row_step, u32 column_step, u32 above, u32 before
#define WINDOWS_PASSED                                                                                        \
    planes, height, width, rows, columns, out_height, out_width, down, right, row_step, column_step, above, before

// Calls f for each place in the window of an output: with the index of the place, and with that of its pixel in the
// plane, or `outside` behind the border.
const u32 outside = 0xffffffff;
template <typename F>
__device__ __forceinline__ void for_each_in_window(u32 output, WINDOWS, F f) {
    u32 first_y = output / out_width * down, first_x = output % out_width * right, place = 0;
#pragma unroll 1
    for (u32 row = 0; row < rows; row++) {
#pragma unroll 1
        for (u32 column = 0; column < columns; column++) {
            // In front of the border, these wrap around to huge values.
            u32 y = first_y + row * row_step - above, x = first_x + column * column_step - before;
            f(place++, y < height && x < width ? y * width + x : outside);
        }
    }
}

// Calls f for each window that contains the pixel: with the index of its place there, and with that of the output.
template <typename F>
__device__ __forceinline__ void for_each_window(u32 pixel, WINDOWS, F f) {
    u32 y = pixel / width + above, x = pixel % width + before;
#pragma unroll 1
    for (u32 row = 0; row < rows; row++) {
        u32 from_y = y - row * row_step, out_y = from_y / down;
        if (row * row_step > y || out_y * down != from_y || out_y >= out_height) continue;
#pragma unroll 1
        for (u32 column = 0; column < columns; column++) {
            u32 from_x = x - column * column_step, out_x = from_x / right;
            if (column * column_step > x || out_x * right != from_x || out_x >= out_width) continue;
            f(row * columns + column, out_y * out_width + out_x);
        }
    }
}

// In each kernel, `part` is the index of an output, or of a pixel, in its plane.
#define A_THREAD_FOR_EACH(elements)                                                                           \
    u64 index = thread_index();                                                                               \
    u32 pixels = height * width, outputs = out_height * out_width;                                            \
    if (index >= (u64)planes * elements) return;                                                              \
    u64 plane = index / elements;                                                                             \
    u32 part = (u32)(index % elements);                                                                       \
    (void)part;

// Copies the patches of images (im2col), a column for each output: (planes, rows, columns, out_height, out_width).
// Behind the border there are zeros.
template <typename T>
__device__ __forceinline__ void im2col(T *out, const T *in, WINDOWS) {
    A_THREAD_FOR_EACH(outputs)
    in += plane * pixels;
    out += plane * rows * columns * outputs + part;
    for_each_in_window(part, WINDOWS_PASSED, [&](u32 place, u32 pixel) {
        out[(u64)place * outputs] = pixel == outside ? (T)0 : in[pixel];
    });
}

// Adds up the columns of `im2col`: the gradient of the images.
template <typename T>
__device__ __forceinline__ void col2im(T *out, const T *in, WINDOWS) {
    A_THREAD_FOR_EACH(pixels)
    in += plane * rows * columns * outputs;
    T sum = 0;
    for_each_window(part, WINDOWS_PASSED,
                    [&](u32 place, u32 output) { sum += in[(u64)place * outputs + output]; });
    out[index] = sum;
}

// Writes the index in its plane of each window's maximum: the first of equal ones, the last NaN.
template <typename T>
__device__ __forceinline__ void maxima(u32 *out, const T *in, WINDOWS) {
    A_THREAD_FOR_EACH(outputs)
    in += plane * pixels;
    u32 best = outside;
    T largest = 0;
    for_each_in_window(part, WINDOWS_PASSED, [&](u32, u32 pixel) {
        if (pixel == outside) return;
        T value = in[pixel];
        if (best == outside || value > largest || value != value) {
            largest = value;
            best = pixel;
        }
    });
    out[index] = best;
}

// Copies the elements with these indices from each plane.
template <typename T>
__device__ __forceinline__ void pick(T *out, const T *in, const u32 *indices, WINDOWS) {
    A_THREAD_FOR_EACH(outputs)
    out[index] = in[plane * pixels + indices[index]];
}

// The gradient of `pick`.
template <typename T>
__device__ __forceinline__ void unpick(T *out, const T *in, const u32 *indices, WINDOWS) {
    A_THREAD_FOR_EACH(pixels)
    in += plane * outputs;
    indices += plane * outputs;
    T sum = 0;
    for_each_window(part, WINDOWS_PASSED, [&](u32, u32 output) {
        if (indices[output] == part) sum += in[output];
    });
    out[index] = sum;
}

// Adds up each window; behind the border there are zeros.
template <typename T>
__device__ __forceinline__ void sums(T *out, const T *in, WINDOWS) {
    A_THREAD_FOR_EACH(outputs)
    in += plane * pixels;
    T sum = 0;
    for_each_in_window(part, WINDOWS_PASSED, [&](u32, u32 pixel) {
        if (pixel != outside) sum += in[pixel];
    });
    out[index] = sum;
}

// The gradient of `sums`.
template <typename T>
__device__ __forceinline__ void unsum(T *out, const T *in, WINDOWS) {
    A_THREAD_FOR_EACH(pixels)
    in += plane * outputs;
    T sum = 0;
    for_each_window(part, WINDOWS_PASSED, [&](u32, u32 output) { sum += in[output]; });
    out[index] = sum;
}

// Adds the bias of each channel in place.
template <typename T>
__device__ __forceinline__ void bias(T *out, const T *in, u64 elements, u32 size, u32 channels) {
    u64 index = thread_index();
    if (index < elements) out[index] += in[index / size % channels];
}

// in · a + b, with an `a` and a `b` for each channel, which are the rows of a table.
template <typename T>
__device__ __forceinline__ void affine(T *out, const T *in, const T *table, u64 elements, u32 size, u32 channels) {
    u64 index = thread_index();
    if (index >= elements) return;
    u32 channel = (u32)(index / size % channels);
    out[index] = in[index] * table[channel] + table[channels + channel];
}

// in · a + other · b + c, with an `a`, `b` and `c` for each channel, which are the rows of a table.
template <typename T>
__device__ __forceinline__ void combine(T *out, const T *in, const T *other, const T *table, u64 elements, u32 size,
                                        u32 channels) {
    u64 index = thread_index();
    if (index >= elements) return;
    u32 channel = (u32)(index / size % channels);
    out[index] = in[index] * table[channel] + other[index] * table[channels + channel] +
                 table[2 * channels + channel];
}

#define OF_TYPE(T, name)                                                                                      \
    extern "C" __global__ void im2col_##name(T *out, const T *in, WINDOWS) { im2col(out, in, WINDOWS_PASSED); } \
    extern "C" __global__ void col2im_##name(T *out, const T *in, WINDOWS) { col2im(out, in, WINDOWS_PASSED); } \
    extern "C" __global__ void maxima_##name(u32 *out, const T *in, WINDOWS) { maxima(out, in, WINDOWS_PASSED); } \
    extern "C" __global__ void pick_##name(T *out, const T *in, const u32 *indices, WINDOWS) {                \
        pick(out, in, indices, WINDOWS_PASSED);                                                               \
    }                                                                                                         \
    extern "C" __global__ void unpick_##name(T *out, const T *in, const u32 *indices, WINDOWS) {              \
        unpick(out, in, indices, WINDOWS_PASSED);                                                             \
    }                                                                                                         \
    extern "C" __global__ void sums_##name(T *out, const T *in, WINDOWS) { sums(out, in, WINDOWS_PASSED); }   \
    extern "C" __global__ void unsum_##name(T *out, const T *in, WINDOWS) { unsum(out, in, WINDOWS_PASSED); } \
    extern "C" __global__ void bias_##name(T *out, const T *in, u64 elements, u32 size, u32 channels) {       \
        bias(out, in, elements, size, channels);                                                              \
    }                                                                                                         \
    extern "C" __global__ void affine_##name(T *out, const T *in, const T *table, u64 elements, u32 size,     \
                                             u32 channels) {                                                  \
        affine(out, in, table, elements, size, channels);                                                     \
    }                                                                                                         \
    extern "C" __global__ void combine_##name(T *out, const T *in, const T *other, const T *table,            \
                                              u64 elements, u32 size, u32 channels) {                         \
        combine(out, in, other, table, elements, size, channels);                                             \
    }

OF_TYPE(float, f32)
OF_TYPE(double, f64)
