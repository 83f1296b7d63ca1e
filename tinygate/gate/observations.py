"""What one run of a case has shown, product by product. Gathers and merges; gate.py judges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tinygate.core.case import Case
from tinygate.core.family import FAMILIES
from tinygate.core.shape import Shape
from tinygate.gate.products import marker
from tinygate.gpu.guarded_buffer import GuardedBuffer
from tinygate.numerics import compare, diagnosis, error_parts
from tinygate.numerics.arrays import F32, F64, Values, Words
from tinygate.numerics.compare import Deviation, Region
from tinygate.numerics.diagnosis import Cause
from tinygate.numerics.tolerance import Tolerance, exact_tolerance


@dataclass(frozen=True)
class Products:
    """One batch: the operands, what the path holds of them, and R where the family has one. Bs and
    held_b repeat where there are more As."""

    As: Sequence[F32]
    Bs: Sequence[F32]
    stored_a: Sequence[Values]
    stored_b: Sequence[Values]
    Rs: Sequence[F32]


@dataclass(frozen=True)
class Sample:
    """One product of the case, kept so that a failure can be saved and shown: the first that is
    wrong by itself, else the first. `limit` is what it was held against."""

    A: F32
    B: F32
    stored_a: Values
    stored_b: Values
    C: F32
    R: F32 | None
    wrong: bool
    limit: Tolerance


@dataclass
class RunObservations:
    """Of one run, over one batch of products or over all of them.

    written     elements that still hold the marker
    finite      outputs that are NaN or infinite
    differs     bits unlike the first run's
    wrong       unequal to the one right answer of an exact family
    past        words behind C that changed: (how many, the first one's distance from C's end)
    deviation   from the float64 product of the stored operands
    cause       of a deviation over the limit, where the numbers show one
    energies    of a quantized path's errors (errorparts.py), by the first run
    """

    shape: Shape
    written: Region = field(init=False)
    finite: Region = field(init=False)
    differs: Region = field(init=False)
    wrong: Region = field(init=False)
    past: tuple[int, int] | None = None
    deviation: Deviation | None = None
    cause: Cause | None = None
    outputs: list[F32] = field(default_factory=list)
    sample: Sample | None = None
    energies: F64 = field(default_factory=lambda: np.zeros(4))

    def __post_init__(self) -> None:
        size = (self.shape.M, self.shape.N)
        self.written, self.finite, self.differs, self.wrong = (Region(size) for _ in range(4))

    def merge(self, more: RunObservations) -> None:
        """Take in what another batch of the same run has shown."""
        for name in ("written", "finite", "differs", "wrong"):
            getattr(self, name).merge(getattr(more, name))
        self.past = self.past or more.past
        self.cause = self.cause or more.cause
        if more.deviation is not None:
            self.deviation = compare.worse(self.deviation, more.deviation)
        self.outputs += more.outputs
        self.energies = self.energies + more.energies
        if self.sample is None or (more.sample and more.sample.wrong and not self.sample.wrong):
            self.sample = more.sample

    def inspect(self, bits: Words, guard: Words, guard_word: int, run: int) -> None:
        """What can be said of C[M,N] without knowing what it should be."""
        unwritten = compare.region(bits, marker(run))
        self.written.merge(unwritten)
        if not unwritten.count:  # the marker is a NaN too: named once is enough
            self.finite.merge(compare.region(bits))
        stray = np.flatnonzero(guard != guard_word)
        if stray.size and self.past is None:
            self.past = (int(stray.size), int(stray[0]))

    def measure(self, case: Case, C: F32, A: Values, B: Values, limit: Tolerance) -> None:
        """C against what the stored operands make of these inputs, within the path's limit."""
        family = FAMILIES[case.family]
        if family.exact:
            self.wrong.merge(unequal(case, C, A, B))
            return
        self.outputs.append(C)
        if not case.path.readback:
            return
        found = compare.deviation(C, A, B, limit)
        if not self.cause and (found.worst > 1.0 or self.finite.count):
            self.cause = diagnosis.cause(case.family, C, A, B, limit)
        self.deviation = compare.worse(self.deviation, found)

    @property
    def bad(self) -> bool:
        """Whether these products are wrong by themselves, whatever the pooled metrics say."""
        over = self.deviation is not None and self.deviation.worst > 1.0
        found = self.written.count + self.finite.count + self.wrong.count
        return over or bool(found) or self.past is not None


def unequal(case: Case, C: F32, A: Values, B: Values) -> Region:
    """Where C is not the one right answer of an exact family."""
    limit = exact_tolerance(case.path, FAMILIES[case.family], case.shape.K)
    if limit is None:
        return compare.unequal_to_product(C, A, B)
    return compare.deviation(C, A, B, limit).over


def observe_run(
    case: Case,
    run: int,
    out: Words,
    c: GuardedBuffer,
    products: Products,
    limit: Tolerance,
) -> RunObservations:
    """Everything one run of a batch shows; `limit` is the conformance check's."""
    total = RunObservations(case.shape)
    size = (case.shape.M, case.shape.N)
    Bs, Rs = products.Bs, products.Rs
    for i, (row, A, stored_a) in enumerate(zip(out, products.As, products.stored_a, strict=True)):
        B, stored_b = Bs[i % len(Bs)], products.stored_b[i % len(Bs)]
        bits = row[: c.data].reshape(size)
        C = bits.view(np.float32)
        one = RunObservations(case.shape)
        one.inspect(bits, row[c.data : c.data + c.guard], int(c.guard_word), run)
        one.measure(case, C, stored_a, stored_b, limit)
        if run == 0 and case.path.quantized and not FAMILIES[case.family].exact:
            one.energies = error_parts.energies(C, A, B, stored_a, stored_b)
        R = Rs[i] if Rs else None
        one.sample = Sample(A, B, stored_a, stored_b, C, R, one.bad, limit)
        total.merge(one)
    return total


def differing(out: Words, first: Words, c: GuardedBuffer, run: int, shape: Shape) -> Region:
    """Where a run's bits differ from the first one's. What neither wrote holds two markers and is
    no difference."""
    found = Region((shape.M, shape.N))
    for row, before in zip(out, first, strict=True):
        bits, old = row[: c.data], before[: c.data]
        untouched = (bits == marker(run)) & (old == marker(0))
        bits = np.where(untouched, old, bits)
        found.merge(compare.differing(bits.reshape(shape.M, -1), old.reshape(shape.M, -1)))
    return found
