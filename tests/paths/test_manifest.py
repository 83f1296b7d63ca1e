"""Manifests: what they declare reaches the kernel, and what is wrong with one is said in words."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tinygate.cli.main import run
from tinygate.core.adapter import AdapterLimits, MeasuredNumerics
from tinygate.core.case import Case
from tinygate.core.engine import TARGETS
from tinygate.core.errors import ConfigError, LimitError
from tinygate.core.family import DEFAULT_FAMILIES, DEFAULT_SEED
from tinygate.core.fast_path import FastPath
from tinygate.core.kernel_abi import Layout, Steps
from tinygate.core.results import CaseResult
from tinygate.core.shape import Shape
from tinygate.core.status import Status
from tinygate.core.vocabulary import FEATURES
from tinygate.gate.case_run import run_case
from tinygate.gate.products import Harness
from tinygate.gpu import dispatch
from tinygate.gpu.kernel import declared_access, dispatch_size, group_layout, matmul_kernel
from tinygate.paths import manifest
from tinygate.paths.source import source_hash
from tinygate.paths.validate import validate

EXAMPLE = Path(__file__).parents[2] / "examples" / "my_path"
KERNEL = (EXAMPLE / "my_path.wgsl").read_text(encoding="utf-8")
MANIFEST = (EXAMPLE / "my_path.toml").read_text(encoding="utf-8")
MINIMAL = """\
[path]
name = "own"
kernel = "own.wgsl"
a = "f32"
b = "f32"
accumulate = "f32"
[dispatch]
x = { axis = "N", per = 8 }
y = { axis = "M", per = 8 }
"""
# The plainest f32 kernel, on the default bindings.
PLAIN = """\
struct Dims { M: u32, K: u32, N: u32, pad: u32 }
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
@group(0) @binding(3) var<uniform> dims: Dims;
@compute @workgroup_size(8, 8)
fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.y >= dims.M || id.x >= dims.N) { return; }
  var sum = 0.0;
  for (var k = 0u; k < dims.K; k++) { sum += a[id.y * dims.K + k] * b[k * dims.N + id.x]; }
  c[id.y * dims.N + id.x] = sum;
}
"""


def written(folder: Path, text: str = MINIMAL, kernel: str = PLAIN) -> Path:
    """A manifest in a folder, with its kernel beside it."""
    (folder / "own.wgsl").write_text(kernel, encoding="utf-8")
    file = folder / "own.toml"
    file.write_text(text, encoding="utf-8")
    return file


def swapped(text: str, *pairs: tuple[str, str]) -> str:
    """A text with parts replaced that must be there."""
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new)
    return text


def test_the_keys_of_the_example() -> None:
    path = manifest.load(EXAMPLE / "my_path.toml")
    assert (path.name, path.pill) == ("my-path", "my path")
    assert Path(path.kernel) == EXAMPLE / "my_path.wgsl"
    assert path.pack == "pack/f16.wgsl"
    assert path.layout == Layout(0, 1, 2, 6, unused=(3, 4), access="read_write")
    assert path.dims == ("M", "K", "N", 0, 1.0, 0.0, 0.0, 0.0)
    (entry,) = path.entries
    assert entry.axes == (Steps("N", 32), Steps("M", 16), None)
    assert dict(entry.constants) == {"TILE": 16}
    assert path.cli_name == str(EXAMPLE / "my_path.toml")


def test_defaults(tmp_path: Path) -> None:
    path = manifest.load(written(tmp_path))
    assert path.layout == Layout()
    assert path.dims == ("M", "K", "N", 0)
    assert (path.engines, path.requires, path.pack) == (TARGETS, (), None)
    assert path.guard
    assert path.deterministic
    assert not path.opt_in
    assert (path.products, path.output, path.multiple_of) == ("f32", "f32", (1, 1, 1))


def test_tinygates_own_packers_of_quantized_operands(tmp_path: Path) -> None:
    text = swapped(MINIMAL, ('a = "f32"', 'a = "int8-packed"'), ('b = "f32"', 'b = "q4-block32"'))
    path = manifest.load(written(tmp_path, text))
    assert (path.pack_a, path.pack) == ("pack/int8_rows.wgsl", "pack/q4_block32.wgsl")
    (tmp_path / "pack.wgsl").write_text("p")
    text = text.replace("[dispatch]", 'pack_a = "pack.wgsl"\n[dispatch]')
    assert manifest.load(written(tmp_path, text)).pack_a == str(tmp_path / "pack.wgsl")


def test_every_key_at_once(tmp_path: Path) -> None:
    (tmp_path / "pack.wgsl").write_text("p")
    head = (
        'pill = "Own!"\nentry = "other"\nrequires = ["subgroups", "shader-f16"]\n'
        'engines = ["dawn"]\nproducts = "f16"\noutput = "f16"\ndeterministic = false\n'
        'pack = "pack.wgsl"\nguard = false\nopt_in = true\nmultiple_of = { N = 2, K = 4 }\n'
    )
    text = swapped(MINIMAL, ('b = "f32"', 'b = "f16-packed"'), ("[dispatch]", head + "[dispatch]"))
    text += 'z = { axis = "K", per = 3 }\n[constants]\nA = 1.5\nB = "K"\n12 = "subgroup_size"\n'
    path = manifest.load(written(tmp_path, text))
    assert path == FastPath(
        name="own",
        pill="Own!",
        kernel=str(tmp_path / "own.wgsl"),
        why=path.why,
        requires=("subgroups", "shader-f16"),
        b="f16-packed",
        products="f16",
        output="f16",
        entries=path.entries,
        pack=str(tmp_path / "pack.wgsl"),
        deterministic=False,
        opt_in=True,
        multiple_of=(1, 4, 2),
        source=f"file {tmp_path / 'own.toml'}",
        engines=("dawn",),
        guard=False,
        file=str(tmp_path / "own.toml"),
    )
    (entry,) = path.entries
    assert entry.name == "other"
    assert dict(entry.constants) == {"A": 1.5, "B": "K", "12": "subgroup_size"}
    assert entry.axes[2] == Steps("K", 3)
    assert entry.overrides(Shape(1, 5, 7), 8) == {"A": 1.5, "B": 5.0, "12": 8.0}
    assert path.shape_class(Shape(1, 5, 7)).entry == "other A=1.5 B=5 12=subgroup_size"
    assert path.engines == ("dawn",)


BAD: list[tuple[str, list[tuple[str, str]], list[str]]] = [
    ("unknown key", [("accumulate", "acumulate")], ["line 6: path.acumulate is not a key"]),
    ("unknown table", [("[dispatch]", "[dispach]")], ["dispach is not a key"]),
    ("no table", [("[path]", "[dims]")], ["no table [path]: it is required"]),
    ("no name", [('name = "own"', "")], ["path.name is missing"]),
    ("name type", [('"own"', "1")], ["line 2: path.name is an integer, expected a string"]),
    ("name", [('"own"', '"Own"')], ["path.name is 'Own', expected 1 to 40"]),
    ("empty", [('"own"', '""')], ["path.name", "1 to 200"]),
    ("control", [('"own"', '"o\\u0007"')], ["path.name", "printable"]),
    ("missing kernel", [("own.wgsl", "gone.wgsl")], ["line 3: path.kernel", "file not found"]),
    ("kernel type", [('"own.wgsl"', "{}")], ["path.kernel is a table"]),
    ("kernel folder", [("own.wgsl", ".")], ["path.kernel", "file not found"]),
    ("kernel above", [("own.wgsl", "../own.wgsl")], ["outside of the manifest's folder"]),
    ("kernel absolute", [("own.wgsl", "/etc/passwd")], ["outside of the manifest's folder"]),
    ("kernel nul", [("own.wgsl", "a\\u0000b")], ["path.kernel", "printable"]),
    ("a", [('a = "f32"', 'a = "f16"')], ["line 4: path.a is 'f16'", "does not support yet"]),
    ("b", [('b = "f32"', 'b = "f16"')], ["path.b", "does not support yet", "f16-packed"]),
    ("b word", [('b = "f32"', 'b = "f64"')], ["path.b is 'f64', expected one of f32"]),
    ("accumulate", [('accumulate = "f32"', 'accumulate = "i32"')], ["line 6", "int8-packed"]),
    ("dispatch none", [("x =", "[constants]\nx ="), ("y =", "#")], ["dispatch names no axis"]),
    ("dispatch key", [("x =", "w =")], ["line 8: dispatch.w is not a key"]),
    ("axis", [('"N"', '"L"')], ["line 8: dispatch.x.axis is 'L', expected one of M, K, N"]),
    ("per", [("per = 8 }\ny", "per = 0 }\ny")], ["dispatch.x.per is 0, expected 1 to"]),
    ("per bool", [("per = 8 }\ny", "per = true }\ny")], ["dispatch.x.per is a boolean"]),
    ("per gone", [(", per = 8 }\ny", " }\ny")], ["dispatch.x.per is missing"]),
    ("x type", [('{ axis = "N", per = 8 }', "8")], ["dispatch.x is an integer, expected a table"]),
]
ADDED: list[tuple[str, str]] = [
    ("[bindings]\nA = 16", "line 11: bindings.A is 16, expected 0 to 15"),
    ("[bindings]\nA = -1", "bindings.A is -1, expected 0 to 15"),
    ("[bindings]\nB = 0", "bindings use slot 0 twice"),
    ("[bindings]\nunused = [3]", "bindings use slot 3 twice"),
    ("[bindings]\nunused = [4, 4]", "bindings use slot 4 twice"),
    ("[bindings]\nunused = [99]", "bindings.unused holds 99, expected 0 to 15"),
    ("[bindings]\nunused = [true]", "bindings.unused holds a boolean"),
    ("[bindings]\nunused = 4", "bindings.unused is an integer"),
    (f"[bindings]\nunused = {list(range(4, 17))}", "holds 16, expected 0 to 15"),
    (
        '[bindings]\naccess = "write"',
        "bindings.access is 'write', expected one of read, read_write",
    ),
    ("[bindings]\nD = 1", "bindings.D is not a key"),
    (f"[bindings]\nA = {hex(16**5000)}", "an integer of more than 64 bits"),
    ("[dims]\nfields = []", "dims.fields has 0 values, expected 1 to 64"),
    (f"[dims]\nfields = {[0] * 65}", "dims.fields has 65 values"),
    ('[dims]\nfields = ["L"]', "dims.fields [0] is L, expected M, K, N"),
    ("[dims]\nfields = [0, -1]", "dims.fields [1] is -1"),
    ("[dims]\nfields = [4294967296]", "dims.fields [0] is 4294967296"),
    (f"[dims]\nfields = [{hex(16**5000)}]", "dims.fields [0] is an integer"),
    ("[dims]\nfields = [1e39]", "dims.fields [0] is 1e+39"),
    ("[dims]\nfields = [nan]", "dims.fields [0] is nan"),
    ("[dims]\nfields = [false]", "dims.fields [0] is"),
    ("[dims]\nfields = [[1]]", "dims.fields [0] is a list"),
    ('[constants]\nT = "L"', "line 11: constants.T is 'L', expected a number or one of M, K, N"),
    ("[constants]\nT = true", "constants.T is a boolean"),
    ("[constants]\nT = inf", "constants.T is 'inf'"),
    (f"[constants]\nT = {hex(16**5000)}", "constants.T is an integer"),
    ('[constants]\n"a b" = 1', "is not a name or a number that WGSL takes"),
    ("[constants]\n" + "\n".join(f"T{i} = 1" for i in range(65)), "constants are 65"),
    ("constants = 1", "y"),
]
HEADS: list[tuple[str, str]] = [
    ('requires = ["warp-drive"]', f"holds 'warp-drive', expected {', '.join(FEATURES)}"),
    ('requires = "subgroups"', "path.requires is a string, expected a list of strings"),
    ("requires = [1]", "path.requires holds an integer"),
    ('engines = ["webgl"]', "path.engines holds 'webgl', expected native, dawn, browser"),
    ("engines = []", "path.engines is '()', expected at least one engine"),
    ('pack = "own.wgsl"', "path.pack is"),
    ('pack_a = "own.wgsl"', "path.pack_a is"),
    ('pack = "gone.wgsl"', "path.pack is 'gone.wgsl': file not found"),
    ('entry = "a b"', "path.entry is 'a b'"),
    ("guard = 1", "path.guard is an integer, expected true or false"),
    ('over_read = "yes"', "path.over_read is 'yes', expected one of allowed"),
    ('over_read = "allowed"', 'path.over_read is "allowed" without over_read_reason'),
    ('over_read = "allowed"\nover_read_reason = ""', "path.over_read_reason is '', expected 1 to"),
    ('over_read_reason = "x"', "path.over_read_reason is of no use without over_read"),
    ('over_read = "no"\nover_read_reason = "x"', "path.over_read is 'no', expected one of"),
    ("multiple_of = 2", "path.multiple_of is an integer, expected a table"),
    ("multiple_of = { N = 0 }", "path.multiple_of.N is 0"),
    ("multiple_of = { L = 1 }", "path.multiple_of.L is not a key"),
    ('products = "matrix"', "does not support yet"),
    ('pill = "a\\nb"', "path.pill"),
    ('pill = "' + "x" * 201 + '"', "path.pill"),
]


def refused(file: Path) -> ConfigError:
    """The error of a manifest that cannot be used: short, with the file's name, printable."""
    with pytest.raises(ConfigError) as caught:
        manifest.load(file)
    error = caught.value
    assert error.message.startswith(str(file))
    assert error.exit_code == 2
    assert error.hint
    assert len(error.message) < 1000
    assert error.message.isprintable()
    return error


