"""Inline and InlinePrimitives: functions in place of their calls; and the copy limit.

Functions that call each other twice, level by level, double in size with each level:
two kilobytes of program would become more than any memory holds. Below the limit a
large program of calls of small functions becomes a few times as large, and nothing
doubles. DefuseOps shares the limit and `body_in_place`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from parpass.diagnostic import Span
from parpass.errors import SizeLimitError
from parpass.ir.module import IRModule
from parpass.ir.node import breadth_first, children, post_order
from parpass.relay.analysis import called_globals
from parpass.relay.analysis.call_graph import CallGraph
from parpass.relay.analysis.effects import Effects
from parpass.relay.binding import with_new_variables
from parpass.relay.expr import Call, Expr, Function, GlobalVar, Let, Tuple, Var
from parpass.relay.functor import ExprMutator
from parpass.relay.transform.binding_check import expects_single_bindings
from parpass.relay.transform.dead_code_elimination import eliminate_dead_code
from parpass.transform import (
    FunctionPass,
    ModulePass,
    PassContext,
    PassInfo,
    register_pass,
)

_OPTION = "relay.max_copied_nodes"
_DEFAULT = 2**16  # about a second
_GROWTH = 4  # times the nodes of a program, where that is more


def _max_copied_nodes(ctx: PassContext) -> int:
    """Return how many nodes one run of a pass may put in the place of calls."""
    limit: int = ctx.config.get(_OPTION, _DEFAULT)
    return limit


class CopyLimit:
    """Counts the nodes that one run of a pass copies, second copies and further ones.

    With first copies alone, a program does not grow.

    Args:
        ctx: Has the limit, in option `relay.max_copied_nodes`.
        program: The argument of the pass, such as functions. If the option is not set,
            four times its size may be copied.
    """

    def __init__(
        self, ctx: PassContext | None = None, program: Collection[Expr] = ()
    ) -> None:
        ctx = ctx or PassContext.current()
        self._limit = _max_copied_nodes(ctx)
        self._program = () if _OPTION in ctx.config else tuple(program)
        self._copied = 0
        self._sizes: dict[Function, int] = {}

    def take(self, function: Function, name: str | None) -> None:
        """Count a copy of the body of a function.

        Raises:
            SizeLimitError: It would exceed the limit.
        """
        if function not in self._sizes:
            self._sizes[function] = len(breadth_first(function.body))
            return
        self._copied += self._sizes[function]
        if self._copied > self._limit and self._program:
            nodes = len(breadth_first(Tuple(self._program))) - 1
            self._limit = max(self._limit, _GROWTH * nodes)
            self._program = ()
        if self._copied > self._limit:
            what = f"function '{name}'" if name is not None else "a closure"
            raise SizeLimitError(
                f"expected at most {self._limit} nodes in the place of calls, got "
                f"{self._copied} with {what}; functions that call each other twice "
                "double in size with each level: keep some of them as functions, or "
                f"set option '{_OPTION}'"
            )


def body_in_place(
    callee: Function, args: Sequence[Expr], call: Call, effects: Effects
) -> Expr:
    """Return the body of a function with arguments in the place of its parameters.

    An argument with effects is bound by a `let`, for the body may use it in a branch,
    behind other effects, or not at all.

    Args:
        callee: The function.
        args: As many arguments as it has parameters.
        call: The call, whose span the `let`s get.
        effects: Knows those of the arguments.
    """
    values: dict[Var, Expr] = {}
    lets: list[tuple[Var, Expr]] = []
    for param, arg in zip(callee.params, args, strict=True):
        values[param] = arg
        if not effects.is_pure(arg):
            var = Var(param.name_hint, param.type_annotation, param.span)
            values[param] = var
            lets.append((var, arg))
    body = with_new_variables(callee.body, values)
    for var, arg in reversed(lets):
        body = Let(var, arg, body, call.span)
    return body


INLINE = "Inline"  # marks what Inline puts in the place of its calls


@register_pass("relay._transform.Inline")
@expects_single_bindings
class Inline(ModulePass):
    """Inline functions marked `Inline` at their calls.

    ::

        def @double(%x: Tensor[(3,), float32], Inline=1) {
          add(%x, %x)
        }

        def @main(%y: Tensor[(3,), float32]) {
          %0 = exp(%y);
          @double(%0)
        }

    becomes::

        def @main(%y: Tensor[(3,), float32]) {
          %0 = exp(%y);
          add(%0, %0)
        }

    A marked function that was called is removed. Functions that call themselves,
    directly or indirectly, are not inlined. A closure replaces references that are no
    calls, polymorphic functions, and functions marked `Primitive` or `Compiler`; it
    keeps their marks. An argument with effects is bound by a `let`.

    Raises:
        SizeLimitError: The pass would copy more nodes than the option
            `relay.max_copied_nodes` allows. The default is 65,536 or four times the
            module's nodes, whichever is more. Functions that call each other twice,
            level by level, double in size at each level.
    """

    pass_info = PassInfo(opt_level=1, name="InlineGlobals")

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Return the module with marked functions inlined."""
        return inlined(mod, INLINE, ctx, Inliner)


