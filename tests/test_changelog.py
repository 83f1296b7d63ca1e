"""The changelog's newest version is the package's."""

from __future__ import annotations

import re
from pathlib import Path

import tinygate

ROOT = Path(tinygate.__file__).parent.parent


def test_the_changelogs_first_version_is_the_packages() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.findall(r"^## \[(.+?)\]", text, re.MULTILINE)
    released = [version for version in versions if version != "Unreleased"]
    assert released[0] == tinygate.__version__
