"""Base classes of the visitors and mutators of all IRs, without deep recursion.

A functor computes a result for each node and memoizes it, like TVM's `ExprFunctor`.
Before a node is dispatched, the nodes that it depends on are, from an explicit stack:
an override that calls `self.visit(child)` finds the result in the memo, so expressions
of any depth are visited within Python's ordinary recursion limit.

The dependencies are one method, `visited_before`; an override of a `visit_...` method
for a kind that opens a scope (`let`, `if`, function) takes over the visiting of its
children, in its own order.

Such an override recurses on Python's stack, unless it is a generator: that yields a
node and is sent its result. So a `visit_...` can act before its children, between them
and after them, at any depth:

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
from parpass.ir.node.node import Node, reflection

NodeT = TypeVar("NodeT", bound=Node)
KindT = TypeVar("KindT")
ResultT = TypeVar("ResultT")


def visits(*kinds: type[KindT]) -> Callable[[Any, KindT], Any]:
    """Declare a method of a functor: that for nodes of these kinds.

    Returns:
        The method by default: it returns `visit_default` of the node.
    """

    def visit(functor: Any, node: KindT) -> Any:
        return functor.visit_default(node)

    visit.__dict__["visited_kinds"] = kinds
    return visit


class NodeFunctor(Generic[NodeT, ResultT]):
    """Computes one result for every node of one IR.

    An IR derives its own functor, and declares a method for each of its kinds of nodes:
    `visit_var = visits(Var)`. Subclasses of that override methods. The children of
    `leaves` are not visited.

    Attributes:
        memo_map: The results so far. An override may add to it: FoldConstant, for one,
            enters the value of a `let`-bound variable.
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

    # Whether `visited_before` is called again after its nodes were visited: it may then
    # return more, such as the branch that a condition selects.
    asks_again: ClassVar[bool] = False

    def __init_subclass__(
        cls, leaves: Sequence[type[Node]] = (), **kwargs: Any
    ) -> None:
        super().__init_subclass__(**kwargs)
        declared = {
            name: method
            for name, method in vars(cls).items()
            if hasattr(method, "visited_kinds")
        }
        cls._by_default = _of_bases(cls, "_by_default") | declared
        cls._kinds = _of_bases(cls, "_kinds") | {
            kind: name
            for name, method in declared.items()
            for kind in method.visited_kinds
        }
        cls._leaves = frozenset(leaves).union(
            *(getattr(base, "_leaves", ()) for base in cls.__bases__)
        )
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
        """Return a function from a node of this kind to its visited children."""
        return reflection(kind).children

    def visited_before(self, expr: NodeT) -> Sequence[NodeT]:
        """Return the nodes to visit before `expr` itself is dispatched.

        By default the operator and the arguments of a call, the fields of a tuple and
        the tuple of a projection; and all children of a `let`, an `if` or a function
        whose `visit_...` method is not overridden. An override that returns `()` sees a
        node before its children; the depth is then limited by Python's recursion limit.
        """
        return self._children_first[type(expr)](expr)

    def visit(self, expr: NodeT) -> ResultT:
        """Return the result for an expression, from the memo if it was visited.

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
        # A node is on the stack twice: plain, to push its dependencies; then marked,
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

        Such a method may replace `memo_map` while it visits the nodes of a scope.
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
        """Return the result for a leaf whose kind has no override."""
        return self.visit_default(leaf)

    def visit_default(self, expr: NodeT) -> ResultT:
        """Return the result for a node whose kind has no override."""
        raise NotImplementedError(
            f"{type(self).__name__} does not say what to do with "
            f"a {type(expr).__name__}; override {self._kinds[type(expr)]}"
        )


def _of_bases(cls: type, name: str) -> dict[Any, Any]:
    """Return the mappings that the bases of a class have by a name, as one."""
    found: dict[Any, Any] = {}
    for base in cls.__bases__:
        found |= getattr(base, name, {})
    return found


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
    """Rewrites bottom-up; an unchanged node stays the same object."""

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
        """Return `expr` with rewritten children, for generators: `yield from` this."""
        fields = reflection(type(expr))
        old, new = fields.children(expr), list[NodeT]()
        for child in old:
            new.append((yield child))
        if all(map(operator.is_, old, new)):
            return expr
        return fields.rebuild(expr, new)

    def visit_child(self, child: NodeT) -> Generator[NodeT, Any, Any]:
        """Return one node rewritten, for generators: `yield from` this."""
        return (yield child)
