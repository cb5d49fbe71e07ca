"""Identity of passes and settings: digests of values, and of the code that they run.

Two passes of one digest do the same to a function. The digest goes through what a pass
consists of: its class with all bases of the program, the functions and classes of the
program that their code names, closures, defaults, and the values of attributes, options
and globals. It ends at libraries, which are identified by their versions.

What cannot be known has no digest, and its results are not kept: an object without a
value, such as a lock, a library without a version, a clock or a file that the code
reads. A pass that knows better has a method `cache_key`.
"""

from __future__ import annotations

import contextlib
import copyreg
import enum
import hashlib
import logging
import struct
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from functools import cache, cached_property  # of the program's classes
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any, NamedTuple, cast

from parpass.diagnostic import Span
from parpass.errors.core import describe_kind
from parpass.runner.cache.class_parts import attributes_of, parts_beside_attributes
from parpass.runner.cache.code_references import (
    UnknownIdentityError,
    check_methods,
    check_pure,
    may_know_places,
    names_places,
    references_of,
)
from parpass.runner.cache.library_versions import version_of
from parpass.runner.ipc.module_sync import is_user_module
from parpass.transform import Pass

_DEFINITIONS = (
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    WrapperDescriptorType,
)
_ATOMS = (type(None), type(...), type(NotImplemented))


class Identity(NamedTuple):
    """The digests of a value.

    Attributes:
        content: Of the value, and of the code that is in it.
        lines: Of the files and lines of that code besides, which log records have.
        reads_places: Whether that code may get at the lines of spans without a read of
            them, which would be counted.
    """

    content: bytes
    lines: bytes
    reads_places: bool


def identity_of(*passes: Pass) -> Identity:
    """Return the identity of passes in that order: that of their code and options.

    A method `cache_key()` of a pass, if it has one, stands for all of that. What it
    returns is a value, such as a version number, or None: results are never kept.

    Raises:
        UnknownIdentityError: It cannot be known, or must not be.
    """
    walk = _walked(list(passes), allows_impure=False)
    found = walk.identity()
    return found._replace(reads_places=found.reads_places or walk.has_unseen_code)


def _told_by(pass_: Pass) -> Any:
    """Return what tells a pass from others: itself, or what it says."""
    own: Callable[[], Any] | None = getattr(pass_, "cache_key", None)
    if own is None:
        return pass_
    key = own()
    if key is None:
        raise UnknownIdentityError("its cache_key() is None")
    kind = type(pass_)
    return "cache_key", f"{kind.__module__}.{kind.__qualname__}", pass_.info, key


def identity_of_value(value: Any, *, allows_impure: bool = False) -> Identity:
    """Return the identity of a value, and of the code that is in it.

    Args:
        value: The value.
        allows_impure: Whether that code may read clocks, files and the like.

    Raises:
        UnknownIdentityError: A part of it has none.
    """
    return _walked(value, allows_impure=allows_impure).identity()


def _walked(value: Any, *, allows_impure: bool) -> _Walk:
    """Return a walk through a value."""
    walk = _Walk(allows_impure=allows_impure)
    try:
        walk.add(value)
        walk.check()
    except UnknownIdentityError:
        raise
    except RecursionError:
        raise UnknownIdentityError("it is nested too deeply") from None
    except Exception as error:  # such as of an object's __getattr__
        raise UnknownIdentityError(f"{type(error).__name__}: {error}") from error
    return walk


