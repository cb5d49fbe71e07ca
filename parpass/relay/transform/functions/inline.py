"""Inline: functions that are marked for it, in the place of their calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from parpass.ir.module import IRModule
from parpass.relay.analysis import called_globals
from parpass.relay.analysis.call_graph import CallGraph
from parpass.relay.analysis.effects import Effects
from parpass.relay.binding import with_new_variables
from parpass.relay.expr import Call, Expr, Function, GlobalVar
from parpass.relay.functor import ExprMutator
from parpass.relay.transform.functions.call_in_place import body_in_place
from parpass.relay.transform.functions.copy_limit import CopyLimit
from parpass.transform import ModulePass, PassContext, PassInfo, register_pass

INLINE = "Inline"  # marks what Inline puts in the place of its calls


@register_pass("relay._transform.Inline")
class Inline(ModulePass):
    """Put the bodies of functions marked `Inline` in the place of their calls.

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

    A marked function that something called is removed. Functions that call themselves,
    directly or by way of others, are not inlined. A reference that is no call, a
    polymorphic function, and one marked `Primitive` or `Compiler` become closures,
    which keep their marks. An argument with effects is bound by a `let`.

    Raises:
        SizeLimitError: More nodes would be copied than option `relay.max_copied_nodes`
            says; functions that call each other twice, level by level, double in size
            with each level.
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
    if not any(graph.callers[name] for name in marked):
        return mod
    count, copies = 0, CopyLimit(ctx)
    for component in graph.sccs():  # callees first
        for var in component:
            if marked.isdisjoint(graph.callees[var.name_hint]):
                continue
            inliner = kind(functions, marked, mod, copies)
            name = var.name_hint
            functions[name] = inliner.inlined_in(functions[name])
            count += inliner.inlined
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
        inlined: How many calls and references were replaced.
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
        self.inlined = 0
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
        self._take(callee, call.op)
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
        self._take(callee, global_var)
        return with_new_variables(self.closure_of(callee))

    def _take(self, callee: Function, name: GlobalVar) -> None:
        self._copies.take(callee, name.name_hint)
        self.inlined += 1

    def _inlinable(self, global_var: GlobalVar) -> Function | None:
        name = global_var.name_hint
        return self.marked.get(name)


def _is_made_for_a_device(function: Function) -> bool:
    return any(map(function.has_nonzero_attr, ("Primitive", "Compiler")))
