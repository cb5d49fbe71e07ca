"""Digests of values, by all that they consist of.

A digest goes through a value as pickle would, but it is the same in all processes:
sets have no order in it. Functions and classes that a module defines stand for their
names, as the keys of a cache have modules elsewhere (`program`). All others, such as a
function in a function, are taken by value: code, closure, defaults, attributes.

What has no value, such as an open file, has no digest.
"""

from __future__ import annotations

import contextlib
import copyreg
import enum
import functools
import hashlib
import logging
import struct
import sys
import threading
import weakref
from collections.abc import Callable, Generator, Iterator, Mapping
from contextvars import ContextVar
from functools import cached_property  # of the program's classes
from pickle import PickleBuffer
from types import (
    BuiltinFunctionType,
    CellType,
    ClassMethodDescriptorType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any, NamedTuple, cast

import msgspec

from parpass.errors.core import describe_kind
from parpass.program_modules import is_of_program
from parpass.transform import Pass
from parpass.transform.code_names import LAZY_IMPORT, named_globals
from parpass.transform.passes import declared_cacheable

# Packages whose objects say how passes run, and not what they do.
_OF_RUNS = "parpass.runner.", "parpass.integrations.http."
_HEAP_TYPE = 1 << 9  # of `type.__flags__`: a class that can be changed
_EXACT = frozenset({str, bytes, int, bool, type(None)})  # whose `repr` is all of them
# Attributes that Python, or a library, adds to modules and classes by itself.
_MODULE_BOOKKEEPING = frozenset(
    {
        *("__builtins__", "__cached__", "__file__", "__loader__", "__path__"),
        *("__spec__", "__warningregistry__"),
    }
)
# Where a class has its annotations, or what computes them, from Python 3.14 on.
_ANNOTATIONS = "__annotate_func__", "__annotations_cache__"
_CLASS_BOOKKEEPING = frozenset(
    {
        *("__dict__", "__weakref__", "__slotnames__", "__static_attributes__"),
        *(*_ANNOTATIONS, "__msgspec_cache__", "_abc_impl"),
    }
)


class UnknownValueError(Exception):
    """Something has no digest; the text says what it is, and where."""

    is_located = False

    def at(self, where: str) -> UnknownValueError:
        """Return the error with a place, unless it has one: the innermost says most."""
        if self.is_located:
            return self
        located = UnknownValueError(f"{where}: {self}")
        located.is_located = True
        return located


class ValueDigest(NamedTuple):
    """The digest of a value.

    It `names_program` if code of the program is in the value, or is named by it.
    """

    content: bytes
    names_program: bool


def digest_of_value(value: Any) -> ValueDigest:
    walk = _Walk(None)
    with _translating():
        walk.add(value)
    return walk.digest()


def digest_of_module(module: ModuleType) -> bytes:
    """Return the digest of all global names of a module, and of what it defines."""
    walk = _Walk(module)
    with _translating():
        walk.add_variables(module)
    return walk.digest().content


@contextlib.contextmanager
def _translating() -> Generator[None]:
    try:
        yield
    except UnknownValueError:
        raise
    except RecursionError:
        raise UnknownValueError("it is nested too deeply") from None
    except Exception as error:  # such as of an object's `__reduce__`
        raise UnknownValueError(f"{type(error).__name__}: {error}") from error


class _Walk:
    """Goes through a value, each object once, and digests what it meets.

    What `module` defines is taken by value.
    """

    def __init__(self, module: ModuleType | None, *, has_version: bool = False) -> None:
        self._module = module
        self._has_version = has_version
        self._state = hashlib.blake2b(digest_size=16)
        self._names_program = False
        # By identity; the objects are kept alive, so that no identity is reused.
        self._met: dict[int, tuple[int, Any]] = {}

    def digest(self) -> ValueDigest:
        return ValueDigest(self._state.digest(), self._names_program)

    def add(self, value: Any) -> None:
        kind = cast("type[Any]", type(value))
        plain = _PLAIN.get(kind)
        if plain is not None:
            plain(self, value)
            return
        known = self._met.get(id(value))
        if known is not None:
            self.tag("met", known[0])
            return
        self._met[id(value)] = len(self._met), value
        parts, add = _PARTS.get(kind), _KINDS.get(kind)
        if parts is not None:
            self.add_parts(kind, parts(value))
        elif add is not None:
            add(self, value)
        elif self._module is not None and str(kind.__module__).startswith(_OF_RUNS):
            self.tag("runner", kind.__qualname__)
        else:
            bases = (add for base, add in _BASES if isinstance(value, base))
            next(bases, _Walk.add_object)(self, value)

    def tag(self, *parts: str | int | None) -> None:
        """Add what tells one thing from another.

        A `repr` of them tells where each ends, so no two look alike.
        """
        self._state.update(repr(parts).encode())

    def add_parts(self, kind: type, parts: tuple[Any, ...]) -> None:
        self.tag("parts", kind.__name__, len(parts))
        for part in parts:
            self.add(part)

    def add_part(self, value: Any, where: str) -> None:
        try:
            self.add(value)
        except UnknownValueError as error:
            raise error.at(where) from None

    # Values.

    def add_text(self, value: Any) -> None:
        self.tag(type(value).__name__, value)

    def add_float(self, value: float) -> None:
        self._state.update(b"float" + struct.pack("<d", value))  # NaNs differ by bits

    def add_complex(self, value: complex) -> None:
        self._state.update(b"complex" + struct.pack("<dd", value.real, value.imag))

    def add_bytes(self, value: bytes | bytearray | memoryview) -> None:
        self.tag(type(value).__name__, len(value))
        self._state.update(value)

    def add_buffer(self, value: PickleBuffer) -> None:
        with value.raw() as raw:
            self.add_bytes(raw)

    def add_sequence(self, value: Any) -> None:
        if _EXACT.issuperset(map(type, value)):
            self.tag("exact", type(value).__name__, repr(value))
        else:
            self.add_parts(cast("type[Any]", type(value)), value)

    def add_mapping(self, value: Mapping[Any, Any]) -> None:
        self.tag(type(value).__name__)
        self.add_sequence([one for item in list(value.items()) for one in item])

    def add_set(self, value: Any) -> None:
        self.tag(type(value).__name__, len(value))
        parts: list[bytes] = []
        for one in value:
            walk = _Walk(self._module, has_version=self._has_version)
            walk.add(one)
            parts.append(walk.digest().content)
            self._names_program |= walk.digest().names_program
        for part in sorted(parts):
            self._state.update(part)

    def add_member(self, value: enum.Enum) -> None:
        self.add_parts(enum.Enum, (value.name, type(value), vars(value)))

    def add_logger(self, value: logging.Logger) -> None:
        """Add a logger by its name, and by what a program has set on it."""
        added = vars(value).keys() - vars(logging.Logger("")).keys()
        given = {name: vars(value)[name] for name in sorted(added)}
        self.add_parts(logging.Logger, (value.name, type(value), given))

    def add_object(self, value: Any) -> None:
        """Add an object by what pickle would rebuild it from."""
        kind = cast("type[Any]", type(value))
        self.tag("object")
        self.add(kind)
        reduce = copyreg.dispatch_table.get(kind)
        try:
            parts = value.__reduce_ex__(5) if reduce is None else reduce(value)
        except Exception as error:
            raise UnknownValueError(
                f"{describe_kind(value)} has no value ({error})"
            ) from error
        if isinstance(parts, str):
            self.tag("global", getattr(value, "__module__", ""), parts)
            self._names_program |= is_of_program(kind.__module__)
            self.add(dict(getattr(value, "__dict__", {})))
            return
        for part in parts:
            is_listed = isinstance(part, Iterator)
            self.add(list(cast("Iterator[Any]", part)) if is_listed else part)

    def add_pass(self, step: Pass) -> None:
        """Add a pass; a version that it declares stands for all code that it names."""
        info, version = step.info, declared_cacheable(step)
        self.tag("pass", info.opt_level, info.name, *info.required)
        outer = self._has_version
        if isinstance(version, str):
            self.tag("version", version)
            self._has_version = True
        self.add_object(step)
        self._has_version = outer

    def add_lock(self, value: Any) -> None:
        """Add a lock of a module, which has no value; a pass with one is unknown."""
        if self._module is None:
            raise UnknownValueError(f"{describe_kind(value)} has no value")
        self.tag("lock")

    # Code.

    def is_named(self, module: str | None, name: str, value: Any) -> bool:
        """Add a function or class by its name, if it is to be found by that.

        It is not what the module defines that is digested, nor of `__main__`, which has
        other things in each process.
        """
        found = sys.modules.get(module or "")
        if found is None or module == "__main__" or _lookup(found, name) is not value:
            self._names_program |= is_of_program(module)
            return False
        if is_of_program(module):
            self._names_program = True
            if found is self._module:
                return False
        self.tag("global", module, name)
        return True

    def add_class(self, kind: type) -> None:
        module, name = str(kind.__module__), kind.__qualname__
        if not kind.__flags__ & _HEAP_TYPE:  # it cannot be changed
            self.tag("global", module, name)
            return
        if self.is_named(module, name, kind):
            return
        self.tag("class", module, name)
        if self._has_version:
            return
        self.add(type(kind))
        self.add_sequence(kind.__bases__)
        if issubclass(kind, msgspec.Struct):
            self.add_struct(kind)
        attributes: dict[str, Any] = dict(vars(cast("type[Any]", kind)))
        if any(map(attributes.get, _ANNOTATIONS)):
            self.tag("annotations")
            self.add(_annotations(cast("type", kind)))
        for attribute, value in sorted(attributes.items()):
            if attribute not in _CLASS_BOOKKEEPING:
                self.tag("attribute", attribute)
                self.add_part(value, f"attribute '{attribute}' of class '{name}'")

    def add_struct(self, kind: type[msgspec.Struct]) -> None:
        """Add what a class of structs has beside its attributes."""
        self.add(kind.__struct_fields__)
        self.add(cast("Any", kind).__struct_encode_fields__)
        for default in cast("Any", kind).__struct_defaults__:
            self.add(getattr(default, "factory", default))
        config = kind.__struct_config__
        for name in dir(config):
            if not name.startswith("_"):
                self.add(getattr(config, name))

    def add_function(self, function: FunctionType) -> None:
        code, name = function.__code__, function.__qualname__
        module = cast("str | None", function.__module__)
        if self.is_named(module, name, function):
            return
        self.tag("function", module, name)
        self.add(function.__defaults__)
        self.add(function.__kwdefaults__)
        cells = function.__closure__ or ()
        for variable, cell in zip(code.co_freevars, cells, strict=True):
            self.add_part(cell, f"variable '{variable}' of function '{name}'")
        if self._has_version:
            return
        self.add_code(code)
        self.add(dict(vars(function)))
        self.add(_annotations(function))
        variables = function.__globals__
        if is_of_program(variables.get("__name__")) and not _is_module(variables):
            # Where no module is digested, a function has what its code names.
            for variable, value in named_globals(function).items():
                self.tag("name", variable)
                self.add_part(value, f"'{variable}' of function '{name}'")

    def add_code(self, code: CodeType) -> None:
        self._state.update(_digest_of_code(code))

    def add_builtin(self, function: BuiltinFunctionType) -> None:
        owner = function.__self__
        if owner is None or isinstance(owner, ModuleType):
            module = function.__module__ or getattr(owner, "__name__", "")
            self._names_program |= is_of_program(module)
            self.tag("builtin", module, function.__qualname__)
            return
        self.tag("bound", function.__name__)
        self.add(owner)

    def add_lazy(self, value: Any) -> None:
        """Add what a lazy statement names; nothing has used it, and it stays lazy."""
        self._names_program = True  # it may be of the program
        self.tag("lazy", repr(value))

    def add_module(self, module: ModuleType) -> None:
        name = module.__name__
        self.tag("module", name)
        self._names_program |= is_of_program(name)
        if sys.modules.get(name) is not module:
            self.add_variables(module)

    def add_variables(self, module: ModuleType) -> None:
        name = module.__name__
        for variable, value in sorted(dict(vars(module)).items()):
            if variable not in _MODULE_BOOKKEEPING:
                self.tag("variable", variable)
                self.add_part(value, f"global '{variable}' of module '{name}'")


def _lookup(module: Any, name: str) -> Any:
    found = module
    for part in name.split("."):
        found = getattr(found, "__dict__", {}).get(part)
        if isinstance(found, staticmethod | classmethod):
            found = cast("Any", found).__func__
    return found


def _is_module(variables: Mapping[str, Any]) -> bool:
    """Return whether global names are those of a module that keys have."""
    name = variables.get("__name__")
    module = sys.modules.get(str(name))
    return name != "__main__" and getattr(module, "__dict__", None) is variables


def _annotations(owner: FunctionType | type) -> Any:
    try:
        return dict(owner.__annotations__)
    except Exception:  # noqa: BLE001 -- from Python 3.14 on they are computed here
        return getattr(owner, "__annotate__", None)


@functools.lru_cache(1 << 14)  # each run asks again, and code stays as it is
def _digest_of_code(code: CodeType) -> bytes:
    walk = _Walk(None)
    walk.add_sequence(
        (
            (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount),
            (code.co_flags, code.co_code, code.co_exceptiontable),
            (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars),
            (code.co_filename, code.co_firstlineno, code.co_linetable),
            (code.co_name, code.co_qualname, code.co_consts),
        )
    )
    return walk.digest().content


def _inside_cell(cell: CellType) -> tuple[Any, ...]:
    try:
        return (cell.cell_contents,)
    except ValueError:
        return ()


def _variable(variable: ContextVar[Any]) -> tuple[Any, ...]:
    try:
        return variable.name, variable.get()
    except LookupError:
        return (variable.name,)


def _local(value: Any) -> tuple[Any, ...]:
    return (dict(cast("dict[str, Any]", vars(value))),)


def _definition(value: Any) -> tuple[Any, ...]:
    return value.__qualname__, value.__objclass__


def _wrapped(value: Any) -> tuple[Any, ...]:
    """Return the parts of what wraps a function, such as a class method."""
    names = ("__func__", "func", "__wrapped__")
    inside = next(getattr(value, one) for one in names if hasattr(value, one))
    if isinstance(value, cached_property):  # which may have a lock
        return (inside,)
    given = dict(cast("dict[str, Any]", vars(value)))
    return inside, {n: given[n] for n in sorted(given) if n != "__wrapped__"}


_PLAIN: dict[type, Callable[[_Walk, Any], None]] = {
    **dict.fromkeys((str, bool, int), _Walk.add_text),
    **dict.fromkeys((type(None), type(...), type(NotImplemented)), _Walk.add_text),
    float: _Walk.add_float,
    complex: _Walk.add_complex,
    bytes: _Walk.add_bytes,
}
_PARTS: dict[type, Callable[[Any], tuple[Any, ...]]] = {
    struct.Struct: lambda value: (value.format,),
    ContextVar: _variable,
    weakref.ref: lambda value: (value(),),
    threading.local: _local,
    CellType: _inside_cell,
    MethodType: lambda value: (value.__func__, value.__self__),
    property: lambda value: (value.fget, value.fset, value.fdel, value.__doc__),
    **dict.fromkeys(
        (
            *(ClassMethodDescriptorType, GetSetDescriptorType, MemberDescriptorType),
            *(MethodDescriptorType, WrapperDescriptorType),
        ),
        _definition,
    ),
    **dict.fromkeys(
        (staticmethod, classmethod, cached_property, type(functools.cache(len))),
        _wrapped,
    ),
}
_KINDS: dict[type, Callable[[_Walk, Any], None]] = {
    bytearray: _Walk.add_bytes,
    PickleBuffer: _Walk.add_buffer,
    **dict.fromkeys((tuple, list), _Walk.add_sequence),
    **dict.fromkeys((dict, MappingProxyType), _Walk.add_mapping),
    **dict.fromkeys((set, frozenset), _Walk.add_set),
    **dict.fromkeys((type(threading.Lock()), type(threading.RLock())), _Walk.add_lock),
    FunctionType: _Walk.add_function,
    CodeType: _Walk.add_code,
    LAZY_IMPORT: _Walk.add_lazy,
    **dict.fromkeys((BuiltinFunctionType, MethodWrapperType), _Walk.add_builtin),
}
# And those of a base.
_BASES: tuple[tuple[type, Callable[[_Walk, Any], None]], ...] = (
    (type, _Walk.add_class),
    (ModuleType, _Walk.add_module),
    (enum.Enum, _Walk.add_member),
    (logging.Logger, _Walk.add_logger),
    (Pass, _Walk.add_pass),
)
