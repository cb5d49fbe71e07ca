"""DeadCodeElimination: removes bindings that are not used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TypeVar, cast

from parpass.ir.module import IRModule
from parpass.ir.node import children
from parpass.relay.analysis.effects import Effects
from parpass.relay.expr import Expr, Function, Let, RefCreate, RefWrite, Var
from parpass.relay.functor import ExprMutator
from parpass.relay.transform.binding_check import expects_single_bindings
from parpass.transform import FunctionPass, PassContext, PassInfo, register_pass

ExprT = TypeVar("ExprT", bound=Expr)


@register_pass("relay._transform.DeadCodeElimination")
@expects_single_bindings
class DeadCodeElimination(FunctionPass):
    """Remove each `let` whose variable is unused.

    ::

        def @main(%x: Tensor[(3,), float32]) {
          let %dead = add(%x, %x);
          let %alive = negative(%x);
          %alive
        }

    becomes::

        def @main(%x: Tensor[(3,), float32]) {
          let %alive = negative(%x);
          %alive
        }

    Uses in removed code do not count, so a closure that only refers to itself is
    removed, too. A value may have an effect if it may call an operator with effects or
    an unknown function. Such a value is not inlined, and it is kept if its effect can
    be observed. Writes to a reference that is neither read nor passed on are removed
    with it.

    Args:
        inline_once: Whether to inline values that are used once, if the use is in the
            same function.
        ignore_impurity: Whether to treat all values as free of effects.
    """

    pass_info = PassInfo(opt_level=1, name="DeadCodeElimination")
    cacheable = True

    def __init__(
        self, inline_once: bool = False, ignore_impurity: bool = False
    ) -> None:
        self.inline_once = inline_once
        self.ignore_impurity = ignore_impurity

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        """Return the function without dead code."""
        eliminator = DeadCodeEliminator(
            func,
            mod,
            inline_once=self.inline_once,
            ignore_impurity=self.ignore_impurity,
        )
        result = eliminator.visit(func)
        for counter, amount in eliminator.counts.items():
            ctx.count(counter, amount)
        return result


def eliminate_dead_code(
    expr: ExprT,
    mod: IRModule | None = None,
    *,
    inline_once: bool = False,
    ignore_impurity: bool = False,
) -> ExprT:
    """Return an expression without dead code; see `DeadCodeElimination`.

    Args:
        expr: The expression.
        mod: Has the global functions that it calls, to know which have effects.
        inline_once: Whether to inline values that are used once.
        ignore_impurity: Whether to drop and inline what may have effects, too.
    """
    eliminator = DeadCodeEliminator(
        expr, mod, inline_once=inline_once, ignore_impurity=ignore_impurity
    )
    return cast("ExprT", eliminator.visit(expr))


class DeadCodeEliminator(ExprMutator):
    """Rewrites one expression, whose uses of variables it has counted before.

    Attributes:
        counts: How many `let`s were `dropped` and `inlined`.
    """

    def __init__(
        self,
        root: Expr,
        mod: IRModule | None,
        *,
        inline_once: bool,
        ignore_impurity: bool,
    ) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()
        self._uses = _Uses(root, mod, ignore_impurity=ignore_impurity)
        self._inlined = self._uses.inlinable() if inline_once else set[Expr]()

    def visited_before(self, expr: Expr) -> Sequence[Expr]:
        """Return the children that the result is made of."""
        if isinstance(expr, Let):
            kept = self._uses.is_live(expr.var) and expr.var not in self._inlined
            return children(expr) if kept else (expr.body,)
        if expr in self._inlined:
            return (self._uses.let_values[expr],)
        return super().visited_before(expr)

    def visit_var(self, var: Var) -> Expr:
        """Return the value of a variable that is used once."""
        return self.visit(self._uses.let_values[var]) if var in self._inlined else var

    def visit_let(self, let: Let) -> Expr:
        """Drop a `let` whose variable is not used any more."""
        if let.var in self._inlined:
            self.counts["inlined"] += 1
            _remark(let, "passed", "Inlined", "inlined at its only use")
        elif not self._uses.is_live(let.var):
            self.counts["dropped"] += 1
            _remark(let, "passed", "Dropped", "removed: it is unused")
        else:
            if self._uses.is_kept_for_effects(let.var):
                why = "unused, but kept: it may have effects"
                _remark(let, "missed", "Kept", why)
            return super().visit_let(let)
        return self.visit(let.body)


def _remark(let: Let, kind: str, name: str, message: str) -> None:
    span = getattr(let.value, "span", None) or let.span
    variable = let.var.name_hint
    PassContext.current().remark(kind, message, span, name=name, variable=variable)


class _Uses:
    """The number of uses of each variable in live code.

    Observable effects are live. A use in a shared node counts for each use of the node.

    Attributes:
        let_values: The value of each variable that live code binds.
    """

    def __init__(
        self, root: Expr, mod: IRModule | None, *, ignore_impurity: bool
    ) -> None:
        self.let_values: dict[Expr, Expr] = {}
        self._visits: dict[Expr, int] = {}
        self._seen_by_others: set[Expr] = set()
        self._bound: list[Var] = []
        # The functions that variables are bound in, and those that use them last.
        self._bound_in: dict[Expr, Expr] = {}
        self._used_in: dict[Expr, Expr] = {}
        self._effects = None if ignore_impurity else Effects(self.let_values, mod)
        # What is written to references of this function, until somebody reads them.
        self._writes: dict[Var, list[Var]] = {}
        self._read: list[Var] = []
        self._visit(root, root)
        for var in self._bound:  # which grows while a value is visited
            value = self.let_values[var]
            if var in self._visits or self._may_drop(value):
                continue
            written = self._only_writes(value)
            if written is None or written in self._visits:
                self._keep(var)
            else:
                self._writes.setdefault(written, []).append(var)

    def _keep(self, var: Var) -> None:
        """Mark a value as live, and visit it."""
        waiting = [var]
        while waiting:
            var = waiting.pop()
            self._seen_by_others.add(var)
            self._visit(self.let_values[var], self._bound_in[var])
            waiting += self._read
            self._read.clear()

    def _only_writes(self, value: Expr) -> Var | None:
        """Return the reference of this function that a value writes, if it is all."""
        if not isinstance(value, RefWrite) or not isinstance(value.ref, Var):
            return None
        created = isinstance(self.let_values.get(value.ref), RefCreate)
        return value.ref if created and self._may_drop(value.value) else None

    def is_live(self, var: Var) -> bool:
        return var in self._visits or var in self._seen_by_others

    def is_kept_for_effects(self, var: Var) -> bool:
        return var in self._seen_by_others and var not in self._visits

    def inlinable(self) -> set[Expr]:
        return {
            var
            for var, value in self.let_values.items()
            if self._visits.get(var) == 1
            and self._used_in[var] is self._bound_in[var]
            and (self._effects is None or self._effects.is_pure(value))
        }

    def _may_drop(self, value: Expr) -> bool:
        return self._effects is None or self._effects.may_drop(value)

    def _visit(self, root: Expr, function: Expr) -> None:
        # Twice through each node is enough to tell one use from several.
        visits, waiting = self._visits, [(root, function)]
        while waiting:
            node, function = waiting.pop()
            visits[node] = visits.get(node, 0) + 1
            if visits[node] > 2:
                continue
            if isinstance(node, Let):
                if node.var not in self.let_values:
                    self.let_values[node.var] = node.value
                    self._bound_in[node.var] = function
                    self._bound.append(node.var)
                waiting.append((node.body, function))
            elif isinstance(node, Var):
                self._used_in[node] = function
                self._read += self._writes.pop(node, ())
                if visits[node] == 1 and node in self.let_values:
                    value = self.let_values[node]
                    waiting.append((value, self._bound_in[node]))
            elif isinstance(node, Function):
                waiting.append((node.body, node))
            else:
                waiting += [(child, function) for child in children(node)]
