"""Whether a statement may compute memory in the place of other memory that it reads."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

from parpass.ir.node import Node, children, post_order
from parpass.tir.analysis.deep_equal import expr_deep_equal
from parpass.tir.arith import Analyzer
from parpass.tir.data_type import data_type
from parpass.tir.expr import Load, Ramp, Var
from parpass.tir.op import add, const, multiply, subtract
from parpass.tir.prim_expr import IntImm, PrimExpr
from parpass.tir.stmt import AttrStmt, For, IfThenElse, LetStmt, Stmt, Store, While
from parpass.tir.stmt_functor import substitute

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
