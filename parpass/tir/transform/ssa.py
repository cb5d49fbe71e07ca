"""Each variable bound once, after statements were copied."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import Any

from msgspec import structs

from parpass.ir.node import Node, bindings, children, post_order, reflection
from parpass.ir.node.tree_size import MAX_COPIES, check_copies, check_tree_size
from parpass.tir.expr import Buffer, Let, Var
from parpass.tir.stmt import STMT_KINDS, Allocate, BufferRealize, For, LetStmt, Stmt
from parpass.tir.stmt_expr_functor import StmtExprMutator, statements_in
from parpass.tir.stmt_functor import STATEMENT_REMEDY

_MOST = MAX_COPIES // 4  # at each place all that is in them is gone through
_BINDERS = (For, LetStmt, Let, Allocate)
_BINDING_STATEMENTS = {For, LetStmt, Allocate, BufferRealize}


def convert_ssa(stmt: Stmt) -> Stmt:
    """Return a statement in which no variable is bound twice: the later ones are new.

    TVM's `ConvertSSA`. What need not change stays the same object.

    Raises:
        SizeLimitError: What binds variables is used at too many places, each of which
            would get variables of its own.
    """
    if _is_bound_once(stmt):
        return stmt
    result = _Renaming(_binding_nodes(stmt)).visit(stmt)
    assert isinstance(result, Stmt)
    return result


def _is_bound_once(root: Stmt) -> bool:
    """Return whether it is seen at a glance, in a tenth of the time of a rewrite.

    All is looked at once. A statement that stands at several places is to bind nothing;
    where an expression binds a variable, nothing is said.
    """
    bound: set[Any] = set()
    again: list[Node] = []  # statements that were met before
    for node in _each_once([root], again):
        if type(node) is Let:
            return False
        if type(node) in _BINDING_STATEMENTS:
            [var] = _bound_by(node)
            if var in bound:
                return False
            bound.add(var)
    return not any(type(node) in _BINDING_STATEMENTS for node in _each_once(again, []))


def _each_once(roots: list[Node], again: list[Node]) -> Iterator[Node]:
    seen: set[Node] = set()
    stack = roots[:]
    while stack:
        node = stack.pop()
        if node in seen:
            if type(node) in STMT_KINDS:
                again.append(node)
            continue
        seen.add(node)
        yield node
        stack += children(node)


def _binding_nodes(root: Stmt) -> set[Node]:
    """Return the nodes that bind variables or have such in them.

    Raises:
        SizeLimitError: Statements among them are used at too many places.
    """
    found: set[Node] = set()
    for node in post_order(root):
        if _bound_by(node) or not found.isdisjoint(children(node)):
            found.add(node)

    def below(stmt: Node) -> list[Node]:
        return [one for one in statements_in(stmt) if one in found]

    check_tree_size(
        root, below, "statements that bind variables", STATEMENT_REMEDY, _MOST
    )
    return found


class _Renaming(StmtExprMutator):
    """Goes through a program in order; what binds variables, at each of its places.

    In one statement an expression that binds has one place: a `let` may be several
    operands.

    Args:
        binding: What binds variables, or has such in it.
    """

    def __init__(self, binding: set[Node]) -> None:
        super().__init__()
        self._bound: set[Node] = set()
        self._binding = binding
        self._most = sum([bool(_bound_by(node)) for node in binding])
        self._renamings = 0
        self._in_statement: list[Node] = []  # those of them that are expressions
        self._new: dict[Node, Var] = {}  # in force where we are
        self._buffers: dict[tuple[Any, ...], Buffer] = {}

    def visit_default(self, expr: Node) -> Any:
        bound = _bound_by(expr)
        if expr in self._binding and not isinstance(expr, Stmt):
            self._in_statement.append(expr)
        again = [var for var in bound if var in self._bound]
        self._bound.update(bound)
        if again:
            new = yield from self._renamed(expr, again)
            return new
        new = yield from self._visited(expr)
        return new

    def visit_var_(self, op: Var) -> Node:
        return self._new.get(op, op)

    def visit_buffer_(self, op: Buffer) -> Node:
        fields = reflection(Buffer)
        old = fields.children(op)
        new = [self.visit(part) for part in old]
        if all(map(_same, old, new)):
            return op
        key = (op, *new)
        if key not in self._buffers:
            self._buffers[key] = fields.rebuild(op, new)
        return self._buffers[key]

    def _renamed(self, node: Node, again: Sequence[Var]) -> Generator[Node, Node, Node]:
        self._renamings += 1
        check_copies(
            self._renamings - self._most,
            "expressions and statements that bind variables",
            STATEMENT_REMEDY,
        )
        known, inside = self.memo_map, dict[Node, Node]()
        if isinstance(node, Let):  # what stands beside it shares the value
            inside[node.value] = yield from self.visit_child(node.value)
        before = {var: self._new.get(var) for var in again}
        fresh: dict[Node, Var] = {var: structs.replace(var) for var in again}
        self._bound.update(fresh.values())
        # What else is outside of the scope of the variables is visited with them as
        # well: it does not mention them.
        self._new.update(fresh)
        self.memo_map = inside
        new = yield from self._visited(node)
        self.memo_map = known
        for var, one in before.items():
            if one is None:
                del self._new[var]
            else:
                self._new[var] = one
        return new

    def _end_statement(self) -> None:
        for expr in self._in_statement:
            self.memo_map.pop(expr, None)
        self._in_statement.clear()

    def _visited(self, node: Node) -> Generator[Node, Node, Node]:
        fields = reflection(type(node))
        old, new = fields.children(node), list[Node]()
        for child in old:
            if isinstance(child, Stmt):
                self._end_statement()
            new.append((yield from self.visit_child(child)))
            if isinstance(child, Stmt) and child in self._binding:
                self.memo_map.pop(child, None)
        if isinstance(node, Stmt):
            self._end_statement()
        if all(map(_same, old, new)):
            return node
        return fields.rebuild(node, new)


def _bound_by(node: Node) -> tuple[Any, ...]:
    if isinstance(node, BufferRealize):
        return (node.buffer.data,)
    return bindings(node) if isinstance(node, _BINDERS) else ()


def _same(one: Node, other: Node) -> bool:
    return one is other
