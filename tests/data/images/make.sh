#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the fixtures here with nvcc and ptxas (13.0 made the ones that are committed).
set -eu
cd "$(dirname "$0")"
cuda=${CUDA_HOME:-/usr/local/cuda}/bin
for arch in 75 87 90 90a 110 120f; do
    "$cuda/nvcc" -cubin -arch="sm_$arch" scale.cu -o "scale_sm_$arch.cubin"
done
"$cuda/nvcc" -ptx -arch=compute_87 scale.cu -o scale_sm_87.ptx
for mode in size speed none; do
    "$cuda/nvcc" -fatbin -compress-mode=$mode -gencode arch=compute_87,code=sm_87 -gencode arch=compute_87,code=compute_87 \
        -gencode arch=compute_90a,code=sm_90a scale.cu -o "scale_$mode.fatbin"
done
