"""First-order programs: data types that encode functions, and `apply` functions."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from parpass.errors import IRError
from parpass.ir.adt import Constructor, GlobalTypeVar, TypeData
from parpass.ir.module import IRModule
from parpass.ir.node import Node, bindings, children, post_order
from parpass.ir.op_table import Op
from parpass.ir.type_functor import TypeMutator
from parpass.ir.type_structure import extent, substitute
from parpass.ir.types import FuncType, Type, TypeVar
from parpass.relay.adt import (
    Clause,
    Match,
    PatternConstructor,
    PatternVar,
    PatternWildcard,
)
from parpass.relay.binding import with_new_variables
from parpass.relay.expr import Call, Expr, Function, GlobalVar, Let, Var
from parpass.relay.functor import ExprMutator
from parpass.relay.transform.block_writer import is_opaque
from parpass.relay.transform.functions.inline import CopyLimit
from parpass.relay.typing.infer import typed_function
from parpass.transform import PassContext


@dataclass
class Encoding:
    """The data type that stands for one type of functions.

    Attributes:
        name: The name of the data type.
        apply: The function that calls what a value of it stands for.
        params: Those of `apply`: the value, and the arguments.
        result: What `apply` returns.
        constructors: One for each function that is made.
        clauses: What `apply` does for each.
    """

    name: GlobalTypeVar
    apply: GlobalVar
    params: list[Var]
    result: Type
    constructors: list[Constructor] = field(default_factory=list[Constructor])
    clauses: list[Clause] = field(default_factory=list[Clause])

    def constructor(self, captured: Sequence[Type]) -> Constructor:
        """Return a new constructor for what captures values of these types."""
        name = f"{self.name.name_hint}_{len(self.constructors)}"
        made = Constructor(name, captured, self.name)
        self.constructors.append(made)
        return made

    def add_clause(self, made: Constructor, bound: Sequence[Var], body: Expr) -> None:
        """Add what `apply` does for what a constructor has made."""
        pattern = PatternConstructor(made, [PatternVar(var) for var in bound])
        self.clauses.append(Clause(pattern, body))

    def apply_function(self) -> Function:
        """Return the function that calls what its first argument stands for."""
        clauses = self.clauses
        if not clauses:  # nobody makes such a value, so nobody calls it
            clauses = [Clause(PatternWildcard(), Call(self.apply, self.params))]
        return Function(self.params, Match(self.params[0], clauses), self.result)


class Encodings:
    """The data types that are made, each for one type of functions.

    Args:
        taken: The names of the module's functions and types.
    """

    def __init__(self, taken: set[str]) -> None:
        self._by_type: dict[str, Encoding] = {}
        self._taken = taken

    def of(self, typ: FuncType) -> Encoding:
        """Return what stands for functions of a type without type variables."""
        key = str(typ)
        if key not in self._by_type:
            if typ.type_params:
                raise IRError(
                    f"expected a function without type parameters, got {typ}; only an "
                    "argument may have some, whose types the callee tells"
                )
            name = GlobalTypeVar(self.unused("Defunc"))
            apply = GlobalVar(f"apply_{name}")
            made = Encoding(name, apply, [Var("f", name())], typ.ret_type)
            self._by_type[key] = made
            made.params += [Var("x", self.encoded(arg)) for arg in typ.arg_types]
            made.result = self.encoded(typ.ret_type)
        return self._by_type[key]

    def encoded(self, typ: Type) -> Type:
        """Return a type with data types in the place of types of functions."""
        return _EncodedTypes(self).visit(typ)

    def add_to(self, mod: IRModule) -> None:
        """Add the data types, and the functions that call their values, to a module."""
        for encoding in self._by_type.values():
            definition = TypeData(encoding.name, (), encoding.constructors)
            mod[encoding.name] = definition
        for encoding in self._by_type.values():
            mod[encoding.apply] = encoding.apply_function()

    def unused(self, prefix: str) -> str:
        """Return a name that begins so, and take it."""
        number = 0
        while f"{prefix}{number}" in self._taken:
            number += 1
        self._taken.add(f"{prefix}{number}")
        return f"{prefix}{number}"


class _EncodedTypes(TypeMutator):
    def __init__(self, encodings: Encodings) -> None:
        self._encodings = encodings

    def visit_func_type(self, ft: FuncType) -> Type:
        return self._encodings.of(ft).name()


def has_function_type(typ: Type) -> bool:
    """Return whether a type is one of functions, or is made of one."""
    return FuncType in extent(typ).kinds


_Types = Mapping[TypeVar, Type]

_CALLED_AS_IT_IS = (Constructor, Function, GlobalVar, Op)


class EncodedProgram:
    """The data types and functions that are made, and what is left to be done.

    Args:
        mod: Has the global functions.
        higher_order: The names of those to copy when they are called.
        ctx: Limits the copies.

    Attributes:
        captured: What functions capture that are inside of others.
        copies: Limits how many nodes of functions are converted more than once.
        encodings: The data types.
    """

    def __init__(
        self, mod: IRModule, higher_order: Collection[str], ctx: PassContext
    ) -> None:
        self.captured: dict[Function, list[Var]] = {}
        self._mod = mod
        self._higher_order = set(higher_order)
        self.copies = CopyLimit(ctx)
        self.encodings = Encodings({*mod.functions_by_name, *mod.types.by_name})
        self._of_globals: dict[tuple[str, str], Constructor] = {}
        self._copied: dict[tuple[str, ...], GlobalVar] = {}
        self._made: dict[GlobalVar, Function] = {}
        self._waiting: deque[Callable[[], None]] = deque()

    def converted(self, function: Function) -> Function:
        """Return a function with types, and without type parameters, first-order."""
        result = self._instance(function, {})
        while self._waiting:
            self._waiting.popleft()()
        return result

    def add_to(self, mod: IRModule) -> None:
        """Add the data types and functions that were made to a module."""
        self.encodings.add_to(mod)
        for var, function in self._made.items():
            mod[var] = function

    def type_of_global(self, var: GlobalVar) -> FuncType:
        """Return the type of a global function."""
        function = self._mod[var.name_hint]
        if isinstance(function, Function):
            function = typed_function(function, self._mod)
        return cast("FuncType", function.checked_type)

    def instance_of(self, var: GlobalVar, types: Sequence[Type]) -> GlobalVar | None:
        """Return the copy of a global function for some types; None if it stays."""
        name, function = var.name_hint, self._mod[var.name_hint]
        if not isinstance(function, Function) or is_opaque(function):
            return None
        if name not in self._higher_order and not any(map(has_function_type, types)):
            return None
        key = (name, *map(str, types))
        if key not in self._copied:
            typed = typed_function(function, self._mod)
            self.copies.take(function, name)
            made = self._copied[key] = GlobalVar(self.encodings.unused(f"{name}_"))
            known = dict(zip(typed.type_params, types, strict=True))
            self._made[made] = typed

            def convert() -> None:
                self._made[made] = self._instance(typed, known)

            self._waiting.append(convert)
        return self._copied[key]

    def encoded_global(self, var: GlobalVar, typ: FuncType) -> Constructor:
        """Return the constructor for a global function that is a value of a type."""
        key = (var.name_hint, str(typ))
        if key not in self._of_globals:
            known: dict[TypeVar, Type] = {}
            own = self.type_of_global(var)
            _match_types(FuncType(own.arg_types, own.ret_type), typ, known)
            types = [known[param] for param in own.type_params]
            target = self.instance_of(var, types)
            encoding = self.encodings.of(typ)
            made = self._of_globals[key] = encoding.constructor(())
            args, kept = encoding.params[1:], () if target else types
            encoding.add_clause(made, (), Call(target or var, args, None, kept))
        return self._of_globals[key]

    def add_body(self, encoding: Encoding, made: Constructor, body: _Body) -> None:
        """Add a case with a body to `apply`; the body is converted later."""

        def convert() -> None:
            encoding.add_clause(made, body.bound, body.converted())

        self._waiting.append(convert)

    def _instance(self, function: Function, types: _Types) -> Function:
        if function not in self.captured:
            self.captured.update(_captured_in(function))
        body = _Body(self, function, types)
        params = [cast("Var", body.visit(param)) for param in function.params]
        typ = cast("FuncType", function.checked_type).ret_type
        result = self.encodings.encoded(substitute(typ, types))
        return Function(
            params, body.converted(), result, (), function.attrs, function.span
        )


class _Body(ExprMutator):
    """Converts the body of one function.

    Args:
        program: Has the encodings.
        function: The function, with types.
        types: What its type variables stand for, and those around it.

    Attributes:
        bound: The variables for what the function captures.
    """

    def __init__(
        self, program: EncodedProgram, function: Function, types: _Types
    ) -> None:
        super().__init__()
        self.bound: list[Var] = []
        self._program = program
        self._function = function
        self._types = types
        self._bound_to: dict[Expr, Var] = {}

    def converted(self) -> Expr:
        """Return the body."""
        if not is_opaque(self._function):
            return self.visit(self._function.body)
        params = [self.visit(param) for param in self._function.params]
        return Call(self._as_it_is(self._function), params)

    def visited_before(self, expr: Expr) -> Sequence[Expr]:
        """Return the children, save for functions whose types the callee tells."""
        if isinstance(expr, Function):
            return ()
        if isinstance(expr, Let):
            self._bound_to[expr.value] = expr.var
        if isinstance(expr, Call):
            callee = () if isinstance(expr.op, _CALLED_AS_IT_IS) else (expr.op,)
            return (*callee, *(arg for arg in expr.args if not self._is_known(arg)))
        return super().visited_before(expr)

    def visit_var(self, var: Var) -> Expr:
        """Return a new variable, of an encoded type."""
        typ = self._program.encodings.encoded(self._type(var))
        return Var(var.name_hint, typ, var.span)

    def visit_constructor(self, con: Constructor) -> Expr:
        """Refuse a constructor that is not called."""
        raise IRError(
            f"expected constructor '{con.name_hint}' to be called, got a use as a "
            "function; EtaExpand(expand_constructor=True) makes it one"
        )

    def visit_global_var(self, global_var: GlobalVar) -> Expr:
        """Return what stands for a global function that is a value."""
        typ = self._program.type_of_global(global_var)
        return Call(self._program.encoded_global(global_var, typ), ())

    def visit_function(self, fn: Function) -> Expr:
        """Return what stands for a closure: a constructor on what it captures."""
        return self._closure(fn, cast("FuncType", self._type(fn)), self._types)

    def visit_call(self, call: Call) -> Expr:
        """Return a call of a function that is no value."""
        callee = call.op
        if isinstance(callee, Op):
            return super().visit_call(call)
        if isinstance(callee, Constructor):
            return self._constructed(call, callee)
        if isinstance(callee, GlobalVar):
            return self._global_call(call, callee)
        if isinstance(callee, Function) and is_opaque(callee):
            args = tuple(map(self.visit, call.args))
            return Call(self._as_it_is(callee), args, call.attrs, (), call.span)
        typ = cast("FuncType", self._type(callee))
        encoding = self._program.encodings.of(typ)
        args = self._values(call.args, typ.arg_types)
        if isinstance(callee, Var):
            return Call(encoding.apply, (self.visit(callee), *args), span=call.span)
        # The callee is evaluated behind the arguments.
        values = [*args, self.visit(callee)]
        names = [*encoding.params[1:], encoding.params[0]]
        new = [Var(name.name_hint, name.type_annotation) for name in names]
        result: Expr = Call(encoding.apply, (new[-1], *new[:-1]), span=call.span)
        for var, value in zip(reversed(new), reversed(values), strict=True):
            result = Let(var, value, result, call.span)
        return result

    def _type(self, expr: Expr) -> Type:
        return substitute(expr.checked_type, self._types)

    def _is_known(self, arg: Expr) -> bool:
        return isinstance(arg, GlobalVar) or (
            isinstance(arg, Function) and bool(arg.type_params)
        )

    def _values(self, args: Sequence[Expr], types: Sequence[Type]) -> list[Expr]:
        """Return arguments of types that the callee tells."""
        return [self._value(arg, typ) for arg, typ in zip(args, types, strict=True)]

    def _value(self, arg: Expr, typ: Type) -> Expr:
        if not self._is_known(arg) or not isinstance(typ, FuncType):
            return self.visit(arg)
        if isinstance(arg, GlobalVar):
            return Call(self._program.encoded_global(arg, typ), ())
        own, known = cast("FuncType", arg.checked_type), dict(self._types)
        _match_types(FuncType(own.arg_types, own.ret_type), typ, known)
        return self._closure(cast("Function", arg), typ, known)

    def _closure(self, fn: Function, typ: FuncType, types: _Types) -> Expr:
        encoding = self._program.encodings.of(typ)
        itself = self._bound_to.get(fn)
        captured = [var for var in self._program.captured[fn] if var is not itself]
        values = [cast("Var", self.visit(var)) for var in captured]
        made = encoding.constructor([var.checked_type for var in values])
        self._program.copies.take(fn, None)
        body = _Body(self._program, fn, types)
        body.bound = [Var(var.name_hint, var.type_annotation) for var in values]
        body.memo_map.update(zip(captured, body.bound, strict=True))
        body.memo_map.update(zip(fn.params, encoding.params[1:], strict=True))
        if itself is not None:
            body.memo_map[itself] = encoding.params[0]
        self._program.add_body(encoding, made, body)
        return Call(made, values, span=fn.span)

    def _constructed(self, call: Call, made: Constructor) -> Expr:
        if any(map(has_function_type, made.inputs)):
            raise IRError(
                f"expected a data type without functions in its definition, got "
                f"'{made.belong_to}'; type variables may stand for functions"
            )
        args = tuple(map(self.visit, call.args))
        encoded = self._program.encodings.encoded
        types = [encoded(substitute(one, self._types)) for one in call.type_args]
        return Call(made, args, call.attrs, types, call.span)

    def _global_call(self, call: Call, callee: GlobalVar) -> Expr:
        typ = self._program.type_of_global(callee)
        types = [substitute(one, self._types) for one in call.type_args]
        known = dict(zip(typ.type_params, types, strict=True))
        wanted = [substitute(arg, known) for arg in typ.arg_types]
        args = self._values(call.args, wanted)
        copy = self._program.instance_of(callee, types)
        if copy is not None:
            return Call(copy, args, call.attrs, (), call.span)
        return Call(callee, args, call.attrs, types, call.span)

    def _as_it_is(self, opaque: Function) -> Function:
        values = {var: self.visit(var) for var in self._program.captured[opaque]}
        return with_new_variables(opaque, values)


def _captured_in(root: Function) -> dict[Function, list[Var]]:
    """Return the free variables of a function and of those inside, each looked at once.

    Those of functions inside of each other are many times those of each.
    """
    found: dict[Function, list[Var]] = {}
    for function in post_order(root):  # inner ones first
        if not isinstance(function, Function):
            continue
        used, bound = dict[Var, None](), set[Node](function.params)
        seen, waiting = set[Node](), [function.body]
        while waiting:
            node = waiting.pop()
            if node in seen:
                continue
            seen.add(node)
            if isinstance(node, Function):
                used.update(dict.fromkeys(found[node]))
                continue
            if isinstance(node, Var):
                used[node] = None
            bound.update(bindings(node))
            waiting += reversed(children(node))
        found[function] = [var for var in used if var not in bound]
    return found


def _match_types(pattern: Type, typ: Type, known: dict[TypeVar, Type]) -> None:
    """Add to `known` the types for type variables by which a pattern becomes a type."""
    waiting = [(pattern, typ)]
    while waiting:
        pattern, typ = waiting.pop()
        if isinstance(pattern, TypeVar):
            known.setdefault(pattern, typ)
        else:
            waiting += zip(pattern.parts, typ.parts, strict=False)
