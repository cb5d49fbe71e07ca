"""From a lowered module to the graph that the graph executor runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, cast

from parpass.errors import CodeGenError, kind_of
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.ir.types.ty import TensorType, TupleType, Type
from parpass.relay.backend.memory_plan import Step, planned
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
        raise CodeGenError(f"expected a Relay function as 'main', got {kind_of(main)}")
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
            Step([*map(number, node.inputs)], range(at, at + node.num_outputs))
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


def _flat(value: _Value) -> Iterator[_Entry]:
    if isinstance(value, list):
        for field in cast("list[_Value]", value):
            yield from _flat(field)
    else:
        yield value


def _kinds_of(type_: Type | None, whose: str) -> Iterator[_Kind]:
    """Yield shape and dtype of a value, of a tuple those of each field."""
    if isinstance(type_, TupleType):
        for field in type_.fields:
            yield from _kinds_of(field, whose)
        return
    dims = type_.shape if isinstance(type_, TensorType) else (None,)
    shape = tuple(dim for dim in dims if isinstance(dim, int))
    if len(shape) < len(dims):
        raise CodeGenError(
            f"expected known shapes for the graph executor, {whose} is of type "
            f"{type_}; give the shape when the model is read, or run it by "
            "relay.create_executor"
        )
    yield _Kind(shape, cast("TensorType", type_).dtype)


def _refused(node: Expr) -> CodeGenError:
    return CodeGenError(
        "expected calls of kernels, tuples and lets in 'main' for the graph executor, "
        f"got {kind_of(node)}; a program with control flow is run by "
        "relay.create_executor",
        "main",
        getattr(node, "span", None),
    )
