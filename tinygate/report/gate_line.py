"""Numbers as the seed's console prints them, which is as JavaScript does. Pure."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal


def exponential(x: float) -> str:
    """Like JavaScript's x.toExponential(2): `1.22e-1`, ties away from zero."""
    if x != x or x in (float("inf"), float("-inf")):
        return _non_finite(x)
    if x == 0:
        return "0.00e+0"
    value = Decimal(x)
    exponent = value.adjusted()
    digits = value.scaleb(-exponent).quantize(Decimal("1.00"), ROUND_HALF_UP)
    if abs(digits) >= 10:
        digits, exponent = (digits / 10).quantize(Decimal("1.00")), exponent + 1
    return f"{digits}e{exponent:+d}"


def percent(x: float, decimals: int) -> str:
    """Like JavaScript's (100 * x).toFixed(decimals) + "%"."""
    value = 100 * x
    if value != value or value in (float("inf"), float("-inf")):
        return f"{_non_finite(value)}%"
    if abs(value) >= 1e21:  # toFixed gives up its digits here, and a Decimal has no room for them
        return f"{float(value)!r}%"
    return f"{Decimal(value).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)}%"


def _non_finite(x: float) -> str:
    return "NaN" if x != x else "Infinity" if x > 0 else "-Infinity"
