"""What a visitor meets first is true: CI, issue forms, security policy, classifiers, releasing."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import tinygate

ROOT = Path(__file__).resolve().parent.parent
GITHUB = ROOT / ".github"
FORMS = ("wrong_verdict", "bug")
JOBS = ("test", "ubuntu")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def load(name: str) -> dict[str, Any]:
    """A YAML file below .github, which has to be a mapping."""
    document = yaml.safe_load((GITHUB / name).read_text(encoding="utf-8"))
    assert isinstance(document, dict)
    return document


def project() -> dict[str, Any]:
    """The table `project` of pyproject.toml."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        table: dict[str, Any] = tomllib.load(file)["project"]
    return table


def classifiers(start: str) -> list[str]:
    """What follows `start` in the classifiers."""
    found = [one.removeprefix(start) for one in project()["classifiers"] if one.startswith(start)]
    assert found, start
    return found


def steps(job: str) -> list[dict[str, Any]]:
    """The steps of a job in ci.yml."""
    found: list[dict[str, Any]] = load("workflows/ci.yml")["jobs"][job]["steps"]
    return found


def commands(job: str) -> str:
    """Everything that a job runs in a shell."""
    return "\n".join(step["run"] for step in steps(job) if "run" in step)


def pythons() -> list[str]:
    """The Python versions that CI runs the tests on."""
    matrix = load("workflows/ci.yml")["jobs"]["test"]["strategy"]["matrix"]["include"]
    return [one["python"] for one in matrix]


def recipe(program: str) -> list[str]:
    """The commands of the section "Releasing" that start with this program."""
    section = CONTRIBUTING.split("\n## Releasing\n")[1]
    lines = [line.strip() for line in section.splitlines() if line.startswith(" " * 7)]
    found = [line for line in lines if line.split()[0] == program]
    assert found, program
    return found


def shell(folder: Path, *lines: str) -> None:
    """Run commands of the recipe in a folder, for version 9.8.7."""
    script = "\n".join(["set -eu", "VERSION=9.8.7", *lines])
    subprocess.run(["sh", "-c", script], cwd=folder, check=True)


def test_ci_runs_what_a_clone_runs() -> None:
    assert "bash .ci/run" in commands("test").splitlines()
    assert (ROOT / ".ci" / "run").is_file()
    for job in JOBS:
        assert "scripts/verify" in commands(job)


def test_ci_may_read_and_no_more() -> None:
    workflow = load("workflows/ci.yml")
    assert workflow["permissions"] == {"contents": "read"}
    assert workflow["concurrency"]["group"]
    assert set(workflow["jobs"]) == set(JOBS)
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"] <= 60
        assert "permissions" not in job
        assert "continue-on-error" not in job


@pytest.mark.parametrize("job", JOBS)
def test_ci_names_each_action_with_its_major_version_and_keeps_its_reports(job: str) -> None:
    used = [step["uses"] for step in steps(job) if "uses" in step]
    assert all(re.fullmatch(r"actions/[a-z-]+@v\d+", action) for action in used), used
    assert "continue-on-error" not in str(steps(job))
    (upload,) = (step for step in steps(job) if "upload-artifact" in step.get("uses", ""))
    assert upload["if"] == "always()"
    reports = re.findall(r"--export-\w+ (\S+)", commands(job))
    assert reports == ["build/report.json", "build/gate.xml"]
    assert all(report.startswith(upload["with"]["path"]) for report in reports)


@pytest.mark.parametrize("form", FORMS)
def test_a_form_is_one_that_github_takes(form: str) -> None:
    document = load(f"ISSUE_TEMPLATE/{form}.yml")
    assert document["name"]
    assert document["description"]
    asked = [field for field in document["body"] if field["type"] != "markdown"]
    names = [field["id"] for field in asked]
    assert len(names) == len(set(names))
    assert any(field["validations"]["required"] for field in asked if "validations" in field)
    assert all(field["attributes"]["label"] for field in asked)
    assert {field["type"] for field in asked} <= {"dropdown", "textarea"}


@pytest.mark.parametrize("word", ["--export-json", "--save-failures", "[ops]", "tinygate probe"])
def test_a_wrong_verdict_is_reported_with_what_shows_it(word: str) -> None:
    assert word in (GITHUB / "ISSUE_TEMPLATE" / "wrong_verdict.yml").read_text(encoding="utf-8")


def test_the_other_templates_are_there() -> None:
    assert set(load("ISSUE_TEMPLATE/config.yml")) <= {"blank_issues_enabled", "contact_links"}
    template = (GITHUB / "pull_request_template.md").read_text(encoding="utf-8")
    for word in ("scripts/test", "tests/faults", "CHANGELOG.md"):
        assert word in template
        assert word in CONTRIBUTING
    assert "evidence" in template


def test_the_security_policy_is_linked_and_names_this_version() -> None:
    policy = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert "(SECURITY.md)" in CONTRIBUTING
    major, minor, _ = tinygate.__version__.split(".")
    assert f"| {major}.{minor}.x |" in policy
    assert not re.search(r"\S+@\S+\.\S+", policy), "an address that nobody reads"
    for title in re.findall(r"issue form is \*(.+?)\*", policy):
        assert title in [load(f"ISSUE_TEMPLATE/{form}.yml")["name"] for form in FORMS]


def test_classifiers_claim_what_is_tried() -> None:
    assert classifiers("Operating System :: ") == ["POSIX :: Linux"]
    versions = [one for one in classifiers("Programming Language :: Python :: ") if "." in one]
    assert versions == pythons()
    assert project()["requires-python"] == f">={versions[0]}"


def test_the_version_is_in_one_place() -> None:
    assert "version" not in project()
    assert project()["dynamic"] == ["version"]
    text = (ROOT / "tinygate" / "__init__.py").read_text(encoding="utf-8")
    # What hatchling reads, and what the recipe's sed rewrites.
    assert re.findall(r'^__version__ = "(.+)"$', text, re.MULTILINE) == [tinygate.__version__]
    elsewhere = [
        str(file.relative_to(ROOT))
        for file in (ROOT / "tinygate").rglob("*.py")
        if f'"{tinygate.__version__}"' in file.read_text(encoding="utf-8")
    ]
    assert elsewhere == ["tinygate/__init__.py"]


def test_the_recipe_bumps_the_version_and_takes_the_notes(tmp_path: Path) -> None:
    (tmp_path / "tinygate").mkdir()
    (tmp_path / "build").mkdir()
    for name in ("tinygate/__init__.py", "CHANGELOG.md"):
        (tmp_path / name).write_text((ROOT / name).read_text(encoding="utf-8"), encoding="utf-8")
    shell(tmp_path, *recipe("sed"), *recipe("awk"))

    text = (tmp_path / "tinygate" / "__init__.py").read_text(encoding="utf-8")
    assert text.count('__version__ = "9.8.7"\n') == 1
    assert tinygate.__version__ not in text
    changelog = (tmp_path / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## \[(.+?)\]", changelog, re.MULTILINE)
    assert headings[:3] == ["Unreleased", "9.8.7", tinygate.__version__]
    notes = (tmp_path / "build" / "notes.md").read_text(encoding="utf-8")
    assert re.findall(r"^## \[(.+?)\]", notes, re.MULTILINE) == ["9.8.7"]
    assert notes in changelog


def test_the_recipe_runs_what_is_there() -> None:
    assert recipe("scripts/test") == ["scripts/test"]
    assert recipe(".venv/bin/python")[0] == ".venv/bin/python -m build"
