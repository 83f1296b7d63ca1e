"""docs/precision.md: what its generator reads, writes and refuses."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "scripts"))

import precision_doc  # noqa: E402
import precision_stored as stored  # noqa: E402
import precision_tables as tables  # noqa: E402

from tinygate.paths.builtin import BUILTIN  # noqa: E402

Object = dict[str, Any]


def case(shape: str = "64x128x128", family: str = "uniform", **changes: Any) -> Object:
    """A case as a report has it, with what the tables show of it."""
    compared = {"predicted": 0.0008, "measured": 0.00077, "ratio": 0.9625}
    return {
        "shape": shape,
        "family": family,
        "status": "PASS",
        "reason": None,
        "budget": 0.26,
        "metrics": {"max_abs": 1.21e-4, "mean_rel": 0.00077},
        "predicted": {"mean_rel": compared},
        "checks": [{"name": "max_abs", "status": "PASS"}],
        **changes,
    }


def report(version: int, *cases: Object, path: str = "f16-storage", **changes: Any) -> Object:
    """A report of one path."""
    platform = {
        "engine": {"name": "native", "version": "0.32.0"},
        "adapter": {"name": "Card", "driver": "Driver 7 (LLVM 1)"},
    }
    found = {"path": path, "state": "active", "reason": None, "missing": None, "cases": list(cases)}
    found |= changes
    document: Object = {"schema_version": version, "started": "2026-12-02T05:34:17+00:00"}
    if version == 1:
        return {**document, **platform, "paths": [found]}
    return {**document, "platforms": [platform], "paths": [{**found, "engine": "native"}]}


def store(folder: Path, **documents: Object | str) -> Path:
    for name, document in documents.items():
        text = document if isinstance(document, str) else json.dumps(document)
        (folder / f"{name}.json").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("version", [1, 2])
def test_both_schema_versions_give_the_same_rows(version: int) -> None:
    (found,) = stored.parse("card.json", report(version, case()))
    assert found.platform == stored.Platform("Card", "Driver 7 (LLVM 1)", "native 0.32.0")
    text = tables.measured([found])
    assert "| Card, Driver 7, native 0.32.0 | 2026-12-02 | 1 shape, 1 family | 1 PASS |" in text
    assert "| 26 % at 64x128x128 uniform |" in text
    assert "| 1.21e-04 | 0.077 % | 0.08 % | 0.96 |" in text


def test_text_that_is_no_json_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(stored.StoredError, match=r"torn\.json: not JSON"):
        stored.read_folder(store(tmp_path, torn='{"schema_version": 2,'))


def test_an_unknown_version_names_the_file_and_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(
        stored.StoredError, match=r"old\.json: schema_version is 0, expected 1 or 2"
    ):
        stored.read_folder(store(tmp_path, old={"schema_version": 0}))


@pytest.mark.parametrize("key", ["paths", "platforms", "started"])
def test_a_missing_key_is_named_with_the_file(tmp_path: Path, key: str) -> None:
    document = report(2, case())
    del document[key]
    with pytest.raises(stored.StoredError, match=rf"cut\.json: .* without '{key}'"):
        stored.read_folder(store(tmp_path, cut=document))


@pytest.mark.parametrize("key", ["shape", "budget", "checks", "predicted"])
def test_a_case_without_what_is_shown_is_refused(key: str) -> None:
    broken = case()
    del broken[key]
    with pytest.raises(stored.StoredError, match=rf"cut\.json: .* without '{key}'"):
        stored.parse("cut.json", report(1, broken))


@pytest.mark.parametrize("paths", [None, 3, [None], ["f16-storage"]])
def test_values_of_another_kind_are_refused_with_the_file(paths: object) -> None:
    document = {**report(2, case()), "paths": paths}
    with pytest.raises(stored.StoredError, match=r"odd\.json: not as schema version 2 has it"):
        stored.parse("odd.json", document)


def test_probes_and_benchmarks_are_no_reports(tmp_path: Path) -> None:
    probe = {"schema_version": 1, "adapters": [], "paths": []}
    store(tmp_path, probe=probe, seeds={"rows": []}, memory=json.dumps([1]), run=report(2, case()))
    assert [one.file for one in stored.read_folder(tmp_path)] == ["run.json"]


def test_the_tables_do_not_depend_on_the_order_of_files() -> None:
    found = [
        one
        for name, adapter in (("a.json", "B card"), ("b.json", "A card"))
        for document in [report(2, case(), case(family="normal"))]
        if document["platforms"][0]["adapter"].update(name=adapter) is None
        for one in stored.parse(name, document)
    ]
    assert tables.regions(found) == tables.regions(found[::-1])


def test_a_path_without_measurements_says_so() -> None:
    found = tables.regions([])
    assert found["measured f16-storage"] == "Not measured."
    assert "| `f16-storage` | not measured | — |" in found["overview"]


def test_a_fail_shows_where_and_by_which_check_and_rejects_the_path() -> None:
    checks = [{"name": "max_abs", "status": "PASS"}, {"name": "conformance", "status": "FAIL"}]
    bad = [
        case(f"{M}x64x64", "positive", status="FAIL", checks=checks, budget="Infinity")
        for M in range(1, 7)
    ]
    good = stored.parse("a.json", report(2, case()))
    reason = "1x64x64 positive: conformance over limit, rows 2, columns 3"
    wrong = stored.parse("b.json", report(2, *bad, state="rejected", reason=reason))
    text = tables.measured(good + wrong)
    assert "6 FAIL, 1 PASS | inf times at 6x64x64 positive" in text
    assert "| positive | conformance | 1x64x64, 2x64x64, 3x64x64, 4x64x64 and 2 more |" in text
    overview = tables.overview(good + wrong, ["f16-storage"])
    assert "| rejected: 1x64x64 positive: conformance over limit | Card" in overview
    assert "active" not in overview


def test_a_path_that_could_not_run_says_why_and_has_no_share() -> None:
    missing = "adapter lacks subgroup-matrix"
    found = stored.parse("a.json", report(2, state="unavailable", missing=missing))
    assert f"| nothing | unavailable: {missing} | — |" in tables.measured(found)


def test_a_matrix_size_belongs_to_the_section_of_its_path() -> None:
    assert tables.section("coop-matrix-16x8x16") == "coop-matrix"
    assert tables.section("coop-matrix-f16-sums") == "coop-matrix-f16-sums"
    found = stored.parse("a.json", report(2, case(), path="coop-matrix-16x8x16"))
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
    once = precision_doc.fill(page, {"a": "new"})
    assert once == "before\n<!-- table: a -->\n\nnew\n\n<!-- end -->\nafter\n"
    assert precision_doc.fill(once, {"a": "new"}) == once


def test_a_section_before_its_path_says_so() -> None:
    page = "<!-- table: measured soon -->\n<!-- end -->\n"
    assert "Not registered" in precision_doc.fill(page, {})


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("<!-- table: a -->\n", "without its"),
        ("<!-- table: a -->\n<!-- end -->\n<!-- end -->\n", "without its"),
        (
            "<!-- table: a -->\n<!-- end -->\n<!-- table: b -->\n<!-- end -->\n",
            "fills the region 'b'",
        ),
        ("", "no region for 'a'"),
    ],
)
def test_marks_that_fit_no_table_are_refused(page: str, said: str) -> None:
    with pytest.raises(precision_doc.PageError, match=said):
        precision_doc.fill(page, {"a": "new"})


def test_check_shows_the_difference_and_writing_mends_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "precision.md"
    marks = (f"<!-- table: {name} -->\n<!-- end -->\n" for name in tables.regions([]))
    page.write_text("".join(marks), encoding="utf-8")
    old = page.read_text(encoding="utf-8")
    folder = store(tmp_path, run=report(2, case()))
    assert precision_doc.main(["--check"], page, folder) == 1
    assert page.read_text(encoding="utf-8") == old
    said = capsys.readouterr().err
    assert "+| `f16-storage` | active |" in said
    assert "out of date" in said
    assert precision_doc.main([], page, folder) == 0
    assert precision_doc.main(["--check"], page, folder) == 0


def test_a_stored_file_that_cannot_be_read_fails_the_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert precision_doc.main(["--check"], folder=store(tmp_path, torn="{")) == 1
    assert "torn.json" in capsys.readouterr().err


# Stands for a Python whose `-m tinygate verify` ends as CODE says, with ADAPTER in its report.
STUB = """#!/bin/sh
[ "$1" = -m ] || exec "$REAL" "$@"
for last in "$@"; do :; done
echo "$*" >>"$LOG"
echo '{"schema_version": 2, "adapter": '"$ADAPTER"'}' >"$last"
exit "$CODE"
"""


def measure(tmp_path: Path, *arguments: str, adapter: str, code: int) -> tuple[int, Path, str]:
    """measure.sh in a folder of its own: its exit code, that folder, what it asked of verify."""
    folder = tmp_path / "docs" / "measurements"
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "docs" / "measurements" / "measure.sh", folder)
    stub, log = tmp_path / "python", tmp_path / "log"
    stub.write_text(STUB, encoding="utf-8")
    stub.chmod(0o755)
    log.touch()
    own = {"PYTHON": str(stub), "REAL": sys.executable, "LOG": str(log), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [folder / "measure.sh", *arguments],
        env={**os.environ, **own, "ADAPTER": adapter, "CODE": str(code)},
        capture_output=True,
        check=False,
        timeout=60,
    )
    return done.returncode, folder, log.read_text(encoding="utf-8")


@pytest.mark.parametrize("code", [0, 1, 3])
def test_measuring_stores_every_suite_of_both_engines(tmp_path: Path, code: int) -> None:
    ended, folder, asked = measure(tmp_path, "card", adapter="{}", code=code)
    assert ended == 0
    names = sorted(file.name for file in folder.glob("*.json*"))
    assert names == ["card-production.json", "card-ragged.json"]
    assert asked.count("--engine native --engine dawn ") == 2
    for path in BUILTIN:
        assert asked.count(f"--path {path.name} ") == 1


def test_measuring_without_an_adapter_stores_nothing(tmp_path: Path) -> None:
    ended, folder, asked = measure(tmp_path, "card", adapter="null", code=3)
    assert ended == 3
    assert not list(folder.glob("*.json*"))
    assert asked.count("\n") == 1


def test_measuring_stops_where_the_command_line_is_wrong(tmp_path: Path) -> None:
    ended, folder, asked = measure(tmp_path, "card", "ragged", adapter="{}", code=2)
    assert ended == 2
    assert not list(folder.glob("*.json*"))
    assert asked.count("\n") == 1


def test_measuring_without_a_name_says_how(tmp_path: Path) -> None:
    assert measure(tmp_path, adapter="{}", code=0)[0] == 2


@pytest.mark.parametrize(
    ("adapter", "driver", "text"),
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
def test_a_platform_is_named_once(adapter: str, driver: str, text: str) -> None:
    assert str(stored.Platform(adapter, driver, "e")) == text
