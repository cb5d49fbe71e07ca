"""The storage plan: allocations that share memory, by their live ranges.

It is TVM's `StoragePlanRewriter`; a statement may also compute its result in place of
memory that it reads.
"""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from parpass.ir.node import Node, children, post_order
from parpass.tir.analysis.expr_analysis import expr_deep_equal
from parpass.tir.arith import Analyzer
from parpass.tir.data_type import data_type
from parpass.tir.expr import Load, Ramp, Var
from parpass.tir.op import add, const, multiply, subtract
from parpass.tir.prim_expr import IntImm, PrimExpr
from parpass.tir.stmt import (
    Allocate,
    AttrStmt,
    For,
    IfThenElse,
    LetStmt,
    Stmt,
    Store,
    While,
)
from parpass.tir.stmt_functor import substitute
from parpass.tir.transform.linear_accesses import (
    Accesses,
    Point,
    StorageScope,
    scope_of,
    stored_bits,
)

_ALLOWED = (For, IfThenElse, AttrStmt, Store)
_OPAQUE_KEYS = ("extern_scope", "volatile_scope", "thread_extent", "virtual_thread")


class _Written(NamedTuple):
    """A store, and the loops around it."""

    store: Store
    loops: tuple[For, ...]


class InPlace:
    """Knows the accesses of a statement.

    TVM's `InplaceOpVerifier` takes it that code was generated from compute schedules,
    which write each element once. Here that is proven: there is one store, and no two
    rounds of the loops around it have one index.

    Args:
        stmt: The statement.
        analyzer: For proofs.
    """

    def __init__(self, stmt: Stmt, analyzer: Analyzer) -> None:
        self._analyzer = analyzer
        self._written: dict[Var, list[_Written]] = {}
        self._read: dict[Var, list[tuple[Load, Store | None]]] = {}
        self._passed: set[Node] = set()  # as pointers, to do anything with
        self._bound: set[Any] = set()
        self._is_plain = isinstance(stmt, _ALLOWED)
        self._collect(stmt)

    def allows(self, target: Var, source: Var) -> bool:
        """Return whether `target` may be the memory that is `source` before."""
        written = self._written.get(target, [])
        if not self._is_plain or len(written) != 1 or self._passed & {target, source}:
            return False
        if target in self._read or source in self._written:
            return False
        [(store, loops)] = written
        reads = self._read.get(source, [])
        return all(
            at is store
            and load.dtype == store.value.dtype
            and expr_deep_equal(load.index, store.index)
            for load, at in reads
        ) and self._differs_by_round(store.index, loops)

    def _collect(self, root: Stmt) -> None:
        stack: list[tuple[Any, tuple[For, ...]]] = [(root, ())]
        while stack and self._is_plain:
            stmt, loops = stack.pop()
            store = stmt if isinstance(stmt, Store) else None
            if isinstance(stmt, While) or _is_opaque(stmt):
                self._is_plain = False
            if isinstance(stmt, LetStmt):
                self._bound.add(stmt.var)
            if store is not None:
                at = _Written(store, loops)
                self._written.setdefault(store.buffer_var, []).append(at)
            below = children(stmt)
            self._expressions(
                [one for one in below if not isinstance(one, Stmt)], store
            )
            within = (*loops, stmt) if isinstance(stmt, For) else loops
            stack += [(one, within) for one in below if isinstance(one, Stmt)]

    def _expressions(self, exprs: list[Any], store: Store | None) -> None:
        """Note what is read in expressions of a statement, and in which store."""
        below = {node: children(node) for one in exprs for node in post_order(one)}
        loading: set[Node] = set()  # what has loads in it
        for node, parts in below.items():
            has_load = not loading.isdisjoint(parts)
            if isinstance(node, Load):
                self._read.setdefault(node.buffer_var, []).append((node, store))
                self._is_plain &= not has_load
            elif not isinstance(node, Var):
                self._passed.update(parts)
            if has_load or isinstance(node, Load):
                loading.add(node)
        if store is not None and store.index in loading:
            self._is_plain = False

    def _differs_by_round(self, index: PrimExpr, loops: tuple[For, ...]) -> bool:
        """Return whether no element has the index in two rounds of loops.

        The index is to be a number of mixed radix: each variable has a factor that is
        greater than what all variables of lesser factors make up together.
        """
        digits: list[tuple[PrimExpr, PrimExpr]] = []  # a factor, how many values
        if isinstance(index, Ramp):
            digits.append((index.stride, const(index.lanes, index.stride.dtype)))
            index = index.base
        variables = {loop.loop_var for loop in loops}
        for loop in reversed(loops):
            factor = self._factor(index, loop.loop_var)
            if factor is None or mentions(factor, variables):
                return False
            if mentions(loop.extent, variables):
                return False
            digits.append((factor, loop.extent))
        if mentions(index, self._bound) or data_type(index.dtype).lanes > 1:
            return False
        return self._is_mixed_radix(digits)

    def _factor(self, index: PrimExpr, var: Var) -> PrimExpr | None:
        """Return by what a variable is multiplied in a sum; None if it is not so."""
        at = [substitute(index, {var: const(one, var.dtype)}) for one in (0, 1)]
        factor = self._analyzer.simplify(subtract(at[1], at[0]))
        whole = add(at[0], multiply(factor, var))
        return factor if self._analyzer.can_prove_equal(index, whole) else None

    def _is_mixed_radix(self, digits: list[tuple[PrimExpr, PrimExpr]]) -> bool:
        if all(isinstance(factor, IntImm) for factor, _ in digits):
            digits = [(_absolute(factor), count) for factor, count in digits]
            digits.sort(key=lambda digit: cast("IntImm", digit[0]).value)
        below: PrimExpr | None = None  # how much the digits so far make up, and one
        for factor, count in digits:
            one = const(1, factor.dtype)
            if isinstance(count, IntImm) and count.value <= 1:
                continue
            below = one if below is None else below
            if not self._analyzer.can_prove(factor >= below):
                return False
            below = add(below, multiply(factor, subtract(count, one)))
        return True


