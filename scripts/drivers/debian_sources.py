"""Find the apt source of this machine's Debian packages, and retarget it to another release.

Standard library only. A mirror's address and the keys that its indexes are verified with come from
the machine's apt configuration and from nowhere else.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

# Names a sources file may use for a release instead of its codename.
ALIASES = ("stable", "oldstable", "oldoldstable", "testing")
# Fields that a source for another release replaces; the others are copied.
_REPLACED = ("types", "suites", "components", "enabled")
# The options of the one-line style whose deb822 field is not the same word.
_FIELDS = {"arch": "architectures", "lang": "languages", "target": "targets"}

Source = dict[str, str]  # a deb822 stanza, field names in lower case


def parse_stanzas(text: str) -> Iterator[Source]:
    """Parse the enabled `deb` stanzas of a .sources file (sources.list(5), deb822 style)."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    for block in re.split(r"\n\s*\n", "\n".join(lines)):
        stanza: Source = {}
        name = ""
        for line in block.splitlines():
            if line[:1].isspace() and name:
                stanza[name] += f"\n{line}"
            elif ":" in line:
                name, _, value = line.partition(":")
                name = name.strip().lower()
                stanza[name] = value.strip()
        if "deb" in stanza.get("types", "").split() and stanza.get("enabled", "yes") != "no":
            yield stanza


def parse_lines(text: str) -> Iterator[Source]:
    """Parse the `deb` lines of a .list file (sources.list(5), one-line style)."""
    pattern = re.compile(
        r"^\s*deb\s+(?:\[(?P<options>[^\]]*)\]\s*)?(?P<uri>\S+)\s+(?P<rest>[^#\n]+)"
    )
    for line in text.splitlines():
        if (match := pattern.match(line)) is None:
            continue
        suite, *components = match["rest"].split()
        source = {"types": "deb", "uris": match["uri"], "suites": suite}
        source["components"] = " ".join(components)
        for option in (match["options"] or "").split():
            name, _, value = option.partition("=")
            source[_FIELDS.get(name.lower(), name.lower())] = value.replace(",", " ")
        yield source


def archive(sources: Iterable[Source], codename: str) -> Source | None:
    """Find the source of the release itself, or return None.

    Its updates and security fixes have suites with longer names, and often other hosts.
    """
    for source in sources:
        suites = [suite.rstrip("/") for suite in source.get("suites", "").split()]
        if any(suite in (codename, *ALIASES) for suite in suites):
            return source
    return None


def retarget(source: Mapping[str, str], suites: Sequence[str]) -> str:
    """Write a .sources file for other suites of the same archive, with its keys and options."""
    fields = {"types": "deb", "suites": " ".join(suites), "components": "main"}
    kept = {name: value for name, value in source.items() if name not in _REPLACED}
    return "".join(
        f"{name}:{' ' * (not value.startswith(chr(10)))}{value}\n"
        for name, value in {**fields, **kept}.items()
    )


def machine_sources() -> list[Source]:
    """Read the sources that this machine is configured with, in apt's order."""
    shell = ["apt-config", "shell", "LIST", "Dir::Etc::sourcelist/f", "PARTS"]
    done = subprocess.run(
        [*shell, "Dir::Etc::sourceparts/d"], capture_output=True, text=True, check=False
    )
    locations = dict(re.findall(r"^(LIST|PARTS)='(.*)'$", done.stdout, re.M))
    parts = Path(locations.get("PARTS", "/etc/apt/sources.list.d"))
    files = [Path(locations.get("LIST", "/etc/apt/sources.list"))]
    if parts.is_dir():
        files += sorted(path for path in parts.iterdir() if path.suffix in (".list", ".sources"))
    sources: list[Source] = []
    for path in files:
        if path.is_file():
            parse = parse_stanzas if path.suffix == ".sources" else parse_lines
            sources += parse(path.read_text(errors="replace"))
    return sources
