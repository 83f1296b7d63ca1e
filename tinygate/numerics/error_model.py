"""The error a path should show on these very inputs, from what it declares.

Storing x rounds it by an error of variance V_x = gap^2 / 12, gap the distance between its two
neighbours in the format; where quantized, the scale. Independent errors of operands add up over a
sum to

    V = (A∘A)·V_B + V_A·(B∘B)      elementwise, to first order

the textbook propagation of variances through a bilinear form. From it
    NMSE     = sum V / sum C^2                            plus what summing adds (precision.py)
    mean_rel = sqrt(2/pi) mean( sqrt(V) / max(|R|, 0.01 m) ),   E|x| of a normal x is sqrt(2/pi) s
    max_abs  = about max sqrt(V) * sqrt(2 ln(2 M N)),           the largest of M N normal values
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tinygate.core.fast_path import FastPath
from tinygate.core.metrics import NMSE_WARNING, Prediction
from tinygate.numerics.arrays import F32, F64, Values
from tinygate.numerics.formats import A_FORMATS, FORMATS, StorageFormat
from tinygate.numerics.matmul64 import Map, blocks, product
from tinygate.numerics.tolerance import accumulated_nmse

MIN_FOR_WARNING = 256

# of_a(left) · of_b(right), all of it or a block.
_Term = tuple[Values, Values, Map, Map]


@dataclass
class Predictor:
    """Sums over a case's products; `result` closes them."""

    path: FastPath
    K: int
    variance: float = 0.0
    energy: float = 0.0
    relative: float = 0.0
    largest: float = 0.0
    count: int = 0

    def add(self, As: Sequence[F32], Bs: Sequence[F32], Rs: Sequence[F32]) -> None:
        """Take in products that belong together: their mean |R| floors the relative error."""
        size = sum(R.size for R in Rs)
        floor = 0.01 * sum(float(np.abs(R).sum(dtype=np.float64)) for R in Rs) / size
        for A, B, R in zip(As, Bs, Rs, strict=True):
            energy = _energy(R)
            summed = accumulated_nmse(self.path, self.K) * energy / R.size
            self.energy += energy
            terms = self._terms(A, B)
            for block in blocks(*R.shape):
                V: F64 = np.full(R[block].shape, summed)
                if self.path.output == "f16":
                    V += FORMATS["f16-packed"].variance(R[block])
                for left, right, of_a, of_b in terms:
                    V += product(left, right, block, of_a, of_b)
                self.variance += float(V.sum())
                self.largest = max(self.largest, float(V.max()))
                if floor:
                    scale = np.maximum(np.abs(R[block]), floor)
                    self.relative += float((np.sqrt(V) / scale).sum())
            self.count += R.size

    def result(self) -> Prediction | None:
        """The prediction, or None where there is nothing to predict from."""
        if not self.energy:
            return None
        return Prediction(
            nmse=self.variance / self.energy,
            mean_rel=math.sqrt(2 / math.pi) * self.relative / self.count,
            max_abs=math.sqrt(self.largest) * math.sqrt(2 * math.log(2 * self.count)),
        )

    def _terms(self, A: F32, B: F32) -> list[_Term]:
        """V as a sum of products. Operands that the kernel rounds inside count as if stored so."""
        inside = self.path.rounds_inside
        a = FORMATS["f16-packed"] if inside else A_FORMATS[self.path.a]
        b = FORMATS["f16-packed"] if inside else FORMATS[self.path.b]
        terms: list[_Term] = []
        if b.packed:
            spread, of_b = _spread(b, B)
            terms.append((A, spread, _square, of_b))
        if a.packed:
            spread, of_a = _spread(a, A)
            terms.append((spread, B, of_a, _square))
        return terms


def _spread(storage: StorageFormat, x: F32) -> tuple[Values, Map]:
    """A matrix and a map whose result is V_x: x itself where each value has its own, a slice at a
    time, else all of V_x, since scales are shared."""
    if storage.quantized:
        return storage.variance(x), _same
    return x, storage.variance  # type: ignore[return-value]


def _same(x: Values) -> NDArray[np.floating]:
    return x


def warning(path: FastPath, measured_nmse: float, predicted: Prediction, outputs: int) -> str:
    """What to say of a path that is less precise than it declares; empty where it is not, or where
    too few outputs were compared to tell."""
    if outputs < MIN_FOR_WARNING or measured_nmse <= NMSE_WARNING * predicted.nmse:
        return ""
    return (
        f"{path.name} is less precise than it declares: NMSE {measured_nmse:.2e} is "
        f"{measured_nmse / predicted.nmse:.3g} times the predicted {predicted.nmse:.2e}"
    )


def _square(x: Values) -> F64:
    wide = x.astype(np.float64)
    return wide * wide


def _energy(R: F32) -> float:
    """Sum of squares in float64, a row block at a time."""
    step = max(1, (1 << 18) // R.shape[1])
    parts = (R[i : i + step].astype(np.float64) for i in range(0, R.shape[0], step))
    return sum(float((part * part).sum()) for part in parts)
