"""The notation of nodes that is a keyword or a sign, shared by printer and parser.

A word is a keyword only before what belongs to it, such as `min(`, so variables may
have the same names; those named as in `RESERVED` are written with a sigil: `%for`.
"""

from __future__ import annotations

import re

from parpass.ir.node import Node
from parpass.ir.text.literals import relay_name
from parpass.tir.expr import IterVar
from parpass.tir.expr import binary_op as binary
from parpass.tir.stmt import ForKind

# By precedence: those that stand further down bind their operands more tightly.
_SIGNS: list[dict[str, type[Node]]] = [
    {"||": binary.Or},
    {"&&": binary.And},
    {"==": binary.EQ, "!=": binary.NE},
    {"<": binary.LT, "<=": binary.LE, ">": binary.GT, ">=": binary.GE},
    {"+": binary.Add, "-": binary.Sub},
    {"*": binary.Mul, "/": binary.Div},
]
INFIX = {
    sign: (kind, precedence)
    for precedence, signs in enumerate(_SIGNS, 1)
    for sign, kind in signs.items()
}
NOT_PRECEDENCE = len(_SIGNS) + 1
SIGN_OF = {kind: sign for sign, (kind, _) in INFIX.items()}

# Of two operands.
CALLED: dict[str, type[Node]] = {
    "floordiv": binary.FloorDiv,
    "floormod": binary.FloorMod,
    "truncmod": binary.Mod,
    "min": binary.Min,
    "max": binary.Max,
}
WORD_OF = {kind: word for word, kind in CALLED.items()}

FOR_KINDS = {
    "serial": ForKind.SERIAL,
    "parallel": ForKind.PARALLEL,
    "vectorized": ForKind.VECTORIZED,
    "unroll": ForKind.UNROLLED,
    "thread_binding": ForKind.THREAD_BINDING,
}
FOR_WORDS = {int(kind): word for word, kind in FOR_KINDS.items()}

# TVM's words for what an axis is.
ITER_TYPES = {
    "DataPar": IterVar.DataPar,
    "ThreadIndex": IterVar.ThreadIndex,
    "CommReduce": IterVar.CommReduce,
    "Ordered": IterVar.Ordered,
    "Opaque": IterVar.DimInfo,
    "Unrolled": IterVar.Unrolled,
    "Vectorized": IterVar.Vectorized,
    "Parallelized": IterVar.Parallelized,
    "Tensorized": IterVar.Tensorized,
}
ITER_WORDS = {number: word for word, number in ITER_TYPES.items()}

# Of constants; the others are written as `int7(3)`, `bfloat16(1.5)`, `float32(inf)`.
SUFFIXES = {
    "int32": "",
    **{f"int{bits}": f"i{bits}" for bits in (8, 16, 64)},
    **{f"uint{bits}": f"u{bits}" for bits in (8, 16, 32, 64)},
    **{f"float{bits}": f"f{bits}" for bits in (16, 32, 64)},
}

# What is no scope of a pointer, as it begins a type.
TYPE_WORDS = {"Pointer", "Tensor", "fn"}

RESERVED = {
    *("allocate", "assert", "attr", "for", "if", "let", "realize", "seq", "while"),
    *("def", "else", "fn", "free_var", "in", "primfn", "None", "True", "False"),
}
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")


def is_plain(name: str) -> bool:
    """Return whether a name is one token, and no other one."""
    return name not in RESERVED and _PLAIN_NAME.fullmatch(name) is not None


def variable_name(name: str) -> str:
    """Return a name as it is, or with a sigil: `%for`, `%"a b"`."""
    return name if is_plain(name) else relay_name(name)
