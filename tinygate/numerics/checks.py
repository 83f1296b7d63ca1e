"""Turn measurements into checks: one Check per question, with its limit and the limit's reason.

The activation check asks whether a model may use this path. The conformance check asks whether the
kernel does what it declares, whatever precision that is.
"""

from __future__ import annotations

from collections.abc import Sequence

from tinygate.core.errors import PackingRefusedError
from tinygate.core.metrics import MEAN_REL_LIMIT, ErrorParts, Metrics
from tinygate.core.status import Check, Status, worst
from tinygate.numerics.arrays import F32, Words
from tinygate.numerics.compare import Deviation, Packing, Region
from tinygate.numerics.diagnosis import Cause
from tinygate.numerics.formats import StorageFormat
from tinygate.numerics.tolerance import F16_MIN_NORMAL, Tolerance

_MAX_ABS_WHY = "activation rule: 1 % of mean|ref|, catches one-off blow-ups"
_MEAN_REL_WHY = (
    "activation rule: 0.5 %, the edge of sqrt(K) 2^-11 at K=128, catches systematic bias"
)


def activation(metrics: Metrics, outside: Region | None = None) -> tuple[Check, Check]:
    """Apply the activation rule: max_abs and mean_rel must both be strictly below their limits.

    outside: where |F-R| is over the limit of max_abs.
    """
    limit = metrics.max_abs_limit
    where = f", {outside.where}" if outside and outside.where else ""
    return (
        _below("max_abs", metrics.max_abs, limit, f"max_abs over limit{where}", _MAX_ABS_WHY),
        _below("mean_rel", metrics.mean_rel, MEAN_REL_LIMIT, "mean_rel over limit", _MEAN_REL_WHY),
    )


def zero_rule(wrong: Region) -> Check:
    """Require F to be all zero where R is all zero; -0 counts as 0."""
    return _none_of(
        "zero",
        wrong,
        "not zero where the reference is all zero",
        "an all-zero reference leaves no room: F must be zero everywhere",
    )


def _below(name: str, measured: float, limit: float, reason: str, why: str) -> Check:
    # NaN compares false, so an unmeasured value fails.
    ok = measured < limit
    return Check(
        name, Status.PASS if ok else Status.FAIL, "" if ok else reason, measured, limit, why
    )


def _none_of(name: str, found: Region, reason: str, why: str = "") -> Check:
    """Pass where nothing was found; else report the count, the first element and the rows."""
    if not found.count:
        return Check(name, Status.PASS, why=why)
    first = f" at [{found.first[0]},{found.first[1]}]" if found.first else ""
    where = f", {found.where}" if found.where and found.count > 1 else ""
    return Check(name, Status.FAIL, f"{found.count} {reason}{first}{where}", why=why)


def written(found: Region) -> Check:
    """Require the kernel to have overwritten the marker in every element of C."""
    return _none_of("written", found, "never written", "C is filled with a marker before the run")


def old_c(found: Region) -> Check:
    """Require no output to depend on what C held before the run."""
    why = "C holds another marker in each run, and a kernel writes C without reading it"
    noun = "outputs read" if found.count > 1 else "output reads"
    return _none_of("old C", found, f"{noun} C before writing it", why)


def over_read(operands: Sequence[str], *, harmless: bool, allowed: bool) -> Check:
    """Judge that products are wrong over NaN behind A or B, and right over zeros.

    operands: behind which. harmless: finite words there change nothing. allowed: the path declares
    it, and then the case is judged over zeros.
    """
    why = "A and B are followed by NaN, and zeros in its place give the right product"
    if allowed:
        return Check("over-read", Status.PASS, why=why)
    reach = "what lies behind reaches C" + ("" if harmless else ", finite values too")
    reason = f"reads past {' and '.join(operands)}: {reach}"
    return Check("over-read", Status.FAIL, reason, why=why)


def over_read_warning(operands: Sequence[str], allowed: str) -> str:
    """Word the warning for an over-read that the path declares, with its reason."""
    past = " and ".join(operands)
    return f"reads past {past}: NaN that lies behind reaches C; allowed, as declared: {allowed}"


def finite(found: Region, cause: Cause | None = None) -> Check:
    """Require every output to be finite, decided by bit pattern."""
    noun = "non-finite output" + ("s" if found.count > 1 else "")
    if cause is Cause.OVERFLOWED:
        noun += f" ({cause})"
    return _none_of("finite", found, noun, "decided by bit pattern, never by a comparison")


def guard(past: tuple[int, int] | None) -> Check:
    """Require the guard words behind C to be unchanged.

    past: (how many changed, the first one's distance from C's end in words), or None.
    """
    why = "guard words behind C are bound with it"
    if past is None:
        return Check("guard", Status.PASS, why=why)
    count, first = past
    plural = "s" if count > 1 else ""
    return Check(
        "guard",
        Status.FAIL,
        f"wrote past the output: {count} word{plural}, first {first} past the end",
        why=why,
    )


def unguarded() -> Check:
    """Pass, and say that writes behind C were not checked: no guard word is bound with it."""
    return Check(
        "guard",
        Status.PASS,
        why="not checked: the path declares guard = false, so C is bound exactly M·N words long",
    )


def inputs_kept(changed: Sequence[str]) -> Check:
    """Require A and B to be unchanged after the run; `changed` names those that are not."""
    why = "A and B, and the NaN behind them, must be unchanged"
    if not changed:
        return Check("inputs", Status.PASS, why=why)
    return Check("inputs", Status.FAIL, f"changed an input: {', '.join(changed)}", why=why)