def mentions(expr: PrimExpr, variables: set[Any]) -> bool:
    """Return whether one of some variables is in an expression."""
    return any(node in variables for node in post_order(expr))


def _is_opaque(stmt: Stmt) -> bool:
    return isinstance(stmt, AttrStmt) and stmt.attr_key in _OPAQUE_KEYS


def _absolute(factor: PrimExpr) -> PrimExpr:
    return const(abs(cast("IntImm", factor).value), factor.dtype)


_MATCH_RANGE = 16  # memory so many times larger or smaller may be used instead
_SMALL_BITS = 32  # what is not larger is kept in registers
_MAX_IN_PLACE = 2  # a statement that begins to write more is not computed in place


@dataclass(eq=False)
class SharedMemory:
    """Memory that several allocations get, one after the other.

    Attributes:
        parallel: The statement in whose body it is allocated; None for the function's.
        scope: Where it is.
        dtype: That of the elements, of the first allocation.
        bits: The largest size so far; 0 if one is no constant.
        allocations: Those that get it.
        offset: Where it begins, in bits, in that of which it is a part.
        var: The pointer to it.
    """

    parallel: Stmt | None
    scope: StorageScope
    dtype: str
    bits: int
    allocations: list[Allocate] = field(default_factory=list[Allocate])
    offset: int = 0
    var: Var | None = None

    @property
    def is_shareable(self) -> bool:
        """Whether it is no memory that a compiler may keep in registers."""
        if self.scope.tag:
            return True
        is_small = 0 < self.bits <= _SMALL_BITS
        return not (self.scope.is_near or self.dtype == "handle" or is_small)


