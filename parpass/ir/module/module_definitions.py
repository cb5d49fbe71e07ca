"""The two tables of a module: functions and type definitions, by name, in order.

Each function has one global variable; types are in order of insertion.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from parpass.diagnostic import Span
from parpass.errors import (
    ModuleError,
    ModuleTypeError,
    ReadOnlyModuleError,
    UnknownGlobalError,
)
from parpass.errors.core import describe_kind
from parpass.ir.adt import Constructor, TypeData
from parpass.ir.global_var import GlobalVar
from parpass.ir.types import Type

GlobalVarInfo = tuple[Span | None, Type | None]
"""The span and the type of a global variable, as far as it has them."""


class FunctionDefinitions:
    """Functions by name, with one global variable for each name.

    Args:
        functions: Functions by name; used without a copy, so it may load lazily.
        global_vars: The global variables of these names, or more, if the functions are
            not there yet.
        reader: The function pass for which they are read-only; None if mutable.

    Attributes:
        derived: Values that passes derived from the functions, while unchanged.
    """

    def __init__(
        self,
        functions: Mapping[str, Any],
        global_vars: dict[str, GlobalVar],
        reader: str | None = None,
    ) -> None:
        self._by_name = functions
        self._vars = global_vars
        self._reader = reader
        self.derived: dict[str, Any] = {}

    @property
    def by_name(self) -> Mapping[str, Any]:
        """The functions by name, in order, as a read-only view."""
        return self._by_name

    @property
    def vars(self) -> Mapping[str, GlobalVar]:
        """The global variables by name, in order, as a read-only view."""
        if not hasattr(self._by_name, "note_name"):
            return self._vars
        return _NotedVars(self._vars, self._by_name)

    def note_shell(self) -> None:
        """Note that a pass reads the texts of sources, if that is of interest."""
        note_shell = getattr(self._by_name, "note_shell", None)
        if note_shell is not None:
            note_shell()

    @property
    def infos(self) -> dict[str, GlobalVarInfo]:
        """The spans and types of the global variables that have any, by name."""
        return {
            name: (var.span, var.checked_type_)
            for name, var in self.vars.items()
            if var.span is not None or var.checked_type_ is not None
        }

    def with_functions(
        self, functions: Mapping[str, Any], reader: str | None
    ) -> FunctionDefinitions:
        """Return a table of other functions, with the global variables of this one.

        Args:
            functions: The functions.
            reader: See the class; read-only functions have the same names as these.
        """
        known = self._vars
        if reader is None:
            known = {
                name: known[name] if name in known else GlobalVar(name)
                for name in functions
            }
        return FunctionDefinitions(functions, known, reader)

    def var(self, name: str) -> GlobalVar:
        """Return the global variable of that name.

        Raises:
            UnknownGlobalError: There is none.
        """
        known = self.vars
        if name not in known:
            raise UnknownGlobalError(name, known)
        return known[name]

    def at(self, key: Any) -> Any:
        """Return the function of a name, or of a global variable."""
        return self._by_name[self._known(key)]

    def put(self, key: Any, function: Any) -> None:
        """Add a function, or replace the one of its name."""
        name = name_of(key)
        functions = self.writable("add or replace a function in")
        if name in self._vars:
            self._known(key)
        else:
            new = key if isinstance(key, GlobalVar) else GlobalVar(name)
            self._vars[name] = new
        functions[name] = function

    def remove(self, key: Any) -> None:
        """Remove a function."""
        name = self._known(key)
        functions = self.writable("remove a function from")
        del functions[name]
        del self._vars[name]

    def writable(self, what: str) -> dict[str, Any]:
        """Return the functions for modification, and drop the values derived from them.

        Args:
            what: The intended change, in words, followed by `the module`.

        Raises:
            ReadOnlyModuleError: The functions are read-only.
        """
        if self._reader is not None:
            raise ReadOnlyModuleError.of(self._reader, what)
        self.derived.clear()
        return cast("dict[str, Any]", self._by_name)

    def _known(self, key: Any) -> str:
        """Return the name of a present function; a GlobalVar must be its own."""
        name = name_of(key)
        own = self._vars.get(name)
        if own is None:
            raise UnknownGlobalError(name, self.vars)
        if own is not key and isinstance(key, GlobalVar):
            raise ModuleError(
                f"the module has another global variable named '{name}'; use "
                f"mod.get_global_var('{name}')"
            )
        return name


class _NotedVars(Mapping[str, GlobalVar]):
    """Global variables, of which is noted what a pass reads."""

    def __init__(self, known: Mapping[str, GlobalVar], functions: Any) -> None:
        self._known = known
        self._functions = functions  # which notes what is read

    def __getitem__(self, name: str) -> GlobalVar:
        self._functions.note_name(name)
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        self._functions.note_names()
        return iter(self._known)

    def __len__(self) -> int:
        self._functions.note_names()
        return len(self._known)


def name_of(key: Any) -> str:
    """Return the name of a global variable, or the name itself.

    Raises:
        ModuleTypeError: It is neither.
    """
    if isinstance(key, GlobalVar):
        return key.name_hint
    if isinstance(key, str):
        return key
    raise ModuleTypeError(
        f"expected a GlobalVar or a name for a key, got {type(key).__name__}"
    )


class TypeDefinitions:
    """Type definitions by name; constructor names are unique over all types."""

    def __init__(self, definitions: Iterable[TypeData] = ()) -> None:
        self._by_name = {one.header.name_hint: one for one in definitions}

    @property
    def by_name(self) -> Mapping[str, TypeData]:
        """The definitions by name, as a read-only view."""
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
        """Add a definition, or replace the one of its name.

        Raises:
            ModuleTypeError: The value is no definition.
            ModuleError: Another type has a constructor of the same name.
        """
        if not isinstance(definition, TypeData):
            raise ModuleTypeError(
                f"expected a TypeData for the definition of a type, got "
                f"{describe_kind(definition)}; attributes of a module are its attrs="
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
