"""Pack and run the path under test: a kernel on the device, or a plug-in's Python callable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from tinygate.core.case import Case
from tinygate.core.errors import CannotVerifyError, TinygateError
from tinygate.core.text import shown
from tinygate.gate.products import Harness, Readback
from tinygate.gpu.guarded_buffer import GuardedBuffer
from tinygate.numerics.arrays import F32, Words, as_words
from tinygate.numerics.formats import FORMATS
from tinygate.paths.plugins import PythonPath, load_call


class Candidate(Protocol):
    """The path under test, which packs and runs the products of one case."""

    def pack(self, plain: GuardedBuffer | None, Bs: Sequence[F32]) -> Readback:
        """Store every B in the path's format and read it back; may free `plain`, the f32 buffer.

        Raises:
            PackingRefusedError: where a value is outside the format's range.
        """
        ...

    def run(
        self,
        a: GuardedBuffer,
        b: GuardedBuffer | None,
        c: GuardedBuffer,
        As: Sequence[F32],
        Bs: Sequence[F32],
        run: int,
        *,
        other_marker: bool = False,
    ) -> None:
        """Compute every C, as run number `run`, over that run's marker or over the other one."""
        ...

    def changed(
        self, a: GuardedBuffer, b: GuardedBuffer | None, a_words: list[Words], b_words: list[Words]
    ) -> set[str]:
        """Name the operands that no longer hold these words after the runs: "A", "B"."""
        ...


def candidate(harness: Harness, case: Case) -> Candidate:
    """Make the candidate for the case's path.

    Raises:
        CannotVerifyError: where the path is a plug-in's Python that cannot be loaded.
    """
    if case.path.call:
        return PythonCandidate(case, load_call(case.path))
    return KernelCandidate(harness, case)


class KernelCandidate:
    """A path whose kernel runs on the device."""

    def __init__(self, harness: Harness, case: Case) -> None:
        self._harness = harness
        self._case = case

    def pack(self, plain: GuardedBuffer | None, Bs: Sequence[F32]) -> Readback:
        """Pack every B with the path's packer and read it back."""
        return self._harness.pack(self._case.path, self._case.shape, plain, Bs)

    def run(
        self,
        a: GuardedBuffer,
        b: GuardedBuffer | None,
        c: GuardedBuffer,
        _As: Sequence[F32],
        _Bs: Sequence[F32],
        run: int,
        *,
        other_marker: bool = False,
    ) -> None:
        """Fill C with the run's marker, then dispatch the kernel once per product."""
        assert b is not None, "an unpacked B over the binding limit was refused by check_fits"
        path, shape = self._case.path, self._case.shape
        self._harness.run(path, shape, a, b, c, run, other_marker=other_marker)

    def changed(
        self, a: GuardedBuffer, b: GuardedBuffer | None, a_words: list[Words], b_words: list[Words]
    ) -> set[str]:
        """Compare the device's buffers, guard words included, with what was uploaded."""
        assert b is not None
        found = {"A"} if a.changed(a_words) else set()
        return found | ({"B"} if b.changed(b_words) else set())


class PythonCandidate:
    """A path whose callable is a plug-in's Python.

    Its results are uploaded as C, so that everything after the run is the same as for a kernel. It
    cannot reach guard words and markers.
    """

    def __init__(self, case: Case, python: PythonPath) -> None:
        self._case = case
        self._python = python
        self._changed: set[str] = set()

    def pack(self, plain: GuardedBuffer | None, Bs: Sequence[F32]) -> Readback:
        """Ask the plug-in what it stores for B; without an answer, take the nearest values.

        The nearest values are right wherever the format holds B exactly.
        """
        return Readback(plain, [self._held(B) for B in Bs], past=False)

    def run(
        self,
        _a: GuardedBuffer,
        _b: GuardedBuffer | None,
        c: GuardedBuffer,
        As: Sequence[F32],
        Bs: Sequence[F32],
        _run: int,
        *,
        other_marker: bool = False,  # noqa: ARG002
    ) -> None:
        """Call the plug-in once per product, each time with fresh copies of the operands."""
        c.fill([as_words(self._product(A, Bs[i % len(Bs)])) for i, A in enumerate(As)])

    def changed(
        self,
        _a: GuardedBuffer,
        _b: GuardedBuffer | None,
        _a_words: list[Words],
        _b_words: list[Words],
    ) -> set[str]:
        """Name the operands whose copies the plug-in changed."""
        return self._changed

    def _held(self, B: F32) -> Words:
        nearest = np.dtype("<f2" if FORMATS[self._case.path.b].packed else "<f4")
        if self._python.stored is None:
            with np.errstate(over="ignore"):
                return _words(B.astype(nearest))
        values = self._array("stored", self._call(self._python.stored, ("B", B)), B.shape)
        with np.errstate(over="ignore"):
            stored = values.astype(nearest)
        wrong = np.argwhere((stored != values) & ~(np.isnan(stored) & np.isnan(values)))
        if wrong.size:
            k, n = wrong[0]
            raise self._error(
                f"stored(B)[{k},{n}] is {values[k, n]:.9g}, which {self._case.path.b} does not have"
            )
        return _words(stored)

    def _product(self, A: F32, B: F32) -> F32:
        found = self._call(self._python.run, ("A", A), ("B", B))
        C: F32 = np.array(self._array("run", found, (A.shape[0], B.shape[1])), np.float32)
        return C

    def _call(self, function: Callable[..., Any], *operands: tuple[str, F32]) -> Any:
        copies = [operand.copy() for _, operand in operands]
        try:
            found = function(*copies)
        except TinygateError:
            raise
        except (Exception, SystemExit) as error:
            text = " ".join(shown(error, 300).split())
            raise self._error(f"it raised {type(error).__name__}: {text}") from error
        for (name, operand), copy in zip(operands, copies, strict=True):
            if not np.array_equal(as_words(operand), as_words(copy)):
                self._changed.add(name)
        return found

    def _array(self, what: str, found: Any, size: tuple[int, ...]) -> Any:
        if not isinstance(found, np.ndarray) or found.dtype not in (np.float32, np.float16):
            kind = f"an array of {found.dtype}" if isinstance(found, np.ndarray) else type(found)
            raise self._error(f"{what} gave {kind}, expected an array of float32 or float16")
        if found.shape != size:
            raise self._error(f"{what} gave shape {list(found.shape)}, expected {list(size)}")
        return found

    def _error(self, what: str) -> CannotVerifyError:
        return CannotVerifyError(f"{self._case.path.source}: {what}", "fix the plug-in")


def _words(values: Any) -> Words:
    """Encode float32 or float16 [K,N] as the words of its format, row by row."""
    if values.dtype.itemsize == 4:
        return as_words(np.ascontiguousarray(values))
    K, N = values.shape
    rows = np.zeros((K, N + N % 2), "<f2")
    rows[:, :N] = values
    return rows.view("<u4").reshape(-1).astype(np.uint32)
