"""IRs, executors and cache layers that distributions declare as entry points.

The groups are `parpass.irs`, with an `IR` record for each IR whose adapter is loaded on
demand; `parpass.executors`, with a function for each scheme of an executor's URL, which
returns a context manager that opens the executor; and `parpass.cache_layers`, with the
same for layers of a function cache.

Installed distributions are searched only for names that parpass does not ship, because
loading `importlib.metadata` takes a tenth of a second. The shipped names are in
`SHIPPED`; `pyproject.toml` repeats them for other tools. A shipped name cannot be
replaced; of several installed ones, the first on `sys.path` counts.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple

from parpass.errors import AdapterWarning, EntryPointError
from parpass.errors.core import did_you_mean
from parpass.errors.warning import warn
from parpass.lazy_loader import load_module

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

IRS, EXECUTORS = "parpass.irs", "parpass.executors"
LAYERS = "parpass.cache_layers"

SHIPPED: Mapping[str, Mapping[str, str]] = {
    IRS: {
        "mlir": "parpass.integrations.xdsl.xdsl_plugin:MLIR",
        "qiskit": "parpass.integrations.qiskit:QISKIT",
        "relay": "parpass.ir.embedded:RELAY",
        "tir": "parpass.ir.embedded:TIR",
    },
    EXECUTORS: {"dask": "parpass.integrations.dask.dask_executor:open_executor"},
    LAYERS: {
        "http": "parpass.integrations.http.http_layer:HttpLayer",
        "https": "parpass.integrations.http.http_layer:HttpLayer",
    },
}

# Formats that several IRs use, or none: files with these suffixes are no IR's.
SHARED_SUFFIXES = frozenset({"", ".json", ".onnx", ".txt"})


class IR(NamedTuple):
    """The declaration of an IR, available before its adapter is imported.

    Attributes:
        name: The IR's name for `--ir` and in reproducers; also the name of the entry
            point.
        adapter: The module whose import registers adapter, program format and passes.
        suffixes: The suffixes of files with its programs, such as `.relay`; empty if
            the command does not read them.
        requirement: The requirement that installs everything it imports, such as
            `parpass[xdsl]`.
        preload: Returns the modules that workers preload for a program's text.
        preload_bytes: The minimum size of a program, in bytes, for preloading to pay
            off.
    """

    name: str
    adapter: str
    suffixes: Sequence[str] = ()
    requirement: str = ""
    preload: Callable[[str], Sequence[str]] | None = None
    preload_bytes: int = 0

    def load_adapter(self) -> None:
        """Import the adapter's module.

        Raises:
            EntryPointError: It cannot be imported; the message names the requirement
                if a module is not installed.
        """
        _import(self.adapter, f"IR '{self.name}'", self.requirement)


def ir_named(name: str) -> IR | None:
    """Return the record of an IR; None if no entry point has that name.

    Raises:
        EntryPointError: The entry point cannot be loaded, or gives no such record.
    """
    value = _value(IRS, name)
    return None if value is None else _load_ir(name, value)


def ir_with_suffix(suffix: str) -> IR | None:
    """Return the record of the IR whose files have a suffix, with its dot, if any.

    Installed entry points that cannot be loaded are passed over, with a warning.
    """
    if suffix in SHARED_SUFFIXES:
        return None
    return next((ir for ir in known_irs() if suffix in ir.suffixes), None)


def known_irs() -> Iterator[IR]:
    """Yield the records of all IRs, the shipped ones first.

    Installed entry points that cannot be loaded are passed over, with a warning.
    """
    for name, value in SHIPPED[IRS].items():
        yield _load_ir(name, value)
    for name, entry_point in installed(IRS).items():
        if name not in SHIPPED[IRS]:
            try:
                yield _load_ir(name, _target(entry_point))
            except EntryPointError as error:
                warn(str(error), AdapterWarning)


def open_executor(url: str) -> AbstractContextManager[Any]:
    """Return a context manager that opens the executor of a URL, `SCHEME://...`.

    The scheme is the name of an entry point.

    Raises:
        EntryPointError: There is none of that name, or it cannot be loaded.
    """
    unknown = f"no executor named '{url.partition('://')[0]}'"
    return _from_url(EXECUTORS, url, unknown)(url)


def open_cache_layer(url: str, *, is_writable: bool = False) -> Any:
    """Return the layer of a function cache that a URL names, `SCHEME://...`.

    The scheme is the name of an entry point. Results are put there, too, if it
    `is_writable`.

    Raises:
        EntryPointError: There is none of that name, or it cannot be loaded.
    """
    unknown = f"expected a URL such as https://HOST/PATH for a cache layer, got '{url}'"
    return _from_url(LAYERS, url, unknown)(url, is_writable=is_writable)


def _from_url(group: str, url: str, unknown: str) -> Callable[..., Any]:
    """Return the function of the entry point that the scheme of a URL names."""
    scheme = url.partition("://")[0]
    value = _value(group, scheme)
    if value is None:
        names = sorted({*SHIPPED[group], *installed(group)})
        extras = [(name, _extra(group, name)) for name in names]
        known = ", ".join(
            f"{name} ({extra})" if extra else name for name, extra in extras
        )
        hint = did_you_mean(scheme, names)
        raise EntryPointError(f"{unknown}{hint}; there are {known}")
    factory = _load(group, scheme, value, _extra(group, scheme))
    if not callable(factory):
        raise _unfit(group, scheme, value, "a function from a URL", factory)
    return factory


def _extra(group: str, name: str) -> str:
    """Return the requirement for an integration that is shipped, else ""."""
    module = SHIPPED[group].get(name, "").removeprefix("parpass.integrations.")
    return f"parpass[{module.partition('.')[0]}]" if module else ""


def _load_ir(name: str, value: str) -> IR:
    found = _load(IRS, name, value)
    if not isinstance(found, IR) or found.name != name:
        raise _unfit(IRS, name, value, f"an IR record named '{name}'", found)
    return found


def _unfit(
    group: str, name: str, value: str, expected: str, found: object
) -> EntryPointError:
    return EntryPointError(
        f"entry point '{name}' of {group}: expected {expected} at '{value}', got "
        f"{found!r:.80}"
    )


def _value(group: str, name: str) -> str | None:
    """Return the `module:attribute` of an entry point, None if there is none."""
    if name in SHIPPED[group]:
        return SHIPPED[group][name]
    found = installed(group).get(name)
    return None if found is None else _target(found)


def _target(entry_point: EntryPoint) -> str:
    return f"{entry_point.module}:{entry_point.attr}"


def installed(group: str) -> Mapping[str, EntryPoint]:
    """Return the entry points of a group that installed distributions declare.

    The shipped ones are among them where parpass has metadata.
    """
    return _installed_on(group, tuple(sys.path))


@functools.cache
def _installed_on(group: str, path: tuple[str, ...]) -> Mapping[str, EntryPoint]:
    del path
    # Most programs use shipped names only, and do not need it.
    import importlib.metadata as metadata

    found: dict[str, EntryPoint] = {}
    for one in metadata.entry_points(group=group):
        found.setdefault(one.name, one)
    return found


def _load(group: str, name: str, value: str, requirement: str = "") -> Any:
    module, _, attribute = value.partition(":")
    what = f"entry point '{name}' of {group}"
    loaded = _import(module, what, requirement)
    try:
        return functools.reduce(getattr, attribute.split("."), loaded)
    except AttributeError as error:
        raise EntryPointError(f"{what} cannot be loaded: {error}") from error


def _import(module: str, what: str, requirement: str) -> Any:
    try:
        return load_module(module)
    except ModuleNotFoundError as error:
        hint = f"install '{requirement}'" if requirement else "it is not installed"
        raise EntryPointError(f"{what} needs {error.name}: {hint}") from error
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        raise EntryPointError(f"{what} cannot be loaded: {why}") from error
