// SPDX-License-Identifier: Apache-2.0
//
// The part of CUDA C++ that needs no CUDA toolkit, for device code compiled by clang: attributes, the built-in
// variables, fences, warp shuffles, atomics and the float intrinsics that clang has as builtins. With a toolkit its own
// headers are used instead of this one.
#pragma once

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((managed))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __restrict__ __restrict

#define __SLIPWAY_CUDA_PRELUDE__ 1

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
    constexpr __host__ __device__ dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1)
        : x(x)
        , y(y)
        , z(z) {}
};
struct float2 {
    float x, y;
};
struct __attribute__((aligned(16))) float4 {
    float x, y, z, w;
};
struct int2 {
    int x, y;
};
struct __attribute__((aligned(16))) int4 {
    int x, y, z, w;
};

#include <__clang_cuda_builtin_vars.h>

#define __SLIPWAY_DEVICE__ static __inline__ __attribute__((device, always_inline))

__SLIPWAY_DEVICE__ void __syncwarp(unsigned mask = 0xffffffffu) {
    __nvvm_bar_warp_sync(mask);
}
__SLIPWAY_DEVICE__ void __threadfence() {
    __nvvm_membar_gl();
}
__SLIPWAY_DEVICE__ void __threadfence_block() {
    __nvvm_membar_cta();
}
__SLIPWAY_DEVICE__ void __threadfence_system() {
    __nvvm_membar_sys();
}

__SLIPWAY_DEVICE__ int __shfl_down_sync(unsigned mask, int value, unsigned delta, int width = 32) {
    return __nvvm_shfl_sync_down_i32(mask, value, (int)delta, ((32 - width) << 8) | 0x1f);
}
__SLIPWAY_DEVICE__ float __shfl_down_sync(unsigned mask, float value, unsigned delta, int width = 32) {
    return __nvvm_shfl_sync_down_f32(mask, value, (int)delta, ((32 - width) << 8) | 0x1f);
}
__SLIPWAY_DEVICE__ int __shfl_xor_sync(unsigned mask, int value, int lanes, int width = 32) {
    return __nvvm_shfl_sync_bfly_i32(mask, value, lanes, ((32 - width) << 8) | 0x1f);
}
__SLIPWAY_DEVICE__ float __shfl_xor_sync(unsigned mask, float value, int lanes, int width = 32) {
    return __nvvm_shfl_sync_bfly_f32(mask, value, lanes, ((32 - width) << 8) | 0x1f);
}
__SLIPWAY_DEVICE__ int __shfl_sync(unsigned mask, int value, int lane, int width = 32) {
    return __nvvm_shfl_sync_idx_i32(mask, value, lane, ((32 - width) << 8) | 0x1f);
}
__SLIPWAY_DEVICE__ float __shfl_sync(unsigned mask, float value, int lane, int width = 32) {
    return __nvvm_shfl_sync_idx_f32(mask, value, lane, ((32 - width) << 8) | 0x1f);
}

__SLIPWAY_DEVICE__ int atomicAdd(int *at, int value) {
    return __nvvm_atom_add_gen_i(at, value);
}
__SLIPWAY_DEVICE__ unsigned atomicAdd(unsigned *at, unsigned value) {
    return (unsigned)__nvvm_atom_add_gen_i((int *)at, (int)value);
}
__SLIPWAY_DEVICE__ float atomicAdd(float *at, float value) {
    return __nvvm_atom_add_gen_f(at, value);
}
__SLIPWAY_DEVICE__ int atomicMax(int *at, int value) {
    return __nvvm_atom_max_gen_i(at, value);
}
__SLIPWAY_DEVICE__ int atomicMin(int *at, int value) {
    return __nvvm_atom_min_gen_i(at, value);
}

__SLIPWAY_DEVICE__ float fmaf(float a, float b, float c) {
    return __builtin_fmaf(a, b, c);
}
__SLIPWAY_DEVICE__ double fma(double a, double b, double c) {
    return __builtin_fma(a, b, c);
}
__SLIPWAY_DEVICE__ float fmaxf(float a, float b) {
    return __builtin_fmaxf(a, b);
}
__SLIPWAY_DEVICE__ float fminf(float a, float b) {
    return __builtin_fminf(a, b);
}
__SLIPWAY_DEVICE__ float fabsf(float a) {
    return __builtin_fabsf(a);
}
__SLIPWAY_DEVICE__ float sqrtf(float a) {
    return __builtin_sqrtf(a);
}
__SLIPWAY_DEVICE__ float floorf(float a) {
    return __builtin_floorf(a);
}
__SLIPWAY_DEVICE__ float ceilf(float a) {
    return __builtin_ceilf(a);
}
__SLIPWAY_DEVICE__ float rsqrtf(float a) {
    return __nvvm_rsqrt_approx_f(a);
}
__SLIPWAY_DEVICE__ float exp2f(float a) {
    return __nvvm_ex2_approx_f(a);
}
__SLIPWAY_DEVICE__ float __expf(float a) {
    return __nvvm_ex2_approx_f(a * 1.4426950408889634f);
}
__SLIPWAY_DEVICE__ float __logf(float a) {
    return __nvvm_lg2_approx_f(a) * 0.6931471805599453f;
}
__SLIPWAY_DEVICE__ float __sinf(float a) {
    return __nvvm_sin_approx_f(a);
}
__SLIPWAY_DEVICE__ float __cosf(float a) {
    return __nvvm_cos_approx_f(a);
}
__SLIPWAY_DEVICE__ float __fdividef(float a, float b) {
    return __nvvm_div_approx_f(a, b);
}

#undef __SLIPWAY_DEVICE__
