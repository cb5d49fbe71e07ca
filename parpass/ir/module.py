"""The module: functions by global name, in the order in which they were added."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from parpass.errors import ModuleTypeError, kind_of
from parpass.ir import wire
from parpass.ir.adt import Constructor, GlobalTypeVar, TypeData
from parpass.ir.attrs import DictAttrs
from parpass.ir.closedness import check_closed
from parpass.ir.function_definitions import FunctionDefinitions, ToldOfGlobal, name_of
from parpass.ir.node import Node, with_replaced
from parpass.ir.relay_expr import BaseFunc, GlobalVar
from parpass.ir.tenants import Annotate, tenant_of
from parpass.ir.text.module_text import header_text, module_text
from parpass.ir.type_definitions import TypeDefinitions
from parpass.ir.types.ty import FuncType

Key = str | GlobalVar | GlobalTypeVar
_UNTOLD: ToldOfGlobal = (None, None)


class IRModule:
    """The unit that passes work on: functions and types by name, attributes, texts.

    Functions are immutable and shared; the module itself may be changed, save the one
    that a function pass is given to read. They may be of several IRs: their class is
    known to who looks one up.

    Args:
        functions: Functions by `GlobalVar` or by name.
        type_definitions: Definitions of types by `GlobalTypeVar` or by name.
        attrs: Attributes of the module.
        sources: Source text by name, for diagnostics on spans.

    Raises:
        ModuleTypeError: A key or a value is of the wrong kind.
        ModuleError: Two different GlobalVars have one name, or two constructors.
    """

    def __init__(
        self,
        functions: Mapping[Any, Any] | None = None,
        type_definitions: Mapping[Any, TypeData] | None = None,
        attrs: Mapping[str, Any] | None = None,
        sources: Mapping[str, str] | None = None,
    ) -> None:
        self._functions = FunctionDefinitions({}, {})
        self._types = TypeDefinitions()
        self.attrs = DictAttrs(attrs) if attrs else None
        self.sources = dict(sources or {})
        if functions is not None and not isinstance(cast("object", functions), Mapping):
            raise ModuleTypeError(
                "expected functions as a mapping from GlobalVar to Function, got "
                f"{type(functions).__name__}"
            )
        for definition in (type_definitions or {}).values():
            self._types.define(definition)
        for key, function in (functions or {}).items():
            self[key] = function

    @classmethod
    def from_expr(
        cls,
        expr: Node,
        functions: Mapping[Any, Any] | None = None,
        type_defs: Mapping[Any, TypeData] | None = None,
    ) -> IRModule:
        """Return a module with `expr` in it.

        A function goes in under its `global_symbol`, or `main` (`main_1`, ... where
        that is taken); any other expression becomes the body of a function over its
        free variables and type variables.

        Raises:
            ModuleTypeError: `expr` is no expression.
        """
        if not isinstance(cast("object", expr), Node):
            raise ModuleTypeError(f"expected an expression, got {kind_of(expr)}")
        module = cls(functions, type_definitions=type_defs)
        function = expr if isinstance(expr, BaseFunc) else tenant_of(expr).closed(expr)
        wanted = str(function.attributes.get("global_symbol", "main"))
        name, tries = wanted, 0
        while name in module:
            tries += 1
            name = f"{wanted}_{tries}"
        module[name] = function
        return module

    @classmethod
    def of_closed(
        cls,
        functions: Mapping[GlobalVar, BaseFunc],
        attrs: Mapping[str, Any] | None,
        sources: Mapping[str, str],
        types: Iterable[TypeData] = (),
    ) -> IRModule:
        """Return a module of functions that are known to bind all that they use.

        What a parser made is: it has refused names that nothing binds.
        """
        named = {var.name_hint: function for var, function in functions.items()}
        global_vars = {var.name_hint: var for var in functions}
        known = DictAttrs(attrs) if attrs else None
        return cls._of(FunctionDefinitions(named, global_vars), types, known, sources)

    @classmethod
    def _of(
        cls,
        functions: FunctionDefinitions,
        types: Iterable[TypeData],
        attrs: DictAttrs | None,
        sources: Mapping[str, str],
    ) -> IRModule:
        """Return a module of what needs no check: each stage makes several."""
        module = cls.__new__(cls)
        module._functions = functions  # noqa: SLF001 -- of this very class
        module._types = TypeDefinitions(types)  # noqa: SLF001
        module.attrs = attrs
        module.sources = dict(sources)
        return module

    @classmethod
    def assemble(
        cls,
        like: IRModule,
        functions: Mapping[str, Any],
        *,
        reader: str | None = None,
    ) -> IRModule:
        """Return a module like another one, but with these functions.

        Global variables are kept by name. This is how the runner makes modules; the
        mapping is used as it is, so that it may load functions when asked for them.

        Args:
            like: Gives types, attributes, sources and global variables.
            functions: The functions.
            reader: The function pass that may only read the new module, which then
                has functions of the same names as `like`; None for a module that may
                be changed.
        """
        made = like._functions.with_functions(functions, reader)
        return cls._of(made, like._types.by_name.values(), like.attrs, like.sources)

    @classmethod
    def shell(
        cls,
        names: Iterable[str],
        attrs: Mapping[str, Any] | None,
        sources: Mapping[str, str],
        told: Mapping[str, ToldOfGlobal],
        types: Iterable[TypeData] = (),
    ) -> IRModule:
        """Return a module that has types, and names of functions, but no functions.

        `told` is what `told_of_globals` was.

        Functions that are read from bytes are bound to these, so they refer to the same
        objects as the modules that `assemble` makes of it.
        """
        global_vars = {
            name: GlobalVar(name, *told.get(name, _UNTOLD)) for name in names
        }
        known = DictAttrs(attrs) if attrs else None
        return cls._of(FunctionDefinitions({}, global_vars), types, known, sources)

    @property
    def functions(self) -> Mapping[GlobalVar, Any]:
        """The functions by global variable, in order."""
        known = self._functions.vars
        return {known[name]: f for name, f in self._functions.by_name.items()}

    @property
    def functions_by_name(self) -> Mapping[str, Any]:
        """The functions by name, in order; to read only."""
        return self._functions.by_name

    @property
    def global_vars_by_name(self) -> Mapping[str, GlobalVar]:
        """The global variables by name, in order; to read only."""
        return self._functions.vars

    @property
    def derived(self) -> dict[str, Any]:
        """What passes derive from the functions, kept as long as these stay."""
        return self._functions.derived

    @property
    def told_of_globals(self) -> dict[str, ToldOfGlobal]:
        """The spans and types of the global variables that have any, by name."""
        return self._functions.told

    @property
    def type_definitions(self) -> Mapping[GlobalTypeVar, TypeData]:
        """The definitions of types by their names, in order."""
        return {one.header: one for one in self._types.by_name.values()}

    @property
    def types(self) -> TypeDefinitions:
        """The definitions of types; to read only."""
        return self._types

    def get_global_type_var(self, name: str) -> GlobalTypeVar:
        """Return the name of a type that the module defines.

        Raises:
            UnknownGlobalError: It defines none of that name.
        """
        return self._types.named(name).header

    def get_global_type_vars(self) -> list[GlobalTypeVar]:
        """Return the names of all types that the module defines, sorted."""
        known = self._types.by_name
        return [known[name].header for name in sorted(known)]

    def get_type(self, name: str) -> tuple[Any, ...]:
        """Return the name of a type and its constructors, one after the other.

        Raises:
            UnknownGlobalError: The module defines none of that name.
        """
        definition = self._types.named(name)
        return (definition.header, *definition.constructors)

    def get_constructor(self, tag: int) -> Constructor:
        """Return the constructor that has a tag.

        Raises:
            UnknownGlobalError: There is none.
        """
        return self._types.tagged(tag)

    def import_from_std(self, file_name: str) -> None:
        """Add the types and functions of a file of the standard library.

        Args:
            file_name: `prelude.rly`, say; what is there already stays.

        Raises:
            ModuleError: There is no such file.
        """
        library = tenant_of(GlobalVar).library(file_name)
        new = library.functions
        functions = {var: new[var] for var in new if var not in self}
        known, types = self._types.by_name, library.types.by_name
        fresh = [types[name] for name in types if name not in known]
        self.update(IRModule.of_closed(functions, None, library.sources, fresh))

    def get_global_var(self, name: str) -> GlobalVar:
        """Return the global variable of that name.

        Raises:
            UnknownGlobalError: There is none.
        """
        return self._functions.var(name)

    def get_global_vars(self) -> list[GlobalVar]:
        """Return all global variables, sorted by name."""
        known = self._functions.vars
        return [known[name] for name in sorted(known)]

    def copy(self) -> IRModule:
        """Return another module with the same functions."""
        return IRModule.assemble(self, dict(self._functions.by_name))

    def update(self, other: IRModule | Mapping[Any, Any]) -> None:
        """Take over functions and types of another module, which win where names meet.

        Where they do, this module's global variable stays, and references to the
        other's, in the incoming functions, become references to it.
        """
        incoming = other if isinstance(other, IRModule) else IRModule(other)
        known = self._functions.vars
        mine = {
            theirs: known[name]
            for name, theirs in incoming.global_vars_by_name.items()
            if known.get(name, theirs) is not theirs
        }
        for definition in incoming.types.by_name.values():
            self[definition.header] = definition
        for var, function in incoming.functions.items():
            self[mine.get(var, var)] = (
                with_replaced(function, mine) if mine else function
            )
        self.sources |= incoming.sources

    def update_func(self, var: GlobalVar, func: BaseFunc) -> None:
        """Replace the function of a global variable."""
        self[var] = func

    def remove(self, key: Key) -> None:
        """Take a function out."""
        self._functions.remove(key)

    def astext(
        self, show_meta_data: bool = True, annotate: Annotate | None = None
    ) -> str:
        """Return the module as text, each function in the format of its IR.

        Args:
            show_meta_data: Whether large constants are shown, in a section at the end.
            annotate: Returns what is written behind a node, such as `/* here */`; by
                default that is the type of a call or a constant, where it is known.
        """
        text = self.text(show_meta_data=show_meta_data, annotate=annotate)
        return header_text(self._functions.by_name.values()) + text

    def text(
        self, *, show_meta_data: bool = False, annotate: Annotate | None = None
    ) -> str:
        """Return `astext` without what a text of its own begins with."""
        return module_text(
            self._functions.by_name,
            self._types.by_name.values(),
            self.attrs,
            show_meta_data=show_meta_data,
            annotate=annotate,
        )

    def script(self, tir_prefix: str = "T", show_meta: bool = False) -> str:
        """Return the module as text; TVM's `script` is Python, which is not written."""
        del tir_prefix
        return self.text(show_meta_data=show_meta)

    def show(self) -> None:
        """Print the module as text, without the values of its constants."""
        print(self)  # noqa: T201 -- which is what it is for

    def same_as(self, other: object) -> bool:
        """Return whether this is the very same object as `other`."""
        return self is other

    def __getitem__(self, key: Key) -> Any:
        if isinstance(key, GlobalTypeVar):
            return self._types.named(key.name_hint)
        return self._functions.at(key)

    def __setitem__(self, key: Key, value: Any) -> None:
        if isinstance(key, GlobalTypeVar):
            self._functions.writable("define a type in")
            self._types.define(value)
            return
        self._functions.put(key, self._as_function(value, name_of(key)))

    def __contains__(self, key: Key) -> bool:
        if isinstance(key, GlobalTypeVar):
            return key.name_hint in self._types.by_name
        return name_of(key) in self._functions.by_name

    def __iter__(self) -> Iterator[GlobalVar]:
        return iter(self._functions.vars.values())

    def __len__(self) -> int:
        return len(self._functions.by_name)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        names = list(self._functions.by_name)
        shown = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
        return f"IRModule({len(names)} functions: {shown})"

    def __copy__(self) -> IRModule:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> IRModule:
        return self.copy()  # what it holds is immutable

    def __reduce__(self) -> tuple[Any, ...]:
        # Function by function, because pickle would recurse along an expression.
        functions = self._functions.by_name
        encoded = {name: wire.encode(fn) for name, fn in functions.items()}
        told, types = self.told_of_globals, tuple(self._types.by_name.values())
        return _unpickled, (self.attrs, self.sources, encoded, told, types)

    def _as_function(self, value: Any, name: str) -> BaseFunc:
        if isinstance(value, Node) and not isinstance(value, BaseFunc):
            value = tenant_of(value).as_function(value, self)
        if not isinstance(value, BaseFunc):
            raise ModuleTypeError(
                f"expected a function of an IR for '{name}', such as a relay.Function "
                f"or a tir.PrimFunc, got {type(value).__name__}"
            )
        if not value.may_be_open:
            check_closed(value, name)
        return value


def stated_type(functions: Mapping[str, Any], name: str) -> FuncType | None:
    """Return the type that a function is annotated with, without reading it.

    In a parallel run reading a function may mean making it first.
    """
    ask = getattr(functions, "signature", None)
    return functions[name].annotated_type if ask is None else ask(name)


def _unpickled(
    attrs: Mapping[str, Any] | None,
    sources: Mapping[str, str],
    encoded: Mapping[str, bytes],
    told: Mapping[str, ToldOfGlobal],
    types: tuple[TypeData, ...] = (),
) -> IRModule:
    shell = IRModule.shell(encoded, attrs, sources, told, types)
    known = shell.global_vars_by_name, shell.types.constructors
    functions = {name: wire.decode(data, (), *known) for name, data in encoded.items()}
    return IRModule.assemble(shell, functions)


Module = IRModule  # its name in Relay's first years
