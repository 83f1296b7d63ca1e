"""What is measured of an adapter, and that measuring again gives the same."""

from __future__ import annotations

import pytest

from tinygate.core.adapter import MeasuredNumerics
from tinygate.gate.products import Harness
from tinygate.gpu.probe import loop_limit, probe

FACTOR, ITERATIONS = 1664525, 70_000


@pytest.mark.parametrize(
    ("done", "limit"), [(70_000, None), (65_535, 65_535), (0, 0), (69_999, 69_999)]
)
def test_a_loop_limit_is_the_iterations_that_were_done(done: int, limit: int | None) -> None:
    assert loop_limit(done, pow(FACTOR, done, 1 << 32)) == limit


def test_a_count_that_the_work_does_not_bear_out_is_a_limit() -> None:
    assert loop_limit(ITERATIONS, pow(FACTOR, 100, 1 << 32)) == ITERATIONS - 1


def test_every_probe_measures_the_same(
    harness: Harness, measured_numerics: MeasuredNumerics
) -> None:
    """GpuOps compares what two processes measured."""
    for _ in range(5):
        again = probe(harness.runner)
        assert again == measured_numerics
        assert again.workgroup_memory_zeroed is measured_numerics.workgroup_memory_zeroed


def test_memory_that_was_dirty_by_chance_is_no_other_adapter() -> None:
    assert MeasuredNumerics() == MeasuredNumerics(workgroup_memory_zeroed=False)
    assert MeasuredNumerics() != MeasuredNumerics(loop_limit=65_535)
