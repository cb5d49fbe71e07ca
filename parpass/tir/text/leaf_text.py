"""The text of what is not made of other nodes: types, attributes, constants."""

from __future__ import annotations

import json
import math
from typing import Any

from parpass.ir.text.literals import value_text
from parpass.ir.types.prim_ty import PointerType, PrimType
from parpass.ir.types.ty import TensorType
from parpass.ir.types.type_structure import Type
from parpass.ir.types.type_text import type_text
from parpass.tir.expr import SizeVar, Var
from parpass.tir.prim_expr import FloatImm, IntImm
from parpass.tir.text.notation import SUFFIXES, TYPE_WORDS, is_plain


def loop_type_text(typ: Type) -> str:
    """Return a type as text; `int32` is a `PrimType` here, no tensor."""
    return type_text(typ, _leaf)


def _leaf(typ: Type) -> str:
    if isinstance(typ, PointerType):
        scope = typ.storage_scope
        plain = is_plain(scope) and scope not in TYPE_WORDS
        shown = "" if not scope else f"{scope if plain else json.dumps(scope)} "
        return f"Pointer({shown}{loop_type_text(typ.element_type)})"
    if isinstance(typ, TensorType) and not typ.shape:
        return f"Tensor[(), {typ.dtype}]"
    return typ.dtype if isinstance(typ, PrimType) else str(typ)


def annotation_text(var: Var) -> str:
    """Return what stands behind a variable's name where that is declared."""
    typ = var.type_annotation
    shown = var.dtype if typ is None else loop_type_text(typ)
    if isinstance(typ, PrimType):
        shown = f"PrimType({shown})"
    return f"SizeVar({shown})" if isinstance(var, SizeVar) else shown


def attribute_text(value: Any) -> str:
    """Return the value of an attribute, or all of them as a mapping."""
    return value_text(value, loop_type_text)


def int_text(constant: IntImm) -> str:
    """Return `2`, `2i64`, `True` or `int7(2)`."""
    if constant.dtype == "bool":
        return str(bool(constant.value))
    return _with_dtype(str(constant.value), constant.dtype)


def float_text(constant: FloatImm) -> str:
    """Return `1f32`, `1.5f64`, `bfloat16(1.5)` or `float32(inf)`, in all its digits."""
    value, dtype = constant.value, constant.dtype
    digits = float.__repr__(value).removesuffix(".0")
    if math.isnan(value) and math.copysign(1, value) < 0:
        digits = "-nan"
    if not math.isfinite(value):
        return f"{dtype}({digits})"
    return _with_dtype(digits, dtype)


def _with_dtype(digits: str, dtype: str) -> str:
    suffix = SUFFIXES.get(dtype)
    return f"{dtype}({digits})" if suffix is None else f"{digits}{suffix}"
