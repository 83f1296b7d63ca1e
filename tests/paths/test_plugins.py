"""Plug-ins: what they may offer, what a broken one costs, and how a Python path is gated."""

from __future__ import annotations

import json
import os
import pickle
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

import tinygate
from tinygate.cli.main import run
from tinygate.core.errors import CannotVerifyError, ConfigError
from tinygate.paths import plugins, registry
from tinygate.paths.source import source_hash

pytestmark = pytest.mark.slow

PYTHON = """
import numpy as np
from tinygate.paths.plugins import PythonPath, refuse_over

def f16(B):
    refuse_over(B, 65504)
    return B.astype(np.float16)

def held(A, B):
    return A @ f16(B).astype(np.float32)
"""
Install = Callable[..., str]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Put a distribution with one entry point where this process and the worker find it."""
    package = str(Path(tinygate.__file__).parent.parent)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), package]))
    monkeypatch.syspath_prepend(str(tmp_path))

    def put(dist: str, code: str, target: str = "offer", version: str = "1.2") -> str:
        module = f"{dist}_{abs(hash((str(tmp_path), code)))}".replace("-", "_")
        (tmp_path / f"{module}.py").write_text(textwrap.dedent(code), encoding="utf-8")
        info = tmp_path / f"{dist}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {dist}\nVersion: {version}\n")
        points = f"[{plugins.GROUP}]\nsome = {module}:{target}\n"
        (info / "entry_points.txt").write_text(points)
        return module

    return put


def python_path(body: str, **fields: str) -> str:
    """A plug-in's module with one path `mine`; `body` is its run."""
    more = "".join(f", {key}={value}" for key, value in fields.items())
    return f'{PYTHON}\n{body}\noffer = PythonPath("mine", run, "a test"{more})\n'


RIGHT = "def run(A, B): return A @ B"


def test_no_plugin_is_no_path() -> None:
    assert plugins.discover() == plugins.Found((), ())


def test_a_path_of_each_kind(install: Install, tmp_path: Path) -> None:
    kernel = tmp_path / "k.wgsl"
    kernel.write_text("fn main() {}")
    install(
        "acme",
        f"""
        from tinygate import Entry, FastPath, PythonPath
        def offer():
            print("not for stdout")
            yield FastPath("one", "one", {str(kernel)!r}, "why", entries=(Entry("main", 8, 8),))
            yield PythonPath("two", lambda A, B: A @ B, "why", pill="Two", opt_in=True)
        """,
    )
    one, two = plugins.discover().paths
    assert (one.name, one.source, one.call) == ("one", "plug-in acme 1.2", "")
    assert (two.name, two.pill, two.call) == ("two", "Two", "acme:some")
    assert two.opt_in
    assert two.readback
    assert pickle.loads(pickle.dumps(two)) == two
    assert len(source_hash(two)) == 64
    assert plugins.load_call(two).name == "two"


