"""Lowers a primitive function to a PrimFunc: stages of loops, most often one.

`KernelFlow` is the data flow of the kernel; it decides what is computed inside of the
loops of the anchor.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import NamedTuple

from parpass.ir.node import children, post_order
from parpass.ir.op.op_table import Op, OpPattern
from parpass.ir.types import TensorType, TupleType, Type
from parpass.relay.backend.lowering.elementwise_loops import elementwise_nest
from parpass.relay.backend.lowering.loops import allocated, scratch
from parpass.relay.backend.lowering.rule_registry import (
    Indices,
    NoRuleError,
    OpCall,
    Result,
    Source,
    Store,
    injective_rule,
    templates_of,
)
from parpass.relay.backend.lowering.sources import (
    fields_of,
    loaded,
    parameter,
    remembered,
    scalar,
    tensor_type,
    widened,
)
from parpass.relay.expr import Call, Constant, Expr, Function, Tuple, TupleGetItem
from parpass.runtime.dtypes import computed_in
from parpass.target.target import Target
from parpass.tir import op
from parpass.tir.expr import Buffer, PrimExpr, Var
from parpass.tir.function import PrimFunc
from parpass.tir.stmt import BufferStore, Stmt, stmt_seq

# How much is inlined before a result gets memory of its own: rules call each other, and
# a shared expression is written out for each user.
DEEPEST = 50
LARGEST = 1000
MOST_ASKED = 4


class KernelFlow:
    """The data flow of a primitive function.

    Attributes:
        order: Its expressions in topological order, operands first.
    """

    def __init__(self, function: Function) -> None:
        nodes = post_order(function.body)
        self.order = [
            one for one in nodes if isinstance(one, Expr) and not isinstance(one, Op)
        ]
        self._body = function.body
        self._users: dict[Expr, list[Expr]] = defaultdict(list)
        for node in self.order:
            for child in _expressions(node):
                self._users[child].append(node)

    def downstream(self, call: Call) -> dict[Expr, None]:
        """Return a call and all expressions that depend on it."""
        found: dict[Expr, None] = {call: None}
        waiting: list[Expr] = [call]
        while waiting:
            for user in self._users[waiting.pop()]:
                if user not in found:
                    found[user] = None
                    waiting.append(user)
        return found

    def ends_elementwise(self, call: Call) -> bool:
        """Return whether all nodes downstream of a call are elementwise on it."""
        downstream = self.downstream(call)
        rest = [one for one in downstream if one is not call]
        if isinstance(self._body, Tuple) and self._body in downstream:
            rest.remove(self._body)
        shape, sizes = _shape(call), dict[Expr, int]({call: 1})
        for one in self.order:
            if one in downstream and one is not call:
                sizes[one] = 1 + sum(sizes.get(arg, 0) for arg in _expressions(one))
        return (
            len(rest) < DEEPEST
            and max(sizes.values()) < LARGEST
            and all(_is_elementwise(one, downstream, shape) for one in rest)
        )


def op_of(call: Call) -> Op:
    """Return the operator that a call in a kernel is of."""
    assert isinstance(call.op, Op)
    return call.op


def _expressions(node: Expr) -> list[Expr]:
    return [child for child in children(node) if isinstance(child, Expr)]


def _shape(expr: Expr) -> object:
    return getattr(expr.checked_type, "shape", None)


def _is_elementwise(node: Expr, downstream: dict[Expr, None], shape: object) -> bool:
    """Return whether a node is elementwise on its operands in `downstream`."""
    if not isinstance(node, Call) or not isinstance(node.op, Op):
        return False
    if node.op.pattern > OpPattern.BROADCAST or injective_rule(node.op.name) is None:
        return False
    taken = [arg for arg in node.args if arg in downstream]
    return all(_shape(one) == shape for one in (node, *taken))


def kernel(function: Function, name: str, target: Target) -> PrimFunc:
    """Return the loops of a primitive function.

    Args:
        function: The function, with types on its nodes.
        name: The name that the kernel gets.
        target: The machine.

    Raises:
        NoRuleError: There is something that no rule is for.
    """
    return _KernelBuilder(function, target).built(name)


class _Value(NamedTuple):
    """A tensor of the kernel, and how much is inlined in it."""

    source: Source
    depth: int = 0
    size: int = 1


class _KernelBuilder:
    def __init__(self, function: Function, target: Target) -> None:
        self._function = function
        self._target = target
        self._values: dict[Expr, list[_Value]] = {}
        self._flow = KernelFlow(function)
        self._stages: list[Stmt] = []
        self._scratch: list[Buffer] = []
        # The call that the last stage computes, and what it has stored last.
        self._anchor: Call | None = None
        self._stored: PrimExpr | None = None
        self._stores = 0

    def built(self, name: str) -> PrimFunc:
        function = self._function
        params = [
            parameter(tensor_type(param.checked_type, self._target), param.name_hint)
            for param in function.params
        ]
        for param, buffer in zip(function.params, params, strict=True):
            self._values[param] = [_Value(loaded(buffer))]
        for node in self._flow.order:
            if node not in self._values:
                self._values[node] = self._value(node)
        outputs = self._write_results()
        body = stmt_seq(*self._stages)
        for buffer in reversed(self._scratch):
            body = allocated(buffer, body)
        buffers = [*params, *outputs]
        handles = [Var(buffer.name, "handle") for buffer in buffers]
        attrs = {
            "global_symbol": name,
            "tir.noalias": True,
            PrimFunc.NUM_OUTPUTS: len(outputs),
        }
        buffer_map = dict(zip(handles, buffers, strict=True))
        return PrimFunc(handles, body, None, buffer_map, attrs, function.span)

    def _write_results(self) -> list[Buffer]:
        """Store the results, those that come of the anchor behind its loops."""
        body = self._function.body
        types = fields_of(body.checked_type)
        if isinstance(body.checked_type, TupleType) and len(types) == 1:
            raise NoRuleError("a result that is a tuple of one field")
        found = self._values[body]
        outputs = [
            parameter(tensor_type(one, self._target), "out" if at == 0 else f"out{at}")
            for at, one in enumerate(types)
        ]
        pairs = list(zip(outputs, found, strict=True))
        last: list[tuple[Buffer, _Value]] = []
        if self._anchor is not None:
            downstream = self._flow.downstream(self._anchor)
            nodes = body.fields if isinstance(body, Tuple) else (body,)
            both = list(zip(pairs, nodes, strict=True))
            last = [pair for pair, node in both if node in downstream]
            pairs = [pair for pair, node in both if node not in downstream]
        by_shape: dict[tuple[int, ...], list[tuple[Buffer, _Value]]] = defaultdict(list)
        for pair in pairs:
            by_shape[pair[1].source.shape].append(pair)
        for shape, some in by_shape.items():
            written = functools.partial(_written, some)
            self._stages.append(elementwise_nest(shape, written, self._target))
        if self._anchor is not None:
            self._stages.append(self._last_stage(self._anchor, last))
        return outputs

    def _value(self, node: Expr) -> list[_Value]:
        if isinstance(node, Constant):
            return [_Value(scalar(node))]
        if isinstance(node, Tuple):
            return [one for field in node.fields for one in self._values[field]]
        if isinstance(node, TupleGetItem):
            return [self._values[node.tuple_value][node.index]]
        if not isinstance(node, Call) or not isinstance(node.op, Op):
            raise NoRuleError(f"a {type(node).__name__} within a kernel")
        name = node.op.name
        is_injective, has_loops = injective_rule(name) is not None, templates_of(name)
        if is_injective and not (has_loops and self._prefers_loops(node)):
            fields = enumerate(fields_of(node.checked_type))
            return [self._injective(node, type_, at) for at, type_ in fields]
        if not has_loops:
            raise NoRuleError(f"no rule for '{name}'")
        return self._anchored(node)

    def _injective(self, call: Call, type_: Type, field: int) -> _Value:
        of = tensor_type(type_, self._target)
        operands = self._operands(call)
        sources, is_narrow = widened(op_of(call), [one.source for one in operands])
        dtype = computed_in(of.dtype) if is_narrow else of.dtype
        out = Result(of.concrete_shape, dtype, field)
        rule = injective_rule(op_of(call).name)
        assert rule is not None
        lowered = OpCall(call.attrs, sources, out, self._target)

        def compute(indices: Indices) -> PrimExpr:
            return op.cast_to(rule(lowered, indices), of.dtype)

        source = Source(out.shape, of.dtype, remembered(compute, lambda: self._stores))
        depth = 1 + max((one.depth for one in operands), default=0)
        size = 1 + sum(one.size for one in operands)
        is_downstream = self._anchor is not None and call in self._flow.downstream(
            self._anchor
        )
        if (depth < DEEPEST and size < LARGEST) or is_downstream:
            return _Value(source, depth, size)

        def loops(store: Store) -> Stmt:
            return elementwise_nest(
                out.shape, lambda at: store(at, source.at(at)), self._target
            )

        (value,) = self._in_memory([of], loops)
        return value

    def _anchored(self, call: Call) -> list[_Value]:
        types = self._types(call)
        if not isinstance(call.checked_type, TupleType) and self._is_last(call):
            self._anchor = call

            def stored(indices: Indices) -> PrimExpr:
                assert self._stored is not None
                return self._stored

            (of,) = types
            return [_Value(Source(of.concrete_shape, of.dtype, stored))]
        return self._in_memory(types, lambda store: self._loops(call, store))

    def _types(self, call: Call) -> list[TensorType]:
        """Return the types of a call's results."""
        return [tensor_type(one, self._target) for one in fields_of(call.checked_type)]

    def _prefers_loops(self, call: Call) -> bool:
        """Return whether the template is taken of a call that has a rule as well.

        It is for the end of a kernel, and for what is joined of many tensors, as each
        element would have to ask which one it is of.
        """
        return self._is_last(call) or len(self._operands(call)) > MOST_ASKED

    def _is_last(self, call: Call) -> bool:
        """Return whether the kernel ends with the loops of a call."""
        return self._anchor is None and self._flow.ends_elementwise(call)

    def _in_memory(
        self, types: Sequence[TensorType], loops: Callable[[Store], Stmt]
    ) -> list[_Value]:
        """Return tensors that get memory of their own, and are computed there."""
        buffers = [
            scratch(one.concrete_shape, one.dtype, f"t{len(self._scratch) + at}")
            for at, one in enumerate(types)
        ]

        def store(indices: Indices, *values: PrimExpr) -> Stmt:
            pairs = zip(buffers, values, strict=True)
            return stmt_seq(*(BufferStore(to, one, indices) for to, one in pairs))

        self._stages.append(loops(store))
        self._scratch += buffers
        return [_Value(loaded(one)) for one in buffers]

    def _last_stage(self, call: Call, results: Sequence[tuple[Buffer, _Value]]) -> Stmt:
        def store(indices: Indices, value: PrimExpr) -> Stmt:
            self._stores += 1
            self._stored = value
            return _written(results, indices)

        return self._loops(call, store)

    def _loops(self, call: Call, store: Store) -> Stmt:
        """Return the loops of an anchor, by the first template that takes it."""
        types = self._types(call)
        operands = [one.source for one in self._operands(call)]
        sources, _ = widened(op_of(call), operands)
        of, moves = types[0], op_of(call).moves
        out = Result(of.concrete_shape, of.dtype if moves else computed_in(of.dtype))

        def rounded(indices: Indices, *values: PrimExpr) -> Stmt:
            pairs = zip(values, types, strict=True)
            return store(indices, *(op.cast_to(one, to.dtype) for one, to in pairs))

        lowered = OpCall(call.attrs, sources, out, self._target)
        for template in templates_of(op_of(call).name):
            found = template(lowered, rounded)
            if found is not None:
                return found
        raise NoRuleError(f"no template for this call of '{op_of(call).name}'")

    def _operands(self, call: Call) -> list[_Value]:
        return [one for arg in call.args for one in self._values[arg]]


def _written(results: Sequence[tuple[Buffer, _Value]], indices: Indices) -> Stmt:
    return stmt_seq(
        *[BufferStore(to, one.source.at(indices), indices) for to, one in results]
    )
