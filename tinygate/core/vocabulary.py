"""Define the words of a path's declaration: features, storage formats and precisions."""

from __future__ import annotations

from typing import Literal, get_args

# Optional adapter features, by tinygate's names; each engine maps them to its own.
FEATURES = ("shader-f16", "subgroups", "subgroup-matrix", "timestamp-query")

# Storage formats; wgsl/README.md describes their layouts.
Format = Literal["f32", "f16-packed", "int8-packed", "q4-block32"]
AFormat = Literal["f32", "int8-packed"]
Precision = Literal["f32", "f16"]
Products = Literal["f32", "f16", "matrix"]
Accumulator = Literal["f32", "f16", "i32"]
# What a path is asked: may a model use it, or only whether it does what it declares.
Judge = Literal["activation", "conformance"]

FORMATS: tuple[Format, ...] = get_args(Format)
A_FORMATS: tuple[AFormat, ...] = get_args(AFormat)
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
PRODUCTS: tuple[Products, ...] = get_args(Products)
ACCUMULATORS: tuple[Accumulator, ...] = get_args(Accumulator)
JUDGES: tuple[Judge, ...] = get_args(Judge)

# The formats in which values share a scale.
QUANTIZED: tuple[Format, ...] = ("int8-packed", "q4-block32")
# tinygate's packers of B and of A, for the formats that need one.
PACKERS: dict[str, str] = {
    "f16-packed": "pack/f16.wgsl",
    "int8-packed": "pack/int8_columns.wgsl",
    "q4-block32": "pack/q4_block32.wgsl",
}
A_PACKERS: dict[str, str] = {"int8-packed": "pack/int8_rows.wgsl"}

# The largest K of int8 products whose sum an i32 holds, whatever the values: 127 * 127 * K < 2^31.
MAX_K_I32 = (2**31 - 1) // 127**2
