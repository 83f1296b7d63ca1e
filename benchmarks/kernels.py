"""Measure how much faster the matrix kernels are than one output per thread (naive.wgsl).

    python benchmarks/kernels.py [--shape MxKxN ...] [--repeats N] [--json FILE]

Each iteration submits every kernel once, in turn, so that all of them meet the same load. A time is
the median of the wall time around `submit`, which waits; a ratio compares two medians of one run.
"B GB/s" counts the bytes of B as the path stores them, once.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from tinygate.core import adapter
from tinygate.core.engine import DEFAULT_ENGINE
from tinygate.core.fast_path import FastPath
from tinygate.core.kernel_abi import Entry
from tinygate.core.shape import Shape
from tinygate.gpu import engines
from tinygate.gpu.dispatch import Runner
from tinygate.gpu.engines.base import Binding, Device, Dispatch, Words
from tinygate.numerics.formats import FORMATS
from tinygate.paths.builtin import BUILTIN, REFERENCE

SHAPES = ("256x1024x1024", "1x1024x4096", "8x256x1024", "64x128x128")
NAIVE = FastPath(
    name="naive",
    pill="naive",
    kernel=str(Path(__file__).parent.resolve() / "naive.wgsl"),
    entries=(Entry("main", 8, 8),),
    why="the yardstick",
)
PATHS = (NAIVE, REFERENCE, next(path for path in BUILTIN if path.name == "f16-storage"))


@dataclass(frozen=True)
class Row:
    """One kernel on one shape; `first_ms` is its first run, with compilation by the driver."""

    shape: str
    path: str
    entry: str
    first_ms: float
    ms: float
    ratio: float
    gflops: float
    weights_gbs: float


def upload(device: Device, words: Words) -> Binding:
    """Upload words into a new storage buffer."""
    buffer = device.storage(words.nbytes)
    device.write(buffer, 0, words)
    return Binding(buffer, 0, words.nbytes)


def timed(device: Device, dispatch: Dispatch) -> float:
    """Return the wall time of one submission in ms."""
    began = time.perf_counter()
    device.submit([dispatch])
    return 1e3 * (time.perf_counter() - began)


def measure(runner: Runner, shape: Shape, repeats: int) -> list[Row]:
    """Measure every path on one shape, interleaved."""
    device, M, K, N = runner.device, shape.M, shape.K, shape.N
    rng = np.random.default_rng(1)
    A, B = (rng.uniform(-0.2, 0.2, size).astype(np.float32) for size in ((M, K), (K, N)))
    a, b = (upload(device, x.reshape(-1).view(np.uint32)) for x in (A, B))
    c = upload(device, np.zeros(M * N, np.uint32))
    first: list[float] = []
    dispatches: list[Dispatch] = []
    for path in PATHS:
        stored = b
        if path.pack:
            stored = upload(device, np.zeros(FORMATS[path.b].words(K, N), np.uint32))
            status = upload(device, np.array([0, 2**32 - 1], np.uint32))
            device.submit([runner.pack(path, K, N, b, stored, status)])
        began = time.perf_counter()
        dispatches.append(runner.matmul(path, shape, a, stored, c))
        device.submit([dispatches[-1]])
        first.append(1e3 * (time.perf_counter() - began))
    iterations = [[timed(device, dispatch) for dispatch in dispatches] for _ in range(repeats)]
    medians = [statistics.median(times) for times in zip(*iterations, strict=True)]
    return [
        Row(
            shape=str(shape),
            path=path.name,
            entry=path.entry(shape).name,
            first_ms=cold,
            ms=ms,
            ratio=medians[0] / ms,
            gflops=2e-6 * M * K * N / ms,
            weights_gbs=4e-6 * FORMATS[path.b].words(K, N) / ms,
        )
        for path, cold, ms in zip(PATHS, first, medians, strict=True)
    ]


def table(rows: Sequence[Row]) -> str:
    """Format the rows as text."""
    lines = ["shape            path         entry   first ms        ms   ratio   GFLOP/s  B GB/s"]
    lines += [
        f"{r.shape:<16} {r.path:<12} {r.entry:<7} {r.first_ms:>8.1f} {r.ms:>9.3f} {r.ratio:>7.2f}"
        f" {r.gflops:>9.2f} {r.weights_gbs:>7.2f}"
        for r in rows
    ]
    return "\n".join(lines)


def main() -> None:
    """Measure every shape, print the table, and write the JSON file."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shape", action="append", type=Shape.parse, metavar="MxKxN")
    parser.add_argument("--repeats", type=int, default=11)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    engine = engines.load(DEFAULT_ENGINE)
    info = adapter.choose(engine.adapters())
    device = engine.open(info.index, [])
    print(f"{info.name}, {info.driver}; {info.engine} {info.engine_version}")
    rows: list[Row] = []
    for shape in options.shape or [Shape.parse(text) for text in SHAPES]:
        rows += measure(Runner(device), shape, options.repeats)
    print(table(rows))
    if options.json:
        report = {
            "engine": f"{info.engine} {info.engine_version}",
            "adapter": info.name,
            "driver": info.driver,
            "repeats": options.repeats,
            "rows": [asdict(row) for row in rows],
        }
        options.json.write_text(json.dumps(report, indent=2) + "\n")
    device.close()


if __name__ == "__main__":
    main()