@pytest.mark.parametrize(("changes", "says"), [b[1:] for b in BAD], ids=[b[0] for b in BAD])
def test_a_bad_manifest(tmp_path: Path, changes: list[tuple[str, str]], says: list[str]) -> None:
    message = refused(written(tmp_path, swapped(MINIMAL, *changes))).message
    for text in says:
        assert text in message


@pytest.mark.parametrize(("lines", "says"), ADDED, ids=[f"{i}" for i in range(len(ADDED))])
def test_a_bad_table(tmp_path: Path, lines: str, says: str) -> None:
    assert says in refused(written(tmp_path, f"{MINIMAL}{lines}\n")).message


@pytest.mark.parametrize(("line", "says"), HEADS)
def test_a_bad_line_of_the_path(tmp_path: Path, line: str, says: str) -> None:
    text = swapped(MINIMAL, ("[dispatch]", f"{line}\n[dispatch]"))
    assert says in refused(written(tmp_path, text)).message


def test_a_file_that_is_no_manifest(tmp_path: Path) -> None:
    assert "file not found" in refused(tmp_path / "gone.toml").message
    assert "not a regular file" in refused(tmp_path).message
    for text, says in (
        ("[path]]", "line 1: not valid TOML"),
        ("path = 1", "no table [dispatch]"),
        ("path = 1\n[dispatch]", "path is an integer, expected a table"),
        ("#" * (1 << 20) + "\n", "over 1 MiB"),
        ("x = " + "[" * 100_000, "not valid TOML"),
    ):
        assert says in refused(written(tmp_path, text)).message
    (tmp_path / "own.toml").write_bytes(b"\xff\xfe")
    assert "line 1: not UTF-8" in refused(tmp_path / "own.toml").message


