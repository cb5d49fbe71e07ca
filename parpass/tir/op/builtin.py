"""The operators that loop programs call, in the table of operators, under TVM's names.

What each computes on numpy is here, if it is a function of its arguments; what others
mean, the interpreter and the code generator say.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from parpass.errors import IRError
from parpass.ir.op.op_table import Effect, Op, TypeRelationError, register_op
from parpass.runtime import ieee754
from parpass.tir.expr import CallEffectKind

VARIADIC = -1  # in place of a number of arguments

_kinds: dict[Op, CallEffectKind] = {}
_vectorizable: set[Op] = set()


def call_effect(op: Op) -> CallEffectKind:
    """Return what a call of an operator does; of a foreign one, anything."""
    return _kinds.get(op, CallEffectKind.Opaque)


def is_vectorizable(op: Op) -> bool:
    """Return whether a call may be given vectors, lane by lane: `TVectorizable`."""
    return op in _vectorizable


def _relation(types: Any, attrs: Any) -> NoReturn:
    del types, attrs
    raise TypeRelationError(
        "this operator is for loop programs: call it with tir.Call, not in Relay"
    )


def _no_value(*_: Any) -> NoReturn:
    raise IRError("this operator is no function of its arguments on numpy")


def _elementwise(compute: Callable[..., Any]) -> Callable[..., Any]:
    def meaning(attrs: Any, *values: Any) -> Any:
        del attrs
        return compute(*values)

    return meaning


def _register(
    names: str,
    kind: CallEffectKind,
    num_inputs: int = VARIADIC,
    compute: Callable[..., Any] | None = None,
    *,
    vectorizable: bool = False,
) -> None:
    effects = {
        CallEffectKind.ExprAnnotation: Effect.PURE,
        CallEffectKind.Pure: Effect.PURE,
    }
    meaning = _no_value if compute is None else _elementwise(compute)
    for name in names.split():
        effect = effects.get(kind, Effect.WRITES)
        op = register_op(
            Op(f"tir.{name}", num_inputs, _relation, meaning, effect=effect)
        )
        _kinds[op] = kind
        if vectorizable:
            _vectorizable.add(op)


def _exp10(x: Any) -> Any:
    return np.power(np.asarray(10, x.dtype), x)


def _ldexp(x: Any, y: Any) -> Any:
    return np.ldexp(x, y.astype(np.int32))


def _fma(x: Any, y: Any, z: Any) -> Any:
    return x * y + z


def _same(x: Any) -> Any:
    return x


def _erf(x: Any) -> Any:
    return np.vectorize(math.erf, otypes=[np.asarray(x).dtype])(x)


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _rsqrt(x: Any) -> Any:
    return 1 / np.sqrt(x)


def _popcount(x: Any) -> Any:
    return _of_bits(x, lambda bits, width: bits.bit_count()).astype(np.asarray(x).dtype)


def _clz(x: Any) -> Any:
    return _of_bits(x, lambda bits, width: width - bits.bit_length())


def _of_bits(x: Any, compute: Callable[[int, int], int]) -> Any:
    """Return what is found of the bits of each int, as an int32."""
    array = np.asarray(x)
    width = 8 * array.dtype.itemsize
    found = [compute(int(one) % (1 << width), width) for one in array.reshape(-1)]
    return np.array(found, np.int32).reshape(array.shape)


_UNARY: dict[str, tuple[Callable[..., Any], bool]] = {
    "acos": (np.arccos, False),
    "acosh": (np.arccosh, False),
    "asin": (np.arcsin, False),
    "asinh": (np.arcsinh, False),
    "atan": (np.arctan, False),
    "atanh": (np.arctanh, False),
    "bitwise_not": (np.invert, True),
    "ceil": (np.ceil, True),
    "clz": (_clz, False),
    "cos": (np.cos, True),
    "cosh": (np.cosh, True),
    "erf": (_erf, True),
    "exp": (np.exp, True),
    "exp10": (_exp10, True),
    "exp2": (np.exp2, True),
    "fabs": (np.fabs, True),
    "floor": (np.floor, True),
    "isnan": (np.isnan, True),
    "log": (np.log, True),
    "log10": (np.log10, True),
    "log1p": (np.log1p, True),
    "log2": (np.log2, True),
    "nearbyint": (np.rint, True),
    "popcount": (_popcount, True),
    "round": (np.rint, True),
    "rsqrt": (_rsqrt, True),
    "sigmoid": (_sigmoid, True),
    "sin": (np.sin, True),
    "sinh": (np.sinh, True),
    "sqrt": (np.sqrt, True),
    "tan": (np.tan, True),
    "tanh": (np.tanh, True),
    "trunc": (np.trunc, True),
}

_BINARY: dict[str, tuple[Callable[..., Any], bool]] = {
    "atan2": (np.arctan2, False),
    "bitwise_and": (np.bitwise_and, True),
    "bitwise_or": (np.bitwise_or, True),
    "bitwise_xor": (np.bitwise_xor, True),
    "copysign": (np.copysign, True),
    "fmod": (np.fmod, False),
    "hypot": (np.hypot, True),
    "ldexp": (_ldexp, False),
    "nextafter": (np.nextafter, False),
    "pow": (ieee754.power, True),
    "shift_left": (np.left_shift, True),
    "shift_right": (np.right_shift, True),
}


def _register_all() -> None:
    pure, opaque = CallEffectKind.Pure, CallEffectKind.Opaque
    for count, table in ((1, _UNARY), (2, _BINARY)):
        for name, (compute, vectorizable) in table.items():
            _register(name, pure, count, compute, vectorizable=vectorizable)
    annotation = CallEffectKind.ExprAnnotation
    _register("likely", annotation, 1, _same, vectorizable=True)
    _register("fma", pure, 3, _fma, vectorizable=True)
    _register("reinterpret", pure, 1, vectorizable=True)
    _register("address_of isnullptr", pure, 1)
    _register("if_then_else", pure, 3)
    _register("dot_pairs", pure, 2)
    _register("q_multiply_shift", pure, 4, vectorizable=True)
    _register("call_pure_extern", pure)
    _register("large_uint_imm", pure, 2)
    _register("vectorhigh vectorlow vectorcombine type_annotation", pure)
    _register("call_extern prefetch tvm_call_packed tvm_storage_sync", opaque)
    _register("tvm_access_ptr", CallEffectKind.SpecialCallArg, 5)
    _register("ret", CallEffectKind.ControlJump, 1)


_register_all()
