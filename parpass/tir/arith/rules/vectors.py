"""Rules of vectors: of one value again and again, and of ramps."""

from __future__ import annotations

from parpass.tir.arith.rule_text import rules

_LANEWISE = "\n".join(
    f"{pattern} -> broadcast({scalar}, n)"
    for sign in ("+", "-", "*", "//", "%", "==", "!=", "<", "<=", "and", "or")
    for pattern, scalar in [(f"broadcast(x, n) {sign} broadcast(y, n)", f"x {sign} y")]
)
_CALLED = "\n".join(
    f"{name}(broadcast(x, n), broadcast(y, n)) -> broadcast({name}(x, y), n)"
    for name in ("tdiv", "tmod", "min", "max")
)

VECTORS = [
    *rules(_LANEWISE),
    *rules(_CALLED),
    *rules("not broadcast(x, n) -> broadcast(not x, n)"),
    *rules(
        """
        ramp(x, y, n) + ramp(z, w, n) -> ramp(x + z, y + w, n)
        ramp(x, y, n) + broadcast(z, n) -> ramp(x + z, y, n)
        broadcast(z, n) + ramp(x, y, n) -> ramp(z + x, y, n)
        ramp(x, y, n) - ramp(z, w, n) -> ramp(x - z, y - w, n)
        ramp(x, y, n) - broadcast(z, n) -> ramp(x - z, y, n)
        broadcast(z, n) - ramp(x, y, n) -> ramp(z - x, 0 - y, n)
        ramp(x, y, n) * broadcast(z, n) -> ramp(x * z, y * z, n)
        broadcast(z, n) * ramp(x, y, n) -> ramp(x * z, y * z, n)
        x + broadcast(0, n) -> x
        broadcast(0, n) + x -> x
        x - broadcast(0, n) -> x
        """
    ),
    *rules(
        """
        min(min(x, broadcast(y, n)), broadcast(z, n)) -> min(x, broadcast(min(y, z), n))
        max(max(x, broadcast(y, n)), broadcast(z, n)) -> max(x, broadcast(max(y, z), n))
        """
    ),
    # A ramp within one multiple of the divisor is there as a whole, and one whose
    # stride is a multiple goes on by as much each lane.
    *rules(
        """
        ramp(x, c1, n) // broadcast(c2, n) -> ramp(x // c2, c1 // c2, n) if c1 % c2 == 0
        ramp(x, c1, n) // broadcast(c2, n) -> broadcast(x // c2, n)
            if c2 > 0 and stays_within(x, c1 * (n - 1), c2)
        ramp(x, c1, n) % broadcast(c2, n) -> broadcast(x % c2, n) if c1 % c2 == 0
        ramp(x, c1, n) % broadcast(c2, n) -> ramp(x % c2, c1, n)
            if c2 > 0 and stays_within(x, c1 * (n - 1), c2)
        ramp(x, c1, n) % broadcast(c2, n) -> ramp(x % c2, c1, n) % broadcast(c2, n)
            if c2 > 0 and may_reduce(x, c2)
        tdiv(ramp(x, c1, n), broadcast(c2, n)) -> ramp(tdiv(x, c2), tdiv(c1, c2), n)
            if c2 > 0 and c1 >= 0 and c1 % c2 == 0 and nonneg(x)
        tdiv(ramp(x, c1, n), broadcast(c2, n)) -> broadcast(tdiv(x, c2), n)
            if c2 > 0 and c1 >= 0 and nonneg(x) and stays_within(x, c1 * (n - 1), c2)
        tmod(ramp(x, c1, n), broadcast(c2, n)) -> broadcast(tmod(x, c2), n)
            if c2 > 0 and c1 >= 0 and c1 % c2 == 0 and nonneg(x)
        tmod(ramp(x, c1, n), broadcast(c2, n)) -> ramp(tmod(x, c2), c1, n)
            if c2 > 0 and c1 >= 0 and nonneg(x) and stays_within(x, c1 * (n - 1), c2)
        tmod(ramp(x, c1, n), broadcast(c2, n))
            -> tmod(ramp(tmod(x, c2), c1, n), broadcast(c2, n))
            if c2 > 0 and c1 >= 0 and nonneg(x) and may_reduce(x, c2)
        """
    ),
]