def test_where_it_comes_from_is_listed(
    install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    install("acme-paths", "print('hello')\n" + python_path(RIGHT))
    assert run(["paths"]) == 0
    captured = capsys.readouterr()
    assert "plug-in acme-paths 1.2" in captured.out
    assert "hello" not in captured.out
    assert run(["paths", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["paths"][-1]
    assert (listed["path"], listed["call"]) == ("mine", "acme-paths:some")
    assert listed["source"] == "plug-in acme-paths 1.2"
    assert run(["probe"]) == 0
    assert "detected, not yet verified · plug-in acme-paths 1.2" in capsys.readouterr().out
    assert run(["paths", "--no-plugins"]) == 0
    assert "mine" not in capsys.readouterr().out
    assert run(["verify", "--path", "mine", "--no-plugins"]) == 2


BROKEN = {
    "import": ("raise ImportError('no such runtime')", "ImportError: no such runtime"),
    "syntax": ("def def", "SyntaxError"),
    "exit": ("raise SystemExit(7)", "SystemExit: 7"),
    "nothing": ("", "AttributeError"),
    "number": ("offer = 7", "TypeError: it offers int, expected FastPath or PythonPath"),
    "text": ("offer = 'abc'", "TypeError: it offers str"),
    "function": ("def offer(): return 1 / 0", "ZeroDivisionError"),
    "lines": ("raise ValueError('a\\nb\\x1b[31m')", "ValueError"),
    "endless": (
        "from tinygate import PythonPath\n"
        "def offer():\n"
        "    while True: yield PythonPath('a', print, 'why')",
        "more than 1000 paths",
    ),
    "name": (python_path(RIGHT).replace('"mine"', '"Mine"'), "ConfigError: path 'Mine': name is"),
    "numerics": (python_path(RIGHT, accumulate="'f64'"), "accumulate is 'f64'"),
    "no function": (
        python_path("run = 7"),
        "TypeError: path 'mine': run and stored must be functions",
    ),
    "no kernel": (
        "from tinygate import FastPath\noffer = FastPath('one', 'one', '/gone.wgsl', 'why')",
        "ConfigError: path 'one': kernel is '/gone.wgsl', expected a file that exists",
    ),
}


@pytest.mark.parametrize(("code", "says"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_plugin_is_a_warning(
    install: Install, capsys: pytest.CaptureFixture[str], code: str, says: str
) -> None:
    install("acme", code)
    assert run(["paths"]) == 0
    captured = capsys.readouterr()
    assert "f16-storage" in captured.out
    (warning,) = captured.err.splitlines()
    assert warning.startswith("warning: plug-in acme 1.2 (entry point some) was left out: ")
    assert says in warning
    assert warning.isprintable()


def test_a_broken_plugin_beside_a_good_one(install: Install) -> None:
    install("bad", "1 / 0")
    install("good", python_path(RIGHT))
    found = registry.load()
    assert [path.name for path in found.paths][-1] == "mine"
    (warning,) = found.warnings
    assert "plug-in bad 1.2" in warning
    assert registry.load(with_plugins=False).warnings == ()


@pytest.mark.parametrize("name", ["f16-storage", "f32"])
def test_a_name_that_is_taken(
    install: Install, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    install("acme", python_path(RIGHT).replace('"mine"', f'"{name}"'))
    assert run(["verify", "--list"]) == 2
    err = capsys.readouterr().err
    assert f"two paths are called '{name}'" in err
    assert "plug-in acme 1.2" in err
    assert "--no-plugins" in err
    assert run(["verify", "--list", "--no-plugins"]) == 0


def test_two_plugins_of_one_name(install: Install) -> None:
    install("acme", python_path(RIGHT))
    install("bcme", python_path(RIGHT))
    with pytest.raises(ConfigError, match=r"plug-in acme 1\.2 and plug-in bcme 1\.2"):
        registry.load()


def verify(*args: str, shape: str = "17x33x65") -> int:
    """The gate over the test's own path."""
    return run(["verify", "--path", "mine", "--shape", shape, *args])


def test_a_right_callable_is_active(install: Install, capsys: pytest.CaptureFixture[str]) -> None:
    install("acme", python_path(RIGHT))
    assert verify("--inputs", "all") == 0
    out = capsys.readouterr().out
    assert "[ops] mine gate verdict: PASS — mine path active" in out
    install("bcme", python_path("run = held", stored="f16", b="'f16-packed'").replace("mine", "f"))
    assert run(["verify", "--path", "f", "--shape", "17x33x65", "--inputs", "all", "-v"]) == 0
    out = capsys.readouterr().out
    assert "[ops] f gate verdict: PASS — f path active" in out
    assert "packing: PASS" in out
    assert "refusal: PASS" in out
    assert "guard words" not in out


WRONG = {
    "scaled": ("def run(A, B): return 1.25 * (A @ B)", "conformance"),
    "transposed": ("def run(A, B): return (A @ B)[::-1].copy()", "max_abs over limit"),
    "nan": (
        "def run(A, B):\n    C = A @ B\n    C[3, 4] = np.nan\n    return C",
        "1 non-finite output at [3,4]",
    ),
    "mislabelled": (
        "def run(A, B): return A @ B.astype(np.float16).astype(np.float32)",
        "conformance",
    ),
    "clobbers": (
        "def run(A, B):\n    C = A @ B\n    B[0, 0] += 1\n    return C",
        "changed an input: B",
    ),
    "changes": (
        "calls = iter(range(10**9))\n"
        "def run(A, B): return (A @ B) * np.float32(1 + 1e-7 * (next(calls) % 2))",
        "differ from the first run",
    ),
}


@pytest.mark.parametrize(("body", "says"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_callable_fails(
    install: Install, capsys: pytest.CaptureFixture[str], body: str, says: str
) -> None:
    install("acme", python_path(body))
    assert verify() == 1
    assert says in capsys.readouterr().out


ERRORS = {
    "raises": ("def run(A, B): raise OSError('no device\\nat all')", "OSError: "),
    "shape": ("def run(A, B): return (A @ B).T", "run gave shape [65, 17], expected [17, 65]"),
    "double": ("def run(A, B): return A.astype(float) @ B", "run gave an array of float64"),
    "list": ("def run(A, B): return [[1.0]]", "expected an array of float32 or float16"),
    "exits": ("import sys\ndef run(A, B): sys.exit(5)", "it raised SystemExit: 5"),
    "aborts": ("import os\ndef run(A, B): os.abort()", "SIGABRT"),
}


@pytest.mark.parametrize(("body", "says"), ERRORS.values(), ids=ERRORS.keys())
def test_a_callable_that_gives_nothing_to_judge(
    install: Install, capsys: pytest.CaptureFixture[str], body: str, says: str
) -> None:
    install("acme", python_path(body))
    args = ["verify", "--path", "mine", "--path", "f16-storage", "--shape", "17x33x65"]
    assert run([*args, "--inputs", "uniform"]) == 3
    out = capsys.readouterr().out
    assert says in out
    assert "f16-storage gate verdict: PASS" in out


def test_a_callable_that_hangs(install: Install, capsys: pytest.CaptureFixture[str]) -> None:
    install("acme", python_path("import time\ndef run(A, B): time.sleep(600)"))
    assert verify("--inputs", "uniform", "--timeout", "2") == 3
    assert "timeout" in capsys.readouterr().out


def test_prints_do_not_disturb(install: Install, capsys: pytest.CaptureFixture[str]) -> None:
    install("acme", python_path("def run(A, B):\n    print('x' * 9999)\n    return A @ B"))
    assert verify() == 0
    assert "xxx" not in capsys.readouterr().out


def test_without_its_stored_operands_it_is_never_active(
    install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    install("acme", python_path("run = held", b="'f16-packed'"))
    assert verify("-v") == 0
    out = capsys.readouterr().out
    assert "mine gate verdict: PASS — passes activation; not active" in out
    assert "mine matmul active" not in out
    assert "conformance:" not in out
    assert "[ops] mine exact: 0 of 1105 wrong — PASS · 17x33x65 integer" in out
    assert "SKIP: what the path stores cannot be read back, and identity is judged by that" in out


def test_stored_operands_are_checked(install: Install, capsys: pytest.CaptureFixture[str]) -> None:
    cut = "def stored(B): return (B.view(np.uint32) & 0xFFFF0000).view(np.float32)"
    body = f"{cut}\ndef run(A, B): return A @ stored(B)"
    install("acme", python_path(body, stored="stored", b="'f16-packed'"))
    assert verify("--inputs", "uniform") == 1
    assert "packing: " in capsys.readouterr().out


def test_stored_values_that_the_format_does_not_have(
    install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    install("acme", python_path("run = held", stored="lambda B: B", b="'f16-packed'"))
    assert verify("--inputs", "uniform") == 3
    out = capsys.readouterr().out
    assert "plug-in acme 1.2: stored(B)[0,0] is " in out
    assert "which f16-packed does not have" in out


def test_a_clamped_weight_is_no_refusal(
    install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    clamp = "def clamp(B): return np.clip(B, -65504, 65504).astype(np.float16)"
    run_it = "def run(A, B): return A @ clamp(B).astype(np.float32)"
    install("acme", python_path(f"{clamp}\n{run_it}", stored="clamp", b="'f16-packed'"))
    assert verify("--inputs", "overflow") == 1
    assert "not refused: B[" in capsys.readouterr().out


def test_a_path_the_worker_cannot_find(install: Install) -> None:
    install("acme", python_path(RIGHT))
    (path,) = plugins.discover().paths
    for call, name in (("gone:some", "mine"), ("acme:some", "other")):
        gone = type(path)(**{**vars(path), "call": call, "name": name})
        with pytest.raises(CannotVerifyError, match="does not offer path"):
            plugins.load_call(gone)
