#!/bin/sh
# Builds the CUB peer with nvcc, for this machine's GPU.
#   bench/peers/build.sh [OUTPUT]     default: cub beside this script
# CUB comes from $CCCL (a checkout of CCCL, or a folder of its headers), or else from the CUDA toolkit; CCCL 3 or later.
# ARCH (default: native) is what nvcc -arch takes.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here/cub}
nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null || true)
[ -n "$nvcc" ] || { echo "nvcc not found: install the CUDA toolkit, or add its bin folder to PATH" >&2; exit 2; }
headers=
if [ -n "${CCCL:-}" ]; then
    if [ -d "$CCCL/cub/cub" ]; then
        headers="-I$CCCL/cub -I$CCCL/thrust -I$CCCL/libcudacxx/include"
    elif [ -f "$CCCL/cub/cub.cuh" ]; then
        headers="-I$CCCL"
    else
        echo "CCCL=$CCCL has no CUB: name a checkout of CCCL, or the folder that has cub/cub.cuh" >&2
        exit 2
    fi
fi
# The thread's own default stream can be recorded in a graph, which the old one cannot.
# shellcheck disable=SC2086
exec "$nvcc" -O3 -default-stream per-thread -std=c++17 -arch="${ARCH:-native}" $headers -o "$out" "$here/cub.cu"