class _Free:
    """Memory that is not in use: of known sizes, and of others."""

    def __init__(self) -> None:
        self._sized: list[tuple[int, int, SharedMemory]] = []
        self._others: list[SharedMemory] = []
        self._added = 0

    def add(self, memory: SharedMemory) -> None:
        """Take what is not in use any more."""
        if not memory.bits:
            self._others.append(memory)
            return
        self._added += 1
        bisect.insort(self._sized, (memory.bits, self._added, memory))

    def taken(self, wanted: SharedMemory) -> SharedMemory | None:
        """Return what fits best of it, and is in use from now on."""
        if not wanted.bits:
            return self._other(wanted)
        sized, bits = self._sized, wanted.bits
        first = bisect.bisect_left(sized, (bits // _MATCH_RANGE,))
        middle = bisect.bisect_left(sized, (bits,))
        last = bisect.bisect_left(sized, (bits * _MATCH_RANGE + 1,))
        larger = [(at, False) for at in range(middle, last)]
        smaller = [(at, True) for at in range(middle - 1, first - 1, -1)]
        for at, is_smaller in larger + smaller:
            memory = sized[at][-1]
            if memory.scope != wanted.scope or not _is_alike(
                memory, wanted, is_smaller
            ):
                continue
            del sized[at]
            memory.bits = max(memory.bits, bits)
            return memory
        return None

    def _other(self, wanted: SharedMemory) -> SharedMemory | None:
        for at, memory in enumerate(self._others):
            if (memory.scope, memory.dtype) == (wanted.scope, wanted.dtype):
                return self._others.pop(at)
        return None


def _is_alike(memory: SharedMemory, wanted: SharedMemory, of_one: bool = True) -> bool:
    """Return whether elements of one dtype, or of as many lanes, are in two."""
    if of_one:
        return memory.dtype == wanted.dtype
    return data_type(memory.dtype).lanes == data_type(wanted.dtype).lanes


class SharingPlan:
    """Goes through the accesses of a program, and gives each allocation its memory.

    Attributes:
        memory: What each allocation gets; nothing, if it is never accessed.
        order: All memory, in the order in which it is first used.
    """

    def __init__(self, accesses: Accesses, analyzer: Analyzer) -> None:
        self.memory: dict[Var, SharedMemory] = {}
        self.order: list[SharedMemory] = []
        self._allocations = accesses.allocations
        self._analyzer = analyzer
        self._begun, self._ended = _lives(accesses)
        self._replaced: set[Var] = set()  # what others are computed in the place of
        self._free: list[tuple[Stmt | None, _Free]] = [(None, _Free())]
        for at, point in enumerate(accesses.points):
            if at == point.begin:
                self._begin(point)
            if at == point.end:
                self._end(point)

    def _begin(self, point: Point) -> None:
        begun = self._begun[point]
        sources = self._ended[point] if len(begun) <= _MAX_IN_PLACE else []
        in_place: InPlace | None = None
        for var in begun:
            node = self._allocations[var]
            wanted = self._new(node)
            found: SharedMemory | None = None
            for source in self._alike(wanted, sources):
                in_place = in_place or InPlace(point.stmt, self._analyzer)
                if in_place.allows(var, source):
                    found = self.memory[source]
                    self._replaced.add(source)
                    break
            found = found or self._taken(node, wanted)
            found.allocations.append(node)
            self.memory[var] = found
        if point.is_parallel:
            self._free.append((point.stmt, _Free()))

    def _end(self, point: Point) -> None:
        if point.is_parallel:
            self._free.pop()
        for var in self._ended[point]:
            memory = self.memory[var]
            if memory.is_shareable and var not in self._replaced:
                self._free[-1][1].add(memory)

    def _new(self, node: Allocate) -> SharedMemory:
        bits = _constant_count(node) * stored_bits(node.dtype)
        scope = scope_of(node.buffer_var)
        return SharedMemory(self._free[-1][0], scope, node.dtype, bits)

    def _alike(self, wanted: SharedMemory, sources: list[Var]) -> Iterable[Var]:
        for source in sources:
            memory = self.memory.get(source)
            if source in self._replaced or memory is None:
                continue
            is_as_large = memory.bits == wanted.bits
            if (
                is_as_large
                and memory.scope == wanted.scope
                and _is_alike(memory, wanted)
            ):
                yield source

    def _taken(self, node: Allocate, wanted: SharedMemory) -> SharedMemory:
        if wanted.is_shareable:
            found = self._free[-1][1].taken(wanted)
            if found is not None:
                return found
        self.order.append(wanted)
        return wanted


_Lives = defaultdict[Point, list[Var]]


def _lives(accesses: Accesses) -> tuple[_Lives, _Lives]:
    """Return the memory whose use begins at points, and that whose use ends there."""
    begun, ended = _Lives(list), _Lives(list)
    numbered = list(enumerate(accesses.points))
    _first_touch(accesses, begun, [one for at, one in numbered if at == one.begin])
    _first_touch(
        accesses, ended, [one for at, one in reversed(numbered) if at == one.end]
    )
    return begun, ended


def _first_touch(accesses: Accesses, found: _Lives, points: list[Point]) -> None:
    """Note at which of some points each memory is accessed first."""
    seen: set[Var] = set()
    for point in points:
        for var in point.touched:
            if var in accesses.allocations and var not in seen:
                seen.add(var)
                found[point].append(var)


def _constant_count(node: Allocate) -> int:
    """Return how many elements are allocated; 0 if that is no constant."""
    count = 1
    for extent in node.extents:
        count *= extent.value if isinstance(extent, IntImm) else 0
    return max(count, 0)
