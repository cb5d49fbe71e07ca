"""The text of expressions, and of what statements have besides: axes, ranges."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

from parpass.ir.node import Node
from parpass.ir.operators.op_table import Op
from parpass.ir.relay_expr import GlobalVar
from parpass.ir.text.names import name_text
from parpass.ir.text.parts import Part
from parpass.tir.buffer import Buffer, BufferLoad
from parpass.tir.data_type import data_type
from parpass.tir.expr import Any as AnyExpr
from parpass.tir.expr import (
    Broadcast,
    Call,
    Cast,
    Let,
    Load,
    Not,
    Ramp,
    Select,
    Shuffle,
    SizeVar,
    Var,
)
from parpass.tir.iteration import IterVar, Range
from parpass.tir.prim_expr import FloatImm, IntImm, PrimExpr, StringImm
from parpass.tir.reduction import CommReducer, Reduce
from parpass.tir.tensor import ProducerLoad, Tensor
from parpass.tir.text.leaf_text import float_text, int_text
from parpass.tir.text.notation import ITER_WORDS, SIGN_OF, WORD_OF
from parpass.tir.text.text_variables import Variables

_OPERATOR = re.compile(r"tir(?:\.[A-Za-z_][A-Za-z0-9_]*)+")


class ExprText:
    """Writes expressions, each as the parts that it has.

    Args:
        variables: Gives the names.
    """

    def __init__(self, variables: Variables) -> None:
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
