"""The map of a failure and the predictions, in every format."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import resources

import jsonschema  # type: ignore[import-untyped]
import numpy as np
import pytest
from sample_reports import PASSING, case, path, report

from tinygate.core.metrics import ErrorParts, Prediction
from tinygate.core.results import Failure
from tinygate.core.status import Status
from tinygate.gate import failure as failures
from tinygate.numerics.compare import Region
from tinygate.report import FORMATS, console, failure_map, github
from tinygate.report.summary import comparisons


def failure(bad: np.ndarray) -> Failure:
    """The failure of a mask over C."""
    region = Region((bad.shape[0], bad.shape[1]))
    region.add(bad)
    return failures._failure(region, region.first)


def mask(M: int, N: int) -> np.ndarray:
    return np.zeros((M, N), np.bool_)


def body(found: Failure) -> list[str]:
    """The cells of the chart, a string per row."""
    return [line.split("|")[1] for line in failure_map.chart(found) if "|" in line]


def test_a_dead_column_is_a_line() -> None:
    bad = mask(64, 128)
    bad[:, 37] = True
    rows = body(failure(bad))
    assert len(rows) == 16
    assert {len(row) for row in rows} == {64}
    assert all(row.strip() == row[18] != " " for row in rows)


def test_a_missing_last_tile_is_a_corner() -> None:
    bad = mask(64, 128)
    bad[32:, 64:] = True
    rows = body(failure(bad))
    assert all(row == " " * 64 for row in rows[:8])
    assert all(row == " " * 32 + "@" * 32 for row in rows[8:])


def test_one_wrong_element_among_many_still_shows() -> None:
    bad = mask(1000, 50_000)
    bad[999, 49_999] = True
    rows = body(failure(bad))
    assert "".join(rows).strip() == "."
    assert rows[-1].rstrip().endswith(".")


def test_everything_wrong_is_everything_dark_on_odd_sizes_too() -> None:
    for M, N in ((1, 1), (3, 257), (17, 65), (1, 50_257)):
        bad = mask(M, N)
        bad[:] = True
        assert set("".join(body(failure(bad)))) == {"@"}


@pytest.mark.parametrize("size", [(1, 1), (535, 1024), (100_000, 100), (1, 151_936)])
def test_the_chart_fits_80_columns_with_its_indent(size: tuple[int, int]) -> None:
    bad = mask(*size)
    bad[-1, -1] = True
    assert max(map(len, failure_map.chart(failure(bad)))) <= 76


@pytest.mark.parametrize("width", [20, 30, 40, 60, 76])
def test_a_narrow_terminal_gets_a_coarser_map(width: int) -> None:
    bad = mask(535, 1024)
    bad[500:, 1000:] = True
    lines = failure_map.chart(failure(bad), width)
    # The first line is words, which a terminal wraps.
    assert max(map(len, lines[1:])) <= width
    rows = [line.split("|")[1] for line in lines if "|" in line]
    assert len(rows) == 16
    assert rows[-1].strip()
    assert rows[-1].rstrip() == rows[-1]
    assert not "".join(rows[:14]).strip()
    bad[:] = True
    assert set("".join(body(failure(bad)))) == {"@"}


def test_columns_are_labelled_with_the_first_and_the_last_index_of_a_cell() -> None:
    bad = mask(64, 130)
    bad[0, 0] = True
    label = failure_map.chart(failure(bad))[1]
    assert label.split() == ["0", "129"]
    assert len(label) == len("   ") + 1 + 44 or label.endswith("129")


def test_a_place_without_values_and_values_that_differ_late() -> None:
    bad = mask(4, 4)
    bad[1, 2] = True
    found = failure(bad)
    assert failure_map.summary(found) == "first wrong C[1,2]; 1 of 16 wrong, row 1, column 2"
    close = replace(found, got=1.00000012, want=1.0, operand="B")
    assert failure_map.summary(close).startswith("first wrong B[1,2]: got 1.00000012, want 1;")


def test_rows_are_labelled_with_their_first_index() -> None:
    bad = mask(64, 4)
    bad[9] = True
    labelled = [line for line in failure_map.chart(failure(bad)) if line.strip().startswith("8 |")]
    assert len(labelled) == 1


BAD = mask(64, 128)
BAD[3, 5:9] = True
WRONG = replace(
    case(Status.FAIL, reason="max_abs over limit"),
    failure=replace(failure(BAD), got=1.25, want=1.0),
    saved="out/a case.npz",
    warnings=("f16-storage is less precise than it declares",),
    predicted=Prediction(nmse=4e-8, mean_rel=8e-4, max_abs=1.5e-4),
)
FAILED = report(path(WRONG))


@pytest.mark.parametrize("name", list(FORMATS))
def test_every_format_says_where_and_warns(name: str) -> None:
    text = FORMATS[name](FAILED)
    assert "less precise than it declares" in text
    if name == "json":
        found = json.loads(text)["paths"][0]["cases"][0]
        assert found["failure"]["first"] == [3, 5]
        assert found["failure"]["count"] == 4
        assert found["failure"]["operand"] == "C"
        assert found["failure"]["cells"][0][:4] == [0, 0, 0.25 / 2, 0.25]
        assert found["saved"] == "out/a case.npz"
        assert found["replay_saved"] == "tinygate replay 'out/a case.npz'"
        assert found["predicted"]["mean_rel"]["ratio"] == pytest.approx(7.5e-4 / 8e-4)
        assert found["predicted"]["nmse"]["limit"] == pytest.approx(8e-8)
    else:
        assert "4 of 8192 wrong" in text
        assert "tinygate replay 'out/a case.npz'" in text


def test_the_json_fits_its_schema() -> None:
    schema = json.loads(resources.files("tinygate.report").joinpath("schema.json").read_text())
    jsonschema.validate(json.loads(FORMATS["json"](FAILED)), schema)


def test_predictions_stand_in_verbose_text_and_every_machine_format_on_pass_too() -> None:
    good = replace(PASSING.paths[0].cases[0], predicted=Prediction(4e-8, 8e-4, 1.5e-4))
    passed = report(path(good))
    assert "predicted: mean_rel" in console.render(passed, verbosity=console.VERBOSE)
    assert "predicted: mean_rel" not in console.render(passed)
    assert "mean_rel: predicted" in FORMATS["junit"](passed)
    assert "| mean\\_rel |" in FORMATS["markdown"](passed)
    assert '"ratio"' in FORMATS["json"](passed)
    assert "| nmse |" in github.summary(passed)


def test_a_comparison_shows_ratio_limit_and_how_much_of_it_is_used() -> None:
    good = replace(PASSING.paths[0].cases[0], predicted=Prediction(4e-8, 8e-4, 1.5e-4))
    assert comparisons(good)[0] == (
        "mean_rel: predicted 8.000e-04, measured 7.500e-04, ratio 0.938, "
        "limit 5.000e-03, uses 15 % of limit"
    )
    over = replace(good, predicted=Prediction(0.0, 0.0, 0.0))
    assert comparisons(over)[0].endswith("ratio inf, limit 5.000e-03, uses 15 % of limit")
    bad = replace(WRONG, predicted=Prediction(4e-8, 8e-4, 1.5e-4))
    assert comparisons(bad)[1].endswith("uses 132 % of limit")


def test_maps_are_in_the_formats_that_have_room() -> None:
    for name in ("text", "junit", "markdown"):
        assert "map of C, 4 x 2 elements a character" in FORMATS[name](FAILED)
    assert "map of C" not in FORMATS["github"](FAILED)
    assert "map of C" in github.summary(FAILED)


def test_only_the_first_three_maps_are_drawn() -> None:
    many = report(path(*(replace(WRONG, shape=f"{i}x128x128") for i in range(1, 6))))
    assert console.render(many).count("map of C") == failure_map.MAX_MAPS


def test_the_errors_of_a_quantized_path_apart() -> None:
    one = replace(WRONG, parts=ErrorParts(stored=4e-4, kernel=9e-14))
    shown = (
        "stored error: relative rms 2.000e-02, NMSE 4.000e-04",
        "kernel error: relative rms 3.000e-07, NMSE 9.000e-14",
    )
    quantized = report(path(one))
    text = console.render(quantized, verbosity=console.VERBOSE)
    for line in shown:
        assert line in text
        assert line not in console.render(quantized)
        assert line in FORMATS["junit"](quantized)
    document = json.loads(FORMATS["json"](quantized))
    schema = json.loads(resources.files("tinygate.report").joinpath("schema.json").read_text())
    jsonschema.validate(document, schema)
    (case,) = document["paths"][0]["cases"]
    assert case["error_parts"] == {
        "stored": {"rms": pytest.approx(0.02), "nmse": 4e-4},
        "kernel": {"rms": pytest.approx(3e-7), "nmse": 9e-14},
    }
    assert json.loads(FORMATS["json"](PASSING))["paths"][0]["cases"][0]["error_parts"] is None
