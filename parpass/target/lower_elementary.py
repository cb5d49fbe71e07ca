"""LowerElementary: calls of elementary functions become arithmetic.

So results are the same on every machine, and in vectors. The functions of float64 are
expressions that are good enough to be rounded to float32. There are no calls, branches
or tables in them, and nothing that a vector cannot do: an int is taken from a float by
its bits, where it stands when a large float has been added. How powers of two, and
quarters of a turn, are split off is as in Muller, "Elementary Functions" (2016),
chapters 5 and 11. The exception is sines and cosines beyond 2**20, where float64 has
not enough digits to count quarters: for vectors with such a number C's are called.

In the functions of `FUSED`, products are fused with sums on machines that can do so.
The result then differs as float64, but not once it is rounded to float32: a test tries
every float32. One result did differ, of `exp` and of `sigmoid` each, before `_LOG2_E`
was made six units of its last digit smaller than it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from parpass.ir.module import IRModule
from parpass.ir.node import Node
from parpass.ir.op.op_table import Op
from parpass.runtime.dtypes import name_of
from parpass.target.elementary_polynomials import (
    ERF,
    ERF_BELOW,
    EXP2,
    LOG,
    TANH,
    TANH_BELOW,
)
from parpass.tir.analysis.function_contents import contents
from parpass.tir.data_type import data_type
from parpass.tir.expr import (
    Broadcast,
    Call,
    Cast,
    FloatImm,
    IntImm,
    Let,
    PrimExpr,
    Select,
    Shuffle,
    Var,
)
from parpass.tir.function import PrimFunc
from parpass.tir.op import (
    add,
    bitwise_and,
    cast_to,
    const,
    if_then_else,
    left_shift,
    logical_or,
    right_shift,
    subtract,
)
from parpass.tir.stmt import Stmt
from parpass.tir.stmt_expr_functor import StmtExprMutator
from parpass.tir.transform import PrimFuncPass
from parpass.transform import PassContext, PassInfo, register_pass

_LN2 = math.log(2)
_LOG2_E = float.fromhex("0x1.71547652b82f8p+0")  # nearly; see above
_SINH = [1 / math.factorial(at) for at in range(1, 14, 2)]
_SIN = [(-1) ** (at // 2) / math.factorial(at) for at in range(1, 12, 2)]
_COS = [(-1) ** (at // 2) / math.factorial(at) for at in range(0, 13, 2)]
# Their sum is pi / 2. Products of the first two with numbers below 2**20 are exact.
_QUARTER_TURN = [
    *map(float.fromhex, ("0x1.921fb544p+0", "0x1.0b4611a6p-34")),
    float.fromhex("0x1.3198a2e037073p-69"),
]
_FAR = 2.0**20  # from where on a function of C's library knows how many turns it is
_LAST_IS_ONE = 1.5 * 2.0**52  # at which neighbours of float64 differ by one
_ITS_BITS = 0x4338000000000000
_MANTISSA = 52  # bits
_LEAST = 0x3FE6A09E667F3BCD  # the bits of sqrt(1 / 2)

# How far from 0 arguments may be: beyond it results are the same as float32.
_BOUNDS = {
    **dict.fromkeys(("cosh", "exp", "sigmoid", "sinh"), 208),
    "erf": 4,
    "exp10": 90,
    "exp2": 300,
    "tanh": 9.25,
}


class Elementary:
    """Builds functions of one value, or of vectors of so many lanes.

    Args:
        lanes: How many.
    """

    def __init__(self, lanes: int) -> None:
        self._dtype = name_of("float", 64, lanes)
        self._ints = name_of("int", 64, lanes)
        self._bound: list[tuple[Var, PrimExpr]] = []
        self._is_fused = False

    def compute(self, name: str, args: Sequence[PrimExpr]) -> PrimExpr:
        """Return a function of arguments; what is used twice is bound to variables."""
        given = [self._given(arg, _BOUNDS.get(name)) for arg in args]
        self._is_fused = name in FUSED
        result: PrimExpr = getattr(self, f"_{name}")(*given)
        for var, value in reversed(self._bound):
            result = Let(var, value, result)
        return result

    def _given(self, arg: PrimExpr, most: float | None) -> Var:
        """Return an argument as float64, no further from 0 than that."""
        single = name_of("float", 32, data_type(arg.dtype).lanes)
        x: PrimExpr = self._named(cast_to(arg, single), "x")
        if most is not None:
            x = self._within(x, most)  # here, where twice as many are a vector
        return self._named(Cast(self._dtype, x), "wide")

    def _named(self, expr: PrimExpr, name: str) -> Var:
        var = Var(name, expr.dtype)
        self._bound.append((var, expr))
        return var

    def _sum(self, a: PrimExpr, b: PrimExpr, c: PrimExpr) -> PrimExpr:
        """Return `a * b + c`, fused where it may be."""
        return Call(self._dtype, "fma", (a, b, c)) if self._is_fused else a * b + c

    def _polynomial(self, x: PrimExpr, coefficients: Sequence[float]) -> PrimExpr:
        """Return a polynomial by Horner's rule, the constant coefficient first."""
        *rest, last = coefficients
        found = self._const(last)
        for one in reversed(rest):
            found = self._sum(found, x, self._const(one))
        return found

    def _const(self, value: float) -> PrimExpr:
        return const(value, self._dtype)

    def _bits(self, value: PrimExpr) -> PrimExpr:
        return Call(self._ints, Op.get("tir.reinterpret"), (value,))

    def _float(self, bits: PrimExpr) -> PrimExpr:
        return Call(self._dtype, Op.get("tir.reinterpret"), (bits,))

    def _within(self, x: PrimExpr, most: float) -> Var:
        """Return `x`, no further from 0 than that; what is no number stays so."""
        high, low = const(most, x.dtype), const(-most, x.dtype)
        below = self._named(Select(x > high, high, x), "below")
        return self._named(Select(below < low, low, below), "within")

    def _size(self, x: PrimExpr) -> Var:
        return self._named(Select(x < self._const(0), self._const(0) - x, x), "size")

    # Powers.

    def _exp2(self, x: PrimExpr, factor: float = 1) -> Var:
        """Return 2 to the power of a product."""
        by, last_is_one = self._const(factor), self._const(_LAST_IS_ONE)
        shifted = self._named(self._sum(x, by, last_is_one), "shifted")
        rest = self._named(self._sum(x, by, last_is_one - shifted), "rest")
        near = self._sum(rest, self._polynomial(rest, EXP2), self._const(1))
        exponent = left_shift(self._bits(shifted), const(_MANTISSA, self._ints))
        return self._named(self._float(add(self._bits(near), exponent)), "power")

    def _exp(self, x: PrimExpr) -> Var:
        return self._exp2(x, _LOG2_E)

    def _exp10(self, x: PrimExpr) -> Var:
        return self._exp2(x, math.log2(10))

    def _whole(self, shifted: PrimExpr) -> PrimExpr:
        return shifted - self._const(_LAST_IS_ONE)

    def _sigmoid(self, x: PrimExpr) -> PrimExpr:
        one = self._const(1)
        return one / (one + self._exp2(x, -_LOG2_E))

    def _tanh(self, x: PrimExpr) -> PrimExpr:
        square = self._named(x * x, "square")
        return x * self._polynomial(square, TANH) / self._polynomial(square, TANH_BELOW)

    def _cosh(self, x: PrimExpr) -> PrimExpr:
        power = self._exp(self._size(x))
        return (power + self._const(1) / power) * self._const(0.5)

    def _sinh(self, x: PrimExpr) -> PrimExpr:
        power = self._exp(x)
        far = (power - self._const(1) / power) * self._const(0.5)
        square = self._named(x * x, "square")
        near = x * self._polynomial(square, _SINH)
        return Select(self._size(x) < self._const(1), near, far)

    # Waves.

    def _sin(self, x: PrimExpr) -> PrimExpr:
        return self._wave("sin", x, 0)

    def _cos(self, x: PrimExpr) -> PrimExpr:
        return self._wave("cos", x, 1)

    def _wave(self, name: str, x: PrimExpr, quarters: int) -> PrimExpr:
        """Return the sine of so many quarters of a turn more than `x`."""
        by = self._const(2 / math.pi)
        shifted = self._named(self._sum(x, by, self._const(_LAST_IS_ONE)), "shifted")
        whole = self._named(self._whole(shifted), "whole")
        rest = x
        for part in _QUARTER_TURN:
            rest = self._named(rest - whole * self._const(part), "rest")
        square = self._named(rest * rest, "square")
        sine = rest * self._polynomial(square, _SIN)
        cosine = self._polynomial(square, _COS)
        turned = add(self._bits(shifted), const(quarters, self._ints))
        is_odd, is_negative = (
            bitwise_and(turned, const(bit, self._ints)) != const(0, self._ints)
            for bit in (1, 2)
        )
        found = self._named(Select(is_odd, cosine, sine), "found")
        near = self._named(Select(is_negative, self._const(0) - found, found), "near")
        is_far = self._named(self._size(x) >= self._const(_FAR), "is_far")
        far = Call(self._dtype, Op.get(f"tir.{name}"), (x,))
        return if_then_else(self._any(is_far), Select(is_far, far, near), near)

    def _any(self, mask: Var) -> Var:
        """Return whether a lane is true."""
        lanes = data_type(mask.dtype).lanes
        if lanes == 1:
            return mask
        begin = range(0, lanes, 2)
        # Of an odd number the last one counts twice.
        even, odd = (
            Shuffle((mask,), tuple(IntImm("int32", min(at, lanes - 1)) for at in half))
            for half in (begin, [at + 1 for at in begin])
        )
        return self._any(self._named(logical_or(even, odd), "any"))

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
        return self._whole(whole), s * self._polynomial(square, LOG)

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
        value = Select(x.equal(self._const(0)), x, natural)
        return self._of_positive(more, value)

    # Others.

    def _erf(self, x: PrimExpr) -> PrimExpr:
        square = self._named(x * x, "square")
        return x * self._polynomial(square, ERF) / self._polynomial(square, ERF_BELOW)

    def _hypot(self, x: PrimExpr, y: PrimExpr) -> PrimExpr:
        inf = self._const(math.inf)
        root = Call(self._dtype, Op.get("tir.sqrt"), (x * x + y * y,))
        has_inf = logical_or(self._size(x).equal(inf), self._size(y).equal(inf))
        return Select(has_inf, inf, root)

    def _pow(self, x: PrimExpr, y: PrimExpr) -> PrimExpr:
        zero, one = self._const(0), self._const(1)
        size = self._size(x)
        magnitude = self._exp2(self._within(y * self._log2(size), 300))
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

    def _square(self, x: PrimExpr) -> PrimExpr:
        return x * x

    def _cube(self, x: PrimExpr) -> PrimExpr:
        return x * x * x

    def _floor(self, x: PrimExpr) -> PrimExpr:
        return Call(self._dtype, Op.get("tir.floor"), (x,))


