"""Uses of globals by an expression, with the types that inference found for them.

The type of an expression is valid as long as these types are, so they are recorded.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Protocol

from parpass.errors.core import did_you_mean
from parpass.ir.adt import Constructor, TypeData
from parpass.ir.types import FuncType, Type
from parpass.ir.types.type_structure import digest
from parpass.relay.expr import Expr, Function, GlobalVar
from parpass.relay.type_inference.inference_state import InferenceState


class Globals(Protocol):
    """Answers what a module has; for one that is known it is GlobalTypes."""

    @property
    def names(self) -> Collection[str]:
        """The names of the functions."""
        ...

    def type_of(self, name: str) -> FuncType | None:
        """Return the type of a function, None if it cannot be found."""
        ...

    def own_global_var(self, global_var: GlobalVar) -> GlobalVar:
        """Return the module's own global variable of that name, if it has one."""
        ...

    def definition(self, name: str) -> TypeData | None:
        """Return the definition of a type, None if there is none."""
        ...


class GlobalUses:
    """Asks for functions and types of the module; reports what it does not have.

    Args:
        known: Answers what the module has.
        inference: Takes the errors.
        assumed: The types of functions that are inferred together with this one.

    Attributes:
        types: The types of the global functions that were referred to.
        definitions: Digests of the definitions of types that were referred to.
        ill_typed: Those whose own body has errors, reported there, with a use.
    """

    def __init__(
        self, known: Globals, inference: InferenceState, assumed: Mapping[str, FuncType]
    ) -> None:
        self.types: dict[str, FuncType] = {}
        self.definitions: dict[str, bytes] = {}
        self.ill_typed: dict[str, Expr] = {}
        self._known = known
        self._inference = inference
        self._assumed = assumed

    def type_of(self, global_var: GlobalVar, user: Expr) -> Type | None:
        """Return the type of a global function, None if it has none."""
        name = global_var.name_hint
        if name not in self._known.names:
            near = did_you_mean(name, self._known.names)
            message = f"the module has no function named '{name}'{near}"
            self._inference.error(user, message)
            return None
        found = self._assumed.get(name) or self._known.type_of(name)
        if found is None:
            self.ill_typed[name] = user
        else:
            self.types[name] = found
        return found

    def definition(self, name: str) -> TypeData | None:
        """Return the definition of a type, None if there is none."""
        found = self._known.definition(name)
        if found is not None:
            self.definitions[name] = digest(found)
        return found

    def definition_of(self, constructor: Constructor, user: Any) -> TypeData | None:
        """Return the type that a constructor is of, None if it is of none."""
        name = constructor.belong_to.name_hint
        found = self.definition(name)
        if found is None:
            self._inference.error(user, f"the module has no type named '{name}'")
        elif constructor.name_hint not in {it.name_hint for it in found.constructors}:
            what = f"no constructor named '{constructor.name_hint}'"
            self._inference.error(user, f"type '{name}' has {what}")
            return None
        return found

    def type_of_constructor(self, constructor: Constructor, user: Expr) -> Type | None:
        """Return the type of a constructor as a function, None if it has none."""
        definition = self.definition_of(constructor, user)
        return None if definition is None else definition.type_of(constructor)

    def own_global_var(self, global_var: GlobalVar) -> GlobalVar:
        """Return the module's own of that name; a pass may have made another."""
        return self._known.own_global_var(global_var)

    def own_constructor(self, constructor: Constructor) -> Constructor:
        """Return the module's own of that name, if it has one."""
        definition = self._known.definition(constructor.belong_to.name_hint)
        for own in definition.constructors if definition is not None else ():
            if own.name_hint == constructor.name_hint:
                return own
        return constructor

    def conclude(self, name: str, function: Function, found: Type | None) -> None:
        """Compare what was assumed of a function with what was found for it."""
        inference, assumed = self._inference, self._assumed[name]
        inference.expect(assumed.ret_type, function, endless_recursion(name))
        if found is None:
            inference.excuse([assumed])
        elif inference.agree(assumed, found) is None:
            wanted, got = inference.show(assumed), inference.show(found)
            message = f"expected {wanted} for '{name}', as it is used, got {got}"
            inference.error(function, message)

    def complete(self) -> None:
        """Replace the recorded types by those that have been completed since."""
        for name, found in self.types.items():
            resolved = self._inference.solver.resolve(found)
            assert isinstance(resolved, FuncType)
            self.types[name] = resolved


def endless_recursion(name: str) -> str:
    """Return what to say of a function whose result nothing gives a type."""
    return (
        f"expected a type annotation on the result of '{name}', which calls itself "
        "in every case: no case ends the recursion"
    )