def inlined(
    mod: IRModule, mark: str, ctx: PassContext, kind: type[Inliner]
) -> IRModule:
    """Return a module with the functions that have a mark in the place of their calls.

    Args:
        mod: The module.
        mark: The attribute. Functions that have it and are recursive stay.
        ctx: Counts what is inlined, and limits it.
        kind: What inlines the calls in one function.
    """
    graph = CallGraph(mod)
    functions = dict(mod.functions_by_name)
    marked = {
        name
        for name, function in functions.items()
        if function.has_nonzero_attr(mark) and not graph.is_recursive(name)
    }
    for name, function in functions.items():
        if function.has_nonzero_attr(mark) and name not in marked:
            message, span = "not inlined: it calls itself", function.span
            ctx.remark("missed", message, span, name="NotInlined", function=name)
    if not any(graph.callers[name] for name in marked):
        return mod
    program = [one for one in functions.values() if isinstance(one, Function)]
    count, copies = 0, CopyLimit(ctx, program)
    for component in graph.sccs():  # callees first
        for var in component:
            if marked.isdisjoint(graph.callees[var.name_hint]):
                continue
            inliner = kind(functions, marked, mod, copies)
            name = var.name_hint
            functions[name] = inliner.inlined_in(functions[name])
            count += len(inliner.inlined)
            for callee, span in inliner.inlined:
                ctx.remark(
                    "passed",
                    "inlined",
                    span,
                    name="Inlined",
                    function=name,
                    Callee=callee,
                )
    ctx.count("inlined", count)
    wanted = marked - {var.name_hint for var in graph.entry_points()}
    gone = wanted - {
        callee.name_hint
        for name, function in functions.items()
        if name not in wanted
        for callee in called_globals(function)
    }
    kept = {name: f for name, f in functions.items() if name not in gone}
    return IRModule.assemble(mod, kept)


class Inliner(ExprMutator):
    """Inlines calls in one function.

    Attributes:
        inlined: The calls and references that were replaced: of what, and where.
        effects: Knows those of expressions.
        marked: The functions to inline, by name.
    """

    def __init__(
        self,
        functions: Mapping[str, Function],
        marked: set[str],
        mod: IRModule,
        copies: CopyLimit,
    ) -> None:
        super().__init__()
        self.inlined: list[tuple[str, Span | None]] = []
        self.effects = Effects(mod=mod)
        self.marked = {name: functions[name] for name in marked}
        self._copies = copies

    def inlined_in(self, function: Function) -> Function:
        """Return a function with the calls in it inlined."""
        return self.visit(function)

    def visited_before(self, expr: Expr) -> Sequence[Expr]:
        """Return the arguments of a call of a global, and all children otherwise."""
        if isinstance(expr, Call) and isinstance(expr.op, GlobalVar):
            return expr.args
        return super().visited_before(expr)

    def visit_call(self, call: Call) -> Expr:
        """Return the body of the function that is called."""
        if not isinstance(call.op, GlobalVar):
            return super().visit_call(call)
        args = [self.memo_map[arg] for arg in call.args]
        callee = self._inlinable(call.op)
        same = all(new is old for new, old in zip(args, call.args, strict=True))
        if callee is None or len(callee.params) != len(args):
            if same:
                return call
            return Call(call.op, tuple(args), call.attrs, call.type_args, call.span)
        self._take(callee, call.op, call.span)
        if callee.type_params or _is_made_for_a_device(callee):
            closure = with_new_variables(self.closure_of(callee))
            return Call(closure, tuple(args), call.attrs, call.type_args, call.span)
        return self.in_place(callee, args, call)

    def closure_of(self, callee: Function) -> Function:
        """Return what stands for a function whose body cannot; its mark stays."""
        return callee

    def in_place(self, callee: Function, args: Sequence[Expr], call: Call) -> Expr:
        """Return what a function computes, in the place of a call of it."""
        return body_in_place(callee, args, call, self.effects)

    def visit_global_var(self, global_var: GlobalVar) -> Expr:
        """Return the function that is referred to."""
        callee = self._inlinable(global_var)
        if callee is None:
            return global_var
        self._take(callee, global_var, global_var.span)
        return with_new_variables(self.closure_of(callee))

    def _take(self, callee: Function, name: GlobalVar, span: Span | None) -> None:
        self._copies.take(callee, name.name_hint)
        self.inlined.append((name.name_hint, span))

    def _inlinable(self, global_var: GlobalVar) -> Function | None:
        name = global_var.name_hint
        return self.marked.get(name)


