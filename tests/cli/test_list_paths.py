"""`tinygate paths` as text: a table where it fits, blocks where not, all of it in a pipe."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tinygate.cli.paths import render_text
from tinygate.paths import builtin

PATHS = (
    builtin.BUILTIN[0],
    replace(
        builtin.BUILTIN[0], name="mine", source="a long name of a folder/mine.toml", opt_in=True
    ),
)


def test_a_pipe_gets_one_line_per_path_whatever_its_length() -> None:
    table, reasons = render_text(PATHS).split("\n\n")
    assert [line.split()[0] for line in table.splitlines()] == ["path", "f16-storage", "mine"]
    assert reasons.splitlines() == [f"{path.name}: {path.why}" for path in PATHS]
    assert render_text(PATHS, 1000) == render_text(PATHS)


@pytest.mark.parametrize("width", [40, 60, 80, 100, 140])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    text = render_text(PATHS, width)
    assert max(map(len, text.splitlines())) <= width
    words = text.split()
    for path in PATHS:
        assert all(word in words for word in path.why.split())
        assert all(word in text for word in path.source.split())


def test_a_narrow_terminal_gets_a_block_per_path() -> None:
    first, second = render_text(PATHS, 40).split("\n\n")
    assert first.splitlines()[:3] == [
        "f16-storage",
        "  pill: f16 storage",
        "  B stored: f16-packed",
    ]
    assert second.splitlines()[0] == "mine"
    assert "mine.toml, opt-in" in second


def test_a_word_longer_than_the_line_stays_whole() -> None:
    long = replace(PATHS[0], source="/" + "x" * 60)
    assert f"/{'x' * 60}" in render_text((long,), 40)
