"""The global names that code refers to, with their values; and what of them is impure.

Of a module it is the attributes that the code names: `relay.transform.FoldConstant` is
that class. Impure is what gives another value each time, such as a clock or a file, of
which nothing can be known before the code runs.
"""

from __future__ import annotations

import builtins
import dis
import sys
from collections.abc import Mapping
from types import CodeType, ModuleType
from typing import Any, NamedTuple


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# What gives another result each time, by module; None stands for all of it.
_IMPURE: Mapping[str, frozenset[str] | None] = {
    "time": None,
    "secrets": None,
    "uuid": None,
    "random": None,
    "socket": None,
    "subprocess": None,
    "tempfile": None,
    "io": frozenset({"open", "open_code"}),
    "os": _words(
        "access cpu_count environ environb fwalk getcwd getenv getenvb getloadavg "
        "getlogin getpid getppid listdir lstat open popen read readlink scandir stat "
        "system times urandom walk"
    ),
    "posix": None,
    "sys": _words("argv modules path stderr stdin stdout"),
    "posixpath": _words(
        "abspath exists getatime getctime getmtime getsize isdir isfile lexists "
        "realpath"
    ),
}
_PURE = frozenset({("random", "Random"), ("time", "sleep"), ("time", "struct_time")})
_IMPURE_BUILTINS = frozenset(
    {"open", "input", "print", "eval", "exec", "globals", "locals", "__import__"}
)
# Methods of classes of libraries that read files or clocks, by the class's module.
_IMPURE_METHODS: Mapping[str, frozenset[str]] = {
    "pathlib": _words(
        "absolute cwd exists glob home is_dir is_file iterdir open read_bytes "
        "read_text resolve rglob stat walk"
    ),
    "datetime": frozenset({"now", "utcnow", "today"}),
}


class UnknownIdentityError(Exception):
    """Something has no digest; the text says what, and why.

    Attributes:
        is_located: Whether the text says where it is, too.
    """

    is_located = False

    def at(self, where: str) -> UnknownIdentityError:
        """Return the error with a place, unless it has one: the innermost says most."""
        if self.is_located:
            return self
        located = UnknownIdentityError(f"{where}: {self}")
        located.is_located = True
        return located


def names_in(
    code: CodeType, variables: Mapping[str, Any], *, allows_impure: bool = False
) -> Mapping[str, Any]:
    """Return what code refers to by global names, with the values at present, sorted.

    Of a module it is the attributes that the code names (`relay.transform.FoldConstant`
    is that class); the module itself where the code does anything else with it. Code
    within the code is included.

    Args:
        code: The code.
        variables: The globals of its module.
        allows_impure: Whether it may refer to what is another value each time.

    Raises:
        UnknownIdentityError: It does, and must not; or it imports what is not loaded.
    """
    uses = _uses(code)
    found = dict(_resolved(chain, variables) for chain in uses.chains)
    if not allows_impure:
        _check_uses(uses, found, variables)
    for name in uses.imports:
        found[f"import {name}"] = _imported(name, variables)
    for one in code.co_consts:
        if isinstance(one, CodeType):
            found |= names_in(one, variables, allows_impure=allows_impure)
    return dict(sorted(found.items()))


class _Uses(NamedTuple):
    """The names that code has.

    Attributes:
        chains: Global names, each with the attributes that are taken of it at once.
        attributes: All attributes.
        imports: The modules that it imports.
    """

    chains: list[list[str]]
    attributes: set[str]
    imports: list[str]


def _uses(code: CodeType) -> _Uses:
    found = _Uses([], set(), [])
    chain: list[str] | None = None  # that the next instruction may go on with
    for step in dis.get_instructions(code):
        if step.opname == "EXTENDED_ARG":
            continue
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            chain = [step.argval]
            found.chains.append(chain)
        elif step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            found.attributes.add(step.argval)
            if chain is not None:
                chain.append(step.argval)
        else:
            chain = None
            if step.opname == "IMPORT_NAME":
                found.imports.append(step.argval)
    return found


def _resolved(chain: list[str], variables: Mapping[str, Any]) -> tuple[str, Any]:
    """Return the value that a global name has, or an attribute of that module."""
    name, *attributes = chain
    value = variables[name] if name in variables else getattr(builtins, name, None)
    path = name
    for attribute in attributes:
        if not isinstance(value, ModuleType):
            break
        value = getattr(value, attribute, None)
        path = f"{path}.{attribute}"
    return path, value


def _check_uses(
    uses: _Uses, found: Mapping[str, Any], variables: Mapping[str, Any]
) -> None:
    """Raise for names of what is another value each time."""
    for name, *attributes in uses.chains:
        if name not in variables and name in _IMPURE_BUILTINS:
            raise UnknownIdentityError(f"its code calls {name}()")
        value = variables.get(name)
        for attribute in attributes:
            if not isinstance(value, ModuleType):
                break
            check_pure(value.__name__, attribute)
            value = getattr(value, attribute, None)
    kinds = {one.__module__ for one in found.values() if isinstance(one, type)}
    for module, names in _IMPURE_METHODS.items():
        if module in kinds and (used := uses.attributes & names):
            raise UnknownIdentityError(
                f"its code calls {min(used)}() of module '{module}'"
            )


def _imported(name: str, variables: Mapping[str, Any]) -> ModuleType:
    """Return the module that code imports when it runs.

    Raises:
        UnknownIdentityError: It was not imported yet.
    """
    package = variables.get("__package__") or ""
    for full in (name, f"{package}.{name}" if name else package):
        module = sys.modules.get(full)
        if module is not None:
            return module
    raise UnknownIdentityError(f"its code imports '{name}', which is not loaded yet")


def check_pure(module: str, name: str | None) -> None:
    """Raise for what reads a clock, a file, or what else differs each time.

    Args:
        module: The module.
        name: What is used of it; None for all.

    Raises:
        UnknownIdentityError: It does.
    """
    names = _IMPURE.get(module, frozenset[str]())
    is_impure = names is None or (name in names if name else module == "os")
    if is_impure and (module, name) not in _PURE:
        used = f"{module}.{name}" if name else module
        raise UnknownIdentityError(f"its code uses {used}")
