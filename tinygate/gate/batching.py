"""Which products of a case lie on the device together: many small ones, or a single large one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from tinygate.core.case import Case
from tinygate.core.family import FAMILIES
from tinygate.core.shape import Shape
from tinygate.numerics.arrays import F32
from tinygate.numerics.inputs.random import Weights

# Small products share an arena up to this many bytes; a larger one has its own.
_BATCH_BYTES = 16 << 20


def batches(source: Iterator[Weights], case: Case) -> Iterator[list[Weights]]:
    """Weights in groups small enough to share an arena. Only pooled products share one: the others
    mean something each by itself."""
    shape: Shape = case.shape
    size = 4 * (shape.M * shape.K + shape.K * shape.N + shape.M * shape.N)
    together = max(1, _BATCH_BYTES // size) if FAMILIES[case.family].activation else 1
    while batch := list(itertools.islice(source, together)):
        yield batch


def passes(batch: list[Weights]) -> Iterator[list[F32]]:
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