def _is_made_for_a_device(function: Function) -> bool:
    return any(map(function.has_nonzero_attr, ("Primitive", "Compiler")))


@register_pass("relay._transform.InlinePrimitives")
@expects_single_bindings
class InlinePrimitives(FunctionPass):
    """Call fused and global functions directly instead of through variables.

    ::

        def @main(%x: Tensor[(3,), float32]) {
          let %f = fn (%p: Tensor[(3,), float32], Primitive=1) {
            exp(%p)
          };
          let %y = %f(%x);
          %y
        }

    becomes::

        def @main(%x: Tensor[(3,), float32]) -> Tensor[(3,), float32] {
          %0 = fn (%p: Tensor[(3,), float32], Primitive=1) -> Tensor[(3,), float32] {
            exp(%p)
          };
          let %y = %0(%x);
          %y
        }

    This reverts what ToANormalForm does to fused functions, so that code generators
    find them at the calls. Values that no call needs any more are removed, as by
    DeadCodeElimination. A function that is called twice is written once, and shared.
    """

    pass_info = PassInfo(1, "InlinePrimitives")
    cacheable = True

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        """Return the function with primitives at their calls."""
        inliner = _PrimitiveInliner(func)
        inlined = inliner.visit(func)
        if inliner.inlined:
            ctx.count("inlined", inliner.inlined)
        return eliminate_dead_code(inlined, mod)


class _PrimitiveInliner(ExprMutator):
    """Replaces variables that are called; counts how many were `inlined`."""

    def __init__(self, root: Function) -> None:
        super().__init__()
        self.inlined = 0
        self._values = {
            node.var: node.value for node in post_order(root) if isinstance(node, Let)
        }

    def visited_before(self, expr: Expr) -> Sequence[Expr]:
        """Return the children of an expression, but not what is in a primitive."""
        if isinstance(expr, Function):
            return () if _is_primitive(expr) else children(expr)
        return super().visited_before(expr)

    def visit_function(self, fn: Function) -> Expr:
        """Leave a primitive function alone."""
        return fn if _is_primitive(fn) else super().visit_function(fn)

    def visit_call(self, call: Call) -> Expr:
        """Return a call of what the variable stands for."""
        new: Call = super().visit_call(call)
        callee = self._value(call.op)
        if callee is call.op or not (
            isinstance(callee, GlobalVar) or _is_primitive(callee)
        ):
            return new
        self.inlined += 1
        return Call(callee, new.args, new.attrs, new.type_args, new.span)

    def _value(self, callee: Expr) -> Expr:
        """Return what a variable is bound to, by way of others."""
        seen: set[Expr] = set()
        while isinstance(callee, Var) and callee not in seen:
            seen.add(callee)
            callee = self._values.get(callee, callee)
        return callee


def _is_primitive(expr: Expr) -> bool:
    return isinstance(expr, Function) and expr.has_nonzero_attr("Primitive")