def test_a_kernel_that_cannot_be_used(tmp_path: Path) -> None:
    assert "over 1 MiB" in refused(written(tmp_path, kernel="/" * ((1 << 20) + 1))).message
    assert "NUL" in refused(written(tmp_path, kernel="a\0b")).message
    (tmp_path / "own.wgsl").write_bytes(b"\xff")
    assert "path.kernel" in refused(tmp_path / "own.toml").message
    (tmp_path / "own.wgsl").unlink()
    (tmp_path / "own.wgsl").symlink_to("/etc/hostname")
    assert "outside" in refused(tmp_path / "own.toml").message
    (tmp_path / "own.wgsl").unlink()
    (tmp_path / "own.wgsl").symlink_to("own.wgsl")
    refused(tmp_path / "own.toml")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=6,
)
KEYS = st.sampled_from(
    (
        *("name", "kernel", "a", "b", "requires", "engines", "guard", "multiple_of", "x", "z", "A"),
        *("B", "dims", "unused", "access", "fields", "TILE", "pack", "entry", "accumulate"),
    )
)


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    table=st.sampled_from(["path", "bindings", "dims", "dispatch", "constants"]),
    key=KEYS,
    value=VALUES,
)
def test_no_value_anywhere_is_a_traceback(
    tmp_path: Path, table: str, key: str, value: object
) -> None:
    document: dict[str, Any] = tomllib.loads(MINIMAL)
    document.setdefault(table, {})[key] = value
    file = written(tmp_path)
    try:
        path = manifest._Manifest(file, MINIMAL, document).path()
    except ConfigError as error:
        message = error.message
    else:
        message = ""
        assert validate(path) is path
        source_hash(path)
    assert message.isprintable()
    assert len(message) < 1000


