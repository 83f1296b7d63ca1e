"""What holds for every format: nothing unsafe comes out, nothing bad is left out."""

from __future__ import annotations

import subprocess
import sys
import unicodedata
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_reports import ADAPTER, ALL, FAILING, PASSING, case, path, report

from tinygate.core.adapter import Platform
from tinygate.core.results import Report
from tinygate.core.status import Status
from tinygate.core.text import clean
from tinygate.report import FORMATS, gate_line


def unsafe(text: str) -> set[str]:
    """Characters that must not reach a terminal."""
    bidi = set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
    return {c for c in text if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") or c in bidi}


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("sample", ALL.values(), ids=ALL)
def test_no_control_character_gets_out(name: str, sample: Report) -> None:
    text = FORMATS[name](sample)
    assert unsafe(text) <= {"\n"}
    assert text.endswith("\n")
    text.encode()


@pytest.mark.parametrize("name", FORMATS)
def test_a_failure_is_named_with_its_reason_and_replay(name: str) -> None:
    text = FORMATS[name](FAILING)
    assert "max_abs over limit" in text.replace("\\_", "_")
    assert "--inputs positive --seed 12345" in text


@pytest.mark.parametrize("name", ["text", "github", "markdown"])
def test_gate_lines_are_copied(name: str) -> None:
    lines = FORMATS[name](FAILING).splitlines()
    for line in gate_line.lines(FAILING):
        assert line in lines


@given(st.text())
def test_clean_is_idempotent_and_one_line(text: str) -> None:
    once = clean(text)
    assert clean(once) == once
    assert not unsafe(once)


@given(st.text(st.characters(codec="ascii", exclude_categories=["Cc"])))
def test_clean_keeps_plain_text(text: str) -> None:
    assert clean(text) == text


def test_clean_takes_escape_sequences_whole() -> None:
    assert clean("\x1b[1;31mred\x1b[0m\x1b]0;title\x07!\x9b2J") == "red!"
    assert clean("two\r\nlines\tand a tab") == "two lines and a tab"
    assert clean("👩‍🔬 naïve — 12 µs") == "👩‍🔬 naïve — 12 µs"


@given(st.text(), st.text(), st.sampled_from(Status))
def test_any_text_renders_in_every_format(name: str, reason: str, status: Status) -> None:
    adapter = replace(ADAPTER, name=name, driver=reason)
    one = case(status, reason=reason, path=name or "p")
    platforms = (Platform("native", adapter, None),)
    sample = replace(report(path(one, name=name or "p")), platforms=platforms, notes=(reason,))
    for render in FORMATS.values():
        assert unsafe(render(sample)) <= {"\n"}


def test_formats_import_nothing_before_they_are_called() -> None:
    code = (
        "import sys, tinygate.report; "
        "loud = {'rich', 'xml', 'json', 'numpy', 'wgpu'} & set(sys.modules); "
        "sys.exit(', '.join(loud) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_renderers_need_neither_numpy_nor_an_engine() -> None:
    code = (
        "import sys\n"
        "from tinygate.report import console, github, json, junit, markdown\n"
        "sys.exit(', '.join({'numpy', 'wgpu', 'playwright'} & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", FORMATS)
def test_rendering_is_pure(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = FORMATS[name](PASSING)
    for variable, value in {"COLUMNS": "20", "FORCE_COLOR": "1", "TERM": "dumb"}.items():
        monkeypatch.setenv(variable, value)
    assert FORMATS[name](PASSING) == before
