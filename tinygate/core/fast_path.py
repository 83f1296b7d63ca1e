"""Describe a fast path: what an accelerated way to compute C = A·B declares about itself.

A path is data. The gate, the runner and GpuOps read it; none of them knows a path by name.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from tinygate.core.adapter import AdapterInfo, MatrixConfiguration
from tinygate.core.engine import TARGETS
from tinygate.core.kernel_abi import BUILT_IN_LAYOUT, DEFAULT_DIMS, Entry, Field, Layout
from tinygate.core.shape import Shape
from tinygate.core.shape_class import ShapeClass, class_of
from tinygate.core.vocabulary import (
    MAX_K_I32,
    QUANTIZED,
    Accumulator,
    AFormat,
    Format,
    Judge,
    Precision,
    Products,
)


@dataclass(frozen=True)
class FastPath:
    """An accelerated path, as declared. The gate checks every declaration.

    name, pill       its name on the command line, and in the capability pills
    kernel           the WGSL file, relative to wgsl/ or absolute
    requires         names from FEATURES; if the adapter is missing one, the path is SKIP
    a, b             storage formats, from A_FORMATS and FORMATS
    accumulate       precision of the running sum; i32 only of int8 products
    products         precision of each a·b: "f16" also where operands are rounded inside; "matrix"
                     for a matrix unit that takes f16
    output           precision C is rounded to before it is stored as f32
    entries          entry points, tried in order; the first whose max_m admits the shape runs
    pack, pack_a     WGSL packers for B and A; required if they are packed
    deterministic    two runs of the same input agree bit for bit
    opt_in           runs only when named
    judge            what it is asked; on "conformance" alone it is never active
    multiple_of      (M, K, N) must be multiples of these, else SKIP
    depends_on       a path that this one builds on; if that one fails, this one is SKIP
    fallback         the path to run instead while this one is not active
    matrix_types     (component, result) of the subgroup matrices that the kernel is written for
    matrix_sizes     (M, N, K) of the configuration it is compiled for; None until it is known
    why              why this path is safe to try, in words
    engines          engines the kernel is written for; on another the path is SKIP
    layout, dims     bindings and uniform of the kernel; by default those of wgsl/README.md
    guard            C's buffer is longer than M·N; False for kernels that read arrayLength
    over_read        why NaN behind A and B may reach C; empty if it may not
    call             instead of a kernel: the plug-in's entry point whose Python is the path
    readback         the stored B can be read back; without it the path has no conformance verdict
                     and is never active
    source           where the declaration is from
    file             the manifest it is from; --path then takes this instead of the name
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
    judge: Judge = "activation"
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
        """Whether an operand is quantized, so that a right kernel is still far from float32."""
        return self.a in QUANTIZED or self.b in QUANTIZED

    @property
    def cli_name(self) -> str:
        """The value of --path that selects this path."""
        return self.file or self.name

    @property
    def never_active_reason(self) -> str:
        """Why the path is never active, whatever it passes; empty if it may be."""
        sums = "f16 sums lose precision as K grows, which a small shape does not show"
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
        """Return the entry point that runs this shape."""
        return next(e for e in self.entries if e.max_m is None or e.max_m >= shape.M)

    def shape_class(self, shape: Shape) -> ShapeClass:
        """Find the class that a verdict at this shape holds for. Other constants are another
        kernel, and so another class."""
        entry = self.entry(shape)
        sizes = "x".join(map(str, self.matrix_sizes or ()))
        name = f"{entry.name}{entry.named_constants(shape)}{sizes and ' ' + sizes}"
        return class_of(name, shape)

    def step(self, axis: str) -> int:
        """Give what a size of this axis must be a multiple of."""
        return self.multiple_of["MKN".index(axis)]

    def fitting(self, shape: Shape) -> Shape:
        """Move every size up to the next multiple that the path takes."""
        M, K, N = (
            -(-size // step) * step
            for size, step in zip((shape.M, shape.K, shape.N), self.multiple_of, strict=True)
        )
        return replace(shape, M=M, K=K, N=N)

    def shape_mismatch(self, shape: Shape) -> str | None:
        """Say why this path's declaration excludes the shape, or return None."""
        if self.accumulate == "i32" and shape.K > MAX_K_I32:
            return f"K={shape.K}: an i32 sum of int8 products is exact up to K={MAX_K_I32}"
        for axis, size, multiple in zip(
            "MKN", (shape.M, shape.K, shape.N), self.multiple_of, strict=True
        ):
            if size % multiple:
                return f"{axis}={size} is not a multiple of {multiple} (multiple_of)"
        return None

    def missing_features(self, adapter: AdapterInfo) -> str:
        """Say which of the path's requirements the adapter or its engine does not meet.

        Returns an empty string if it meets them all.
        """
        if adapter.engine not in self.engines:
            return f"made for {', '.join(self.engines)}, not for {adapter.engine}"
        reasons = dict(adapter.unavailable)
        missing = [name for name in self.requires if name not in adapter.features]
        explained = [f"{name} is {reasons[name]}" for name in missing if name in reasons]
        unexplained = [name for name in missing if name not in reasons]
        if unexplained:
            explained.insert(0, f"adapter lacks {', '.join(unexplained)}")
        if not explained and self.matrix_types and not self.configurations(adapter):
            explained = [f"adapter has no subgroup matrix {' -> '.join(self.matrix_types)}"]
        return "; ".join(explained)

    def configurations(self, adapter: AdapterInfo) -> tuple[MatrixConfiguration, ...]:
        """List the subgroup-matrix shapes that the kernel can use on the adapter, largest first."""
        found = [m for m in adapter.matrices if (m.component, m.result) == self.matrix_types]
        return tuple(sorted(dict.fromkeys(found), key=lambda m: -m.M * m.N * m.K))

    def for_adapter(self, adapter: AdapterInfo) -> tuple[FastPath, ...]:
        """Return the path's variants for the adapter: one for each subgroup-matrix shape it lists.

        The variant with the largest shape keeps the path's name; the others have theirs appended. A
        path without subgroup matrices, or one compiled for a shape already, is returned unchanged.
        """
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
        """Return the kernel's WGSL file."""
        return wgsl_file(self.kernel)

    def pack_file(self) -> Path | None:
        """Return the WGSL file of B's packer, or None if B is not packed."""
        return wgsl_file(self.pack) if self.pack else None

    def pack_a_file(self) -> Path | None:
        """Return the WGSL file of A's packer, or None if A is not packed."""
        return wgsl_file(self.pack_a) if self.pack_a else None

    def files(self) -> tuple[Path, ...]:
        """List the path's WGSL files, kernel and packers; a Python path has none."""
        if self.call:
            return ()
        found = (self.kernel_file(), self.pack_file(), self.pack_a_file())
        return tuple(file for file in found if file is not None)


def wgsl_file(name: str) -> Path:
    """Find a file of wgsl/: inside the package in a wheel, beside it in a checkout."""
    package = Path(__file__).parents[1]
    installed = package / "wgsl"
    return (installed if installed.is_dir() else package.parent / "wgsl") / name
