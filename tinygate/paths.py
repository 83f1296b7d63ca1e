"""FastPath: what an accelerated way to compute C = A·B declares, and the BUILTIN table.

A path is data. The gate, the runner and GpuOps read it; none of them knows a path by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tinygate.errors import ConfigError, UnknownNameError
from tinygate.shapes import Shape

# Optional adapter features, by tinygate's own names; each engine maps them to its own.
FEATURES = ("shader-f16", "subgroups", "timestamp-query")

# How a storage format lays a matrix out in a buffer; wgsl/README.md has the words.
FORMATS = ("f32", "f16-packed")
PRECISIONS = ("f32", "f16")

Format = Literal["f32", "f16-packed"]
Precision = Literal["f32", "f16"]


@dataclass(frozen=True)
class Entry:
    """One WGSL entry point, the tile of C that one workgroup writes, and the M it is for.

    `constants` are pipeline overrides; the values "M", "K" and "N" stand for the shape's own.
    """

    name: str
    rows: int
    cols: int
    max_m: int | None = None
    constants: tuple[tuple[str, float | str], ...] = ()

    def tiles(self, shape: Shape) -> int:
        """How many workgroups cover C."""
        return -(-shape.M // self.rows) * -(-shape.N // self.cols)

    def overrides(self, shape: Shape) -> dict[str, float]:
        """The pipeline constants with the shape filled in."""
        sizes = {"M": shape.M, "K": shape.K, "N": shape.N}
        return {
            name: float(sizes[value] if isinstance(value, str) else value)
            for name, value in self.constants
        }


@dataclass(frozen=True)
class FastPath:
    """An accelerated path, as declared. Declaring is not believing: the gate checks all of it.

    name, pill       what it is called on the command line, and in the capability pills
    kernel           the WGSL file, relative to wgsl/ or absolute
    requires         names out of FEATURES; one that is missing makes the path SKIP
    a, b             storage formats, out of FORMATS
    accumulate       precision of the running sum
    products         precision of each a·b: "f16" also where operands are rounded inside
    output           precision C is rounded to before it is stored as f32
    entries          tried in order; the first whose max_m admits the shape runs
    pack             WGSL packer for B; needed where b is packed
    deterministic    two runs of the same input agree bit for bit
    opt_in           runs only when named
    multiple_of      (M, K, N) must be multiples of these, else SKIP
    why              what makes this path safe to try, in words
    """

    name: str
    pill: str
    kernel: str
    why: str
    requires: tuple[str, ...] = ()
    a: Format = "f32"
    b: Format = "f32"
    accumulate: Precision = "f32"
    products: Precision = "f32"
    output: Precision = "f32"
    entries: tuple[Entry, ...] = (Entry("main", 64, 64),)
    pack: str | None = None
    deterministic: bool = True
    opt_in: bool = False
    multiple_of: tuple[int, int, int] = (1, 1, 1)
    source: str = "built in"

    def entry(self, shape: Shape) -> Entry:
        """The entry point that runs this shape."""
        return next(e for e in self.entries if e.max_m is None or e.max_m >= shape.M)

    def shape_class(self, shape: Shape) -> str:
        """Entry point, with the constants it is compiled with, x K rounded up to a power of two: a
        verdict holds for its class only, and other constants are another kernel."""
        entry = self.entry(shape)
        constants = [f"{name}={value:g}" for name, value in entry.overrides(shape).items()]
        return f"{' '.join([entry.name, *constants])}/K{shape.k_class}"

    def misfit(self, shape: Shape) -> str | None:
        """Why this path can't run the shape by its own declaration, or None."""
        for axis, size, multiple in zip(
            "MKN", (shape.M, shape.K, shape.N), self.multiple_of, strict=True
        ):
            if size % multiple:
                return f"{axis}={size} is not a multiple of {multiple} (multiple_of)"
        return None

    def missing(self, features: Iterable[str]) -> str:
        """What the path requires and these features lack, in words; empty where nothing."""
        lacking = [name for name in self.requires if name not in set(features)]
        return f"adapter lacks {', '.join(lacking)}" if lacking else ""

    def kernel_file(self) -> Path:
        """Where the kernel's WGSL is."""
        return wgsl_file(self.kernel)

    def pack_file(self) -> Path | None:
        """Where the packer's WGSL is, if B is packed."""
        return wgsl_file(self.pack) if self.pack else None


