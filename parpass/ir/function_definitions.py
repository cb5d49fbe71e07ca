"""The functions of a module by name, each with its global variable, in order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from parpass.diagnostic import Span
from parpass.errors import (
    ModuleError,
    ModuleTypeError,
    ReadOnlyModuleError,
    UnknownGlobalError,
)
from parpass.ir.relay_expr import GlobalVar
from parpass.ir.types.ty import Type

ToldOfGlobal = tuple[Span | None, Type | None]
"""The span and the type of a global variable, as far as it has them."""


class FunctionDefinitions:
    """Functions by name; there is one global variable of a name.

    Args:
        functions: Functions by name; it is used as it is, so that it may load functions
            when asked for them.
        global_vars: The global variables of the same names, or more, if the functions
            are not there yet.
        reader: The function pass that may only read them; None if they may be changed.

    Attributes:
        derived: What passes derive from the functions, kept as long as these stay.
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
        """The functions by name, in order; to read only."""
        return self._by_name

    @property
    def vars(self) -> Mapping[str, GlobalVar]:
        """The global variables by name, in order; to read only."""
        return self._vars

    @property
    def told(self) -> dict[str, ToldOfGlobal]:
        """The spans and types of the global variables that have any, by name."""
        return {
            name: (var.span, var.checked_type_)
            for name, var in self._vars.items()
            if var.span is not None or var.checked_type_ is not None
        }

    def with_functions(
        self, functions: Mapping[str, Any], reader: str | None
    ) -> FunctionDefinitions:
        """Return other functions, with these global variables where names are the same.

        Args:
            functions: The functions.
            reader: See the class; those to be read only have the same names as these.
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
        if name not in self._vars:
            raise UnknownGlobalError(name, self._vars)
        return self._vars[name]

    def at(self, key: Any) -> Any:
        """Return the function of a name, or of a global variable."""
        return self._by_name[self._known(key)]

    def put(self, key: Any, function: Any) -> None:
        """Add a function, or put it in the place of the one of its name."""
        name = name_of(key)
        functions = self.writable("add or replace a function in")
        if name in self._vars:
            self._known(key)
        else:
            new = key if isinstance(key, GlobalVar) else GlobalVar(name)
            self._vars[name] = new
        functions[name] = function

    def remove(self, key: Any) -> None:
        """Take a function out."""
        name = self._known(key)
        functions = self.writable("remove a function from")
        del functions[name]
        del self._vars[name]

    def writable(self, what: str) -> dict[str, Any]:
        """Return the functions to change them; what was derived of them is forgotten.

        Args:
            what: What is to be done, in words, to `the module`.

        Raises:
            ReadOnlyModuleError: They may only be read.
        """
        if self._reader is not None:
            raise ReadOnlyModuleError(
                f"function pass '{self._reader}' tried to {what} the module that it "
                "was given to read; a function pass returns its one function, only a "
                "module pass may add, replace or remove functions",
                pass_name=self._reader,
            )
        self.derived.clear()
        return cast("dict[str, Any]", self._by_name)

    def _known(self, key: Any) -> str:
        """Return the name of a function that is there, by its own GlobalVar if any."""
        name = name_of(key)
        own = self._vars.get(name)
        if own is None:
            raise UnknownGlobalError(name, self._vars)
        if own is not key and isinstance(key, GlobalVar):
            raise ModuleError(
                f"the module has another global variable named '{name}'; use "
                f"mod.get_global_var('{name}')"
            )
        return name


def name_of(key: Any) -> str:
    """Return the name that is, or that a global variable has.

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
