"""Unpack Debian packages into a folder: no root, nothing installed, the machine's apt left alone.

Standard library only. apt's own resolver and downloads are used with private lists and caches, over
the sources that the machine itself is configured with.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

LOG_LINES = 12

NETWORK_HINT = "check the network and the sources in /etc/apt, then run this again"

# Laid over the machine's own configuration. Indexes other than Packages (translations, icons,
# sources) are megabytes nobody reads here, and the machine's hooks have no business with our lists.
APT_CONFIGURATION = """\
Dir::State::Lists "{folder}/lists";
Dir::Cache "{folder}/cache";
APT::Sandbox::User "root";
Acquire::http::Timeout "30";
Acquire::https::Timeout "30";
Acquire::Retries "2";
Acquire::Languages "none";
#clear APT::Update;
#clear Acquire::IndexTargets;
Acquire::IndexTargets::deb::Packages {{
  MetaKey "$(COMPONENT)/binary-$(ARCHITECTURE)/Packages";
  flatMetaKey "Packages";
  ShortDescription "Packages";
  Description "$(RELEASE)/$(COMPONENT) $(ARCHITECTURE) Packages";
  Optional "no";
}};
"""
OTHER_SUITES = """\
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "{folder}/sources";
APT::Default-Release "{release}";
"""
# As on a machine with nothing installed: what is resolved is complete, down to the C library.
NOTHING_INSTALLED = 'Dir::State::status "{folder}/status";\n'


class SetupError(Exception):
    """What could not be done, what to do about it, and the last lines of what said so."""

    def __init__(self, message: str, hint: str, log: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.log = log

    def render(self) -> str:
        """The log's tail, then the two lines a user has to read."""
        tail = [f"  | {line}" for line in self.log.strip().splitlines()[-LOG_LINES:]]
        return "\n".join([*tail, f"setup: FAILED: {self.message}", f"hint: {self.hint}"])


@dataclass(frozen=True)
class Package:
    """A package apt would install. `upgrade`: the machine has another version of it already."""

    name: str
    version: str
    upgrade: bool

    @property
    def pinned(self) -> str:
        """As apt-get download takes it."""
        return f"{self.name}={self.version}"


def parse_simulation(text: str) -> list[Package]:
    """The packages in the output of `apt-get install --simulate`."""
    pattern = re.compile(r"^Inst (?P<name>\S+)(?P<old> \[[^\]]*\])? \((?P<version>\S+)", re.M)
    return [
        Package(match["name"], match["version"], upgrade=match["old"] is not None)
        for match in pattern.finditer(text)
    ]


def missing_libraries(text: str) -> list[str]:
    """What `ldd` did not find: libraries, and symbol versions of libraries that are too old."""
    found = re.findall(r"^\s*(\S+) => not found|version [`'](\S+?)' not found", text, re.M)
    return sorted({library or version for library, version in found})


def say(text: str) -> None:
    """One line of progress."""
    print(f"setup: {text}", file=sys.stderr, flush=True)


def run(
    command: Sequence[str], cwd: Path | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    """A command's exit code and output, in English, with no one at the keyboard."""
    return subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, "LC_ALL": "C", **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )


def call(command: Sequence[str], failure: str, hint: str, cwd: Path | None = None) -> str:
    """Standard output of a command that has to succeed."""
    done = run(command, cwd)
    if done.returncode != 0:
        raise SetupError(failure, hint, done.stdout + done.stderr)
    return done.stdout


class PrivateApt:
    """The machine's apt, keeping its lists and downloads under `folder`.

    sources: a .sources file to use instead of the machine's own sources; empty for those.
    release: the suite among them that versions are taken from where it has the package.
    complete: resolve as if nothing were installed.
    """

    def __init__(
        self, folder: Path, sources: str = "", release: str = "", complete: bool = False
    ) -> None:
        self._debs = folder / "debs"
        for part in ("lists/partial", "cache/archives/partial", "debs", "sources"):
            (folder / part).mkdir(parents=True)
        text = APT_CONFIGURATION
        if sources:
            text += OTHER_SUITES
            (folder / "sources" / "suites.sources").write_text(sources)
        if complete:
            text += NOTHING_INSTALLED
            (folder / "status").touch()
        configuration = folder / "apt.conf"
        configuration.write_text(text.format(folder=folder, release=release))
        self._apt = ["apt-get", "-c", str(configuration), "-qq"]
        self._updated = ""

    def update(self) -> None:
        """Read the package lists."""
        say("reading the package lists of the machine's own mirror")
        # A source nobody needs here may be down: whether the lists suffice shows in the next step.
        self._updated = run([*self._apt, "update"]).stderr

    def resolve(self, names: Sequence[str]) -> list[Package]:
        """What installing these would bring: new packages and upgrades."""
        try:
            simulation = call(
                [*self._apt, "install", "--simulate", "--no-install-recommends", *names],
                f"apt cannot resolve {' and '.join(names)}",
                NETWORK_HINT,
            )
        except SetupError as error:
            error.log = f"{self._updated}\n{error.log}"
            raise
        return parse_simulation(simulation)

    def unpack(self, names: Sequence[str], root: Path) -> None:
        """Download packages (`name` or `name=version`) and unpack them into root."""
        say(f"downloading {len(names)} package{'s' * (len(names) != 1)}")
        failure = "a package could not be downloaded"
        try:
            call([*self._apt, "download", *names], failure, NETWORK_HINT, self._debs)
        except SetupError as error:
            error.log = f"{self._updated}\n{error.log}"
            raise
        archives = sorted(self._debs.glob("*.deb"))
        size = sum(archive.stat().st_size for archive in archives) / 1e6
        say(f"unpacking {size:.0f} MB")
        for archive in archives:
            call(
                ["dpkg", "-x", str(archive), str(root)],
                f"{archive.name} could not be unpacked",
                f"check the space left on the disk of {root}",
            )
            archive.unlink()


def library_folders(root: Path) -> list[Path]:
    """The folders of shared libraries below an unpacked root."""
    return [*root.glob("usr/lib/*-linux-*"), *root.glob("lib/*-linux-*")]


def unresolved(libraries: Sequence[Path], root: Path, loader: Path | None = None) -> list[str]:
    """What the dynamic linker cannot find for these libraries with root's own at hand.

    loader: a linker of root's own to ask, which goes with another C library than the machine's.
    """
    path = ":".join(map(str, library_folders(root)))
    if loader is not None:
        command = [str(loader), "--library-path", path, "--list"]
        answers = [run([*command, str(library)]) for library in libraries]
    else:
        path = f"{path}:{os.environ.get('LD_LIBRARY_PATH', '')}".rstrip(":")
        answers = [run(["ldd", *map(str, libraries)], LD_LIBRARY_PATH=path)]
    return missing_libraries("".join(done.stdout + done.stderr for done in answers))
