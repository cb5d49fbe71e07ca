"""The module: functions by global name, in the order in which they were added."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from parpass.errors import (
    ModuleError,
    ModuleTypeError,
    ReadOnlyModuleError,
    UnknownGlobalError,
)
from parpass.relay.expr import DictAttrs, Expr, Function, GlobalVar

Key = str | GlobalVar


class IRModule:
    """The unit that passes work on: functions by name, attributes, source texts.

    Functions are immutable and shared; the module itself may be changed, save the one
    that a function pass is given to read.

    Args:
        functions: Functions by `GlobalVar` or by name.
        attrs: Attributes of the module.
        sources: Source text by name, for diagnostics on spans.

    Raises:
        ModuleTypeError: A key or a value is of the wrong kind.
        ModuleError: Two different GlobalVars have one name.
    """

    def __init__(
        self,
        functions: Mapping[Any, Any] | None = None,
        attrs: Mapping[str, Any] | None = None,
        sources: Mapping[str, str] | None = None,
    ) -> None:
        self._functions: Mapping[str, Function] = {}
        self._global_vars: dict[str, GlobalVar] = {}
        self._reader: str | None = None
        self.attrs = DictAttrs(attrs) if attrs else None
        self.sources = dict(sources or {})
        if functions is not None and not isinstance(cast("object", functions), Mapping):
            raise ModuleTypeError(
                "expected functions as a mapping from GlobalVar to Function, got "
                f"{type(functions).__name__}"
            )
        for key, function in (functions or {}).items():
            self[key] = function

    @classmethod
    def from_expr(
        cls, expr: Expr, functions: Mapping[Any, Any] | None = None
    ) -> IRModule:
        """Return a module with `expr` in it.

        A function goes in under its `global_symbol`, or `main` (`main_1`, ... where
        that is taken); any other expression becomes the body of a function over its
        free variables.
        """
        from parpass.relay.analysis import free_vars

        module = cls(functions)
        if not isinstance(expr, Function):
            expr = Function(tuple(free_vars(expr)), expr)
        wanted = str((expr.attrs or {}).get("global_symbol", "main"))
        name, tries = wanted, 0
        while name in module:
            tries += 1
            name = f"{wanted}_{tries}"
        module[name] = expr
        return module

    @classmethod
    def assemble(
        cls,
        like: IRModule,
        functions: Mapping[str, Function],
        *,
        reader: str | None = None,
    ) -> IRModule:
        """Return a module like another one, but with these functions.

        Global variables are kept by name. This is how the runner makes modules; the
        mapping is used as it is, so that it may load functions when asked for them.

        Args:
            like: Gives attributes, sources and global variables.
            functions: The functions.
            reader: The function pass that may only read the new module; None for a
                module that may be changed.
        """
        module = cls()
        module._functions = functions
        known = like._global_vars
        module._global_vars = {
            name: known[name] if name in known else GlobalVar(name)
            for name in functions
        }
        module._reader = reader
        module.attrs = like.attrs
        module.sources = dict(like.sources)
        return module

    @property
    def functions(self) -> Mapping[GlobalVar, Function]:
        """The functions by global variable, in order."""
        return {self._global_vars[name]: f for name, f in self._functions.items()}

    @property
    def functions_by_name(self) -> Mapping[str, Function]:
        """The functions by name, in order; to read only."""
        return self._functions

    @property
    def global_vars_by_name(self) -> Mapping[str, GlobalVar]:
        """The global variables by name, in order; to read only."""
        return self._global_vars

    def get_global_var(self, name: str) -> GlobalVar:
        """Return the global variable of that name.

        Raises:
            UnknownGlobalError: There is none.
        """
        if name not in self._global_vars:
            raise UnknownGlobalError(name, self._global_vars)
        return self._global_vars[name]

    def get_global_vars(self) -> list[GlobalVar]:
        """Return all global variables, sorted by name."""
        return [self._global_vars[name] for name in sorted(self._global_vars)]

    def copy(self) -> IRModule:
        """Return another module with the same functions."""
        return IRModule.assemble(self, dict(self._functions))

    def update(self, other: IRModule | Mapping[Any, Any]) -> None:
        """Take over the functions of another module; the other's win where names meet.

        This module's global variables stay, and references in the incoming functions
        come to mean them by name.
        """
        incoming = other if isinstance(other, IRModule) else IRModule(other)
        for name, function in incoming.functions_by_name.items():
            self[name] = function
        self.sources |= incoming.sources

    def update_func(self, var: GlobalVar, func: Function) -> None:
        """Replace the function of a global variable."""
        self[var] = func

    def remove(self, key: Key) -> None:
        """Take a function out."""
        name = self._name_of(key)
        functions = self._writable("remove a function from")
        if name not in functions:
            raise UnknownGlobalError(name, functions)
        del functions[name]
        del self._global_vars[name]

    def astext(self, show_meta_data: bool = True) -> str:
        """Return the module in Relay's text format."""
        from parpass.relay.text.printer import astext

        return astext(self, show_meta_data=show_meta_data)

    def same_as(self, other: object) -> bool:
        """Return whether this is the very same object as `other`."""
        return self is other

    def __getitem__(self, key: Key) -> Function:
        name = self._name_of(key)
        if name not in self._functions:
            raise UnknownGlobalError(name, self._functions)
        return self._functions[name]

    def __setitem__(self, key: Key, function: Any) -> None:
        name = self._name_of(key)
        value = _as_function(function, name)
        functions = self._writable("add or replace a function in")
        if isinstance(key, GlobalVar):
            known = self._global_vars.setdefault(name, key)
            if known is not key:
                raise ModuleError(
                    f"the module has another global variable named '{name}'; use "
                    f"mod.get_global_var('{name}')"
                )
        elif name not in self._global_vars:
            self._global_vars[name] = GlobalVar(name)
        functions[name] = value

    def __contains__(self, key: Key) -> bool:
        return self._name_of(key) in self._functions

    def __iter__(self) -> Iterator[GlobalVar]:
        return iter(self._global_vars.values())

    def __len__(self) -> int:
        return len(self._functions)

    def __str__(self) -> str:
        return self.astext(show_meta_data=False)

    def __repr__(self) -> str:
        names = list(self._functions)
        shown = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
        return f"IRModule({len(names)} functions: {shown})"

    def _writable(self, what: str) -> dict[str, Function]:
        if self._reader is not None:
            raise ReadOnlyModuleError(
                f"function pass '{self._reader}' tried to {what} the module that it "
                "was given to read; a function pass returns its one function, only a "
                "module pass may add, replace or remove functions",
                pass_name=self._reader,
            )
        return cast("dict[str, Function]", self._functions)

    def _name_of(self, key: Any) -> str:
        if isinstance(key, GlobalVar):
            return key.name_hint
        if isinstance(key, str):
            return key
        raise ModuleTypeError(
            f"expected a GlobalVar or a name for a key, got {type(key).__name__}"
        )


def _as_function(value: Any, name: str) -> Function:
    if isinstance(value, Function):
        return value
    if isinstance(value, Expr):
        return Function((), value)
    raise ModuleTypeError(
        f"expected a relay.Function for '{name}', got {type(value).__name__}"
    )
