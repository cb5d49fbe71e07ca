"""ToCPS and UnCPS: to continuation passing style, and back.

In this style functions pass their results to continuations instead of returning them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from parpass.errors import IRError, IRTypeError
from parpass.errors.core import describe_kind
from parpass.ir.adt import Constructor
from parpass.ir.module import IRModule
from parpass.ir.node import children, post_order, reflection
from parpass.ir.op_table import Op
from parpass.ir.type_functor import TypeMutator
from parpass.ir.type_structure import extent, substitute, type_vars_in
from parpass.ir.types import FuncType, Type, TypeVar
from parpass.relay.adt import Clause, Match
from parpass.relay.analysis import all_type_vars
from parpass.relay.expr import Call, Expr, Function, GlobalVar, If, Let, Var
from parpass.relay.functor import ExprMutator, let_chain
from parpass.relay.transform.block_writer import is_opaque
from parpass.relay.transform.extra.trampoline import Steps, trampoline
from parpass.relay.transform.normal_forms import to_a_normal_form
from parpass.relay.typing.infer import infer_type, typed_function
from parpass.transform import ModulePass, PassContext, PassInfo, register_pass


@register_pass("relay._transform.ToCPS")
class ToCPS(ModulePass):
    """Turn each function into continuation passing style.

    ::

        def @main(%x: float32, %c: bool) -> float32 {
          let %y = if (%c) {
            exp(%x)
          } else {
            %x
          };
          add(%y, %y)
        }

    becomes::

        def @main<answer>(%x: float32, %c: bool, %k: fn (float32) -> answer)
        -> answer {
          let %then: fn (float32) -> answer = fn (%y: float32) -> answer {
            let %x_1: float32 = add(%y, %y);
            %k(%x_1)
          };
          if (%c) {
            let %x_2: float32 = exp(%x);
            %then(%x_2)
          } else {
            %then(%x)
          }
        }

    A function from `a` to `b` becomes one from `a` and a continuation, from `b` to
    `answer`, to `answer`. So every call is a tail call, and what comes behind a branch
    can be evaluated apart for each branch, by PartialEvaluate. `UnCPS` gives functions
    their results back. Functions that are marked `Primitive` or `Compiler`, and those
    of other IRs, stay as they are.

    Raises:
        IRError: A constructor is used as a function, or such a function takes one.
        DiagnosticError: A function is ill-typed, or shares effects between branches.
    """

    pass_info = PassInfo(1, "ToCPS", required=("InferType",))

    def transform_module(self, mod: IRModule, ctx: PassContext) -> IRModule:
        """Return the module with each function in continuation passing style."""
        functions = dict(mod.functions_by_name)
        own = mod.global_vars_by_name
        for name, function in mod.functions_by_name.items():
            if not _is_direct(function):
                functions[name] = _Converter(function, mod, own.__getitem__).converted
        ctx.count("converted", len(functions))
        return IRModule.assemble(mod, functions)


def to_cps(func: Function, mod: IRModule | None = None) -> Function:
    """Return a function in continuation passing style; see `ToCPS`.

    Global functions that it comes to get counterparts, `f_cps` of `f`, which are added
    to the module.

    Args:
        func: The function.
        mod: Has the global functions.

    Raises:
        IRError: A constructor is used as a function, or what stays as it is takes one.
        DiagnosticError: A function is ill-typed, or shares effects between branches.
    """
    module = mod if mod is not None else IRModule()
    counterparts: dict[str, GlobalVar] = {}
    waiting: list[str] = []

    def counterpart(name: str) -> GlobalVar:
        if name not in counterparts:
            counterparts[name] = GlobalVar(unused_name(f"{name}_cps", module))
            waiting.append(name)
        return counterparts[name]

    result = _Converter(func, module, counterpart).converted
    while waiting:
        name = waiting.pop()
        made = _Converter(module[name], module, counterpart).converted
        module[counterparts[name]] = made
    return result


class _ConvertedTypes(TypeMutator):
    """Makes types of functions those in continuation passing style."""

    def __init__(self, answer: TypeVar) -> None:
        self.answer = answer

    def visit_func_type(self, ft: FuncType) -> Type:
        *args, result = map(self.visit, (*ft.arg_types, ft.ret_type))
        return FuncType((*args, self.continuation(result)), self.answer, ft.type_params)

    def continuation(self, result: Type) -> FuncType:
        """Return the type of what takes a result, whose type is converted."""
        return FuncType((result,), self.answer)


class _Converter:
    """Converts one global function.

    Args:
        function: The function.
        mod: Has the global functions that it calls.
        global_var: Returns what stands for a global function, by its name.

    Attributes:
        converted: The function in continuation passing style.
    """

    def __init__(
        self, function: Function, mod: IRModule, global_var: Callable[[str], GlobalVar]
    ) -> None:
        plain = infer_type(function, mod)
        normal = infer_type(to_a_normal_form(plain, mod), mod)
        taken = {var.name_hint for var in all_type_vars(normal)}
        answer = "answer"
        while answer in taken:
            answer += "_"
        self._answer = TypeVar(answer)
        self._types = _ConvertedTypes(self._answer)
        self._mod = mod
        self._global_var = global_var
        self._new: dict[Var, Var] = {}
        made = trampoline(self._function(normal))
        types = (*made.type_params, self._answer)
        self.converted = Function(
            made.params, made.body, made.ret_type, types, made.attrs, made.span
        )

    def _var(self, var: Var) -> Var:
        if var not in self._new:
            typ = self._types.visit(var.checked_type)
            self._new[var] = Var(var.name_hint, typ, var.span)
        return self._new[var]

    def _function(self, function: Function) -> Steps[Function]:
        result = self._types.visit(function.body.checked_type)
        k = Var("k", self._types.continuation(result))
        params = (*map(self._var, function.params), k)
        if is_opaque(function):
            own = function.type_params
            call = Call(function, params[:-1], None, own)
            body = self._returned(call, function, k)
        else:
            body = yield self._block(function.body, k)
        attrs = None if is_opaque(function) else function.attrs
        return Function(
            params, body, self._answer, function.type_params, attrs, function.span
        )

    def _returned(self, call: Call, function: Function, k: Var) -> Expr:
        """Return the call of what stays as it is, its result handed on."""
        if any(map(_has_functions, function.checked_type.parts)):
            raise IRError(
                "expected functions marked 'Primitive' or 'Compiler', and those of "
                f"other IRs, on tensors, got {function.checked_type}"
            )
        var = Var("x", cast("FuncType", function.checked_type).ret_type)
        return Let(var, call, Call(k, (var,)))

    def _block(self, expr: Expr, k: Var) -> Steps[Expr]:
        """Return a block in A-normal form whose result goes to a continuation."""
        chain, result = let_chain(expr)
        rest: Expr = Call(k, (self._atom(result),))
        for let in reversed(chain):
            rest = yield self._binding(let, rest)
        return rest

    def _binding(self, let: Let, rest: Expr) -> Steps[Expr]:
        """Return a binding before the rest of its block."""
        value, var = let.value, self._var(let.var)
        if isinstance(value, Function):
            made = yield self._function(value)
            return Let(var, made, rest, let.span)
        if isinstance(value, Call) and not isinstance(value.op, Op | Constructor):
            args = tuple(map(self._atom, value.args))
            callee, types = self._atom(value.op), self._type_args(value)
            if isinstance(callee, GlobalVar):
                types.append(self._answer)  # its own answer is a type parameter
            return Call(callee, (*args, _reified(var, rest)), None, types, value.span)
        if isinstance(value, If | Match):
            then = _reified(var, rest)
            if isinstance(then, Var):
                return (yield self._branches(value, then))
            name = Var("then", self._types.continuation(var.checked_type))
            branches = yield self._branches(value, name)
            return Let(name, then, branches, let.span)
        return Let(var, self._with_atoms(value), rest, let.span)

    def _with_atoms(self, value: Expr) -> Expr:
        if isinstance(value, Call):
            args = tuple(map(self._atom, value.args))
            types = self._type_args(value)
            return Call(value.op, args, value.attrs, types, value.span)
        old = children(value)
        if not old:
            return self._atom(value)
        return reflection(type(value)).rebuild(value, [*map(self._atom, old)])

    def _type_args(self, call: Call) -> list[Type]:
        """Return the type arguments of a call, which may be all that tells of them."""
        given = () if isinstance(call.op, Op) else call.type_args
        return [*map(self._types.visit, given)]

    def _branches(self, value: If | Match, k: Var) -> Steps[Expr]:
        if isinstance(value, If):
            true = yield self._block(value.true_branch, k)
            false = yield self._block(value.false_branch, k)
            return If(self._atom(value.cond), true, false, value.span)
        clauses: list[Clause] = []
        for clause in value.clauses:
            variables = [self._var(var) for var in clause.lhs.variables]
            rhs = yield self._block(clause.rhs, k)
            pattern = clause.lhs.with_variables(variables)
            clauses.append(Clause(pattern, rhs, clause.span))
        return Match(self._atom(value.data), clauses, value.complete, value.span)

    def _atom(self, atom: Expr) -> Expr:
        """Return a name as a name of what is converted."""
        if isinstance(atom, Var):
            return self._var(atom)
        if isinstance(atom, Constructor):
            raise IRError(
                f"expected constructor '{atom.name_hint}' to be called, got a use as a "
                "function; EtaExpand(expand_constructor=True) makes it one"
            )
        if not isinstance(atom, GlobalVar):
            return atom
        function = self._mod[atom.name_hint]
        if not _is_direct(function):
            return self._global_var(atom.name_hint)
        params = [Var(p.name_hint, p.checked_type) for p in function.params]
        result = cast("FuncType", function.checked_type).ret_type
        k = Var("k", self._types.continuation(result))
        own = function.type_params
        body = self._returned(Call(atom, params, None, own), function, k)
        return Function((*params, k), body, self._answer, own)


def _is_direct(function: object) -> bool:
    """Return whether a global function stays as it is."""
    return not isinstance(function, Function) or is_opaque(function)


def _has_functions(typ: Type) -> bool:
    return FuncType in extent(typ).kinds


def _reified(var: Var, rest: Expr) -> Expr:
    """Return the continuation that binds a variable before the rest of a block."""
    if isinstance(rest, Call) and rest.args == (var,) and isinstance(rest.op, Var):
        return rest.op  # it hands the value on to another one
    return Function((var,), rest)


def unused_name(name: str, mod: IRModule) -> str:
    """Return a name that no function of a module has, much like `name`."""
    while name in mod:
        name += "_"
    return name


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
            if not _passes_functions_on(typed[name]):
                result[mod.get_global_var(name)] = _returning(typed[name], var)
            result[var] = converted[name]
        return result


def un_cps(func: Function) -> Function:
    """Return the direct form of a function in continuation passing style.

    Args:
        func: A function with types, as `to_cps` makes them.

    Raises:
        IRTypeError: The function is not in continuation passing style.
    """
    result = None if func.checked_type_ is None else _result_type(func)
    if result is None:
        raise IRTypeError(
            "expected a function with types whose last parameter is a continuation, "
            f"got {func.checked_type_ or describe_kind(func)}; to_cps makes such "
            "functions, and InferType gives types"
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


def _passes_functions_on(func: Function) -> bool:
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
