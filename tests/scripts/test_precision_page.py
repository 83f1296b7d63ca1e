"""docs/precision.md: what its generator reads, writes and refuses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from example_reports import case, check, read, report, store
from precision import page as generator
from precision import stored, tables

from tinygate.paths.builtin import BUILTIN


def test_a_report_becomes_rows() -> None:
    said = tables.measured(read(report(case())))
    assert "| Card, Driver 7, native 0.32.0 | 2026-12-02 | 1 shape, 1 family | 1 PASS |" in said
    assert "| used of limit |" in said
    assert "| 26 % (conformance) at 64x128x128 uniform |" in said
    assert "| 1.21e-04 | 0.077 % | 0.08 % | 0.96 |" in said
    assert "From `card.csv`." in said


def test_a_number_that_was_not_predicted_is_said() -> None:
    said = tables.measured(read(report(case(predicted=None))))
    assert "| 0.077 % | not stored | — |" in said


def test_the_tables_do_not_depend_on_the_order_of_files() -> None:
    found = []
    for name, adapter in (("a.csv", "B card"), ("b.csv", "A card")):
        document = report(case(), case(family="normal"))
        document["platforms"][0]["adapter"]["name"] = adapter
        found += read(document, name)
    assert tables.regions(found) == tables.regions(found[::-1])


def test_a_path_without_measurements_says_so() -> None:
    found = tables.regions([])
    assert found["measured f16-storage"] == "Not measured."
    assert "| `f16-storage` | not measured | — |" in found["overview"]


def test_a_fail_shows_where_and_by_which_check_and_rejects_the_path() -> None:
    checks = [check("max_abs", used=0.2), check("conformance", "FAIL", used="Infinity")]
    bad = [
        case(f"{M}x64x64", "positive", status="FAIL", checks=checks, used="Infinity")
        for M in range(1, 7)
    ]
    good = read(report(case()), "a.csv")
    reason = "1x64x64 positive: conformance over limit, rows 2, columns 3"
    wrong = read(report(*bad, state="rejected", reason=reason), "b.csv")
    said = tables.measured(good + wrong)
    assert "6 FAIL, 1 PASS | inf times (conformance) at 6x64x64 positive" in said
    assert "| positive | conformance | 1x64x64, 2x64x64, 3x64x64, 4x64x64 and 2 more |" in said
    overview = tables.overview(good + wrong, ["f16-storage"])
    assert "| rejected: 1x64x64 positive: conformance over limit | Card" in overview
    assert "active" not in overview


def test_what_is_not_a_number_used_more_than_all_else() -> None:
    said = tables.measured(read(report(case("1x1x1", used="NaN", checks=[]), case(used=9.0))))
    assert "| inf times at 1x1x1 uniform |" in said


def test_a_path_that_could_not_run_says_why_and_used_nothing() -> None:
    missing = "adapter lacks subgroup-matrix"
    found = read(report(state="unavailable", missing=missing))
    assert f"| nothing | unavailable: {missing} | — |" in tables.measured(found)


def test_a_matrix_size_belongs_to_the_section_of_its_path() -> None:
    assert tables.section("coop-matrix-16x8x16") == "coop-matrix"
    assert tables.section("coop-matrix-f16-sums") == "coop-matrix-f16-sums"
    found = read(report(case(), path="coop-matrix-16x8x16"))
    regions = tables.regions(found)
    assert "native 0.32.0 · 16x8x16 |" in regions["measured coop-matrix"]
    assert regions["measured plug-ins"] == "Not measured."


def test_a_pipe_in_a_cell_does_not_end_it() -> None:
    assert tables.table(("a",), [("|A||B|",)]).endswith(r"| \|A\|\|B\| |")


def test_the_closed_form_is_near_what_two_adapters_measured() -> None:
    """0.077 % on lavapipe and 0.075 % in the framework's own numbers."""
    row = next(
        line for line in tables.regions([])["prediction"].splitlines() if "f16-storage" in line
    )
    closed = float(row.split("|")[3].strip(" %"))
    assert closed == pytest.approx(0.078, abs=0.002)


def test_fill_keeps_the_prose_and_twice_is_once() -> None:
    page = "before\n<!-- table: a -->\nold\n<!-- end -->\nafter\n"
    once = generator.fill(page, {"a": "new"})
    assert once == "before\n<!-- table: a -->\n\nnew\n\n<!-- end -->\nafter\n"
    assert generator.fill(once, {"a": "new"}) == once


def test_a_section_before_its_path_says_so() -> None:
    page = "<!-- table: measured soon -->\n<!-- end -->\n"
    assert "Not registered" in generator.fill(page, {})


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("<!-- table: a -->\n", "without its"),
        ("<!-- table: a -->\n<!-- end -->\n<!-- end -->\n", "without its"),
        (
            "<!-- table: a -->\n<!-- end -->\n<!-- table: b -->\n<!-- end -->\n",
            "no table for the region 'b'",
        ),
        ("", "no region for 'a'"),
    ],
)
def test_marks_that_fit_no_table_are_refused(page: str, said: str) -> None:
    with pytest.raises(generator.PageError, match=said):
        generator.fill(page, {"a": "new"})


