"""Unpack Debian packages into a folder, without root and without installing anything.

Standard library only. It runs apt's resolver and downloads with private lists and caches, over the
sources that the machine is configured with; the machine's apt state stays as it is.
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

# Overrides parts of the machine's configuration. Indexes other than Packages (translations, icons,
# sources) are megabytes that nothing here reads, and the machine's hooks must not see these lists.
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
# As if nothing were installed, so that apt resolves everything, down to the C library.
NOTHING_INSTALLED = 'Dir::State::status "{folder}/status";\n'


class SetupError(Exception):
    """A step of the set-up failed.

    message   what could not be done
    hint      what to do about it
    log       the output of the program that failed
    """

    def __init__(self, message: str, hint: str, log: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.log = log

    def render(self) -> str:
        """Return the end of the log, then the message and the hint."""
        tail = [f"  | {line}" for line in self.log.strip().splitlines()[-LOG_LINES:]]
        return "\n".join([*tail, f"setup: FAILED: {self.message}", f"hint: {self.hint}"])


@dataclass(frozen=True)
class Package:
    """A package that apt would install; an `upgrade` replaces a version that is installed."""

    name: str
    version: str
    upgrade: bool

    @property
    def pinned(self) -> str:
        """`name=version`, as `apt-get download` takes it."""
        return f"{self.name}={self.version}"


def parse_simulation(text: str) -> list[Package]:
    """Parse the packages in the output of `apt-get install --simulate`."""
    pattern = re.compile(r"^Inst (?P<name>\S+)(?P<old> \[[^\]]*\])? \((?P<version>\S+)", re.M)
    return [
        Package(match["name"], match["version"], upgrade=match["old"] is not None)
        for match in pattern.finditer(text)
    ]


def missing_libraries(text: str) -> list[str]:
    """Parse what `ldd` did not find: libraries, and symbol versions missing from old ones."""
    found = re.findall(r"^\s*(\S+) => not found|version [`'](\S+?)' not found", text, re.M)
    return sorted({library or version for library, version in found})


def say(text: str) -> None:
    """Print one line of progress."""
    print(f"setup: {text}", file=sys.stderr, flush=True)


def run(
    command: Sequence[str], cwd: Path | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a command in English and without input, and return its exit code and output."""
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
    """Run a command that has to succeed, and return its standard output.

    Raises:
        SetupError: it failed; `failure` is the message.
    """
    done = run(command, cwd)
    if done.returncode != 0:
        raise SetupError(failure, hint, done.stdout + done.stderr)
    return done.stdout


class PrivateApt:
    """The machine's apt, with its lists and downloads under `folder`.

    sources: a .sources file to use instead of the machine's sources; empty to use those.
    release: the suite to prefer for a package that several of them have.
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
        # Not fatal: a source that is not needed here may be down. The next step will tell.
        self._updated = run([*self._apt, "update"]).stderr

    def resolve(self, names: Sequence[str]) -> list[Package]:
        """List the new packages and upgrades that installing these would bring.

        Raises:
            SetupError: apt cannot resolve them.
        """
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
        """Download packages (`name` or `name=version`) and unpack them into root.

        Raises:
            SetupError: a package cannot be downloaded or unpacked.
        """
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
    """Find the folders of shared libraries below an unpacked root."""
    return [*root.glob("usr/lib/*-linux-*"), *root.glob("lib/*-linux-*")]


def unresolved(libraries: Sequence[Path], root: Path, loader: Path | None = None) -> list[str]:
    """List what the dynamic linker cannot find for these libraries, given those of root.

    loader: the linker in root to ask, if root has another C library than the machine's.
    """
    path = ":".join(map(str, library_folders(root)))
    if loader is not None:
        command = [str(loader), "--library-path", path, "--list"]
        answers = [run([*command, str(library)]) for library in libraries]
    else:
        path = f"{path}:{os.environ.get('LD_LIBRARY_PATH', '')}".rstrip(":")
        answers = [run(["ldd", *map(str, libraries)], LD_LIBRARY_PATH=path)]
    return missing_libraries("".join(done.stdout + done.stderr for done in answers))
