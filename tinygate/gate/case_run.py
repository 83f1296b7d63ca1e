"""Run one case on an open device: draw inputs, run reference and candidate, compare, judge."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from tinygate.core.adapter import MeasuredNumerics
from tinygate.core.case import Case
from tinygate.core.errors import InputError, TinygateError
from tinygate.core.family import FAMILIES
from tinygate.core.metrics import Metrics, Prediction
from tinygate.core.results import CaseResult
from tinygate.core.status import Check, Status
from tinygate.gate import failure, ground
from tinygate.gate.batching import batches, passes
from tinygate.gate.candidate import candidate
from tinygate.gate.memory import check_memory
from tinygate.gate.observations import Products, RunObservations, differing, observe_run
from tinygate.gate.operands import OperandStore, StoredOperand
from tinygate.gate.products import Harness
from tinygate.gate.reruns import OverReads, Rerun, old_c
from tinygate.gpu.kernel import check_fits
from tinygate.numerics import checks, compare, error_model, error_parts
from tinygate.numerics.arrays import F32, Words
from tinygate.numerics.compare import Deviation
from tinygate.numerics.inputs.generate import generate, pooled_products
from tinygate.numerics.inputs.random import Weights
from tinygate.numerics.tolerance import (
    Tolerance,
    conformance_tolerance,
    exact_tolerance,
    reference_tolerance,
)


class CaseRun:
    """The run of one case.

    observations   of each run, over all products
    operands       the stored operands and the errors found in them
    trust          how much of its limit the reference uses
    changed        the operands that the candidate changed: "A", "B"
    over_reads     whether what lies behind A and B reaches C
    products       how many products ran
    measured       the metrics of each run that were asked for
    digests        SHA-256 of the first run's outputs and of the reference's, for other engines
    """

    def __init__(self, harness: Harness, numerics: MeasuredNumerics, case: Case) -> None:
        self.harness = harness
        self.numerics = numerics
        self.case = case
        self.candidate = candidate(harness, case)
        self.family = FAMILIES[case.family]
        self.limit = conformance_tolerance(
            case.path,
            case.shape.K,
            self.family.norm,
            f16_round_to_nearest=numerics.f16_round_to_nearest,
            f16_subnormals=numerics.f16_subnormals,
        )
        self.observations: list[RunObservations] = []  # filled once the shape is known to fit
        self.references: list[F32] = []
        self.changed: set[str] = set()
        self.over_reads = OverReads(case.path)
        self.operands = OperandStore(harness, self.candidate, case)
        self.trust: Deviation | None = None
        self.predictor = error_model.Predictor(case.path, case.shape.K)
        self.products = 0
        self.measured: dict[int, Metrics] = {}  # by id of the observations
        self.digests = (hashlib.sha256(), hashlib.sha256())

    def run(self) -> CaseResult:
        """Run every product of the case and judge it.

        Raises:
            TinygateError: where it could not be verified.
        """
        case = self.case
        if reason := case.path.shape_mismatch(case.shape) or self._unreadable():
            return case.skip(reason)
        check_fits(case.path, case.shape, self.harness.device.info.limits)
        check_memory(case.shape, quantized=case.path.quantized)
        self.observations = [RunObservations(case.shape) for _ in range(max(2, case.repeat))]
        for batch in batches(generate(case.family, case.shape, case.path, case.seed), case):
            self._batch(batch)
            batch.clear()  # before the next is drawn, so that two never lie side by side
        return self._judge()

    def _unreadable(self) -> str:
        """Explain why the family cannot judge a path without readback; empty where it can."""
        if self.case.path.readback or self.family.activation or self.family.exact == "product":
            return ""
        return f"what the path stores cannot be read back, and {self.family.name} is judged by that"

    def _batch(self, batch: list[Weights]) -> None:
        """Pack these weights once, then run every pass of activations over them."""
        case, harness = self.case, self.harness
        Bs = [weights.B for weights in batch]
        check_inputs("B", Bs)
        plain = harness.weights(Bs)
        stored_b: StoredOperand | None = None
        for As in passes(batch):
            check_inputs("A", As)
            a = harness.activations(As)
            Rs: list[F32] = []
            if self.family.activation:
                Rs = harness.reference(case.shape, a, plain, Bs)
                self._reference(Rs, As, Bs)
            stored_b = stored_b or self.operands.weights(plain, Bs)
            stored_a = stored_b and self.operands.activations(a, As)
            if stored_a is None or stored_b is None:
                return
            if stored_a.buffer is not a:
                a.destroy()
            products = Products(As, Bs, stored_a.values, stored_b.values, Rs)
            self._candidate(stored_a, stored_b, products)
        if stored_b is not None and stored_b.buffer is not None:
            stored_b.buffer.destroy()

    def _reference(self, Rs: list[F32], As: Sequence[F32], Bs: Sequence[F32]) -> None:
        """Compare R with the float64 product, and predict the path's error from the products."""
        limit = self._reference_tolerance()
        for R, A, B in zip(Rs, As, Bs, strict=True):
            bad = compare.region(R.view(np.uint32))
            if bad.count:
                raise InputError(
                    f"reference untrusted: {bad.count} non-finite at {list(bad.first or ())}",
                    "the inputs overflow f32 on this adapter, or its f32 kernel is wrong",
                )
            self.trust = compare.worse(self.trust, compare.deviation(R, A, B, limit))
            self.digests[1].update(R.tobytes())
        self.predictor.add(As, Bs, Rs)
        self.references += Rs

    def _candidate(
        self, stored_a: StoredOperand, stored_b: StoredOperand, products: Products
    ) -> None:
        """Run the path as often as the case asks, refilling C before each run; free A."""
        case = self.case
        As, Bs = products.As, products.Bs
        a, b = stored_a.buffer, stored_b.buffer
        assert a is not None, "activations are always on the device"
        c = self.harness.outputs(len(As), case.shape, guard=case.path.guard)
        again = Rerun(self.candidate, a, b, c, As, Bs)
        first: tuple[Words, RunObservations] | None = None
        for number, observations in enumerate(self.observations):
            again.renew_guards(number, zeros=self.over_reads.seen)
            again.run(number)
            if first is not None and not c.changed(list(first[0])):
                observations.merge(first[1])
                continue
            out, old = c.read(), None
            if not case.path.call:
                repeated = first[0] if first and case.path.deterministic else None
                old = old_c(again.words, out, number, repeated, c.data)
            found = observe_run(case, number, out, c, products, self.limit, old)
            if number == 0 and found.bad:

                def observe(words: Words) -> RunObservations:
                    return observe_run(case, 0, words, c, products, self.limit)

                out, found = self.over_reads.judged(again, out, found, observe)
            observations.merge(found)
            if first is None:
                for row in out:
                    self.digests[0].update(row[: c.data])
                first = (out, found)
            else:
                observations.differs.merge(differing(out, first[0], c, case.shape, old))
        self.changed |= again.changed | self.candidate.changed(a, b, stored_a.words, stored_b.words)
        a.destroy()
        c.destroy()
        self.products += len(As)

    def _judge(self) -> CaseResult:
        """Apply the same checks to every run; the first that does not pass decides the verdict."""
        shared = self._shared_checks()
        # There are no runs where a packer refused the operands.
        runs = self.observations if self.products else []
        judged = [(*shared, *self._run_checks(observations)) for observations in runs] or [shared]
        decided = [checks.decide(one) for one in judged]
        failed = sum(status is Status.FAIL for status, _ in decided)
        worst = next((i for i, (status, _) in enumerate(decided) if status is not Status.PASS), 0)
        status, reason = decided[worst]
        observations = self.observations[worst]
        metrics = self._metrics(observations)
        predicted = self.predictor.result() if metrics else None
        parts = error_parts.parts(self.observations[0].energies) if self.products else None
        case, shape = self.case, self.case.shape
        result = replace(
            case.not_run(),
            status=status,
            reason=reason,
            not_run=False,
            hint=checks.stored_hint(judged[worst], parts),
            metrics=metrics,
            predicted=predicted,
            parts=parts,
            warnings=(*_warnings(case, metrics, predicted), *self.over_reads.warnings()),
            exact=(observations.wrong.count, shape.M * shape.N * self.products)
            if self.family.exact and self.products
            else None,
            checks=tuple(judged[worst]),
            runs=len(judged),
            failed=failed,
            digests=(
                self.digests[0].hexdigest() if self.products else "",
                self.digests[1].hexdigest() if self.references else "",
            ),
            pooled=pooled_products(shape) if self.family.activation else 1,
        )
        result = ground.explain(result, case, self.numerics)
        return failure.explain(result, case, observations, self.operands.packing)

    def _shared_checks(self) -> tuple[Check, ...]:
        """Make the checks that are the same for every run."""
        found = [checks.inputs_kept(sorted(self.changed)), *self.over_reads.checks()]
        if self.trust is not None:
            found.append(checks.reference(self.trust, self._reference_tolerance()))
        if self.operands.packing is not None:
            found.append(checks.packing(self.operands.packing))
        if self.operands.refusal is not None:
            found.append(self.operands.refusal)
        return tuple(found)

    def _run_checks(self, observations: RunObservations) -> Iterator[Check]:
        if not self.case.path.call:  # a Python callable cannot reach markers and guards
            yield checks.written(observations.written)
            yield checks.old_c(observations.old_c)
            yield checks.guard(observations.past) if self.case.path.guard else checks.unguarded()
        yield checks.finite(observations.finite, observations.cause)
        if self.case.path.deterministic:
            yield checks.deterministic(observations.differs)
        if self.family.exact:
            limit = exact_tolerance(self.case.path, self.family, self.case.shape.K)
            yield checks.exact(observations.wrong, limit)
            return
        metrics = self._metrics(observations)
        if metrics is not None and metrics.mean_ref == 0:
            yield checks.zero_rule(
                compare.over(observations.outputs, self.references, 0.0, strict=True)
            )
        elif metrics is not None and self.case.judge == "activation":
            outside = compare.over(observations.outputs, self.references, metrics.max_abs_limit)
            yield from checks.activation(metrics, outside)
        if observations.deviation is not None:
            yield checks.conformance(observations.deviation, self.limit, observations.cause)

    def _metrics(self, observations: RunObservations) -> Metrics | None:
        """Return a run's metrics; computed once, although its checks and its result both ask."""
        if not self.family.activation or not observations.outputs:
            return None
        if id(observations) not in self.measured:
            self.measured[id(observations)] = compare.metrics(observations.outputs, self.references)
        return self.measured[id(observations)]

    def _reference_tolerance(self) -> Tolerance:
        nearest = self.numerics.f32_round_to_nearest
        return reference_tolerance(self.case.shape.K, round_to_nearest=nearest)


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


def run_case(harness: Harness, numerics: MeasuredNumerics, case: Case) -> CaseResult:
    """Run one case; an error becomes the case's ERROR result, so that other cases still run."""
    try:
        return CaseRun(harness, numerics, case).run()
    except TinygateError as error:
        return case.error(error)


def _warnings(case: Case, metrics: Metrics | None, predicted: Prediction | None) -> tuple[str, ...]:
    if metrics is None or predicted is None:
        return ()
    text = error_model.warning(case.path, metrics.nmse, predicted, case.shape.M * case.shape.N)
    return (text,) if text else ()
