"""JUnit XML: a suite per path, a case per shape and family; failure, error and skipped kept apart.

What is wrong without belonging to a case (a path that could not start, a run of nothing) becomes a
case of its own, because a CI server counts cases and calls an empty suite green.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree as ET

from tinygate.core.results import CaseResult, PathResult, Report
from tinygate.core.status import Status
from tinygate.core.text import clean
from tinygate.report import failure_map
from tinygate.report.gate_line import case_line
from tinygate.report.summary import (
    Problem,
    check_words,
    comparisons,
    error_parts,
    identity,
    named,
    problems,
    state,
)

_TAG = {Status.FAIL: "failure", Status.ERROR: "error", Status.SKIP: "skipped"}
# What XML 1.0 does not allow, not even escaped. Line breaks and tabs are allowed.
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(report: Report) -> str:
    """The report as one JUnit document, in ASCII so that no encoding on the way can break it."""
    root = ET.Element("testsuites", {"name": "tinygate"})
    found = problems(report)
    for path in report.paths:
        mine = [p for p in found if (p.path, p.engine) == (path.path, path.engine)]
        _suite(root, path, report, mine)
    known = {(path.path, path.engine) for path in report.paths}
    loose = [problem for problem in found if (problem.path, problem.engine) not in known]
    if loose:
        suite = ET.SubElement(root, "testsuite", {"name": "tinygate"})
        for problem in loose:
            _add(suite, "tinygate", problem.path or problem.where, problem.status, problem.reason)
        _count(suite, report.started)
    for name in ("tests", "failures", "errors", "skipped"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    root.set("time", _seconds(report.seconds))
    ET.indent(root)
    data: bytes = ET.tostring(root, encoding="us-ascii", xml_declaration=True)
    return data.decode("ascii") + "\n"


def _suite(root: ET.Element, path: PathResult, report: Report, found: list[Problem]) -> None:
    suite = ET.SubElement(root, "testsuite", {"name": _text(named(path.path, path.engine, report))})
    properties = ET.SubElement(suite, "properties")
    for name, value in _properties(path, report):
        ET.SubElement(properties, "property", {"name": name, "value": _text(value)})
    group = (
        f"tinygate.{path.engine}.{path.path}" if report.multi_engine else f"tinygate.{path.path}"
    )
    for case in path.cases:
        element = _add(suite, group, f"{case.shape} {case.family}", case.status, case.reason)
        element.set("time", _seconds(case.seconds))
        details = "\n".join(_details(case, report))
        ET.SubElement(element, "system-out").text = details
    ids = {named(case.id, case.engine, report) for case in path.cases}
    rest = [problem for problem in found if problem.where not in ids]
    for problem in rest:
        _add(suite, group, "gate", problem.status, problem.reason)
    if not rest and not path.cases:
        _add(suite, group, "gate", path.status, path.missing or path.reason)
    _count(suite, report.started)


def _add(suite: ET.Element, group: str, name: str, status: Status, reason: str) -> ET.Element:
    """A test case with its verdict."""
    case = ET.SubElement(suite, "testcase", {"classname": _text(group), "name": _text(name)})
    tag = _TAG.get(status)
    if tag is not None:
        message = _text(reason) or "no reason given"
        ET.SubElement(case, tag, {"message": message, "type": status.value})
    return case


def _details(case: CaseResult, report: Report) -> Iterator[str]:
    """What a reader of a failed case asks for next."""
    yield _text(case_line(case, single_shape=report.single_shape))
    for check in case.checks:
        name, rest = check_words(check)
        yield _text(f"{name}: {check.status.value}{rest}")
    yield from map(_text, (*comparisons(case), *error_parts(case)))
    yield from (f"warning: {_text(text)}" for text in case.warnings)
    if case.failure is not None:
        yield _text(failure_map.summary(case.failure))
        yield from failure_map.chart(case.failure)
    if case.hint:
        yield f"hint: {_text(case.hint)}"
    if case.replay:
        yield f"replay: {_text(case.replay)}"
    if case.saved:
        yield f"replay: {_text(case.replay_saved)}"


def _properties(path: PathResult, report: Report) -> Iterator[tuple[str, str]]:
    """The identity of the verdict, and what it led to."""
    yield "tinygate", report.version
    platform = report.platform(path.engine)
    yield "engine", platform.engine
    adapter = platform.adapter
    if adapter is not None:
        yield "engine_version", adapter.engine_version
        yield "adapter", adapter.name
        yield "adapter_kind", adapter.kind
        yield "driver", adapter.driver
        yield "backend", adapter.backend
    if platform.numerics is not None and platform.numerics.subgroup_size is not None:
        yield "subgroup_size", str(platform.numerics.subgroup_size)
    yield "identity", identity(platform)
    yield "seed", str(report.seed)
    yield "source_hash", path.source_hash
    yield "state", state(path)


def _count(suite: ET.Element, started: str) -> None:
    """The totals that a CI server reads off a suite's attributes."""
    cases = suite.findall("testcase")
    suite.set("tests", str(len(cases)))
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(sum(case.find(tag) is not None for case in cases)))
    suite.set("time", f"{sum(float(case.get('time', '0')) for case in cases):.3f}")
    if started:
        suite.set("timestamp", _text(started))


def _seconds(value: float | None) -> str:
    return "0.000" if value is None else f"{value:.3f}"


def _text(value: str) -> str:
    return _ILLEGAL.sub("", clean(value))
