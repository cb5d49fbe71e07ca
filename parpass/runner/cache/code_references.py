"""The global names that code refers to, with their values; and what of them is impure.

Of a module it is the attributes that the code names: `relay.transform.FoldConstant` is
that class. Impure is what gives another value each time, such as a clock or a file, of
which nothing can be known before the code runs.
"""

from __future__ import annotations

import builtins
import dis
import functools
import sys
from collections.abc import Collection, Mapping
from types import CodeType, ModuleType
from typing import Any, NamedTuple, cast

# Code whose names are remembered: that of passes, and of what they use.
_CODES = 4096


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# What gives another result each time, by module; None stands for all of it.
_IMPURE: Mapping[str, frozenset[str] | None] = {
    **dict.fromkeys(
        _words(
            "time secrets uuid random socket subprocess tempfile posix importlib glob "
            "linecache shutil fileinput urllib http getpass pkgutil"
        )
    ),
    "io": _words("open open_code"),
    "os": _words(
        "access cpu_count environ environb fwalk getcwd getenv getenvb getloadavg "
        "getlogin getpid getppid listdir lstat open popen read readlink scandir stat "
        "system times urandom walk"
    ),
    "sys": _words("argv modules path stderr stdin stdout"),
    "posixpath": _words(
        "abspath exists getatime getctime getmtime getsize isdir isfile lexists "
        "realpath"
    ),
    "numpy": _words("load loadtxt genfromtxt fromfile memmap"),
}
_PURE = frozenset({("random", "Random"), ("time", "sleep"), ("time", "struct_time")})
_IMPURE_BUILTINS = frozenset(
    {"open", "input", "print", "eval", "exec", "globals", "locals", "__import__"}
)
_IMPURE_ATTRIBUTES = frozenset({"__subclasses__"})
# Methods of classes of libraries that read files or clocks, by the class's package.
_IMPURE_METHODS: Mapping[str, frozenset[str]] = {
    "pathlib": _words(
        "absolute cwd exists glob home is_dir is_file iterdir open read_bytes "
        "read_text resolve rglob stat walk"
    ),
    "datetime": frozenset({"now", "utcnow", "today"}),
}

# Names by which code gets at the lines of a span, other than by reading them, which is
# counted; and by which it makes or compares one.
_OF_PLACES = _words(
    "Span hash structs astuple asdict to_builtins dump dumps __reduce__ __reduce_ex__ "
    "__hash__ __eq__ __getstate__"
)
# Packages that do not look at spans by themselves.
_WITHOUT_PLACES = (
    sys.stdlib_module_names | _words("parpass numpy ml_dtypes llvmlite")
) - _words("pickle _pickle json marshal")


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


class CodeReferences(NamedTuple):
    """The references of code, with code within it.

    Attributes:
        names: Global names, with the values at present, sorted. Of a module it is the
            attributes that the code names (`relay.transform.FoldConstant` is that
            class); the module itself where the code does anything else with it.
        attributes: All attributes that it names.
    """

    names: Mapping[str, Any]
    attributes: frozenset[str]


def references_of(
    code: CodeType, variables: Mapping[str, Any], *, allows_impure: bool = False
) -> CodeReferences:
    """Return the references of code.

    Args:
        code: The code.
        variables: The globals of its module.
        allows_impure: Whether it may refer to what is another value each time; then
            modules that it imports when it runs are known by their names.

    Raises:
        UnknownIdentityError: It does, and must not; or it imports what is not loaded.
    """
    uses = _uses(code)
    names = dict(
        _resolved(chain, variables, allows_impure=allows_impure)
        for chain in uses.chains
    )
    attributes = uses.attributes
    for level, name in uses.imports:
        module = None
        if not allows_impure:
            module = _imported(name, level, variables)
            _check_import(module.__name__, name)
        names[f"import {'.' * level}{name}"] = module
    for one in code.co_consts:
        if isinstance(one, CodeType):
            inner = references_of(one, variables, allows_impure=allows_impure)
            names |= inner.names
            attributes |= inner.attributes
    return CodeReferences(dict(sorted(names.items())), attributes)


