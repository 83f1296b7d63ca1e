"""From original operands to what the path holds of them: packed, read back, checked, decoded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tinygate.core.case import Case
from tinygate.core.errors import PackingRefusedError
from tinygate.core.family import FAMILIES
from tinygate.core.status import Check, Status
from tinygate.gate.candidate import Candidate
from tinygate.gate.products import Halves, Harness, Readback
from tinygate.gpu.guarded_buffer import GuardedBuffer
from tinygate.numerics import checks, compare
from tinygate.numerics.arrays import F32, DeviceF16, Values, Words, as_words
from tinygate.numerics.formats import A_FORMATS, FORMATS, StorageFormat


@dataclass
class StoredOperand:
    """An operand as the path holds it: where, in which words, and the values they stand for."""

    buffer: GuardedBuffer | None
    words: list[Words]
    values: list[Values]


def _plain(buffer: GuardedBuffer | None, originals: Sequence[F32]) -> StoredOperand:
    return StoredOperand(buffer, [as_words(x) for x in originals], list(originals))


class OperandStore:
    """Stores a case's operands and keeps what was wrong with them.

    packing   the first stored operand with something wrong, else the first
    refusal   what a packer did with a value over its format's range: the first FAIL, else the first
    """

    def __init__(self, harness: Harness, candidate: Candidate, case: Case) -> None:
        self._harness = harness
        self._candidate = candidate
        self._case = case
        self.packing: compare.Packing | None = None
        self.refusal: Check | None = None

    def weights(self, plain: GuardedBuffer | None, Bs: Sequence[F32]) -> StoredOperand | None:
        """B as the path holds it; `plain` may be given back on the way. None where nothing is left
        to run."""
        storage = FORMATS[self._case.path.b]
        if not storage.packed:
            return _plain(plain, Bs)
        return self._stored(storage, lambda: self._candidate.pack(plain, Bs), Bs, "B")

    def activations(self, plain: GuardedBuffer, As: Sequence[F32]) -> StoredOperand | None:
        """As `weights`, of A; `plain` stays."""
        storage = A_FORMATS[self._case.path.a]
        if not storage.packed:
            return _plain(plain, As)
        path, shape = self._case.path, self._case.shape
        return self._stored(storage, lambda: self._harness.pack_a(path, shape, plain, As), As, "A")

    def _stored(
        self,
        storage: StorageFormat,
        pack: Callable[[], Readback],
        originals: Sequence[F32],
        operand: str,
    ) -> StoredOperand | None:
        outside = compare.outside(originals, storage.max_finite)
        try:
            stored = pack()
        except PackingRefusedError as error:
            self._refuse(checks.refused(error, outside, operand))
            return None
        if stored.past:
            self._refuse(checks.packed_past())
            return None
        size = originals[0].shape
        if outside.count:
            wrong = checks.not_refused(outside, originals[0], storage, stored.words[0])
            self._refuse(wrong)
            return None
        if FAMILIES[self._case.family].packing and self._case.path.readback:
            self._check(storage, stored, originals, operand)
        values = [storage.decode(words, *size) for words in stored.words]
        return StoredOperand(stored.buffer, stored.words, values)

    def _refuse(self, check: Check) -> None:
        kept = self.refusal
        if kept is None or (kept.status is Status.PASS and check.status is Status.FAIL):
            self.refusal = check

    def _check(
        self, storage: StorageFormat, stored: Readback, originals: Sequence[F32], operand: str
    ) -> None:
        for words, original, device_f16 in zip(
            stored.words, originals, self._conversions(storage, originals), strict=True
        ):
            found = compare.packing(storage, words, original, device_f16, operand)
            if self.packing is None or (found.wrong and not self.packing.wrong):
                self.packing = found

    def _conversions(self, storage: StorageFormat, originals: Sequence[F32]) -> list[DeviceF16]:
        """For each original, the adapter's own f16 of a range of its rows. Many small products are
        converted in one dispatch, a large one block by block."""
        convert = self._harness.device_f16
        if storage.quantized or len(originals) == 1:
            return [lambda rows, x=x: convert(x[rows]) for x in originals]  # type: ignore[misc]
        batch = convert(np.concatenate(originals))
        height = originals[0].shape[0]

        def part(first: int) -> Callable[[slice], Halves]:
            return lambda rows: batch[first + rows.start : first + rows.stop]

        return [part(i * height) for i in range(len(originals))]
