"""Kernels and packers that must FAIL, right twins that must PASS, and the headers that say so.

A fault's header is read by the tests, so it is strict: these keys, in any order, one to a comment
line; a comment line that is indented continues the one before. The header ends at the first line
that is no comment.

    // fault: what is wrong, in words             (a twin has `right:` instead)
    // declares: b=f16-packed, tile=8x8           what the path claims to be; see `_DECLARED`
    // shapes: 17x33x65 4x64x64                   where it must FAIL
    // must fail: uniform by conformance          a line per family: exactly these checks fail;
    //                                            `written|finite` is one of them or both
    // because: why the gate sees it
    // says: 1 non-finite; [0,7]                  optional: texts that are in every reason
    // over: 4                                    optional: conformance is that many times over
    // passes: identity                           optional: families that do not show it
    // passes at: 64x128x128                      optional: shapes that do not show it
    // adapters: f16-round-to-nearest             optional: which adapters show it; any

With `kernel=FILE` the file itself is the packer of B, or with `packs=a` of A, and FILE, a kernel of
this folder, is run with it. `tile` is what one workgroup writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tinygate.core.adapter import MeasuredNumerics
from tinygate.core.family import FAMILIES
from tinygate.core.fast_path import FastPath
from tinygate.core.kernel_abi import Entry, Layout
from tinygate.core.shape import Shape
from tinygate.core.vocabulary import A_PACKERS, FEATURES, PACKERS
from tinygate.paths.validate import validate

FOLDER = Path(__file__).parent
# What the gate's checks are called in a result.
CHECKS = frozenset(
    (
        *("inputs", "packing", "packing guard", "refusal", "over-read", "old C"),
        *("written", "guard", "finite"),
        *("determinism", "exact", "zero", "max_abs", "mean_rel", "conformance"),
    )
)
_FAULT_KEYS = frozenset(("fault", "declares", "shapes", "must fail", "because"))
_OPTIONAL_KEYS = frozenset(("says", "over", "passes", "passes at", "adapters"))
_RIGHT_KEYS = frozenset(("right", "declares", "because"))
_DECLARED = frozenset(
    (
        *("a", "b", "accumulate", "products", "output"),
        *("tile", "kernel", "packs", "requires", "access"),
    )
)
# Which adapters show a fault.
_ADAPTERS: dict[str, Callable[[MeasuredNumerics], bool]] = {
    "any": lambda numerics: True,
    "f16-round-to-nearest": lambda numerics: numerics.f16_round_to_nearest,
    "f16-subnormals-kept": lambda numerics: numerics.f16_subnormals,
    "workgroup memory not zeroed": lambda numerics: not numerics.workgroup_memory_zeroed,
    "fewer than 32 lanes": lambda numerics: (numerics.subgroup_size or 32) < 32,
}


class HeaderError(ValueError):
    """A header that does not say what it must."""


@dataclass(frozen=True)
class Right:
    """A kernel that is right, as the path it declares to be."""

    file: Path
    path: FastPath


@dataclass(frozen=True)
class Fault:
    """A kernel or packer that is wrong, and how the gate must see it.

    must_fail   family -> the names of exactly the checks that fail, in groups of which each has one
    """

    file: Path
    path: FastPath
    shapes: tuple[Shape, ...]
    must_fail: dict[str, frozenset[frozenset[str]]]
    says: tuple[str, ...]
    over: float
    passes: tuple[str, ...]
    passes_at: tuple[Shape, ...]
    adapters: str

    def names(self, family: str, failing: set[str]) -> bool:
        """Whether these failing checks are the ones the header names."""
        groups = self.must_fail[family]
        return all(group & failing for group in groups) and failing <= frozenset().union(*groups)

    def shows_on(self, numerics: MeasuredNumerics) -> bool:
        """Whether an adapter with these numerics can show the fault."""
        return _ADAPTERS[self.adapters](numerics)


def faults() -> tuple[Fault, ...]:
    """Every fault of this folder, by file name."""
    found = tuple(read_fault(file) for file in _files() if not file.name.startswith("right_"))
    if not found:
        raise HeaderError(f"no faults in {FOLDER}")
    return found


def rights() -> tuple[Right, ...]:
    """Every right twin of this folder, by file name."""
    found = tuple(read_right(file) for file in _files() if file.name.startswith("right_"))
    if not found:
        raise HeaderError(f"no right twins in {FOLDER}")
    return found


def fault(name: str) -> Fault:
    """The fault in NAME.wgsl."""
    return read_fault(FOLDER / f"{name}.wgsl")


def right(name: str) -> Right:
    """The twin in NAME.wgsl."""
    return read_right(FOLDER / f"{name}.wgsl")


def _files() -> Iterator[Path]:
    yield from sorted(FOLDER.glob("*.wgsl"))


def read_right(file: Path) -> Right:
    """A right twin from its file.

    Raises:
        HeaderError: naming file and key.
    """
    header = _header(file, _RIGHT_KEYS, frozenset())
    return Right(file, _path(file, header["right"][0], header["declares"][0]))


def read_fault(file: Path) -> Fault:
    """A fault from its file.

    Raises:
        HeaderError: naming file and key.
    """
    header = _header(file, _FAULT_KEYS, _OPTIONAL_KEYS)
    optional = {key: header.get(key, [""])[0] for key in _OPTIONAL_KEYS}
    adapters = optional["adapters"] or "any"
    _known(file, "adapters", [adapters], _ADAPTERS)
    return Fault(
        file=file,
        path=_path(file, header["fault"][0], header["declares"][0]),
        shapes=_shapes(header["shapes"][0]),
        must_fail=dict(_expected(file, line) for line in header["must fail"]),
        says=_list(optional["says"], ";"),
        over=float(optional["over"] or 1),
        passes=_known(file, "passes", _list(optional["passes"]), FAMILIES),
        passes_at=_shapes(optional["passes at"]),
        adapters=adapters,
    )


def _header(file: Path, required: frozenset[str], optional: frozenset[str]) -> dict[str, list[str]]:
    """The header's values by key; only `must fail` may come more than once."""
    found: dict[str, list[str]] = {}
    key = ""
    for line in file.read_text(encoding="utf-8").splitlines():
        if not line.startswith("//"):
            break
        if line.startswith("//  ") and key:
            found[key][-1] += " " + line[2:].strip()
            continue
        key, colon, value = line[2:].strip().partition(": ")
        if not colon or not value.strip():
            raise HeaderError(f"{file.name}: expected `// key: value`, got {line!r}")
        _known(file, "key", [key], required | optional)
        if key in found and key != "must fail":
            raise HeaderError(f"{file.name}: {key!r} comes twice")
        found.setdefault(key, []).append(value.strip())
    if missing := required - found.keys():
        raise HeaderError(f"{file.name}: {', '.join(sorted(missing))} missing")
    return found


