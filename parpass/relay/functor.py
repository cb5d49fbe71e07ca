"""Visitors and mutators that do not recurse along the program.

`ExprFunctor` dispatches on the kind of a node and remembers results, as TVM's does.
Before a node is dispatched, the nodes that it depends on have been, from an explicit
stack: an override that calls `self.visit(child)` finds the result there, so
expressions of any depth are visited in Python's ordinary recursion depth.

What "depends on" means is one method, `visited_before`; an override of a `visit_...`
method for a kind that opens a scope (`let`, `if`, function) takes over the visiting
of its children, in its own order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Generic, TypeVar, cast

from parpass.errors import IRTypeError
from parpass.relay.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Tuple,
    TupleGetItem,
    Var,
)
from parpass.relay.node import layout
from parpass.relay.op.registry import Op

ResultT = TypeVar("ResultT")

_METHODS: dict[type[Expr], str] = {
    Var: "visit_var",
    GlobalVar: "visit_global_var",
    Constant: "visit_constant",
    Op: "visit_op",
    Call: "visit_call",
    Tuple: "visit_tuple",
    TupleGetItem: "visit_tuple_getitem",
    Let: "visit_let",
    If: "visit_if",
    Function: "visit_function",
}

_SCOPES = (Let, If, Function)


class ExprFunctor(Generic[ResultT]):
    """Gives every expression a result, once: subclass it and override `visit_...`.

    Attributes:
        memo_map: The results so far. An override may add to it: FoldConstant, for
            one, enters the value of a `let`-bound variable.
    """

    # The methods of a class are looked up once, instead of at every node.
    _visit_methods: ClassVar[dict[type[Expr], Callable[..., Any]]]
    _children_first: ClassVar[dict[type[Expr], Callable[[Any], Sequence[Expr]]]]
    _decides_order: ClassVar[bool]

    # Whether `visited_before` is asked again once what it gave was visited: it may then
    # give more, such as the branch that a condition turned out to take.
    asks_again: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._visit_methods, cls._children_first = {}, {}
        for kind, name in _METHODS.items():
            method = getattr(cls, name)
            by_default = method in _DEFAULTS
            cls._visit_methods[kind] = cls.visit_default if by_default else method
            opens_own_scope = kind in _SCOPES and not by_default
            first = _no_children if opens_own_scope else layout(kind).children
            cls._children_first[kind] = first
        cls._decides_order = cls.visited_before is not _VISITED_BEFORE

    def __init__(self) -> None:
        self.memo_map: dict[Expr, ResultT] = {}

    def visited_before(self, expr: Expr) -> Sequence[Expr]:
        """Return the nodes to visit before `expr` itself is dispatched.

        By default these are the operator and the arguments of a call, the fields of a
        tuple and the tuple of a projection; and all children of a `let`, an `if` or a
        function whose `visit_...` method is not overridden. Override it, giving `()`,
        to see a node before its children; the depth is then limited by Python's
        recursion limit.
        """
        return self._children_first[type(expr)](expr)

    def visit(self, expr: Expr) -> ResultT:
        """Return the result for an expression, from memory if it was visited."""
        memo = self.memo_map
        if expr in memo:
            return memo[expr]
        methods = self._visit_methods
        if type(expr) not in methods:
            raise IRTypeError(f"expected an expression, got {type(expr).__name__}")
        before = self._children_first
        if self._decides_order:
            before = dict.fromkeys(before, self.visited_before)
        asks_again = self.asks_again
        # A node is on the stack twice: plain, to push what it depends on; then marked,
        # to be dispatched. None marks the node under it.
        stack: list[Expr | None] = [expr]
        push = stack.append
        while stack:
            node = stack.pop()
            marked = node is None
            if node is None:
                node = cast("Expr", stack.pop())
            if node in memo:
                continue
            if not marked or asks_again:
                below = before[type(node)](node)
                waiting = [child for child in below if child not in memo]
                if waiting:
                    push(node)
                    push(None)
                    stack.extend(reversed(waiting))
                    continue
            memo[node] = methods[type(node)](self, node)
        return memo[expr]

    def visit_var(self, var: Var) -> ResultT:
        """Give the result for a variable."""
        return self.visit_default(var)

    def visit_global_var(self, global_var: GlobalVar) -> ResultT:
        """Give the result for a reference to a global."""
        return self.visit_default(global_var)

    def visit_constant(self, const: Constant) -> ResultT:
        """Give the result for a constant."""
        return self.visit_default(const)

    def visit_op(self, op: Op) -> ResultT:
        """Give the result for an operator."""
        return self.visit_default(op)

    def visit_call(self, call: Call) -> ResultT:
        """Give the result for a call."""
        return self.visit_default(call)

    def visit_tuple(self, tup: Tuple) -> ResultT:
        """Give the result for a tuple."""
        return self.visit_default(tup)

    def visit_tuple_getitem(self, op: TupleGetItem) -> ResultT:
        """Give the result for a projection."""
        return self.visit_default(op)

    def visit_let(self, let: Let) -> ResultT:
        """Give the result for a `let`; see `let_chain` for a loop over many."""
        return self.visit_default(let)

    def visit_if(self, if_: If) -> ResultT:
        """Give the result for an `if`."""
        return self.visit_default(if_)

    def visit_function(self, fn: Function) -> ResultT:
        """Give the result for a function."""
        return self.visit_default(fn)

    def visit_default(self, expr: Expr) -> ResultT:
        """Give the result for a node whose kind has no override."""
        raise NotImplementedError(
            f"{type(self).__name__} does not say what to do with "
            f"a {type(expr).__name__}; override {_METHODS[type(expr)]}"
        )


def _no_children(_expr: Expr) -> tuple[Expr, ...]:
    return ()


_VISITED_BEFORE: Any = getattr(ExprFunctor, "visited_before")  # noqa: B009 -- untyped
_DEFAULTS = {getattr(ExprFunctor, name) for name in _METHODS.values()}


class ExprVisitor(ExprFunctor[None]):
    """Visits every node of an expression once, children first, for an analysis.

    Override the `visit_...` methods of the kinds you look at.
    """

    def visit_default(self, expr: Expr) -> None:
        """Visit the children."""
        for child in layout(type(expr)).children(expr):
            self.visit(child)


class ExprMutator(ExprFunctor[Expr]):
    """Rewrites an expression bottom-up; what does not change stays the same object.

    Override the `visit_...` methods of the kinds you rewrite; `super().visit_...`
    gives the node with its children rewritten. A shared node is rewritten once, and
    the result is shared.
    """

    def visit_default(self, expr: Expr) -> Expr:
        """Return `expr` with its children rewritten, itself if none changed."""
        shape = layout(type(expr))
        old = shape.children(expr)
        if not old:
            return expr
        memo, visit = self.memo_map, self.visit
        new = [memo[child] if child in memo else visit(child) for child in old]
        for before, after in zip(old, new, strict=True):
            if before is not after:
                return shape.rebuild(expr, new)
        return expr


def post_order_rewrite(expr: Expr, rewrite: Callable[[Any, Expr], Expr]) -> Expr:
    """Return an expression rewritten node by node, children before parents.

    Args:
        expr: The expression.
        rewrite: Called once with each node as it was, and with the same node after its
            children were rewritten; returns what takes its place, such as the second
            one. A variable that is bound has to stay a variable.
    """
    return _PostOrderRewriter(rewrite).visit(expr)


class _PostOrderRewriter(ExprMutator):
    def __init__(self, rewrite: Callable[[Any, Expr], Expr]) -> None:
        super().__init__()
        self._rewrite = rewrite

    def visit_default(self, expr: Expr) -> Expr:
        return self._rewrite(expr, super().visit_default(expr))


def let_chain(let: Expr) -> tuple[list[Let], Expr]:
    """Return a run of nested `let`s as a list, outermost first, and the last body."""
    chain: list[Let] = []
    while isinstance(let, Let):
        chain.append(let)
        let = let.body
    return chain, let