def wgsl_file(name: str) -> Path:
    """A file of wgsl/: inside the package in a wheel, beside it in a checkout."""
    package = Path(__file__).parent
    installed = package / "wgsl"
    return (installed if installed.is_dir() else package.parent / "wgsl") / name


def validate(path: FastPath) -> FastPath:
    """Check a declaration; built-ins and everybody else's paths go through here.

    Raises:
        ConfigError: naming the key, its value and what it may be.
    """

    def require(ok: bool, key: str, value: object, expected: str) -> None:
        if not ok:
            raise ConfigError(
                f"path {path.name!r}: {key} is {value!r}, expected {expected}",
                "tinygate paths lists working declarations",
            )

    require(
        bool(re.fullmatch(r"[a-z0-9][a-z0-9-]{0,39}", path.name)),
        "name",
        path.name,
        "1 to 40 of a-z, 0-9 and '-'",
    )
    for feature in path.requires:
        require(feature in FEATURES, "requires", feature, f"one of {', '.join(FEATURES)}")
    for key, value, allowed in (
        ("a", path.a, FORMATS),
        ("b", path.b, FORMATS),
        ("accumulate", path.accumulate, PRECISIONS),
        ("products", path.products, PRECISIONS),
        ("output", path.output, PRECISIONS),
    ):
        require(value in allowed, key, value, f"one of {', '.join(allowed)}")
    require(path.a == "f32", "a", path.a, "f32: activations are not packed")
    require(
        (path.pack is not None) == (path.b != "f32"),
        "pack",
        path.pack,
        "a packer exactly where b is packed",
    )
    require(
        bool(path.entries) and path.entries[-1].max_m is None,
        "entries",
        path.entries,
        "a last entry point that takes any M",
    )
    for entry in path.entries:
        require(
            min(entry.rows, entry.cols, entry.max_m or 1) >= 1, "entries", entry, "positive sizes"
        )
    require(
        all(n >= 1 for n in path.multiple_of), "multiple_of", path.multiple_of, "positive integers"
    )
    for key, file in (("kernel", path.kernel_file()), ("pack", path.pack_file())):
        require(file is None or file.is_file(), key, str(file), "a file that exists")
    return path


# The reference is a path like any other, so it runs through the same runner. It is never gated
# and never listed: it is what the others are compared with.
REFERENCE = FastPath(
    name="f32",
    pill="f32",
    kernel="matmul_f32.wgsl",
    entries=(
        Entry("matvec", 8, 32, max_m=8, constants=(("ROWS", "M"),)),
        Entry("main", 64, 128),
    ),
    why="the reference: f32 storage, products and sums, K in blocks of 16",
)

BUILTIN: tuple[FastPath, ...] = (
    FastPath(
        name="f16-storage",
        pill="f16 storage",
        kernel="matmul_f16_storage.wgsl",
        b="f16-packed",
        entries=(
            Entry("matvec", 8, 32, max_m=8, constants=(("ROWS", "M"),)),
            Entry("main", 64, 128),
        ),
        pack="pack_f16.wgsl",
        why="core built-ins pack2x16float and unpack2x16float; no feature needed",
    ),
)


def registered() -> tuple[FastPath, ...]:
    """Every registered path, validated."""
    return tuple(validate(path) for path in BUILTIN)


def select(names: Iterable[str], paths: tuple[FastPath, ...]) -> tuple[FastPath, ...]:
    """The named paths, or every one that is not opt-in where no name is given.

    Raises:
        UnknownNameError: with the list of registered names.
    """
    by_name = {path.name: path for path in paths}
    chosen = list(dict.fromkeys(names))
    for name in chosen:
        if name not in by_name:
            raise UnknownNameError(
                f"unknown path {name!r}; the registered paths are {', '.join(by_name)}",
                "tinygate paths",
            )
    if not chosen:
        return tuple(path for path in paths if not path.opt_in)
    return tuple(by_name[name] for name in chosen)
