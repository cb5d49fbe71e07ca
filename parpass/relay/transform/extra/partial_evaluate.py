"""PartialEvaluate: computes what is known at compile time, functions included.

`PartialEvaluator` interprets programs with partly known values and emits residual code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from parpass.errors import DiagnosticError
from parpass.ir.adt import Constructor
from parpass.ir.module import IRModule
from parpass.ir.node import children, reflection
from parpass.ir.op_table import Op
from parpass.ir.structural import structural_equal
from parpass.ir.type_structure import substitute
from parpass.ir.types import Type, TypeVar
from parpass.relay.adt import Clause, Match
from parpass.relay.analysis import free_vars
from parpass.relay.analysis.findings import Finding, emit_errors
from parpass.relay.binding import with_new_variables
from parpass.relay.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from parpass.relay.transform.block_writer import is_opaque
from parpass.relay.transform.evaluator import Evaluator
from parpass.relay.transform.extra.partial_values import (
    ConstructedValue,
    Fields,
    MatchResult,
    Partial,
    PartialClosure,
    PartialScope,
    consume_fuel,
    matched,
    types_in_call,
    types_in_code,
)
from parpass.relay.transform.extra.residual import (
    Block,
    NormalProgram,
    evaluated_call,
    referred,
)
from parpass.relay.transform.extra.trampoline import Steps, trampoline
from parpass.relay.transform.functions.inline import max_copied_nodes
from parpass.transform import ModulePass, PassContext, PassInfo, register_pass

_NODES = 4  # of a binding, about: a `let`, its value, what that is made of


class PartialEvaluator:
    """Evaluates the functions of a module.

    Args:
        mod: The module; its functions may be of other IRs, too.
        max_copied: How many nodes are evaluated in the place of calls; calls stay
            that come after.
    """

    def __init__(self, mod: IRModule, max_copied: int) -> None:
        self._mod = mod
        self._program = NormalProgram(mod)
        self._evaluator: Evaluator
        self._left = max_copied
        self._time = 0

    def evaluated(self, name: str, evaluator: Evaluator) -> Function:
        """Return a global function with all evaluated that is known.

        Args:
            name: Its name.
            evaluator: Evaluates operators on constants.

        Raises:
            DiagnosticError: The function is ill-typed, or shares effects between
                branches.
        """
        self._evaluator = evaluator
        normal = self._program.normal(name)
        var = self._mod.get_global_var(name)
        known = PartialClosure(normal, None, None)
        return trampoline(self._residual(known, Partial(var, known), None))

    # Blocks and values.

    def _block(self, expr: Expr, scope: PartialScope, block: Block) -> Steps[Partial]:
        """Evaluate a block in A-normal form at the end of the enclosing one."""
        while isinstance(expr, Let):
            var, value = expr.var, expr.value
            if scope.is_copy:
                self._left -= _NODES
            if isinstance(value, Call | If | Match):
                found = yield self._branching(value, var, scope, block)
            else:
                found = self._value(value, var, scope, block)
            scope.values[var] = found
            expr = expr.body
        return self._atom(expr, scope)

    def _atom(self, atom: Expr, scope: PartialScope) -> Partial:
        if isinstance(atom, Var):
            return scope[atom]
        if isinstance(atom, GlobalVar):
            return self._global(atom)
        return self._new(atom, atom if isinstance(atom, Constant) else None)

    def _new(self, atom: Expr, known: Any = None, line: Any = None) -> Partial:
        self._time += 1
        return Partial(atom, known, line, self._time)

    def _bind(
        self,
        block: Block,
        origin: Expr,
        var: Var,
        value: Callable[[], Any],
        known: Any = None,
    ) -> Partial:
        """Bind a value that may be left out, save if it writes."""
        writes = self._program.writes(origin)
        span = getattr(origin, "span", None)
        line = block.bind(var.name_hint, value, span, kept=writes)
        return self._new(line.var, known, line)

    def _global(self, var: GlobalVar) -> Partial:
        normal = self._program.to_call(var.name_hint)
        known = None if normal is None else PartialClosure(normal, None, None)
        return self._new(var, known)

    def _value(
        self, value: Expr, var: Var, scope: PartialScope, block: Block
    ) -> Partial:
        """Return what a value is that is neither a call nor a branch."""
        if isinstance(value, Function):
            return self._function(value, var, scope, block)
        parts = [self._atom(part, scope) for part in children(value)]
        if not parts:
            return self._atom(value, scope)
        known: Any = None
        if isinstance(value, Tuple):
            known = Fields(tuple(parts))
        elif isinstance(value, TupleGetItem):
            whole = parts[0].known
            if isinstance(whole, Fields) and 0 <= value.index < len(whole.values):
                return whole.values[value.index]
        elif isinstance(value, RefCreate | RefRead | RefWrite):
            known = referred(value, parts, block.store)
            if isinstance(known, Partial):
                return known

        def rebuilt() -> Expr:
            new = [part.used() for part in parts]
            return reflection(type(value)).rebuild(value, new)

        return self._bind(block, value, var, rebuilt, known)

    def _branching(
        self, value: Expr, var: Var, scope: PartialScope, block: Block
    ) -> Steps[Partial]:
        if isinstance(value, Call):
            return (yield self._call(value, var, scope, block))
        if isinstance(value, If):
            return (yield self._if(value, var, scope, block))
        return (yield self._match(cast("Match", value), var, scope, block))

    # Branches.

    def _if(
        self, value: If, var: Var, scope: PartialScope, block: Block
    ) -> Steps[Partial]:
        cond = self._atom(value.cond, scope)
        if isinstance(cond.known, Constant) and cond.known.data.shape == ():
            holds = bool(cond.known.data.numpy())
            taken = value.true_branch if holds else value.false_branch
            return (yield self._block(taken, scope, block))
        true = yield self._branch(value.true_branch, scope, block)
        false = yield self._branch(value.false_branch, scope, block)
        self._forget(value, block)
        span = value.span
        return self._bind(block, value, var, lambda: If(cond.used(), true, false, span))

    def _branch(self, expr: Expr, scope: PartialScope, around: Block) -> Steps[Expr]:
        block = Block(around)
        found = yield self._block(expr, scope, block)
        return (yield block.ending(found))

    def _match(
        self, value: Match, var: Var, scope: PartialScope, block: Block
    ) -> Steps[Partial]:
        data = self._atom(value.data, scope)
        for clause in value.clauses:
            bound: dict[Var, Partial] = {}
            answer = matched(clause.lhs, data, bound)
            if answer is MatchResult.YES:
                scope.values.update(bound)
                return (yield self._block(clause.rhs, scope, block))
            if answer is MatchResult.UNKNOWN:
                break
        clauses: list[Clause] = []
        for clause in value.clauses:
            old = clause.lhs.variables
            new = [self._param(one, scope.types) for one in old]
            for before, after in zip(old, new, strict=True):
                scope.values[before] = self._new(after)
            rhs = yield self._branch(clause.rhs, scope, block)
            clauses.append(Clause(clause.lhs.with_variables(new), rhs, clause.span))
        self._forget(value, block)

        def rebuilt() -> Expr:
            return Match(data.used(), clauses, value.complete, value.span)

        return self._bind(block, value, var, rebuilt)

    def _forget(self, origin: Expr, block: Block) -> None:
        if self._program.writes(origin):
            block.store.forget()

    # Calls.

    def _call(
        self, call: Call, var: Var, scope: PartialScope, block: Block
    ) -> Steps[Partial]:
        args = [self._atom(arg, scope) for arg in call.args]
        if isinstance(call.op, Op):
            result = evaluated_call(call, call.op, args, self._evaluator)
            if result is not None:
                return self._of_constant(result)
            return self._kept(call, call.op, args, var, scope, block)
        if isinstance(call.op, Constructor):
            known = ConstructedValue(call.op, tuple(args))
            return self._kept(call, call.op, args, var, scope, block, known)
        callee = self._atom(call.op, scope)
        known = callee.known
        fits = isinstance(known, PartialClosure) and len(known.function.params) == len(
            args
        )
        if fits and self._left > 0:
            fuel, has_burnt = consume_fuel(scope.fuel, known.function, args)
            if has_burnt:
                types = types_in_call(known, call.type_args, scope)
                inner = PartialScope(known.scope, types, fuel, is_copy=True)
                return (yield self._body(known, callee, args, inner, block))
        self._forget(call, block)
        return self._kept(call, callee, args, var, scope, block)

    def _body(
        self,
        known: PartialClosure,
        callee: Partial,
        args: Sequence[Partial],
        scope: PartialScope,
        block: Block,
    ) -> Steps[Partial]:
        scope.values.update(zip(known.function.params, args, strict=True))
        if known.itself is not None:
            scope.values[known.itself] = callee
        return (yield self._block(known.function.body, scope, block))

    def _kept(
        self,
        call: Call,
        callee: Expr | Partial,
        args: Sequence[Partial],
        var: Var,
        scope: PartialScope,
        block: Block,
        known: Any = None,
    ) -> Partial:
        types = tuple([substitute(one, scope.types) for one in call.type_args])

        def rebuilt() -> Expr:
            op = callee.used() if isinstance(callee, Partial) else callee
            used = [arg.used() for arg in args]
            return Call(op, used, call.attrs, types, call.span)

        return self._bind(block, call, var, rebuilt, known)

    def _of_constant(self, value: Expr) -> Partial:
        if not isinstance(value, Tuple):
            return self._new(value, value)
        return self._new(value, Fields(tuple(map(self._of_constant, value.fields))))

    # Functions.

    def _function(
        self, function: Function, var: Var, scope: PartialScope, block: Block
    ) -> Partial:
        if is_opaque(function):
            free = {one: scope[one] for one in free_vars(function)}

            def copied() -> Expr:
                values = {one: found.used() for one, found in free.items()}
                return with_new_variables(function, values)

            return self._bind(block, function, var, copied)
        known = PartialClosure(function, scope, var)
        found: Partial

        def residual() -> Any:
            return self._residual(known, found, scope)

        found = self._bind(block, function, var, residual, known)
        return found

    def _residual(
        self, known: PartialClosure, itself: Partial, around: PartialScope | None
    ) -> Steps[Function]:
        """Return the code of a function, of whose arguments nothing is known."""
        function = known.function
        types, own = types_in_code(function, {} if around is None else around.types)
        params = function.params
        if around is not None:
            params = tuple([self._param(param, types) for param in params])
        args = [self._new(param) for param in params]
        fuel, _ = consume_fuel(None if around is None else around.fuel, function, args)
        is_copy = around is not None and around.is_copy
        scope, block = PartialScope(around, types, fuel, is_copy=is_copy), Block()
        result = yield self._body(known, itself, args, scope, block)
        body = yield block.ending(result)
        ret_type = function.ret_type
        if ret_type is not None:
            ret_type = substitute(ret_type, types)
        return Function(params, body, ret_type, own, function.attrs, function.span)

    def _param(self, var: Var, types: Mapping[TypeVar, Type]) -> Var:
        typ = var.type_annotation or var.checked_type_
        if typ is not None:
            typ = substitute(typ, types)
        return Var(var.name_hint, typ, var.span)


@register_pass("relay._transform.PartialEvaluate")
class PartialEvaluate(ModulePass):
    """Evaluate what is known of a program, and leave code for the rest.

    ::

        def @power(%x: float32, %n: int32) -> float32 {
          %0 = equal(%n, 0);
          if (%0) {
            1f
          } else {
            %1 = subtract(%n, 1);
            %2 = @power(%x, %1);
            multiply(%x, %2)
          }
        }

        def @main(%x: float32) -> float32 {
          let %r = ref(%x);
          %0 = @power(%x, 2);
          let %u = ref_write(%r, %0);
          ref_read(%r)
        }

    becomes::

        def @power(%x: float32, %n: int32) -> float32 {
          let %x_1 = equal(%n, 0);
          if (%x_1) {
            1f
          } else {
            let %x_2 = subtract(%n, 1);
            let %x_3 = @power(%x, %x_2);
            multiply(%x, %x_3)
          }
        }

        def @main(%x: float32) -> float32 {
          let %r = ref(%x);
          let %x_1 = multiply(%x, 1f);
          let %x_2 = multiply(%x, %x_1);
          let %u = ref_write(%r, %x_2);
          %x_2
        }

    What is known are constants, and what operators give on them; the fields of tuples
    and of values of data types; functions; and what references have that were created
    here, until something may write them of which nothing is known. Branches and matches
    are taken, and functions evaluated in the place of their calls. Functions that call
    themselves are, as long as an argument is part of one before, or counts down.

    DeadCodeElimination with `inline_once` drops what is not needed any more, such as
    `%r`. Operators with effects are called in their order, as often as before; what
    FoldConstant leaves as it is stays here, too, with its limit of bytes. Calls stay
    once more was evaluated in the place of calls than option `relay.max_copied_nodes`
    of the context says. Functions that are marked `Primitive` or `Compiler` stay.
    """

    pass_info = PassInfo(1, "PartialEval", required=("InferType",))

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Return the module with its functions evaluated."""
        old = mod.functions_by_name
        functions, most = dict(old), max_copied_nodes(ctx)
        program = PartialEvaluator(mod, most)
        for name, function in old.items():
            if not isinstance(function, Function) or is_opaque(function):
                continue
            try:
                with Evaluator.of(function, ctx) as evaluator:
                    made = program.evaluated(name, evaluator)
            except DiagnosticError as error:
                found = [Finding(it.span, it.message) for it in error.diagnostics]
                emit_errors(found, ctx, name)
                continue
            if not structural_equal(made, function):
                functions[name] = made
        changed = sum(function is not old[name] for name, function in functions.items())
        if not changed:
            return mod
        ctx.count("evaluated", changed)
        return IRModule.assemble(mod, functions)
