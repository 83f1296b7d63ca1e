"""JUnit: what a CI server counts."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest
from sample_reports import (
    ALL,
    BARE,
    EMPTY,
    ERRORING,
    FAILING,
    INTERRUPTED,
    PASSING,
    REQUIRED,
    SKIPPING,
)

from tinygate.core.results import Report
from tinygate.report import gate_line, junit


def counts(sample: Report) -> dict[str, int]:
    root = ET.fromstring(junit.render(sample))
    return {key: int(root.attrib[key]) for key in ("tests", "failures", "errors", "skipped")}


@pytest.mark.parametrize(
    ("sample", "tests", "failures", "errors", "skipped"),
    [
        (PASSING, 2, 0, 0, 0),
        (FAILING, 3, 1, 0, 1),
        (ERRORING, 1, 0, 1, 0),
        (SKIPPING, 2, 0, 1, 1),
        (INTERRUPTED, 22, 1, 21, 0),
        (EMPTY, 1, 0, 1, 0),
        (BARE, 1, 0, 1, 0),
        (REQUIRED, 3, 0, 2, 0),
    ],
)
def test_counts(sample: Report, tests: int, failures: int, errors: int, skipped: int) -> None:
    expected = {"tests": tests, "failures": failures, "errors": errors, "skipped": skipped}
    assert counts(sample) == expected


@pytest.mark.parametrize("sample", ALL.values(), ids=ALL)
def test_parses_adds_up_and_is_green_only_on_exit_0(sample: Report) -> None:
    root = ET.fromstring(junit.render(sample))
    for key in ("tests", "failures", "errors", "skipped"):
        assert int(root.attrib[key]) == sum(int(suite.attrib[key]) for suite in root)
    assert int(root.attrib["tests"]) == len(root.findall(".//testcase"))
    red = int(root.attrib["failures"]) + int(root.attrib["errors"])
    assert (red > 0) == (sample.exit_code != 0)


def test_a_case_is_shape_and_family() -> None:
    root = ET.fromstring(junit.render(FAILING))
    assert [suite.attrib["name"] for suite in root] == ["f16-storage", "f16-compute"]
    good, bad = root[0].findall("testcase")
    assert good.attrib == {
        "classname": "tinygate.f16-storage",
        "name": "64x128x128 uniform",
        "time": "0.250",
    }
    failure = bad.find("failure")
    assert failure is not None
    assert failure.attrib == {"message": "max_abs over limit", "type": "FAIL"}
    assert gate_line.case_line(FAILING.cases[1]) in (bad.findtext("system-out") or "")
    assert f"replay: {FAILING.cases[1].replay}" in (bad.findtext("system-out") or "")
    properties = {p.attrib["name"]: p.attrib["value"] for p in root[0].iter("property")}
    assert properties["driver"] == "Mesa 25.0.7"
    assert properties["subgroup_size"] == "8"
    assert properties["state"] == "rejected (max_abs over limit)"