def test_the_uniform_holds_what_was_declared() -> None:
    fields = ("M", 7, 1.5, "K", "N", -0.0)
    words = dispatch.uniform_words(fields, Shape(3, 4, 5))
    assert words.nbytes == 32
    assert words[[0, 1, 3, 4]].tolist() == [3, 7, 4, 5]
    assert words[[2, 5]].view(np.float32).tolist() == [1.5, -0.0]
    assert words[5] == 0x80000000
    assert words[6:].tolist() == [0, 0]


def test_slots_in_any_order_with_gaps() -> None:
    layout = Layout(a=5, b=0, c=7, dims=2, unused=(3, 9, 10), access="read_write")
    code = """
    // @group(0) @binding(3) var<storage, read_write> not_this: array<u32>;
    /* @group(0) @binding(9) var<uniform> nor_this: vec4f; */
    @binding(9) @group(0) var<storage,read_write> p: array<u32>;
    @group( 0 ) @binding( 10 ) var < uniform > q: vec4f;
    @group(1) @binding(3) var<storage, read_write> other: array<u32>;
    """
    assert declared_access(code) == {9: "read_write", 10: "uniform"}
    assert group_layout(layout, code) == (
        *("read_write", None, "uniform", "read", None, "read_write", None, "read_write", None),
        *("read_write", "uniform"),
    )


