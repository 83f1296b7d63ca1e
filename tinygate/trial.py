"""One case on an open device: draw inputs, run reference and candidate, compare, judge."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tinygate import compare, gate
from tinygate.arena import Arena
from tinygate.cases import Case
from tinygate.compare import Deviation, Region
from tinygate.engines.base import Words
from tinygate.errors import InputError, PackingRefusedError, TinygateError
from tinygate.families import FAMILIES
from tinygate.formats import F32, FORMATS, Values
from tinygate.harness import Halves, Harness, Stored, marker
from tinygate.inputs import Weights, generate, pooled_products
from tinygate.kernels import check_fits
from tinygate.machine import check_memory
from tinygate.precision import conformance_limit, reference_limit
from tinygate.results import AdapterTraits, CaseResult, Check, Metrics, Status
from tinygate.shapes import Shape

# Small products share an arena up to this many bytes; a larger one has its own.
_BATCH_BYTES = 16 << 20


@dataclass
class Facts:
    """What was found in one run, over one batch of products or over all of them."""

    shape: Shape
    written: Region = field(init=False)
    finite: Region = field(init=False)
    differs: Region = field(init=False)
    wrong: Region = field(init=False)
    past: tuple[int, int] | None = None
    deviation: Deviation | None = None
    outputs: list[F32] = field(default_factory=list)

    def __post_init__(self) -> None:
        size = (self.shape.M, self.shape.N)
        self.written, self.finite, self.differs, self.wrong = (Region(size) for _ in range(4))

    def absorb(self, more: Facts) -> None:
        """Take in what another batch of the same run has shown."""
        for name in ("written", "finite", "differs", "wrong"):
            getattr(self, name).merge(getattr(more, name))
        self.past = self.past or more.past
        if more.deviation is not None:
            self.deviation = compare.worse(self.deviation, more.deviation)
        self.outputs += more.outputs


class Trial:
    """Runs one case. Everything it learns ends up in `facts` (one per run) or `checks`."""

    def __init__(self, harness: Harness, traits: AdapterTraits, case: Case) -> None:
        self.harness = harness
        self.traits = traits
        self.case = case
        self.family = FAMILIES[case.family]
        self.facts = [Facts(case.shape) for _ in range(max(2, case.repeat))]
        self.references: list[F32] = []
        self.changed: set[str] = set()
        self.packing: compare.Packing | None = None
        self.trust: Deviation | None = None
        self.products = 0

    def run(self) -> CaseResult:
        """Run every product of the case and judge it.

        Raises:
            TinygateError: where it could not be verified.
        """
        case = self.case
        if reason := case.path.misfit(case.shape):
            return replace(case.blank(), status=Status.SKIP, reason=reason)
        check_fits(case.path, case.shape, self.harness.device.info.limits)
        check_memory(case.shape)
        for batch in _batches(generate(case.family, case.shape, case.path, case.seed), case.shape):
            try:
                self._batch(batch)
            except PackingRefusedError as error:
                return self._refused(error)
        return self._judge()

    def _batch(self, batch: list[Weights]) -> None:
        """Pack these weights once, then run every round of activations over them."""
        case, harness = self.case, self.harness
        Bs = [weights.B for weights in batch]
        check_inputs("B", Bs)
        plain = harness.weights(Bs)
        packed = FORMATS[case.path.b].name != "f32"
        stored: Stored | None = None
        for As in _rounds(batch):
            check_inputs("A", As)
            a = harness.activations(As)
            if not self.family.exact:
                self._reference(harness.reference(case.shape, a, plain, Bs), As, Bs)
            if packed and stored is None:
                stored = harness.pack(case.path, case.shape, plain, Bs)
                self._check_packing(stored, Bs)
            b = stored.arena if stored else plain
            assert b is not None, "an unpacked B over the binding limit was refused by check_fits"
            words = stored.words if stored else [B.reshape(-1).view(np.uint32) for B in Bs]
            self._candidate(a, b, words, As)
            a.destroy()
        if stored:
            stored.arena.destroy()
        elif plain is not None:
            plain.destroy()

    def _reference(self, Rs: list[F32], As: Sequence[F32], Bs: Sequence[F32]) -> None:
        limit = reference_limit(
            self.case.shape.K, round_to_nearest=self.traits.f32_round_to_nearest
        )
        for R, A, B in zip(Rs, As, itertools.cycle(Bs), strict=False):
            bad = compare.region(R.view(np.uint32))
            if bad.count:
                raise InputError(
                    f"reference untrusted: {bad.count} non-finite at {list(bad.first or ())}",
                    "the inputs overflow f32 on this adapter, or its f32 kernel is wrong",
                )
            self.trust = compare.worse(self.trust, compare.deviation(R, A, B, limit))
        self.references += Rs

    def _check_packing(self, stored: Stored, Bs: Sequence[F32]) -> None:
        storage = FORMATS[self.case.path.b]
        convert = self.harness.own_conversion
        # Many small products are converted in one dispatch, a large one block by block.
        batch = convert(np.concatenate(Bs)) if len(Bs) > 1 else None
        for i, (words, B) in enumerate(zip(stored.words, Bs, strict=True)):

            def own(rows: slice, B: F32 = B, first: int = i * self.case.shape.K) -> Halves:
                if batch is None:
                    return convert(B[rows])
                return batch[first + rows.start : first + rows.stop]

            found = compare.packing(storage, words, B, own)
            if self.packing is None or (found.region.count or found.padding):
                self.packing = found

    def _candidate(self, a: Arena, b: Arena, words: list[Words], As: Sequence[F32]) -> None:
        """Run the path as often as asked, from a fresh marker each time."""
        case, N = self.case, self.case.shape.N
        storage = FORMATS[case.path.b]
        held = [storage.decode(row, N) for row in words]
        c = self.harness.outputs(len(As), case.shape)
        first: tuple[Words, Facts] | None = None
        for number, facts in enumerate(self.facts):
            self.harness.run(case.path, case.shape, a, b, c, number)
            if first is not None and c.equals(first[0]):
                facts.absorb(first[1])
                continue
            out = c.read()
            found = Facts(case.shape)
            self._inspect(found, out, c, number)
            self._measure(found, out, As, held)
            facts.absorb(found)
            if first is None:
                first = (out, found)
            else:
                self._compare_runs(facts, out, first[0], c, number)
        if a.changed([A.reshape(-1).view(np.uint32) for A in As]):
            self.changed.add("A")
        if b.changed(words):
            self.changed.add("B")
        c.destroy()
        self.products += len(As)

    def _inspect(self, facts: Facts, out: Words, c: Arena, number: int) -> None:
        """What can be said without knowing what C should be."""
        for row in out:
            bits = row[: c.payload].reshape(self.case.shape.M, self.case.shape.N)
            unwritten = compare.region(bits, marker(number))
            facts.written.merge(unwritten)
            if not unwritten.count:  # the marker is a NaN too: named once is enough
                facts.finite.merge(compare.region(bits))
            stray = np.flatnonzero(row[c.payload : c.payload + c.tail] != c.behind)
            if stray.size and facts.past is None:
                facts.past = (int(stray.size), int(stray[0]))

    def _compare_runs(self, facts: Facts, out: Words, first: Words, c: Arena, number: int) -> None:
        """Where a run's bits differ from the first one's. What neither wrote holds two markers and
        is no difference."""
        for row, before in zip(out, first, strict=True):
            bits, old = row[: c.payload], before[: c.payload]
            untouched = (bits == marker(number)) & (old == marker(0))
            bits = np.where(untouched, old, bits)
            size = (self.case.shape.M, self.case.shape.N)
            facts.differs.merge(compare.differing(bits.reshape(size), old.reshape(size)))

    def _measure(self, facts: Facts, out: Words, As: Sequence[F32], held: Sequence[Values]) -> None:
        """C against what the stored operands make of these inputs."""
        case = self.case
        M, K, N = case.shape.M, case.shape.K, case.shape.N
        limit = conformance_limit(case.path, K, self.family.norm)
        for row, A, B in zip(out, As, itertools.cycle(held), strict=False):
            C = row[: M * N].view(np.float32).reshape(M, N)
            if self.family.exact == "product":
                facts.wrong.merge(compare.unequal_to_product(C, A, B))
            elif self.family.exact == "stored":
                facts.wrong.merge(compare.unequal_to_rows(C, A, B))
            else:
                facts.deviation = compare.worse(facts.deviation, compare.deviation(C, A, B, limit))
                facts.outputs.append(C)

    def _judge(self) -> CaseResult:
        """The verdict: of every run the same checks, the worst run deciding."""
        shared = self._shared_checks()
        judged = [(*shared, *self._run_checks(facts)) for facts in self.facts]
        decided = [gate.decide(checks) for checks in judged]
        failed = sum(status is Status.FAIL for status, _ in decided)
        worst = next((i for i, (status, _) in enumerate(decided) if status is not Status.PASS), 0)
        status, reason = decided[worst]
        exact = None
        if self.family.exact:
            size = self.case.shape.M * self.case.shape.N * self.products
            exact = (self.facts[worst].wrong.count, size)
        return replace(
            self.case.blank(),
            status=status,
            reason=reason,
            metrics=self._metrics(self.facts[worst]),
            exact=exact,
            checks=tuple(judged[worst]),
            runs=len(self.facts),
            failed=failed,
            pooled=pooled_products(self.case.shape) if not self.family.exact else 1,
        )

    def _shared_checks(self) -> tuple[Check, ...]:
        """What does not depend on the run."""
        checks = [gate.inputs_kept(sorted(self.changed))]
        if self.trust is not None:
            limit = reference_limit(
                self.case.shape.K, round_to_nearest=self.traits.f32_round_to_nearest
            )
            checks.append(gate.reference(self.trust, limit))
        if self.packing is not None:
            checks.append(gate.packing(self.packing))
        return tuple(checks)

    def _run_checks(self, facts: Facts) -> Iterator[Check]:
        yield gate.written(facts.written)
        yield gate.guard(facts.past)
        yield gate.finite(facts.finite)
        if self.case.path.deterministic:
            yield gate.deterministic(facts.differs)
        if self.family.exact:
            yield gate.exact(facts.wrong)
            return
        metrics = self._metrics(facts)
        assert metrics is not None
        if metrics.mean_ref == 0:
            yield gate.zero_rule(compare.over(facts.outputs, self.references, 0.0, strict=True))
        else:
            outside = compare.over(facts.outputs, self.references, metrics.max_abs_limit)
            yield from gate.activation(metrics, outside)
        if facts.deviation is not None:
            limit = conformance_limit(self.case.path, self.case.shape.K, self.family.norm)
            yield gate.conformance(facts.deviation, limit)

    def _metrics(self, facts: Facts) -> Metrics | None:
        if self.family.exact:
            return None
        return compare.metrics(facts.outputs, self.references)

    def _refused(self, error: PackingRefusedError) -> CaseResult:
        """A packer that refuses values which fit its format is wrong."""
        check = Check("packing", Status.FAIL, f"packing {error.message}, yet every value fits")
        return replace(
            self.case.blank(),
            status=check.status,
            reason=check.reason,
            checks=(check,),
            hint=error.hint,
            runs=1,
            failed=1,
        )


def check_inputs(name: str, arrays: Iterable[F32]) -> None:
    """Raise InputError where an operand holds NaN or infinity.

    R and F would both be NaN there, and NaN beside NaN proves nothing.
    """
    for array in arrays:
        bad = compare.region(array.view(np.uint32))
        if bad.first is not None:
            raise InputError(
                f"inputs: {bad.count} non-finite in {name}, first at "
                f"[{bad.first[0]},{bad.first[1]}]",
                "the gate compares finite inputs only; clean them first",
            )


def run_case(harness: Harness, traits: AdapterTraits, case: Case) -> CaseResult:
    """Run one case; what goes wrong becomes the case's ERROR, so that the rest still runs."""
    try:
        return Trial(harness, traits, case).run()
    except TinygateError as error:
        return replace(case.blank(), reason=error.message, hint=error.hint)


def _batches(source: Iterator[Weights], shape: Shape) -> Iterator[list[Weights]]:
    """Weights in groups small enough to share an arena."""
    size = 4 * (shape.M * shape.K + shape.K * shape.N + shape.M * shape.N)
    while batch := list(itertools.islice(source, max(1, _BATCH_BYTES // size))):
        yield batch


def _rounds(batch: list[Weights]) -> Iterator[list[F32]]:
    """Activations to run at once: one per weights, or, of a single B's many, as many as fit."""
    if len(batch) > 1:
        for together in zip(*(weights.activations() for weights in batch), strict=True):
            yield list(together)
        return
    source = batch[0].activations()
    first = next(source)
    yield [first]
    size = max(1, _BATCH_BYTES // (4 * first.size + 4 * batch[0].B.shape[1] * first.shape[0]))
    while more := list(itertools.islice(source, size)):
        yield more
