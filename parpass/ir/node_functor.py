"""What visitors and mutators of every IR are made of; they do not recurse.

A functor gives each node a result, and remembers it, as TVM's `ExprFunctor` does.
Before a node is dispatched, the nodes that it depends on have been, from an explicit
stack: an override that calls `self.visit(child)` finds the result there, so
expressions of any depth are visited in Python's ordinary recursion depth.

What "depends on" means is one method, `visited_before`; an override of a `visit_...`
method for a kind that opens a scope (`let`, `if`, function) takes over the visiting
of its children, in its own order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar, cast

from parpass.errors import IRTypeError
from parpass.ir.node import Node, reflection

NodeT = TypeVar("NodeT", bound=Node)
ResultT = TypeVar("ResultT")


class NodeFunctor(Generic[NodeT, ResultT]):
    """Gives every node of one IR a result, once.

    An IR makes its own functor of this, with a method for each of its kinds, which are
    told by class: `class ExprFunctor(NodeFunctor[Expr, T], kinds={Var: "visit_var"})`.
    Subclasses of that override methods.

    Attributes:
        memo_map: The results so far. An override may add to it: FoldConstant, for
            one, enters the value of a `let`-bound variable.
    """

    # The methods of a class are looked up once, instead of at every node.
    _kinds: ClassVar[Mapping[type[Node], str]] = {}
    _by_default: ClassVar[Mapping[str, Any]] = {}
    _visit_methods: ClassVar[dict[type[Node], Callable[..., Any]]]
    _children_first: ClassVar[dict[type[Node], Callable[[Any], Sequence[Any]]]]
    _decides_order: ClassVar[bool]

    # Whether `visited_before` is asked again once what it gave was visited: it may then
    # give more, such as the branch that a condition turned out to take.
    asks_again: ClassVar[bool] = False

    def __init_subclass__(
        cls, kinds: Mapping[type[Node], str] | None = None, **kwargs: Any
    ) -> None:
        super().__init_subclass__(**kwargs)
        if kinds is not None:
            cls._kinds = kinds
            cls._by_default = {name: getattr(cls, name) for name in kinds.values()}
        cls._visit_methods, cls._children_first = {}, {}
        for kind, name in cls._kinds.items():
            method = getattr(cls, name)
            by_default = method is cls._by_default[name]
            cls._visit_methods[kind] = cls.visit_default if by_default else method
            opens_own_scope = reflection(kind).scopes and not by_default
            first = _no_children if opens_own_scope else reflection(kind).children
            cls._children_first[kind] = first
        cls._decides_order = cls.visited_before is not _VISITED_BEFORE

    def __init__(self) -> None:
        self.memo_map: dict[NodeT, ResultT] = {}

    def visited_before(self, expr: NodeT) -> Sequence[NodeT]:
        """Return the nodes to visit before `expr` itself is dispatched.

        By default these are the operator and the arguments of a call, the fields of a
        tuple and the tuple of a projection; and all children of a `let`, an `if` or a
        function whose `visit_...` method is not overridden. Override it, giving `()`,
        to see a node before its children; the depth is then limited by Python's
        recursion limit.
        """
        return self._children_first[type(expr)](expr)

    def visit(self, expr: NodeT) -> ResultT:
        """Return the result for an expression, from memory if it was visited.

        Raises:
            IRTypeError: This is no expression of the functor's IR.
        """
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
        stack: list[NodeT | None] = [expr]
        push = stack.append
        while stack:
            node = stack.pop()
            marked = node is None
            if node is None:
                node = cast("NodeT", stack.pop())
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

    def visit_default(self, expr: NodeT) -> ResultT:
        """Give the result for a node whose kind has no override."""
        raise NotImplementedError(
            f"{type(self).__name__} does not say what to do with "
            f"a {type(expr).__name__}; override {self._kinds[type(expr)]}"
        )


def _no_children(_expr: Any) -> tuple[Any, ...]:
    return ()


_VISITED_BEFORE: Any = getattr(NodeFunctor, "visited_before")  # noqa: B009 -- untyped


class NodeVisitor(NodeFunctor[NodeT, None]):
    """Visits every node once, children first, for an analysis."""

    def visit_default(self, expr: NodeT) -> None:
        """Visit the children."""
        for child in reflection(type(expr)).children(expr):
            self.visit(child)


class NodeMutator(NodeFunctor[NodeT, NodeT]):
    """Rewrites bottom-up; what does not change stays the same object."""

    def visit_default(self, expr: NodeT) -> NodeT:
        """Return `expr` with its children rewritten, itself if none changed."""
        fields = reflection(type(expr))
        old = fields.children(expr)
        if not old:
            return expr
        memo, visit = self.memo_map, self.visit
        new = [memo[child] if child in memo else visit(child) for child in old]
        for before, after in zip(old, new, strict=True):
            if before is not after:
                return fields.rebuild(expr, new)
        return expr