def test_check_shows_the_difference_and_writing_mends_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "precision.md"
    marks = (f"<!-- table: {name} -->\n<!-- end -->\n" for name in tables.regions([]))
    page.write_text("".join(marks), encoding="utf-8")
    old = page.read_text(encoding="utf-8")
    folder = store(tmp_path, run=report(case()))
    assert generator.main(["--check"], page, folder) == 1
    assert page.read_text(encoding="utf-8") == old
    said = capsys.readouterr().err
    assert "+| `f16-storage` | active |" in said
    assert "out of date" in said
    assert generator.main([], page, folder) == 0
    assert generator.main(["--check"], page, folder) == 0


PAGE = """# Precision

<!-- table: overview -->
<!-- end -->

<!-- table: prediction -->
<!-- end -->

<!-- table: caught -->
<!-- end -->

## Plug-ins

<!-- table: measured plug-ins -->
<!-- end -->
"""
FIRST = replace(BUILTIN[0], name="first", why="it is only a name")
OTHER = replace(BUILTIN[0], name="other", why="it is only another")


def headings(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("## ")]


def test_a_registered_path_without_a_section_gets_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, paths = tmp_path / "precision.md", (*BUILTIN, FIRST)
    readme = tmp_path / "README.md"
    readme.write_text(generator.README.read_text(encoding="utf-8"), encoding="utf-8")
    page.write_text(generator.PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    old = page.read_text(encoding="utf-8")

    assert generator.main(["--check"], page, paths=paths, readme=readme) == 1
    assert page.read_text(encoding="utf-8") == old
    said = capsys.readouterr().err
    assert "docs/precision.md has no section for first\n" in said
    assert "hint: .venv/bin/python -m scripts.precision writes it" in said

    assert generator.main([], page, paths=paths, readme=readme) == 0
    assert "new section first" in capsys.readouterr().err
    new = page.read_text(encoding="utf-8")
    assert generator.main(["--check"], page, paths=paths, readme=readme) == 0
    section = new.partition("## first\n\n")[2].partition("\n## ")[0]
    assert section.startswith("Safe to try because: it is only a name.\n\n<!-- table: numerics")
    assert "| declares | storage: A f32, B f16-packed;" in section
    assert "<!-- table: measured first -->\n\nNot measured.\n\n<!-- end -->\n" in section
    assert new.replace(f"## first\n\n{section}\n", "").count("first") == old.count("first") + 2
    at = headings(new).index("## first")
    assert headings(new)[at - 1] == f"## {BUILTIN[-1].name}"
    assert [one for one in headings(new) if one != "## first"] == headings(old)
    assert "shader-f16, coop-matrix and first. `tinygate paths` lists" in readme.read_text()


def test_readme_is_checked_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    readme = tmp_path / "README.md"
    readme.write_text("<!-- table: default paths -->\nNone.\n<!-- end -->\n", encoding="utf-8")
    assert generator.main(["--check"], readme=readme) == 1
    said = capsys.readouterr().err
    assert "-None." in said
    assert "README.md is out of date" in said


def test_sections_come_in_the_order_of_the_table() -> None:
    once = generator.add_sections(PAGE, [FIRST])
    assert headings(once) == ["## first", "## Plug-ins"]
    assert generator.add_sections(once, [FIRST]) == once
    assert headings(generator.add_sections(once, [FIRST, OTHER])) == [
        "## first",
        "## other",
        "## Plug-ins",
    ]
    assert headings(generator.add_sections(once, [OTHER, FIRST])) == [
        "## other",
        "## first",
        "## Plug-ins",
    ]
    assert generator.add_sections("# Bare\n", [FIRST]).startswith("# Bare\n\n## first\n\nSafe")


def test_a_section_that_lacks_a_region_keeps_its_prose_and_gets_it() -> None:
    whole = generator.add_sections(PAGE, [FIRST, OTHER])
    mark = "<!-- table: measured first -->\n<!-- end -->\n\n"
    assert mark in whole
    cut = whole.replace(mark, "By hand.\n\n")
    assert generator.without_section(cut, [FIRST, OTHER]) == ["first"]
    added = generator.add_sections(cut, [FIRST, OTHER])
    assert headings(added) == headings(whole)
    assert f"By hand.\n\n{mark}## other" in added
    bare = PAGE + "\n## first\n\nBy hand.\n"
    added = generator.add_sections(bare, [FIRST])
    assert headings(added) == ["## Plug-ins", "## first"]
    assert generator.without_section(added, [FIRST]) == []


def test_a_stored_file_that_cannot_be_read_fails_the_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert generator.main(["--check"], folder=store(tmp_path, torn="{")) == 1
    assert "torn.csv" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("adapter", "driver", "said"),
    [
        (
            "llvmpipe (LLVM 15)",
            "llvmpipe: Mesa 25.0.7 (LLVM 15) 0.0.1",
            "llvmpipe, Mesa 25.0.7 0.0.1, e",
        ),
        ("NVIDIA H200", "NVIDIA: 580.1", "NVIDIA H200, 580.1, e"),
        ("SwiftShader Device", "", "SwiftShader Device, e"),
        ("Card", "Driver: 7", "Card, Driver: 7, e"),
    ],
)
def test_a_platform_is_named_once(adapter: str, driver: str, said: str) -> None:
    assert str(stored.Platform(adapter, driver, "e")) == said
