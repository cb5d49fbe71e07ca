"""Code generation for the graph executor, with TVM's memory plan.

A lowered module becomes a graph of kernel calls, which are made one after the other. A
value is live from the call that computes it to the last one that reads it; its memory
may hold another value before and after. Allocation is best fit: the smallest free block
that is large enough, else the largest, which grows. Source: TVM 0.8,
`src/relay/backend/graph_plan_memory.cc` (GraphPlanMemory).
"""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple, cast

from parpass.errors import CodeGenError, Hint, HintedMessage
from parpass.errors.core import describe_kind
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.ir.node.tree_size import MAX_COPIES, check_copies
from parpass.ir.types import TensorType, TupleType, Type
from parpass.ir.types.type_structure import check_size
from parpass.relay.analysis.matchers import static_tensor
from parpass.relay.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    Let,
    Tuple,
    TupleGetItem,
    Var,
)
from parpass.runtime.graph_json import Graph, GraphNode, GraphValue
from parpass.runtime.ndarray import NDArray
from parpass.tir.function import PrimFunc

_MATCH_RANGE = 16  # memory so many times smaller or larger is not taken


class KernelCall(NamedTuple):
    """A call: the numbers of the values that it reads, and of those that it writes."""

    reads: Sequence[int]
    writes: Sequence[int]


def planned(
    steps: Sequence[KernelCall], sizes: Sequence[int], kept: Collection[int]
) -> list[int]:
    """Return the number of the memory of each value.

    Args:
        steps: The calls, in the order in which they are made.
        sizes: How many bytes each value has.
        kept: Values that are needed after the last call. What no call writes, inputs
            and constants, is kept anyway, and shares its memory with nothing.
    """
    free, found = _FreeList(), dict[int, int]()
    written = {value for step in steps for value in step.writes}
    for value in range(len(sizes)):
        if value not in written:
            found[value] = free.new(sizes[value])
    readers = Counter(value for step in steps for value in step.reads)
    readers.update(kept)
    for reads, writes in steps:
        for value in writes:
            found[value] = free.take(sizes[value])
        for value in reads:
            readers[value] -= 1
        for value in {*reads, *writes} & written:
            if not readers[value]:
                free.give_back(found[value])
    return [found[value] for value in range(len(sizes))]


class _FreeList:
    """Memory, by numbers, and what of it is free, sorted by size."""

    def __init__(self) -> None:
        self._sizes: list[int] = []
        self._free: list[tuple[int, int]] = []

    def new(self, size: int) -> int:
        self._sizes.append(size)
        return len(self._sizes) - 1

    def take(self, size: int) -> int:
        """Return memory for so many bytes: free one that fits best, else new one."""
        at = bisect.bisect_left(self._free, (size, -1))
        if at < len(self._free) and self._free[at][0] <= size * _MATCH_RANGE:
            return self._free.pop(at)[1]
        if at and self._free[at - 1][0] * _MATCH_RANGE >= size:
            number = self._free.pop(at - 1)[1]
            self._sizes[number] = size
            return number
        return self.new(size)

    def give_back(self, number: int) -> None:
        bisect.insort(self._free, (self._sizes[number], number))


_Entry = tuple[int, int]
_Value = Any  # an _Entry, or a list of _Values for a tuple


class Generated(NamedTuple):
    """A graph, and its weights by the names of their nodes."""

    graph: Graph
    params: dict[str, NDArray]


class _Kind(NamedTuple):
    """Shape and dtype of a value."""

    shape: tuple[int, ...]
    dtype: str


