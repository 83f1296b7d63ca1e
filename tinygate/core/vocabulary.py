"""The words a path is declared in. No numbers and no files, so that anything may import them."""

from __future__ import annotations

from typing import Literal, get_args

# Optional adapter features, by tinygate's own names; each engine maps them to its own.
FEATURES = ("shader-f16", "subgroups", "subgroup-matrix", "timestamp-query")

# How a storage format lays a matrix out in a buffer; wgsl/README.md has the words.
Format = Literal["f32", "f16-packed", "int8-packed", "q4-block32"]
AFormat = Literal["f32", "int8-packed"]
Precision = Literal["f32", "f16"]
Products = Literal["f32", "f16", "matrix"]
Accumulator = Literal["f32", "f16", "i32"]

FORMATS: tuple[Format, ...] = get_args(Format)
A_FORMATS: tuple[AFormat, ...] = get_args(AFormat)
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
PRODUCTS: tuple[Products, ...] = get_args(Products)
ACCUMULATORS: tuple[Accumulator, ...] = get_args(Accumulator)

# Of the formats, values share scales in these.
QUANTIZED: tuple[Format, ...] = ("int8-packed", "q4-block32")
# tinygate's own packers of B and of A, for formats that need one.
PACKERS: dict[str, str] = {
    "f16-packed": "pack/f16.wgsl",
    "int8-packed": "pack/int8_columns.wgsl",
    "q4-block32": "pack/q4_block32.wgsl",
}
A_PACKERS: dict[str, str] = {"int8-packed": "pack/int8_rows.wgsl"}

# The largest K of int8 products whose sum an i32 holds, whatever the values: 127 * 127 * K < 2^31.
MAX_K_I32 = (2**31 - 1) // 127**2
