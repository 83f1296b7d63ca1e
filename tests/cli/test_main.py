"""The command line as a person or CI sees it: exit code, stdout, stderr."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tinygate.cli import provenance
from tinygate.cli.main import run
from tinygate.core.kernel_abi import Entry
from tinygate.paths import builtin

NO_DRIVERS = dict.fromkeys(
    ("VK_ICD_FILENAMES", "VK_DRIVER_FILES", "__EGL_VENDOR_LIBRARY_FILENAMES"), os.devnull
)
LINE = "[ops] f16-storage gate: mean|ref|=1.19e-1, max_abs="


def tinygate(
    *args: str, env: dict[str, str] | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the program in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "tinygate", *args],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=cwd,
        env={**os.environ, **(env or {})},
        check=False,
    )


@pytest.fixture
def wrong_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """Register a second path that is detected and wrong: 1.25 times the product."""
    kernel = tmp_path / "scaled.wgsl"
    entry = Entry("main", 1, 1)
    kernel.write_text(
        """
struct Dims { M: u32, K: u32, N: u32, pad: u32 }
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
@group(0) @binding(3) var<uniform> dims: Dims;
@compute @workgroup_size(1)
fn main(@builtin(workgroup_id) w: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = w.x + w.y * groups.x;
  if (i >= dims.M * dims.N) { return; }
  var sum = 0.0;
  for (var k = 0u; k < dims.K; k++) {
    sum += a[i / dims.N * dims.K + k] * b[k * dims.N + i % dims.N];
  }
  c[i] = 1.25 * sum;
}
"""
    )
    wrong = replace(
        builtin.REFERENCE, name="scaled", pill="scaled", kernel=str(kernel), entries=(entry,)
    )
    monkeypatch.setattr(builtin, "BUILTIN", (*builtin.BUILTIN, wrong))
    return wrong.name


def test_the_main_job() -> None:
    done = tinygate("verify", "--shape", "64x128x128")
    assert done.returncode == 0, done.stderr
    first, uniform, positive, integer, identity, *rest = done.stdout.splitlines()
    *beside, verdict = rest[: rest.index("")][:5]
    table = rest[rest.index("") :]
    assert first.startswith("tinygate ")
    assert "native" in first
    assert uniform.startswith(LINE)
    assert uniform.endswith("— PASS")
    assert positive.endswith("— PASS · 64x128x128 positive")
    assert integer == "[ops] f16-storage exact: 0 of 8192 wrong — PASS · 64x128x128 integer"
    assert identity == "[ops] f16-storage exact: 0 of 16384 wrong — PASS · 64x128x128 identity"
    assert [line.rpartition(" · ")[2] for line in beside] == [
        *("127x65x66 integer", "33x66x127 integer", "34x127x65 integer", "33x66x127 uniform")
    ]
    assert verdict == (
        "[ops] f16-storage gate verdict: PASS — f16-storage path active"
        " · M 33–128, K 65–128, N 65–128"
    )
    assert "f16-storage matmul active" in table[-1].split(" · ")
    assert "\x1b" not in done.stdout


@pytest.mark.slow
def test_a_wrong_path_is_exit_1_with_a_replay(
    wrong_path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["verify", "--shape", "17x33x65"]) == 1
    out = capsys.readouterr().out
    assert "[ops] scaled gate: mean|ref|=6.02e-2" in out
    assert "— FAIL: max_abs over limit" in out
    assert "[ops] scaled gate verdict: FAIL — falling back to f32" in out
    assert "[ops] f16-storage gate verdict: PASS — f16-storage path active" in out
    assert out.count("\nf16-storage matmul active") == 1
    assert "scaled matmul active" not in out
    assert "tinygate verify --shape 17x33x65 --path scaled --inputs uniform --seed 12345" in out


@pytest.mark.slow
def test_a_failing_path_next_to_a_passing_one_in_every_format(
    wrong_path: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    for kind, expected in (
        ("json", '"status": "FAIL"'),
        ("junit", "<failure"),
        ("github", "::error"),
        ("markdown", "| scaled |"),
    ):
        args = ["verify", "--shape", "17x33x65", "--inputs", "integer", "--output-format", kind]
        assert run(args) == 1
        assert expected in capsys.readouterr().out
    assert "scaled" in summary.read_text(encoding="utf-8")


@pytest.mark.slow
def test_fewer_families_pass_but_do_not_activate(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", "--shape", "17x33x65", "--inputs", "uniform"]) == 0
    out = capsys.readouterr().out
    assert "passes uniform" in out
    assert "matmul active" not in out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["verify", "--shape", "64x128"], "64x128 is not a shape: expected MxKxN"),
        (["verify", "--shape", "0x1x1"], "M is 0"),
        (["verify", "--shape", "1x-2x1"], "K is -2"),
        (["verify", "--shape", "1x2xfoo"], "N is 'foo'"),
        (["verify", "--suite", "nope"], "unknown suite 'nope'"),
        (["verify", "--path", "nope"], "the registered paths are f16-storage"),
        (["verify", "--require", "nope"], "the registered paths are f16-storage"),
        (["verify", "--inputs", "nope"], "the families are uniform, positive"),
        (["verify", "--engine", "nope"], "the engines are native"),
        (["verify", "--inputs", "all,uniform"], "'all' already holds every input family"),
        (["verify", "--output-format", "xml"], "--output-format: 'xml' is not one of 'text', "),
        (["verify", "--seed", "x"], "--seed: 'x' is not a whole number from 0 to "),
        (["verify", "--timeout", "nan"], "--timeout: 'nan' is not a number of seconds from 0.1"),
        (["verify", "--export-json", "."], "--export-json: . cannot be written: Is a directory"),
        (["verify", "--save-failures", "/dev/null"], "--save-failures: /dev/null cannot be"),
        (["replay", "nope.npz"], "nope.npz cannot be replayed: file not found"),
        (["verify", "-k", "("], "-k: '(' is not a regular expression"),
        (["verify", "-k", "(" * 90_000], "not a regular expression"),
        (["verify", "-k", "a{99999999999}"], "not a regular expression"),
        (["verify", "-k", "(.*)*(.*)*(.*)*(.*)*#"], "takes over 2 s to match"),
        (["verify", "--seed", "-1"], "--seed"),
        (["verify", "--seed", "x"], "--seed"),
        (["verify", "--timeout", "0"], "--timeout"),
        (["verify", "--nope"], "--nope"),
        (["verify", "-v", "-q"], "cannot be combined"),
        (["verify", "--output-format", "yaml"], "--output-format"),
        (["verify", "--export-json", "/nonexistent/x.json"], "cannot be written"),
        (["verify", "--export-json", "-", "--export-junit", "-"], "only one"),
        (["nope"], "nope"),
    ],
)
def test_bad_usage_is_exit_2_in_three_lines(
    args: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(args) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert says in captured.err
    lines = captured.err.splitlines()
    assert len(lines) <= 3
    assert "Errno" not in captured.err
    assert max(map(len, lines)) < 300
    assert lines[0].startswith("tinygate: ")
    assert any(line.startswith("hint: ") for line in lines)


@pytest.mark.parametrize(
    ("args", "hint"),
    [
        (["verify", "my.toml"], "tinygate verify --path my.toml"),
        (["verify", "64x128x128"], "tinygate verify --shape 64x128x128"),
        (["verify", "-q", "1x2x3:mlp"], "tinygate verify --shape 1x2x3:mlp"),
        (["verify", "what"], "tinygate verify --help"),
        (["paths", "--sede"], "tinygate paths --help"),
        (["verify", "--suite", "smoke,ragged"], "tinygate verify --suite smoke --suite ragged"),
    ],
)
def test_the_hint_is_the_command_that_was_meant(
    args: list[str], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(args) == 2
    assert capsys.readouterr().err.splitlines()[-1] == f"hint: {hint}"


def test_a_variable_with_commas_is_told_of_spaces(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in (("SHAPE", "1x1x1,2x2x2"), ("SUITE", "smoke,head")):
        monkeypatch.setenv(f"TINYGATE_{name}", value)
        assert run(["verify", "--list"]) == 2
        assert "whose values are separated by spaces" in capsys.readouterr().err
        monkeypatch.setenv(f"TINYGATE_{name}", value.replace(",", " "))
        assert run(["verify", "--list"]) == 0
        capsys.readouterr()


def test_the_list_of_commands_is_cut_short_nowhere(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    assert "..." not in capsys.readouterr().out.split("Commands:")[1]


@pytest.mark.slow
def test_unknown_adapter_is_exit_2_with_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", "--adapter", "no such card"]) == 2
    assert "the adapters are 0: " in capsys.readouterr().err
    assert run(["probe", "--adapter", "99"]) == 2


@pytest.mark.slow
def test_no_adapter_is_exit_3() -> None:
    for command in (["verify"], ["probe"], ["verify", "--shape", "1x1x1"]):
        done = tinygate(*command, env=NO_DRIVERS)
        assert done.returncode == 3
        assert done.stdout == ""
        assert done.stderr.startswith("tinygate: no WebGPU adapter")
        assert len(done.stderr.splitlines()) == 2


def test_nothing_left_to_run_is_exit_3(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", "-k", "matches nothing"]) == 3
    assert "nothing was verified" in capsys.readouterr().err


@pytest.mark.slow
def test_skips_only_is_exit_3(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    choosy = replace(builtin.BUILTIN[0], multiple_of=(1, 1, 64))
    monkeypatch.setattr(builtin, "BUILTIN", (choosy,))
    assert run(["verify", "--shape", "4x4x65"]) == 3
    assert "N=65 is not a multiple of 64" in capsys.readouterr().out
    assert run(["verify", "--shape", "4x4x65", "--shape", "4x4x64"]) == 0


@pytest.mark.slow
def test_a_required_path_that_skips_is_exit_3(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    choosy = replace(builtin.BUILTIN[0], name="choosy", multiple_of=(1, 1, 64))
    monkeypatch.setattr(builtin, "BUILTIN", (*builtin.BUILTIN, choosy))
    assert run(["verify", "--shape", "4x4x65"]) == 0
    assert run(["verify", "--shape", "4x4x65", "--require", "choosy"]) == 3
    assert "choosy" in capsys.readouterr().out


def test_list_runs_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        run(
            [
                "verify",
                "--list",
                "--shape",
                "4x4x4:tiny",
                "-k",
                "f16-storage/4x4x4.*(uniform|integer)",
            ]
        )
        == 0
    )
    assert capsys.readouterr().out.splitlines() == [
        "f16-storage/4x4x4:tiny/uniform",
        "f16-storage/4x4x4:tiny/integer",
    ]


@pytest.mark.slow
def test_quiet_and_verbose(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", "--shape", "17x33x65", "-q"]) == 0
    quiet = capsys.readouterr().out
    assert "gate verdict" in quiet
    assert "mean|ref|" not in quiet
    assert run(["verify", "--shape", "17x33x65", "-v"]) == 0
    verbose = capsys.readouterr().out
    assert "conformance: PASS" in verbose
    assert "8 sqrt(K) 2^-24" in verbose


@pytest.mark.slow
def test_exports_are_written_beside_the_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {kind: tmp_path / f"report.{kind}" for kind in ("json", "junit", "markdown")}
    args = [f"--export-{kind}={file}" for kind, file in files.items()]
    assert run(["verify", "--shape", "17x33x65", *args]) == 0
    assert LINE[:24] in capsys.readouterr().out
    assert json.loads(files["json"].read_text())["exit_code"] == 0
    assert files["junit"].read_text().startswith("<?xml")
    assert "| pill |" in files["markdown"].read_text(encoding="utf-8")


@pytest.mark.slow
def test_an_export_on_stdout_is_all_of_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", "--shape", "17x33x65", "--export-json", "-"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["exit_code"] == 0
    assert "gate verdict: PASS" in captured.err


@pytest.mark.slow
def test_a_run_that_could_not_start_leaves_valid_exports(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    done = tinygate("verify", "--export-json", str(file), "--output-format", "json", env=NO_DRIVERS)
    assert done.returncode == 3
    for text in (file.read_text(), done.stdout):
        report = json.loads(text)
        assert report["exit_code"] == 3
        assert not any(path["active"] for path in report["paths"])
        assert "no WebGPU adapter" in report["notes"][0]


@pytest.mark.slow
def test_a_killed_run_leaves_a_valid_export_that_says_so(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "tinygate",
            "verify",
            "--suite",
            "ragged",
            "--repeat",
            "10000",
            "--export-json",
            str(file),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    process.stdout.readline()  # the adapter is open, so the export was opened before
    process.kill()
    process.wait()
    process.stdout.close()
    report = json.loads(file.read_text())
    assert report["exit_code"] == 3
    assert {case["reason"] for path in report["paths"] for case in path["cases"]} == {"not run"}


@pytest.mark.slow
def test_ctrl_c_reports_what_is_finished_and_is_exit_130() -> None:
    # A runner may start the tests with SIGINT ignored, which a child inherits.
    code = (
        "import signal\n"
        "from tinygate.cli.main import main\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "main()"
    )
    shapes = ["--shape", "4x4x16", "--shape", "535x96x1024"]
    process = subprocess.Popen(
        [sys.executable, "-c", code, "verify", *shapes, "--repeat", "500"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    first = [process.stdout.readline() for _ in range(2)]
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "PASS · 4x4x16 uniform" in first[1]
    assert "matmul active" not in out
    assert "Traceback" not in err


@pytest.mark.slow
def test_a_closed_pipe_is_no_traceback() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "tinygate", "verify", "--suite", "smoke"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr is not None
    err = process.stderr.read()
    process.wait(timeout=60)
    process.stderr.close()
    assert "Traceback" not in err
    assert process.returncode == 141


@pytest.mark.slow
def test_colour_only_where_asked_and_never_inside_a_gate_line(
    wrong_path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ["verify", "--shape", "17x33x65", "--color", "always"]
    assert run(args) == 1
    out = capsys.readouterr().out
    assert "\x1b[" in out
    assert not any("\x1b" in line for line in out.splitlines() if line.startswith("[ops]"))
    assert run([*args[:-1], "never"]) == 1
    assert "\x1b" not in capsys.readouterr().out


def test_options_from_file_variable_and_flag(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tinygate.toml").write_text('shape = ["3x3x3"]\ninputs = "integer"\n')
    listing = ["verify", "--list", "--path", "f16-storage"]
    assert run(listing) == 0
    assert capsys.readouterr().out == "f16-storage/3x3x3/integer\n"
    monkeypatch.setenv("TINYGATE_SHAPE", "4x4x4 5x5x5")
    assert run(listing) == 0
    assert capsys.readouterr().out == "f16-storage/4x4x4/integer\nf16-storage/5x5x5/integer\n"
    assert run([*listing, "--shape", "6x6x6"]) == 0
    assert capsys.readouterr().out == "f16-storage/6x6x6/integer\n"
    (tmp_path / "tinygate.toml").write_text("shpae = 1\n")
    assert run(listing) == 2
    assert "shpae" in capsys.readouterr().err
    assert run(["verify", "--help"]) == 0


@pytest.mark.slow
def test_probe_lists_adapters_and_paths(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["probe", "--json"]) == 0
    probed = json.loads(capsys.readouterr().out)
    assert probed["adapters"][probed["chosen"]]["kind"] in {
        "discrete",
        "integrated",
        "CPU",
        "unknown",
    }
    assert probed["paths"][0] == {
        "path": "f16-storage",
        "pill": "f16 storage",
        "detected": True,
        "missing": None,
        "requires": [],
        "source": "built in",
    }
    assert probed["numerics"]["f32_round_to_nearest"] in {True, False}
    assert probed["numerics"]["workgroup_memory_zeroed"] in {True, False}
    assert probed["numerics"]["loop_limit"] is None or probed["numerics"]["loop_limit"] > 0
    assert run(["probe"]) == 0
    text = capsys.readouterr().out
    assert "default adapter: " in text
    assert re.search(r"^ +workgroup memory .* at zero · loops ", text, re.MULTILINE)
    assert re.search(r"^f16-storage +detected, not yet verified", text, re.MULTILINE)


def test_paths_lists_declarations(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["paths"]) == 0
    assert re.search(
        r"^f16-storage +f16 storage +f16-packed", capsys.readouterr().out, re.MULTILINE
    )
    assert run(["paths", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["paths"][0]["b"] == "f16-packed"


def test_every_command_has_help_with_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ([], ["probe"], ["verify"], ["paths"], ["new"], ["replay"]):
        assert run([*command, "--help"]) == 0
        assert "Example: tinygate" in capsys.readouterr().out


def test_a_fault_of_tinygates_own_is_no_traceback_but_with_debug(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("oh")

    monkeypatch.setattr("tinygate.cli.paths.render_text", broken)
    assert run(["paths"]) == 3
    assert "internal error: RuntimeError: oh" in capsys.readouterr().err
    with pytest.raises(RuntimeError):
        run(["paths", "--debug"])


@pytest.mark.slow
def test_the_worker_outlives_nobody(tmp_path: Path) -> None:
    """A parent killed in the middle of a long case leaves no process behind."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tinygate", "verify", "--shape", "535x96x1024", "--repeat", "10000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    process.stdout.readline()
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    if not children.exists():  # not every kernel lists them
        process.kill()
        process.wait()
        process.stdout.close()
        return
    workers = [int(pid) for pid in children.read_text().split()]
    assert workers
    process.kill()
    process.wait()
    process.stdout.close()
    for _ in range(200):
        if not any(Path(f"/proc/{pid}").exists() for pid in workers):
            return
        time.sleep(0.05)
    raise AssertionError("the worker is still there")


