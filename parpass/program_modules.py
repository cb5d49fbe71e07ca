"""The loaded modules of the program, which are known by the place of their files.

All others are of the standard library, of what is installed, or of parpass. What a
module of the program defines goes to other processes by name, or by value if they
cannot import it: this is decided here, for all that is pickled.
"""

from __future__ import annotations

import contextlib
import functools
import os
import site
import sys
import threading
from collections.abc import Generator, Mapping
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, NamedTuple

from parpass.fork_safety import forks_wait


def is_of_program(module: str | None) -> bool:
    """Return whether a module is of the program; one that is not known is.

    So is `__main__`: that of the process that runs the pipeline, whatever it is here.
    """
    name = module or ""
    return name == "__main__" or _is_of_program(name, sys.modules.get(name))


def program_modules() -> dict[str, ModuleType]:
    """Return the modules of the program that are loaded, by name, sorted."""
    found = {
        name: module
        for name, module in list[tuple[str, Any]](sys.modules.items())
        if isinstance(module, ModuleType) and _is_of_program(name, module)
    }
    return dict(sorted(found.items()))


def _is_of_program(name: str, module: Any) -> bool:
    variables: dict[str, Any] = getattr(module, "__dict__", {})
    # Before its file: in a program that PyInstaller made, that is in its own folder.
    if getattr(variables.get("__spec__"), "origin", None) in ("built-in", "frozen"):
        return False
    file = variables.get("__file__")
    if not isinstance(file, str):
        # An extension makes modules without files in its package.
        package = name.rpartition(".")[0]
        return not package or is_of_program(package)
    return not (is_library_file(file) or file.startswith(parpass_folder()))


@functools.lru_cache(1 << 14)
def is_library_file(file: str) -> bool:
    """Return whether a file is of the standard library, or of what is installed."""
    return os.path.abspath(file).startswith(library_folders())


