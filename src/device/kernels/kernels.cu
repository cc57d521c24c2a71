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

// Adds up the columns of a convolution: the gradient of its input (batch, channels, height, width) from
// the columns (channels, rows, columns, batch, out_height, out_width). A thread computes one element.
template <typename T>
__device__ __forceinline__ void col2im(T *out, const T *in, u32 batch, u32 channels, u32 height, u32 width,
                                       u32 rows, u32 columns, u32 out_height, u32 out_width, u32 stride,
                                       u32 dilation) {
    u64 index = thread_index();
    if (index >= (u64)batch * channels * height * width) return;
    u32 x = index % width;
    u32 y = index / width % height;
    u32 channel = index / ((u64)width * height) % channels;
    u32 image = index / ((u64)width * height * channels);
    T sum = 0;
#pragma unroll 1
    for (u32 row = 0; row < rows; row++) {
        u32 down = row * dilation;
        if (down > y || (y - down) % stride != 0) continue;
        u32 out_y = (y - down) / stride;
        if (out_y >= out_height) continue;
#pragma unroll 1
        for (u32 column = 0; column < columns; column++) {
            u32 right = column * dilation;
            if (right > x || (x - right) % stride != 0) continue;
            u32 out_x = (x - right) / stride;
            if (out_x >= out_width) continue;
            u64 place = ((u64)channel * rows + row) * columns + column;
            sum += in[((place * batch + image) * out_height + out_y) * out_width + out_x];
        }
    }
    out[index] = sum;
}

#define COL2IM(T, name)                                                                                       \
    extern "C" __global__ void name(T *out, const T *in, u32 batch, u32 channels, u32 height, u32 width,      \
                                    u32 rows, u32 columns, u32 out_height, u32 out_width, u32 stride,         \
                                    u32 dilation) {                                                           \
        col2im(out, in, batch, channels, height, width, rows, columns, out_height, out_width, stride,         \
               dilation);                                                                                     \
    }

COL2IM(float, col2im_f32)
COL2IM(double, col2im_f64)
