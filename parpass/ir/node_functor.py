"""What visitors and mutators of every IR are made of; they do not recurse.

A functor gives each node a result, and remembers it, as TVM's `ExprFunctor` does.
Before a node is dispatched, the nodes that it depends on have been, from an explicit
stack: an override that calls `self.visit(child)` finds the result there, so
expressions of any depth are visited in Python's ordinary recursion depth.

What "depends on" means is one method, `visited_before`; an override of a `visit_...`
method for a kind that opens a scope (`let`, `if`, function) takes over the visiting
of its children, in its own order.

It goes down by Python's recursion then, unless it is a generator: that yields a node,
and is sent its result. So a `visit_...` may do something before its children, between
them and after them, at any depth:

    def visit_for_(self, loop):
        self.loops.append(loop.loop_var)
        body = yield loop.body
        self.loops.pop()
        return ...
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Generator, Mapping, Sequence
from types import GeneratorType
from typing import Any, ClassVar, Generic, TypeVar

from parpass.errors import IRTypeError
from parpass.ir.node import Node, reflection

NodeT = TypeVar("NodeT", bound=Node)
ResultT = TypeVar("ResultT")


class NodeFunctor(Generic[NodeT, ResultT]):
    """Gives every node of one IR a result, once.

    An IR makes its own functor of this, with a method for each of its kinds, which are
    told by class: `class ExprFunctor(NodeFunctor[Expr, T], kinds={Var: "visit_var"})`.
    Subclasses of that override methods. Of `leaves` the children are not visited.

    Attributes:
        memo_map: The results so far. An override may add to it: FoldConstant, for
            one, enters the value of a `let`-bound variable.
    """

    # The methods of a class are looked up once, instead of at every node.
    _kinds: ClassVar[Mapping[type[Node], str]] = {}
    _leaves: ClassVar[frozenset[type[Node]]] = frozenset()
    _by_default: ClassVar[Mapping[str, Any]] = {}
    _visit_methods: ClassVar[dict[type[Node], Callable[..., Any]]]
    _children_first: ClassVar[dict[type[Node], Callable[[Any], Sequence[Any]]]]
    _decides_order: ClassVar[bool]
    _suspended: ClassVar[
        frozenset[type[Node]]
    ]  # the kinds whose methods are generators

    # Whether `visited_before` is asked again once what it gave was visited: it may then
    # give more, such as the branch that a condition turned out to take.
    asks_again: ClassVar[bool] = False

    def __init_subclass__(
        cls,
        kinds: Mapping[type[Node], str] | None = None,
        leaves: Sequence[type[Node]] = (),
        **kwargs: Any,
    ) -> None:
        super().__init_subclass__(**kwargs)
        if kinds is not None:
            cls._kinds, cls._leaves = kinds, frozenset(leaves)
            cls._by_default = {name: getattr(cls, name) for name in kinds.values()}
        cls._visit_methods, cls._children_first = {}, {}
        for kind, name in cls._kinds.items():
            method = getattr(cls, name)
            by_default = method is cls._by_default[name]
            is_leaf = kind in cls._leaves
            default = cls.visit_leaf if is_leaf else cls.visit_default
            cls._visit_methods[kind] = default if by_default else method
            opens_own_scope = reflection(kind).scopes and not by_default
            first = _no_children if opens_own_scope or is_leaf else cls.below(kind)
            cls._children_first[kind] = first
        cls._decides_order = cls.visited_before is not _VISITED_BEFORE
        cls._suspended = frozenset(
            kind
            for kind, method in cls._visit_methods.items()
            if inspect.isgeneratorfunction(method)
        )

    def __init__(self) -> None:
        self.memo_map: dict[NodeT, ResultT] = {}

    @staticmethod
    def below(kind: type[Node]) -> Callable[[Any], Sequence[Any]]:
        """Return what gives the children of a node that are visited, by its kind."""
        return reflection(kind).children

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
            raise _not_of_this_ir(expr)
        if self._suspended:
            return self._visit_suspended(expr)
        before = self._children_first
        if self._decides_order:
            before = dict.fromkeys(before, self.visited_before)
        asks_again = self.asks_again
        # A node is on the stack twice: plain, to push what it depends on; then marked,
        # to be dispatched. None marks the node under it.
        stack: list[Any] = [expr]
        pop, push = stack.pop, stack.append
        while stack:
            node = pop()
            marked = node is None
            if marked:
                node = pop()
            if node in memo:
                continue
            if not marked or asks_again:
                below = before[type(node)](node)
                waiting = [child for child in below if child not in memo]
                if waiting:
                    push(node)
                    push(None)
                    stack += waiting[::-1]
                    continue
            memo[node] = methods[type(node)](self, node)
        return memo[expr]

    def _visit_suspended(self, root: NodeT) -> ResultT:
        """Return the result for a node, where some methods are generators.

        Such a method may put another mapping in the place of `memo_map`, for as long
        as it visits what is in a scope.
        """
        methods, suspended = self._visit_methods, self._suspended
        before = self._children_first
        if self._decides_order:
            before = dict.fromkeys(before, self.visited_before)
        stack: list[Any] = [root]
        try:
            while stack:
                item: Any = stack.pop()
                kind: Any = item.__class__
                if kind is GeneratorType:
                    waited_for, node = stack.pop(), stack.pop()
                    self._resume(item, node, self.memo_map[waited_for], stack)
                    continue
                memo = self.memo_map
                if item is None:
                    node = stack.pop()
                    if node not in memo:
                        memo[node] = methods[type(node)](self, node)
                elif item in memo:
                    pass
                elif kind in suspended:
                    self._resume(methods[kind](self, item), item, None, stack)
                else:
                    if kind not in methods:
                        raise _not_of_this_ir(item)
                    waiting = [one for one in before[kind](item) if one not in memo]
                    if waiting:
                        stack += (item, None, *waiting[::-1])
                    else:
                        memo[item] = methods[kind](self, item)
        finally:
            _close(stack)  # what an error has left
        return self.memo_map[root]

    def _resume(
        self,
        generator: Any,
        node: NodeT,
        result: ResultT | None,
        stack: list[Any],
    ) -> None:
        try:
            wanted = generator.send(result)
        except StopIteration as stop:
            self.memo_map[node] = stop.value
        else:
            stack += (node, wanted, generator, wanted)

    def visit_leaf(self, leaf: NodeT) -> ResultT:
        """Give the result for a leaf whose kind has no override."""
        return self.visit_default(leaf)

    def visit_default(self, expr: NodeT) -> ResultT:
        """Give the result for a node whose kind has no override."""
        raise NotImplementedError(
            f"{type(self).__name__} does not say what to do with "
            f"a {type(expr).__name__}; override {self._kinds[type(expr)]}"
        )


def _close(stack: list[Any]) -> None:
    for item in reversed(stack):
        if type(item) is GeneratorType:
            item.close()


def _not_of_this_ir(value: object) -> IRTypeError:
    return IRTypeError(f"expected an expression, got {type(value).__name__}")


def _no_children(_expr: Any) -> tuple[Any, ...]:
    return ()


_VISITED_BEFORE: Any = getattr(NodeFunctor, "visited_before")  # noqa: B009 -- untyped


class NodeVisitor(NodeFunctor[NodeT, None]):
    """Visits every node once, children first, for an analysis."""

    def visit_leaf(self, leaf: NodeT) -> None:
        """Do nothing."""

    def visit_default(self, expr: NodeT) -> None:
        """Visit the children."""
        for child in reflection(type(expr)).children(expr):
            self.visit(child)

    def visit_children(self, expr: NodeT) -> Generator[NodeT, None, None]:
        """Visit the children, for methods that are generators: `yield from` this."""
        yield from reflection(type(expr)).children(expr)


class NodeMutator(NodeFunctor[NodeT, NodeT]):
    """Rewrites bottom-up; what does not change stays the same object."""

    def visit_leaf(self, leaf: NodeT) -> NodeT:
        """Return a leaf as it is."""
        return leaf

    def visit_default(self, expr: NodeT) -> NodeT:
        """Return `expr` with its children rewritten, itself if none changed."""
        fields = reflection(type(expr))
        old = fields.children(expr)
        if not old:
            return expr
        memo = self.memo_map
        try:
            new = [memo[child] for child in old]
        except KeyError:  # an override has not visited them all
            new = [self.visit(child) for child in old]
        if all(map(operator.is_, old, new)):
            return expr
        return fields.rebuild(expr, new)

    def visit_children(self, expr: NodeT) -> Generator[NodeT, NodeT, Any]:
        """Return the same, for methods that are generators: `yield from` this."""
        fields = reflection(type(expr))
        old, new = fields.children(expr), list[NodeT]()
        for child in old:
            new.append((yield child))
        if all(map(operator.is_, old, new)):
            return expr
        return fields.rebuild(expr, new)

    def visit_child(self, child: NodeT) -> Generator[NodeT, Any, Any]:
        """Return one node rewritten, for methods that are generators: `yield from`."""
        return (yield child)