@functools.cache
def library_folders() -> tuple[str, ...]:
    """Return the folders of the standard library and of what is installed."""
    import sysconfig  # late: `parpass` is loaded without

    paths = [sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")]
    paths += [*site.getsitepackages(), site.getusersitepackages()]
    both = {*paths, *map(os.path.realpath, paths)}
    return tuple(sorted(os.path.join(path, "") for path in both))


@functools.cache
def parpass_folder() -> str:
    return os.path.join(sys.modules["parpass"].__path__[0], "")


def is_by_value(module: str | None, modules: frozenset[str] | None = None) -> bool:
    """Return whether what a module defines goes to other processes by value.

    They cannot import the module by its name, or the program has registered it with
    cloudpickle.

    Args:
        module: The name of the module.
        modules: The result of `modules_by_value`, for several calls.
    """
    modules = modules_by_value() if modules is None else modules
    return module in modules or module not in sys.modules


class _ByValue(NamedTuple):
    """The loaded modules that go by value, and what they were found from.

    Attributes:
        others: Those that the program has not registered with cloudpickle.
        program: All that are of the program: one may get the place of another.
        loaded: The number of all loaded modules.
        last: The last of them, after which the next one is added.
        registered: Those that the program has registered with cloudpickle.
        unchanged: Enters as the modules, where there are no others.
    """

    modules: frozenset[str]
    others: set[str]
    program: Mapping[str, ModuleType]
    loaded: int
    last: Any
    path: list[str]
    registered: set[str]
    unchanged: contextlib.AbstractContextManager[frozenset[str]]


_found_by_value: _ByValue | None = None


def modules_by_value() -> frozenset[str]:
    """Return the names of the loaded modules that go to other processes by value."""
    return _find_by_value().modules


def _find_by_value() -> _ByValue:
    global _found_by_value
    known, modules = _found_by_value, sys.modules
    try:
        last = modules.get(next(reversed(modules)))
    except RuntimeError:  # another thread imports a module at this moment
        last = None
    registered = _registered_by_program()
    if (
        known is None
        or len(modules) != known.loaded
        or last is not known.last
        or not known.program.items() <= modules.items()
        or sys.path != known.path
        or registered != known.registered
    ):
        before = len(modules), last, list(sys.path), registered
        with forks_wait():
            program = program_modules()
            found = _names_by_value(registered, program)
        others = map(modules.get, found - registered - {"__main__"})
        names = {one.__name__ for one in others if isinstance(one, ModuleType)}
        unchanged = contextlib.nullcontext(found)
        known = _found_by_value = _ByValue(
            found, names & found, program, *before, unchanged
        )
    return known


def _names_by_value(
    registered: set[str], program: Mapping[str, ModuleType]
) -> frozenset[str]:
    found = {"__main__", *registered}
    found.update(
        name
        for name, module in program.items()
        # Without a spec it was made at run time, perhaps by an extension.
        if getattr(module, "__spec__", None) and not is_found_by_name(name)
    )
    # Cloudpickle takes what is in a package for a part of it.
    within = tuple(f"{name}." for name in found)
    found.update(name for name in tuple(sys.modules) if name.startswith(within))
    return frozenset(found)


def _registered_by_program() -> set[str]:
    cloudpickle = sys.modules.get("cloudpickle")  # who has registered has imported it
    listed = getattr(cloudpickle, "list_registry_pickle_by_value", None)
    names: set[str] = set() if listed is None else listed()
    return {one for one in names if type(one) is not _NameHere}


class _Thread(threading.local):
    registration: object = None  # the innermost of this thread


class _NameHere(str):
    """The name of a module, which equals it within a registration in a thread only.

    Cloudpickle has one registry for all threads. So other threads, and children that
    they fork, find there what the program has registered, now and meanwhile.
    """

    __hash__ = str.__hash__

    def __init__(self, _name: str) -> None:
        self.registration = _thread.registration

    def __eq__(self, other: object) -> bool:
        if type(other) is not str or self.registration is not _thread.registration:
            return self is other
        return str.__eq__(self, other)


_thread = _Thread()


def registered_by_value() -> contextlib.AbstractContextManager[frozenset[str]]:
    """Let cloudpickle pickle by value, meanwhile, what other processes cannot import.

    It does so in this thread. It enters as the result of `modules_by_value`.
    """
    found = _find_by_value()
    return _register(found) if found.others else found.unchanged


@contextlib.contextmanager
def _register(found: _ByValue) -> Generator[frozenset[str]]:
    # It takes longer than all other imports here.
    from cloudpickle import register_pickle_by_value, unregister_pickle_by_value

    outer, _thread.registration = _thread.registration, object()
    # It looks at the names of modules, and keeps those.
    modules = [ModuleType(_NameHere(name)) for name in found.others]
    try:
        for module in modules:
            with contextlib.suppress(ValueError):  # it is not loaded any more
                register_pickle_by_value(module)
        yield found.modules
    finally:
        _thread.registration = outer
        for module in modules:
            with contextlib.suppress(ValueError):  # it was not, or the program has
                unregister_pickle_by_value(module)


class DelegatingFinder:
    """A finder that asks the others, for what is imported in earnest."""


# By name: the spec of a module, the search path, and whether it is found.
_found: dict[str, tuple[ModuleSpec, list[str], bool]] = {}


def is_found_by_name(name: str) -> bool:
    """Return whether a new process imports a loaded module by its name from its file.

    Not the main script, a module that was loaded by its path or with such a package, or
    one that was made at run time.
    """
    module = sys.modules.get(name)
    spec = getattr(module, "__spec__", None)
    if spec is None or name == "__main__":
        return False
    known = _found.get(name)
    if known is None or known[0] is not spec or known[1] != sys.path:
        known = _found[name] = spec, list(sys.path), _is_found(name, module)
    return known[2]


def _is_found(name: str, module: Any) -> bool:
    package = name.rpartition(".")[0]
    if package and not is_found_by_name(package):
        return False
    path, found = getattr(module, "__file__", None), _find_anew(name)
    if found is None or path is None:  # without a file: a namespace, or built in
        return found is not None and found.origin == module.__spec__.origin
    if found.origin is None:
        return False
    with contextlib.suppress(OSError):
        return found.origin == path or os.path.samefile(found.origin, path)
    return False


def _find_anew(name: str) -> ModuleSpec | None:
    """Return the spec of a module as a process finds it that has not loaded it."""
    parent, _, _ = name.rpartition(".")
    path: list[str] | None = None
    if parent:
        # A package may have added folders as it was loaded.
        package = _find_anew(parent)
        path = [*((package and package.submodule_search_locations) or ())]
        path += getattr(sys.modules.get(parent), "__path__", ())
    # What a finder gives that looks among the loaded modules, as one of xDSL's does.
    loaded = getattr(sys.modules.get(name), "__spec__", None)
    finders = [one for one in sys.meta_path if not isinstance(one, DelegatingFinder)]
    for finder in finders:
        try:
            found = finder.find_spec(name, path)
        except Exception:  # noqa: BLE001 -- a finder of the program may raise any
            continue
        if found is not None and found is not loaded:
            return found
    return None
