"""Configuration files: where they are found, what wins, and every way to get one wrong."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tinygate.cli import config
from tinygate.core.errors import ConfigError

COMMANDS: dict[str, dict[str, type]] = {
    "verify": {"shape": list, "seed": int, "timeout": float, "output_format": str, "quiet": bool},
    "probe": {"json": bool, "engine": list},
}


def write(folder: Path, text: str | bytes, name: str = "tinygate.toml") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


def verify(folder: Path) -> dict[str, object]:
    return config.load(COMMANDS, folder)["verify"]


def refused(folder: Path) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        config.load(COMMANDS, folder)
    assert caught.value.hint
    assert len(caught.value.render().splitlines()) <= 3
    assert caught.value.render().replace("\n", "").isprintable()
    return caught.value


def test_no_file_sets_nothing(tmp_path: Path) -> None:
    assert config.load(COMMANDS, tmp_path) == {"verify": {}, "probe": {}}


def test_every_type(tmp_path: Path) -> None:
    write(
        tmp_path,
        'shape = ["1x2x3", "4x5x6:mlp"]\nseed = 7\ntimeout = 1.5\noutput-format = "json"\n'
        'quiet = true\nengine = "native"\n',
    )
    assert config.load(COMMANDS, tmp_path) == {
        "verify": {
            "shape": ["1x2x3", "4x5x6:mlp"],
            "seed": 7,
            "timeout": 1.5,
            "output_format": "json",
            "quiet": True,
        },
        "probe": {"engine": ["native"]},
    }


def test_underscores_and_whole_numbers_are_fine(tmp_path: Path) -> None:
    write(tmp_path, 'output_format = "text"\ntimeout = 3')
    assert verify(tmp_path) == {"output_format": "text", "timeout": 3.0}


def test_a_command_table_wins(tmp_path: Path) -> None:
    text = "[tool.tinygate]\nseed = 1\nquiet = true\n[tool.tinygate.verify]\nseed = 2"
    write(tmp_path, text, "pyproject.toml")
    assert verify(tmp_path) == {"seed": 2, "quiet": True}


def test_tinygate_toml_wins_over_pyproject(tmp_path: Path) -> None:
    write(tmp_path, "[tool.tinygate]\nseed = 1", "pyproject.toml")
    write(tmp_path, "timeout = 2")
    assert verify(tmp_path) == {"timeout": 2.0}


def test_the_nearest_folder_wins_and_files_are_not_merged(tmp_path: Path) -> None:
    write(tmp_path, "seed = 1\nquiet = true")
    write(tmp_path / "a", "[tool.tinygate]\nseed = 2", "pyproject.toml")
    write(tmp_path / "a" / "b", "[project]\nname = 'other'", "pyproject.toml")
    assert verify(tmp_path / "a" / "b") == {"seed": 2}
    assert verify(tmp_path) == {"seed": 1, "quiet": True}


def test_the_current_directory_is_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "seed = 9")
    monkeypatch.chdir(tmp_path)
    assert config.load(COMMANDS)["verify"] == {"seed": 9}


def test_a_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    write(tmp_path, b"\xef\xbb\xbfseed = 9")
    assert verify(tmp_path) == {"seed": 9}


@pytest.mark.parametrize("text", ["tool = 3", "[tool]\nblack = 1", "[[tool]]\na = 1", ""])
def test_a_pyproject_without_a_table_is_passed_over(tmp_path: Path, text: str) -> None:
    write(tmp_path, text, "pyproject.toml")
    assert verify(tmp_path) == {}


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("sede = 1", "unknown key sede", "did you mean seed?"),
        ("output-fromat = 1", "unknown key output-fromat", "did you mean output-format?"),
        ("xyzzy = 1", "unknown key xyzzy", "known are engine, json, "),
        ("[verify]\nxyzzy = 1", "unknown key verify.xyzzy", "known are output-format, quiet, "),
        ("[probe]\nseed = 1", "unknown key probe.seed", "known are engine, json"),
        ("[verfiy]\nseed = 1", "unknown key verfiy", "did you mean verify?"),
        ('"\\u001b[31m" = 1', "unknown key '\\x1b[31m'", "known are"),
        ("seed = true", "seed is a boolean, expected an integer", ""),
        ("seed = 1.0", "seed is a number, expected an integer", ""),
        ('seed = "1"', "seed is a string, expected an integer", ""),
        ("seed = 2026-05-01", "seed is a date or time, expected an integer", ""),
        ("seed = {a = 1}", "seed is a table, expected an integer", ""),
        ("quiet = 1", "quiet is an integer, expected true or false", ""),
        ("timeout = false", "timeout is a boolean, expected a number", ""),
        ("timeout = nan", "timeout is nan, expected a finite number", ""),
        ("shape = 3", "shape is an integer, expected a list of strings", ""),
        ('shape = ["1x1x1", 3]', "shape holds an integer, expected only strings", ""),
        ("output-format = []", "output-format is a list, expected a string", ""),
        ("verify = 1", "verify is an integer, expected a table", ""),
        ("[verify]\nseed = []", "verify.seed is a list, expected an integer", ""),
        ('output-format="a"\noutput_format="b"', "output_format is set twice", ""),
        ("seed = 1\nquiet = = 2", "line 2: not valid TOML: Invalid value", ""),
        ("seed = 1\nseed = 2", "not valid TOML: Cannot overwrite a value", ""),
        ("seed =", "not valid TOML: ", ""),
        ("seed = " + "9" * 5000, "not valid TOML: Exceeds the limit", ""),
        ("timeout = 0x" + "f" * 5000, "timeout is an integer, expected a number", ""),
        ("a = " + "[" * 100_000, "not valid TOML: nested too deeply", ""),
        ("a = " + "{a=" * 100_000, "not valid TOML: nested too deeply", ""),
        ('"' + "k" * 900_000 + '" = 1', "unknown key kkkk", ""),
        ("# " + "x" * (1 << 20), "is over 1 MiB", ""),
        (b"seed = 1\n# \xff\n", "line 2: not UTF-8", ""),
    ],
)
def test_refused(tmp_path: Path, text: str | bytes, message: str, hint: str) -> None:
    file = write(tmp_path, text)
    error = refused(tmp_path)
    assert error.message.startswith(f"{file}: ")
    assert message in error.message
    assert hint in error.hint
    assert error.exit_code == 2


def test_a_table_of_the_wrong_type(tmp_path: Path) -> None:
    file = write(tmp_path, "[tool]\ntinygate = 3", "pyproject.toml")
    assert refused(tmp_path).message == f"{file}: tool.tinygate is an integer, expected a table"


def test_a_folder_or_a_pipe_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "a" / "tinygate.toml").mkdir(parents=True)
    assert "is not a regular file" in refused(tmp_path / "a").message
    if hasattr(os, "mkfifo"):
        (tmp_path / "b").mkdir()
        os.mkfifo(tmp_path / "b" / "pyproject.toml")
        assert "is not a regular file" in refused(tmp_path / "b").message


def test_an_unreadable_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "seed = 1")

    def deny(*args: object, **kwargs: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", deny)  # file modes mean nothing to root
    assert refused(tmp_path).message.endswith("tinygate.toml: cannot be read: Permission denied")


def test_a_key_that_would_take_hours_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "\n" + "a." * 400_000 + "a = 1")
    assert "line 2: more than 1000 dots" in refused(tmp_path).message


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200) | st.text('[]{}=".,\n ab1#-_\\', max_size=60).map(str.encode))
def test_any_bytes_load_or_are_refused(tmp_path: Path, data: bytes) -> None:
    write(tmp_path, data)
    with suppress(ConfigError):
        config.load(COMMANDS, tmp_path)


def test_defaults_speak_the_command_lines_names(tmp_path: Path) -> None:
    assert config.defaults(tmp_path) == {}
    write(
        tmp_path,
        'adapter = "llvmpipe"\n[verify]\nquiet = true\nshape = "1x2x3"\ntimeout = 5\n'
        'output-format = "json"\nseed = 3\n',
    )
    found = config.defaults(tmp_path)
    assert found["probe"] == {"adapter": "llvmpipe"}
    assert found["verify"] == {
        "adapter": "llvmpipe",
        "quiet": True,
        "shape": ["1x2x3"],
        "timeout": 5.0,
        "output_format": "json",
        "seed": 3,
    }


def test_defaults_refuse_what_no_command_knows(tmp_path: Path) -> None:
    write(tmp_path, "[verify]\nsede = 1")
    with pytest.raises(ConfigError, match=r"unknown key verify\.sede"):
        config.defaults(tmp_path)
