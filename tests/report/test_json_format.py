"""JSON: strict, as the schema says, with the whole identity of a verdict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from sample_reports import ALL, EMPTY, FAILING, PASSING, hostile

import tinygate.report
from tinygate.core.results import SCHEMA_VERSION, Report
from tinygate.report import gate_line
from tinygate.report import json as renderer

SCHEMA = json.loads((Path(tinygate.report.__file__).parent / "schema.json").read_text("utf-8"))


def strict(text: str) -> Any:
    """Parse, and refuse the tokens that JSON does not have."""

    def refuse(token: str) -> None:
        raise AssertionError(token)

    return json.loads(text, parse_constant=refuse)


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["properties"]["schema_version"] == {"const": SCHEMA_VERSION}


@pytest.mark.parametrize("sample", ALL.values(), ids=ALL)
def test_every_report_is_valid_and_ascii(sample: Report) -> None:
    text = renderer.render(sample)
    assert text.isascii()
    Draft202012Validator(SCHEMA).validate(strict(text))


def test_every_object_is_closed() -> None:
    """An unknown or missing key is invalid, so a typo in the renderer cannot pass."""

    def walk(node: Any) -> None:
        if isinstance(node, dict):
            if "properties" in node:
                assert node["additionalProperties"] is False
                assert set(node["required"]) == set(node["properties"])
            for value in node.values():
                walk(value)

    walk(SCHEMA)


def test_the_whole_case_is_there() -> None:
    data = strict(renderer.render(FAILING))
    case = data["paths"][0]["cases"][1]
    assert case["line"] == gate_line.case_line(FAILING.cases[1])
    assert case["metrics"] == {
        "mean_ref": 0.122,
        "max_abs": 1.61e-3,
        "max_abs_limit": pytest.approx(1.22e-3),
        "mean_rel": 7.5e-4,
        "mean_rel_limit": 0.005,
        "max_rel": 0.054,
        "count": 8192,
        "nmse": 0.0,
    }
    assert case["predicted"] is None
    assert case["speed_up"] is None
    assert case["used"] == pytest.approx(1.61 / 1.22)
    assert [check["name"] for check in case["checks"]] == ["finite", "max_abs", "mean_rel"]
    assert case["checks"][0]["measured"] is None
    assert data["exit_code"] == 1
    assert data["paths"][1]["missing"] == "shader-f16"
    assert data["paths"][1]["used"] is None


def test_identity() -> None:
    assert strict(renderer.render(PASSING))["paths"][0]["identity"] == {
        "engine": {"name": "native", "version": "0.32.0"},
        "adapter": "llvmpipe (LLVM 19.1.7, 256 bits)",
        "driver": "Mesa 25.0.7",
        "backend": "Vulkan",
        "subgroup_size": 8,
        "source_hash": "ab" * 32,
        "shape_classes": ["matmul · M 33\u2013128, K 65\u2013128, N 65\u2013128"],
        "families": ["uniform", "positive"],
        "seed": 12345,
        "limits": {
            "finite": ["decided by bit pattern"],
            "max_abs": ["activation rule: 1 % of mean|ref|"],
            "mean_rel": ["activation rule: 0.5 %"],
        },
    }


def test_not_measured_is_null_and_not_finite_is_a_word() -> None:
    empty = strict(renderer.render(EMPTY))
    (platform,) = empty["platforms"]
    assert platform["adapter"] is platform["numerics"] is None
    assert empty["seconds"] is empty["started"] is None
    case = strict(renderer.render(hostile()))["paths"][0]["cases"][0]
    assert case["metrics"]["mean_ref"] == "NaN"
    assert case["metrics"]["max_abs"] == "Infinity"
    assert case["metrics"]["mean_rel"] == "-Infinity"
    assert case["checks"][0]["measured"] == "NaN"