def graph_of(mod: IRModule) -> Generated:
    """Return the graph of a lowered module's `main`.

    Args:
        mod: `main` calls functions of the module: PrimFuncs, which take inputs and then
            results, and primitive functions of Relay. Tuples among arguments are laid
            out flat.

    Raises:
        CodeGenError: `main` has control flow, or a shape is not known.
    """
    main = mod["main"]
    if not isinstance(main, Function):
        raise CodeGenError(
            f"expected a Relay function as 'main', got {describe_kind(main)}"
        )
    check_parameter_shapes(main)
    writer = _GraphWriter(mod)
    for param in main.params:
        writer.add_input(param)
    order = post_order(main.body)
    for node in order:
        if isinstance(node, Let):
            writer.bind(node)
    for node in order:
        writer.visit(node)
    return writer.generated(main.body)


def check_parameter_shapes(function: Function) -> None:
    """Check that the shapes of a network's parameters are known.

    Raises:
        CodeGenError: Some are open; all of these are named.
    """
    types = {one.name_hint: one.type_annotation for one in function.params}
    found = [f"'{name}' of {typ}" for name, typ in types.items() if _is_open(typ)]
    if found:
        raise CodeGenError(
            HintedMessage(
                f"expected known shapes for the graph executor, got open ones of the "
                f"parameters {', '.join(found)}; ",
                Hint.READ_SHAPES,
            ),
            "main",
        )


def _is_open(typ: Type | None) -> bool:
    seen: set[int] = set()  # tuples, which may have parts in common
    waiting = [typ]
    while waiting:
        part = waiting.pop()
        if isinstance(part, TupleType) and id(part) not in seen:
            seen.add(id(part))
            waiting += part.fields
        elif isinstance(part, TensorType) and static_tensor(part) is None:
            return True
    return False


class _GraphWriter:
    """Takes expressions, each after those that it is made of."""

    def __init__(self, mod: IRModule) -> None:
        self._functions = mod.functions_by_name
        self._nodes: list[GraphNode] = []
        self._kinds: list[list[_Kind]] = []  # of each node's values
        self._names: dict[str, int] = {}
        self._params: dict[str, NDArray] = {}
        self._found: dict[Any, _Value] = {}
        self._bound: dict[Var, Expr] = {}
        self._results: dict[str, list[_Kind]] = {}  # of functions

    def add_input(self, param: Var) -> None:
        """Take a parameter; one that is a tuple is an input for each field."""
        whose = f"parameter '{param.name_hint}'"
        kinds = [*_kinds_of(param.type_annotation, whose)]
        is_one = isinstance(param.type_annotation, TensorType)
        names = [
            param.name_hint + ("" if is_one else f"_{i}") for i in range(len(kinds))
        ]
        entries = map(self._add, map(self._unique, names), [[kind] for kind in kinds])
        self._found[param] = _like(param.type_annotation, iter([*entries]))

    def bind(self, let: Let) -> None:
        """Take what a variable stands for."""
        self._bound[let.var] = let.value

    def visit(self, node: Any) -> None:
        """Take an expression."""
        if isinstance(node, Constant):
            name = self._unique(f"p{len(self._params)}")
            self._params[name] = node.data
            kind = _Kind(node.data.shape, node.data.dtype)
            self._found[node] = self._add(name, [kind])
        elif isinstance(node, Call):
            self._found[node] = self._call(node)
        elif isinstance(node, Tuple):
            self._found[node] = [self._value(field) for field in node.fields]
        elif isinstance(node, TupleGetItem):
            value = self._value(node.tuple_value)
            # A kernel's only result may be the only field of a tuple.
            self._found[node] = value[node.index] if isinstance(value, list) else value
        elif isinstance(node, Expr) and not isinstance(node, Let | Var | GlobalVar):
            raise _refused(node)

    def generated(self, result: Expr) -> Generated:
        """Return the graph, with its memory planned."""
        first, count = list[int](), 0
        for kinds in self._kinds:
            first.append(count)
            count += len(kinds)

        def number(entry: _Entry) -> int:
            return first[entry[0]] + entry[1]

        heads = tuple(_flat(self._value(result)))
        steps = [
            KernelCall([*map(number, node.inputs)], range(at, at + node.num_outputs))
            for node, at in zip(self._nodes, first, strict=True)
            if node.function
        ]
        kinds = [kind for each in self._kinds for kind in each]
        sizes = [GraphValue(*kind, 0).nbytes for kind in kinds]
        storage = planned(steps, sizes, {*map(number, heads)})
        values = map(lambda kind, at: GraphValue(*kind, at), kinds, storage)
        return Generated(Graph(tuple(self._nodes), tuple(values), heads), self._params)

    def _value(self, expr: Expr) -> _Value:
        while expr not in self._found:
            if isinstance(expr, Let):
                expr = expr.body
            elif isinstance(expr, Var) and expr in self._bound:
                expr = self._bound[expr]
            else:
                raise _refused(expr)
        return self._found[expr]

    def _call(self, call: Call) -> _Value:
        name = call.op.name_hint if isinstance(call.op, GlobalVar) else ""
        function = self._functions.get(name)
        is_primitive = isinstance(function, Function) and function.has_nonzero_attr(
            "Primitive"
        )
        if not isinstance(function, PrimFunc) and not is_primitive:
            raise _refused(call)
        if name not in self._results:
            self._results[name] = self._kinds_of_results(name, function)
        kinds = self._results[name]
        inputs = tuple(one for arg in call.args for one in _flat(self._value(arg)))
        node, _ = self._add(self._unique(name), kinds, name, inputs)
        entries = [(node, output) for output in range(len(kinds))]
        return entries[0] if len(entries) == 1 else entries

    def _kinds_of_results(self, name: str, function: Any) -> list[_Kind]:
        type_ = function.annotated_type
        result = None if type_ is None else type_.ret_type
        return [*_kinds_of(result, f"the result of '{name}'")]

    def _add(
        self,
        name: str,
        kinds: list[_Kind],
        function: str = "",
        inputs: tuple[_Entry, ...] = (),
    ) -> _Entry:
        self._nodes.append(GraphNode(name, function, inputs, len(kinds)))
        self._kinds.append(kinds)
        return len(self._nodes) - 1, 0

    def _unique(self, name: str) -> str:
        """Return a name that no node has yet, as TVM numbers them."""
        found = name
        while found in self._names:
            found = f"{name}_{self._names[name]}"
            self._names[name] += 1
        self._names[found] = 1
        return found