def closed(*args: str, both: bool = False) -> tuple[int, str]:
    """Exit code and stderr of a run that nobody reads: stdout is a closed pipe, maybe stderr."""
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "tinygate", *args],
        stdout=write,
        stderr=write if both else subprocess.PIPE,
        timeout=120,
        check=False,
    )
    os.close(write)
    return done.returncode, "" if both else done.stderr.decode()


@pytest.mark.slow
@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize(
    "args", [("--help",), (), ("paths",), ("verify", "--list"), ("verify", "--shape", "1x1x1")]
)
def test_a_pipe_that_nobody_reads_is_exit_141_and_quiet(args: tuple[str, ...], both: bool) -> None:
    assert closed(*args, both=both) == (141, "")


@pytest.mark.slow
def test_a_closed_pipe_never_makes_a_fail_exit_0(tmp_path: Path) -> None:
    assert run_new(tmp_path, "wrong") == 0
    kernel = tmp_path / "wrong.wgsl"
    kernel.write_text(kernel.read_text().replace("= sum.x;", "= 2.0 * sum.x;"))
    args = ("verify", "--path", str(tmp_path / "wrong.toml"), "--shape", "4x4x4")
    assert tinygate(*args).returncode == 1
    assert closed(*args)[0] == 141
    assert closed(*args, both=True)[0] == 141
    assert closed("verify", "--shape", "4", both=True)[0] == 2


