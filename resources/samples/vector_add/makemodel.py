#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes data/model.safetensors: four F16 tensors of 64 values each, the same bytes every time.

A safetensors file is a little-endian u64 length, a JSON header of that length, then the tensors' bytes.
"""
import json
import pathlib
import struct

COLUMNS = 64


def main():
    tensors = {
        "norm.scale": [1.0 + 0.015625 * (c % 8) for c in range(COLUMNS)],
        "norm.bias": [0.25 - 0.0078125 * c for c in range(COLUMNS)],
        "residual.a": [0.5 * c - 16.0 for c in range(COLUMNS)],
        "residual.b": [8.0 - 0.125 * c for c in range(COLUMNS)],
    }
    header, body = {}, b""
    for name, values in tensors.items():
        data = struct.pack(f"<{len(values)}e", *values)
        header[name] = {"dtype": "F16", "shape": [len(values)], "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    target = pathlib.Path(__file__).parent / "data" / "model.safetensors"
    target.write_bytes(struct.pack("<Q", len(text)) + text + body)


if __name__ == "__main__":
    main()