def _like(type_: Type | None, entries: Iterator[_Entry]) -> _Value:
    if isinstance(type_, TupleType):
        return [_like(field, entries) for field in type_.fields]
    return next(entries)


def _flat(value: _Value) -> list[_Entry]:
    """Return the tensors of a value, in order.

    Raises:
        SizeLimitError: They are too many.
    """
    found, waiting = list[_Entry](), [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, list):
            waiting += cast("list[_Value]", one)[::-1]
        else:
            found.append(one)
        check_copies(
            len(found) + len(waiting),
            "tensors in a tuple",
            "a tuple that contains another twice doubles it",
        )
    return found


def _kinds_of(type_: Type | None, whose: str) -> Iterator[_Kind]:
    """Yield shape and dtype of a value, of a tuple those of each field."""
    if isinstance(type_, TupleType):
        check_size(type_, MAX_COPIES)
        for field in type_.fields:
            yield from _kinds_of(field, whose)
        return
    dims = type_.shape if isinstance(type_, TensorType) else (None,)
    shape = tuple(dim for dim in dims if isinstance(dim, int))
    if len(shape) < len(dims):
        raise CodeGenError(
            HintedMessage(
                f"expected known shapes for the graph executor, {whose} is of type "
                f"{type_}; ",
                Hint.INTERPRET,
            )
        )
    yield _Kind(shape, cast("TensorType", type_).dtype)


def _refused(node: Expr) -> CodeGenError:
    return CodeGenError(
        HintedMessage(
            "expected calls of kernels, tuples and lets in 'main' for the graph "
            f"executor, got {describe_kind(node)}; with control flow, ",
            Hint.INTERPRET,
        ),
        "main",
        getattr(node, "span", None),
    )
