"""The accesses of memory in order of execution, scope by scope, with storage scopes.

A program is linearized, as by TVM's `LinearAccessPatternFinder`. A loop or a branch is
two points, its begin and its end, with its content between them. An access is recorded
at the point in the scope in which the memory is allocated: for memory that is allocated
outside of a loop, at the end of the loop.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

from parpass.errors import IRError
from parpass.ir.node import bindings, children, post_order
from parpass.ir.op_table import Op
from parpass.ir.types import PointerType
from parpass.tir.analysis.expr_analysis import may_be_speculated
from parpass.tir.binary_op import BinaryOpExpr
from parpass.tir.buffer import Buffer
from parpass.tir.data_type import data_type
from parpass.tir.expr import Call, Let, Load, Var, is_true
from parpass.tir.iteration import IterVar
from parpass.tir.prim_expr import IntImm, PrimExpr
from parpass.tir.stmt import (
    Allocate,
    AssertStmt,
    AttrStmt,
    BufferRealize,
    BufferStore,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
    Store,
    While,
)
from parpass.tir.stmt_functor import check_statement_tree_size

_RANKS = ("global", "shared", "warp", "local", "wmma", "texture")
_ORDINARY_TAGS = ("", ".dyn", ".workspace")


class StorageScope(NamedTuple):
    """A storage scope taken apart, as TVM's.

    Attributes:
        rank: How near the memory is: `global`, `shared`, `local` and so on.
        tag: What follows that, the name of a memory of the machine.
    """

    rank: str
    tag: str

    @property
    def is_tagged(self) -> bool:
        """Whether this is a memory of the machine that all have to share."""
        return self.tag not in _ORDINARY_TAGS

    @property
    def is_near(self) -> bool:
        """Whether a compiler may keep this in registers, which sharing forbids."""
        return self.rank not in ("global", "shared") and not self.tag


def scope_of(pointer: Var) -> StorageScope:
    """Return where the memory of a pointer is."""
    named = cast("PointerType", pointer.type_annotation).storage_scope or "global"
    rank = next((one for one in _RANKS if named.startswith(one)), "")
    return StorageScope(rank, named.removeprefix(rank))


def stored_bits(dtype: str) -> int:
    """Return how many bits one element has in memory, where bools are bytes."""
    kind = data_type(dtype)
    return -(-kind.bits // 8) * 8 * kind.lanes


_SCOPES = (For, While, IfThenElse, AssertStmt)
_SCOPE_KEYS = ("virtual_thread", "extern_scope")


class Point:
    """A place in the program.

    Attributes:
        stmt: The statement.
        begin: The number of the point where it begins; its own if it is no scope.
        end: That of the point where it ends.
        is_parallel: Whether it is a scope that several are in at a time, so that each
            needs memory of its own there.
        touched: The memory that is accessed in it, as far as it is noted here.
    """

    __slots__ = ("begin", "end", "is_parallel", "stmt", "touched")

    def __init__(self, stmt: Stmt, begin: int) -> None:
        self.stmt = stmt
        self.begin = self.end = begin
        self.is_parallel = False
        self.touched: dict[Var, None] = {}


class Accesses(NamedTuple):
    """The accesses of a program.

    Attributes:
        points: All points in order; a scope is there twice, the same object.
        allocations: The allocations that may be moved, and share memory.
    """

    points: list[Point]
    allocations: dict[Var, Allocate]


def linear_accesses(body: Stmt) -> Accesses:
    """Return the accesses of a program in which no variable is bound twice.

    Memory stays where it is if its size is found inside of a loop only, if a condition
    decides whether it is allocated, if elements are accessed by indices of buffers, or
    if its pointer is kept under another name.

    Raises:
        IRError: There is memory in the rounds of a vectorized loop.
        SizeLimitError: Statements are used at too many places.
    """
    check_statement_tree_size(body, "statements to be laid out in a line")
    finder = _Finder()
    finder.run(body)
    known = {
        var: node for var, node in finder.allocations.items() if var not in finder.fixed
    }
    return Accesses(finder.points, known)


class _Leave(NamedTuple):
    """On the stack below what is in a statement."""

    stmt: Stmt
    point: Point | None


class _Finder:
    def __init__(self) -> None:
        self.points: list[Point] = []
        self.allocations: dict[Var, Allocate] = {}
        self.fixed: set[Var] = set()  # memory that stays where it is
        self._level: dict[Var, int] = {}
        self._open: list[Point] = []
        self._parallel = 0  # how many parallel scopes are around
        self._bound: dict[Var, int] = {}  # how many were around what binds it
        self._grids = self._vectorized = 0
        self._numbers: set[Any] = set()  # of what was seen, what mentions no memory

    def run(self, body: Stmt) -> None:
        stack: list[Any] = [body]
        while stack:
            item = stack.pop()
            if isinstance(item, _Leave):
                self._leave(item)
            elif isinstance(item, SeqStmt):
                stack += reversed(item.seq)
            else:
                below = children(item)
                inside = [one for one in below if isinstance(one, Stmt)]
                self._enter(item, stack)
                stack += reversed(inside)

    def _enter(self, stmt: Stmt, stack: list[Any]) -> None:
        """Note what the expressions of a statement access, and begin its scope."""
        point = Point(stmt, len(self.points))
        self._open.append(point)
        is_scope = self._is_scope(stmt)
        if is_scope:
            self.points.append(point)
        self._touch(stmt)
        if not is_scope:
            self._open.pop()
            if point.touched:
                self.points.append(point)
        stack.append(_Leave(stmt, point if is_scope else None))
        self._bind(stmt)
        if is_scope and _begins_threads(stmt):
            point.is_parallel = True
            self._parallel += 1
        self._count(stmt, 1)

    def _leave(self, item: _Leave) -> None:
        stmt, point = item
        self._count(stmt, -1)
        if point is not None:
            self._parallel -= point.is_parallel
            self._open.pop()
            point.end = len(self.points)
            self.points.append(point)

    def _is_scope(self, stmt: Stmt) -> bool:
        if not isinstance(stmt, AttrStmt):
            return isinstance(stmt, _SCOPES)
        is_grid = stmt.attr_key == "thread_extent" and not self._grids
        return is_grid or stmt.attr_key in _SCOPE_KEYS

    def _count(self, stmt: Stmt, by: int) -> None:
        if isinstance(stmt, For) and stmt.kind == ForKind.VECTORIZED:
            self._vectorized += by
        elif isinstance(stmt, AttrStmt) and stmt.attr_key == "thread_extent":
            self._grids += by

    def _bind(self, stmt: Stmt) -> None:
        if isinstance(stmt, For):
            self._bound[stmt.loop_var] = self._parallel
        elif isinstance(stmt, LetStmt):
            self._bound[stmt.var] = self._parallel
        elif isinstance(stmt, AttrStmt) and isinstance(stmt.node, IterVar):
            self._bound[stmt.node.var] = self._parallel
        elif isinstance(stmt, Allocate):
            self._allocate(stmt)

    def _allocate(self, node: Allocate) -> None:
        var = node.buffer_var
        if self._vectorized:
            raise IRError(
                f"expected no memory in a vectorized loop, got '{var.name}': run "
                "VectorizeLoop before StorageRewrite"
            )
        self.allocations[var] = node
        self._level[var] = len(self._open)
        if not (is_true(node.condition) and all(map(self._is_outside, node.extents))):
            self.fixed.add(var)

    def _is_outside(self, extent: PrimExpr) -> bool:
        """Return whether a size is known where memory may be moved to."""
        return may_be_speculated(extent) and all(
            self._bound.get(var, -1) < self._parallel
            for var in post_order(extent)
            if isinstance(var, Var)
        )

    def _touch(self, stmt: Stmt) -> None:
        if isinstance(stmt, Store):
            self._access(stmt.buffer_var)
        elif isinstance(stmt, BufferStore | BufferRealize):
            self.fixed.add(stmt.buffer.data)
        nodes = _nodes_in(stmt, self._numbers)
        if all(map(_is_number, nodes)):
            self._numbers.update(nodes)
        is_kept = _keeps_pointers(stmt) or any(map(_keeps_pointers, nodes))
        for node in nodes:
            if isinstance(node, Buffer):
                self.fixed.add(node.data)
            elif isinstance(node, Var) and node in self._level:
                self._access(node)
                if is_kept:
                    self.fixed.add(node)
            elif isinstance(node, PrimExpr) and not isinstance(node, Load):
                self._fix_tagged(node)

    def _access(self, var: Var) -> None:
        level = self._level.get(var)
        if level is not None:
            self._open[level].touched[var] = None

    def _fix_tagged(self, node: PrimExpr) -> None:
        """Keep tagged memory where it is whose pointer is needed as such."""
        if isinstance(node, Call) and _calls(node, "tir.tvm_access_ptr"):
            return
        for var in children(node):
            if var in self._level and scope_of(var).is_tagged:
                self.fixed.add(var)


def _begins_threads(stmt: Stmt) -> bool:
    """Return whether what is in a scope is done by several at a time."""
    if isinstance(stmt, For):
        return stmt.kind == ForKind.PARALLEL
    return isinstance(stmt, AttrStmt) and stmt.attr_key != "extern_scope"


def _is_number(node: Any) -> bool:
    """Return whether a node is arithmetic, which by itself mentions no memory."""
    if isinstance(node, Var):
        return node.dtype != "handle"
    return isinstance(node, BinaryOpExpr | IntImm)


def _nodes_in(stmt: Stmt, known: set[Any]) -> list[Any]:
    """Return the nodes of the expressions that a statement evaluates, each once.

    Those that are known, with all in them, are left out: expressions may share much.
    """
    if isinstance(stmt, AttrStmt):
        stack: list[Any] = [stmt.value]
    elif isinstance(stmt, Store):
        stack = [stmt.value, stmt.index, stmt.predicate]
    else:
        stack = [one for one in children(stmt) if not isinstance(one, Stmt)]
        bound = bindings(stmt)
        stack = [one for one in stack if one not in bound]
    stack = [one for one in stack if one not in known]
    found = dict.fromkeys(stack)
    while stack:
        node = stack.pop()
        below = () if isinstance(node, Buffer) else children(node)
        new = [one for one in below if one not in found and one not in known]
        found.update(dict.fromkeys(new))
        stack += new
    return list(found)


def _keeps_pointers(node: Any) -> bool:
    """Return whether a node may keep the pointers that are in it, for later use."""
    if isinstance(node, Let | LetStmt):
        return node.var.dtype == "handle"
    if isinstance(node, Store | BufferStore):
        return node.value.dtype == "handle"
    return isinstance(node, Call) and _calls(node, "tir.tvm_struct_set")


def _calls(node: Call, name: str) -> bool:
    return isinstance(node.op, Op) and node.op.name == name