def test_a_dispatch_by_axis_names_its_limit(tmp_path: Path) -> None:
    limits = AdapterLimits(1 << 40, 1 << 40, 100, 256, 16384, 256)
    (entry,) = manifest.load(written(tmp_path)).entries
    assert dispatch_size(entry, Shape(9, 1, 800), limits) == (100, 2, 1)
    with pytest.raises(LimitError) as caught:
        dispatch_size(entry, Shape(9, 1, 801), limits)
    assert "dispatch x of 9x1x801 is 101 workgroups (ceil(N / 8))" in caught.value.message
    assert "max-compute-workgroups-per-dimension of 100" in caught.value.message


class Gate:
    """Runs a manifest on the session's device."""

    def __init__(self, harness: Harness, numerics: MeasuredNumerics, folder: Path) -> None:
        self.harness = harness
        self.numerics = numerics
        self.folder = folder

    def __call__(
        self, text: str, kernel: str, shape: str = "17x33x65", family: str = "uniform"
    ) -> CaseResult:
        path = manifest.load(written(self.folder, text, kernel))
        case = Case(path, Shape.parse(shape), family, DEFAULT_SEED)
        return run_case(self.harness, self.numerics, case)


@pytest.fixture
def gate(harness: Harness, measured_numerics: MeasuredNumerics, tmp_path: Path) -> Gate:
    return Gate(harness, measured_numerics, tmp_path)