class _Walk:
    """Goes through a value, each object once, and digests what it meets.

    Attributes:
        has_unseen_code: Whether some code is known by its version or key alone, and may
            look at spans.
    """

    def __init__(self, *, allows_impure: bool) -> None:
        self._allows_impure = allows_impure
        self._packages: set[str] = set()  # of classes of libraries
        self._attributes: set[str] = set()  # that code names
        self._reads_places = False
        self.has_unseen_code = False
        self._state = hashlib.blake2b(digest_size=16)
        self._lines = hashlib.blake2b(digest_size=16)
        # By identity; the objects are kept alive, so that no identity is reused.
        self._met: dict[int, tuple[int, Any]] = {}

    def check_pure(self, module: str, name: str | None) -> None:
        if not self._allows_impure:
            check_pure(module, name)

    def check(self) -> None:
        if not self._allows_impure:
            check_methods(self._packages, self._attributes)

    def identity(self) -> Identity:
        content, lines = self._state.digest(), self._lines.digest()
        return Identity(content, lines, self._reads_places)

    def add(self, value: Any) -> None:
        kind = cast("type[Any]", type(value))
        if kind in _PLAIN:
            _PLAIN[kind](self, value)
            return
        known = self._met.get(id(value))
        if known is not None:
            self.tag("met", known[0])
            return
        self._met[id(value)] = len(self._met), value
        add = _KINDS.get(kind)
        if add is not None:
            add(self, value)
        elif isinstance(value, type):
            self.add_class(value)
        elif isinstance(value, enum.Enum):
            self.tag("enum", value.name)
            self.add(kind)
        elif isinstance(value, _DEFINITIONS):
            self.tag("definition", value.__qualname__)
        elif isinstance(value, logging.Logger):
            self.tag("logger", value.name)
        elif isinstance(value, ContextVar):
            self.add_variable(cast("ContextVar[Any]", value))
        elif isinstance(value, Pass) and hasattr(value, "cache_key"):
            self.has_unseen_code = True
            self.add(_told_by(value))
        else:
            self.add_object(value)

    def tag(self, *parts: object) -> None:
        """Add what tells one thing from another, so that no two look alike."""
        text = "\0".join(map(str, parts)).encode("utf-8", "surrogatepass")
        self._state.update(struct.pack("<q", len(text)))
        self._state.update(text)

    # Values.

    def add_text(self, value: Any) -> None:
        self.tag(type(value).__name__, value)

    def add_number(self, value: complex) -> None:
        self.tag(type(value).__name__, repr(value))  # unlike `str`, exact

    def add_bytes(self, value: bytes | bytearray) -> None:
        self.tag(type(value).__name__, len(value))
        self._state.update(value)

    def add_sequence(self, value: Any) -> None:
        self.tag(type(value).__name__, len(value))
        for one in value:
            self.add(one)

    def add_mapping(self, value: Mapping[Any, Any]) -> None:
        self.tag(type(value).__name__, len(value))
        for key, one in value.items():
            self.add(key)
            self.add(one)

    def add_set(self, value: Any) -> None:
        self.tag(type(value).__name__, len(value))
        walks = [_walked(one, allows_impure=self._allows_impure) for one in value]
        for part in sorted(one.identity() for one in walks):  # they have no order
            self._state.update(part.content)
            self._lines.update(part.lines)
            self._reads_places |= part.reads_places
        self.has_unseen_code |= any(one.has_unseen_code for one in walks)

    def add_object(self, value: Any) -> None:
        """Add an object by what pickle would rebuild it from."""
        kind = cast("type[Any]", type(value))
        reduce = copyreg.dispatch_table.get(kind)
        try:
            parts = value.__reduce_ex__(4) if reduce is None else reduce(value)
        except Exception as error:
            raise UnknownIdentityError(
                f"{describe_kind(value)} has no value that tells it from others "
                f"({error})"
            ) from error
        self.tag("object")
        self.add(kind)
        if isinstance(parts, str):
            self.tag("global", getattr(value, "__module__", ""), parts)
            if is_user_module(kind.__module__):
                self.add(dict(getattr(value, "__dict__", {})))
            return
        for part in parts:
            is_listed = isinstance(part, Iterator)
            self.add(list(cast("Iterator[Any]", part)) if is_listed else part)

    def add_span(self, span: Span) -> None:
        self._reads_places = True  # it may get into what a pass makes
        self.add_object(span)

    def add_variable(self, value: ContextVar[Any]) -> None:
        self.tag("variable", value.name)
        with contextlib.suppress(LookupError):
            self.add(value.get())

    # Code.

    def add_library(self, module: str) -> None:
        self.tag(version_of(module))
        self.has_unseen_code |= may_know_places(module)

    def add_class(self, kind: type) -> None:
        module = str(kind.__module__)
        self.tag("class", module, kind.__qualname__)
        if not is_user_module(module):
            self._packages.add(module.partition(".")[0])
            self.add_library(module)
            return
        for part in parts_beside_attributes(kind):
            self.add(part)
        for name, value in attributes_of(kind):
            self.tag("attribute", name)
            self.add_part(value, f"'{name}' of class '{kind.__qualname__}'")

    def add_part(self, value: Any, where: str) -> None:
        try:
            self.add(value)
        except UnknownIdentityError as error:
            raise error.at(where) from None

    def add_function(self, function: FunctionType) -> None:
        module = function.__globals__.get("__name__") or ""
        code = function.__code__
        self.tag("function", module, code.co_qualname)
        is_nested = function.__closure__ is not None or "<locals>" in code.co_qualname
        if not (is_nested or is_user_module(module)):
            self.check_pure(module, code.co_name)
            self.add_library(module)
            return
        self.add(code)
        self.add(function.__defaults__)
        self.add(function.__kwdefaults__)
        self.add(vars(function))
        name = f"function '{code.co_qualname}'"
        for cell, variable in zip(
            function.__closure__ or (), code.co_freevars, strict=True
        ):
            self.add_part(cell, f"variable '{variable}' of {name}")
        references = references_of(
            code, function.__globals__, allows_impure=self._allows_impure
        )
        self._attributes |= references.attributes
        for what, value in references.names.items():
            self.tag("name", what)
            self.add_part(value, f"'{what}' of {name}")

    def add_cell(self, cell: CellType) -> None:
        try:
            inside = cell.cell_contents
        except ValueError:
            self.tag("empty")
        else:
            self.add(inside)

    def add_code(self, code: CodeType) -> None:
        self.tag(
            "code",
            code.co_argcount,
            code.co_posonlyargcount,
            code.co_kwonlyargcount,
            code.co_flags,
            *code.co_varnames,
            *code.co_names,
            *code.co_freevars,
            *code.co_cellvars,
        )
        self.add_bytes(code.co_code)
        self.add_bytes(code.co_exceptiontable)
        self._reads_places |= names_places(code)
        for one in code.co_consts:
            self.add(one)
        lines = code.co_filename, code.co_firstlineno, code.co_linetable.hex()
        self._lines.update("\0".join(map(str, lines)).encode(errors="backslashreplace"))

    def add_method(self, method: MethodType) -> None:
        self.tag("method")
        self.add(method.__func__)
        self.add(method.__self__)

    def add_builtin(self, function: BuiltinFunctionType) -> None:
        owner = function.__self__
        if owner is None or isinstance(owner, ModuleType):
            module = function.__module__ or "builtins"
            self.check_pure(module, function.__name__)
            self.tag("builtin", module, function.__qualname__)
            self.add_library(module)
            return
        self.check_pure(type(owner).__module__, function.__name__)
        self.tag("bound", function.__name__)
        self.add(owner)

    def add_property(self, value: Any) -> None:
        self.tag("property")
        for function in (value.fget, value.fset, value.fdel):
            self.add(function)

    def add_wrapped(self, value: Any) -> None:
        self.tag(type(value).__name__)
        self.add(value.func if hasattr(value, "func") else value.__func__)

    def add_cached_function(self, value: Any) -> None:
        self.tag("cached")
        self._reads_places = True  # lines that it read once are not read again
        self.add(value.__wrapped__)

    def add_module(self, module: ModuleType) -> None:
        name = module.__name__
        self.tag("module", name)
        if not is_user_module(name):
            self.check_pure(name, None)
            self.add_library(name)
            return
        for variable, value in sorted(vars(module).items()):
            if not (variable.startswith("__") and variable.endswith("__")):
                self.tag("variable", variable)
                self.add_part(value, f"'{variable}' of module '{name}'")


_PLAIN: dict[type, Callable[[_Walk, Any], None]] = {
    **dict.fromkeys((str, bool, int, *_ATOMS), _Walk.add_text),
    **dict.fromkeys((float, complex), _Walk.add_number),
    bytes: _Walk.add_bytes,
}
_KINDS: dict[type, Callable[[_Walk, Any], None]] = {
    bytearray: _Walk.add_bytes,
    **dict.fromkeys((tuple, list), _Walk.add_sequence),
    **dict.fromkeys((dict, MappingProxyType), _Walk.add_mapping),
    **dict.fromkeys((set, frozenset), _Walk.add_set),
    Span: _Walk.add_span,
    FunctionType: _Walk.add_function,
    CodeType: _Walk.add_code,
    CellType: _Walk.add_cell,
    MethodType: _Walk.add_method,
    BuiltinFunctionType: _Walk.add_builtin,
    ModuleType: _Walk.add_module,
    property: _Walk.add_property,
    type(cache(len)): _Walk.add_cached_function,
    **dict.fromkeys(
        (staticmethod, classmethod, cached_property),
        _Walk.add_wrapped,
    ),
}
