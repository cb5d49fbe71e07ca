"""UnCPS: functions in continuation passing style return their results again."""

from __future__ import annotations

from typing import cast

from parpass.errors import IRTypeError, kind_of
from parpass.ir.module import IRModule
from parpass.ir.node import post_order
from parpass.ir.types.ty import FuncType, Type
from parpass.ir.types.type_structure import substitute, type_vars_in
from parpass.relay.expr import Call, Expr, Function, GlobalVar, Var
from parpass.relay.functor import ExprMutator
from parpass.relay.transform.normal_forms.to_cps import unused_name
from parpass.relay.typing.infer import typed_function
from parpass.transform import ModulePass, PassContext, PassInfo, register_pass


@register_pass("relay._transform.UnCPS")
class UnCPS(ModulePass):
    """Give functions in continuation passing style their results back.

    ::

        def @main<answer>(%x: float32, %k: fn (float32) -> answer) -> answer {
          %k(%x)
        }

    becomes::

        def @main(%x: float32) -> float32 {
          %0 = fn (%x_1: float32) -> float32 {
            %x_1
          };
          @main_cps<float32>(%x, %0)
        }

        def @main_cps<answer>(%x: float32, %k: fn (float32) -> answer) -> answer {
          %k(%x)
        }

    Functions call each other as they did, by their new names. One that takes or gives
    functions has its new name only: those are in continuation passing style, too.
    """

    pass_info = PassInfo(1, "UnCPS", required=("InferType",))

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Return the module with a function that returns for each that does not."""
        old = mod.functions_by_name
        typed = {
            name: typed_function(function, mod)
            for name, function in old.items()
            if isinstance(function, Function)
        }
        renamed = {
            name: GlobalVar(unused_name(f"{name}_cps", mod))
            for name, function in typed.items()
            if _result_type(function) is not None
        }
        if not renamed:
            return mod
        ctx.count("converted", len(renamed))
        functions = dict(old)
        for name, function in typed.items():
            functions[name] = _with_names(function, renamed)
        converted = {name: functions.pop(name) for name in renamed}
        result = IRModule.assemble(mod, functions)
        for name, var in renamed.items():
            if not _hands_on_functions(typed[name]):
                result[mod.get_global_var(name)] = _returning(typed[name], var)
            result[var] = converted[name]
        return result


def un_cps(func: Function) -> Function:
    """Return a function that returns what another one gives its continuation.

    Args:
        func: A function with types, as `to_cps` makes them.

    Raises:
        IRTypeError: The function is not in continuation passing style.
    """
    result = None if func.checked_type_ is None else _result_type(func)
    if result is None:
        raise IRTypeError(
            "expected a function with types whose last parameter is a continuation, "
            f"got {func.checked_type_ or kind_of(func)}; to_cps makes such functions, "
            "and InferType gives types"
        )
    if func.type_params[-1] in type_vars_in(result):
        raise IRTypeError(
            f"expected a function that does not return functions, got one of {result}, "
            "which give their results to the same continuations"
        )
    return _returning(func, func)


def _returning(func: Function, callee: Expr) -> Function:
    """Return a function that calls one with the continuation that returns."""
    result = cast("Type", _result_type(func))
    answer = {func.type_params[-1]: result}
    params = [
        Var(param.name_hint, substitute(param.checked_type, answer), param.span)
        for param in func.params[:-1]
    ]
    types = func.type_params[:-1]
    x = Var("x", result)
    args = (*params, Function((x,), x, result))
    call = Call(callee, args, None, (*types, result), func.span)
    attrs = func.attrs
    return Function(params, call, result, types, attrs, func.span)


def _result_type(func: Function) -> Type | None:
    """Return what the continuation of a function takes; None if it has none."""
    if not func.type_params or not func.params:
        return None
    answer = func.type_params[-1]
    typ, last = cast("FuncType", func.checked_type), func.params[-1].checked_type
    if not isinstance(last, FuncType) or {last.ret_type, typ.ret_type} != {answer}:
        return None
    return last.arg_types[0] if len(last.arg_types) == 1 else None


def _hands_on_functions(func: Function) -> bool:
    """Return whether arguments, or the result, give their results to continuations."""
    answer = func.type_params[-1]
    types = [param.checked_type for param in func.params[:-1]]
    types.append(cast("Type", _result_type(func)))
    return any(answer in type_vars_in(typ) for typ in types)


def _with_names(function: Function, renamed: dict[str, GlobalVar]) -> Function:
    """Return a function that refers to others by their new names."""
    mutator = ExprMutator()
    for node in post_order(function):
        if isinstance(node, GlobalVar) and node.name_hint in renamed:
            mutator.memo_map[node] = renamed[node.name_hint]
    return mutator.visit(function)
