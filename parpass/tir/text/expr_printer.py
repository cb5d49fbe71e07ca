"""The text of expressions, types, attributes and constants, with names in scope."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

from parpass.ir.global_var import GlobalVar
from parpass.ir.node import Node
from parpass.ir.op.op_table import Op
from parpass.ir.text.literals import VarNames, float_word, name_text, value_text
from parpass.ir.text.printer import Part
from parpass.ir.types import PointerType, PrimType, TensorType, Type
from parpass.ir.types.type_structure import type_text
from parpass.tir.data_type import data_type
from parpass.tir.expr import Any as AnyExpr
from parpass.tir.expr import (
    Broadcast,
    Buffer,
    BufferLoad,
    Call,
    Cast,
    CommReducer,
    FloatImm,
    IntImm,
    IterVar,
    Let,
    Load,
    Not,
    PrimExpr,
    ProducerLoad,
    Ramp,
    Range,
    Reduce,
    Select,
    Shuffle,
    SizeVar,
    StringImm,
    Tensor,
    Var,
)
from parpass.tir.text.notation import (
    ITER_WORDS,
    SIGN_OF,
    SUFFIXES,
    TYPE_WORDS,
    WORD_OF,
    is_plain,
    variable_name,
)


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
    if not math.isfinite(value):
        return f"{dtype}({float_word(value)})"
    return _with_dtype(float.__repr__(value).removesuffix(".0"), dtype)


def _with_dtype(digits: str, dtype: str) -> str:
    suffix = SUFFIXES.get(dtype)
    return f"{dtype}({digits})" if suffix is None else f"{digits}{suffix}"


class PrintedNames:
    """Names variables and buffers, each by a unique name.

    A binding in the text creates a new variable when it is parsed. So variables that
    are bound twice, and those that are used where they are not bound, are declared in
    the text: each is one variable everywhere.

    Args:
        declares_loose: Whether variables that are not bound are declared where they are
            first used, since there is no head to declare them in.

    Attributes:
        loose: The variables that are declared.
        buffers: The buffers that were named.
        bound: The variables that were bound.
    """

    def __init__(self, *, declares_loose: bool = False) -> None:
        self._declares_loose = declares_loose
        self.loose: dict[Var, None] = {}
        self.buffers: dict[Buffer, None] = {}
        self._names = VarNames(variable_name)
        self.bound: dict[Var, None] = {}
        self._here: Counter[Var] = Counter()

    def use(self, var: Var) -> str:
        """Return the text of a variable that is used."""
        if self.is_bound(var):
            return self.name(var)
        is_declared = self._declares_loose and not self._was_met(var)
        self.loose[var] = None
        return self.declared(var) if is_declared else self.name(var)

    def _was_met(self, var: Var) -> bool:
        return var in self.loose or var in self.bound

    def is_bound(self, var: Var) -> bool:
        """Return whether we are in the scope of a variable."""
        return self._here[var] > 0

    def name(self, var: Var) -> str:
        """Return the name of a variable."""
        return self._names.text_of(var, var.name)

    def declared(self, var: Var) -> str:
        """Return the text of a variable where it is declared."""
        return f"{self.name(var)}: {annotation_text(var)}"

    def buffer(self, buffer: Buffer) -> str:
        """Return the text of a buffer that is used."""
        self.buffers[buffer] = None
        return self._names.text_of(buffer, buffer.name)

    def enter(self, variables: Sequence[Var]) -> Sequence[Part]:
        """Begin the scope of variables."""
        for var in variables:
            if var in self.bound:
                self.loose[var] = None
            self.bound[var] = None
            self._here[var] += 1
        return ()

    def leave(self, variables: Sequence[Var]) -> Sequence[Part]:
        """End the scope of variables."""
        self._here.subtract(variables)
        return ()


_OPERATOR = re.compile(r"tir(?:\.[A-Za-z_][A-Za-z0-9_]*)+")


class ExprPrinter:
    """Writes expressions, each as the parts that it has.

    Args:
        variables: Gives the names.
    """

    def __init__(self, variables: PrintedNames) -> None:
        self.variables = variables
        self._writers: dict[type[Any], Callable[[Any], list[Part]]] = {
            Var: self._var,
            SizeVar: self._var,
            AnyExpr: lambda _: ["?"],
            Buffer: lambda buffer: [self.variables.buffer(buffer)],
            IntImm: lambda constant: [int_text(constant)],
            FloatImm: lambda constant: [float_text(constant)],
            StringImm: lambda constant: [json.dumps(constant.value)],
            Not: lambda node: ["!", self.expr(node.a)],
            Cast: lambda node: [f"cast({node.dtype}, ", self.expr(node.value), ")"],
            Select: self._select,
            Ramp: self._ramp,
            Broadcast: self._broadcast,
            Shuffle: self._shuffle,
            Let: self._let,
            Call: self._call,
            Load: self._load,
            BufferLoad: lambda node: self.access(node.buffer, node.indices),
            ProducerLoad: lambda node: self.access(node.producer, node.indices),
            Tensor: lambda tensor: [tensor.name],
            Range: self._range,
            IterVar: self.axis,
            CommReducer: self._reducer,
            Reduce: self._reduce,
            Op: lambda op: [_operator_text(op)],
            GlobalVar: lambda var: [f"@{name_text(var.name_hint)}"],
            **dict.fromkeys(SIGN_OF, self._infix),
            **dict.fromkeys(WORD_OF, self._called),
        }

    def expr(self, node: Any) -> Part:
        """Return an expression, or what else a statement has, as a part of a text."""
        return partial(self._parts, node)

    def listed(self, nodes: Sequence[Any]) -> list[Part]:
        """Return expressions with commas between them."""
        parts: list[Part] = []
        for node in nodes:
            parts += [", ", self.expr(node)] if parts else [self.expr(node)]
        return parts

    def access(self, what: Node, indices: Sequence[PrimExpr]) -> list[Part]:
        """Return an element of a buffer or a tensor."""
        return [self.expr(what), "[", *self.listed(indices), "]"]

    def pointed_at(self, node: Any) -> list[Part]:
        """Return what a load or a store accesses, by a pointer."""
        held: list[Part] = []
        if not _is_true(node.predicate, node):
            held = [" if ", self.expr(node.predicate)]
        return [self.expr(node.buffer_var), "[", self.expr(node.index), *held, "]"]

    def axis(self, axis: IterVar) -> list[Part]:
        """Return an axis; its variable is declared by it."""
        kind = ITER_WORDS.get(axis.iter_type)
        shown = str(axis.iter_type) if kind is None else json.dumps(kind)
        dom: list[Part] = ["None"] if axis.dom is None else [self.expr(axis.dom)]
        declared = self.variables.declared(axis.var)
        tag = json.dumps(axis.thread_tag)
        return [f"IterVar({declared}, ", *dom, f", {shown}, {tag})"]

    def _parts(self, node: Any) -> Sequence[Part]:
        writer = self._writers.get(cast("type[Any]", type(node)))
        return writer(node) if writer is not None else [f"<{type(node).__name__}>"]

    def _var(self, var: Var) -> list[Part]:
        return [self.variables.use(var)]

    def _infix(self, node: Any) -> list[Part]:
        sign = SIGN_OF[type(node)]
        between = sign if sign == "*" else f" {sign} "
        return ["(", self.expr(node.a), between, self.expr(node.b), ")"]

    def _called(self, node: Any) -> list[Part]:
        return [f"{WORD_OF[type(node)]}(", *self.listed((node.a, node.b)), ")"]

    def _select(self, node: Select) -> list[Part]:
        operands = (node.condition, node.true_value, node.false_value)
        return ["select(", *self.listed(operands), ")"]

    def _ramp(self, node: Ramp) -> list[Part]:
        return ["ramp(", *self.listed((node.base, node.stride)), f", {node.lanes})"]

    def _broadcast(self, node: Broadcast) -> list[Part]:
        return ["broadcast(", self.expr(node.value), f", {node.lanes})"]

    def _shuffle(self, node: Shuffle) -> list[Part]:
        vectors, indices = self.listed(node.vectors), self.listed(node.indices)
        return ["shuffle([", *vectors, "], [", *indices, "])"]

    def _let(self, node: Let) -> list[Part]:
        return [
            f"(let {self.variables.declared(node.var)} = ",
            self.expr(node.value),
            partial(self.variables.enter, (node.var,)),
            " in ",
            self.expr(node.body),
            partial(self.variables.leave, (node.var,)),
            ")",
        ]

    def _call(self, call: Call) -> list[Part]:
        args = self.listed(call.args)
        comma = ", " if args else ""
        return [self.expr(call.op), "(", *args, f"{comma}dtype={call.dtype})"]

    def _load(self, node: Load) -> list[Part]:
        return [f"({node.dtype}*)", *self.pointed_at(node)]

    def _range(self, node: Range) -> list[Part]:
        minimum, extent = self.expr(node.min), self.expr(node.extent)
        return ["Range(min=", minimum, ", extent=", extent, ")"]

    def _reducer(self, node: CommReducer) -> list[Part]:
        declared = self.variables.declared
        sides = (", ".join(map(declared, side)) for side in (node.lhs, node.rhs))
        bound = (*node.lhs, *node.rhs)
        return [
            f"comm_reducer([{'], ['.join(sides)}], [",
            *self.listed(node.identity_element),
            "], [",
            partial(self.variables.enter, bound),
            *self.listed(node.result),
            partial(self.variables.leave, bound),
            "])",
        ]

    def _reduce(self, node: Reduce) -> list[Part]:
        bound = tuple(axis.var for axis in node.axis)
        return [
            "reduce(",
            "None" if node.combiner is None else self.expr(node.combiner),
            ", [",
            *self.listed(node.init),
            "], [",
            *self.listed(node.axis),
            "], [",
            partial(self.variables.enter, bound),
            *self.listed(node.source),
            "], ",
            self.expr(node.condition),
            partial(self.variables.leave, bound),
            f", {node.value_index})",
        ]


def _is_true(predicate: PrimExpr, node: Any) -> bool:
    """Return whether a predicate is the one that an access has if none is given."""
    dtype = node.dtype if isinstance(node, Load) else node.value.dtype
    lanes = data_type(dtype).lanes
    one = predicate
    if lanes > 1:
        if not isinstance(predicate, Broadcast) or predicate.lanes != lanes:
            return False
        one = predicate.value
    return isinstance(one, IntImm) and one.dtype == "bool" and one.value == 1


def _operator_text(op: Op) -> str:
    """Return `@tir.exp`; `op("add")` for an operator of another IR."""
    plain = _OPERATOR.fullmatch(op.name) is not None
    return f"@{op.name}" if plain else f"op({json.dumps(op.name)})"
