"""Run wrong products again, to tell what their outputs come from.

Two questions that one run leaves open. Does an output depend on what C held before? Then another
marker gives another output, and an element that nobody wrote holds whichever marker there was. Does
it depend on what lies behind A and B? Then zeros there, in place of NaN, give the right product.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tinygate.core.fast_path import FastPath
from tinygate.core.status import Check
from tinygate.gate.candidate import Candidate
from tinygate.gate.observations import OldC, OverRead, RunObservations
from tinygate.gate.products import NAN_WORDS, behind, marker
from tinygate.gpu.guarded_buffer import GuardedBuffer
from tinygate.numerics import checks
from tinygate.numerics.arrays import F32, Words
from tinygate.numerics.compare import nonfinite

# Finite and not zero, as f32, as two f16 and as four int8.
_FINITE_WORD = 0x3C013C01


@dataclass(frozen=True)
class Rerun:
    """Products on the device, with all it takes to run them once more.

    changed   the operands behind which a kernel changed a guard word, as far as they were renewed
    """

    candidate: Candidate
    a: GuardedBuffer
    b: GuardedBuffer | None
    c: GuardedBuffer
    As: Sequence[F32]
    Bs: Sequence[F32]
    changed: set[str] = field(default_factory=set)

    def run(self, number: int, *, other_marker: bool = False) -> None:
        """Run them as run `number`, over that run's marker or over the other one."""
        run = self.candidate.run
        run(self.a, self.b, self.c, self.As, self.Bs, number, other_marker=other_marker)

    def words(self, number: int, *, other_marker: bool = False) -> Words:
        """Run them, and read C with its guard, as [count, stride]."""
        self.run(number, other_marker=other_marker)
        return self.c.read()

    def put_behind(self, a_word: int, b_word: int) -> None:
        """Put other guard words behind A and B."""
        if self.a.guard_with(a_word):
            self.changed.add("A")
        if self.b is not None and self.b.guard_with(b_word):
            self.changed.add("B")

    def renew_guards(self, number: int, *, zeros: bool) -> None:
        """Put that run's words behind A and B, or zeros.

        A kernel that writes what is there already is seen once something else is there.
        """
        word = 0 if zeros else behind(number)
        self.put_behind(word, word)


def old_c(
    words: Callable[..., Words], out: Words, number: int, first: Words | None, data: int
) -> OldC | None:
    """Tell which elements kept the marker, and which depend on it; None where nothing looks so.

    words: runs the products again, as Rerun.words does. first: the first run's, where later runs
    have to repeat it.
    """
    bits = out[:, :data]
    differs = first is not None and bool((bits != first[:, :data]).any())
    if not differs and not (nonfinite(bits) | (bits == marker(number))).any():
        return None
    other = words(number, other_marker=True)[:, :data]
    kept = (bits == marker(number)) & (other == marker(number, other=True))
    read = (bits != other) & ~kept
    if read.any():
        # What is not the same twice over one marker says nothing about the marker.
        repeats = words(number)[:, :data], words(number, other_marker=True)[:, :data]
        if ((repeats[0] != bits) | (repeats[1] != other))[read].any():
            read[:] = False
    return OldC(kept, read)


class OverReads:
    """What a case shows of words behind A and B that reach C.

    found   the first wrong products that are right where zeros lie there; None until there are any
    """

    def __init__(self, path: FastPath) -> None:
        self._path = path
        self.found: OverRead | None = None

    @property
    def seen(self) -> bool:
        """Whether products are now to be judged over zeros: over NaN they are known to be wrong."""
        return self.found is not None

    @property
    def _allowed(self) -> bool:
        return self.found is not None and self.found.harmless and bool(self._path.over_read)

    def judged(
        self,
        again: Rerun,
        out: Words,
        wrong: RunObservations,
        observe: Callable[[Words], RunObservations],
    ) -> tuple[Words, RunObservations]:
        """Return what to judge in place of wrong products: those over zeros, if these are right."""
        if self.seen or self._path.call:
            return out, wrong
        self.found = over_read(again, observe)
        if self.found is None:
            return out, wrong
        out = again.words(0)
        right = observe(out)
        if not self._allowed:  # what is shown and saved is what is wrong
            right.sample, right.over_read = wrong.sample, wrong
        return out, right

    def checks(self) -> list[Check]:
        """Return the check of it, if it was seen."""
        if self.found is None:
            return []
        harmless = self.found.harmless
        return [checks.over_read(self.found.operands, harmless=harmless, allowed=self._allowed)]

    def warnings(self) -> tuple[str, ...]:
        """Return the warning of what the path declares and what harms nothing."""
        if self.found is None or not self._allowed:
            return ()
        return (checks.over_read_warning(self.found.operands, self._path.over_read),)


def over_read(again: Rerun, observe: Callable[[Words], RunObservations]) -> OverRead | None:
    """Tell whether wrong products are right where zeros lie behind A and B; None where not.

    They are left with zeros behind them if so, else with what was there.
    """

    def run(a_word: int, b_word: int) -> tuple[Words, bool]:
        again.put_behind(a_word, b_word)
        out = again.words(0)
        return out, not observe(out).bad

    nan = NAN_WORDS[0]
    zeros, right = run(0, 0)
    if not right:
        again.put_behind(nan, nan)
        return None
    a_alone, b_alone = run(0, nan)[1], run(nan, 0)[1]
    finite, _ = run(_FINITE_WORD, _FINITE_WORD)
    data = again.c.data
    harmless = bool((finite[:, :data] == zeros[:, :data]).all())
    again.put_behind(0, 0)
    operands = {(True, False): ("A",), (False, True): ("B",)}.get((a_alone, b_alone), ("A", "B"))
    return OverRead(operands, harmless)
