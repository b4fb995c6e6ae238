// SPDX-License-Identifier: Apache-2.0
//
// out[r][c] = in[r][c] * scale[c] + bias[c], single precision: the affine half of a normalisation layer.
// Launch with one thread an element in x and one block a row in y.
// No header is included, so that nvcc and clang take the file, the latter also without a CUDA toolkit.

extern "C" __global__ void scale_bias(const float *in, const float *scale, const float *bias, float *out, unsigned cols)
{
    const unsigned column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= cols)
        return;
    const unsigned long long i = (unsigned long long)blockIdx.y * cols + column;
    out[i] = in[i] * scale[column] + bias[column];
}
