"""List the built-in fast paths, BUILTIN, and the path they are compared with, REFERENCE.

A new path is a WGSL file and one entry here (CONTRIBUTING.md).
"""

from __future__ import annotations

from tinygate.core.fast_path import FastPath
from tinygate.core.kernel_abi import Entry
from tinygate.core.vocabulary import A_PACKERS, PACKERS

# For at most eight rows of A: one workgroup holds them all, and is compiled for their number.
_MATVEC = Entry("matvec", 8, 32, max_m=8, constants=(("ROWS", "M"),))

# A path like any other, so that the same runner runs it, but never gated and never listed.
REFERENCE = FastPath(
    name="f32",
    pill="f32",
    kernel="matmul/f32.wgsl",
    entries=(_MATVEC, Entry("main", 64, 128)),
    why="the reference: f32 storage, products and sums, K in blocks of 16",
)

BUILTIN: tuple[FastPath, ...] = (
    FastPath(
        name="f16-storage",
        pill="f16 storage",
        kernel="matmul/f16_storage.wgsl",
        b="f16-packed",
        entries=(_MATVEC, Entry("main", 64, 128)),
        pack=PACKERS["f16-packed"],
        why="core built-ins pack2x16float and unpack2x16float; no feature needed",
    ),
    FastPath(
        name="subgroups",
        pill="subgroups",
        kernel="matmul/subgroups.wgsl",
        requires=("subgroups",),
        entries=(
            Entry("matvec", 8, 128, max_m=8, constants=(("ROWS", "M"),)),
            Entry("main", 8, 512),
        ),
        why="all f32, so it may only differ from the reference in the order of its sums",
    ),
    FastPath(
        name="shader-f16",
        pill="f16",
        kernel="matmul/shader_f16.wgsl",
        requires=("shader-f16",),
        b="f16-packed",
        products="f16",
        entries=(_MATVEC, Entry("main", 64, 128)),
        pack=PACKERS["f16-packed"],
        depends_on="f16-storage",
        fallback="f16-storage",
        why="f16 multiplications, where an adapter has them; the sums stay f32",
    ),
    FastPath(
        name="coop-matrix",
        pill="coop-matrix",
        kernel="matmul/coop_matrix.wgsl",
        requires=("shader-f16", "subgroups", "subgroup-matrix"),
        b="f16-packed",
        products="matrix",
        matrix_types=("f16", "f32"),
        entries=(_MATVEC, Entry("main", 64, 64)),
        pack=PACKERS["f16-packed"],
        depends_on="f16-storage",
        fallback="shader-f16",
        why="the adapter's own matrix units, f16 in and f32 out; A is rounded to f16",
    ),
    FastPath(
        name="coop-matrix-f16-sums",
        pill="coop-matrix f16 sums",
        kernel="matmul/coop_matrix.wgsl",
        requires=("shader-f16", "subgroups", "subgroup-matrix"),
        b="f16-packed",
        products="matrix",
        accumulate="f16",
        matrix_types=("f16", "f16"),
        entries=(Entry("main", 64, 64),),
        pack=PACKERS["f16-packed"],
        opt_in=True,
        why="none: passes at K = 128 and fails from K = 1024 on, which no small shape shows",
    ),
    FastPath(
        name="f16-accumulate",
        pill="f16 sums",
        kernel="matmul/f16_accumulate.wgsl",
        requires=("shader-f16",),
        b="f16-packed",
        products="f16",
        accumulate="f16",
        entries=(
            Entry("matvec", 8, 256, max_m=8, constants=(("ROWS", "M"),)),
            Entry("main", 64, 128),
        ),
        pack=PACKERS["f16-packed"],
        opt_in=True,
        why="none: it conforms up to K=4096 and is too imprecise for a model, which the gate shows",
    ),
    FastPath(
        name="int8-dot4",
        pill="int8 dot4",
        kernel="matmul/int8_dot4.wgsl",
        a="int8-packed",
        b="int8-packed",
        accumulate="i32",
        entries=(_MATVEC, Entry("main", 64, 64)),
        pack=PACKERS["int8-packed"],
        pack_a=A_PACKERS["int8-packed"],
        opt_in=True,
        why="core built-in dot4I8Packed; quantized: conforms, and is not meant to pass uniform",
    ),
    FastPath(
        name="q4-block32",
        pill="q4 block32",
        kernel="matmul/q4_block32.wgsl",
        b="q4-block32",
        entries=(_MATVEC, Entry("main", 64, 64)),
        pack=PACKERS["q4-block32"],
        opt_in=True,
        why="4-bit weights; quantized: conforms, and is not meant to pass uniform",
    ),
)
