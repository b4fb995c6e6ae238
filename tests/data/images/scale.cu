// SPDX-License-Identifier: Apache-2.0
// The kernel of the fixtures in this folder; see make.sh.
extern "C" __global__ void __launch_bounds__(64) scale(float *out, const float *in, float f, int n) {
    __shared__ float tile[64];
    const int i = blockIdx.x * 64 + threadIdx.x;
    tile[threadIdx.x] = i < n ? in[i] : 0.0f;
    __syncthreads();
    if (i < n)
        out[i] = tile[63 - threadIdx.x] * f;
}
