"""InstrumentBoundCheckers: assertions that loads and stores are within their memory.

Each load is checked under the conditions under which it is evaluated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from parpass.ir.module import IRModule
from parpass.ir.node import Node, children
from parpass.ir.op.op_table import Op
from parpass.tir.data_type import data_type
from parpass.tir.expr import (
    LT,
    And,
    Broadcast,
    Call,
    IntImm,
    Let,
    Load,
    Or,
    PrimExpr,
    Ramp,
    Shuffle,
    Var,
)
from parpass.tir.function import PrimFunc
from parpass.tir.op import (
    add,
    const,
    less,
    logical_and,
    logical_not,
    logical_or,
    multiply,
)
from parpass.tir.stmt import (
    Allocate,
    AssertStmt,
    AttrStmt,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    Stmt,
    Store,
)
from parpass.tir.stmt_expr_functor import StmtMutator
from parpass.tir.transform.function_pass import PrimFuncPass
from parpass.transform import PassContext, PassInfo, register_pass

_IF_THEN_ELSE = Op.get("tir.if_then_else")
_ADDRESS_OF = Op.get("tir.address_of")


class _Condition(NamedTuple):
    """The context of a load: a condition, or a name with a value.

    Attributes:
        outer: The enclosing context.
        holds: The load is evaluated if this holds.
        name: The variable that is bound, in the load and in contexts inside.
        value: The value of the variable.
    """

    outer: _Condition | None
    holds: PrimExpr | None = None
    name: Var | None = None
    value: PrimExpr | None = None


class GuardedLoad(NamedTuple):
    """A load, and what is around it.

    Attributes:
        load: The load.
        around: What decides whether it is evaluated; None if it always is.
    """

    load: Load
    around: _Condition | None

    def if_evaluated(self, check: PrimExpr) -> PrimExpr:
        """Return a check as one that holds, too, where the load is not evaluated."""
        around = self.around
        while around is not None:
            if around.holds is not None:
                check = logical_or(logical_not(around.holds), check)
            else:
                assert around.name is not None
                assert around.value is not None
                check = Let(around.name, around.value, check)
            around = around.outer
        return check


def guarded_loads(*exprs: PrimExpr) -> list[GuardedLoad]:
    """Return the loads of expressions, in the order in which they are evaluated.

    So when a load is checked, those that its index is made of have been. Of a `Select`
    both values are evaluated, as are both operands of vectors of bools.
    """
    found: list[GuardedLoad] = []
    met: set[tuple[Node, int]] = set()
    stack: list[Any] = [(one, None) for one in reversed(exprs)]
    while stack:
        item = stack.pop()
        if isinstance(item, GuardedLoad):
            found.append(item)  # what its index loads has been
            continue
        node, around = item
        # What is evaluated in any case need not be checked on a condition.
        if not met.isdisjoint(((node, id(None)), (node, id(around)))):
            continue
        met.add((node, id(around)))
        if isinstance(node, Load):
            stack.append(GuardedLoad(node, around))
        stack += reversed(list(_parts(node, around)))
    return found


def _parts(
    node: Node, around: _Condition | None
) -> Iterator[tuple[Node, _Condition | None]]:
    match node:
        case Call(op=op, args=(condition, *values)) if op is _IF_THEN_ELSE:
            yield from _chosen(condition, values, around)
        case And() if node.dtype == "bool":
            yield from ((node.a, around), (node.b, _Condition(around, node.a)))
        case Or() if node.dtype == "bool":
            otherwise = _Condition(around, logical_not(node.a))
            yield from ((node.a, around), (node.b, otherwise))
        case Let():
            named = _Condition(around, name=node.var, value=node.value)
            yield from ((node.value, around), (node.body, named))
        case Call(op=op, args=(Load() as element,)) if op is _ADDRESS_OF:
            yield (element.index, around)
        case _:
            yield from ((child, around) for child in children(node))


def _chosen(
    condition: PrimExpr, values: list[PrimExpr], around: _Condition | None
) -> Iterator[tuple[Node, _Condition | None]]:
    yield (condition, around)
    for value, holds in zip(values, (condition, logical_not(condition)), strict=True):
        yield (value, _Condition(around, holds))


def is_inside(access: Load | Store, bound: PrimExpr) -> PrimExpr:
    """Return whether all elements that are accessed are in memory of `bound` elements.

    Of a ramp the first and the last one tell of those between them; of other vectors
    each lane is looked at, unless its predicate says that it is not accessed.
    """
    value = access if isinstance(access, Load) else access.value
    index, predicate = access.index, access.predicate
    lanes = data_type(value.dtype).lanes
    if lanes == 1:
        return _unless_not(predicate, _within(index, bound))
    if data_type(index.dtype).lanes == 1:  # of memory whose elements are vectors
        index = Ramp(multiply(index, const(lanes, index.dtype)), 1, lanes)
    accessed = [at for at in range(lanes) if not _never(_lane(predicate, at))]
    if isinstance(index, Ramp):
        if all(_holds(_lane(predicate, at)) for at in accessed):
            accessed = [*{*accessed[:1], *accessed[-1:]}]
        return _all_inside(index, predicate, sorted(accessed), bound)
    # By a name, as each lane is taken out of it.
    name = Var("indices", index.dtype)
    return Let(name, index, _all_inside(name, predicate, accessed, bound))


def _all_inside(
    index: PrimExpr, predicate: PrimExpr, accessed: list[int], bound: PrimExpr
) -> PrimExpr:
    found: PrimExpr = const(True, "bool")
    for at in accessed:
        inside = _unless_not(_lane(predicate, at), _within(_lane(index, at), bound))
        found = logical_and(found, inside)
    return found


def _within(index: PrimExpr, bound: PrimExpr) -> PrimExpr:
    not_before = logical_not(less(index, const(0, index.dtype)))
    return logical_and(not_before, less(index, bound))


def _unless_not(predicate: PrimExpr, inside: PrimExpr) -> PrimExpr:
    if predicate.dtype != "bool":
        predicate = predicate.astype("bool")
    return logical_or(logical_not(predicate), inside)


def _lane(expr: PrimExpr, at: int) -> PrimExpr:
    """Return a lane of a vector; of a scalar, which is for all lanes, that."""
    match expr:
        case Ramp():
            return add(expr.base, expr.stride * const(at, expr.stride.dtype))
        case Broadcast():
            return expr.value
        case LT():
            return less(_lane(expr.a, at), _lane(expr.b, at))
        case _ if data_type(expr.dtype).lanes == 1:
            return expr
        case _:
            return Shuffle((expr,), (const(at),))


def _holds(predicate: PrimExpr) -> bool:
    return isinstance(predicate, IntImm) and bool(predicate.value)


def _never(predicate: PrimExpr) -> bool:
    return isinstance(predicate, IntImm) and not predicate.value


MESSAGE = "OUT OF THE BOUNDS"


@register_pass("tir.transform.InstrumentBoundCheckers")
class InstrumentBoundCheckers(PrimFuncPass):
    """Insert bounds checks for each store and the loads in it.

    ::

        attr buffer_bound(B) = 8:
            B[i] = 1

    becomes::

        attr buffer_bound(B) = 8:
            if not i < 0 and i < 8:
                B[i] = 1
            else:
                assert not i < 0 and i < 8, "OUT OF THE BOUNDS"

    The size of the memory comes from its allocation, or from the attribute that
    `StorageFlatten` adds. The pass also checks loads in the values of names
    (`LetStmt`), conditions, loop extents and calls. A load that is evaluated only under
    a condition is checked under that condition. The condition of a `While` is not
    checked.
    """

    pass_info = PassInfo(0, "tir.InstrumentBoundCheckers")
    cacheable = True

    def transform_function(
        self, func: PrimFunc, mod: IRModule, ctx: PassContext
    ) -> PrimFunc:
        """Return the function with checks."""
        body = BoundChecker().visit(func.body)
        assert isinstance(body, Stmt)
        return func.with_body(body)


class BoundChecker(StmtMutator):
    """Puts a check around stores and names."""

    def __init__(self) -> None:
        super().__init__()
        self._bounds: dict[Var, PrimExpr] = {}

    def visit_attr_stmt_(self, op: AttrStmt) -> Any:
        """Remember how much memory a parameter has."""
        if op.attr_key == "buffer_bound" and isinstance(op.node, Var):
            self._bounds[op.node] = op.value
        return (yield from self.visit_children(op))

    def visit_allocate_(self, op: Allocate) -> Any:
        """Remember how much memory is allocated."""
        bound: PrimExpr = IntImm("int32", data_type(op.dtype).lanes)
        for extent in op.extents:
            bound = multiply(bound, extent)
        self._bounds[op.buffer_var] = bound
        return (yield from self.visit_children(op))

    def visit_store_(self, op: Store) -> Node:
        """Check what is loaded for a store, and the store."""
        loads = self._of_loads(op.index, op.predicate, op.value)
        return _checked(op, [*loads, *self._of(op)])

    def visit_let_stmt_(self, op: LetStmt) -> Any:
        """Check what is loaded for a name."""
        new = yield from self.visit_children(op)
        return _checked(new, self._of_loads(new.value))

    def visit_if_then_else_(self, op: IfThenElse) -> Any:
        """Check what is loaded for a condition."""
        new = yield from self.visit_children(op)
        return _checked(new, self._of_loads(new.condition))

    def visit_for_(self, op: For) -> Any:
        """Check what is loaded for the extent of a loop."""
        new = yield from self.visit_children(op)
        return _checked(new, self._of_loads(new.min, new.extent))

    def visit_assert_stmt_(self, op: AssertStmt) -> Any:
        """Check what is loaded for an assertion."""
        new = yield from self.visit_children(op)
        return _checked(new, self._of_loads(new.condition))

    def visit_evaluate_(self, op: Evaluate) -> Node:
        """Check what is loaded for a call."""
        return _checked(op, self._of_loads(op.value))

    def _of_loads(self, *exprs: PrimExpr) -> list[PrimExpr]:
        """Return the checks of what expressions load."""
        return [
            one.if_evaluated(check)
            for one in guarded_loads(*exprs)
            for check in self._of(one.load)
        ]

    def _of(self, access: Load | Store) -> list[PrimExpr]:
        bound = self._bounds.get(access.buffer_var)
        return [] if bound is None else [is_inside(access, bound)]


def _checked(stmt: Stmt, checks: Sequence[PrimExpr]) -> Stmt:
    condition: PrimExpr = const(True, "bool")
    for check in checks:
        condition = logical_and(condition, check)
    if isinstance(condition, IntImm) and condition.value:
        return stmt
    return IfThenElse(condition, stmt, AssertStmt(condition, MESSAGE, Evaluate(1)))
