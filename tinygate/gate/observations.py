"""Gather what each run of a case shows, product by product; case_run.py applies the checks."""

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
from tinygate.numerics.compare import Deviation, Mask, Region
from tinygate.numerics.diagnosis import Cause
from tinygate.numerics.tolerance import Tolerance, exact_tolerance


@dataclass(frozen=True)
class Products:
    """The products of one pass: operands, stored operands, and R where the family has one.

    Bs and stored_b are used in turn where there are more As.
    """

    As: Sequence[F32]
    Bs: Sequence[F32]
    stored_a: Sequence[Values]
    stored_b: Sequence[Values]
    Rs: Sequence[F32]


@dataclass(frozen=True)
class Sample:
    """One product of the case, kept so that a failure can be saved and shown.

    It is the first product that is wrong by itself, else the first. `limit` is its conformance
    limit.
    """

    A: F32
    B: F32
    stored_a: Values
    stored_b: Values
    C: F32
    R: F32 | None
    wrong: bool
    limit: Tolerance


@dataclass(frozen=True)
class OldC:
    """What the marker that C held before the run did: masks over [count, M·N].

    kept   elements that hold the run's own marker, and another run's marker in that run
    read   elements that another marker changes
    """

    kept: Mask
    read: Mask


@dataclass(frozen=True)
class OverRead:
    """Products that are wrong over NaN behind A and B, and right over zeros.

    operands   behind which of them NaN makes the products wrong: "A", "B"
    harmless   what is finite behind them changes no bit of C
    """

    operands: tuple[str, ...]
    harmless: bool


@dataclass
class RunObservations:
    """The observations of one run, over some of its products or over all.

    written     elements that still hold the marker
    old_c       elements that depend on what C held before
    finite      outputs that are NaN or infinite
    differs     bits unlike the first run's, for another reason than what C held before
    wrong       unequal to the one right answer of an exact family
    past        words behind C that changed: (how many, the first one's distance from C's end)
    deviation   from the float64 product of the stored operands
    cause       of a deviation over the limit, where the numbers show one
    outputs     every C, for the metrics
    over_read   of products that are right over zeros behind A and B, the observations over NaN
    sample      the product that is saved and shown on a FAIL
    energies    sums of a quantized path's squared errors (error_parts.py), of the first run
    """

    shape: Shape
    written: Region = field(init=False)
    old_c: Region = field(init=False)
    finite: Region = field(init=False)
    differs: Region = field(init=False)
    wrong: Region = field(init=False)
    past: tuple[int, int] | None = None
    deviation: Deviation | None = None
    cause: Cause | None = None
    outputs: list[F32] = field(default_factory=list)
    over_read: RunObservations | None = None
    sample: Sample | None = None
    energies: F64 = field(default_factory=lambda: np.zeros(4))

    def __post_init__(self) -> None:
        size = (self.shape.M, self.shape.N)
        self.written, self.old_c, self.finite = (Region(size) for _ in range(3))
        self.differs, self.wrong = Region(size), Region(size)

    def merge(self, more: RunObservations) -> None:
        """Add the observations of other products of the same run."""
        for name in ("written", "old_c", "finite", "differs", "wrong"):
            getattr(self, name).merge(getattr(more, name))
        self.past = self.past or more.past
        self.cause = self.cause or more.cause
        self.over_read = self.over_read or more.over_read
        if more.deviation is not None:
            self.deviation = compare.worse(self.deviation, more.deviation)
        self.outputs += more.outputs
        self.energies = self.energies + more.energies
        if self.sample is None or (more.sample and more.sample.wrong and not self.sample.wrong):
            self.sample = more.sample

    def inspect(self, bits: Words, guard: Words, guard_word: int, old: OldC | None = None) -> None:
        """Look for non-finite values in C[M,N] and for changed guard words.

        old: the masks of this product alone. One reason is enough: an element that nobody wrote, or
        that a NaN in the old C has reached, does not count as non-finite too.
        """
        if old is not None:
            kept, read = old.kept.reshape(bits.shape), old.read.reshape(bits.shape)
            self.written.add(kept)
            self.old_c.add(read)
            bits = np.where(kept | read, np.uint32(0), bits)
        self.finite.merge(compare.region(bits))
        stray = np.flatnonzero(guard != guard_word)
        if stray.size and self.past is None:
            self.past = (int(stray.size), int(stray[0]))

    def measure(self, case: Case, C: F32, A: Values, B: Values, limit: Tolerance) -> None:
        """Compare C with the product of the stored operands, within the path's limit."""
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
        """Tell whether these products are wrong by themselves, whatever the pooled metrics say."""
        over = self.deviation is not None and self.deviation.worst > 1.0
        found = self.written.count + self.old_c.count + self.finite.count + self.wrong.count
        return over or bool(found) or self.past is not None


def unequal(case: Case, C: F32, A: Values, B: Values) -> Region:
    """Find where C is not the one right answer of an exact family."""
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
    old: OldC | None = None,
) -> RunObservations:
    """Observe one run of some products; `limit` is the conformance check's.

    old: what the marker did, where that was looked for.
    """
    total = RunObservations(case.shape)
    size = (case.shape.M, case.shape.N)
    Bs, Rs = products.Bs, products.Rs
    for i, (row, A, stored_a) in enumerate(zip(out, products.As, products.stored_a, strict=True)):
        B, stored_b = Bs[i % len(Bs)], products.stored_b[i % len(Bs)]
        bits = row[: c.data].reshape(size)
        C = bits.view(np.float32)
        one = RunObservations(case.shape)
        masks = old and OldC(old.kept[i], old.read[i])
        one.inspect(bits, row[c.data : c.data + c.guard], int(c.guard_word), masks)
        one.measure(case, C, stored_a, stored_b, limit)
        if run == 0 and case.path.quantized and not FAMILIES[case.family].exact:
            one.energies = error_parts.energies(C, A, B, stored_a, stored_b)
        R = Rs[i] if Rs else None
        one.sample = Sample(A, B, stored_a, stored_b, C, R, one.bad, limit)
        total.merge(one)
    return total


def differing(out: Words, first: Words, c: GuardedBuffer, shape: Shape, old: OldC | None) -> Region:
    """Find where a run's bits differ from the first run's.

    Not where the run shows why: an element that depends on what C held, or that neither run wrote.
    """
    found = Region((shape.M, shape.N))
    for i, (row, before) in enumerate(zip(out, first, strict=True)):
        bits, was = row[: c.data], before[: c.data]
        if old is not None:
            explained = old.read[i] | (old.kept[i] & (was == marker(0)))
            bits = np.where(explained, was, bits)
        found.merge(compare.differing(bits.reshape(shape.M, -1), was.reshape(shape.M, -1)))
    return found
