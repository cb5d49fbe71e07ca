"""Elementary functions of float64 as expressions, good enough to be rounded to float32.

There are no calls, no branches and no tables in them, and nothing that a vector cannot
do: an int is taken from a float by its bits, where it stands when a large float has
been added. Products are not fused with sums, so that all machines give the same bits.
How powers of two are split off is as in Muller, "Elementary Functions" (2016),
chapters 5 and 11.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from parpass.ir.operators.op_table import Op
from parpass.runtime.dtypes import name_of
from parpass.target.elementary.polynomials import (
    ERF,
    ERF_BELOW,
    EXP,
    LOG,
    polynomial,
)
from parpass.tir.expr import Call, Let, Select, Var
from parpass.tir.op import add, const, left_shift, logical_or, right_shift, subtract
from parpass.tir.prim_expr import PrimExpr

_LN2 = math.log(2)
_LAST_IS_ONE = 1.5 * 2.0**52  # at which neighbours of float64 differ by one
_ITS_BITS = 0x4338000000000000
_MANTISSA = 52  # bits
_LEAST = 0x3FE6A09E667F3BCD  # the bits of sqrt(1 / 2)


class Elementary:
    """Builds functions of one value, or of vectors of so many lanes.

    Args:
        lanes: How many.
    """

    def __init__(self, lanes: int) -> None:
        self._dtype = name_of("float", 64, lanes)
        self._ints = name_of("int", 64, lanes)
        self._bound: list[tuple[Var, PrimExpr]] = []

    @property
    def dtype(self) -> str:
        """The dtype of values."""
        return self._dtype

    def compute(self, name: str, args: Sequence[PrimExpr]) -> PrimExpr:
        """Return a function of arguments; what is used twice is bound to variables."""
        given = [self._named(arg, "x") for arg in args]
        result: PrimExpr = getattr(self, f"_{name}")(*given)
        for var, value in reversed(self._bound):
            result = Let(var, value, result)
        return result

    def _named(self, expr: PrimExpr, name: str) -> Var:
        var = Var(name, expr.dtype)
        self._bound.append((var, expr))
        return var

    def _const(self, value: float) -> PrimExpr:
        return const(value, self._dtype)

    def _bits(self, value: PrimExpr) -> PrimExpr:
        return Call(self._ints, Op.get("tir.reinterpret"), (value,))

    def _float(self, bits: PrimExpr) -> PrimExpr:
        return Call(self._dtype, Op.get("tir.reinterpret"), (bits,))

    def _within(self, x: PrimExpr, most: float) -> Var:
        """Return `x`, no further from 0 than that; what is no number stays so."""
        above = Select(x > self._const(most), self._const(most), x)
        low = self._const(-most)
        return self._named(Select(x < low, low, above), "within")

    def _size(self, x: PrimExpr) -> Var:
        return self._named(Select(x < self._const(0), self._const(0) - x, x), "size")

    # Powers.

    def _power(self, shifted: PrimExpr, rest: PrimExpr) -> Var:
        """Return `exp(rest)` times two to the power of an int.

        Args:
            shifted: That int, after a large float was added to it.
            rest: From -log(2) / 2 to log(2) / 2.
        """
        r = self._named(rest, "r")
        near = self._const(1) + r * polynomial(r, EXP)
        exponent = left_shift(self._bits(shifted), const(_MANTISSA, self._ints))
        return self._named(self._float(add(self._bits(near), exponent)), "power")

    def _exp(self, x: PrimExpr) -> PrimExpr:
        x = self._within(x, 200)
        shifted = self._shifted(x * self._const(1 / _LN2))
        return self._power(shifted, x - self._whole(shifted) * self._const(_LN2))

    def _exp2(self, x: PrimExpr) -> PrimExpr:
        x = self._within(x, 300)
        shifted = self._shifted(x)
        return self._power(shifted, (x - self._whole(shifted)) * self._const(_LN2))

    def _exp10(self, x: PrimExpr) -> PrimExpr:
        x = self._within(x, 90)
        shifted = self._shifted(x * self._const(math.log2(10)))
        whole = self._whole(shifted) * self._const(_LN2)
        return self._power(shifted, x * self._const(math.log(10)) - whole)

    def _shifted(self, x: PrimExpr) -> Var:
        return self._named(x + self._const(_LAST_IS_ONE), "shifted")

    def _whole(self, shifted: PrimExpr) -> PrimExpr:
        return shifted - self._const(_LAST_IS_ONE)

    def _sigmoid(self, x: PrimExpr) -> PrimExpr:
        one = self._const(1)
        return one / (one + self._exp(self._const(0) - x))

    def _tanh(self, x: PrimExpr) -> PrimExpr:
        size = self._size(x)
        one, two = self._const(1), self._const(2)
        ratio = self._named(one - two / (self._exp(size * two) + one), "ratio")
        signed = Select(x < self._const(0), self._const(0) - ratio, ratio)
        near = x - x * x * x * self._const(1 / 3)
        return Select(size < self._const(2.0**-9), near, signed)

    def _cosh(self, x: PrimExpr) -> PrimExpr:
        power = self._exp(self._size(x))
        return (power + self._const(1) / power) * self._const(0.5)

    def _sinh(self, x: PrimExpr) -> PrimExpr:
        power = self._exp(x)
        far = (power - self._const(1) / power) * self._const(0.5)
        square = self._named(x * x, "square")
        more = square * (self._const(1 / 6) + square * self._const(1 / 120))
        is_near = self._size(x) < self._const(2.0**-6)
        return Select(is_near, x + x * more, far)

    # Logarithms.

    def _parts(self, x: PrimExpr) -> tuple[PrimExpr, PrimExpr]:
        """Return the exponent of a positive float, and the logarithm of the rest."""
        bits = self._named(self._bits(x), "bits")
        above = subtract(bits, const(_LEAST, self._ints))
        exponent = self._named(
            right_shift(above, const(_MANTISSA, self._ints)), "exponent"
        )
        rest = subtract(bits, left_shift(exponent, const(_MANTISSA, self._ints)))
        m = self._named(self._float(rest), "m")
        one = self._const(1)
        s = self._named((m - one) / (m + one), "s")
        square = self._named(s * s, "square")
        whole = self._float(add(exponent, const(_ITS_BITS, self._ints)))
        return self._whole(whole), s * polynomial(square, LOG)

    def _of_positive(self, x: PrimExpr, value: PrimExpr) -> PrimExpr:
        """Return a logarithm of `x`, which may be 0, infinite, negative or none."""
        zero, inf = self._const(0), self._const(math.inf)
        low = Select(x.equal(zero), self._const(-math.inf), self._const(math.nan))
        return Select(x > zero, Select(x.equal(inf), inf, value), low)

    def _log(self, x: PrimExpr) -> PrimExpr:
        exponent, rest = self._parts(x)
        return self._of_positive(x, exponent * self._const(_LN2) + rest)

    def _log2(self, x: PrimExpr) -> PrimExpr:
        exponent, rest = self._parts(x)
        return self._of_positive(x, exponent + rest * self._const(1 / _LN2))

    def _log10(self, x: PrimExpr) -> PrimExpr:
        exponent, rest = self._parts(x)
        natural = exponent * self._const(_LN2) + rest
        return self._of_positive(x, natural * self._const(1 / math.log(10)))

    def _log1p(self, x: PrimExpr) -> PrimExpr:
        one = self._const(1)
        more = self._named(x + one, "more")
        exponent, rest = self._parts(more)
        lost = (x - (more - one)) / more
        natural = exponent * self._const(_LN2) + rest + lost
        return self._of_positive(more, natural)

    # Others.

    def _erf(self, x: PrimExpr) -> PrimExpr:
        x = self._within(x, 4)
        square = self._named(x * x, "square")
        return x * polynomial(square, ERF) / polynomial(square, ERF_BELOW)

    def _hypot(self, x: PrimExpr, y: PrimExpr) -> PrimExpr:
        inf = self._const(math.inf)
        root = Call(self._dtype, Op.get("tir.sqrt"), (x * x + y * y,))
        has_inf = logical_or(self._size(x).equal(inf), self._size(y).equal(inf))
        return Select(has_inf, inf, root)

    def _pow(self, x: PrimExpr, y: PrimExpr) -> PrimExpr:
        zero, one = self._const(0), self._const(1)
        size = self._size(x)
        magnitude = self._exp2(y * self._log2(size))
        is_one = logical_or(y.equal(zero), size.equal(one))
        power = self._named(Select(is_one, one, magnitude), "power")
        half = self._named(y * self._const(0.5), "half")
        is_int = self._floor(y).equal(y)
        is_even = self._floor(half).equal(half)
        none = self._const(math.nan)
        # Of what is infinite, or 0, a root of any degree has no sign, as C has it.
        is_bound = logical_or(size.equal(zero), size.equal(self._const(math.inf)))
        of_ints = Select(is_even, power, zero - power)
        of_negative = Select(is_int, of_ints, Select(is_bound, power, none))
        is_negative = self._bits(x) < const(0, self._ints)
        of_unlike_one = Select(is_negative, of_negative, power)
        # One to any power is one, and any number to the power of none.
        always = logical_or(y.equal(zero), x.equal(one))
        is_none = logical_or(x != x, y != y)
        return Select(always, one, Select(is_none, none, of_unlike_one))

    def _floor(self, x: PrimExpr) -> PrimExpr:
        return Call(self._dtype, Op.get("tir.floor"), (x,))
