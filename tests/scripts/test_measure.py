"""docs/measurements/measure.sh: what it asks of verify, and what it stores."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from example_reports import ROOT, Object, case, report, text

from tinygate.paths.builtin import BUILTIN

# Stands for a Python whose `-m tinygate verify` ends as CODE says and exports REPORT.
STUB = """#!/bin/sh
[ "$1 $2" = "-m tinygate" ] || exec "$REAL" "$@"
for last in "$@"; do :; done
echo "$*" >>"$LOG"
printf %s "$REPORT" >"$last"
exit "$CODE"
"""


def measure(
    tmp_path: Path, *arguments: str, document: Object | None, code: int, engines: str = ""
) -> tuple[int, Path, str]:
    """measure.sh in a folder of its own: its exit code, that folder, what it asked of verify."""
    folder = tmp_path / "docs" / "measurements"
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "docs" / "measurements" / "measure.sh", folder)
    stub, log, temporary = tmp_path / "python", tmp_path / "log", tmp_path / "tmp"
    stub.write_text(STUB, encoding="utf-8")
    stub.chmod(0o755)
    log.touch()
    temporary.mkdir()
    own = {"PYTHON": str(stub), "REAL": sys.executable, "LOG": str(log), "PYTHONPATH": str(ROOT)}
    own |= {"TMPDIR": str(temporary), "ENGINES": engines, "CODE": str(code)}
    done = subprocess.run(
        [folder / "measure.sh", *arguments],
        env={**os.environ, **own, "REPORT": json.dumps(document) if document else ""},
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert not list(temporary.iterdir())
    return done.returncode, folder, log.read_text(encoding="utf-8")


def stored_in(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir() if file.name != "measure.sh")


@pytest.mark.parametrize("code", [0, 1, 3])
def test_every_suite_of_both_engines_is_stored(tmp_path: Path, code: int) -> None:
    document = report(case())
    ended, folder, asked = measure(tmp_path, "card", document=document, code=code)
    assert ended == 0
    assert stored_in(folder) == ["card-production.csv", "card-ragged.csv"]
    written = (folder / "card-ragged.csv").read_text(encoding="utf-8")
    assert written == text(document, "docs/measurements/measure.sh card ragged")
    assert asked.count("--engine native --engine dawn ") == 2
    for path in BUILTIN:
        assert asked.count(f"--path {path.name} ") == 1


def test_other_engines_are_part_of_the_command(tmp_path: Path) -> None:
    ended, folder, asked = measure(
        tmp_path, "card", "tiny", document=report(case()), code=0, engines="dawn"
    )
    assert ended == 0
    written = (folder / "card-tiny.csv").read_text(encoding="utf-8")
    assert "# command: ENGINES='dawn' docs/measurements/measure.sh card tiny\n" in written
    assert "--engine native" not in asked


@pytest.mark.parametrize("exported", [True, False])
def test_without_an_adapter_nothing_is_stored(tmp_path: Path, exported: bool) -> None:
    document = report()
    document["platforms"][0]["adapter"] = None
    ended, folder, asked = measure(
        tmp_path, "card", document=document if exported else None, code=3
    )
    assert ended == 3
    assert not stored_in(folder)
    assert asked.count("\n") == 1


def test_it_stops_where_the_command_line_is_wrong(tmp_path: Path) -> None:
    ended, folder, asked = measure(tmp_path, "card", "ragged", document=report(), code=2)
    assert ended == 2
    assert not stored_in(folder)
    assert asked.count("\n") == 1


def test_it_stops_at_a_report_that_it_cannot_read(tmp_path: Path) -> None:
    ended, folder, _ = measure(tmp_path, "card", document={"schema_version": 0}, code=0)
    assert ended == 1
    assert not stored_in(folder)


def test_without_a_name_it_says_how(tmp_path: Path) -> None:
    assert measure(tmp_path, document=report(), code=0)[0] == 2
