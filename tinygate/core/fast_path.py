"""FastPath: what an accelerated way to compute C = A·B declares, and the BUILTIN table.

A path is data. The gate, the runner and GpuOps read it; none of them knows a path by name.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from tinygate.core.adapter import AdapterInfo, MatrixConfiguration
from tinygate.core.engine import TARGETS
from tinygate.core.kernel_abi import BUILT_IN_LAYOUT, DEFAULT_DIMS, Entry, Field, Layout
from tinygate.core.shape import Shape
from tinygate.core.vocabulary import (
    MAX_K_I32,
    QUANTIZED,
    Accumulator,
    AFormat,
    Format,
    Precision,
    Products,
)


@dataclass(frozen=True)
class FastPath:
    """An accelerated path, as declared. Declaring is not believing: the gate checks all of it.

    name, pill       what it is called on the command line, and in the capability pills
    kernel           the WGSL file, relative to wgsl/ or absolute
    requires         names out of FEATURES; one that is missing makes the path SKIP
    a, b             storage formats, out of A_FORMATS and FORMATS
    accumulate       precision of the running sum; i32 only of int8 products
    products         precision of each a·b: "f16" also where operands are rounded inside; "matrix"
                     for a matrix unit that takes f16
    output           precision C is rounded to before it is stored as f32
    entries          tried in order; the first whose max_m admits the shape runs
    pack, pack_a     WGSL packers for B and A; needed where they are packed
    deterministic    two runs of the same input agree bit for bit
    opt_in           runs only when named
    multiple_of      (M, K, N) must be multiples of these, else SKIP
    depends_on       a path that this one builds on: where that one failed, this one is SKIP
    fallback         the path that runs in its place where it is not active
    matrix_types     (component, result) of the subgroup matrices that the kernel is written for
    matrix_sizes     (M, N, K) of the configuration it is compiled for; None until it is known
    why              what makes this path safe to try, in words
    engines          engines the kernel is written for; on another the path is SKIP
    layout, dims     bindings and uniform of the kernel, where they are not wgsl/README.md's
    guard            C is longer than M·N; False serves kernels that bound themselves by arrayLength
    over_read        why what lies behind A and B may reach C where it is not finite; empty where it
                     may not
    call             instead of a kernel: the plug-in's entry point whose Python is the path
    readable         what B is held as can be read back; else no conformance verdict, never active
    source           where the declaration is from
    file             the manifest it is from; then --path takes this and not the name
    """

    name: str
    pill: str
    kernel: str
    why: str
    requires: tuple[str, ...] = ()
    a: AFormat = "f32"
    b: Format = "f32"
    accumulate: Accumulator = "f32"
    products: Products = "f32"
    output: Precision = "f32"
    entries: tuple[Entry, ...] = (Entry("main", 64, 64),)
    pack: str | None = None
    pack_a: str | None = None
    deterministic: bool = True
    opt_in: bool = False
    multiple_of: tuple[int, int, int] = (1, 1, 1)
    depends_on: str = ""
    fallback: str = "f32"
    matrix_types: tuple[str, str] | None = None
    matrix_sizes: tuple[int, int, int] | None = None
    source: str = "built in"
    engines: tuple[str, ...] = TARGETS
    layout: Layout = BUILT_IN_LAYOUT
    dims: tuple[Field, ...] = DEFAULT_DIMS
    guard: bool = True
    over_read: str = ""
    call: str = ""
    readback: bool = True
    file: str = ""

    @property
    def quantized(self) -> bool:
        """Whether an operand is: then what is stored is far from its original even where right."""
        return self.a in QUANTIZED or self.b in QUANTIZED

    @property
    def cli_name(self) -> str:
        """What --path takes to choose it."""
        return self.file or self.name

    @property
    def never_active_reason(self) -> str:
        """Why it is never active, whatever it passes; empty where it may be."""
        sums = "f16 sums lose with K what a small shape does not show"
        return sums if self.accumulate == "f16" else ""

    @property
    def rounds_inside(self) -> bool:
        """Whether operands or products are rounded to f16 inside the kernel."""
        return self.products != "f32"

    @property
    def holds_f16(self) -> bool:
        """Whether a product, the sum or the output must fit f16's range."""
        return self.rounds_inside or "f16" in (self.accumulate, self.output)

    def entry(self, shape: Shape) -> Entry:
        """The entry point that runs this shape."""
        return next(e for e in self.entries if e.max_m is None or e.max_m >= shape.M)

    def shape_class(self, shape: Shape) -> str:
        """Entry point, with the constants it is compiled with, x K rounded up to a power of two: a
        verdict holds for its class only, and other constants are another kernel."""
        entry = self.entry(shape)
        sizes = "x".join(map(str, self.matrix_sizes or ()))
        return f"{entry.name}{entry.named_constants(shape)}{sizes and ' ' + sizes}/K{shape.k_class}"

    def shape_mismatch(self, shape: Shape) -> str | None:
        """Why this path can't run the shape by its own declaration, or None."""
        if self.accumulate == "i32" and shape.K > MAX_K_I32:
            return f"K={shape.K}: an i32 sum of int8 products is exact up to K={MAX_K_I32}"
        for axis, size, multiple in zip(
            "MKN", (shape.M, shape.K, shape.N), self.multiple_of, strict=True
        ):
            if size % multiple:
                return f"{axis}={size} is not a multiple of {multiple} (multiple_of)"
        return None

    def missing_features(self, adapter: AdapterInfo) -> str:
        """What the path requires and this adapter, by its engine, lacks, in words; empty where
        nothing."""
        if adapter.engine not in self.engines:
            return f"made for {', '.join(self.engines)}, not for {adapter.engine}"
        reasons = dict(adapter.unavailable)
        lacking = [name for name in self.requires if name not in adapter.features]
        told = [f"{name} is {reasons[name]}" for name in lacking if name in reasons]
        untold = [name for name in lacking if name not in reasons]
        if untold:
            told.insert(0, f"adapter lacks {', '.join(untold)}")
        if not told and self.matrix_types and not self.configurations(adapter):
            told = [f"adapter has no subgroup matrix {' -> '.join(self.matrix_types)}"]
        return "; ".join(told)

    def configurations(self, adapter: AdapterInfo) -> tuple[MatrixConfiguration, ...]:
        """The subgroup matrices the kernel can use there, the largest first."""
        found = [m for m in adapter.matrices if (m.component, m.result) == self.matrix_types]
        return tuple(sorted(dict.fromkeys(found), key=lambda m: -m.M * m.N * m.K))

    def for_adapter(self, adapter: AdapterInfo) -> tuple[FastPath, ...]:
        """The path as it runs there: itself, or compiled for every matrix the adapter lists, the
        largest under the path's own name. What is compiled for one already stays what it is."""
        found = self.configurations(adapter) if self.matrix_types and not self.matrix_sizes else ()
        if not found or self.missing_features(adapter):
            return (self,)
        return tuple(
            replace(
                self,
                name=f"{self.name}-{one.sizes}" if i else self.name,
                pill=f"{self.pill} {one.sizes}" if i else self.pill,
                matrix_sizes=(one.M, one.N, one.K),
            )
            for i, one in enumerate(found)
        )

    def kernel_file(self) -> Path:
        """Where the kernel's WGSL is."""
        return wgsl_file(self.kernel)

    def pack_file(self) -> Path | None:
        """Where the packer's WGSL is, if B is packed."""
        return wgsl_file(self.pack) if self.pack else None

    def pack_a_file(self) -> Path | None:
        """Where the WGSL of A's packer is, if A is packed."""
        return wgsl_file(self.pack_a) if self.pack_a else None

    def files(self) -> tuple[Path, ...]:
        """Every WGSL file of the path: kernel and packers; none where it is Python."""
        if self.call:
            return ()
        found = (self.kernel_file(), self.pack_file(), self.pack_a_file())
        return tuple(file for file in found if file is not None)


def wgsl_file(name: str) -> Path:
    """A file of wgsl/: inside the package in a wheel, beside it in a checkout."""
    package = Path(__file__).parents[1]
    installed = package / "wgsl"
    return (installed if installed.is_dir() else package.parent / "wgsl") / name