def deterministic(found: Region) -> Check:
    """Require a run to repeat the first run's bits; `found` is where they differ."""
    noun = "outputs differ" if found.count > 1 else "output differs"
    noun += " from the first run"
    return _none_of("determinism", found, noun, "two runs of one input agree bit for bit")


def reference(found: Deviation, limit: Tolerance) -> Check:
    """Require R to be near the float64 product; otherwise nothing can be verified, so ERROR."""
    ok = found.worst <= 1.0
    at = f"[{found.at[0]},{found.at[1]}]"
    reason = f"reference untrusted: got {found.got:.9g}, want {found.want:.9g} at {at}"
    return Check(
        "reference",
        Status.PASS if ok else Status.ERROR,
        "" if ok else reason,
        found.worst,
        1.0,
        limit.why,
    )


def conformance(found: Deviation, limit: Tolerance, cause: Cause | None = None) -> Check:
    """Require F to be as near to S as the path declares; `cause` is why not, where one is known."""
    ok = found.worst <= 1.0
    where = f", {found.over.where}" if found.over.where else ""
    reason = (f"{cause}: " if cause else "") + (
        f"conformance {found.worst:.3g} times over limit: got {found.got:.6g}, "
        f"want {found.want:.6g} at [{found.at[0]},{found.at[1]}]{where}"
    )
    return Check(
        "conformance",
        Status.PASS if ok else Status.FAIL,
        "" if ok else reason,
        found.worst,
        1.0,
        limit.why,
    )


def packing(found: Packing) -> Check:
    """Require every stored value to be as close to its original as format and adapter allow."""
    why = found.why
    if found.padding:
        plural = "s" if found.padding > 1 else ""
        return Check(
            "packing",
            Status.FAIL,
            f"packing: padding is not zero in {found.padding} place{plural}",
            why=why,
        )
    if found.region.first is None:
        return Check("packing", Status.PASS, why=why)
    k, n = found.region.first
    where = f", {found.region.where}" if found.region.where and found.region.count > 1 else ""
    flushed = found.stored == 0 and 0 < abs(found.original) < F16_MIN_NORMAL
    reason = ("subnormals flushed: " if flushed else "") + (
        f"packing: {found.region.count} of {found.region.rows.size * found.region.cols.size} "
        f"stored wrong, {found.operand}[{k},{n}]={found.original:.6g} stored as "
        f"{found.stored:.6g}{where}"
    )
    return Check("packing", Status.FAIL, reason, why=why)


def refused(refusal: PackingRefusedError, outside: Region, operand: str = "B") -> Check:
    """Judge a packer's refusal: some value must be out of the format's range, and it must name the
    first such value."""
    why = f"{refusal.message}: a value the format cannot hold is refused, never clamped"
    if outside.first is None:
        reason = f"packing {refusal.message}, yet every value fits"
        return Check("refusal", Status.FAIL, reason, why=why)
    if (refusal.operand, refusal.index) == (operand, outside.first):
        return Check("refusal", Status.PASS, why=why)
    k, n = outside.first
    reason = f"packing {refusal.message}, yet the first value over the range is {operand}[{k},{n}]"
    return Check("refusal", Status.FAIL, reason, why=why)


def packed_past() -> Check:
    """Fail a packer that wrote past the end of its output."""
    return Check(
        "packing guard",
        Status.FAIL,
        "packing: wrote past the output",
        why="words behind what is packed are bound with it",
    )


def not_refused(outside: Region, B: F32, storage: StorageFormat, words: Words) -> Check:
    """Fail a packer that stored values outside its format's range instead of refusing them."""
    assert outside.first is not None
    k, n = outside.first
    stored = float(storage.decode(words, *B.shape)[k, n])
    return Check(
        "refusal",
        Status.FAIL,
        f"not refused: B[{k},{n}]={B[k, n]:.1e} is over the format's {storage.max_finite:g} and "
        f"was stored as {stored:g}",
        why="a value the format cannot hold is refused, never clamped",
    )


def exact(found: Region, limit: Tolerance | None = None) -> Check:
    """Require the one right answer of an exact family, bit for bit.

    limit: how far a path that scales its results may be off; None where it may not.
    """
    why = limit.why if limit else "these inputs have one right answer, bit for bit"
    return _none_of("exact", found, "wrong", why)


def decide(checks: Sequence[Check]) -> tuple[Status, str]:
    """Reduce a case's checks to one status and the reasons for it.

    An ERROR outranks a FAIL: with an untrusted reference no FAIL means anything.
    """
    errors = [check for check in checks if check.status is Status.ERROR]
    status = worst(check.status for check in errors or checks)
    reasons = [check.reason for check in checks if check.status is status and check.reason]
    return status, "; ".join(dict.fromkeys(reasons))


def stored_hint(checks: Sequence[Check], parts: ErrorParts | None) -> str:
    """Explain why a quantized path fails the activation check alone; empty for any other result.

    Its kernel is right, and the values it stores are too far from the originals for a model.
    """
    failing = {check.name for check in checks if check.status is Status.FAIL}
    if parts is None or not failing or failing - {"max_abs", "mean_rel"}:
        return ""
    return (
        f"the kernel conforms: the error is what the format stores (relative rms "
        f"{parts.stored_rms:.1e}; the kernel adds {parts.kernel_rms:.1e})"
    )
