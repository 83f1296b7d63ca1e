"""Run `tinygate probe`: list the adapters, the default one, and the paths it has features for."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass

import typer

from tinygate.cli import options, provenance
from tinygate.cli.lookup import load_paths, one_engine
from tinygate.core import adapter as adapters
from tinygate.core.adapter import AdapterInfo, AdapterLimits, MeasuredNumerics
from tinygate.core.fast_path import FastPath
from tinygate.core.text import clean
from tinygate.report.summary import subgroup, wgsl_promises
from tinygate.verification.plan import Plan
from tinygate.worker.supervisor import DEFAULT_TIMEOUT, Supervisor

SCHEMA_VERSION = 2


def probe(
    context: typer.Context,
    manifests: options.Manifests = None,
    engine: options.Engine = None,
    adapter: options.Adapter = None,
    as_json: options.Json = False,
    no_plugins: options.NoPlugins = False,
    debug: options.Debug = False,
) -> None:
    """List the adapters, the default one, and the paths that it can run.

    FILE.toml: manifests to include.

    Example: tinygate probe --json
    """
    registry = load_paths(no_plugins, manifests or ())
    chosen = provenance.read(context, "engine", one_engine, engine)
    with provenance.blamed(context, "adapter"):
        found = measure(chosen, adapter, registry.paths)
    sys.stdout.write(render_json(found) if as_json else render_text(found))


@dataclass(frozen=True)
class Probe:
    """The result of a probe; `numerics` were measured on the chosen adapter."""

    engine: str
    adapters: tuple[AdapterInfo, ...]
    chosen: AdapterInfo
    why: str
    notes: tuple[str, ...]
    numerics: MeasuredNumerics
    paths: tuple[FastPath, ...]

    def missing(self, path: FastPath) -> str:
        """Say which of a path's requirements the chosen adapter does not meet."""
        return path.missing_features(self.chosen)


def measure(engine: str, query: str | None, paths: tuple[FastPath, ...]) -> Probe:
    """List the engine's adapters, choose one, open it, and measure its numerics.

    Raises:
        NoAdapterError: there is no adapter.
        UnknownNameError: no adapter matches the query.
        DeviceError: the driver fails.
    """
    with Supervisor(query, Plan(paths, ()).features, DEFAULT_TIMEOUT) as worker:
        found = worker.adapters(engine).adapters
        chosen = adapters.choose(found, query, engine=engine)
        opened = worker.open(engine)
    return Probe(
        engine=engine,
        adapters=found,
        chosen=chosen,
        why=adapters.reason(chosen, found, query),
        notes=adapters.notes(found, chosen),
        numerics=opened.numerics,
        paths=paths,
    )


def render_json(probe: Probe) -> str:
    """Write the probe as JSON; numbers are bytes or counts."""
    return (
        json.dumps(
            {
                "schema_version": SCHEMA_VERSION,
                "engine": probe.engine,
                "engine_version": probe.chosen.engine_version,
                "adapters": [asdict(adapter) for adapter in probe.adapters],
                "chosen": probe.chosen.index,
                "why": probe.why,
                "notes": probe.notes,
                "numerics": asdict(probe.numerics),
                "paths": [
                    {
                        "path": path.name,
                        "pill": path.pill,
                        "detected": not probe.missing(path),
                        "missing": probe.missing(path) or None,
                        "requires": path.requires,
                        "source": path.source,
                    }
                    for path in probe.paths
                ],
            },
            indent=2,
        )
        + "\n"
    )


def render_text(probe: Probe) -> str:
    """Write the probe as text: the adapters with `*` at the chosen one, then the paths on it."""
    lines = [f"engine {probe.engine} {probe.chosen.engine_version}"]
    for adapter in probe.adapters:
        chosen = adapter.index == probe.chosen.index
        lines += _adapter(adapter, probe.numerics if chosen else None)
    lines.append(f"default adapter: {probe.chosen.index} ({probe.why})")
    lines += [f"note: {note}" for note in probe.notes]
    lines.append("")
    width = max(len(path.name) for path in probe.paths)
    for path in probe.paths:
        missing = probe.missing(path)
        found = f"unavailable: {missing}" if missing else "detected, not yet verified"
        lines.append(f"{path.name:{width}}  {found} · {path.source}")
    lines.append("Detected is not verified: run `tinygate verify`.")
    return "".join(f"{clean(line)}\n" for line in lines)


def _adapter(adapter: AdapterInfo, numerics: MeasuredNumerics | None) -> list[str]:
    mark = "*" if numerics else " "
    rounding, promises = [], []
    if numerics:
        rounding = [
            f"f32 sums {_rounding(numerics.f32_round_to_nearest)}",
            f"f16 conversion {_rounding(numerics.f16_round_to_nearest)}",
            f"f16 subnormals {'kept' if numerics.f16_subnormals else 'flushed'}",
        ]
        promises = wgsl_promises(numerics)
    rows = [
        [adapter.kind, adapter.backend, adapter.driver, subgroup(adapter, numerics)],
        [f"features: {', '.join(adapter.features) or 'none'}"],
        [f"limits: {_limits(adapter.limits)}"],
        rounding,
        promises,
    ]
    return [f"{mark} {adapter.index}  {adapter.name}"] + [
        f"     {' · '.join(part for part in row if part)}" for row in rows if row
    ]


def _rounding(nearest: bool) -> str:
    return "to nearest" if nearest else "not to nearest"


def _limits(limits: AdapterLimits) -> str:
    return (
        f"binding {_size(limits.max_storage_buffer_binding_size)}, "
        f"buffer {_size(limits.max_buffer_size)}, "
        f"workgroups {limits.max_compute_workgroups_per_dimension} per dimension, "
        f"invocations {limits.max_compute_invocations_per_workgroup}, "
        f"workgroup memory {_size(limits.max_compute_workgroup_storage_size)}"
    )


def _size(nbytes: int) -> str:
    """Format a size as `128 MiB`, in the largest unit that fits."""
    for unit, shift in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if nbytes >> shift:
            return f"{nbytes / (1 << shift):.3g} {unit}"
    return f"{nbytes} B"
