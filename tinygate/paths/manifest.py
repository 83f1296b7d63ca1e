"""Read TOML manifests, which declare a path beside its WGSL file, outside of this project.

examples/my_path/README.md has every key. A manifest is untrusted input: any error in it is a
ConfigError that names file, line and key, and none of its values can cause a large allocation.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

from tinygate.core import vocabulary
from tinygate.core.engine import TARGETS
from tinygate.core.errors import ConfigError
from tinygate.core.fast_path import FastPath
from tinygate.core.kernel_abi import (
    AXES,
    DEFAULT_DIMS,
    MAX_BINDINGS,
    MAX_CONSTANTS,
    MAX_FIELDS,
    SYMBOLS,
    Entry,
    Field,
    Layout,
    Steps,
)
from tinygate.core.text import shown
from tinygate.paths import validate
from tinygate.paths.source import read_source
from tinygate.paths.toml_file import Table, is_there, parse, read_text, word
from tinygate.paths.toml_table import IDENTIFIER, Section

_REQUIRED = ("name", "kernel", "a", "b", "accumulate")
_TABLES = ("path", "bindings", "dims", "dispatch", "constants")
_PATH_KEYS = (
    *("name", "pill", "kernel", "entry", "requires", "engines", "a", "b", "accumulate"),
    *(
        "products",
        "output",
        "deterministic",
        "judge",
        "pack",
        "pack_a",
        "guard",
        "opt_in",
        "multiple_of",
        "over_read",
        "over_read_reason",
    ),
)
_MAX_U32 = 2**32 - 1
_MAX_F32 = 3.4028234663852886e38


def load(file: Path) -> FastPath:
    """Load the path that a manifest declares, validated like a built-in.

    Raises:
        ConfigError: the manifest cannot be used; the message names file, line and key.
    """
    if not is_there(file):
        raise ConfigError(
            f"{shown(file)}: file not found", "tinygate paths lists the registered paths"
        )
    text = read_text(file)
    return _Manifest(file, text, parse(file, text)).path()


class _Manifest:
    """A parsed manifest, read table by table."""

    def __init__(self, file: Path, text: str, document: Table) -> None:
        self.file = file
        self.text = text
        top = Section(file, text, "", document, _TABLES)
        for needed in ("path", "dispatch"):
            if needed not in document:
                raise top.error("", f"no table [{needed}]: it is required")
        self.document = document
        self.head = self._section("path", _PATH_KEYS)
        for key in _REQUIRED:
            if key not in self.head.table:
                raise self.head.error(key, "is missing: it is required")

    def path(self) -> FastPath:
        """Build the declared path."""
        head = self.head
        a = head.choice("a", vocabulary.A_FORMATS, "f32")
        b = head.choice("b", vocabulary.FORMATS, "f32")
        kernel = self._wgsl("kernel")
        name = head.string("name", "")
        path = FastPath(
            name=name,
            pill=head.string("pill", name.replace("-", " ")),
            kernel=str(kernel),
            why=f"declared in {self.file}",
            requires=self._features(),
            engines=head.choices("engines", TARGETS, TARGETS),
            a=cast(Any, a),
            b=cast(Any, b),
            accumulate=cast(Any, head.choice("accumulate", vocabulary.ACCUMULATORS, "f32")),
            products=cast(Any, head.choice("products", vocabulary.PRECISIONS, "f32")),
            output=cast(Any, head.choice("output", vocabulary.PRECISIONS, "f32")),
            entries=(self._entry(),),
            pack=self._packer("pack", vocabulary.PACKERS.get(b)),
            pack_a=self._packer("pack_a", vocabulary.A_PACKERS.get(a)),
            deterministic=head.get("deterministic", bool, True),
            opt_in=head.get("opt_in", bool, False),
            judge=cast(Any, head.choice("judge", vocabulary.JUDGES, "activation")),
            multiple_of=self._multiples(),
            source=f"file {self.file}",
            layout=self._layout(),
            dims=self._dims(),
            guard=head.get("guard", bool, True),
            over_read=self._over_read(),
            file=str(self.file),
        )
        for key, value, expected in validate.faults(path):
            raise head.error(key, f"is {shown(value, 80)!r}, expected {expected}")
        return path

    def _section(self, name: str, known: Iterable[str] | None) -> Section:
        return Section(self.file, self.text, name, self.document.get(name, {}), known)

    def _inner(self, outer: str, key: str, table: object, known: Iterable[str]) -> Section:
        """Read a table inside a table."""
        return Section(self.file, self.text, f"{outer}.{key}", table, known)

    def _packer(self, key: str, default: str | None) -> str | None:
        """Return the manifest's packer, or else tinygate's packer of the format."""
        return str(self._wgsl(key)) if key in self.head.table else default

    def _wgsl(self, key: str) -> Path:
        """Find a WGSL file in the manifest's folder or below.

        Other files are refused, since an error message could show their content.
        """
        name = self.head.string(key, "")
        try:
            folder = self.file.resolve().parent
            found = (folder / name).resolve()
        except (OSError, RuntimeError, ValueError) as error:
            raise self.head.error(key, f"is {name!r}: {shown(error)}") from error
        if not found.is_relative_to(folder):
            raise self.head.error(
                key, f"is {name!r}, outside of the manifest's folder", "move it beside the manifest"
            )
        try:
            there = found.is_file()
        except OSError:
            there = False
        if not there:
            raise self.head.error(key, f"is {name!r}: file not found", f"tried {found}")
        try:
            read_source(found)
        except ConfigError as error:
            raise self.head.error(key, f"is {name!r}: {error.message}", error.hint) from error
        return found

    def _features(self) -> tuple[str, ...]:
        return self.head.choices("requires", vocabulary.FEATURES, ())

    def _over_read(self) -> str:
        """Why the kernel may read past A and B; empty where it may not."""
        head, reason = self.head, "over_read_reason"
        if reason not in head.table:
            if "over_read" in head.table and head.choice("over_read", ("allowed",), ""):
                raise head.error(
                    "over_read",
                    f'is "allowed" without {reason}, which says why that is safe',
                    f'{reason} = "what it reads there is multiplied by zero"',
                )
            return ""
        if "over_read" not in head.table:
            raise head.error(reason, 'is of no use without over_read = "allowed"')
        head.choice("over_read", ("allowed",), "")
        return head.string(reason, "")

    def _multiples(self) -> tuple[int, int, int]:
        table = self.head.get("multiple_of", dict, {})
        inner = self._inner("path", "multiple_of", table, AXES)
        M, K, N = (inner.integer(axis, 1, _MAX_U32, 1) for axis in AXES)
        return M, K, N

    def _layout(self) -> Layout:
        section = self._section("bindings", ("A", "B", "C", "dims", "unused", "access"))
        plain = {"A": 0, "B": 1, "C": 2, "dims": 3}
        a, b, c, dims = (section.integer(k, 0, MAX_BINDINGS - 1, v) for k, v in plain.items())
        unused = section.get("unused", list, [])
        for slot in unused:
            if type(slot) is not int or not 0 <= slot < MAX_BINDINGS:
                said = slot if type(slot) is int and abs(slot) < 1 << 64 else word(slot)
                raise section.error("unused", f"holds {said}, expected 0 to {MAX_BINDINGS - 1}")
        layout = Layout(a, b, c, dims, tuple(unused))
        taken: set[int] = set()
        for slot in layout.slots:
            if slot in taken:
                raise section.error(
                    "", f"use slot {slot} twice", "A, B, C, dims and unused need a slot each"
                )
            taken.add(slot)
        access = cast(Any, section.choice("access", ("read", "read_write"), "read"))
        return Layout(a, b, c, dims, tuple(unused), access)

    def _dims(self) -> tuple[Field, ...]:
        section = self._section("dims", ("fields",))
        fields = section.get("fields", list, list(DEFAULT_DIMS))
        if not 1 <= len(fields) <= MAX_FIELDS:
            raise section.error("fields", f"has {len(fields)} values, expected 1 to {MAX_FIELDS}")
        for i, value in enumerate(fields):
            if not (
                (type(value) is str and value in AXES)
                or (type(value) is int and 0 <= value <= _MAX_U32)
                or (type(value) is float and abs(value) <= _MAX_F32)
            ):
                small = isinstance(value, str | float) or (type(value) is int and value < 1 << 64)
                said = shown(value, 40) if small else word(value)
                raise section.error(
                    "fields",
                    f"[{i}] is {said}, expected M, K, N, an integer of 0 to {_MAX_U32} or a float",
                )
        return tuple(fields)

    def _entry(self) -> Entry:
        section = self._section("dispatch", ("x", "y", "z"))
        steps: list[Steps | None] = []
        for key in ("x", "y", "z"):
            table = section.get(key, dict, None)
            steps.append(None if table is None else self._steps(key, table))
        if not any(steps):
            raise section.error("", "names no axis", 'x = { axis = "M", per = 64 }')
        return Entry(
            self.head.identifier("entry", "main"), constants=self._constants(), axes=tuple(steps)
        )

    def _steps(self, key: str, table: Table) -> Steps:
        inner = self._inner("dispatch", key, table, ("axis", "per"))
        for needed in ("axis", "per"):
            if needed not in table:
                raise inner.error(needed, "is missing", f'{key} = {{ axis = "M", per = 64 }}')
        return Steps(
            cast(Any, inner.choice("axis", AXES, "M")), inner.integer("per", 1, _MAX_U32, 1)
        )

    def _constants(self) -> tuple[tuple[str, float | str], ...]:
        section = self._section("constants", None)
        if len(section.table) > MAX_CONSTANTS:
            raise section.error("", f"are {len(section.table)}, expected at most {MAX_CONSTANTS}")
        for key, value in section.table.items():
            if not IDENTIFIER.fullmatch(key) and not (key.isascii() and key.isdigit()):
                raise section.error(key, "is not a name or a number that WGSL takes")
            number = type(value) in (int, float) and -1e308 < value < 1e308
            if not number and not (type(value) is str and value in SYMBOLS):
                plain = isinstance(value, str | float) and not isinstance(value, bool)
                said = repr(shown(value, 40)) if plain else word(value)
                raise section.error(
                    key, f"is {said}, expected a number or one of {', '.join(SYMBOLS)}"
                )
        return tuple(section.table.items())