@pytest.mark.parametrize("family", DEFAULT_FAMILIES)
@pytest.mark.parametrize("shape", ["1x1x1", "17x33x65", "3x257x129"])
def test_the_plain_manifest_passes(gate: Gate, shape: str, family: str) -> None:
    result = gate(MINIMAL, PLAIN, shape, family)
    assert result.status is Status.PASS, result.reason


def test_bindings_in_any_order(gate: Gate) -> None:
    kernel = swapped(
        PLAIN,
        ("binding(0)", "binding(15)"),
        ("binding(2)", "binding(0)"),
        ("binding(1)", "binding(9)"),
    )
    text = MINIMAL + "[bindings]\nA = 15\nB = 9\nC = 0\n"
    assert gate(text, kernel).status is Status.PASS
    # The same kernel on bindings that are not its own does not compile.
    assert gate(MINIMAL, kernel).status is Status.ERROR


def test_unused_bindings_are_bound(gate: Gate) -> None:
    extra = "".join(
        f"@group(0) @binding({slot}) var<{kind}> u{slot}: {held};\n"
        for slot, kind, held in (
            (4, "storage, read", "array<f32>"),
            (5, "storage, read_write", "array<atomic<u32>>"),
            (6, "uniform", "array<vec4f, 64>"),
            (7, "storage, read_write", "array<f32>"),
        )
    )
    use = (
        "  var sum = u4[0] + u6[1].x;\n  atomicAdd(&u5[0], 1u);\n"
        "  if (u4[0] != 0.0) { u7[0] = 1.0; }\n"
    )
    kernel = extra + swapped(PLAIN, ("  var sum = 0.0;\n", use))
    text = MINIMAL + "[bindings]\nunused = [4, 5, 6, 7]\n"
    assert gate(text, kernel).status is Status.PASS
    assert gate(MINIMAL, kernel).status is Status.ERROR


@pytest.mark.parametrize(("operand", "size"), [("a", "dims.M * dims.K"), ("b", "dims.K * dims.N")])
def test_read_write_operands_and_a_kernel_that_changes_one(
    gate: Gate, operand: str, size: str
) -> None:
    kernel = swapped(PLAIN, ("<storage, read>", "<storage, read_write>"))
    text = MINIMAL + '[bindings]\naccess = "read_write"\n'
    assert gate(text, kernel).status is Status.PASS
    write = f"  if (id.x == 0u && id.y == 0u) {{ {operand}[{size}] = 1.0; }}\n  c["
    result = gate(text, swapped(kernel, ("  c[", write)))
    assert result.status is Status.FAIL
    assert result.reason == f"changed an input: {operand.upper()}"


def test_a_uniform_of_another_shape(gate: Gate) -> None:
    struct = "struct Dims { one: f32, N: u32, seven: u32, K: u32, M: u32, two: f32 }"
    kernel = swapped(
        PLAIN,
        ("struct Dims { M: u32, K: u32, N: u32, pad: u32 }", struct),
        ("= sum;", "= sum * dims.one * dims.two * f32(dims.seven) / 14.0;"),
    )
    text = MINIMAL + '[dims]\nfields = [1.0, "N", 7, "K", "M", 2.0]\n'
    assert gate(text, kernel).status is Status.PASS
    assert gate(swapped(text, ("2.0]", "2.5]")), kernel).status is Status.FAIL