def _expected(file: Path, line: str) -> tuple[str, frozenset[frozenset[str]]]:
    """`uniform by written|finite, conformance`."""
    family, by, checks = line.partition(" by ")
    _known(file, "must fail", [family], FAMILIES)
    if not by:
        raise HeaderError(f"{file.name}: must fail {line!r} does not say by which checks")
    groups = [_list(group, "|") for group in _list(checks)]
    return family, frozenset(frozenset(_known(file, "must fail", g, CHECKS)) for g in groups)


def _path(file: Path, title: str, declares: str) -> FastPath:
    """The path that a header declares, checked like any other."""
    declared = dict(part.partition("=")[::2] for part in _list(declares))
    _known(file, "declares", declared, _DECLARED)
    requires = (declared["requires"],) if "requires" in declared else ()
    _known(file, "requires", requires, FEATURES)
    rows, cols = (int(size) for size in declared.pop("tile", "8x8").split("x"))
    kernel = str(file)
    pack, pack_a = PACKERS.get(declared.get("b", "")), A_PACKERS.get(declared.get("a", ""))
    packs = declared.pop("packs", "b")
    _known(file, "packs", [packs], ("a", "b"))
    if "kernel" in declared:
        kernel = str(FOLDER / declared.pop("kernel"))
        pack, pack_a = (pack, str(file)) if packs == "a" else (str(file), pack_a)
    access = declared.pop("access", "read")
    _known(file, "access", [access], ("read", "read_write"))
    layout = Layout(access="read_write" if access == "read_write" else "read")
    fields: dict[str, Any] = {**declared, "requires": requires, "layout": layout}
    return validate(
        FastPath(
            name=file.stem.replace("_", "-"),
            pill=file.stem,
            kernel=kernel,
            why=title,
            entries=(Entry("main", rows, cols),),
            pack=pack,
            pack_a=pack_a,
            source=str(file),
            **fields,
        )
    )


def _shapes(text: str) -> tuple[Shape, ...]:
    return tuple(Shape.parse(word) for word in text.split())


def _list(text: str, separator: str = ",") -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(separator) if part.strip())


def _known(file: Path, key: str, names: Any, allowed: Any) -> Any:
    """The names back, all of them allowed."""
    for name in names:
        if name not in allowed:
            expected = ", ".join(sorted(allowed))
            raise HeaderError(f"{file.name}: {key} {name!r} is not one of {expected}")
    return names
