"""What a wrong output depends on: what C held, and what lies behind A and B."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import faults
import numpy as np
import pytest
from runs import Run

from tinygate.core.fast_path import FastPath
from tinygate.core.shape import Shape
from tinygate.core.status import Status
from tinygate.gate.observations import OldC, RunObservations
from tinygate.gate.products import GUARD_WORDS, MARKERS, NAN_WORDS, marker
from tinygate.gate.reruns import old_c
from tinygate.numerics.arrays import Words

NAN, FINITE = MARKERS
# An output of 1.0, and one more than a multiple of the finite marker.
ONE, MORE = 0x3F800000, 0x3FE50D96


class Device:
    """A device whose C is what a table says, by the marker that C holds before."""

    def __init__(self, over: dict[int, list[list[int]]]) -> None:
        self.over = over
        self.runs = 0

    def words(self, number: int, *, other_marker: bool = False) -> Words:
        rows = self.over[marker(number, other=other_marker)]
        self.runs += 1
        return np.array([rows[min(self.runs // 2, len(rows) - 1)]], np.uint32)


def looked_for(device: Device, number: int = 0, first: list[int] | None = None) -> OldC | None:
    """What becomes of the marker in a run whose C the device has read already."""
    out = np.array([device.over[marker(number)][0]], np.uint32)
    before = None if first is None else np.array([first], np.uint32)
    return old_c(device.words, out, number, before, out.shape[1])


def test_words_are_what_they_are_for() -> None:
    assert len(set(GUARD_WORDS)) == len(set(NAN_WORDS)) == len(set(MARKERS)) == 2
    assert np.isnan(np.array(NAN_WORDS, np.uint32).view(np.float32)).all()
    assert np.isnan(np.array(NAN_WORDS, np.uint32).view(np.float16)).all()
    assert (marker(0), marker(1), marker(9)) == (NAN, FINITE, FINITE)
    assert (marker(0, other=True), marker(1, other=True)) == (FINITE, NAN)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_who_keeps_every_marker_was_never_written(number: int) -> None:
    found = looked_for(Device({NAN: [[ONE, NAN]], FINITE: [[ONE, FINITE]]}), number)
    assert found is not None
    assert found.kept.tolist() == [[False, True]]
    assert not found.read.any()


def test_an_output_that_equals_a_marker_was_written() -> None:
    found = looked_for(Device({NAN: [[ONE, FINITE]], FINITE: [[ONE, FINITE]]}), 1)
    assert found is not None
    assert not found.kept.any()
    assert not found.read.any()


@pytest.mark.parametrize(
    ("over_nan", "over_finite"), [(0x7FC00001, ONE), (NAN, ONE), (0x7FC00001, MORE), (ONE, MORE)]
)
@pytest.mark.parametrize("number", [0, 1])
def test_who_depends_on_the_marker_reads_c(over_nan: int, over_finite: int, number: int) -> None:
    device = Device({NAN: [[ONE, over_nan]], FINITE: [[ONE, over_finite]]})
    first = [ONE, over_nan] if number else None
    found = looked_for(device, number, first)
    if first is None and over_nan == ONE:  # the first run has nothing to be compared with
        assert found is None
        return
    assert found is not None
    assert found.read.tolist() == [[False, True]]
    assert not found.kept.any()


def test_a_nan_that_is_always_there_is_no_marker() -> None:
    found = looked_for(Device({NAN: [[ONE, 0x7FC00000]], FINITE: [[ONE, 0x7FC00000]]}))
    assert found is not None
    assert not (found.kept | found.read).any()


@pytest.mark.parametrize("number", [0, 1])
def test_a_race_is_not_blamed_on_the_marker(number: int) -> None:
    """What another run over the same marker does not repeat says nothing."""
    device = Device({NAN: [[0x7FC00001], [ONE]], FINITE: [[MORE], [ONE]]})
    found = looked_for(device, number, [ONE])
    assert found is not None
    assert not found.read.any()


@pytest.mark.parametrize("number", [0, 1])
def test_a_right_product_is_not_run_again(number: int) -> None:
    device = Device({NAN: [[ONE, MORE]], FINITE: [[ONE, MORE]]})
    assert looked_for(device, number, [ONE, MORE] if number else None) is None
    assert device.runs == 0


def test_one_reason_for_an_element_is_enough() -> None:
    seen = RunObservations(Shape(1, 1, 3))
    bits = np.array([[NAN, 0x7FC00001, 0x7FC00000]], np.uint32)
    kept, read = np.array([[True, False, False]]), np.array([[False, True, False]])
    seen.inspect(bits, np.zeros(2, np.uint32), 0, OldC(kept, read))
    assert (seen.written.first, seen.old_c.first, seen.finite.first) == ((0, 0), (0, 1), (0, 2))
    assert (seen.written.count, seen.old_c.count, seen.finite.count) == (1, 1, 1)


ALLOWED = "it is multiplied by zero"


@pytest.mark.parametrize("family", ["uniform", "integer", "identity"])
def test_an_allowed_over_read_is_a_warning(run: Run, family: str) -> None:
    path = replace(faults.fault("mask_multiply").path, over_read=ALLOWED)
    found = run(path, "17x33x65", family)
    assert found.status is Status.PASS, found.reason
    (warning,) = found.warnings
    assert warning.startswith("reads past B: NaN that lies behind reaches C; allowed, as declared")
    assert warning.endswith(ALLOWED)
    assert not run(path, "17x32x65", family).warnings


def test_what_is_allowed_must_be_harmless(run: Run) -> None:
    """A driver may give any word of the binding for one that is out of bounds."""
    path = replace(faults.fault("adds_past_b").path, over_read=ALLOWED)
    found = run(path, "17x33x65")
    assert found.status is Status.FAIL
    assert found.reason == "reads past B: what lies behind reaches C, finite values too"
    assert not found.warnings
    assert found.failure is not None
    assert found.failure.first == (0, 0)


def test_what_is_allowed_hides_nothing_else(run: Run) -> None:
    path = replace(faults.fault("drops_last_k").path, over_read=ALLOWED)
    assert run(path, "17x33x65").reason == run(replace(path, over_read=""), "17x33x65").reason


def changed(folder: Path, before: str, after: str) -> FastPath:
    """The plain right kernel, with one line changed."""
    path = faults.right("right_read_write").path
    text = Path(path.kernel).read_text(encoding="utf-8")
    assert before in text
    (folder / "k.wgsl").write_text(text.replace(before, after), encoding="utf-8")
    return replace(path, kernel=str(folder / "k.wgsl"))


STORE = "c[m * dims.N + n] = sum;"


def test_a_store_far_behind_c(run: Run, tmp_path: Path) -> None:
    """A driver drops it, and then nobody can see it, or moves it to the last word of the guard."""
    far = f"{STORE} c[dims.M * dims.N + 10000000u] = 5.0;"
    found = run(changed(tmp_path, STORE, far), "17x33x65")
    if found.status is not Status.PASS:
        assert found.reason == "wrote past the output: 1 word, first 320 past the end"


@pytest.mark.parametrize("operand", ["A", "B"])
@pytest.mark.parametrize("word", NAN_WORDS)
def test_a_store_of_what_lies_behind_an_operand(
    run: Run, tmp_path: Path, operand: str, word: int
) -> None:
    end = {"A": "a[dims.M * dims.K]", "B": "b[dims.K * dims.N]"}[operand]
    same = f"{STORE} {end} = bitcast<f32>({word}u - dims.pad);"
    found = run(changed(tmp_path, STORE, same), "17x33x65")
    assert found.status is Status.FAIL
    assert found.reason == f"changed an input: {operand}"


def test_an_over_read_says_where_it_shows(run: Run) -> None:
    found = run(faults.fault("reads_past_k").path, "17x33x65")
    assert found.reason == "reads past A: what lies behind reaches C"
    assert found.failure is not None
    assert found.failure.where == "row 16"
    assert (found.runs, found.failed) == (2, 2)