def run_new(folder: Path, name: str) -> int:
    return tinygate("new", name, cwd=folder).returncode


def test_a_full_disk_is_said_once() -> None:
    if not Path("/dev/full").exists():
        return
    with open("/dev/full", "w") as full:  # noqa: PTH123
        done = subprocess.run(
            [sys.executable, "-m", "tinygate", "paths"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
            check=False,
        )
    assert done.returncode == 3
    assert done.stderr.startswith("tinygate: No space left on device\nhint: ")
    assert len(done.stderr.splitlines()) == 2


def test_a_bare_call_is_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 0
    bare = capsys.readouterr()
    assert run(["--help"]) == 0
    assert bare == capsys.readouterr()
    assert bare.out.startswith("Usage: tinygate ")


def test_help_names_values_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    for command, words in (
        ("verify", ("--seed SEED", "--repeat N", "--timeout SECONDS", "--output-format FORMAT")),
        ("paths", ("FILE.toml",)),
        ("probe", ("FILE.toml",)),
        ("new", ("NAME",)),
        ("replay", ("FILE", "--color WHEN")),
    ):
        assert run([command, "--help"]) == 0
        out = capsys.readouterr().out
        assert all(word in out for word in words)
        assert "<" not in out
        assert "[[" not in out
        assert "x<=" not in out


@pytest.mark.parametrize("value", ["1", "0", "10001", "2.0", "", "٣"])
def test_fewer_runs_than_can_agree_are_refused(
    value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["verify", "--list", f"--repeat={value}"]) == 2
    assert f"{value!a}" in capsys.readouterr().err.replace("'٣'", ascii("٣"))
    assert run(["verify", "--list", "--repeat", "2"]) == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variable", "value", "says"),
    [
        ("SEED", "x", "'x' is not a whole number from 0 to "),
        ("VERBOSE", "maybe", "'maybe' is neither true nor false"),
        ("OUTPUT_FORMAT", "xml", "'xml' is not one of 'text', "),
        ("INPUTS", "foo", "unknown input family 'foo'"),
        ("SHAPE", "1x1", "1x1 is not a shape"),
        ("SUITE", "nope", "unknown suite 'nope'"),
        ("PATH", "nope", "unknown path 'nope'"),
        ("PATH", "./nope.toml", "nope.toml: file not found"),
        ("REQUIRE", "nope", "unknown path 'nope'"),
        ("ENGINE", "nope", "unknown engine 'nope'"),
        ("ADAPTER", "no such card", "no adapter matches 'no such card'"),
        ("K", "(", "'(' is not a regular expression"),
        ("EXPORT_JUNIT", "/nonexistent/x", "/nonexistent/x cannot be written"),
        ("SAVE_FAILURES", "/dev/null", "/dev/null cannot be written"),
    ],
)
def test_a_wrong_value_is_blamed_on_the_variable_or_the_file_and_key(
    variable: str,
    value: str,
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(f"TINYGATE_{variable}", value)
    assert run(["verify"]) == 2
    first, hint = capsys.readouterr().err.splitlines()
    assert first.startswith(f"tinygate: TINYGATE_{variable}: ")
    assert says in first
    assert hint.startswith(f"hint: correct or unset TINYGATE_{variable}")
    if variable == "VERBOSE":  # a file that says so is wrong in type already
        return
    monkeypatch.delenv(f"TINYGATE_{variable}")
    key = variable.lower().replace("_", "-")
    said = "-1" if key == "seed" else json.dumps(value)
    file = tmp_path / "pyproject.toml"
    file.write_text(f"[tool.tinygate.verify]\n{key} = {said}\n")
    assert run(["verify"]) == 2
    first, hint = capsys.readouterr().err.splitlines()
    assert first.startswith(f"tinygate: {file}: tool.tinygate.verify.{key}: ")
    assert says.replace("'x'", "'-1'") in first
    assert hint.startswith("hint: correct the file")


def test_a_wrong_value_on_the_command_line_is_not_blamed_on_a_right_variable(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TINYGATE_SHAPE", "4x4x4")
    monkeypatch.setenv("TINYGATE_EXPORT_JSON", "-")
    assert run(["verify", "--export-junit", "/nonexistent/x"]) == 2
    assert capsys.readouterr().err.startswith("tinygate: --export-junit: /nonexistent/x cannot")
    assert run(["verify", "--shape", "4"]) == 2
    assert capsys.readouterr().err.startswith("tinygate: 4 is not a shape")


def test_a_variable_that_nothing_reads_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("SHPAE", "XYZZY", "NO_ADAPTER", "BROWSER"):
        monkeypatch.setenv(f"TINYGATE_{name}", "1")
    assert run(["paths"]) == 0
    shpae, xyzzy = capsys.readouterr().err.splitlines()
    assert shpae.startswith("warning: TINYGATE_SHPAE is not a variable that tinygate reads: ")
    assert shpae.endswith("did you mean TINYGATE_SHAPE?")
    assert "TINYGATE_XYZZY" in xyzzy
    assert run(["--help"]) == 0
    assert capsys.readouterr().err == ""


def test_every_variable_that_is_read_anywhere_is_known() -> None:
    root = Path(__file__).parents[2]
    files = [
        *(root / "tinygate").rglob("*.py"),
        *(root / "scripts").rglob("*"),
        root / "README.md",
        root / "tests" / "conftest.py",
    ]
    text = "".join(
        file.read_text(encoding="utf-8")
        for file in files
        if file.is_file() and file.suffix != ".pyc"
    )
    found = set(re.findall(r"TINYGATE_[A-Z_]+[A-Z]", text)) - {"TINYGATE_COMPLETE"}
    assert found <= provenance.variables()
    assert len(found) > 20


def test_listing_nothing_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", "--list", "-k", "zzz"]) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "note: no case matches -k 'zzz'\n"


@pytest.mark.slow
def test_an_export_into_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    args = ("verify", "--shape", "1x1x1", "--export-json", str(pipe))
    alone = tinygate(*args)
    assert alone.returncode == 2
    assert "pipe cannot be written: nobody reads this pipe\nhint: start its reader" in alone.stderr
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE, text=True) as reader:
        for _ in range(100):  # until cat has opened it
            done = tinygate(*args)
            if done.returncode != 2:
                break
        assert done.returncode == 0
        assert reader.stdout is not None
        assert json.load(reader.stdout)["exit_code"] == 0


@pytest.mark.slow
def test_an_export_to_a_device(capsys: pytest.CaptureFixture[str]) -> None:
    args = ["verify", "--shape", "1x1x1", "--export-json"]
    assert run([*args, os.devnull]) == 0
    assert "gate verdict: PASS" in capsys.readouterr().out
    if Path("/dev/full").exists():
        assert run([*args, "/dev/full"]) == 2
        said = "/dev/full cannot be written: No space left on device\nhint: is the disk full"
        assert said in capsys.readouterr().err


@pytest.mark.slow
def test_ctrl_c_ends_a_slow_pattern() -> None:
    code = (
        "import signal, sys\n"
        "from tinygate.cli import verify\n"
        "from tinygate.cli.main import run\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "verify._MATCHING_SECONDS = 60.0\n"
        "sys.stdout.write('x\\n'); sys.stdout.flush()\n"
        "sys.exit(run(['verify', '--list', '-k', '(.*)*(.*)*(.*)*(.*)*#']))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in err
