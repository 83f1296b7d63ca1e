"""docs/measurements: what is stored of a report, what is read back, and what is refused."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from example_reports import ROOT, Object, case, check, read, report, store, text
from precision import convert, stored


def test_what_is_stored_is_read_back() -> None:
    (found,) = read(report(case(), case("1x1x1", metrics=None, predicted=None, used=None)))
    assert found.file == "card.csv"
    assert found.day == "2026-12-02"
    assert found.platform == stored.Platform("Card", "Driver 7 (LLVM 1)", "native 0.32.0")
    assert (found.path, found.state, found.reason) == ("f16-storage", "active", "")
    measured, empty = found.cases
    assert measured == stored.Case(
        "64x128x128", "uniform", "PASS", 1.21e-4, 0.00077, 4.3e-8, 0.0008, 0.26, "conformance"
    )
    assert empty == stored.Case("1x1x1", "uniform", "PASS")


def test_the_identity_stands_on_top() -> None:
    document = report(case())
    document["platforms"][0]["adapter"] |= {"driver": "", "toggles": ["a", "b"]}
    document["agreements"] = ["[ops] f16-storage: native and dawn agree bit for bit in 1 of 1"]
    assert text(document, "measure.sh card").partition("path,")[0].splitlines() == [
        "# kind: verify",
        "# command: measure.sh card",
        "# tinygate: 0.1.0",
        "# schema_version: 3",
        "# started: 2026-12-02T05:34:17+00:00",
        "# seed: 12345",
        "# exit_code: 0",
        "# native version: 0.32.0",
        "# native adapter: Card",
        "# native driver:",
        "# native backend: Vulkan",
        "# native subgroup_size: 8",
        "# native toggles: a, b",
        "# f16-storage agreement: native and dawn agree bit for bit in 1 of 1",
    ]
    (found,) = read(document)
    assert found.platform.driver == ""


def test_a_name_of_two_lines_cannot_add_to_the_identity() -> None:
    document = report(case())
    document["platforms"][0]["adapter"]["name"] = "Card\n# kind: other\rx"
    (found,) = read(document)
    assert found.platform.adapter == "Card # kind: other x"


def test_numbers_keep_seven_digits_and_what_is_not_finite() -> None:
    metrics = {"max_abs": 1 / 3e5, "mean_rel": "NaN", "nmse": "Infinity"}
    (found,) = read(report(case(metrics=metrics, used="Infinity", checks=[])))
    (one,) = found.cases
    assert one.max_abs == 3.333333e-06
    assert one.mean_rel is not None
    assert math.isnan(one.mean_rel)
    assert one.nmse == one.used == math.inf
    assert one.check == ""


def test_failed_checks_are_listed_and_a_reason_is_kept_without_one() -> None:
    failed = [check("packing guard", "FAIL", used="NaN"), check("exact", "FAIL"), check("zero")]
    document = report(
        case(status="FAIL", reason="exact: 3 wrong", used="NaN", checks=failed),
        case(status="ERROR", reason='lost, "twice"', used=None, checks=[]),
    )
    (found,) = read(document)
    fail, error = found.cases
    assert (fail.failed, fail.check, fail.reason) == (
        ("packing guard", "exact"),
        "packing guard",
        "",
    )
    assert (error.status, error.failed, error.reason) == ("ERROR", (), 'lost, "twice"')


def test_a_path_that_could_not_run_keeps_why() -> None:
    (found,) = read(report(state="unavailable", missing="adapter lacks shader-f16"))
    assert (found.state, found.reason, found.cases) == (
        "unavailable",
        "adapter lacks shader-f16",
        (),
    )


@pytest.mark.parametrize("key", ["platforms", "paths", "started", "seed", "tinygate"])
def test_a_report_without_a_key_is_refused_by_name(key: str) -> None:
    document = report(case())
    del document[key]
    with pytest.raises(stored.StoredError, match=rf"report\.json: .* without '{key}'"):
        text(document)


@pytest.mark.parametrize("key", ["shape", "family", "status", "metrics", "predicted", "checks"])
def test_a_case_without_what_is_stored_is_refused(key: str) -> None:
    broken = case()
    del broken[key]
    with pytest.raises(stored.StoredError, match=rf"report\.json: .* without '{key}'"):
        text(report(broken))


@pytest.mark.parametrize("paths", [None, 3, [None], ["f16-storage"]])
def test_values_of_another_kind_are_refused(paths: object) -> None:
    with pytest.raises(stored.StoredError, match=r"report\.json: not as schema version 3 has it"):
        text({**report(case()), "paths": paths})


@pytest.mark.parametrize("document", [{}, [], None, {"schema_version": 1}])
def test_an_unknown_version_names_the_known_ones(document: Object) -> None:
    with pytest.raises(stored.StoredError, match=r"schema_version is .*, expected 2 or 3"):
        text(document)


def test_the_converter_writes_only_what_it_could_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = tmp_path / "report.json", tmp_path / "card.csv"
    arguments = [str(source), str(target), "--command", "measure.sh card"]
    source.write_text("{", encoding="utf-8")
    assert convert.main(arguments) == 1
    assert "report.json: not JSON" in capsys.readouterr().err

    document = report(case())
    source.write_text(json.dumps(document), encoding="utf-8")
    document["platforms"][0]["adapter"] = None
    nothing = tmp_path / "nothing.json"
    nothing.write_text(json.dumps(document), encoding="utf-8")
    assert convert.main([str(nothing), *arguments[1:]]) == 3
    assert "no adapter for native" in capsys.readouterr().err
    assert not target.exists()

    assert convert.main(arguments) == 0
    assert target.read_text(encoding="utf-8") == text(report(case()), "measure.sh card")


def changed(old: str, new: str) -> str:
    """A stored run with one text in it replaced."""
    before = text(report(case()))
    assert old in before
    return before.replace(old, new)


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ("", "no line `# kind: …`"),
        (changed("# kind: verify\n", ""), "no line `# kind: …`"),
        (changed("# started: ", "# begun: "), "no line `# started: …`"),
        (changed("# native driver: ", "# dawn driver: "), "no line `# native driver: …`"),
        (changed(",used,", ",share,"), "no column used"),
        (changed("max_abs,mean_rel,", "max_abs,"), "no column mean_rel"),
        (text(report(case())).partition("path,")[0], "no column path, engine"),
        (changed(",0.26,", ","), "row 2: 12 cells under 13 columns"),
        (changed(",0.26,", ",much,"), "row 2: used is 'much', expected a number"),
        (changed(",PASS,", ",GOOD,"), "row 2: status is 'GOOD', expected one of PASS"),
        (changed("f16-storage,native,,", "other,native,,"), "row 2: a case of 'f16-storage'"),
        (text(report(case())).partition("f16-storage")[0], "no rows"),
        (changed(",conformance,", ',"conf'), "not CSV"),
    ],
)
def test_a_stored_run_that_is_cut_or_changed_is_refused_by_name(
    tmp_path: Path, broken: str, said: str
) -> None:
    with pytest.raises(stored.StoredError, match=rf"^broken\.csv: .*{said}|^broken\.csv: {said}"):
        stored.read_folder(store(tmp_path, broken=broken))


def test_a_file_in_another_encoding_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "latin.csv").write_bytes("# kind: verify\n# é".encode("latin-1"))
    with pytest.raises(stored.StoredError, match=r"latin\.csv: not UTF-8"):
        stored.read_folder(tmp_path)


def test_a_verdict_without_its_row_is_no_case_of_the_path_above(tmp_path: Path) -> None:
    first = text(report(case()))
    lines = text(report(case(), path="subgroups")).splitlines(keepends=True)
    with pytest.raises(stored.StoredError, match="a case of 'subgroups' on 'native'"):
        stored.read_folder(store(tmp_path, both=first + lines[-1]))


def test_tables_of_another_kind_are_left_out(tmp_path: Path) -> None:
    store(tmp_path, seeds="# kind: seeds\npath,seeds\n", run=report(case()))
    (tmp_path / "memory.json").write_text("[1]", encoding="utf-8")
    assert [one.file for one in stored.read_folder(tmp_path)] == ["run.csv"]


def test_a_column_more_is_no_matter(tmp_path: Path) -> None:
    lines = text(report(case())).splitlines()
    widened = [line if line.startswith("#") else f"{line},x" for line in lines]
    assert stored.parse("card.csv", "\n".join(widened)) == read(report(case()))


def test_every_stored_file_is_named_in_the_readme() -> None:
    folder = ROOT / "docs" / "measurements"
    readme = (folder / "README.md").read_text(encoding="utf-8")
    files = [file for kind in ("csv", "json") for file in folder.glob(f"*.{kind}")]
    assert len(files) > 10
    for file in files:
        # Two of one command share a row.
        assert file.name in readme or f"…-{file.stem.rpartition('-')[2]}.json" in readme
        assert file.stat().st_size < 200_000, f"{file.name}: keep what the page needs of it"
