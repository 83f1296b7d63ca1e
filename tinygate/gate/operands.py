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
from tinygate.gate.products import Halves, Harness, Stored
from tinygate.gpu.guarded_buffer import Arena
from tinygate.numerics import checks, compare
from tinygate.numerics.arrays import F32, DeviceF16, Values, Words, as_words
from tinygate.numerics.formats import A_FORMATS, FORMATS, StorageFormat


@dataclass
class Held:
    """An operand as the path holds it: where, in which words, and the values they stand for."""

    arena: Arena | None
    words: list[Words]
    values: list[Values]


def _plain(arena: Arena | None, originals: Sequence[F32]) -> Held:
    return Held(arena, [as_words(x) for x in originals], list(originals))


class Storing:
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

    def weights(self, plain: Arena | None, Bs: Sequence[F32]) -> Held | None:
        """B as the path holds it; `plain` may be given back on the way. None where nothing is left
        to run."""
        storage = FORMATS[self._case.path.b]
        if not storage.packed:
            return _plain(plain, Bs)
        return self._held(storage, lambda: self._candidate.pack(plain, Bs), Bs, "B")

    def activations(self, plain: Arena, As: Sequence[F32]) -> Held | None:
        """As `weights`, of A; `plain` stays."""
        storage = A_FORMATS[self._case.path.a]
        if not storage.packed:
            return _plain(plain, As)
        path, shape = self._case.path, self._case.shape
        return self._held(storage, lambda: self._harness.pack_a(path, shape, plain, As), As, "A")

    def _held(
        self,
        storage: StorageFormat,
        pack: Callable[[], Stored],
        originals: Sequence[F32],
        matrix: str,
    ) -> Held | None:
        outside = compare.outside(originals, storage.max_finite)
        try:
            stored = pack()
        except PackingRefusedError as error:
            self._refuse(checks.refused(error, outside, matrix))
            return None
        if stored.past:
            self._refuse(checks.packed_past())
            return None
        size = originals[0].shape
        if outside.count:
            wrong = checks.not_refused(outside, originals[0], storage, stored.words[0])
            self._refuse(wrong)
            return None
        if FAMILIES[self._case.family].packing and self._case.path.readable:
            self._check(storage, stored, originals, matrix)
        values = [storage.decode(words, *size) for words in stored.words]
        return Held(stored.arena, stored.words, values)

    def _refuse(self, check: Check) -> None:
        kept = self.refusal
        if kept is None or (kept.status is Status.PASS and check.status is Status.FAIL):
            self.refusal = check

    def _check(
        self, storage: StorageFormat, stored: Stored, originals: Sequence[F32], matrix: str
    ) -> None:
        for words, original, own in zip(
            stored.words, originals, self._conversions(storage, originals), strict=True
        ):
            found = compare.packing(storage, words, original, own, matrix)
            if self.packing is None or (found.wrong and not self.packing.wrong):
                self.packing = found

    def _conversions(self, storage: StorageFormat, originals: Sequence[F32]) -> list[DeviceF16]:
        """For each original, the adapter's own f16 of a range of its rows. Many small products are
        converted in one dispatch, a large one block by block."""
        convert = self._harness.own_conversion
        if storage.quantized or len(originals) == 1:
            return [lambda rows, x=x: convert(x[rows]) for x in originals]  # type: ignore[misc]
        batch = convert(np.concatenate(originals))
        height = originals[0].shape[0]

        def part(first: int) -> Callable[[slice], Halves]:
            return lambda rows: batch[first + rows.start : first + rows.stop]

        return [part(i * height) for i in range(len(originals))]
