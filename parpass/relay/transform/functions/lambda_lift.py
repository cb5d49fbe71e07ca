"""LambdaLift: closures become global functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from parpass.ir.module import IRModule
from parpass.ir.node import post_order, reflection
from parpass.ir.structural import structural_equal, structural_hash
from parpass.ir.types import Type, TypeVar
from parpass.ir.types.type_structure import type_vars_in
from parpass.relay.analysis import free_type_vars, free_vars
from parpass.relay.binding import substitute
from parpass.relay.expr import Call, Expr, Function, GlobalVar, Let, Var
from parpass.relay.functor import ExprMutator
from parpass.relay.transform.binding_check import expects_single_bindings
from parpass.relay.transform.block_writer import is_opaque
from parpass.relay.type_inference.infer import infer_type
from parpass.transform import ModulePass, PassContext, PassInfo, register_pass

CLOSURE = "Closure"  # marks a global function that takes what a closure captured


@register_pass("relay._transform.LambdaLift")
@expects_single_bindings
class LambdaLift(ModulePass):
    """Lift each nested function to a global function.

    ::

        def @main(%x: float32) -> float32 {
          let %f = fn (%y: float32) -> float32 {
            add(%x, %y)
          };
          %f(1f)
        }

    becomes::

        def @main(%x: float32) -> float32 {
          let %f = @lifted_name9bdb9e628af51b3d(%x);
          %f(1f)
        }

        def @lifted_name9bdb9e628af51b3d(%x: float32, Closure=1)
            -> fn (float32) -> float32 {
          fn (%y: float32) -> float32 {
            add(%x, %y)
          }
        }

    A closure that captures variables becomes a function of them, marked `Closure`, that
    returns the closure. The same happens to a closure with inner types that do not
    follow from its own type. A closure that captures nothing is referenced directly.
    Equal closures become one. Names contain a hash of the structure, so they are the
    same in every run. Recursive closures call the global function. Functions marked
    `Primitive` or `Compiler` stay in place.

    Raises:
        DiagnosticError: A closure captures a variable, and its function is ill-typed.
    """

    pass_info = PassInfo(opt_level=1, name="LambdaLift")

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Return the module with closures lifted."""
        lifted = _Lifted(mod)
        functions = {
            name: function if is_opaque(function) else lifted.visit(function)
            for name, function in mod.functions_by_name.items()
        }
        if not lifted.functions:
            return mod
        ctx.count("lifted", len(lifted.functions))
        result = IRModule.assemble(mod, functions)
        for var, function in lifted.functions.items():
            result[var] = function
        return result


class _Lifted:
    """The global functions made of closures, and their names.

    Attributes:
        functions: Those that the module does not have.
    """

    def __init__(self, mod: IRModule) -> None:
        self.functions: dict[GlobalVar, Function] = {}
        self._mod = mod
        self._templates: dict[str, Function] = {}
        self._vars: dict[str, GlobalVar] = {}

    def visit(self, function: Function) -> Function:
        """Return a global function without closures."""
        if not _has_closures(function):
            return function
        if function.checked_type_ is None:
            function = infer_type(function, self._mod)
        return _Lifter(function, self).visit(function)

    def name_of(self, template: Function) -> tuple[GlobalVar, bool]:
        """Return the global variable for a closure, and whether it is new.

        Args:
            template: A function of all that the closure refers to.
        """
        base = f"lifted_name{structural_hash(template):016x}"
        name, tries = base, 0
        while name in self._mod or name in self._templates:
            known = self._templates.get(name)
            if known is not None and structural_equal(known, template):
                return self._vars[name], False
            tries += 1
            name = f"{base}_{tries}"
        self._templates[name] = template
        self._vars[name] = GlobalVar(name)
        return self._vars[name], True


class _Lifter(ExprMutator):
    """Replaces the closures of one global function."""

    def __init__(self, root: Function, lifted: _Lifted) -> None:
        super().__init__()
        self._lifted = lifted
        self._kept = {root, root.body} if root.has_nonzero_attr(CLOSURE) else {root}
        self._bound_to: dict[Expr, Var] = {}

    def visited_before(self, expr: Expr) -> Sequence[Expr]:
        """Return all children, so that closures nested to any depth are lifted."""
        if isinstance(expr, Let):
            self._bound_to[expr.value] = expr.var
        elif isinstance(expr, Function) and is_opaque(expr):
            return ()
        return reflection(type(expr)).children(expr)

    def visit_function(self, fn: Function) -> Expr:
        """Return a reference to the global function, or a call that makes a closure."""
        if is_opaque(fn):
            return fn
        new = cast("Function", super().visit_function(fn))
        if fn in self._kept:
            return new
        itself = self._bound_to.get(fn)
        free = free_vars(new)
        captured = [var for var in free if var is not itself]
        template = Function((*(v for v in free if v is itself), *captured), new)
        var, is_new = self._lifted.name_of(template)
        types = free_type_vars(new)
        told = type_vars_in(cast("Type", fn.checked_type_))
        # A reference to a function does not tell of types that its own has not.
        made: Expr = var
        if captured or not {*told}.issuperset(types):
            made = Call(var, captured, None, types, fn.span)
        if is_new:
            function = _global_function(made, new, itself, fn.checked_type_, types)
            self._lifted.functions[var] = function
        return made


def _global_function(
    made: Expr,
    closure: Function,
    itself: Var | None,
    type_: Type | None,
    types: Sequence[TypeVar],
) -> Function:
    """Return the function that is a closure, or returns one, given what it captured.

    Args:
        made: What stands for the closure: a reference to that function, or a call.
        closure: The closure, without closures in it.
        itself: The variable that the closure is bound to, which it may refer to.
        type_: The type of the closure.
        types: The type variables in it that are bound outside of it.
    """
    captured = made.args if isinstance(made, Call) else ()
    params = {
        v: Var(v.name_hint, v.type_annotation or v.checked_type_)
        for v in cast("Sequence[Var]", captured)
    }
    values: dict[Var, Expr] = dict(params)
    if itself is not None:
        values[itself] = substitute(made, params)
    inner = substitute(closure, values)
    if not isinstance(made, Call):
        type_params = (*types, *inner.type_params)
        return Function(
            inner.params,
            inner.body,
            inner.ret_type,
            type_params,
            inner.attrs,
            inner.span,
        )
    attrs = {CLOSURE: 1}
    return Function((*params.values(),), inner, type_, types, attrs, inner.span)


def _has_closures(function: Function) -> bool:
    kept = (
        {function, function.body} if function.has_nonzero_attr(CLOSURE) else {function}
    )
    return any(
        isinstance(node, Function) and node not in kept and not is_opaque(node)
        for node in post_order(function)
    )