# Units in the last place by which a float32 is wrong at most, where rounding alone
# makes it 0.5; of bfloat16 and float16 it is the same.
MOST_ULP = 0.6

FUNCTIONS = (
    *("cosh", "erf", "exp", "exp10", "exp2", "hypot", "log", "log10", "log1p", "log2"),
    *("cos", "pow", "sigmoid", "sin", "sinh", "tanh"),
)
# Those in which products may be fused with sums.
FUSED = frozenset({"erf", "exp", "exp2", "sigmoid", "tanh"})
_LOWERED = {f"tir.{name}": name for name in FUNCTIONS}
_POWERS = {2.0: "square", 3.0: "cube"}  # by the exponent


@register_pass("parpass.LowerElementary")
class LowerElementary(PrimFuncPass):
    """Approximate exp, log, tanh and others on 16- and 32-bit floats by polynomials.

    ::

        B[i] = exp(A[i])

    becomes::

        B[i] = float32(let x = float64(A[i]) in ... polynomial ...)

    The result needs no library, is the same to the bit on every machine, and is
    vectorised with its loop. It is computed in float64 and rounded once, so it is off
    by at most 0.6 units in the last place. Calls on float64, and other functions, stay
    calls of C's math library, as do sines and cosines of numbers beyond 2**20.
    """

    pass_info = PassInfo(0, "target.LowerElementary")
    cacheable = True

    def transform_function(
        self, func: PrimFunc, mod: IRModule, ctx: PassContext
    ) -> PrimFunc:
        """Return the function without such calls."""
        if ctx.get_analysis(contents, func).operators.isdisjoint(_LOWERED):
            return func
        body = ElementaryLowerer().visit(func.body)
        assert isinstance(body, Stmt)
        return func.with_body(body)


class ElementaryLowerer(StmtExprMutator):
    """Rewrites calls, those in arguments first."""

    def visit_call_(self, op: Call) -> Node:
        """Compute a function by polynomials."""
        new = self.visit_default(op)
        assert isinstance(new, Call)
        name = _LOWERED.get(new.op.name) if isinstance(new.op, Op) else None
        kind = data_type(new.dtype)
        if name is None or not kind.is_floating or kind.bits > 32:
            return new
        args = new.args
        if name == "pow" and (power := _POWERS.get(_constant(args[1]))):
            name, args = power, args[:1]
        functions = Elementary(kind.lanes)
        return Cast(new.dtype, functions.compute(name, args), new.span)


def _constant(expr: PrimExpr) -> float:
    """Return the value of a constant, or of a vector of one; NaN of anything else."""
    if isinstance(expr, Broadcast | Cast):
        return _constant(expr.value)
    return expr.value if isinstance(expr, FloatImm) else math.nan
