"""The types that a module defines, by name, in the order in which they were added."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from parpass.errors import ModuleError, ModuleTypeError, UnknownGlobalError, kind_of
from parpass.ir.adt import Constructor, TypeData


class TypeDefinitions:
    """Types by name; a constructor's name is that of no other one."""

    def __init__(self, definitions: Iterable[TypeData] = ()) -> None:
        self._by_name = {one.header.name_hint: one for one in definitions}

    @property
    def by_name(self) -> Mapping[str, TypeData]:
        """The definitions by name; to read only."""
        return self._by_name

    @property
    def constructors(self) -> Mapping[tuple[str, str], Constructor]:
        """The constructors by the names of their types and their own."""
        return {
            (name, one.name_hint): one
            for name, definition in self._by_name.items()
            for one in definition.constructors
        }

    def named(self, name: str) -> TypeData:
        """Return the definition of that name.

        Raises:
            UnknownGlobalError: There is none.
        """
        if name not in self._by_name:
            raise UnknownGlobalError(name, self._by_name, "type")
        return self._by_name[name]

    def tagged(self, tag: int) -> Constructor:
        """Return the constructor that has a tag.

        Raises:
            UnknownGlobalError: There is none.
        """
        for constructor in self.constructors.values():
            if constructor.tag == tag:
                return constructor
        raise UnknownGlobalError(str(tag), (), "constructor")

    def define(self, definition: object) -> None:
        """Add a definition, or put it in the place of the one of its name.

        Raises:
            ModuleTypeError: It is none.
            ModuleError: Another type has a constructor of the same name.
        """
        if not isinstance(definition, TypeData):
            raise ModuleTypeError(
                f"expected a TypeData for the definition of a type, got "
                f"{kind_of(definition)}; attributes of a module are its attrs="
            )
        name = definition.header.name_hint
        known = {one: of for of, one in self.constructors if of != name}
        for constructor in definition.constructors:
            taken = known.get(constructor.name_hint)
            if taken is not None:
                raise ModuleError(
                    f"constructor '{constructor.name_hint}' of type '{name}' is one of "
                    f"type '{taken}' already; a module has one of each name"
                )
        self._by_name[name] = definition

    def __bool__(self) -> bool:
        return bool(self._by_name)
