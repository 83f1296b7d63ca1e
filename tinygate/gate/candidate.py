"""What is gated, behind one face: a kernel on the device, or a plug-in's Python in this process."""

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
    """Packs and runs the products of one case."""

    def pack(self, plain: GuardedBuffer | None, Bs: Sequence[F32]) -> Readback:
        """What every B is stored as; `plain` may be given back on the way.

        Raises:
            PackingRefusedError: where a value cannot be held.
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
    ) -> None:
        """Fill C afresh, run number `run`."""
        ...

    def changed(
        self, a: GuardedBuffer, b: GuardedBuffer | None, a_words: list[Words], b_words: list[Words]
    ) -> set[str]:
        """Which of A and B, that held these words, were changed by it."""
        ...


def candidate(harness: Harness, case: Case) -> Candidate:
    """The case's.

    Raises:
        CannotVerifyError: where it is a plug-in's Python that cannot be loaded.
    """
    if case.path.call:
        return PythonCandidate(case, load_call(case.path))
    return KernelCandidate(harness, case)


class KernelCandidate:
    """A kernel on the device."""

    def __init__(self, harness: Harness, case: Case) -> None:
        self._harness = harness
        self._case = case

    def pack(self, plain: GuardedBuffer | None, Bs: Sequence[F32]) -> Readback:
        """By the path's packer, read back."""
        return self._harness.pack(self._case.path, self._case.shape, plain, Bs)

    def run(
        self,
        a: GuardedBuffer,
        b: GuardedBuffer | None,
        c: GuardedBuffer,
        As: Sequence[F32],
        Bs: Sequence[F32],
        run: int,
    ) -> None:
        """From the run's marker, one dispatch per product."""
        assert b is not None, "an unpacked B over the binding limit was refused by check_fits"
        self._harness.run(self._case.path, self._case.shape, a, b, c, run)

    def changed(
        self, a: GuardedBuffer, b: GuardedBuffer | None, a_words: list[Words], b_words: list[Words]
    ) -> set[str]:
        """As the device's buffers tell, with what lies behind them."""
        assert b is not None
        found = {"A"} if a.changed(a_words) else set()
        return found | ({"B"} if b.changed(b_words) else set())


class PythonCandidate:
    """A plug-in's Python. What it returns goes where a kernel's output would be, so that everything
    after it is the same; guards and markers are not within its reach."""

    def __init__(self, case: Case, python: PythonPath) -> None:
        self._case = case
        self._python = python
        self._changed: set[str] = set()

    def pack(self, plain: GuardedBuffer | None, Bs: Sequence[F32]) -> Readback:
        """What the plug-in says B is held as; nearest values where it does not say, which are right
        wherever the format holds B exactly."""
        return Readback(plain, [self._held(B) for B in Bs], past=False)

    def run(
        self,
        a: GuardedBuffer,
        b: GuardedBuffer | None,
        c: GuardedBuffer,
        As: Sequence[F32],
        Bs: Sequence[F32],
        run: int,
    ) -> None:
        """One call per product, each with operands of its own."""
        c.fill([as_words(self._product(A, Bs[i % len(Bs)])) for i, A in enumerate(As)])

    def changed(
        self, a: GuardedBuffer, b: GuardedBuffer | None, a_words: list[Words], b_words: list[Words]
    ) -> set[str]:
        """As the copies it was given tell."""
        return self._changed

    def _held(self, B: F32) -> Words:
        nearest = np.dtype("<f2" if FORMATS[self._case.path.b].packed else "<f4")
        if self._python.stored is None:
            with np.errstate(over="ignore"):
                return _words(B.astype(nearest))
        values = self._array("stored", self._call(self._python.stored, ("B", B)), B.shape)
        with np.errstate(over="ignore"):
            held = values.astype(nearest)
        wrong = np.argwhere((held != values) & ~(np.isnan(held) & np.isnan(values)))
        if wrong.size:
            k, n = wrong[0]
            raise self._error(
                f"stored(B)[{k},{n}] is {values[k, n]:.9g}, which {self._case.path.b} does not have"
            )
        return _words(held)

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
        return CannotVerifyError(f"{self._case.path.source}: {what}", "mend the plug-in")


def _words(values: Any) -> Words:
    """float32 or float16 [K,N] as the words of their format, row by row."""
    if values.dtype.itemsize == 4:
        return as_words(np.ascontiguousarray(values))
    K, N = values.shape
    rows = np.zeros((K, N + N % 2), "<f2")
    rows[:, :N] = values
    return rows.view("<u4").reshape(-1).astype(np.uint32)