def test_constants_shape_and_subgroup_size(gate: Gate) -> None:
    kernel = "override M: u32; override K: u32; override N: u32; override half: f32;\n" + swapped(
        PLAIN, ("dims.", ""), ("= sum;", "= sum * half * 2.0;")
    )
    text = MINIMAL + '[constants]\nM = "M"\nK = "K"\nN = "N"\nhalf = 0.5\n'
    assert gate(text, kernel).status is Status.PASS
    lanes = "override lanes: u32;\n" + swapped(PLAIN, ("= sum;", "= sum * f32(lanes) / SIZE;"))
    text = MINIMAL + '[constants]\nlanes = "subgroup_size"\n'
    size = gate.numerics.subgroup_size
    result = gate(text, lanes.replace("SIZE", f"{size or 1}.0"))
    assert result.status is (Status.PASS if size else Status.ERROR), result.reason
    gate.harness.runner.subgroup_size, known = None, gate.harness.runner.subgroup_size
    try:
        result = gate(text, lanes)
    finally:
        gate.harness.runner.subgroup_size = known
    assert result.status is Status.ERROR
    assert "subgroup size of this adapter is not known, and constant lanes" in result.reason


def test_a_packer_of_ones_own(gate: Gate) -> None:
    packer = Path(manifest.__file__).parents[2] / "wgsl" / "pack/f16.wgsl"
    source = packer.read_text(encoding="utf-8")
    line = 'pack = "pack.wgsl"\nb = "f16-packed"'
    text = swapped(MANIFEST, ('b = "f16-packed"', line), ("my_path.wgsl", "own.wgsl"))
    (gate.folder / "pack.wgsl").write_text(source, encoding="utf-8")
    assert gate(text, KERNEL).status is Status.PASS
    wrong = swapped(source, ("vec2f(low, high)", "vec2f(high, low)"))
    (gate.folder / "pack.wgsl").write_text(wrong, encoding="utf-8")
    assert gate(text, KERNEL).reason.startswith("packing: ")


def test_guard_false_is_for_kernels_that_ask_for_the_length(gate: Gate) -> None:
    kernel = swapped(PLAIN, ("id.y >= dims.M", "id.y >= arrayLength(&c) / dims.N"))
    text = swapped(MINIMAL, ("[dispatch]", "guard = false\n[dispatch]"))
    result = gate(text, kernel)
    assert result.status is Status.PASS, result.reason
    (check,) = [check for check in result.checks if check.name == "guard"]
    assert "not checked: the path declares guard = false" in check.why
    result = gate(MINIMAL, kernel)
    assert result.status is Status.FAIL
    assert "wrote past the output" in result.reason


def test_an_over_read_is_allowed_with_a_reason(gate: Gate) -> None:
    loop = "k < dims.K; k++) { sum += a[id.y * dims.K + k]"
    masked = "k < dims.K + 1u; k++) { sum += select(0.0, a[id.y * dims.K + k], k < dims.K)"
    kernel = swapped(PLAIN, (loop, masked))
    result = gate(MINIMAL, kernel)
    assert result.status is Status.FAIL
    assert result.reason == "reads past B: what lies behind reaches C"
    line = 'over_read = "allowed"\nover_read_reason = "times zero"'
    result = gate(swapped(MINIMAL, ("[dispatch]", f"{line}\n[dispatch]")), kernel)
    assert result.status is Status.PASS, result.reason
    assert result.warnings[0].endswith("allowed, as declared: times zero")


def test_a_shape_that_does_not_fit_is_a_skip(gate: Gate) -> None:
    text = swapped(MINIMAL, ("[dispatch]", "multiple_of = { N = 2 }\n[dispatch]"))
    result = gate(text, PLAIN)
    assert result.status is Status.SKIP
    assert result.reason == "N=65 is not a multiple of 2 (multiple_of)"


