"""The functions of modules that Numba compiles, each to be compiled on its own.

Modules are imported with decorators in the place of Numba's that only note what
is to be compiled. So this is for processes that have nothing else to do.
"""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, cast

import numba

from parpass.integrations.numba import cache_notes

_jit, _njit = numba.jit, numba.njit


class NotSeparableError(Exception):
    """Functions are compiled or called by the import itself."""


@dataclass(eq=False)
class Unit:
    """A function with the signatures that it is compiled for.

    Attributes:
        dispatcher: What the decorator returned. It has compiled nothing yet.
        signatures: For what it is compiled.
        is_explicit: Whether the decorator has the signatures; else a run had them.
        is_kept: Whether Numba's cache keeps it.
        is_stale: Whether its callees in other files may have changed since it was kept.
    """

    dispatcher: Any
    signatures: Sequence[Any]
    is_explicit: bool
    is_kept: bool
    is_stale: bool = False
    _is_settled: bool = field(default=False, init=False)

    @property
    def name(self) -> str:
        """The function's name, with its module's."""
        function = self.dispatcher.py_func
        return f"{function.__module__}.{function.__qualname__}"

    @property
    def module(self) -> str:
        """The module's name."""
        return self.dispatcher.py_func.__module__

    def settle(self, callees: Sequence[Unit], *, is_own: bool) -> None:
        """Compile it, or load it, after those that it calls.

        Args:
            callees: Those that it calls, and those call, callees first.
            is_own: Whether this process is the one that writes it to the cache.
        """
        for callee in callees:
            if callee.is_explicit:
                callee.settle((), is_own=False)
        if self._is_settled:
            return
        self._is_settled = True
        if self.is_kept:
            self.dispatcher.enable_caching()
            if is_own and self.is_stale:
                # With nothing compiled yet, all that it does is to empty the cache.
                self.dispatcher.recompile()
        for signature in self.signatures:
            self.dispatcher.compile(signature)
        if self.is_explicit:
            self.dispatcher.disable_compile()

    def forget(self) -> None:
        """Take it out of the cache."""
        again = _njit(cache=True)(self.dispatcher.py_func)
        again.recompile()

    @property
    def is_untouched(self) -> bool:
        """Whether no caller made it compile before it was settled."""
        return self._is_settled or not self.dispatcher.signatures


class Recorder:
    """Takes the place of `numba.jit` and `numba.njit` while modules are imported."""

    def __init__(self) -> None:
        self.units: list[Unit] = []
        self._lazy: list[Any] = []

    def import_modules(self, names: Sequence[str]) -> None:
        """Import modules, and note what they would compile.

        Raises:
            NotSeparableError: One calls its functions as it is imported.
        """
        numba.jit, numba.njit = self._decorator(_jit), self._decorator(_njit)
        try:
            for name in names:
                importlib.import_module(name)
        finally:
            numba.jit, numba.njit = _jit, _njit
        for dispatcher in (*self._lazy, *(unit.dispatcher for unit in self.units)):
            if dispatcher.signatures:
                raise NotSeparableError
        self._add_recorded()

    def _decorator(self, true: Callable[..., Any]) -> Callable[..., Any]:
        def decorator(
            signature_or_function: Any = None, *args: Any, **options: Any
        ) -> Any:
            given = signature_or_function
            is_kept = bool(options.pop("cache", False))
            if given is None or hasattr(given, "__code__"):
                wrap = self._without_signatures(true(*args, **options), is_kept)
                return wrap if given is None else wrap(given)
            signatures: Sequence[Any] = [given]
            if isinstance(given, list):
                signatures = cast("list[Any]", given)
            return self._with_signatures(
                true(None, *args, **options), signatures, is_kept
            )

        return decorator

    def _with_signatures(
        self, wrap: Callable[..., Any], signatures: Sequence[Any], is_kept: bool
    ) -> Callable[..., Any]:
        def wrapper(function: Any) -> Any:
            made = wrap(function)
            if cache_notes.is_jitted(made):  # else Numba is switched off
                self.units.append(Unit(made, signatures, True, is_kept))
            return made

        return wrapper

    def _without_signatures(
        self, wrap: Callable[..., Any], is_kept: bool
    ) -> Callable[..., Any]:
        def wrapper(function: Any) -> Any:
            made = wrap(function)
            if is_kept and cache_notes.is_jitted(made):
                self._lazy.append(made)
            return made

        return wrapper

    def _add_recorded(self) -> None:
        known: dict[tuple[str, str], Any] = {}
        for made in self._lazy:
            function = made.py_func
            where = function.__code__.co_filename, function.__module__
            if where not in known:
                known[where] = cache_notes.recorded(cache_folder(made), where[1])
            if signatures := known[where].get(function.__qualname__):
                self.units.append(Unit(made, signatures, False, True))


class CallGraph:
    """The calls among functions that Numba compiles, as far as names tell."""

    def __init__(self, units: Sequence[Unit]) -> None:
        self._units = {id(unit.dispatcher): unit for unit in units}

    def callees(self, unit: Unit) -> list[Unit]:
        """Return those that a unit calls, and those call, callees first."""
        found: dict[int, Unit] = {}
        self._visit(unit.dispatcher, set(), found)
        found.pop(id(unit.dispatcher), None)
        return list(found.values())

    def functions(self, unit: Unit) -> Sequence[Any]:
        """Return the functions that are compiled with a unit, its own among them."""
        seen: set[int] = set()
        return list(self._visit(unit.dispatcher, seen, {}))

    def digest(self, unit: Unit) -> str:
        """Return a digest of the other files that a unit calls into; "" if none."""
        own = unit.dispatcher.py_func.__code__.co_filename
        files = {one.__code__.co_filename for one in self.functions(unit)} - {own}
        whole = hashlib.sha256()
        for file in sorted(files):
            path = Path(file)
            whole.update(path.read_bytes() if path.is_file() else file.encode())
        return whole.hexdigest() if files else ""

    def _visit(
        self, dispatcher: Any, seen: set[int], found: dict[int, Unit]
    ) -> list[Any]:
        seen.add(id(dispatcher))
        functions = [dispatcher.py_func]
        for value in named(dispatcher.py_func):
            if cache_notes.is_jitted(value) and id(value) not in seen:
                functions += self._visit(value, seen, found)
        if unit := self._units.get(id(dispatcher)):
            found[id(dispatcher)] = unit
        return functions


def named(function: Any) -> Iterator[Any]:
    """Yield the values that a function's code names: globals, of modules, and cells."""
    names = names_of(function)
    modules: list[ModuleType] = []
    for name in sorted(names):
        value = function.__globals__.get(name)
        if isinstance(value, ModuleType):
            modules.append(value)
        yield value
    for module in modules:
        yield from (vars(module).get(name) for name in sorted(names))
    for cell in function.__closure__ or ():
        yield cell.cell_contents


def names_of(function: Any) -> set[str]:
    """Return the names of globals and attributes in a function's code."""
    names: set[str] = set()
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        names.update(code.co_names)
        codes += [one for one in code.co_consts if isinstance(one, CodeType)]
    return names


def cache_folder(dispatcher: Any) -> str:
    """Return where Numba keeps a function.

    Raises:
        RuntimeError: It can keep it nowhere.
    """
    return str(_njit(cache=True)(dispatcher.py_func).stats.cache_path)
