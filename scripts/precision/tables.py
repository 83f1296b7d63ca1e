"""Make the tables of docs/precision.md from stored runs, declarations and fault headers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import faults
import numpy as np
from faults import Fault

from tinygate.core.family import DEFAULT_SEED
from tinygate.core.fast_path import FastPath
from tinygate.numerics.error_model import Predictor
from tinygate.numerics.inputs.random import stream, uniform
from tinygate.numerics.tolerance import Norm, conformance_tolerance, mean_rel_of_zero_mean
from tinygate.paths.builtin import BUILTIN

from .stored import Case, Platform, Stored, canonical, failing, most_used, share

NOT_MEASURED = "Not measured."
NOT_REGISTERED = "Not registered in this version, so nothing can activate it."
_ORDER = ("ERROR", "FAIL", "PASS", "SKIP")
_SIZES = re.compile(r"-\d+x\d+x\d+$")
MAX_SHAPES = 4


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Format a Markdown table; a `|` in a cell is escaped."""
    lines = ["| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads)]
    lines += ["| " + " | ".join(cell.replace("|", r"\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def regions(stored: list[Stored], paths: Sequence[FastPath] = BUILTIN) -> dict[str, str]:
    """Make the Markdown of each region of the page, by its name."""
    names = [path.name for path in paths]
    found = {
        "overview": overview(stored, names),
        "prediction": prediction(paths),
        "caught": caught(faults.faults()),
        "measured plug-ins": measured([s for s in stored if section(s.path) not in names]),
    }
    for path in paths:
        found[f"numerics {path.name}"] = numerics(path)
        found[f"measured {path.name}"] = measured(
            [s for s in stored if section(s.path) == path.name]
        )
    return found


def default_paths(paths: Sequence[FastPath]) -> str:
    """Write README's sentence about the paths that `verify` runs by default."""
    *names, last = [path.name for path in paths if not path.opt_in]
    listed = f"{', '.join(names)} and {last}" if names else last
    return (
        f"Without `--path`, every path that is not opt-in: {listed}. "
        "`tinygate paths` lists them all."
    )


def section(path: str) -> str:
    """Return the path whose section a measured path belongs to: its name without a matrix size."""
    return _SIZES.sub("", path)


def overview(stored: list[Stored], names: Sequence[str]) -> str:
    """List each path's states with their reasons and platforms."""
    rows: list[tuple[str, str, str]] = []
    for name in names:
        states: dict[str, list[str]] = {}
        for (platform, path), group in grouped(s for s in stored if section(s.path) == name):
            where = str(platform) + (f" ({path})" if path != name else "")
            states.setdefault(_state(group), []).append(where)
        rows += [(f"`{name}`", state, "<br>".join(where)) for state, where in states.items()]
        if not states:
            rows.append((f"`{name}`", "not measured", "—"))
    return table(("path", "state", "adapter, driver, engine"), rows)


def grouped(stored: Iterable[Stored]) -> list[tuple[tuple[Platform, str], list[Stored]]]:
    """Group runs by platform and path, in the order of their names."""
    found: dict[tuple[Platform, str], list[Stored]] = {}
    for one in stored:
        found.setdefault((one.platform, one.path), []).append(one)
    return sorted(found.items(), key=lambda item: item[0])


def _state(group: list[Stored]) -> str:
    """Combine the states of several runs, with the reason of the run that used most of a limit.

    Rejected in any run is rejected.
    """
    order = ("rejected", "unverified", "active", "unavailable")

    def rank(one: Stored) -> tuple[int, float]:
        position = order.index(one.state) if one.state in order else order.index("active")
        case = most_used(list(one.cases))
        return position, -share(case) if case else 0.0

    found = min(group, key=rank)
    if found.state == "active" or not found.reason:
        return found.state
    # The rows and columns are in the report itself.
    return f"{found.state}: {re.split(', (?:rows|columns) ', found.reason)[0]}"


def measured(stored: list[Stored]) -> str:
    """List what ran on each platform, the canonical case's numbers, and what failed."""
    if not stored:
        return NOT_MEASURED
    groups = grouped(stored)
    ran = [(key, group, _cases(group)) for key, group in groups]
    parts = [
        table(
            ("adapter, driver, engine", "date", "run", "verdict", "used of limit"), map(_ran, ran)
        )
    ]
    numbers = [_canonical(key, found) for key, _, cases in ran if (found := canonical(cases))]
    if numbers:
        heads = ("64x128x128 uniform", "max_abs", "mean_rel", "predicted", "ratio")
        parts.append(table(heads, numbers))
    if failed := [row for key, _, cases in ran for row in _failing(key, cases)]:
        parts.append(table(("FAILs on", "family", "by", "shapes"), failed))
    files = sorted({s.file for s in stored})
    parts.append("From " + ", ".join(f"`{file}`" for file in files) + ".")
    return "\n\n".join(parts)


def _cases(group: list[Stored]) -> list[Case]:
    return [case for one in group for case in one.cases]


def _where(key: tuple[Platform, str]) -> str:
    platform, path = key
    size = _SIZES.search(path)
    name = f" · {size.group()[1:]}" if size else ""
    return (
        f"{platform}{name}" if section(path) in {p.name for p in BUILTIN} else f"{path}: {platform}"
    )


def _ran(row: tuple[tuple[Platform, str], list[Stored], list[Case]]) -> tuple[str, ...]:
    key, group, cases = row
    judged = [case for case in cases if case.status != "SKIP"]
    shapes, families = {c.shape for c in judged}, {c.family for c in judged}
    run = (
        f"{len(shapes)} shape{'s' * (len(shapes) != 1)}, "
        f"{len(families)} famil{'y' if len(families) == 1 else 'ies'}"
        if judged
        else "nothing"
    )
    counts = Counter(case.status for case in cases)
    verdict = ", ".join(f"{counts[s]} {s}" for s in _ORDER if counts[s]) or _state(group)
    used = _used(found) if (found := most_used(judged)) else "—"
    return _where(key), max(s.day for s in group) or "—", run, verdict, used


def _used(case: Case) -> str:
    """Say how much of its limit a case used, by which check, and where."""
    used = share(case)
    text = f"{100 * used:.3g} %" if used < 10 else f"{used:.3g} times"
    check = f" ({case.check})" if case.check else ""
    return f"{text}{check} at {case.shape} {case.family}"


def _canonical(key: tuple[Platform, str], case: Case) -> tuple[str, ...]:
    predicted, ratio = "not stored", "—"
    if case.predicted and case.mean_rel is not None:
        predicted, ratio = _rel(case.predicted), f"{case.mean_rel / case.predicted:.2f}"
    max_abs = "—" if case.max_abs is None else f"{case.max_abs:.2e}"
    return _where(key), max_abs, _rel(case.mean_rel), predicted, ratio


def _rel(error: float | None) -> str:
    return "—" if error is None else f"{100 * error:.3g} %"


def _failing(key: tuple[Platform, str], cases: list[Case]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for (family, by), shapes in sorted(failing(cases).items()):
        unique = list(dict.fromkeys(shapes))
        more = len(unique) - MAX_SHAPES
        listed = ", ".join(unique[:MAX_SHAPES]) + (f" and {more} more" if more > 0 else "")
        rows.append((_where(key), family, by, listed))
    return rows


def numerics(path: FastPath) -> str:
    """List what a path declares, and its conformance limit at K = 128 and K = 4096."""
    declared = (
        f"storage: A {path.a}, B {path.b}; products {path.products}; "
        f"accumulate {path.accumulate}; output {path.output}"
    )
    rows = [
        ("declares", declared),
        ("requires", ", ".join(path.requires) or "nothing optional"),
        ("opt-in", "yes: runs only when named" if path.opt_in else "no"),
        ("falls back to", f"`{path.fallback}`"),
        ("safe to try because", path.why),
    ]
    norms: tuple[Norm, ...] = ("G", "abs")
    limits = {norm: [conformance_tolerance(path, K, norm) for K in (128, 4096)] for norm in norms}
    for small, large in {tuple(found): found for found in limits.values()}:
        tail = f" ({small.value:.2e} at K=128, {large.value:.2e} at K=4096"
        tail += f"; {small.relative:.2e} of |S|)" if small.relative else ")"
        why = small.why if small.why == large.why else f"{small.why}; {large.why}"
        rows.append(("limit", why + tail))
    return table(("", "value"), rows)


def prediction(paths: Sequence[FastPath]) -> str:
    """List the error that each path's declaration predicts on 64x128x128 uniform, seed 12345."""
    rng = stream(DEFAULT_SEED, 0)
    A = uniform(rng, 64, 128, -0.2, 0.2)
    B = uniform(rng, 128, 128, -0.2, 0.2)
    R = (A.astype(np.float64) @ B).astype(np.float32)
    rows = []
    for path in paths:
        predictor = Predictor(path, 128)
        predictor.add((A,), (B,), (R,))
        if found := predictor.result():
            closed = mean_rel_of_zero_mean(found.nmse)
            row = (f"{found.nmse:.2e}", _rel(closed), _rel(found.mean_rel), f"{found.max_abs:.2e}")
            rows.append((f"`{path.name}`", *row))
    heads = ("path", "NMSE", "mean_rel, closed form", "mean_rel, elementwise", "max_abs")
    return table(heads, rows)


def caught(found: Sequence[Fault]) -> str:
    """Count the faults of each declared format, and the checks that see them."""
    by: dict[str, list[Fault]] = {}
    for fault in found:
        by.setdefault(_format(fault.path), []).append(fault)
    rows = []
    for name, group in sorted(by.items()):
        checks = Counter(check for fault in group for check in checks_of(fault))
        ordered = sorted(checks.items(), key=lambda item: (-item[1], item[0]))
        listed = ", ".join(f"{check} {count}" for check, count in ordered)
        rows.append((name, str(len(group)), listed))
    return table(("declared", "faults", "faults that each check sees"), rows)


def checks_of(fault: Fault) -> set[str]:
    """Collect the checks that a fault's header names, in any family."""
    return {check for groups in fault.must_fail.values() for group in groups for check in group}


def _format(path: FastPath) -> str:
    parts = [f"A {path.a}"] if path.a != "f32" else []
    parts.append(f"B {path.b}")
    parts += [
        f"{key} {value}"
        for key in ("products", "accumulate", "output")
        if (value := getattr(path, key)) != "f32"
    ]
    return ", ".join(parts)