@pytest.mark.slow
def test_the_replay_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """From the command line: a FAIL beside a PASS, and the command that shows it again."""
    monkeypatch.chdir(tmp_path)
    written(tmp_path, kernel=swapped(PLAIN, ("= sum;", "= 1.25 * sum;")))
    args = ["verify", "--path", "own.toml", "--path", "f16-storage", "--shape", "17x33x65"]
    assert run(args) == 1
    out = capsys.readouterr().out
    assert "f16-storage gate verdict: PASS" in out
    assert "own gate verdict: FAIL" in out
    replay = next(line for line in out.splitlines() if "replay: tinygate verify" in line)
    assert "--path own.toml" in replay
    assert run(replay.split("tinygate ", 1)[1].split()) == 1


@pytest.mark.slow
def test_a_shader_error_is_an_error_of_that_path_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, kernel=swapped(PLAIN, ("= sum;", "= = sum;")))
    args = ["verify", "--path", "own.toml", "--path", "f16-storage", "--shape", "17x33x65"]
    assert run(args) == 3
    out = capsys.readouterr().out
    assert 'ERROR: own.wgsl:11:29: expected expression, found "="' in out
    assert "f16-storage gate verdict: PASS — f16-storage path active" in out
    assert "own gate verdict: ERROR" in out


@pytest.mark.slow
def test_an_engine_the_manifest_does_not_name_is_a_skip(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = swapped(MINIMAL, ("[dispatch]", 'engines = ["dawn"]\n[dispatch]'))
    file = str(written(tmp_path, text))
    assert run(["verify", "--path", file, "--shape", "4x4x4"]) == 3
    assert "own gate verdict: SKIP — made for dawn, not for native" in capsys.readouterr().out
    both = ["verify", "--path", file, "--path", "f16-storage", "--shape", "4x4x4"]
    assert run(both) == 0
    assert run([*both, "--require", "own"]) == 3
    assert run([*both, "--require", file]) == 3


def test_a_bad_manifest_is_exit_2_in_two_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = swapped(MINIMAL, ("[dispatch]", 'requires = ["warp-drive"]\n[dispatch]'))
    for command in (["verify", "--path"], ["paths"], ["probe"]):
        assert run([*command, str(written(tmp_path, text))]) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        first, hint = captured.err.splitlines()
        assert "line 7: path.requires holds 'warp-drive', expected shader-f16" in first
        assert hint.startswith("hint: ")


def test_a_name_that_is_taken_is_exit_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("f16-storage", "f32"):
        file = str(written(tmp_path, swapped(MINIMAL, ('"own"', f'"{name}"'))))
        assert run(["verify", "--path", file]) == 2
        assert f"two paths are called '{name}'" in capsys.readouterr().err
    (tmp_path / "two").mkdir()
    one, two = written(tmp_path), written(tmp_path / "two")
    assert run(["verify", "--path", str(one), "--path", str(two)]) == 2
    assert str(two) in capsys.readouterr().err
    listing = ["verify", "--list", "--inputs", "uniform", "--shape", "1x1x1"]
    again = tmp_path / "two" / ".." / "own.toml"
    assert run([*listing, "--path", str(one), "--path", str(again)]) == 0
    assert capsys.readouterr().out == "own/1x1x1/uniform\n"


@pytest.mark.slow
def test_paths_and_probe_say_where_it_comes_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(written(tmp_path))
    assert run(["paths", file]) == 0
    assert f"file {file}" in capsys.readouterr().out
    assert run(["probe", file]) == 0
    out = capsys.readouterr().out
    assert f"detected, not yet verified · file {file}" in out
    assert "detected, not yet verified · built in" in out


def test_the_label_of_a_kernel_is_a_way_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = manifest.load(written(tmp_path))
    assert matmul_kernel(path, Shape(1, 1, 1)).label == str(tmp_path / "own.wgsl")
    monkeypatch.chdir(tmp_path)
    assert matmul_kernel(path, Shape(1, 1, 1)).label == "own.wgsl"
