"""Type inference over one expression: every node's type from those of its children.

A node that has a type, and whose children keep theirs, is not visited again: nodes are
immutable, and a rebuilt one has no type. The exceptions are nodes that refer to a
global function, because that function may have another type by now.

Inference is one forward walk. Where a type is not known yet, of a parameter without
annotation say, an unknown type takes its place, and the solution is put into the nodes
at the end; a program that states its types pays nothing for that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import is_
from typing import Any

from msgspec.structs import force_setattr

from parpass.errors import IRTypeError, SizeLimitError
from parpass.ir.adt import Constructor, GlobalTypeVar, TypeCall
from parpass.ir.node import Reflection, reflection
from parpass.ir.op.op_table import Op
from parpass.ir.types import FuncType, TensorType, Type
from parpass.ir.types.type_structure import extent, type_vars_in
from parpass.relay.adt import Clause, Match
from parpass.relay.analysis.type_analysis import kind_of_type
from parpass.relay.expr import Call, Constant, Expr, Function, GlobalVar, Let, Var
from parpass.relay.functor import ExprMutator
from parpass.relay.type_inference.call_rules import type_of_call
from parpass.relay.type_inference.global_uses import (
    Globals,
    GlobalUses,
    endless_recursion,
)
from parpass.relay.type_inference.inference_state import InferenceState
from parpass.relay.type_inference.match_types import MatchTypes
from parpass.relay.type_inference.rules import RULES
from parpass.relay.type_inference.scoping import Scoping
from parpass.relay.type_inference.solver import TypeSolver

_NAMES = {GlobalVar, Op, Constructor}
_DEFINED = frozenset({GlobalVar, Constructor})  # what the module says of these counts
_LET, _FUNCTION = reflection(Let), reflection(Function)
_CLAUSE = reflection(Clause)
_OF_DEFINITIONS = {GlobalTypeVar, TypeCall}


def _name_defined(nodes: Sequence[Any]) -> bool:
    return not _DEFINED.isdisjoint(map(type, nodes))


class TypeInferencer(ExprMutator):
    """Rewrites an expression into the same one with types.

    An ill-typed node gets no type, and neither do its users, without a further error.
    After the visits, `complete` puts in what was learnt later.

    Args:
        global_types: Answers which type a global function has.
        solver: Knows the unknown types; a new one if not given.
        assumed: The types of functions that are inferred together with this one.

    Attributes:
        inference: The errors, and what is not known yet.
        uses: What of the module was referred to.
        scoping: Where variables are bound and used.
    """

    def __init__(
        self,
        global_types: Globals,
        solver: TypeSolver | None = None,
        assumed: Mapping[str, FuncType] | None = None,
    ) -> None:
        super().__init__()
        self.inference = InferenceState(solver or TypeSolver())
        self.uses = GlobalUses(global_types, self.inference, assumed or {})
        self.scoping = Scoping()
        self._matches = MatchTypes(self.inference, self.uses, self._type_of_visited)

    def resolved(self, typ: Type | None) -> Type | None:
        """Return a type with all that is known by now, None if that is not all."""
        solver = self.inference.solver
        return None if typ is None or solver.is_open(typ) else solver.resolve(typ)

    def complete(self) -> bool:
        """Put the types that were found into the nodes, after all visits.

        Returns:
            Whether all types are known.
        """
        self.uses.complete()
        return self.inference.complete()

    def visited_before(self, expr: Expr) -> Sequence[Expr]:
        """Return all children, so that no nesting of scopes is too deep."""
        if isinstance(expr, Let):
            # A variable's type is its value's, so the value comes first.
            self.scoping.bind(expr.var, expr.value)
            return (expr.value, expr.var, expr.body)
        if isinstance(expr, Function):
            self.scoping.enter(expr, expr.params)
            self.inference.solver.type_vars.update(expr.type_params)
            if expr.ret_type is not None:
                self._note_annotation(expr.ret_type, expr)
        elif isinstance(expr, Match):
            self._matches.enter(expr)
        elif isinstance(expr, Clause):
            scope: Any = expr
            self.scoping.enter(scope, expr.lhs.variables)
            self._matches.enter_clause(expr)
        return reflection(type(expr)).children(expr)

    def visit_var(self, var: Var) -> Expr:
        """Return the variable with its declared type, or with its value's."""
        found = var.type_annotation
        value = self.scoping.value_of(var)
        if value is not None and value not in self.memo_map:
            self.scoping.is_suspect |= not isinstance(value, Function)
        is_matched = self._matches.binds(var)
        if found is not None:
            self._note_annotation(found, var)
        elif is_matched:
            found = self._matches.type_of_bound(var)
        else:
            found = self._type_of_unannotated(var, value)
        if found == var.checked_type_:
            return var
        # What a `let` or a pattern binds follows a value, which a pass may change.
        follows = is_matched or value is not None
        stated = var.type_annotation if follows else found
        typed = Var(var.name_hint, stated, var.span, found)
        if self.inference.solver.in_use and found is not None:
            self.inference.finish_later(typed)
        return typed

    def _note_annotation(self, annotation: Type, user: Expr) -> None:
        if type(annotation) is TensorType:
            return
        if not _OF_DEFINITIONS.isdisjoint(extent(annotation).kinds):
            try:
                kind_of_type(annotation, self.uses.definition)
            except IRTypeError as error:
                self.inference.error(user, str(error))
        solver = self.inference.solver
        if solver.unknowns_in([annotation]):
            solver.in_use = True
        solver.type_vars.update(type_vars_in(annotation))

    def _type_of_unannotated(self, var: Var, value: Expr | None) -> Type | None:
        if value is not None and value in self.memo_map:
            typed: Any = self.memo_map[value]
            # What is said of an operator that is no value, is said of the `let`.
            return None if isinstance(typed, Op) else self._types([typed], var)[0]
        name = var.name_hint
        if isinstance(value, Function):
            return self._type_of_own_closure(value, name)
        if value is not None:  # which is no function and refers to itself
            return None
        kind = "parameter" if var in self.scoping.params else "free variable"
        if kind == "free variable" and var.checked_type_ is not None:
            return var.checked_type_
        message = f"expected a type annotation on {kind} '{name}'"
        return self.inference.unknown(var, message)

    def _type_of_own_closure(self, closure: Function, name: str) -> Type | None:
        """Return the type of a closure where its own body refers to it."""
        if closure.annotated_type is not None:
            return closure.annotated_type
        params: list[Type | None] = [
            getattr(self.visit(param), "checked_type_", None)
            for param in closure.params
        ]
        result = closure.ret_type or self.inference.unknown(
            closure, endless_recursion(name)
        )
        known = tuple([param for param in params if param is not None])
        if len(known) != len(params):
            return None
        return FuncType(known, result, closure.type_params)

    def visit_call(self, call: Call) -> Expr:
        """Return a call with typed children, its own type and its type arguments."""
        memo, scoping = self.memo_map, self.scoping
        if scoping.has_left:
            scoping.check_uses((call.op, *call.args))
        scoping.visited.append(call)
        op, *args = new = [memo[call.op], *[memo[arg] for arg in call.args]]
        same = op is call.op and all(map(is_, args, call.args))
        if same and call.checked_type_ is not None and not _name_defined(new):
            return call
        types = self._types(new, call)
        try:
            found, type_args = type_of_call(call, types, self.inference)
        except SizeLimitError as error:
            found, type_args = self._too_large(call, types, error), ()
        if same and found == call.checked_type_ and type_args == call.type_args:
            return call
        if found is None:
            type_args = call.type_args
        typed = Call(op, tuple(args), call.attrs, type_args, call.span, found)
        if self.inference.solver.in_use:
            self.inference.finish_later(typed)
        return typed

    def visit_default(self, expr: Expr) -> Expr:
        """Return `expr` with typed children and its own type."""
        shape = reflection(type(expr))
        old = shape.children(expr)
        if self.scoping.has_left:
            self.scoping.check_uses(old)
        return self._typed(expr, shape, old)

    def _typed(self, expr: Expr, shape: Reflection, old: Sequence[Expr]) -> Expr:
        memo = self.memo_map
        self.scoping.visited.append(expr)
        new: list[Any] = [memo[child] for child in old]
        node: Any = expr
        same = all(map(is_, old, new))
        if same and node.checked_type_ is not None and not _name_defined(old):
            return expr
        types = self._types(new, node)
        try:
            found = RULES[type(expr)](node, types, self.inference)
        except SizeLimitError as error:
            found = self._too_large(node, types, error)
        if same and found is not None and found == node.checked_type_:
            return expr
        typed = shape.rebuild(expr, new)
        if found is not None:
            force_setattr(typed, "checked_type_", found)
            if isinstance(found, FuncType) and isinstance(typed, Function):
                force_setattr(typed, "ret_type", found.ret_type)
            if self.inference.solver.in_use and type(found) is not TensorType:
                self.inference.finish_later(typed)
        return typed

    def visit_let(self, let: Let) -> Expr:
        """Return a `let` with typed children, and leave its scope."""
        self.scoping.leave(let.var, (let.var,), let.body)
        return self._typed(let, _LET, (let.var, let.value, let.body))

    def visit_function(self, fn: Function) -> Expr:
        """Return a function with typed children, and leave its scope."""
        self.scoping.leave(fn, fn.params, fn.body)
        return self._typed(fn, _FUNCTION, _FUNCTION.children(fn))

    def visit_clause(self, clause: Clause) -> Any:
        """Return a clause with typed children, and leave its scope."""
        scope: Any = clause
        self.scoping.leave(scope, clause.lhs.variables, clause.rhs)
        return self._typed(scope, _CLAUSE, _CLAUSE.children(clause))

    def visit_match(self, match: Match) -> Expr:
        """Return a match with typed children, if its patterns match every value."""
        self._matches.check(match)
        return self.visit_default(match)

    def visit_constructor(self, con: Constructor) -> Expr:
        """Return the module's own of that name."""
        return self.uses.own_constructor(con)

    def visit_global_var(self, global_var: GlobalVar) -> Expr:
        """Return the module's own; a pass may have made another of that name."""
        return self.uses.own_global_var(global_var)

    def visit_op(self, op: Op) -> Expr:
        """Return the very same object."""
        return op

    def visit_constant(self, const: Constant) -> Expr:
        """Return the constant, which knows its type."""
        return const

    def _too_large(
        self, node: Expr, types: Sequence[Type | None], error: SizeLimitError
    ) -> None:
        self.inference.error(node, str(error))
        self.inference.excuse(types)

    def _types(self, nodes: Sequence[Any], user: Expr) -> list[Type | None]:
        return [
            self._type_of_name(node, user)
            if type(node) in _NAMES
            else node.checked_type_
            for node in nodes
        ]

    def _type_of_visited(self, expr: Expr, user: Expr | None) -> Type | None:
        node: Any = self.memo_map[expr]
        return self._types([node], node if user is None else user)[0]

    def _type_of_name(
        self, name: GlobalVar | Op | Constructor, user: Expr
    ) -> Type | None:
        """Return the type of a node that has none itself; `user` may be to blame."""
        if isinstance(name, Constructor):
            return self.uses.type_of_constructor(name, user)
        if isinstance(name, GlobalVar):
            return self.uses.type_of(name, user)
        if not isinstance(user, Call) or name in user.args:
            message = f"expected a value, got operator '{name.name}'"
            self.inference.error(user, f"{message}; wrap it in a function")
        return None
