// SPDX-License-Identifier: Apache-2.0
//
// c = a * b for row-major a (m x k), b (k x n) and c (m x n), single precision, in 16 x 16 tiles of shared memory.
// Launch with 16 x 16 threads and ceil(n / 16) x ceil(m / 16) blocks. Edges need not be multiples of 16.
// No header is included, so that nvcc and clang take the file, the latter also without a CUDA toolkit.

#define TILE 16

extern "C" __global__ void matmul_tiled(const float *a, const float *b, float *c, unsigned m, unsigned n, unsigned k)
{
    __shared__ float tileA[TILE][TILE];
    __shared__ float tileB[TILE][TILE];
    const unsigned x = threadIdx.x;
    const unsigned y = threadIdx.y;
    const unsigned row = blockIdx.y * TILE + y;
    const unsigned column = blockIdx.x * TILE + x;
    float sum = 0.0f;
    for (unsigned begin = 0; begin < k; begin += TILE) {
        tileA[y][x] = row < m && begin + x < k ? a[(unsigned long long)row * k + begin + x] : 0.0f;
        tileB[y][x] = begin + y < k && column < n ? b[(unsigned long long)(begin + y) * n + column] : 0.0f;
        __syncthreads();
        for (unsigned i = 0; i < TILE; ++i)
            sum += tileA[y][i] * tileB[i][x];
        __syncthreads();
    }
    if (row < m && column < n)
        c[(unsigned long long)row * n + column] = sum;
}
