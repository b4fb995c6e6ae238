#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# A kernel program for Slipway: compiles Triton kernels ahead of time under teenygrad's contract. No GPU is needed.
#
#   kernels.py --device cuda --options capability=sm_87,ptx-version=82[,num-warps=4] --cache-dir DIR [--force]
#
# Writes NAME_HASH.o (PTX text with `// meta:` lines), NAME_HASH.cubin (machine code of Triton's own ptxas) and
# NAME_HASH.mlir (Triton's IR, from which Slipway reads the kernel's dtypes).

import argparse
import hashlib
import json
import os
import re
import struct
import sys

os.environ.setdefault("TRITON_DISABLE_LINE_INFO", "1")  # debug sections are of no use on a board

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < columns
    values = tl.load(x + row * columns + at, mask=inside, other=-float("inf")).to(tl.float32)
    shifted = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * columns + at, shifted / tl.sum(shifted, axis=0), mask=inside)


# name of the image, kernel, types of its arguments, constants
KERNELS = [
    ("add_f32", add, {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}, {"BLOCK": 1024}),
    ("add_f16", add, {"x": "*fp16", "y": "*fp16", "out": "*fp16", "n": "i32"}, {"BLOCK": 1024}),
    ("softmax_f32", softmax, {"x": "*fp32", "out": "*fp32", "columns": "i32"}, {"BLOCK": 1024}),
]


def options_of(text):
    options = dict(pair.split("=", 1) for pair in text.split(",") if pair)
    match = re.fullmatch(r"sm_(\d+)[af]?", options.get("capability", ""))
    if not match:
        sys.exit("kernels.py: --options needs capability=sm_N")
    version = options.get("ptx-version") or os.environ.get("TEENYC_PTX_VERSION")
    warps = int(options.get("num-warps", "4"))
    # the key uses what a device reports, which has no suffix
    return int(match[1]), "sm_" + match[1], int(version) if version else None, warps


def kernel_id(kernel, types, constants, warps):
    return hashlib.sha256(json.dumps([kernel.src, types, constants, warps], sort_keys=True).encode()).hexdigest()


def cache_key(identity, capability, version):
    return hashlib.sha256(identity.encode() + capability.encode() + (struct.pack("<I", version) if version else b"")).hexdigest()


def write(path, content):
    """Whole or not at all: another process may look into the cache."""
    temporary = f"{path}.tmp.{os.getpid()}"
    with open(temporary, "wb") as file:
        file.write(content)
    os.replace(temporary, path)


def build(name, kernel, types, constants, options, directory, force):
    number, capability, version, warps = options
    identity = kernel_id(kernel, types, constants, warps)
    stem = os.path.join(directory, f"{name}_{cache_key(identity, capability, version)}")
    if os.path.exists(stem + ".o") and not force:
        return print(f"{name}: up to date")
    source = ASTSource(fn=kernel, signature={**types, **{key: "constexpr" for key in constants}}, constexprs=constants)
    settings = {"num_warps": warps}
    if version:
        settings["ptx_version"] = version
    made = triton.compile(source, target=GPUTarget("cuda", number, 32), options=settings)
    metadata = made.metadata
    head = {"id": identity, "name": metadata.name, "num_warps": metadata.num_warps, "num_ctas": metadata.num_ctas,
            "shared": metadata.shared}
    ptx = made.asm["ptx"].rstrip("\0")
    lines = "".join(f"// meta:{key}={value}\n" for key, value in head.items())
    write(stem + ".mlir", made.asm["ttir"].encode())
    write(stem + ".cubin", made.asm["cubin"])
    write(stem + ".o", (lines + ptx).encode())  # last: with it the kernel counts as made
    print(f"{name}: PTX {re.search(r'[.]version ([0-9.]+)', ptx)[1]} for {re.search(r'[.]target (sm_[0-9a-z]+)', ptx)[1]}")


def main():
    parser = argparse.ArgumentParser(description="Triton kernels, compiled ahead of time")
    parser.add_argument("--device", choices=["cuda"], required=True)
    parser.add_argument("--options", required=True)
    parser.add_argument("--cache-dir", required=True)
    parser.add_argument("--force", action="store_true")
    arguments = parser.parse_args()
    os.makedirs(arguments.cache_dir, exist_ok=True)
    options = options_of(arguments.options)
    for name, kernel, types, constants in KERNELS:
        build(name, kernel, types, constants, options, arguments.cache_dir, arguments.force)


if __name__ == "__main__":
    main()
