"""Run the program: a command, and for any error a message and an exit code."""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from collections.abc import Sequence
from typing import TextIO

import typer

from tinygate.core.errors import ConfigError, TinygateError

# typer raises this for a command line it cannot parse, but exports only a subclass of it.
_BadCommandLine: type[Exception] = next(
    c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException"
)


def main() -> None:
    """Run the command line of this process, and exit."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # the parent closed it; the verdict still matters
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115
        elif isinstance(stream, io.TextIOWrapper):
            # An ASCII terminal shows '?' for other characters instead of ending the gate.
            stream.reconfigure(errors="replace")
    sys.exit(run(sys.argv[1:]))


def run(args: Sequence[str]) -> int:
    """Run a command line and return its exit code. Raises errors only with --debug."""
    debug = "--debug" in args
    try:
        code = _dispatch(list(args) or ["--help"])
        sys.stdout.flush()
        return code
    except _BadCommandLine as error:
        what, remedy = _sentence(error)
        _say(f"tinygate: {what}\nhint: {remedy or _help_for(args, what)}")
        return 2
    except (KeyboardInterrupt, typer.Abort):
        _say("tinygate: interrupted")
        return 130
    except BrokenPipeError:
        # The reader closed the pipe. As for a program that SIGPIPE ended, the exit code is never 0,
        # whatever the verdict would have been.
        _drop(sys.stdout, sys.stderr)
        return 141
    except Exception as error:
        if debug:
            raise
        return _report(error)


def _report(error: Exception) -> int:
    """Print an error and return its exit code."""
    if isinstance(error, TinygateError):
        _say(error.render())
        return error.exit_code
    if isinstance(error, OSError):
        _drop(sys.stdout)
        file = f"{error.filename}: " if error.filename else ""
        _say(
            f"tinygate: {file}{error.strerror or error}\n"
            "hint: is the disk full, or a file or folder missing?"
        )
        return 3
    _say(
        f"tinygate: internal error: {type(error).__name__}: {error}\n"
        "hint: this is a bug in tinygate; run with --debug and report the traceback"
    )
    return 3


def _dispatch(args: list[str]) -> int:
    from tinygate.cli.app import app

    known = _configured(args)
    if not {"--help", "--version"} & set(args) and "_TINYGATE_COMPLETE" not in os.environ:
        from tinygate.cli import provenance

        for warning in provenance.unknown(os.environ):
            sys.stderr.write(f"warning: {warning}\n")
    try:
        result = app(args, prog_name="tinygate", standalone_mode=False, default_map=known)
    except SystemExit as error:
        if isinstance(error.__context__, BrokenPipeError):  # typer turns it into exit code 1
            raise error.__context__ from None
        raise
    return result if isinstance(result, int) else 0


def _configured(args: Sequence[str]) -> dict[str, object]:
    """Load defaults from a configuration file; --help works even with a broken one."""
    from tinygate.cli.config import defaults

    try:
        return defaults()
    except ConfigError:
        if "--help" in args or "--version" in args:
            return {}
        raise


def _sentence(error: BaseException) -> tuple[str, str]:
    """Describe an error of typer's, and the remedy if the command line is not the cause."""
    text = str(getattr(error, "message", "") or error)
    formatted = getattr(error, "format_message", None)
    whole = str(formatted() if formatted else text).strip().rstrip(".")
    parameter, context = getattr(error, "param", None), getattr(error, "ctx", None)
    if parameter is None or context is None or not whole.startswith("Invalid value"):
        return whole, ""
    from tinygate.cli import provenance

    text = text.strip().rstrip(".").removeprefix("Value error, ")
    where = provenance.origin(context, parameter.name)
    if getattr(parameter, "is_flag", False):  # only a variable can give a flag a wrong value
        text = f"{os.environ.get(where, '')[:40]!r} is neither true nor false"
    if not where:
        return f"{max(parameter.opts, key=len)}: {text}", ""
    return f"{where}: {text}", provenance.remedy(where)


def _help_for(args: Sequence[str], what: str) -> str:
    from tinygate.cli.app import command_names

    command = next((arg for arg in args if arg in command_names()), None)
    if command == "verify" and "unexpected extra argument" in what:
        for arg in (arg for arg in args if arg in what):
            if arg.endswith(".toml"):
                return f"tinygate verify --path {arg}"
            if re.fullmatch(r"[0-9]+x[0-9]+x[0-9]+(:[A-Za-z0-9_.-]+)?", arg):
                return f"tinygate verify --shape {arg}"
    return f"tinygate {command} --help" if command else "tinygate --help"


def _say(text: str) -> None:
    with contextlib.suppress(OSError):  # stderr is closed, but the exit code still tells
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
        return
    _drop(sys.stderr)


def _drop(*streams: TextIO) -> None:
    """Discard unwritten output, so that Python does not complain about it again at exit."""
    for stream in streams:
        with contextlib.suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
