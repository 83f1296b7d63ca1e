"""Text: verbatim gate lines, a table that is readable and complete at every width."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from sample_reports import (
    ADAPTER,
    ALL,
    EMPTY,
    FAILING,
    INTERRUPTED,
    MANY,
    PASSING,
    REQUIRED,
    SKIPPING,
    case,
    path,
    report,
)

from tinygate.core.adapter import MeasuredNumerics, Platform
from tinygate.core.results import Report
from tinygate.core.status import State, Status
from tinygate.report import console, gate_line
from tinygate.report.summary import PILL_COLUMNS, gate, state, uses, wgsl_promises

WIDTHS = [None, 20, 40, 64, 80, 100, 200]
ANSI = re.compile(r"\x1b\[[0-9;]*m")


def test_first_line_is_the_identity() -> None:
    assert console.render(PASSING).splitlines()[0] == (
        "tinygate 0.1.0 · native 0.32.0 · llvmpipe (LLVM 19.1.7, 256 bits) (CPU) · "
        "driver Mesa 25.0.7 · Vulkan · subgroup 8 (4 to 128 advertised)"
    )
    assert "no adapter" in console.render(EMPTY).splitlines()[0]


@pytest.mark.parametrize(
    ("size", "low", "high", "expected"),
    [
        (8, 8, 8, "subgroup 8 (8 advertised)"),
        (32, None, None, "subgroup 32"),
        (None, 4, 128, "subgroup not measured (4 to 128 advertised)"),
        (None, None, None, "no subgroups"),
    ],
)
def test_subgroup(size: int | None, low: int | None, high: int | None, expected: str) -> None:
    adapter = replace(ADAPTER, subgroup_min=low, subgroup_max=high)
    platform = Platform("native", adapter, MeasuredNumerics(subgroup_size=size))
    line = console.header("0", platform)
    assert line.endswith(f" · {expected}\n")


def test_what_wgsl_promises() -> None:
    assert wgsl_promises(MeasuredNumerics()) == [
        "workgroup memory starts at zero",
        "loops run to their end",
    ]
    broken = MeasuredNumerics(workgroup_memory_zeroed=False, loop_limit=65535)
    assert wgsl_promises(broken) == [
        "workgroup memory does not start at zero",
        "loops end after 65,535 iterations",
    ]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("color", [False, True])
def test_ops_lines_are_verbatim_at_any_width(width: int | None, color: bool) -> None:
    odd = replace(case(), path="[red]p[/red] :skull: \\[x] 日本")
    sample = report(path(odd, *PASSING.cases))
    lines = console.render(sample, width=width, color=color, verbosity=1).splitlines()
    for line in gate_line.lines(sample):
        assert line in lines


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("sample", ALL.values(), ids=ALL)
def test_no_ansi_unless_asked_and_colour_changes_no_text(sample: Report, width: int | None) -> None:
    plain = console.render(sample, width=width)
    assert "\x1b" not in plain
    coloured = ANSI.sub("", console.render(sample, width=width, color=True)).splitlines()
    assert [line.rstrip() for line in coloured] == [line.rstrip() for line in plain.splitlines()]


@pytest.mark.parametrize("width", [80, 100, 200])
def test_table_fits_and_nothing_is_cut(width: int) -> None:
    reason = "max_abs over limit at [17,0], rows 16 to 31, columns 0 to 127 of 64x128x128 positive"
    sample = report(
        path(case(), name="f16-storage"),
        path(case(Status.FAIL, reason=reason), name="f16-accumulate"),
        path(missing="shader-f16, subgroups", name="subgroup-matrix"),
    )
    table = console.pills(sample, width=width)
    assert max(map(len, table.splitlines())) <= width
    assert "…" not in table
    assert table.splitlines()[0].split() == list(PILL_COLUMNS)
    for word in f"f16-accumulate subgroup-matrix unavailable (shader-f16, {reason}".split():
        assert word in table


@pytest.mark.parametrize("width", [1, 20, 40, 60])
def test_a_narrow_terminal_gets_one_field_per_line(width: int) -> None:
    table = console.pills(FAILING, width=width)
    assert "  state     rejected (max_abs over limit)\n" in table
    assert "  detected  no\n" in table


def test_a_pipe_gets_columns_that_line_up() -> None:
    rows = console.pills(FAILING).splitlines()
    assert [row.index(word) for row, word in zip(rows, ["gate", "FAIL", "SKIP"], strict=True)] == (
        [rows[0].index("gate")] * 3
    )
    assert not re.search("[│┃|─━]", "".join(rows))
    assert rows[1].endswith("rejected (max_abs over limit)")
    assert rows[2].endswith("unavailable (shader-f16)")


def test_the_pieces_add_up_to_the_whole() -> None:
    for sample in ALL.values():
        pieces = "" if sample.multi_engine else console.header(sample.version, sample.platforms[0])
        pieces += console.notes(sample.notes)
        engine = ""
        for one in sample.paths:
            if sample.multi_engine and one.engine != engine:
                engine = one.engine
                pieces += console.header(sample.version, sample.platform(engine))
            for each in one.cases:
                pieces += console.case(each, single_shape=sample.single_shape)
            pieces += console.path(one)
        assert pieces + console.tail(sample) == console.render(sample)


def test_verbose_lists_every_check() -> None:
    text = console.render(PASSING, verbosity=console.VERBOSE)
    assert (
        "    max_abs: PASS, measured 1.330e-04, limit 1.220e-03, uses 11 % of limit — "
        "activation rule: 1 % of mean|ref|\n"
    ) in text
    assert "    finite: PASS — decided by bit pattern\n" in text


def test_quiet_keeps_pills_verdicts_and_failures_only() -> None:
    lines = console.render(FAILING, verbosity=console.QUIET).splitlines()
    assert lines[:2] == [gate_line.path_line(one) for one in FAILING.paths]
    assert not any(gate_line.case_line(one) in lines for one in FAILING.cases)
    assert not any(line.startswith(("tinygate", "note")) for line in lines)
    assert "Failures:" in lines


def test_failures_stop_at_ten() -> None:
    text = console.failures(MANY)
    assert text.startswith("Failures (10 of 23):\n")
    assert text.count("    replay: tinygate verify ") == 10
    assert text.endswith("  and 13 more\n")
    assert console.failures(PASSING) == ""


def test_an_interrupt_does_not_bury_the_failure() -> None:
    assert console.failures(INTERRUPTED).splitlines() == [
        "Failures:",
        "  FAIL f16-storage/64x128x128/uniform: wrong",
        f"    replay: {INTERRUPTED.cases[0].replay}",
        "  ERROR run: interrupted: 20 cases not run",
    ]


def test_every_bad_exit_code_is_explained() -> None:
    for sample in ALL.values():
        assert bool(console.failures(sample)) == (sample.exit_code != 0)
    assert "nothing ran, so nothing is verified" in console.failures(SKIPPING)
    assert "f16-compute: required, but skipped: shader-f16" in console.failures(REQUIRED)
    assert "nowhere: required, but did not run" in console.failures(REQUIRED)


@pytest.mark.parametrize(
    ("used", "words"),
    [
        (0.0, "uses 0 % of limit"),
        (0.001, "uses <1 % of limit"),
        (0.12, "uses 12 % of limit"),
        (0.9999, "uses 99 % of limit"),
        (1.0, "uses 100 % of limit"),
        (1.32, "uses 132 % of limit"),
        (230.4, "uses 230 times the limit"),
        (float("inf"), "over limit"),
        (float("nan"), "not a number"),
    ],
)
def test_uses(used: float, words: str) -> None:
    assert uses(used) == words


def test_gate_and_state_words() -> None:
    assert gate(PASSING.paths[0]) == ("PASS, uses 15 % of limit (mean_rel) at 64x128x128 uniform")
    assert gate(FAILING.paths[0]) == "FAIL, uses 132 % of limit (max_abs)"
    good = replace(case(), status=Status.FAIL, reason="1 never written")
    assert gate(path(good)) == "FAIL"
    active = state(replace(PASSING.paths[0], reason="whatever"))
    assert active == "active: M 33–128, K 65–128, N 65–128"
    weaker = replace(PASSING.paths[0], state=State.PASSES_SOME, reason="needs integer too")
    assert state(weaker) == "passes positive, uniform (needs integer too)"
