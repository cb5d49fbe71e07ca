"""The warnings that Python has shown, while bodies run out of turn in this process.

Python keeps that in registries: one of each module that warns, and one of the process.
A change of the filters makes it forget all of them; `catch_warnings` is one. What a
body warns of is filtered when it is emitted, in serial order. So until then

* what was shown before must not suppress it, as an earlier pass may yet make Python
  forget that, on a function that comes later,
* what was shown before must not be forgotten, if the body changes filters: that is
  emitted in its turn, too.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any, cast

_Registry = dict[Any, Any]

# The registries of modules that are not loaded here.
_unloaded: dict[str, _Registry] = {}


def registry_of(module: str) -> _Registry:
    """Return the registry of warnings shown of a module."""
    loaded = sys.modules.get(module)
    if loaded is None:
        return _unloaded.setdefault(module, {})
    return vars(loaded).setdefault("__warningregistry__", {})


def _registries() -> list[_Registry]:
    found: list[_Registry] = [*_unloaded.values(), vars(warnings)["onceregistry"]]
    # A module that is loaded at the first use of an attribute stays as it is.
    content = ModuleType.__getattribute__
    modules: list[Any] = [*sys.modules.values()]  # of any kind
    for module in modules:
        kind = cast("type[Any]", type(module))
        if kind is ModuleType:  # nearly all
            variables = module.__dict__
        elif issubclass(kind, ModuleType):
            variables = content(module, "__dict__")
        else:
            continue
        registry: Any = variables.get("__warningregistry__")
        if registry and type(registry) is dict:
            found.append(cast("_Registry", registry))
    return found


class Shown:
    """The mark of a warning that was shown; a registry is asked for its truth.

    Args:
        is_hidden: Returns whether the code that asks is not to learn of it.
    """

    def __init__(self, is_hidden: Callable[[], bool]) -> None:
        self._is_hidden = is_hidden

    def __bool__(self) -> bool:
        return not self._is_hidden()


_active: list[KeptRegistries] = []  # those of runs in several threads, in order


class KeptRegistries:
    """The content of all registries, in which warnings have a mark until `restore`.

    Args:
        is_hidden: As of `Shown`.
        stamp: Has Python note in a registry which filters it is for. It may be unable
            to; then nothing is kept.

    Attributes:
        mark: The mark, which is of this run alone.
    """

    def __init__(
        self, is_hidden: Callable[[], bool], stamp: Callable[[_Registry], None]
    ) -> None:
        self.mark, self._stamp = Shown(is_hidden), stamp
        self._kept: list[tuple[_Registry, _Registry]] = []
        self._marks = self._marks_now()
        for registry in _registries() if self._marks else ():
            if not self._marks.items() <= registry.items():
                continue  # it is outdated, and will be emptied
            kept: _Registry = {
                key: value
                for key, value in registry.copy().items()  # other threads may warn
                if type(key) is tuple and value
            }
            registry.update(dict.fromkeys(kept, self.mark))
            self._kept.append((registry, kept))
        _active.append(self)

    def _marks_now(self) -> _Registry:
        """Return what a registry has beside warnings, whose keys are tuples."""
        fresh: _Registry = {}
        self._stamp(fresh)
        return {key: value for key, value in fresh.items() if type(key) is not tuple}

    def restore(self) -> None:
        """Restore the marks; what the filters' changes have emptied is filled again."""
        _active.remove(self)
        marks, mark = self._marks_now() or self._marks, self.mark
        is_reset = marks != self._marks
        for registry, kept in self._kept:
            if is_reset:
                if not marks.items() <= registry.items():
                    registry.clear()
                registry.update(marks)
            for key, value in kept.items():
                if registry.get(key, mark if is_reset else None) is mark:
                    others = [
                        one.mark for one in _active[:] if one.keeps(registry, key)
                    ]
                    registry[key] = others[-1] if others else _plain(value)

    def keeps(self, registry: _Registry, key: Any) -> bool:
        """Return whether a warning of a registry has the mark."""
        return any(known is registry and key in kept for known, kept in self._kept)


def _plain(value: Any) -> Any:
    """Return the value of a mark, which may be that of a run in another thread."""
    return True if type(value) is Shown else value
