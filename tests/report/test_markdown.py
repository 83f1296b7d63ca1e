"""Markdown: outside text stays text."""

from __future__ import annotations

import re
from dataclasses import replace

from sample_reports import FAILING, MANY, case, hostile, path, report

from tinygate.report import markdown


def test_table() -> None:
    assert (
        "| pill | path | detected | gate | speed-up | state |\n"
        "| --- | --- | --- | --- | --- | --- |\n"
        "| f16 storage | f16-storage | yes | FAIL, uses 132 % of limit (max\\_abs) | — "
        "| rejected (max\\_abs over limit) |\n"
        "| f16 compute | f16-compute | no | SKIP | — | unavailable (shader-f16) |\n"
    ) in markdown.render(FAILING)


def test_failures_stop_at_ten() -> None:
    assert "\n- and 13 more\n" in markdown.render(MANY)


def test_escape() -> None:
    assert markdown.escape("a|b `c` <b>&") == "a\\|b \\`c\\` &lt;b&gt;&amp;"
    assert markdown.escape("[x](y) *z* \\") == "\\[x\\](y) \\*z\\* \\\\"


def test_a_row_has_six_cells_whatever_is_in_them() -> None:
    rows = [line for line in markdown.summary(hostile()).splitlines() if line.startswith("|")]
    assert len(rows) == 4
    for row in rows:
        assert len(re.findall(r"(?<!\\)\|", row)) == 7
        assert "<b>" not in row


def test_backticks_do_not_end_the_code() -> None:
    odd = replace(case(), path="````")
    text = markdown.render(report(path(odd)))
    assert "`````text\n[ops] ```` gate: mean|ref|=1.22e-1" in text
    assert markdown._code("`a``b") == "``` `a``b ```"
