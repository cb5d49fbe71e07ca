"""FunctionsFromFusion: primitive functions become functions of the module."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.ir.op.op_table import Op
from parpass.ir.structural import structural_digest
from parpass.relay.analysis import free_vars
from parpass.relay.expr import Call, Expr, Function, GlobalVar
from parpass.relay.functor import ExprMutator
from parpass.relay.transform.binding_check import expects_single_bindings
from parpass.transform import ModulePass, PassContext, PassInfo, register_pass

_LONGEST_NAME = 80


@register_pass("parpass.FunctionsFromFusion")
@expects_single_bindings
class FunctionsFromFusion(ModulePass):
    """Lift the primitive functions that FuseOps made to functions of the module.

    ::

        def @main(%x: Tensor[(10, 20), float32]) -> Tensor[(10, 20), float32] {
          %0 = fn (%p0: Tensor[(10, 20), float32], Primitive=1) -> \
Tensor[(10, 20), float32] {
            %1 = add(%p0, 1f);
            exp(%1)
          };
          %0(%x)
        }

    becomes::

        def @main(%x: Tensor[(10, 20), float32]) -> Tensor[(10, 20), float32] {
          @fused_add_exp(%x)
        }

        def @fused_add_exp(%p0: Tensor[(10, 20), float32], Primitive=1) -> \
Tensor[(10, 20), float32] {
          %0 = add(%p0, 1f);
          exp(%0)
        }

    A network becomes a module of many functions, on which function passes run in
    parallel. A function is named after its operators. Structurally equal functions
    become one, as in TVM's TE compiler. To undo this pass, run DefuseOps and then
    RemoveUnusedFunctions.

    Functions with free variables stay in place.
    """

    pass_info = PassInfo(0, "FunctionsFromFusion")

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Return a module with the primitive functions as functions of their own."""
        lifter = _Lifter(mod)
        functions = {
            name: lifter.lifted_from(function)
            for name, function in mod.functions_by_name.items()
            if isinstance(function, Function)
        }
        if not lifter.lifted:
            return mod
        ctx.count("lifted", len(lifter.lifted))
        ctx.count("shared", lifter.shared)
        result = IRModule.assemble(mod, {**mod.functions_by_name, **functions})
        for var, function in lifter.lifted.items():
            result[var] = function
        return result


class _Lifter:
    """Gives primitive functions global variables, equal ones the same.

    Attributes:
        lifted: The functions by their variables.
        shared: How many functions got the variable of an equal one.
    """

    def __init__(self, mod: IRModule) -> None:
        self.lifted: dict[GlobalVar, Function] = {}
        self.shared = 0
        self._taken = set(mod.functions_by_name)
        self._numbers: dict[str, int] = {}
        self._by_digest: dict[bytes, GlobalVar] = {}

    def lifted_from(self, function: Function) -> Function:
        if function.has_nonzero_attr("Primitive"):
            return function
        return _CallsOfLifted(self).visit(function)

    def variable(self, function: Function) -> GlobalVar:
        """Return the global variable of a function, a new one if it is new."""
        digest = structural_digest(function)
        if digest in self._by_digest:
            self.shared += 1
            return self._by_digest[digest]
        var = self._by_digest[digest] = GlobalVar(self._name(function))
        self.lifted[var] = function
        return var

    def _name(self, function: Function) -> str:
        wanted = "_".join(("fused", *_operator_names(function)))[:_LONGEST_NAME]
        number = self._numbers.get(wanted, 0)
        name = f"{wanted}_{number}" if number else wanted
        while name in self._taken:
            number += 1
            name = f"{wanted}_{number}"
        self._numbers[wanted] = number + 1
        self._taken.add(name)
        return name


class _CallsOfLifted(ExprMutator):
    """Replaces primitive functions by their global variables."""

    def __init__(self, lifter: _Lifter) -> None:
        super().__init__()
        self._lifter = lifter

    def visit_function(self, fn: Function) -> Expr:
        new = cast("Function", super().visit_function(fn))
        if not fn.has_nonzero_attr("Primitive") or free_vars(new):
            return new
        return self._lifter.variable(new)

    def visited_before(self, expr: Expr) -> tuple[Expr, ...]:
        return tuple(super().visited_before(expr) or _body_of(expr))


def _body_of(expr: Expr) -> tuple[Expr, ...]:
    return (expr.body,) if isinstance(expr, Function) else ()


def _operator_names(function: Function) -> Iterator[str]:
    for node in post_order(function.body):
        if isinstance(node, Call) and isinstance(node.op, Op):
            yield node.op.name.replace(".", "_")
