"""The reference's pages: each public name on one of them, from docstrings and types.

A module is public if `parpass` exports it, or a public module does; integrations are,
too. Of the names of one object the canonical one is that of the module that is nearest
to where it is defined; the pages of others refer to it.
"""

from __future__ import annotations

import inspect
import pkgutil
import re
import textwrap
import types
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, NamedTuple

from parpass import integrations
from parpass.errors import EntryPointError

_ROOT = "parpass"
_EXPORTED_BY_NO_MODULE = ("parpass.diagnostic", "parpass.remark")
_QUOTED = re.compile(r"(`+[^`]+`+)(?:(?=(\w))|)")
_FEW = 3  # names, of which a page needs no list
_SELF_CONTAINED = (
    bool,
    int,
    float,
    str,
    tuple,
    frozenset,
    list,
    dict,
    types.GenericAlias,
)


class Name(NamedTuple):
    """A public name.

    Attributes:
        module: Of the name, a public one.
        name: In the module.
        value: The object that it names.
    """

    module: str
    name: str
    value: Any

    @property
    def path(self) -> str:
        """The module and the name."""
        return f"{self.module}.{self.name}"


def public_modules() -> Mapping[str, types.ModuleType]:
    """Return the public modules by name, sorted."""
    found: dict[str, types.ModuleType] = {}
    waiting = [_ROOT, *_EXPORTED_BY_NO_MODULE, *_integrations()]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        module = found[name] = import_module(name)
        for exported in getattr(module, "__all__", ()):
            value = getattr(module, exported)
            if isinstance(value, types.ModuleType):
                waiting.append(value.__name__)
    return dict(sorted(found.items()))


def _integrations() -> Iterator[str]:
    """Yield the integrations whose other compiler is installed here."""
    for found in pkgutil.iter_modules(integrations.__path__, f"{_ROOT}.integrations."):
        module = import_module(found.name)
        exported = getattr(module, "__all__", ())
        if not exported:  # what others have in common
            continue
        try:
            for name in exported:
                getattr(module, name)
        except (ImportError, EntryPointError):
            continue  # it is of an extra that the site's builder does without
        yield found.name


def exported_names(module: types.ModuleType) -> list[Name]:
    """Return what a module exports besides modules; without `__all__`: defines."""
    names = getattr(module, "__all__", None)
    if names is None:
        names = [
            name
            for name, value in vars(module).items()
            if not name.startswith("_")
            and getattr(value, "__module__", None) == module.__name__
            and isinstance(value, type | types.FunctionType)
        ]
    found = [Name(module.__name__, name, getattr(module, name)) for name in names]
    return [one for one in found if not isinstance(one.value, types.ModuleType)]


def canonical_names() -> Mapping[str, Name]:
    """Return, by the path of a public name, the name that documents its object."""
    by_object: dict[Any, list[Name]] = {}
    for module in public_modules().values():
        for one in exported_names(module):
            by_object.setdefault(_identity(one), []).append(one)
    return {
        one.path: min(same, key=_distance)
        for same in by_object.values()
        for one in same
    }


def _identity(one: Name) -> Any:
    """Return a key that names of one object share; equal constants are several."""
    value: object = one.value
    is_shared = not isinstance(value, _SELF_CONTAINED)
    return id(value) if is_shared else (one.name, repr(one.value))


def _distance(one: Name) -> tuple[int, bool, bool, int, str]:
    """Return how far a name is from where its object is defined, to compare."""
    defined = str(getattr(one.value, "__module__", "") or "").split(".")
    module = one.module.split(".")
    common = 0
    for a, b in zip(defined, module, strict=False):
        if a != b:
            break
        common += 1
    is_renamed = one.name != getattr(one.value, "__name__", one.name)
    is_gathering = one.module in (_ROOT, "parpass.spi")
    return -common, is_renamed, is_gathering, len(module), one.path


def reference_pages() -> dict[str, str]:
    """Return the pages by document, in reStructuredText: a list, and one a module."""
    canonical = canonical_names()
    pages: dict[str, str] = {}
    for name, module in public_modules().items():
        pages[f"reference/{name}"] = "\n".join(_page(module, canonical))
    pages["reference/index"] = "\n".join(_index(pages))
    return pages


def _index(pages: Mapping[str, str]) -> Iterator[str]:
    yield from title("Public names")
    yield (
        "Each public name is on one page, that of its module, with its arguments, what "
        "it returns and what it raises."
    )
    yield from ("", ".. toctree::", "   :maxdepth: 1", "")
    yield from (f"   {name.removeprefix('reference/')}" for name in pages)
    yield ""


def _page(module: types.ModuleType, canonical: Mapping[str, Name]) -> Iterator[str]:
    name = module.__name__
    yield from title(name)
    yield from (f".. automodule:: {name}", "   :no-members:", "   :no-index:", "")
    yield from (f".. py:module:: {name}", "")
    names = sorted(exported_names(module), key=lambda one: one.name.lower())
    here = [one for one in names if canonical[one.path].path == one.path]
    elsewhere = [one for one in names if one not in here]
    if len(here) > _FEW:
        yield from (" · ".join(f"`{one.name} <{one.path}>`" for one in here), "")
    for one in here:
        yield from _entry(one)
    if elsewhere:
        yield from title("Documented elsewhere", "-")
        for one in elsewhere:
            named = canonical[one.path]
            yield f"* `{one.name} <{named.path}>`, in `{named.module}`"
        yield ""


def _entry(one: Name) -> Iterator[str]:
    value = one.value
    if isinstance(value, type):
        yield f".. autoclass:: {one.path}"
        yield "   :members:"
        yield "   :show-inheritance:"
        if issubclass(value, BaseException):
            yield "   :no-undoc-members:"
    elif inspect.isroutine(value):
        yield f".. autofunction:: {one.path}"
    else:
        yield f".. autodata:: {one.path}"
        yield "   :no-value:"
    yield ""


def separated(text: str) -> str:
    """Return a docstring in which letters may follow a name in backquotes.

    Markdown reads plurals such as `Let`s so, reStructuredText with a backslash only.
    """
    return _QUOTED.sub(lambda found: f"{found[1]}\\ " if found[2] else found[1], text)


def indented(text: str) -> str:
    """Return a text as a literal block of reStructuredText."""
    return textwrap.indent(text.rstrip(), "    ")


def is_field_of_tuple(value: object) -> bool:
    """Return whether a member is a named tuple's field, which its class documents."""
    return type(value).__name__ == "_tuplegetter"


def title(text: str, line: str = "=") -> Iterator[str]:
    """Yield the lines of a heading in reStructuredText.

    Args:
        text: The heading.
        line: The character that it is underlined by, which is that of its level.
    """
    yield from (text, line * len(text), "")