def check_methods(kinds: Collection[str], attributes: Collection[str]) -> None:
    """Raise for methods that read files or clocks.

    Args:
        kinds: The packages of all classes that code, options and globals have.
        attributes: All attributes that the code names.

    Raises:
        UnknownIdentityError: There is one.
    """
    if used := _IMPURE_ATTRIBUTES.intersection(attributes):
        raise UnknownIdentityError(f"its code uses {min(used)}")
    for package, names in _IMPURE_METHODS.items():
        if package in kinds and (used := names.intersection(attributes)):
            raise UnknownIdentityError(
                f"its code calls {min(used)}() of module '{package}'"
            )


class _Uses(NamedTuple):
    """The names that code has.

    Attributes:
        chains: Global names, each with the attributes that are taken of it at once.
        attributes: All attributes.
        imports: The modules that it imports: how many packages up from its own the
            name begins, and the name.
    """

    chains: list[list[str]]
    attributes: frozenset[str]
    imports: list[tuple[int, str]]


@functools.lru_cache(_CODES)  # each run asks again, and code stays as it is
def _uses(code: CodeType) -> _Uses:
    chains: list[list[str]] = []
    attributes: set[str] = set()
    imports: list[tuple[int, str]] = []
    chain: list[str] | None = None  # that the next instruction may go on with
    values: list[Any] = []  # of the instructions so far
    for step in dis.get_instructions(code):
        if step.opname == "EXTENDED_ARG":
            continue
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            chain = [step.argval]
            chains.append(chain)
        elif step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            attributes.add(step.argval)
            if chain is not None:
                chain.append(step.argval)
        else:
            chain = None
            if step.opname == "IMPORT_NAME":
                imports.append((values[-2], step.argval))
        values.append(step.argval)
    return _Uses(chains, frozenset(attributes), imports)


def _resolved(
    chain: list[str], variables: Mapping[str, Any], *, allows_impure: bool
) -> tuple[str, Any]:
    """Return the value that a global name has, or an attribute of that module.

    What is impure, and may be, is known by its name alone.
    """
    path, *attributes = chain
    if path in variables:
        value = variables[path]
    else:
        if path in _IMPURE_BUILTINS and not allows_impure:
            raise UnknownIdentityError(f"its code calls {path}()")
        value = getattr(builtins, path, None)
    for attribute in attributes:
        if not isinstance(value, ModuleType):
            break
        path = f"{path}.{attribute}"
        if _is_impure(value.__name__, attribute):
            if not allows_impure:
                check_pure(value.__name__, attribute)
            return path, None
        value = getattr(value, attribute, None)
    return path, value


def _check_import(module: str, name: str) -> None:
    """Raise for an import in code of a module of which a part is impure."""
    tops = {module.partition(".")[0], name.partition(".")[0], module}
    if used := tops & (_IMPURE.keys() | _IMPURE_METHODS.keys()):
        raise UnknownIdentityError(f"its code imports {min(used)} when it runs")


def _imported(name: str, level: int, variables: Mapping[str, Any]) -> ModuleType:
    """Return the module that code imports when it runs.

    Raises:
        UnknownIdentityError: It was not imported yet.
    """
    full = name
    if level:
        parts = str(variables.get("__package__") or "").split(".")
        package = ".".join(parts[: len(parts) + 1 - level])
        full = f"{package}.{name}" if name else package
    module = sys.modules.get(full)
    if module is None:
        raise UnknownIdentityError(
            f"its code imports '{full}', which is not loaded yet"
        )
    return module


def check_pure(module: str, name: str | None) -> None:
    """Raise for what reads a clock, a file, or what else differs each time.

    Args:
        module: The module.
        name: What is used of it; None for all.

    Raises:
        UnknownIdentityError: It does.
    """
    if _is_impure(module, name):
        used = f"{module}.{name}" if name else module
        raise UnknownIdentityError(f"its code uses {used}")


def _is_impure(module: str, name: str | None) -> bool:
    if (module, name) in _PURE:
        return False
    names = _IMPURE.get(module, frozenset[str]())
    return names is None or (name in names if name else module == "os")


def names_places(code: CodeType) -> bool:
    """Return whether code names what gets at the lines of a span, without code in it.

    That can be a constant, as in `getattr(span, '__reduce__')`.
    """
    names: set[Any] = {*code.co_names, *code.co_consts}
    for one in code.co_consts:
        names.update(cast("tuple[Any, ...]", one) if isinstance(one, tuple) else ())
    return not _OF_PLACES.isdisjoint(names)


def may_know_places(module: str) -> bool:
    """Return whether a module is of a library that may look at the lines of spans."""
    package = module.partition(".")[0]
    return package not in _WITHOUT_PLACES
