"""Data types whose values stand for functions, and what calls what they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from parpass.errors import IRError
from parpass.ir.adt import Constructor, GlobalTypeVar, TypeData
from parpass.ir.module import IRModule
from parpass.ir.type_functor import TypeMutator
from parpass.ir.types.ty import FuncType, Type
from parpass.ir.types.type_structure import extent
from parpass.relay.adt import (
    Clause,
    Match,
    PatternConstructor,
    PatternVar,
    PatternWildcard,
)
from parpass.relay.expr import Call, Expr, Function, GlobalVar, Var


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
