"""The data flow of a function, from values to the nodes that use them."""

from __future__ import annotations

from parpass.ir.node import children
from parpass.ir.operators.op_table import Op, OpPattern
from parpass.ir.types.ty import TensorType, TupleType
from parpass.relay.expr import Call, Constant, Expr, Function, Tuple, TupleGetItem

# Scalars of these are written into a fused function instead of being passed to it.
_INLINE_DTYPES = frozenset({"int32", "int64", "float32", "float64", "bool"})


class ForwardGraph:
    """Nodes by index, users after what they use, as TVM's IndexedForwardGraph.

    Attributes:
        nodes: The nodes in post-order; operators are not among them.
        index: The index of each node.
        patterns: The fusion pattern of each node.
        users: The users of each node, as pairs of an index and the pattern of the use.
        is_external: Whether each node is used by something that is no data flow: it is
            a function's parameter or result, bound by a `let`, a branch of an `if`.
    """

    def __init__(self, root: Expr) -> None:
        self.nodes = data_flow_order(root)
        self.index = {node: at for at, node in enumerate(self.nodes)}
        count = len(self.nodes)
        self.patterns = [OpPattern.OPAQUE] * count
        self.users: list[list[tuple[int, OpPattern]]] = [[] for _ in range(count)]
        self.is_external = [False] * count
        self.is_external[-1] = True
        for at, node in enumerate(self.nodes):
            self._add(at, node)

    def _add(self, at: int, node: Expr) -> None:
        if isinstance(node, Call):
            self._add_call(at, node)
        elif isinstance(node, Constant):
            if node.data.shape == () and node.data.dtype in _INLINE_DTYPES:
                self.patterns[at] = OpPattern.ELEMWISE
        elif isinstance(node, Tuple):
            self.patterns[at] = OpPattern.TUPLE
            for field in node.fields:
                if isinstance(getattr(field, "checked_type_", None), TensorType):
                    self._use(field, at, OpPattern.INJECTIVE)
                else:
                    self._use_externally(field)
        elif isinstance(node, TupleGetItem):
            self._add_projection(at, node)
        elif not is_left_alone(node):
            for child in children(node):
                self._use_externally(child)

    def _add_call(self, at: int, call: Call) -> None:
        pattern = self.patterns[at] = _pattern_of(call)
        if not isinstance(call.op, Op):
            self._use_externally(call.op)
        if pattern is not OpPattern.BROADCAST:
            for arg in call.args:
                self._use(arg, at, pattern)
            return
        # A broadcast is elementwise to those arguments that have the result's shape.
        result = call.checked_type
        shape = result.shape if isinstance(result, TensorType) else None
        for arg in call.args:
            found = arg.checked_type
            same = isinstance(found, TensorType) and found.shape == shape
            self._use(arg, at, OpPattern.ELEMWISE if same else pattern)

    def _add_projection(self, at: int, node: TupleGetItem) -> None:
        of = node.tuple_value.checked_type
        fields = of.fields if isinstance(of, TupleType) else ()
        if all(isinstance(field, TensorType) for field in fields):
            self.patterns[at] = OpPattern.INJECTIVE
            self._use(node.tuple_value, at, OpPattern.INJECTIVE)
        else:  # a fused function takes and gives tensors and flat tuples of them
            self._use_externally(node.tuple_value)

    def _use(self, value: Expr, user: int, pattern: OpPattern) -> None:
        self.users[self.index[value]].append((user, pattern))

    def _use_externally(self, value: Expr) -> None:
        self.is_external[self.index[value]] = True


def is_left_alone(node: Expr) -> bool:
    """Return whether a node is a function that is fused already, or compiled apart."""
    return isinstance(node, Function) and (
        node.has_nonzero_attr("Primitive") or node.has_nonzero_attr("Compiler")
    )


def data_flow_order(root: Expr) -> list[Expr]:
    """Return the nodes in post-order, without operators and what is left alone."""
    done: set[Expr] = set()
    order: list[Expr] = []
    stack: list[tuple[Expr, bool]] = [(root, False)]
    while stack:
        node, is_expanded = stack.pop()
        if node in done:
            continue
        if is_expanded or is_left_alone(node):
            done.add(node)
            order.append(node)
            continue
        stack.append((node, True))
        stack += [
            (child, False)
            for child in reversed(children(node))
            if child not in done and not isinstance(child, Op)
        ]
    return order


def _pattern_of(call: Call) -> OpPattern:
    op = call.op
    if not isinstance(op, Op) or op.effect or op.non_computational:
        return OpPattern.OPAQUE
    return op.pattern
