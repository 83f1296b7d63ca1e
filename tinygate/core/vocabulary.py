"""The words a path is declared in. No numbers and no files, so that anything may import them."""

from __future__ import annotations

from typing import Literal

# Optional adapter features, by tinygate's own names; each engine maps them to its own.
FEATURES = ("shader-f16", "subgroups", "subgroup-matrix", "timestamp-query")

# How a storage format lays a matrix out in a buffer; wgsl/README.md has the words.
FORMATS = ("f32", "f16-packed", "int8-packed", "q4-block32")
A_FORMATS = ("f32", "int8-packed")
# Of these, values share scales.
QUANTISED = ("int8-packed", "q4-block32")
PRECISIONS = ("f32", "f16")
PRODUCTS = (*PRECISIONS, "matrix")
ACCUMULATORS = ("f32", "f16", "i32")
# tinygate's own packers of B and of A, for formats that need one.
PACKERS = {
    "f16-packed": "pack/f16.wgsl",
    "int8-packed": "pack/int8_columns.wgsl",
    "q4-block32": "pack/q4_block32.wgsl",
}
A_PACKERS = {"int8-packed": "pack/int8_rows.wgsl"}
ENGINES = ("native", "dawn", "browser")

Format = Literal["f32", "f16-packed", "int8-packed", "q4-block32"]
AFormat = Literal["f32", "int8-packed"]
Precision = Literal["f32", "f16"]
Products = Literal["f32", "f16", "matrix"]
Accumulator = Literal["f32", "f16", "i32"]

# The largest K of int8 products whose sum an i32 holds, whatever the values: 127 * 127 * K < 2^31.
MOST_K_I32 = (2**31 - 1) // 127**2
