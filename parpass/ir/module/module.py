"""`IRModule`: functions by global name, in order of insertion."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from parpass.diagnostic import merged_sources
from parpass.errors import ModuleTypeError
from parpass.errors.core import describe_kind
from parpass.ir import wire
from parpass.ir.adt import Constructor, GlobalTypeVar, TypeData
from parpass.ir.attrs import DictAttrs
from parpass.ir.base_func import BaseFunc
from parpass.ir.dialect import Annotate, dialect_of
from parpass.ir.global_var import GlobalVar
from parpass.ir.module.free_vars import check_closed
from parpass.ir.module.module_definitions import (
    FunctionDefinitions,
    GlobalVarInfo,
    TypeDefinitions,
    name_of,
)
from parpass.ir.node import Node, with_replaced
from parpass.ir.text.printer import header_text, module_text
from parpass.ir.types import FuncType

Key = str | GlobalVar | GlobalTypeVar
_NO_INFO: GlobalVarInfo = (None, None)


class IRModule:
    """The unit that passes transform: functions and types by name, attributes, sources.

    Functions are immutable and shared. The module itself is mutable, except for the one
    that a function pass receives. Its functions may belong to several IRs, each with
    its own class.

    Args:
        functions: Functions by `GlobalVar` or by name.
        type_definitions: Definitions of types by `GlobalTypeVar` or by name.
        attrs: Attributes of the module.
        sources: Source text by name, for diagnostics on spans.

    Raises:
        ModuleTypeError: A key or a value has the wrong type.
        ModuleError: Two different GlobalVars, or two constructors, have the same name.
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
        self._sources = dict(sources or {})
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
        """Return a module that contains `expr`.

        A function is added under its `global_symbol`, or as `main` (`main_1`, ... if
        that is taken). Any other expression becomes the body of a function over its
        free variables and type variables.

        Raises:
            ModuleTypeError: `expr` is not an expression.
        """
        if not isinstance(cast("object", expr), Node):
            raise ModuleTypeError(f"expected an expression, got {describe_kind(expr)}")
        module = cls(functions, type_definitions=type_defs)
        function = expr if isinstance(expr, BaseFunc) else dialect_of(expr).closed(expr)
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
        """Return a module of functions known to be closed, without a check.

        Functions from a parser are closed, because it rejects unbound names.
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
        """Return a module without checks; each stage makes several."""
        module = cls.__new__(cls)
        module._functions = functions  # noqa: SLF001 -- of this very class
        module._types = TypeDefinitions(types)  # noqa: SLF001
        module.attrs = attrs
        module._sources = dict(sources)  # noqa: SLF001
        return module

    @classmethod
    def assemble(
        cls,
        like: IRModule,
        functions: Mapping[str, Any],
        *,
        reader: str | None = None,
    ) -> IRModule:
        """Return a module with the metadata of a module and these functions.

        Global variables are kept by name. The runner makes its modules here; the
        mapping is used without a copy, so it may load functions lazily.

        Args:
            like: Gives types, attributes, sources and global variables.
            functions: The functions.
            reader: The function pass that receives the new module read-only, with
                functions of the same names as `like`; None for a mutable module.
        """
        made = like._functions.with_functions(functions, reader)
        return cls._of(made, like._types.by_name.values(), like.attrs, like._sources)

    @classmethod
    def shell(
        cls,
        names: Iterable[str],
        attrs: Mapping[str, Any] | None,
        sources: Mapping[str, str],
        infos: Mapping[str, GlobalVarInfo],
        types: Iterable[TypeData] = (),
    ) -> IRModule:
        """Return a module with types and function names, but without functions.

        `infos` is the value of `global_var_infos`. Decoded functions are bound to the
        shell's global variables and types, so they share them with the modules that
        `assemble` makes of it.
        """
        global_vars = {
            name: GlobalVar(name, *infos.get(name, _NO_INFO)) for name in names
        }
        known = DictAttrs(attrs) if attrs else None
        return cls._of(FunctionDefinitions({}, global_vars), types, known, sources)

    @property
    def sources(self) -> dict[str, str]:
        """The source text by name, for diagnostics on spans."""
        self._functions.note_shell()
        return self._sources

    @sources.setter
    def sources(self, sources: dict[str, str]) -> None:
        self._sources = sources

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
        """Values that passes derived from the functions, while these are unchanged."""
        return self._functions.derived

    @property
    def global_var_infos(self) -> dict[str, GlobalVarInfo]:
        """The spans and types of the global variables that have any, by name."""
        return self._functions.infos

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
            UnknownGlobalError: It defines no type of that name.
        """
        return self._types.named(name).header

    def get_global_type_vars(self) -> list[GlobalTypeVar]:
        """Return the names of all types that the module defines, sorted."""
        known = self._types.by_name
        return [known[name].header for name in sorted(known)]

    def get_type(self, name: str) -> tuple[Any, ...]:
        """Return the name of a type, followed by its constructors.

        Raises:
            UnknownGlobalError: The module defines no type of that name.
        """
        definition = self._types.named(name)
        return (definition.header, *definition.constructors)

    def get_constructor(self, tag: int) -> Constructor:
        """Return the constructor with a tag.

        Raises:
            UnknownGlobalError: No constructor has it.
        """
        return self._types.tagged(tag)

    def import_from_std(self, file_name: str) -> None:
        """Add the types and functions of a file of the standard library.

        Args:
            file_name: For example `prelude.rly`; existing definitions are kept.

        Raises:
            ModuleError: The file does not exist.
        """
        library = dialect_of(GlobalVar).library(file_name)
        new = library.functions
        functions = {var: new[var] for var in new if var not in self}
        known, types = self._types.by_name, library.types.by_name
        fresh = [types[name] for name in types if name not in known]
        self.update(IRModule.of_closed(functions, None, library.sources, fresh))

    def get_global_var(self, name: str) -> GlobalVar:
        """Return the global variable of that name.

        Raises:
            UnknownGlobalError: The module has none.
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
        """Add another module's functions and types, replacing those of equal names.

        On equal names this module's global variable stays, and references to the
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
        self._sources = merged_sources(self._sources, incoming.sources)

    def update_func(self, var: GlobalVar, func: BaseFunc) -> None:
        """Replace the function of a global variable."""
        self[var] = func

    def remove(self, key: Key) -> None:
        """Remove a function."""
        self._functions.remove(key)

    def astext(
        self, show_meta_data: bool = True, annotate: Annotate | None = None
    ) -> str:
        """Return the module as text, each function in the format of its IR.

        Args:
            show_meta_data: Whether to include large constants, in a section at the end.
            annotate: Returns a comment for a node, such as `/* here */`; by default the
                type of a call or a constant, if known.
        """
        text = self.text(show_meta_data=show_meta_data, annotate=annotate)
        return header_text(self._functions.by_name.values()) + text

    def text(
        self, *, show_meta_data: bool = False, annotate: Annotate | None = None
    ) -> str:
        """Return `astext` without the header of a text that stands alone."""
        return module_text(
            self._functions.by_name,
            self._types.by_name.values(),
            self.attrs,
            show_meta_data=show_meta_data,
            annotate=annotate,
        )

    def script(self, tir_prefix: str = "T", show_meta: bool = False) -> str:
        """Return the module as text; the Python of TVM's `script` is not supported."""
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

    def _repr_html_(self) -> str:
        """Return the functions for a notebook, each unfolded by a click."""
        from parpass.notebook_html import folded_texts  # in notebooks alone

        functions = self._functions.by_name.items()
        texts = [(f"@{name}", one.text_for_display) for name, one in functions]
        return folded_texts(f"IRModule, {len(texts):,} functions", texts)

    def __copy__(self) -> IRModule:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> IRModule:
        return self.copy()  # what it holds is immutable

    def __reduce__(self) -> tuple[Any, ...]:
        # Function by function, because pickle would recurse along an expression.
        functions = self._functions.by_name
        encoded = {name: wire.encode(fn) for name, fn in functions.items()}
        infos, types = self.global_var_infos, tuple(self._types.by_name.values())
        return _unpickled, (self.attrs, self.sources, encoded, infos, types)

    def _as_function(self, value: Any, name: str) -> BaseFunc:
        if isinstance(value, Node) and not isinstance(value, BaseFunc):
            value = dialect_of(value).as_function(value, self)
        if not isinstance(value, BaseFunc):
            raise ModuleTypeError(
                f"expected a function of an IR for '{name}', such as a relay.Function "
                f"or a tir.PrimFunc, got {type(value).__name__}"
            )
        if not value.may_be_open:
            check_closed(value, name)
        return value


def stated_type(functions: Mapping[str, Any], name: str) -> FuncType | None:
    """Return the annotated type of a function, without reading the function.

    In a parallel run reading a function may decode it.
    """
    ask = getattr(functions, "signature", None)
    return functions[name].annotated_type if ask is None else ask(name)


def _unpickled(
    attrs: Mapping[str, Any] | None,
    sources: Mapping[str, str],
    encoded: Mapping[str, bytes],
    infos: Mapping[str, GlobalVarInfo],
    types: tuple[TypeData, ...] = (),
) -> IRModule:
    shell = IRModule.shell(encoded, attrs, sources, infos, types)
    known = shell.global_vars_by_name, shell.types.constructors
    functions = {name: wire.decode(data, (), *known) for name, data in encoded.items()}
    return IRModule.assemble(shell, functions)


Module = IRModule  # its name in Relay's first years
